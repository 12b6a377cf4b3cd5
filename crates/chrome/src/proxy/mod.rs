//! Filtering proxy on loopback for every connection of the browser: it only connects to addresses that the
//! crawl may contact. It resolves names itself and connects to the checked address, so a name cannot change
//! its address in between. If it uses another proxy, that one resolves names.

mod destinations;
mod lane;
mod meter;
mod pass;
mod peer;

use crate::settings::ChromeSettings;
pub(crate) use destinations::Refusal;
use destinations::{Destinations, bare};
use http_body_util::{BodyExt, Empty};
use hyper::{Method, Request, Response, StatusCode, Uri, body::Incoming};
pub(crate) use lane::Lane;
use lane::{Opened, must_yield};
use meter::{Meter, TOO_MUCH};
use pass::{Body, TUNNEL, forward, pass};
use std::{
    collections::VecDeque,
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread::JoinHandle,
};
use tokio::{
    sync::{Semaphore, mpsc},
    time::timeout,
};

/// Maximum number of remembered refusals, for the messages of failed pages.
const REMEMBERED: usize = 64;
/// Lanes that wait to be served.
const LANES: usize = 16;

struct Shared {
    destinations: Destinations,
    max_bytes: u64,
    max_page_bytes: u64,
    /// Permits for connections, shared by all lanes.
    permits: Arc<Semaphore>,
    /// Lanes with a connection that waits for a permit.
    waiting: AtomicUsize,
    /// Bytes from servers that no rendered page counts.
    uncharged: AtomicU64,
    refused: Mutex<VecDeque<(String, u16, Refusal)>>,
}

/// Proxy on a thread of its own, until it is dropped. It listens on one lane per tab, which identifies the tab of
/// each connection, also for frames and workers.
pub(crate) struct Proxy {
    shared: Arc<Shared>,
    /// `None` ends the thread.
    lanes: Option<mpsc::Sender<Opened>>,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Starts the proxy, without lanes.
    pub(crate) fn start(settings: &ChromeSettings) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            destinations: Destinations::new(settings)?,
            max_bytes: settings.max_connection_bytes,
            max_page_bytes: settings.max_page_bytes,
            permits: Arc::new(Semaphore::new(settings.max_connections.max(1))),
            waiting: AtomicUsize::new(0),
            uncharged: AtomicU64::new(0),
            refused: Mutex::default(),
        });
        let (lanes, mut opened) = mpsc::channel::<Opened>(LANES);
        let serving = Arc::clone(&shared);
        // the caller may already be in a runtime, so the proxy's runtime runs on its own thread
        let run = move || {
            let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => return tracing::error!("the browser's proxy did not start: {error}"),
            };
            runtime.block_on(async {
                while let Some(lane) = opened.recv().await {
                    tokio::spawn(lane.serve(Arc::clone(&serving)));
                }
            });
        };
        let thread = std::thread::Builder::new().name("chrome-proxy".into()).spawn(run)?;
        Ok(Self { shared, lanes: Some(lanes), thread: Some(thread) })
    }

    /// Opens a lane. Call it on a thread that may block.
    pub(crate) fn open_lane(&self) -> io::Result<Lane> {
        let (lane, opened) = Lane::open(&self.shared)?;
        let lanes = self.lanes.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        lanes.blocking_send(opened).map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(lane)
    }

    /// Takes the bytes from servers since the last call that were charged to no page: those of failed pages,
    /// and late ones.
    pub(crate) fn take_uncharged(&self) -> u64 {
        self.shared.uncharged.swap(0, Ordering::Relaxed)
    }

    /// Reason for the last failed connection to a host, if recent.
    pub(crate) fn refusal(&self, host: &str, port: u16) -> Option<Refusal> {
        let refused = self.shared.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.iter().rev().find(|(h, p, _)| h == host && *p == port).map(|(.., refusal)| refusal.clone())
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.lanes = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Answers a request of the browser. An error closes the connection, which the browser reports as a failed
/// load; it would take an answer with a status for the page's.
async fn answer(
    shared: Arc<Shared>,
    meter: Arc<Meter>,
    permit: Arc<tokio::sync::OwnedSemaphorePermit>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Refusal> {
    let tunnel = request.method() == Method::CONNECT;
    let target = target(request.uri(), tunnel);
    let connected = match &target {
        Ok(_) if meter.is_over() => return Err(Refusal::Failed(TOO_MUCH.into())),
        Ok((host, port)) => shared.destinations.connect(host, *port, tunnel).await,
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
        return forward(request, reached, &meter, shared.max_bytes).await;
    }
    let max = shared.max_bytes;
    tokio::spawn(async move {
        if let Ok(upgraded) = hyper::upgrade::on(request).await {
            tokio::select! {
                _ = timeout(TUNNEL, pass(upgraded, reached.stream, &meter, max)) => {}
                () = must_yield(&shared, &meter) => {}
            }
        }
        drop(permit);
    });
    Ok(status(StatusCode::OK))
}

/// Host (lower case, without brackets) and port of a request.
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
