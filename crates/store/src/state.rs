//! The state of a crawl on disk, and the database of projects. Callers know the traits; the backend is named here alone.

use crate::sqlite::{CheckReport, HostPlaces, RepairReport, SqliteProjects, SqliteStore, StoreSize};
use crawl_model::{
    HostBound, HostBounds, HostKey, KnownUrl, ProjectStore, RequestId, Store, StoreError, UrlKey,
};
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Operations on the state of a crawl that are no part of its flow.
pub trait Upkeep {
    /// Sets the project, and the group of sources in it, that leases from now on count for.
    ///
    /// # Errors
    /// When storage fails.
    fn set_project(&self, project: &str, source_group: Option<&str>) -> Result<(), StoreError>;

    /// Hosts with URLs that have not ended in this round, those with most of them first.
    ///
    /// # Errors
    /// When storage fails.
    fn hosts(&self) -> Result<Vec<HostPlaces>, StoreError>;

    /// The bound that a host has reached, if it has reached one.
    ///
    /// # Errors
    /// When storage fails.
    fn full_by(&self, host: &HostKey, bounds: HostBounds) -> Result<Option<HostBound>, StoreError>;

    /// Known URLs after one, in the order in which they came.
    ///
    /// # Errors
    /// When storage fails.
    fn known_next(&self, after: RequestId, limit: usize) -> Result<Vec<KnownUrl>, StoreError>;

    /// Puts URLs that failed in this round back. Returns their number.
    ///
    /// # Errors
    /// When storage fails.
    fn reopen_failed(&self, urls: &[UrlKey]) -> Result<usize, StoreError>;

    /// Brings URLs that wait beyond `latest_ms` forward to `now_ms`. Returns their number.
    ///
    /// # Errors
    /// When storage fails.
    fn bring_forward(&self, latest_ms: i64, now_ms: i64) -> Result<usize, StoreError>;

    /// Size of the state on disk.
    ///
    /// # Errors
    /// When storage fails.
    fn size(&self) -> Result<StoreSize, StoreError>;

    /// Gives unused space back to the disk.
    ///
    /// # Errors
    /// When storage fails.
    fn compact(&self) -> Result<(), StoreError>;

    /// Notes URLs as written. Returns the number of those that were not known.
    ///
    /// # Errors
    /// When storage fails.
    fn adopt_written(&self, urls: &[String]) -> Result<u64, StoreError>;

    /// Outputs, each with how far it is settled.
    ///
    /// # Errors
    /// When storage fails.
    fn output_marks(&self) -> Result<Vec<(String, u64)>, StoreError>;

    /// Takes back changes that are not committed, as the death of the process does. Every further call fails for the reason given.
    fn abandon(&self, why: &StoreError);
}

/// The state of a crawl: a store, and its upkeep.
pub trait StateStore: Store + Upkeep {}

impl<T: Store + Upkeep> StateStore for T {}

/// Opens the state in a directory. Directory and state are made if they do not exist, and an older version is brought up to date.
///
/// # Errors
/// [`StoreError::Version`] when a newer program wrote it, [`StoreError::Corrupt`] when it is no state of ours,
/// [`StoreError::Full`] when it cannot be written, [`StoreError::Busy`] when another process writes it.
pub fn open(dir: &Path) -> Result<Arc<dyn StateStore>, StoreError> {
    Ok(Arc::new(SqliteStore::open(dir)?))
}

/// Opens a state to look at while another process may write it. Numbers are those of the moment of opening.
///
/// # Errors
/// As [`open`]; [`StoreError::Other`] when there is no state in the directory.
pub fn open_read_only(dir: &Path) -> Result<Arc<dyn StateStore>, StoreError> {
    Ok(Arc::new(SqliteStore::open_read_only(dir)?))
}

/// Returns true if a directory has a state.
#[must_use]
pub fn exists(dir: &Path) -> bool {
    SqliteStore::exists(dir)
}

/// Removes the state in a directory, if there is one. Nobody may have it open: hold the [`StateLock`](crate::StateLock).
///
/// # Errors
/// When a file cannot be removed.
pub fn remove(dir: &Path) -> Result<(), StoreError> {
    SqliteStore::remove(dir)
}

/// Path of the write-ahead log of a state.
#[must_use]
pub fn log(dir: &Path) -> PathBuf {
    SqliteStore::log(dir)
}

/// Offset of the first damage of the write-ahead log that a killed process left; none if it is intact.
///
/// # Errors
/// When it cannot be read.
pub fn damage_of_log(dir: &Path) -> io::Result<Option<u64>> {
    SqliteStore::damage_of_log(dir)
}

/// Looks for damage in a state that nobody has open.
///
/// # Errors
/// When it cannot be read at all.
pub fn check(dir: &Path) -> Result<CheckReport, StoreError> {
    SqliteStore::check(dir)
}

/// Saves what can be read of a damaged state into a new one in its place.
///
/// # Errors
/// When nothing can be read, or the new state cannot be written.
pub fn repair(dir: &Path) -> Result<RepairReport, StoreError> {
    SqliteStore::repair(dir)
}

/// Opens a database of projects, which is made if it does not exist.
///
/// # Errors
/// When it cannot be used.
pub fn open_projects(path: &Path) -> Result<Arc<dyn ProjectStore>, StoreError> {
    Ok(Arc::new(SqliteProjects::open(path)?))
}

/// Looks for damage in a database of projects, which is made if it does not exist.
///
/// # Errors
/// When it cannot be read at all.
pub fn check_projects(path: &Path) -> Result<CheckReport, StoreError> {
    SqliteProjects::open(path)?.check()
}

impl Upkeep for SqliteStore {
    fn set_project(&self, project: &str, source_group: Option<&str>) -> Result<(), StoreError> {
        self.set_project(project, source_group)
    }

    fn hosts(&self) -> Result<Vec<HostPlaces>, StoreError> {
        self.hosts()
    }

    fn full_by(&self, host: &HostKey, bounds: HostBounds) -> Result<Option<HostBound>, StoreError> {
        self.full_by(host, bounds)
    }

    fn known_next(&self, after: RequestId, limit: usize) -> Result<Vec<KnownUrl>, StoreError> {
        self.known_next(after, limit)
    }

    fn reopen_failed(&self, urls: &[UrlKey]) -> Result<usize, StoreError> {
        self.reopen_failed(urls)
    }

    fn bring_forward(&self, latest_ms: i64, now_ms: i64) -> Result<usize, StoreError> {
        self.bring_forward(latest_ms, now_ms)
    }

    fn size(&self) -> Result<StoreSize, StoreError> {
        self.size()
    }

    fn compact(&self) -> Result<(), StoreError> {
        self.compact()
    }

    fn adopt_written(&self, urls: &[String]) -> Result<u64, StoreError> {
        self.adopt_written(urls)
    }

    fn output_marks(&self) -> Result<Vec<(String, u64)>, StoreError> {
        self.output_marks()
    }

    fn abandon(&self, why: &StoreError) {
        self.abandon(why);
    }
}
