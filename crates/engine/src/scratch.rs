//! Temporary folders of a process, and the removal of folders that killed processes left behind.

use std::{
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::MetadataExt,
    path::Path,
    time::Duration,
};
use tempfile::TempDir;

/// The file in a folder that its process holds a lock on.
const LOCK: &str = "owner.lock";
/// Folders that are made until one is locked: another process may take a new one for a leftover.
const MAX_ATTEMPTS: usize = 10;

/// Age from which an empty folder is a leftover: between its making and its lock are microseconds.
const UNLOCKED: Duration = Duration::from_secs(60);

/// A folder that is removed when it is dropped.
pub struct Scratch {
    folder: TempDir,
    _lock: File,
}

/// The permissions of the folder: its owner's alone.
fn permissions() -> fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o700)
}

impl Scratch {
    /// Makes a folder whose name begins with `prefix`. Folders of this user with such names are removed if the process that made
    /// them was killed.
    ///
    /// # Errors
    /// When none can be made.
    pub fn new(base: &Path, prefix: &str) -> io::Result<Self> {
        remove_leftovers(base, prefix);
        for _ in 0..MAX_ATTEMPTS {
            let folder =
                tempfile::Builder::new().prefix(prefix).permissions(permissions()).tempdir_in(base)?;
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

    /// Path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
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
        let lock = match File::open(path.join(LOCK)) {
            Ok(lock) => lock,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                remove_unlocked(&path);
                continue;
            }
            Err(_) => continue,
        };
        if lock.try_lock().is_ok()
            && let Err(error) = fs::remove_dir_all(&path)
        {
            tracing::debug!(folder = %path.display(), %error, "a leftover cannot be removed");
        }
    }
}

/// Removes a folder whose process was killed before it made the lock's file. It is empty, and not new, since
/// a new one's process may be about to lock it. A folder with a file in it is another program's.
fn remove_unlocked(folder: &Path) {
    let age = fs::symlink_metadata(folder).and_then(|meta| meta.modified()).map(|made| made.elapsed());
    if matches!(age, Ok(Ok(age)) if age >= UNLOCKED)
        && let Err(error) = fs::remove_dir(folder)
        && error.kind() != io::ErrorKind::DirectoryNotEmpty
    {
        tracing::debug!(folder = %folder.display(), %error, "a leftover cannot be removed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_unlocked_empty_scratch_folders_are_removed() {
        let base = tempfile::tempdir().unwrap();
        let folder = |name: &str| base.path().join(name);
        let old = std::time::SystemTime::now() - 2 * UNLOCKED;
        for name in ["crawl-test-new", "crawl-test-old", "crawl-test-foreign", "another"] {
            fs::create_dir(folder(name)).unwrap();
            if name == "crawl-test-foreign" {
                fs::write(folder(name).join("data"), "").unwrap();
            }
            if name != "crawl-test-new" {
                File::open(folder(name)).unwrap().set_modified(old).unwrap();
            }
        }
        let scratch = Scratch::new(base.path(), "crawl-test-").unwrap();
        assert!(!folder("crawl-test-old").exists());
        assert!(["crawl-test-new", "crawl-test-foreign", "another"].iter().all(|name| folder(name).exists()));
        let mode =
            std::os::unix::fs::PermissionsExt::mode(&fs::metadata(scratch.path()).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o700);
        drop(scratch);
    }

    #[test]
    fn scratch_folders_of_killed_processes_are_removed() {
        let base = tempfile::tempdir().unwrap();
        let other = Scratch::new(base.path(), "crawl-test-").unwrap();
        fs::write(other.path().join("data"), "in use").unwrap();
        // a folder of a killed process: its lock is free
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
