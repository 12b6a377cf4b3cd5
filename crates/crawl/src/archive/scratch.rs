//! Folders for the time of a process, and the removal of those that killed processes have left.

use std::{
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::MetadataExt,
    path::Path,
};
use tempfile::TempDir;

/// The file in a folder that its process holds a lock on.
const LOCK: &str = "owner.lock";
/// Folders that are made until one is locked: another process may take a new one for a leftover.
const TRIES: usize = 10;

/// A folder that is removed when it is dropped.
pub(super) struct Scratch {
    folder: TempDir,
    _lock: File,
}

impl Scratch {
    /// Makes a folder whose name begins with `prefix`. Folders of this user with such names are removed if the process that made
    /// them was killed.
    ///
    /// # Errors
    /// When none can be made.
    pub(super) fn new(base: &Path, prefix: &str) -> io::Result<Self> {
        remove_leftovers(base, prefix);
        for _ in 0..TRIES {
            let folder = tempfile::Builder::new().prefix(prefix).tempdir_in(base)?;
            let lock = File::create(folder.path().join(LOCK))?;
            match lock.try_lock() {
                Err(TryLockError::WouldBlock) => {}
                // without locks nothing is removed, and nothing has to be held
                Ok(()) | Err(TryLockError::Error(_)) if folder.path().join(LOCK).exists() => {
                    return Ok(Self { folder, _lock: lock });
                }
                _ => {}
            }
        }
        Err(io::Error::other("other processes remove every new folder"))
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // one failed unlink must not leave the whole folder behind: the folder's own drop tries once more
        if let Err(error) = fs::remove_dir_all(self.folder.path()) {
            tracing::debug!(folder = %self.folder.path().display(), %error, "not removed at the first try");
        }
    }
}

fn remove_leftovers(base: &Path, prefix: &str) {
    let own = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_ours = fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_dir() && meta.uid() == own);
        if !(is_ours && entry.file_name().to_string_lossy().starts_with(prefix)) {
            continue;
        }
        // a folder without a lock's file has only just been made
        let Ok(lock) = File::open(path.join(LOCK)) else { continue };
        if lock.try_lock().is_ok()
            && let Err(error) = fs::remove_dir_all(&path)
        {
            tracing::debug!(folder = %path.display(), %error, "a leftover cannot be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_killed_processes_are_removed_and_those_of_others_stay() {
        let base = tempfile::tempdir().unwrap();
        let other = Scratch::new(base.path(), "crawl-test-").unwrap();
        fs::write(other.path().join("data"), "in use").unwrap();
        // as a killed process leaves it: nothing holds the lock
        let left = base.path().join("crawl-test-left");
        for folder in [&left, &base.path().join("another")] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join(LOCK), "").unwrap();
        }
        let scratch = Scratch::new(base.path(), "crawl-test-").unwrap();
        assert!(!left.exists() && base.path().join("another").exists());
        assert!(other.path().join("data").exists() && scratch.path() != other.path());
        drop((scratch, other));
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 1);
    }
}
