//! Storage trait of settings and caches of a state directory.

use super::StoreError;
use crate::Origin;
use std::sync::Arc;

/// Settings and caches of a state directory.
pub trait RunStore: Send + Sync {
    /// A named value.
    ///
    /// # Errors
    /// When storage fails.
    fn get(&self, name: &str) -> Result<Option<String>, StoreError>;

    /// Sets the project and source group of later leases, also for later processes. `""` and `None` before the first
    /// call.
    ///
    /// # Errors
    /// When storage fails.
    fn set_project(&self, project: &str, source_group: Option<&str>) -> Result<(), StoreError>;

    /// Sets a named value.
    ///
    /// # Errors
    /// When storage fails.
    fn put(&self, name: &str, value: &str) -> Result<(), StoreError>;

    /// Sets a named value as part of the next commit, at the latest that of the next settled page.
    ///
    /// # Errors
    /// When storage fails.
    fn note(&self, name: &str, value: &str) -> Result<(), StoreError> {
        self.put(name, value)
    }

    /// Sets a named value if nothing of the crawl is pending, leased or held. Returns false, and changes nothing,
    /// otherwise. A concurrent enqueue happens after the value is set, or prevents it.
    ///
    /// # Errors
    /// When storage fails.
    fn put_at_end(&self, name: &str, value: &str) -> Result<bool, StoreError>;

    /// Names that begin with `prefix`, in order, with their values.
    ///
    /// # Errors
    /// When storage fails.
    fn entries(&self, prefix: &str) -> Result<Vec<(String, String)>, StoreError>;

    /// Makes all changes so far survive a loss of power. Called before a change of an output that the next
    /// run cannot cut back.
    ///
    /// # Errors
    /// When storage fails.
    fn sync(&self) -> Result<(), StoreError>;

    /// The robots.txt of an origin, of any age.
    ///
    /// # Errors
    /// When storage fails.
    fn load_robots(&self, origin: &Origin) -> Result<Option<CachedRobots>, StoreError>;

    /// Stores the robots.txt of an origin.
    ///
    /// # Errors
    /// When storage fails.
    fn save_robots(&self, origin: &Origin, robots: &CachedRobots) -> Result<(), StoreError>;
}

/// A robots.txt as fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedRobots {
    /// HTTP status of the last hop; 0 if the host was unreachable.
    pub status: u16,
    /// The body, cut at 500 KiB.
    pub body: Arc<[u8]>,
    /// Time of the fetch.
    pub fetched_at_ms: i64,
}
