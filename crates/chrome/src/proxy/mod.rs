//! The proxy that every connection of the browser goes through: on loopback, of our own, and only for addresses that
//! the crawl may contact. Names are resolved here, and what was checked is what is connected to, so a name that
//! changes its address between the two gains nothing. Through another proxy only that one knows where a name leads.

mod pass;
mod reach;

use crate::settings::ChromeSettings;
use http_body_util::{BodyExt, Empty};
use hyper::{Method, Request, Response, StatusCode, Uri, body::Incoming, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use pass::{Body, HEADERS, TUNNEL, forward, pass};
pub(crate) use reach::Refusal;
use reach::{Reach, bare};
use std::{
    collections::VecDeque,
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
    time::Duration,
};
use tokio::{
    net::TcpListener,
    sync::{Semaphore, oneshot},
    time::{sleep, timeout},
};

/// Refusals that are remembered, for the messages of pages that failed by them.
const REMEMBERED: usize = 64;
/// Pause before a connection is accepted again after one could not be.
const NO_DESCRIPTOR: Duration = Duration::from_millis(50);

struct Shared {
    reach: Reach,
    max_bytes: u64,
    refused: Mutex<VecDeque<(String, u16, Refusal)>>,
}

/// A proxy that runs on a thread of its own until it is dropped.
pub(crate) struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Starts the proxy on a free port of loopback.
    pub(crate) fn start(settings: &ChromeSettings) -> io::Result<Self> {
        // whoever starts it may be within a runtime already, so the proxy's own is entered on its thread only
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            reach: Reach::new(settings, address.port())?,
            max_bytes: settings.max_connection_bytes,
            refused: Mutex::default(),
        });
        let (stop, stopped) = oneshot::channel();
        let places = Arc::new(Semaphore::new(settings.max_connections.max(1)));
        let serving = Arc::clone(&shared);
        let run = move || {
            let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => return tracing::error!("the browser's proxy did not start: {error}"),
            };
            runtime.block_on(async {
                tokio::select! {
                    result = serve(listener, serving, places) => {
                        if let Err(error) = result {
                            tracing::error!("the browser's proxy ended: {error}");
                        }
                    }
                    _ = stopped => {}
                }
            });
        };
        let thread = std::thread::Builder::new().name("chrome-proxy".into()).spawn(run)?;
        Ok(Self { address, shared, stop: Some(stop), thread: Some(thread) })
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes a port on loopback to pages: that at which a browser listens.
    pub(crate) fn close_port(&self, port: u16) {
        self.shared.reach.close_port(port);
    }

    /// Why the last connection to a host was not made, if one was not lately.
    pub(crate) fn refusal(&self, host: &str, port: u16) -> Option<Refusal> {
        let refused = self.shared.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.iter().rev().find(|(h, p, _)| h == host && *p == port).map(|(.., refusal)| refusal.clone())
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve(
    listener: std::net::TcpListener,
    shared: Arc<Shared>,
    places: Arc<Semaphore>,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let place = Arc::clone(&places).acquire_owned().await.map_err(io::Error::other)?;
        let Ok((stream, _)) = listener.accept().await else {
            // out of descriptors: whoever holds one may give it back
            sleep(NO_DESCRIPTOR).await;
            continue;
        };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let _ = stream.set_nodelay(true);
            // a tunnel outlives the exchange that asked for it, and holds the place as long
            let place = Arc::new(place);
            let service = service_fn(|request| answer(Arc::clone(&shared), Arc::clone(&place), request));
            let mut server = hyper::server::conn::http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(HEADERS).max_buf_size(256 << 10);
            let _ = server.serve_connection(TokioIo::new(stream), service).with_upgrades().await;
        });
    }
}

/// Answers a request of the browser. An error closes the connection, which the browser shows as a failed load; an answer
/// with a status would be taken for the page's.
async fn answer(
    shared: Arc<Shared>,
    place: Arc<tokio::sync::OwnedSemaphorePermit>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Refusal> {
    let tunnel = request.method() == Method::CONNECT;
    let target = target(request.uri(), tunnel);
    let connected = match &target {
        Ok((host, port)) => shared.reach.connect(host, *port, tunnel).await,
        Err(refusal) => Err(refusal.clone()),
    };
    let reached = match connected {
        Ok(reached) => reached,
        Err(refusal) => {
            tracing::debug!(target = %request.uri(), "the browser was refused a connection: {refusal}");
            if let Ok((host, port)) = target {
                shared.remember(host, port, refusal.clone());
            }
            return if tunnel { Ok(status(StatusCode::FORBIDDEN)) } else { Err(refusal) };
        }
    };
    if !tunnel {
        return forward(request, reached, shared.max_bytes).await;
    }
    let max = shared.max_bytes;
    tokio::spawn(async move {
        if let Ok(upgraded) = hyper::upgrade::on(request).await {
            let _ = timeout(TUNNEL, pass(upgraded, reached.stream, max)).await;
        }
        drop(place);
    });
    Ok(status(StatusCode::OK))
}

/// Host (lower case, without brackets) and port that a request is for.
fn target(uri: &Uri, tunnel: bool) -> Result<(String, u16), Refusal> {
    let host = uri.host().ok_or_else(|| Refusal::Failed("the request names no host".into()))?;
    let port = match (uri.port_u16(), tunnel, uri.scheme_str()) {
        (Some(port), true, _) | (Some(port), false, Some("http")) => port,
        (None, false, Some("http")) => 80,
        _ => return Err(Refusal::Failed(format!("{uri} is nothing that is passed on"))),
    };
    Ok((bare(host), port))
}

impl Shared {
    fn remember(&self, host: String, port: u16, refusal: Refusal) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() >= REMEMBERED {
            refused.pop_front();
        }
        refused.push_back((host, port, refusal));
    }
}

fn status(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Empty::new().map_err(|never| match never {}).boxed());
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests;
