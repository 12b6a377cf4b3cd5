//! Conversion of SQLite errors to [`StoreError`].

use crate::file_error::no_locks;
use crawl_model::StoreError;
use rusqlite::{Connection, Error, ErrorCode, ffi};
use std::{path::Path, time::Duration};

/// Converts an SQLite error. The kinds differ by the user's remedy: free space, wait for the other process,
/// start afresh.
#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err takes")]
pub(crate) fn sql(error: Error) -> StoreError {
    let text = error.to_string();
    match &error {
        Error::SqliteFailure(failure, _) => match failure.code {
            ErrorCode::DiskFull
            | ErrorCode::SystemIoFailure
            | ErrorCode::ReadOnly
            | ErrorCode::CannotOpen
            | ErrorCode::PermissionDenied => StoreError::Full(text),
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Busy(text),
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => StoreError::Corrupt(text),
            _ => StoreError::Other(text),
        },
        Error::FromSqlConversionFailure(_, _, source) => StoreError::Corrupt(source.to_string()),
        Error::InvalidColumnType(..) | Error::IntegralValueOutOfRange(..) | Error::Utf8Error(..) => {
            StoreError::Corrupt(text)
        }
        _ => StoreError::Other(text),
    }
}

/// Replaces the error of opening a database if its file system has no locks. SQLite reports both as "locked",
/// so it tries a database that no other process knows.
pub(in crate::sqlite) fn or_no_locks(dir: &Path, error: StoreError) -> StoreError {
    let (StoreError::Busy(words) | StoreError::Full(words)) = &error else { return error };
    let name = dir.join(format!(".locks-{}.sqlite", std::process::id()));
    let can_lock = Connection::open(&name).and_then(|probe| {
        probe.busy_timeout(Duration::ZERO)?;
        probe.execute_batch("BEGIN IMMEDIATE; ROLLBACK")
    });
    // it may not have been made
    let _ = std::fs::remove_file(&name);
    match can_lock {
        Err(Error::SqliteFailure(failure, _)) if is_lock_error(failure) => no_locks(dir, words),
        _ => error,
    }
}

fn is_lock_error(failure: ffi::Error) -> bool {
    failure.code == ErrorCode::DatabaseBusy
        || [
            ffi::SQLITE_IOERR_LOCK,
            ffi::SQLITE_IOERR_RDLOCK,
            ffi::SQLITE_IOERR_UNLOCK,
            ffi::SQLITE_IOERR_CHECKRESERVEDLOCK,
            ffi::SQLITE_IOERR_SHMLOCK,
        ]
        .contains(&failure.extended_code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_database_differs_from_missing_file_locks() {
        let dir = tempfile::tempdir().unwrap();
        let busy = or_no_locks(dir.path(), StoreError::Busy("database is locked".into()));
        assert!(matches!(busy, StoreError::Busy(_)));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "the probe is removed");
        for (code, lock) in
            [(ffi::SQLITE_BUSY, true), (ffi::SQLITE_IOERR_LOCK, true), (ffi::SQLITE_FULL, false)]
        {
            assert_eq!(is_lock_error(ffi::Error::new(code)), lock, "{code}");
        }
    }

    #[test]
    fn sqlite_codes_map_to_typed_errors() {
        let kind = |code| match sql(Error::SqliteFailure(ffi::Error::new(code), None)) {
            StoreError::Full(_) => "full",
            StoreError::Busy(_) => "busy",
            StoreError::Corrupt(_) => "corrupt",
            _ => "other",
        };
        for code in [ffi::SQLITE_FULL, ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_READONLY, ffi::SQLITE_CANTOPEN] {
            assert_eq!(kind(code), "full");
        }
        assert_eq!(kind(ffi::SQLITE_BUSY_SNAPSHOT), "busy");
        assert_eq!(kind(ffi::SQLITE_LOCKED), "busy");
        assert_eq!(kind(ffi::SQLITE_CORRUPT), "corrupt");
        assert_eq!(kind(ffi::SQLITE_NOTADB), "corrupt");
        assert_eq!(kind(ffi::SQLITE_CONSTRAINT), "other");
    }
}
