//! Opening of the state of a crawl and of the database of projects. Only this module and `lib.rs` name the engines.
//!
//! An engine is a folder of this crate: it implements [`Store`](crawl_model::Store) and [`Upkeep`](crate::Upkeep). It has
//! its module and its entry in `lib.rs`: of `ENGINES` for states in directories, of `DATABASES` for databases that
//! several workers share.

use crate::{
    engine::{Engine, StateStore},
    sqlite::{SqliteEngine, SqliteProjects},
    upkeep::{CheckReport, RepairReport},
};
use crawl_model::{ProjectStore, StoreError};
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

fn engine(place: &Path) -> &'static dyn Engine {
    crate::ENGINES.iter().find(|engine| engine.takes(place)).copied().unwrap_or(&SqliteEngine)
}

/// Opens the state at a place. Creates it if absent, and migrates an older version.
///
/// # Errors
/// [`StoreError::Version`] for a newer program's state, [`StoreError::Corrupt`] for a foreign or damaged file.
/// [`StoreError::Full`] when it cannot be written, [`StoreError::Busy`] when another process writes it.
pub fn open(place: &Path) -> Result<Arc<dyn StateStore>, StoreError> {
    engine(place).open(place)
}

/// Opens a state for reading; another process may write it meanwhile. Counts are those at the time of opening.
///
/// # Errors
/// The errors of [`open`], and [`StoreError::Other`] when there is no state at the place.
pub fn open_read_only(place: &Path) -> Result<Arc<dyn StateStore>, StoreError> {
    engine(place).open_read_only(place)
}

/// Returns true if a place has a state.
#[must_use]
pub fn exists(place: &Path) -> bool {
    engine(place).exists(place)
}

/// Removes the state at a place, if present. The caller holds the [`StateLock`](crate::StateLock).
///
/// # Errors
/// When a file cannot be removed.
pub fn remove(place: &Path) -> Result<(), StoreError> {
    engine(place).remove(place)
}

/// Path of the write-ahead log of a state.
#[must_use]
pub fn log(place: &Path) -> PathBuf {
    engine(place).log(place)
}

/// Offset of the first damage in the write-ahead log of a killed process; `None` if it is intact.
///
/// # Errors
/// When it cannot be read.
pub fn damage_of_log(place: &Path) -> io::Result<Option<u64>> {
    engine(place).damage_of_log(place)
}

/// Checks a state for damage. No process may have the state open.
///
/// # Errors
/// When it cannot be read at all.
pub fn check(place: &Path) -> Result<CheckReport, StoreError> {
    engine(place).check(place)
}

/// Replaces a damaged state by a new one with all readable rows. The damaged one is kept under another name.
///
/// # Errors
/// When nothing can be read, or the new state cannot be written.
pub fn repair(place: &Path) -> Result<RepairReport, StoreError> {
    engine(place).repair(place)
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
