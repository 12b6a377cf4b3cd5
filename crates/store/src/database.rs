//! Databases that several workers of a crawl share.

use crate::engine::StateStore;
use crawl_model::{StoreError, UrlKey};
use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// A database with the states of crawls. Its [`Display`](fmt::Display) form can be given again, and holds no password.
pub trait Database: fmt::Debug + fmt::Display + Send + Sync {
    /// The form in which earlier versions stored the database. It names the directories of workers.
    fn earlier_form(&self) -> String;

    /// Opens a crawl as one of its workers, and keeps the lease of its hosts until the store is dropped. Creates
    /// the crawl if absent.
    ///
    /// # Errors
    /// [`StoreError::Other`] when the crawl needs [`upgrade`](Self::upgrade).
    /// [`StoreError::Version`] when a newer program wrote the crawl. [`StoreError::Unavailable`] when the server cannot be
    /// reached or refuses the user. [`StoreError::Busy`] when locks or connections are exhausted.
    fn open(&self, worker: &SharedWorker) -> Result<Arc<dyn StateStore>, StoreError>;

    /// Opens a crawl for reading, without a worker.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open), and [`StoreError::Other`] when the database has no such crawl.
    fn open_read_only(&self, crawl: &str) -> Result<Arc<dyn StateStore>, StoreError>;

    /// Copies the state of a directory into a new crawl. Hold the [`StateLock`](crate::StateLock).
    ///
    /// # Errors
    /// [`StoreError::Other`] when the database has such a crawl, or the directory no state. Those of both stores.
    fn copy_from(&self, crawl: &str, dir: &Path) -> Result<CopyReport, StoreError>;

    /// Copies a crawl into a directory without a state. Hold the [`StateLock`](crate::StateLock).
    ///
    /// # Errors
    /// [`StoreError::Other`] when the database has no such crawl, or the directory a state. [`StoreError::Busy`] while
    /// a worker crawls. Those of both stores.
    fn copy_to(&self, crawl: &str, dir: &Path) -> Result<CopyReport, StoreError>;

    /// Migrates a crawl of an earlier version. Returns the version before and after.
    ///
    /// # Errors
    /// [`StoreError::Other`] when the database has no such crawl, [`StoreError::Busy`] while a worker crawls.
    fn upgrade(&self, crawl: &str) -> Result<(u32, u32), StoreError>;

    /// Requeues URLs that failed in a round: all of them, or those with the given keys. Returns their number. Workers
    /// may run meanwhile.
    ///
    /// # Errors
    /// [`StoreError::Busy`] when another round is the current one. [`StoreError::Other`] when the database has no such crawl.
    fn reopen_failed(&self, crawl: &str, round: u32, urls: Option<&[UrlKey]>) -> Result<usize, StoreError>;
}

/// Result of a copy between a directory and a database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyReport {
    /// Number of copied rows by table.
    pub rows: Vec<(&'static str, u64)>,
    /// Damaged rows, which were not copied.
    pub damaged: u64,
    /// Held pages, which are fetched again.
    pub fetched_again: u64,
}

/// A crawl in a database, and the worker that opens it.
#[derive(Clone, Debug)]
pub struct SharedWorker {
    /// Name of the crawl: letters, digits, `-`, `_` and `.`.
    pub crawl: String,
    /// Name of the worker: unique in the crawl, the same after a restart. A restarted worker takes its hosts back
    /// at once. Hold a [`StateLock`](crate::StateLock) on its directory.
    pub worker: String,
    /// Directory of this worker for pages that wait; `None` keeps them in memory.
    pub spool: Option<PathBuf>,
    /// Longest pause between two requests to a host. After the end of a worker, its hosts pause for so long.
    pub pause: Duration,
    /// True for the first connection of a process. It begins a run if no other worker has a lease.
    pub begins_run: bool,
}

/// An engine of databases.
pub(crate) trait DatabaseEngine: Sync {
    /// Schemes of its URLs, without a colon.
    fn schemes(&self) -> &'static [&'static str];

    /// A URL with placeholders, for messages.
    fn example(&self) -> &'static str;

    /// The database of a URL. Makes no connection.
    ///
    /// # Errors
    /// When the URL cannot be used.
    fn database(&self, url: &str) -> Result<Arc<dyn Database>, StoreError>;
}
