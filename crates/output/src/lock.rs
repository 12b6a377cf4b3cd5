//! Locks on outputs while they are written.

use crate::OutputError;
use std::{
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::MetadataExt,
    path::Path,
};

/// Locks a file for this process until it is closed. The kernel releases the lock when the process ends, so no lock
/// file can become stale. A file system without locks gives none.
pub(super) fn lock(file: &File, path: &Path) -> Result<(), OutputError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(OutputError::Busy {
            name: path.display().to_string(),
            holder: holder(file).map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}")),
        }),
        Err(TryLockError::Error(error)) => {
            tracing::warn!(file = %path.display(), %error, "the file system has no locks: two runs must not write this file");
            Ok(())
        }
    }
}

/// Returns true if a path still names an open file.
pub(super) fn is_named(file: &File, path: &Path) -> io::Result<bool> {
    let open = file.metadata()?;
    Ok(fs::metadata(path).is_ok_and(|named| (named.dev(), named.ino()) == (open.dev(), open.ino())))
}

/// The process that holds the lock on a file, by the kernel's list.
fn holder(file: &File) -> Option<u32> {
    let found = file.metadata().ok()?;
    let locks = fs::read_to_string("/proc/locks").ok()?;
    holder_in(&locks, found.dev(), found.ino())
}

/// A line is `1: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF`. Some file systems list another device than `stat`
/// reports: then the inode decides.
fn holder_in(locks: &str, device: u64, inode: u64) -> Option<u32> {
    let wanted = (rustix::fs::major(device), rustix::fs::minor(device));
    let mut by_inode = None;
    for line in locks.lines() {
        let mut words = line.split_whitespace().skip_while(|word| *word != "FLOCK").skip(3);
        let (Some(pid), Some(place)) = (words.next(), words.next()) else { continue };
        let (Ok(pid), mut parts) = (pid.parse(), place.split(':')) else { continue };
        let mut number = || parts.next().and_then(|part| u32::from_str_radix(part, 16).ok());
        let of = (number(), number());
        if parts.next().and_then(|part| part.parse().ok()) != Some(inode) {
            continue;
        }
        if of == (Some(wanted.0), Some(wanted.1)) {
            return Some(pid);
        }
        by_inode = Some(pid);
    }
    by_inode
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_error_names_the_holder() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (first, second) = (file.reopen().unwrap(), file.reopen().unwrap());
        lock(&first, file.path()).unwrap();
        let Err(OutputError::Busy { holder, .. }) = lock(&second, file.path()) else {
            panic!("locked twice")
        };
        assert_eq!(holder, format!("process {}", std::process::id()));
        drop(first);
        lock(&second, file.path()).unwrap();
    }

    #[test]
    fn lock_holder_is_read_from_proc_locks() {
        let list = "1: FLOCK  ADVISORY  WRITE 7 00:2a:99 0 EOF\n\
                    2: POSIX  ADVISORY  WRITE 8 08:01:99 0 EOF\n\
                    2: -> FLOCK  ADVISORY  WRITE 10 08:02:12 0 EOF\n\
                    3: FLOCK  ADVISORY  WRITE 9 08:01:99 0 EOF\n";
        let device = rustix::fs::makedev(8, 1);
        assert_eq!(holder_in(list, device, 99), Some(9));
        assert_eq!(holder_in(list, rustix::fs::makedev(9, 9), 12), Some(10));
        assert_eq!(holder_in(list, device, 98), None);
    }
}
