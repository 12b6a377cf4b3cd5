//! Thread that renews the lease of a worker's hosts while the worker makes no call.

use super::Inner;
use std::{
    io,
    sync::{
        Arc, Mutex, Weak,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// The running thread, which ends when this value is dropped.
pub(super) struct Heartbeat {
    stop: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Heartbeat {
    /// Starts a thread that looks at the age of the lease in this interval.
    pub(super) fn start(inner: &Arc<Mutex<Inner>>, interval: Duration) -> io::Result<Self> {
        let (stop, stopped) = sync_channel(1);
        let inner = Arc::downgrade(inner);
        let thread =
            thread::Builder::new().name("lease".into()).spawn(move || beat(&inner, &stopped, interval))?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn beat(inner: &Weak<Mutex<Inner>>, stopped: &Receiver<()>, interval: Duration) {
    while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
        let Some(inner) = inner.upgrade() else { return };
        // a thread that panicked in a change has made the store unusable
        let Ok(mut inner) = inner.lock() else { return };
        if inner.lost.is_some() {
            return;
        }
        if let Err(error) = inner.renew() {
            tracing::warn!(%error, "the lease of the hosts was not renewed");
            return;
        }
    }
}
