//! The browser's processes: started so that they die with us, killed as a group, and reaped if they were left.

mod command;
mod group;
mod profile;

use crate::{
    error::{RenderError, RenderPhase},
    settings::ChromeSettings,
};
use command::command;
pub use command::find_browser;
pub(crate) use group::Group;
use group::is_dead;
pub(crate) use profile::reap;
use profile::{new_profile, remove_profile};
use rustix::process::{Pid, geteuid};
use std::{
    io::{BufRead, BufReader, Read},
    net::SocketAddr,
    process::{Child, ChildStderr},
    sync::mpsc::{Receiver, RecvTimeoutError, sync_channel},
    time::Duration,
};
use tempfile::TempDir;

/// How long the browser has to say where it listens.
const START: Duration = Duration::from_secs(30);

/// A browser that runs. Dropped, its processes are dead and its profile is gone.
pub(crate) struct Process {
    child: Child,
    group: Group,
    /// Its address for whoever drives it.
    pub(crate) debug_url: String,
    profile: Option<TempDir>,
}

impl Process {
    /// Starts the browser behind the proxy. It dies with the calling thread.
    pub(crate) fn start(settings: &ChromeSettings, proxy: SocketAddr) -> Result<Self, RenderError> {
        let path = find_browser(settings.path.as_deref())?;
        if settings.sandbox && geteuid().is_root() {
            return Err(RenderError::Sandbox);
        }
        let failed = |reason: String| RenderError::Launch { path: path.clone(), reason };
        let base = settings.profiles.clone().unwrap_or_else(std::env::temp_dir);
        let profile = new_profile(&base).map_err(|error| failed(format!("no profile directory: {error}")))?;
        let mut command = command(&path, settings, proxy, profile.path());
        let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
        let stderr = child.stderr.take();
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw).map(Group);
        let Some((stderr, group)) = stderr.zip(group) else {
            return Err(failed("it has no output".into()));
        };
        let mut process = Self { child, group, debug_url: String::new(), profile: Some(profile) };
        let said = listen(stderr).map_err(|error| failed(error.to_string()))?;
        process.debug_url = match said.recv_timeout(START) {
            Ok(Ok(url)) => url,
            Ok(Err(last_words)) => return Err(failed(last_words)),
            Err(RecvTimeoutError::Timeout) => {
                return Err(RenderError::Timeout { phase: RenderPhase::Launch, limit: START });
            }
            Err(RecvTimeoutError::Disconnected) => return Err(failed("it ended".into())),
        };
        Ok(process)
    }

    pub(crate) const fn group(&self) -> Group {
        self.group
    }

    /// Whether the browser still runs.
    pub(crate) fn is_alive(&self) -> bool {
        !is_dead(self.child.id())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.group.kill();
        let _ = self.child.wait();
        // a process that has not quite died may still write into the profile
        self.group.end();
        if let Some(profile) = self.profile.take() {
            remove_profile(&profile.keep());
        }
    }
}

/// Reads what the browser says: the address at which it listens, or its last words. What it says later is let go.
fn listen(stderr: ChildStderr) -> std::io::Result<Receiver<Result<String, String>>> {
    let (tell, said) = sync_channel(1);
    let read = move || {
        let mut last = String::new();
        let mut lines = BufReader::new(stderr);
        let mut line = String::new();
        let found = loop {
            line.clear();
            match lines.by_ref().take(1 << 16).read_line(&mut line) {
                Ok(0) | Err(_) => break None,
                Ok(_) => {}
            }
            if let Some((_, url)) = line.split_once("DevTools listening on ") {
                break Some(url.trim().to_owned());
            }
            if !line.trim().is_empty() {
                last = line.trim().to_owned();
            }
        };
        let _ = tell.send(found.ok_or(last));
        // a full pipe would stop the browser
        let _ = std::io::copy(&mut lines, &mut std::io::sink());
    };
    std::thread::Builder::new().name("chrome-stderr".into()).spawn(read)?;
    Ok(said)
}

#[cfg(test)]
mod tests;
