//! Where the database of projects is.

use crate::{
    config::Config,
    exit::{Exit, Failure},
};
use crawl_model::StoreError;
use crawl_store::{SqliteProjects, private};
use std::path::{Path, PathBuf};

/// The database where none was named: `$XDG_DATA_HOME/crawl/projects.sqlite`.
///
/// # Errors
/// When neither `XDG_DATA_HOME` nor a home directory is known.
pub fn default_database() -> Result<PathBuf, Failure> {
    std::env::var_os("XDG_DATA_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| std::env::home_dir().filter(|h| h.is_absolute()).map(|home| home.join(".local/share")))
        .map(|base| base.join("crawl").join("projects.sqlite"))
        .ok_or_else(|| Failure::usage("no home directory is known: name a file with --database"))
}

/// Opens the database that the configuration names, with its path.
///
/// # Errors
/// When it cannot be used, with the exit code of storage.
pub fn open(config: &Config) -> Result<(SqliteProjects, PathBuf), Failure> {
    let path = database(config)?;
    if let Some(folder) = path.parent().filter(|_| config.projects.database.is_empty()) {
        // an earlier version made it with the mode of the umask
        private::tighten(folder);
    }
    let store = SqliteProjects::open(&path).map_err(|error| failure(&path, &error))?;
    Ok((store, path))
}

/// The path of the database, which need not exist.
///
/// # Errors
/// When no setting names it and there is no home directory.
pub fn database(config: &Config) -> Result<PathBuf, Failure> {
    match config.projects.database.as_str() {
        "" => default_database(),
        path => Ok(PathBuf::from(path)),
    }
}

/// An error of the database at a path, with the way out.
pub fn failure(path: &Path, error: &StoreError) -> Failure {
    let (exit, hint) = match error {
        StoreError::Corrupt(_) => (
            Exit::Damaged,
            "; restore it from a copy, crawl a damaged page again with --fresh, or move the file away",
        ),
        StoreError::Full(_) => {
            (Exit::Storage, "; free disk space, or remove the file or folder that blocks the path")
        }
        _ => (Exit::Storage, ""),
    };
    Failure::new(exit, format!("{}: {error}{hint}", path.display()))
}
