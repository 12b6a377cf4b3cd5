//! Errors of the file system as errors of storage.

use crawl_model::StoreError;
use std::{fmt, io, path::Path};

/// Converts a file system error about `path`.
pub(crate) fn io_error(path: &Path, error: &io::Error) -> StoreError {
    let text = format!("{}: {error}", path.display());
    match error.kind() {
        io::ErrorKind::PermissionDenied
        | io::ErrorKind::ReadOnlyFilesystem
        | io::ErrorKind::StorageFull
        | io::ErrorKind::QuotaExceeded
        | io::ErrorKind::FileTooLarge
        | io::ErrorKind::NotADirectory
        | io::ErrorKind::AlreadyExists => StoreError::Full(text),
        // any other system error (EIO, EMFILE): the file cannot be used, and the same command may continue
        // later
        _ if error.raw_os_error().is_some() => StoreError::Full(text),
        _ => StoreError::Other(text),
    }
}

/// Error numbers of a file system without locks: ENOLCK, ENOSYS, EOPNOTSUPP.
const WITHOUT_LOCKS: [i32; 3] = [37, 38, 95];

/// Returns true if a file system refused a lock because it has none.
pub(crate) fn is_without_locks(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|number| WITHOUT_LOCKS.contains(&number))
}

/// The error of a directory whose file system cannot lock files.
pub(crate) fn no_locks(dir: &Path, error: &dyn fmt::Display) -> StoreError {
    StoreError::Full(format!(
        "{}: its file system cannot lock files ({error}); name one on a local disk, for a state with --state-dir",
        dir.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn io_and_descriptor_errors_are_storage_errors() {
        for code in [5, 23, 24] {
            let error = io_error(Path::new("lock"), &io::Error::from_raw_os_error(code));
            assert!(matches!(error, StoreError::Full(_)), "{error}");
        }
    }

    #[test]
    fn file_system_without_locks_is_an_error_with_a_remedy() {
        for number in WITHOUT_LOCKS {
            let error = io::Error::from_raw_os_error(number);
            assert!(is_without_locks(&error), "{error}");
            let StoreError::Full(words) = no_locks(Path::new("/mnt/share/state"), &error) else { panic!() };
            assert!(words.starts_with("/mnt/share/state: ") && words.contains("--state-dir"), "{words}");
        }
        assert!(!is_without_locks(&io::Error::from(io::ErrorKind::PermissionDenied)));
    }
}
