//! Signals that stop a crawl.

use crate::logging::say;
use crawl_engine::exit::Exit;
use rustix::process::Signal as RawSignal;
use std::{fs, future, sync::OnceLock, time::Duration};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    task::JoinHandle,
    time::Instant,
};
use tokio_util::sync::CancellationToken;

/// Signals within this time after the first belong to it: `timeout` signals a process and then its group.
const SAME_STOP: Duration = Duration::from_secs(1);

/// The user's request to stop. It holds for all sessions of a run, and for the time between them.
pub struct StopRequest {
    requested: CancellationToken,
    quiet: bool,
    listener: OnceLock<JoinHandle<()>>,
}

impl StopRequest {
    /// No request yet. Signals have their default action until [`listen`](Self::listen) is called.
    pub fn new(quiet: bool) -> Self {
        Self { requested: CancellationToken::new(), quiet, listener: OnceLock::new() }
    }

    /// Catches signals from now on.
    pub fn listen(&self) {
        self.listener.get_or_init(|| tokio::spawn(stop_on_signals(self.requested.clone(), self.quiet)));
    }

    /// Cancelled once the user requests the stop.
    pub const fn requested(&self) -> &CancellationToken {
        &self.requested
    }
}

impl Drop for StopRequest {
    fn drop(&mut self) {
        if let Some(listener) = self.listener.get() {
            listener.abort();
        }
    }
}

/// Cancels the crawl at the first SIGINT, SIGTERM or SIGHUP, and ends the process at a later one: then leases run
/// out. A SIGHUP that the caller ignores (`nohup`) stays ignored.
///
/// Signals are caught from the call on, not only when the future is polled: by then a busy crawl may have begun.
pub fn stop_on_signals(cancel: CancellationToken, quiet: bool) -> impl Future<Output = ()> {
    catch_file_size_limit();
    let caught = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    let mut hangup = if ignores_hangup() { None } else { signal(SignalKind::hangup()).ok() };
    async move {
        let (Ok(mut int), Ok(mut term)) = caught else { return };
        let mut first = None;
        loop {
            tokio::select! {
                _ = int.recv() => {}
                _ = term.recv() => {}
                () = next(&mut hangup) => {}
            }
            let now = Instant::now();
            match first.map(|first| now - first) {
                Some(since) if is_same_stop(since) => continue,
                Some(_) => std::process::exit(i32::from(Exit::Interrupted as u8)),
                None => first = Some(now),
            }
            // before the run can end: its summary comes after this line
            if !quiet {
                say(
                    "stopping: saving pages in flight (a signal more than one second later stops immediately)",
                );
            }
            cancel.cancel();
        }
    }
}

/// Catches SIGXFSZ, whose default action ends the process in the middle of a write. A write beyond the limit then fails, and
/// the run ends as if the disk was full.
fn catch_file_size_limit() {
    // the handler stays when the stream of signals is dropped
    drop(signal(SignalKind::from_raw(RawSignal::XFSZ.as_raw())));
}

/// Returns true for a signal that belongs to the first, by its time since then.
fn is_same_stop(since: Duration) -> bool {
    since < SAME_STOP
}

/// Waits for a signal; without one, for ever.
async fn next(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => future::pending().await,
    }
}

/// Returns true if this process was started with SIGHUP ignored, or does not know it.
fn ignores_hangup() -> bool {
    fs::read_to_string("/proc/self/status").map_or(true, |status| is_hangup_ignored(&status))
}

/// Reads the set of ignored signals in `/proc/self/status` (proc(5)); its lowest bit is SIGHUP.
fn is_hangup_ignored(status: &str) -> bool {
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).is_none_or(|set| set & 1 != 0)
}

#[cfg(test)]
mod tests {
    use super::{is_hangup_ignored, is_same_stop};
    use std::time::Duration;

    #[test]
    fn signal_after_one_second_is_a_second_request() {
        assert!(is_same_stop(Duration::from_millis(2)) && !is_same_stop(Duration::from_secs(1)));
    }

    #[test]
    fn nohup_is_read_from_the_status_of_the_process() {
        assert!(is_hangup_ignored("SigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n"));
        assert!(!is_hangup_ignored("SigBlk:\t0000000000000001\nSigIgn:\t0000000000001000\n"));
        assert!(is_hangup_ignored("Name:\tcrawl\n"), "unknown: the default action stays");
    }
}
