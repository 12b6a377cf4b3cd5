//! The lock on a state directory.

use crate::sqlite::io_error;
use crawl_model::StoreError;
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{Read, Seek, Write},
    path::Path,
};

/// Name of the lock's file in the state directory.
const FILE: &str = "lock";

/// Longest command line that is noted, in bytes.
const COMMAND_CAP: usize = 512;

/// An exclusive lock of the operating system on `DIR/lock`. It is released when it is dropped, and by the kernel when
/// the process ends in whatever way, so it never goes stale. The file stays: removing it would let two processes
/// lock two files of one name. Its one line of JSON names the holder: `{"pid","host","startedAt","command"}`.
#[derive(Debug)]
pub struct StateLock {
    file: File,
}

impl StateLock {
    /// Locks a state directory, which is made if it does not exist. Does not wait.
    ///
    /// # Errors
    /// [`StoreError::Busy`], which names the holder, when another process (or another lock of this one) holds it;
    /// [`StoreError::Full`] when the directory cannot be made or written.
    pub fn acquire(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join(FILE);
        let failed = |e: &std::io::Error| io_error(&path, e);
        fs::create_dir_all(dir).map_err(|e| failed(&e))?;
        // not truncated here: the content belongs to the holder until the lock is ours
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|e| failed(&e))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(StoreError::Busy(holder(&mut file, dir))),
            Err(TryLockError::Error(e)) => return Err(failed(&e)),
        }
        let mut lock = Self { file };
        lock.sign().map_err(|e| failed(&e))?;
        Ok(lock)
    }

    /// Writes who holds the lock.
    fn sign(&mut self) -> std::io::Result<()> {
        let mut command =
            std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ");
        command.truncate(command.floor_char_boundary(COMMAND_CAP));
        let line = serde_json::json!({
            "pid": std::process::id(),
            "host": gethostname::gethostname().to_string_lossy(),
            "startedAt": jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            "command": command,
        });
        self.file.set_len(0)?;
        self.file.rewind()?;
        writeln!(self.file, "{line}")
    }
}

impl Drop for StateLock {
    fn drop(&mut self) {
        // the lock itself goes with the file's handle; an old name in the file does no harm
        if let Err(error) = self.file.set_len(0) {
            tracing::debug!(%error, "the lock's file keeps the name of its last holder");
        }
    }
}

/// The holder in words, as far as the file tells.
fn holder(file: &mut File, dir: &Path) -> String {
    let mut text = String::new();
    let known = file.read_to_string(&mut text).ok().and_then(|_| serde_json::from_str(&text).ok());
    let value: serde_json::Value = known.unwrap_or_default();
    let field = |name: &str| value.get(name).map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned));
    match (field("pid"), field("host"), field("startedAt"), field("command")) {
        (Some(pid), Some(host), Some(since), Some(command)) => {
            format!("{} is held by process {pid} on {host} since {since}: {command}", dir.display())
        }
        // between another process's lock and its line
        _ => format!("{} is held by another process", dir.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_holds_it() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("deep/state");
        let first = StateLock::acquire(&state).unwrap();
        let Err(StoreError::Busy(who)) = StateLock::acquire(&state) else { panic!("locked twice") };
        assert!(who.contains(&format!("process {} on ", std::process::id())), "{who}");
        assert!(who.contains("since 20"), "{who}");
        drop(first);
        assert_eq!(fs::read_to_string(state.join(FILE)).unwrap(), "");
        StateLock::acquire(&state).unwrap();
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_a_storage_error() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(matches!(StateLock::acquire(&file.join("state")), Err(StoreError::Full(_))));
    }
}
