//! The lock on a state directory.

use crate::{
    file_error::{io_error, is_without_locks, no_locks},
    private,
};
use crawl_model::StoreError;
use serde::{Deserialize, Serialize};
use std::{
    fmt,
    fs::{self, File, TryLockError},
    io::{self, Read, Seek, Write},
    path::Path,
};

/// Name of the lock file in the state directory.
const FILE: &str = "lock";

/// Maximum bytes of a command line in lock files of earlier versions.
const COMMAND_CAP: usize = 512;

/// Exclusive lock of the operating system on `DIR/lock`. It is released when dropped, and by the kernel when
/// the process ends, so it is never stale. The file stays: its removal would let two processes lock two files
/// of one name. Its one line of JSON names the holder: `{"pid","host","startedAt","command","startTicks"}`.
/// It omits the command's arguments, which may be passwords.
#[derive(Debug)]
pub struct StateLock {
    file: File,
}

impl StateLock {
    /// Locks a state directory, which is created if missing. Does not wait.
    ///
    /// # Errors
    /// [`StoreError::Busy`], which names the holder, when another lock is held. [`StoreError::Full`] when the
    /// directory cannot be created or written.
    pub fn acquire(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join(FILE);
        let failed = |e: &io::Error| io_error(&path, e);
        private::create_dir_all(dir).map_err(|e| failed(&e))?;
        private::tighten_state(dir);
        // not truncated here: the content belongs to the holder until we have the lock
        let mut file = private::options()
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

    /// Removes a directory that was made for the lock and holds nothing else.
    pub fn remove(self, dir: &Path) {
        let is_alone = fs::read_dir(dir)
            .is_ok_and(|mut entries| entries.all(|entry| entry.is_ok_and(|entry| entry.file_name() == FILE)));
        if is_alone && let Err(error) = fs::remove_file(dir.join(FILE)).and_then(|()| fs::remove_dir(dir)) {
            tracing::debug!(%error, "an empty directory stays");
        }
    }

    /// Holder of a state directory, if any, from the lock file. It takes no lock, so a reader never blocks
    /// another process. A dead holder on this machine does not count.
    #[must_use]
    pub fn holder(dir: &Path) -> Option<Holder> {
        let holder = Holder::read(&fs::read_to_string(dir.join(FILE)).ok()?)?;
        let here = gethostname::gethostname().to_string_lossy() == holder.host.as_str();
        // without /proc the holder counts as alive
        let gone = here && Path::new("/proc/self/cmdline").exists() && !holder.is_alive();
        (!gone).then(|| holder.without_arguments())
    }

    /// Writes who holds the lock.
    fn sign(&mut self) -> io::Result<()> {
        let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
        let holder = Holder {
            pid: std::process::id(),
            host: gethostname::gethostname().to_string_lossy().into_owned(),
            started_at: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            command: program_and_command(words),
            start_ticks: start_ticks(std::process::id()),
        };
        let line = serde_json::to_string(&holder)?;
        self.file.set_len(0)?;
        self.file.rewind()?;
        writeln!(self.file, "{line}")
    }
}

impl Drop for StateLock {
    fn drop(&mut self) {
        // closing the file releases the lock; an old name in the file is harmless
        if let Err(error) = self.file.set_len(0) {
            tracing::debug!(%error, "the lock's file keeps the name of its last holder");
        }
    }
}

/// Holder of a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Holder {
    /// Its process.
    pub pid: u32,
    /// The name of its machine.
    pub host: String,
    /// Time of locking, RFC 3339.
    pub started_at: String,
    /// Program and job, such as `crawl retry-errors`.
    pub command: String,
    /// Start of the process, in ticks since boot; distinguishes it from a later process of the same number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start_ticks: Option<u64>,
}

impl Holder {
    fn read(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }

    /// The holder without arguments: an earlier version stored the whole command line.
    fn without_arguments(self) -> Self {
        let command = program_and_command(self.command.split(' ').map(str::to_owned));
        Self { command, start_ticks: None, ..self }
    }

    /// Returns true if the process of this number on this machine is the one that took the lock.
    fn is_alive(&self) -> bool {
        let Ok(line) = fs::read(format!("/proc/{}/cmdline", self.pid)) else { return false };
        if self.start_ticks.is_some() {
            return start_ticks(self.pid) == self.start_ticks;
        }
        // noted by an earlier version
        let words: Vec<_> = line
            .strip_suffix(b"\0")
            .unwrap_or(&line)
            .split(|b| *b == 0)
            .map(String::from_utf8_lossy)
            .collect();
        capped(words.join(" ")) == self.command
    }
}

/// Program and job of a command line, without flags and arguments.
fn program_and_command(mut words: impl Iterator<Item = String>) -> String {
    let program = words.next().unwrap_or_default();
    let program = Path::new(&program).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_job = |word: &String| {
        word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
    };
    words
        .next()
        .filter(is_job)
        .map_or_else(|| program.clone(), |program_and_command| format!("{program} {program_and_command}"))
}

/// Start of a process, in ticks since boot (proc_pid_stat(5), field 22).
fn start_ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // the second field is a name in parentheses, with any characters
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pid, host, started_at, command, .. } = self;
        write!(f, "process {pid} on {host} since {started_at}: {command}")
    }
}

fn capped(mut command: String) -> String {
    command.truncate(command.floor_char_boundary(COMMAND_CAP));
    command
}

/// Describes the holder as the file names it.
fn holder(file: &mut File, dir: &Path) -> String {
    let mut text = String::new();
    match file.read_to_string(&mut text).ok().and_then(|_| Holder::read(&text)) {
        Some(holder) => {
            format!("another run uses the state directory {}: {}", dir.display(), holder.without_arguments())
        }
        // between another process's lock and its write
        None => format!("another run uses the state directory {}", dir.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_lock_error_names_the_holder() {
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
    fn no_argument_of_a_command_is_noted_or_shown() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>().into_iter();
        for (line, kept) in [
            ("/usr/bin/crawl --seed s --proxy http://u:s3cret@h", "crawl"),
            ("crawl retry-errors --proxy=http://u:s3cret@h", "crawl retry-errors"),
            ("crawl http://u:s3cret@h", "crawl"),
            ("crawl", "crawl"),
        ] {
            assert_eq!(program_and_command(words(line)), kept);
        }
        let dir = tempfile::tempdir().unwrap();
        let lock = StateLock::acquire(dir.path()).unwrap();
        let text = fs::read_to_string(dir.path().join(FILE)).unwrap();
        // the test's name is on the command line of its runner
        assert!(!text.contains("no_argument_of_a_command"), "{text}");
        let own: Holder = Holder::read(&text).unwrap();
        assert!(own.is_alive() && own.start_ticks.is_some());
        let other = Holder { start_ticks: own.start_ticks.map(|ticks| ticks + 1), ..own.clone() };
        assert!(!other.is_alive(), "another process has the number now");
        assert_eq!(StateLock::holder(dir.path()).unwrap().start_ticks, None, "nobody needs to see it");
        drop(lock);
        // as an earlier version wrote it
        let command = capped(std::env::args().collect::<Vec<_>>().join(" "));
        let earlier = Holder { command, start_ticks: None, ..own };
        fs::write(dir.path().join(FILE), serde_json::to_string(&earlier).unwrap()).unwrap();
        let shown = StateLock::holder(dir.path()).unwrap().to_string();
        assert!(!shown.contains("no_argument_of_a_command"), "{shown}");
    }

    #[test]
    fn uncreatable_state_directory_is_a_storage_error() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(matches!(StateLock::acquire(&file.join("state")), Err(StoreError::Full(_))));
    }
}
