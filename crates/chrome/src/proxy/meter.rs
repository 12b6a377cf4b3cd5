//! Bytes of the connections that one tab has opened, by any of its frames and workers.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Error of a page's connection after its bytes are used up.
pub(super) const TOO_MUCH: &str = "the page has reached its limit of bytes";

/// Bytes of a tab's connections, and the bound of its page.
#[derive(Debug)]
pub(super) struct Meter {
    max: u64,
    /// Bytes in both directions since the page began.
    transferred: AtomicU64,
    /// Bytes from servers that are not charged to a page yet.
    received: AtomicU64,
}

impl Meter {
    pub(super) const fn new(max: u64) -> Self {
        Self { max, transferred: AtomicU64::new(0), received: AtomicU64::new(0) }
    }

    /// Begins a page.
    pub(super) fn begin(&self) {
        self.transferred.store(0, Relaxed);
    }

    /// Takes the bytes from servers since the last call.
    pub(super) fn take_received(&self) -> u64 {
        self.received.swap(0, Relaxed)
    }

    /// Returns true if the page has used up its bytes: its connections fail.
    pub(super) fn is_over(&self) -> bool {
        self.transferred.load(Relaxed) > self.max
    }

    /// Bytes in both directions since the page began.
    pub(super) fn transferred(&self) -> u64 {
        self.transferred.load(Relaxed)
    }

    fn count(&self, bytes: usize) -> io::Result<()> {
        self.transferred.fetch_add(bytes as u64, Relaxed);
        if self.is_over() {
            return Err(io::Error::other(TOO_MUCH));
        }
        Ok(())
    }
}

/// A connection to a server with counted bytes.
pub(super) struct Metered<S> {
    stream: S,
    meter: Arc<Meter>,
}

impl<S> Metered<S> {
    pub(super) fn new(stream: S, meter: &Arc<Meter>) -> Self {
        Self { stream, meter: Arc::clone(meter) }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        let bytes = buf.filled().len() - before;
        self.meter.received.fetch_add(bytes as u64, Relaxed);
        Poll::Ready(self.meter.count(bytes))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let bytes = ready!(Pin::new(&mut self.stream).poll_write(cx, buf))?;
        Poll::Ready(self.meter.count(bytes).map(|()| bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
