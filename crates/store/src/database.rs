//! Databases that several workers of a crawl share.

use crate::engine::StateStore;
use crawl_model::StoreError;
use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

/// A database with the states of crawls. Its [`Display`](fmt::Display) form holds no password.
pub trait Database: fmt::Debug + fmt::Display + Send + Sync {
    /// Opens a crawl as one of its workers, and keeps the lease of its hosts until the store is dropped. Creates
    /// the crawl if absent, and migrates an older version.
    ///
    /// # Errors
    /// [`StoreError::Version`] when a newer program wrote the crawl. [`StoreError::Full`] when the server cannot be
    /// reached or refuses the user. [`StoreError::Busy`] when locks or connections are exhausted.
    fn open(&self, worker: &SharedWorker) -> Result<Arc<dyn StateStore>, StoreError>;

    /// Opens a crawl for reading, without a worker.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open), and [`StoreError::Other`] when the database has no such crawl.
    fn open_read_only(&self, crawl: &str) -> Result<Arc<dyn StateStore>, StoreError>;
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
