//! The proxy that every connection of the browser goes through: on loopback, of our own, and only for addresses that
//! the crawl may contact. Names are resolved here, and what was checked is what is connected to, so a name that
//! changes its address between the two gains nothing.

use crate::{rules::RULES, settings::ChromeSettings};
use bytes::Bytes;
use crawl_fetch::{AddressPolicy, ResolveRule};
use http_body_util::{BodyExt, Empty, Limited, combinators::BoxBody};
use hyper::{
    Method, Request, Response, StatusCode, Uri,
    body::Incoming,
    header::{self, HeaderMap, HeaderName, HeaderValue},
    service::service_fn,
    upgrade::Upgraded,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::{
    collections::VecDeque,
    fmt, io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{Semaphore, oneshot},
    time::timeout,
};

/// For name resolution and TCP together.
const CONNECT: Duration = Duration::from_secs(10);
/// From a plain request to the headers of its answer, and for the head of a request of the browser.
const HEADERS: Duration = Duration::from_secs(30);
/// The longest that a tunnel stays open: longer than any page takes.
const TUNNEL: Duration = Duration::from_secs(300);
/// Refusals that are remembered, for the messages of pages that failed by them.
const REMEMBERED: usize = 64;
/// Headers of a connection, not of a message (RFC 9110 §7.6.1).
const HOP_BY_HOP: [HeaderName; 7] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Why a connection was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The address must not be contacted.
    Address(IpAddr),
    /// The host is a tracker's.
    Tracker,
    /// It could not be made, or is none that the proxy makes.
    Failed(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => write!(f, "{address} must not be contacted"),
            Self::Tracker => f.write_str("a tracker"),
            Self::Failed(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for Refusal {}

impl From<hyper::Error> for Refusal {
    fn from(error: hyper::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

type Body = BoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

struct Shared {
    addresses: AddressPolicy,
    resolve: Vec<ResolveRule>,
    trackers: bool,
    max_bytes: u64,
    /// The ports on loopback of the proxy and of browsers: no page has any business there, whatever is allowed.
    own_ports: Mutex<Vec<u16>>,
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
            addresses: settings.addresses.clone(),
            resolve: settings.resolve.clone(),
            trackers: settings.blocked.trackers,
            max_bytes: settings.max_connection_bytes,
            own_ports: Mutex::new(vec![address.port()]),
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
        let mut ports = self.shared.own_ports.lock().unwrap_or_else(PoisonError::into_inner);
        if ports.len() >= REMEMBERED {
            ports.remove(1);
        }
        ports.push(port);
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
            tokio::task::yield_now().await;
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
        Ok((host, port)) => shared.connect(host, *port).await,
        Err(refusal) => Err(refusal.clone()),
    };
    let stream = match connected {
        Ok(stream) => stream,
        Err(refusal) => {
            tracing::debug!(target = %request.uri(), "the browser was refused a connection: {refusal}");
            if let Ok((host, port)) = target {
                shared.remember(host, port, refusal.clone());
            }
            return if tunnel { Ok(status(StatusCode::FORBIDDEN)) } else { Err(refusal) };
        }
    };
    if !tunnel {
        return forward(request, stream, shared.max_bytes).await;
    }
    let max = shared.max_bytes;
    tokio::spawn(async move {
        if let Ok(upgraded) = hyper::upgrade::on(request).await {
            let _ = timeout(TUNNEL, pass(upgraded, stream, max)).await;
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
    Ok((host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase(), port))
}

impl Shared {
    fn remember(&self, host: String, port: u16, refusal: Refusal) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() >= REMEMBERED {
            refused.pop_front();
        }
        refused.push_back((host, port, refusal));
    }

    async fn connect(&self, host: &str, port: u16) -> Result<TcpStream, Refusal> {
        if self.trackers && RULES.is_tracker(host) {
            return Err(Refusal::Tracker);
        }
        let connect = async {
            let mut last = Refusal::Failed(format!("the name {host} does not resolve"));
            for address in self.addresses_of(host, port).await? {
                if let Err(refusal) = self.check(address, port) {
                    last = refusal;
                    continue;
                }
                match TcpStream::connect((address, port)).await {
                    Ok(stream) => {
                        let _ = stream.set_nodelay(true);
                        return Ok(stream);
                    }
                    Err(error) => last = Refusal::Failed(error.to_string()),
                }
            }
            Err(last)
        };
        timeout(CONNECT, connect)
            .await
            .unwrap_or_else(|_| Err(Refusal::Failed(format!("no connection within {CONNECT:?}"))))
    }

    fn check(&self, address: IpAddr, port: u16) -> Result<(), Refusal> {
        let own = self.own_ports.lock().unwrap_or_else(PoisonError::into_inner);
        let inside = address.is_loopback() || address.is_unspecified();
        if !self.addresses.allows(address) || (inside && own.contains(&port)) {
            return Err(Refusal::Address(address));
        }
        Ok(())
    }

    async fn addresses_of(&self, host: &str, port: u16) -> Result<Vec<IpAddr>, Refusal> {
        if let Ok(address) = host.parse() {
            return Ok(vec![address]);
        }
        if let Some(rule) = self.resolve.iter().find(|rule| rule.host == host && rule.port == port) {
            return Ok(rule.addresses.clone());
        }
        let found = tokio::net::lookup_host((host, port)).await;
        found
            .map(|found| found.map(|address| address.ip()).collect())
            .map_err(|e| Refusal::Failed(e.to_string()))
    }
}

fn status(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Empty::new().map_err(|never| match never {}).boxed());
    *response.status_mut() = status;
    response
}

/// A plain request: one exchange on a connection of its own.
async fn forward(request: Request<Incoming>, stream: TcpStream, max: u64) -> Result<Response<Body>, Refusal> {
    let (mut parts, body) = request.into_parts();
    let host = parts.uri.authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok());
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    parts.uri = path.parse().map_err(|_| Refusal::Failed("the path is not valid".into()))?;
    strip(&mut parts.headers);
    if let Some(host) = host {
        parts.headers.insert(header::HOST, host);
    }
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(async move {
        let _ = timeout(TUNNEL, connection).await;
    });
    let answer = timeout(HEADERS, sender.send_request(Request::from_parts(parts, body)));
    let mut answer = answer.await.map_err(|_| Refusal::Failed(format!("no answer within {HEADERS:?}")))??;
    strip(answer.headers_mut());
    let max = usize::try_from(max).unwrap_or(usize::MAX);
    Ok(answer.map(|body| Limited::new(body, max).boxed()))
}

fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
    headers.remove("proxy-connection");
    headers.remove("keep-alive");
}

/// Passes bytes both ways, up to `max` each.
async fn pass(browser: Upgraded, server: TcpStream, max: u64) -> io::Result<()> {
    let (from_browser, mut to_browser) = tokio::io::split(TokioIo::new(browser));
    let (from_server, mut to_server) = server.into_split();
    let up = async {
        tokio::io::copy(&mut from_browser.take(max), &mut to_server).await?;
        to_server.shutdown().await
    };
    let down = async {
        tokio::io::copy(&mut from_server.take(max), &mut to_browser).await?;
        to_browser.shutdown().await
    };
    tokio::try_join!(up, down).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    /// What the proxy answers to `request`: all of it until the connection closes.
    fn ask(proxy: &Proxy, request: &str) -> String {
        let mut stream = std::net::TcpStream::connect(proxy.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// A server that answers every connection with `body`, and its port.
    fn server(body: &'static str) -> u16 {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::Builder::new()
            .spawn(move || {
                for stream in listener.incoming() {
                    let mut stream = stream.unwrap();
                    let _ = stream.read(&mut [0; 4096]);
                    let length = body.len();
                    let _ = write!(
                        stream,
                        "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
                    );
                }
            })
            .unwrap();
        port
    }

    fn proxy(allow: &[&str], resolve: &[String]) -> Proxy {
        let allow = allow.iter().map(|net| net.parse().unwrap()).collect();
        let settings = ChromeSettings {
            addresses: AddressPolicy { allow_private: false, allow },
            resolve: resolve.iter().map(|rule| rule.parse().unwrap()).collect(),
            ..ChromeSettings::default()
        };
        Proxy::start(&settings).unwrap()
    }

    #[test]
    fn private_addresses_are_refused_however_they_are_asked_for() {
        let port = server("canary");
        let proxy = proxy(&[], &[format!("a.test:{port}:127.0.0.1")]);
        for host in ["127.0.0.1", "localhost", "a.test", "[::ffff:127.0.0.1]"] {
            let plain = ask(&proxy, &format!("GET http://{host}:{port}/ HTTP/1.1\r\nHost: {host}\r\n\r\n"));
            assert_eq!(plain, "", "{host}");
            let tunnel = ask(
                &proxy,
                &format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"),
            );
            assert!(tunnel.starts_with("HTTP/1.1 403"), "{host}: {tunnel}");
        }
        assert!(
            matches!(proxy.refusal("a.test", port), Some(Refusal::Address(address)) if address.is_loopback())
        );
        assert_eq!(proxy.refusal("a.test", port + 1), None);
    }

    #[test]
    fn what_is_allowed_passes_and_own_ports_never_do() {
        let port = server("the page");
        let proxy = proxy(&["127.0.0.1/32"], &[format!("a.test:{port}:127.0.0.1")]);
        let get = format!("GET http://a.test:{port}/x HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n");
        assert!(ask(&proxy, &get).ends_with("the page"));
        let connect = format!("CONNECT a.test:{port} HTTP/1.1\r\nHost: a.test\r\n\r\nGET / HTTP/1.1\r\n\r\n");
        let tunnel = ask(&proxy, &connect);
        assert!(tunnel.starts_with("HTTP/1.1 200") && tunnel.ends_with("the page"), "{tunnel}");
        proxy.close_port(port);
        assert_eq!(ask(&proxy, &get), "");
        let own = proxy.address();
        assert_eq!(ask(&proxy, &format!("GET http://{own}/ HTTP/1.1\r\nHost: {own}\r\n\r\n")), "");
    }

    #[test]
    fn trackers_and_other_schemes_are_refused() {
        let proxy = proxy(&[], &[]);
        let tunnel = ask(
            &proxy,
            "CONNECT stats.g.doubleclick.net:443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        );
        assert!(tunnel.starts_with("HTTP/1.1 403"), "{tunnel}");
        assert_eq!(proxy.refusal("stats.g.doubleclick.net", 443), Some(Refusal::Tracker));
        assert_eq!(ask(&proxy, "GET ftp://1.1.1.1/ HTTP/1.1\r\nHost: x\r\n\r\n"), "");
        assert_eq!(ask(&proxy, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"), "");
    }
}
