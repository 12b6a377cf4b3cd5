//! The state of a crawl on disk, and the database of projects. Callers use the traits; only this module names the backend.

use crate::sqlite::{CheckReport, HostPlaces, RepairReport, SqliteProjects, SqliteStore, StoreSize};
use crawl_model::{
    HostBound, HostBounds, HostKey, KnownUrl, ProjectStore, RequestId, Store, StoreError, UrlKey,
};
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Maintenance and inspection of the state of a crawl.
pub trait Upkeep {
    /// Sets the project and source group of all later leases.
    ///
    /// # Errors
    /// When storage fails.
    fn set_project(&self, project: &str, source_group: Option<&str>) -> Result<(), StoreError>;

    /// Hosts with unsettled URLs in this round, in descending order of their number.
    ///
    /// # Errors
    /// When storage fails.
    fn hosts(&self) -> Result<Vec<HostPlaces>, StoreError>;

    /// The bound that a host has reached, if any.
    ///
    /// # Errors
    /// When storage fails.
    fn full_by(&self, host: &HostKey, bounds: HostBounds) -> Result<Option<HostBound>, StoreError>;

    /// Known URLs after the given number, in ascending order; at most `limit`.
    ///
    /// # Errors
    /// When storage fails.
    fn known_next(&self, after: RequestId, limit: usize) -> Result<Vec<KnownUrl>, StoreError>;

    /// Requeues URLs that failed in this round. Returns their number.
    ///
    /// # Errors
    /// When storage fails.
    fn reopen_failed(&self, urls: &[UrlKey]) -> Result<usize, StoreError>;

    /// Makes URLs due at `now_ms` that wait beyond `latest_ms`. Returns their number.
    ///
    /// # Errors
    /// When storage fails.
    fn bring_forward(&self, latest_ms: i64, now_ms: i64) -> Result<usize, StoreError>;

    /// Size of the state on disk.
    ///
    /// # Errors
    /// When storage fails.
    fn size(&self) -> Result<StoreSize, StoreError>;

    /// Returns unused space to the file system.
    ///
    /// # Errors
    /// When storage fails.
    fn compact(&self) -> Result<(), StoreError>;

    /// Adds unknown URLs of an output as written records. Returns the number added.
    ///
    /// # Errors
    /// When storage fails.
    fn adopt_written(&self, urls: &[String]) -> Result<u64, StoreError>;

    /// Names and lengths of the written outputs.
    ///
    /// # Errors
    /// When storage fails.
    fn output_marks(&self) -> Result<Vec<(String, u64)>, StoreError>;

    /// Discards uncommitted changes, like a killed process. Every later call fails with `why`.
    fn abandon(&self, why: &StoreError);
}

/// The state of a crawl: [`Store`] and [`Upkeep`].
pub trait StateStore: Store + Upkeep {}

impl<T: Store + Upkeep> StateStore for T {}

/// Opens the state in a directory. Creates both if absent, and migrates an older version.
///
/// # Errors
/// [`StoreError::Version`] for a newer program's state, [`StoreError::Corrupt`] for a foreign or damaged file.
/// [`StoreError::Full`] when it cannot be written, [`StoreError::Busy`] when another process writes it.
pub fn open(dir: &Path) -> Result<Arc<dyn StateStore>, StoreError> {
    Ok(Arc::new(SqliteStore::open(dir)?))
}

/// Opens a state for reading; another process may write it meanwhile. Counts are those at the time of opening.
///
/// # Errors
/// The errors of [`open`], and [`StoreError::Other`] when there is no state in the directory.
pub fn open_read_only(dir: &Path) -> Result<Arc<dyn StateStore>, StoreError> {
    Ok(Arc::new(SqliteStore::open_read_only(dir)?))
}

/// Returns true if a directory has a state.
#[must_use]
pub fn exists(dir: &Path) -> bool {
    SqliteStore::exists(dir)
}

/// Removes the state in a directory, if present. The caller holds the [`StateLock`](crate::StateLock).
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

/// Offset of the first damage in the write-ahead log of a killed process; `None` if it is intact.
///
/// # Errors
/// When it cannot be read.
pub fn damage_of_log(dir: &Path) -> io::Result<Option<u64>> {
    SqliteStore::damage_of_log(dir)
}

/// Checks a state for damage. No process may have it open.
///
/// # Errors
/// When it cannot be read at all.
pub fn check(dir: &Path) -> Result<CheckReport, StoreError> {
    SqliteStore::check(dir)
}

/// Replaces a damaged state by a new one with all readable rows. The damaged one is kept under another name.
///
/// # Errors
/// When nothing can be read, or the new state cannot be written.
pub fn repair(dir: &Path) -> Result<RepairReport, StoreError> {
    SqliteStore::repair(dir)
}

/// Opens a database of projects. Creates it if absent.
///
/// # Errors
/// When it cannot be used.
pub fn open_projects(path: &Path) -> Result<Arc<dyn ProjectStore>, StoreError> {
    Ok(Arc::new(SqliteProjects::open(path)?))
}

/// Checks a database of projects for damage. Creates it if absent.
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
