//! Processes of the browser: they die with this process, are killed as a group, and are reaped if any remain.

mod bubblewrap;
mod command;
mod group;
mod profile;
mod scan;
mod seccomp;

use crate::{error::RenderError, settings::ChromeSettings};
use command::command;
pub use command::find_browser;
pub(crate) use group::Group;
use group::is_dead;
pub(crate) use profile::reap;
use profile::{new_profile, remove_profile};
use rustix::process::{Pid, geteuid};
pub(crate) use scan::Member;
use std::{
    io::{BufRead, BufReader, Read},
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::{Path, PathBuf},
    process::{Child, ChildStderr},
    sync::{
        Mutex,
        mpsc::{Receiver, sync_channel},
    },
    time::Duration,
};
use tempfile::TempDir;

/// Maximum wait for the last line of a browser that has ended.
const LAST_LINE_WAIT: Duration = Duration::from_secs(2);

/// Maximum length of a line from the browser.
const LINE: u64 = 1 << 12;

/// A running browser. Dropping it kills its processes and removes its profile.
pub(crate) struct Process {
    path: PathBuf,
    child: Child,
    group: Group,
    /// Receives its last line after its end.
    last_line: Mutex<Option<Receiver<String>>>,
    profile: Option<TempDir>,
    /// Started by bubblewrap.
    is_wrapped: bool,
}

impl Process {
    /// Starts the browser, by bubblewrap if requested and present; returns the connection too. The browser
    /// dies with the calling thread.
    pub(crate) fn start(
        settings: &ChromeSettings,
        by_bubblewrap: bool,
    ) -> Result<(Self, UnixStream), RenderError> {
        let path = find_browser(settings.path.as_deref())?;
        let path = std::path::absolute(&path).unwrap_or(path);
        if settings.sandbox && geteuid().is_root() {
            return Err(RenderError::Sandbox);
        }
        let failed = |reason: String| RenderError::Launch { path: path.clone(), reason };
        let base = settings.profiles.clone().unwrap_or_else(std::env::temp_dir);
        let profile = new_profile(&base).map_err(|error| failed(format!("no profile directory: {error}")))?;
        let (ours, its) = UnixStream::pair().map_err(|error| failed(error.to_string()))?;
        let bwrap = by_bubblewrap.then(|| bubblewrap::find(&path)).flatten();
        let wrapper = bwrap.map(|bwrap| bubblewrap::Wrapper::new(bwrap, profile.path()));
        let mut command = command(&path, settings, profile.path(), wrapper.as_ref());
        command.stdin(OwnedFd::from(its));
        let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
        // the end of the browser closes the connection only if no copy of its socket stays here
        drop(command);
        let stderr = child.stderr.take();
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw).map(Group);
        let Some((stderr, group)) = stderr.zip(group) else {
            return Err(failed("it has no output".into()));
        };
        let mut process = Self {
            path: path.clone(),
            child,
            group,
            last_line: Mutex::default(),
            profile: Some(profile),
            is_wrapped: wrapper.is_some(),
        };
        process.last_line = Mutex::new(Some(listen(stderr).map_err(|error| failed(error.to_string()))?));
        Ok((process, ours))
    }

    /// Last line of a browser that has ended, if it wrote any.
    pub(crate) fn last_line(&self) -> Option<String> {
        self.last_line.lock().ok()?.take()?.recv_timeout(LAST_LINE_WAIT).ok().filter(|line| !line.is_empty())
    }

    /// Returns true if bubblewrap started the browser.
    pub(crate) const fn is_wrapped(&self) -> bool {
        self.is_wrapped
    }

    /// Counts a start of this browser that failed by bubblewrap for `reason`.
    pub(crate) fn on_bubblewrap_failure(&self, reason: &str) {
        bubblewrap::on_failure(&self.path, reason);
    }

    /// Error of a browser that did not start.
    pub(crate) fn failed(&self, reason: String) -> RenderError {
        RenderError::Launch { path: self.path.clone(), reason }
    }

    /// Its profile.
    pub(crate) fn profile(&self) -> Option<&Path> {
        self.profile.as_ref().map(TempDir::path)
    }

    pub(crate) const fn group(&self) -> Group {
        self.group
    }

    /// Returns true if the browser still runs.
    pub(crate) fn is_alive(&self) -> bool {
        !is_dead(self.child.id())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.group.kill();
        let _ = self.child.wait();
        // a dying process may still write into the profile
        self.group.end();
        if let Some(profile) = self.profile.take() {
            remove_profile(&profile.keep());
        }
    }
}

/// Reads the browser's output until it ends, since a full pipe would stop it. Then sends the last line.
fn listen(stderr: ChildStderr) -> std::io::Result<Receiver<String>> {
    let (sender, last_line) = sync_channel(1);
    let read = move || {
        let mut last = String::new();
        let mut lines = BufReader::new(stderr);
        let mut line = Vec::new();
        loop {
            line.clear();
            match lines.by_ref().take(LINE).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
            let text = String::from_utf8_lossy(&line);
            if !text.trim().is_empty() {
                text.trim().clone_into(&mut last);
            }
        }
        let _ = sender.send(last);
    };
    std::thread::Builder::new().name("chrome-stderr".into()).spawn(read)?;
    Ok(last_line)
}

#[cfg(test)]
mod tests;
