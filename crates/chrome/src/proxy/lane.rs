//! Lane of the proxy: the loopback address at which it listens for one tab, and the bytes of that tab's
//! connections.

use super::{Shared, answer, meter::Meter, pass::HEADERS, peer};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::oneshot,
    time::sleep,
};

/// Pause before the next accept after a failed one.
const NO_DESCRIPTOR: Duration = Duration::from_millis(50);

/// Time without a byte after which a tab is idle.
const IDLE: Duration = Duration::from_secs(1);

/// Tab's side of a lane. Once dropped, the lane accepts no more connections.
pub(crate) struct Lane {
    address: SocketAddr,
    meter: Arc<Meter>,
    shared: Arc<Shared>,
    _open: oneshot::Sender<()>,
}

/// The side of the proxy.
pub(super) struct Opened {
    listener: std::net::TcpListener,
    port: u16,
    meter: Arc<Meter>,
    closed: oneshot::Receiver<()>,
}

impl Lane {
    /// Opens a lane on a free port of loopback.
    pub(super) fn open(shared: &Arc<Shared>) -> io::Result<(Self, Opened)> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        shared.destinations.close_port(address.port());
        let meter = Arc::new(Meter::new(shared.max_page_bytes));
        let (open, closed) = oneshot::channel();
        let lane = Self { address, meter: Arc::clone(&meter), shared: Arc::clone(shared), _open: open };
        Ok((lane, Opened { listener, port: address.port(), meter, closed }))
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Begins a page. Bytes received since the previous page count for no page.
    pub(crate) fn begin(&self) {
        self.charge_none();
        self.meter.begin();
    }

    /// Takes the bytes from servers since the page began, to charge them to it.
    pub(crate) fn take_received(&self) -> u64 {
        self.meter.take_received()
    }

    /// Counts the bytes that were charged to no page.
    pub(crate) fn charge_none(&self) {
        self.shared.uncharged.fetch_add(self.meter.take_received(), Ordering::Relaxed);
    }

    /// Returns true if the page has used up its bytes.
    pub(crate) fn is_over(&self) -> bool {
        self.meter.is_over()
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.charge_none();
    }
}

impl Opened {
    /// Serves the tab until its side is dropped. Open connections continue.
    pub(super) async fn serve(self, shared: Arc<Shared>) {
        let Self { listener, port, meter, closed } = self;
        tokio::select! {
            result = accept(listener, Arc::clone(&shared), meter) => {
                if let Err(error) = result {
                    tracing::error!("the browser's proxy ended: {error}");
                }
            }
            _ = closed => {}
        }
        // the listener is closed
        shared.destinations.open_port(port);
    }
}

/// A lane that waits for a permit. Its tab may end meanwhile, so dropping it ends the count.
struct WaitingLane<'a>(&'a Shared);

impl<'a> WaitingLane<'a> {
    fn begin(shared: &'a Shared) -> Self {
        shared.waiting.fetch_add(1, Ordering::Relaxed);
        Self(shared)
    }
}

impl Drop for WaitingLane<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn accept(listener: std::net::TcpListener, shared: Arc<Shared>, meter: Arc<Meter>) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let own = listener.local_addr()?;
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            // out of descriptors: another connection may close one
            sleep(NO_DESCRIPTOR).await;
            continue;
        };
        if !is_of_browser(peer, own) {
            tracing::debug!(%peer, "another user was refused the browser's proxy");
            continue;
        }
        let waiting = WaitingLane::begin(&shared);
        let permit = Arc::clone(&shared.permits).acquire_owned().await.map_err(io::Error::other)?;
        drop(waiting);
        tokio::spawn(serve_connection(stream, Arc::clone(&shared), Arc::clone(&meter), permit));
    }
}

/// Returns true if a connection was made by the user of the browser. Other users must not use the proxy, which has
/// the crawl's network access and the credentials of its own proxy.
fn is_of_browser(peer: SocketAddr, own: SocketAddr) -> bool {
    matches!((peer, own), (SocketAddr::V4(peer), SocketAddr::V4(own)) if peer::is_own(peer, own))
}

/// Answers the requests of a connection.
async fn serve_connection(
    stream: TcpStream,
    shared: Arc<Shared>,
    meter: Arc<Meter>,
    permit: tokio::sync::OwnedSemaphorePermit,
) {
    let _ = stream.set_nodelay(true);
    // a tunnel outlives its request and holds the permit as long
    let permit = Arc::new(permit);
    let service =
        service_fn(|request| answer(Arc::clone(&shared), Arc::clone(&meter), Arc::clone(&permit), request));
    let mut server = hyper::server::conn::http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEADERS).max_buf_size(256 << 10);
    let serving = server.serve_connection(TokioIo::new(stream), service).with_upgrades();
    tokio::select! {
        _ = serving => {}
        () = must_yield(&shared, &meter) => {}
    }
}

/// Waits until a connection must yield its permit to another lane: one waits, and this lane's tab is idle.
/// Chromium keeps idle connections open, and counts those of each tab separately.
pub(super) async fn must_yield(shared: &Shared, meter: &Meter) {
    loop {
        let before = meter.transferred();
        sleep(IDLE).await;
        if shared.waiting.load(Ordering::Relaxed) > 0 && meter.transferred() == before {
            return;
        }
    }
}
