//! Signals that stop a crawl.

use crate::logging::say;
use crawl_engine::exit::Exit;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Cancels the crawl at the first SIGINT or SIGTERM, and ends the process at the second: then leases run out.
///
/// Signals are caught from the call on, not only when the future is polled: by then a busy crawl may have begun.
pub fn stop_on_signals(cancel: CancellationToken, quiet: bool) -> impl Future<Output = ()> {
    let caught = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    async move {
        let (Ok(mut int), Ok(mut term)) = caught else { return };
        let mut is_stopping = false;
        loop {
            tokio::select! {
                _ = int.recv() => {}
                _ = term.recv() => {}
            }
            if is_stopping {
                std::process::exit(i32::from(Exit::Interrupted as u8));
            }
            is_stopping = true;
            // before the run can end: its summary comes after this line
            if !quiet {
                say("stopping: saving pages in flight (a second signal stops at once)");
            }
            cancel.cancel();
        }
    }
}
