//! The database of projects.

use crate::error::ProjectError;
use crawl_model::{ProjectStore, StoreError};
use crawl_store::{CheckReport, private, state};
use std::{path::PathBuf, sync::Arc};

/// Reasons for which the database of projects cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// No setting names a database, and there is no home directory.
    #[error("no home directory is known: name a file with --database")]
    NoHome,
    /// The name of the run's project cannot be used.
    #[error("crawl.project: {0}")]
    Name(ProjectError),
    /// The database cannot be read or written. The message has the remedy.
    #[error("{}: {error}{}", path.display(), remedy(error))]
    Store {
        /// The file.
        path: PathBuf,
        /// The error of storage.
        error: StoreError,
    },
}

/// The database where none was named: `$XDG_DATA_HOME/crawl/projects.sqlite`.
///
/// # Errors
/// When neither `XDG_DATA_HOME` nor a home directory is known.
pub fn default_database() -> Result<PathBuf, DatabaseError> {
    std::env::var_os("XDG_DATA_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| std::env::home_dir().filter(|h| h.is_absolute()).map(|home| home.join(".local/share")))
        .map(|base| base.join("crawl").join("projects.sqlite"))
        .ok_or(DatabaseError::NoHome)
}

/// Opens the database at a path, or the default one for an empty path. Returns it with its path.
///
/// # Errors
/// When it cannot be used.
pub fn open(database: &str) -> Result<(Arc<dyn ProjectStore>, PathBuf), DatabaseError> {
    let path = prepare(database)?;
    match state::open_projects(&path) {
        Ok(store) => Ok((store, path)),
        Err(error) => Err(DatabaseError::Store { path, error }),
    }
}

/// Looks for damage in the database at a path, or in the default one for an empty path.
///
/// # Errors
/// When it cannot be read at all.
pub fn check(database: &str) -> Result<(CheckReport, PathBuf), DatabaseError> {
    let path = prepare(database)?;
    match state::check_projects(&path) {
        Ok(report) => Ok((report, path)),
        Err(error) => Err(DatabaseError::Store { path, error }),
    }
}

fn prepare(database: &str) -> Result<PathBuf, DatabaseError> {
    let path = self::database(database)?;
    if let Some(folder) = path.parent().filter(|_| database.is_empty()) {
        // an earlier version created it with the mode of the umask
        private::tighten(folder);
    }
    Ok(path)
}

/// The path of the database, which need not exist; an empty path means the default one.
///
/// # Errors
/// When the path is empty and there is no home directory.
pub fn database(path: &str) -> Result<PathBuf, DatabaseError> {
    match path {
        "" => default_database(),
        path => Ok(PathBuf::from(path)),
    }
}

fn remedy(error: &StoreError) -> &'static str {
    match error {
        StoreError::Corrupt(_) => {
            "; restore it from a copy, crawl a damaged page again with --fresh, or move the file away"
        }
        StoreError::Full(words) if words.contains("ermission denied") => {
            "; permit this user to write there, or name another file with --database"
        }
        StoreError::Full(_) => "; free disk space, or remove the file or folder that blocks the path",
        _ => "",
    }
}
