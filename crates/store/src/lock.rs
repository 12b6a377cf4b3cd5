//! The lock on a state directory.

use crate::sqlite::io_error;
use crawl_model::StoreError;
use serde::{Deserialize, Serialize};
use std::{
    fmt,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
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
        let failed = |e: &io::Error| io_error(&path, e);
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
            Err(TryLockError::Error(e)) if is_without_locks(&e) => return Err(no_locks(dir, &e)),
            Err(TryLockError::Error(e)) => return Err(failed(&e)),
        }
        let mut lock = Self { file };
        lock.sign().map_err(|e| failed(&e))?;
        Ok(lock)
    }

    /// Who holds a state directory, if anyone does, by the line in the lock's file: nothing is locked for it, so that whoever looks
    /// is in nobody's way. A holder on this machine that is no more (it was killed) is none.
    #[must_use]
    pub fn holder(dir: &Path) -> Option<Holder> {
        let holder: Holder = serde_json::from_str(&fs::read_to_string(dir.join(FILE)).ok()?).ok()?;
        let here = gethostname::gethostname().to_string_lossy() == holder.host.as_str();
        // where there is no /proc nothing can be said against it
        let gone = here && Path::new("/proc/self/cmdline").exists() && !holder.is_alive();
        (!gone).then_some(holder)
    }

    /// Writes who holds the lock.
    fn sign(&mut self) -> io::Result<()> {
        let arguments = std::env::args_os().map(|a| a.to_string_lossy().into_owned());
        let holder = Holder {
            pid: std::process::id(),
            host: gethostname::gethostname().to_string_lossy().into_owned(),
            started_at: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            command: capped(arguments.collect::<Vec<_>>().join(" ")),
        };
        let line = serde_json::to_string(&holder)?;
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

/// Error numbers of a file system that has no locks: ENOLCK, ENOSYS, EOPNOTSUPP.
const WITHOUT_LOCKS: [i32; 3] = [37, 38, 95];

fn is_without_locks(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|number| WITHOUT_LOCKS.contains(&number))
}

/// The error of a directory whose file system cannot lock files.
pub(crate) fn no_locks(dir: &Path, error: &dyn fmt::Display) -> StoreError {
    StoreError::Full(format!(
        "{}: its file system cannot lock files ({error}); name one on a local disk, for a state with --state-dir",
        dir.display()
    ))
}

/// Who holds a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Holder {
    /// Its process.
    pub pid: u32,
    /// The name of its machine.
    pub host: String,
    /// When it took the lock, RFC 3339.
    pub started_at: String,
    /// Its command line, of which the first half a KiB is kept.
    pub command: String,
}

impl Holder {
    /// Whether there is a process of this number with this command line on this machine.
    fn is_alive(&self) -> bool {
        let Ok(line) = fs::read(format!("/proc/{}/cmdline", self.pid)) else { return false };
        let words: Vec<_> = line
            .strip_suffix(b"\0")
            .unwrap_or(&line)
            .split(|b| *b == 0)
            .map(String::from_utf8_lossy)
            .collect();
        capped(words.join(" ")) == self.command
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pid, host, started_at, command } = self;
        write!(f, "process {pid} on {host} since {started_at}: {command}")
    }
}

fn capped(mut command: String) -> String {
    command.truncate(command.floor_char_boundary(COMMAND_CAP));
    command
}

/// The holder in words, as far as the file tells.
fn holder(file: &mut File, dir: &Path) -> String {
    let mut text = String::new();
    match file.read_to_string(&mut text).ok().and_then(|_| serde_json::from_str::<Holder>(&text).ok()) {
        Some(holder) => format!("{} is held by {holder}", dir.display()),
        // between another process's lock and its line
        None => format!("{} is held by another process", dir.display()),
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
        assert_eq!(StateLock::holder(&state).unwrap().pid, std::process::id());
        let alive = fs::read_to_string(state.join(FILE)).unwrap();
        let killed = alive.replace(&std::process::id().to_string(), "999999999");
        drop(first);
        assert_eq!(StateLock::holder(&state), None);
        fs::write(state.join(FILE), killed).unwrap();
        assert_eq!(StateLock::holder(&state), None, "whoever was killed leaves its line behind");
        StateLock::acquire(&state).unwrap();
        assert_eq!(fs::read_to_string(state.join(FILE)).unwrap(), "");
        StateLock::acquire(&state).unwrap();
    }

    #[test]
    fn a_file_system_without_locks_is_named_with_the_way_out() {
        for number in WITHOUT_LOCKS {
            let error = io::Error::from_raw_os_error(number);
            assert!(is_without_locks(&error), "{error}");
            let StoreError::Full(words) = no_locks(Path::new("/mnt/share/state"), &error) else { panic!() };
            assert!(words.starts_with("/mnt/share/state: ") && words.contains("--state-dir"), "{words}");
        }
        assert!(!is_without_locks(&io::Error::from(io::ErrorKind::PermissionDenied)));
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_a_storage_error() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(matches!(StateLock::acquire(&file.join("state")), Err(StoreError::Full(_))));
    }
}
