//! Processes with a deadline.

use rustix::process::{Pid, test_kill_process_group};
use std::{
    fs::{self, File},
    io,
    os::unix::process::{CommandExt, ExitStatusExt},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Time limit of a run; far beyond the need of a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(90);

/// A finished run.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Its exit code; `None` after a signal.
    pub code: Option<i32>,
    /// Standard error.
    pub stderr: String,
    /// True if it was killed after [`PATIENCE`].
    pub hung: bool,
    /// True if a process of its group still exists.
    pub left_processes: bool,
    /// Duration of the run.
    pub took: Duration,
}

/// A run that is on.
pub struct Running {
    child: Child,
    stderr: PathBuf,
    started: Instant,
}

impl Running {
    /// Starts a command in its own process group; standard error goes to `stderr`.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(command: &mut Command, stderr: &Path) -> io::Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(stderr)?).process_group(0);
        Ok(Self { child: command.spawn()?, stderr: stderr.to_owned(), started: Instant::now() })
    }

    /// Waits for the end until `deadline` after the start; `None` if it still runs.
    pub fn wait_until(&mut self, deadline: Duration) -> Option<ExitStatus> {
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            if self.started.elapsed() >= deadline {
                return None;
            }
            pause(Duration::from_millis(1));
        }
    }

    /// Kills it unless it has ended, and returns its end.
    pub fn kill(mut self) -> Ended {
        let _ = self.child.kill();
        self.end(false)
    }

    /// Waits for its end, at most [`PATIENCE`].
    pub fn wait(mut self) -> Ended {
        let hung = self.wait_until(PATIENCE).is_none();
        if hung {
            let _ = self.child.kill();
        }
        self.end(hung)
    }

    fn end(&mut self, hung: bool) -> Ended {
        let status = self.child.wait().ok();
        let took = self.started.elapsed();
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let left_processes = group.is_some_and(|group| test_kill_process_group(group).is_ok());
        let stderr = fs::read(&self.stderr).unwrap_or_default();
        let stderr = String::from_utf8_lossy(&stderr).into_owned();
        let code = status.filter(|status| status.signal().is_none()).and_then(|status| status.code());
        Ended { code, stderr, hung, left_processes, took }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a process sends no event that a deadline can be put to; it is polled"
)]
fn pause(time: Duration) {
    thread::sleep(time);
}
