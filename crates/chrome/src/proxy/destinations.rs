//! Allowed destinations of the browser, and the connections to them.

use crate::{rules::RULES, settings::ChromeSettings};
use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use crawl_fetch::{AddressPolicy, ProxyUrl, ResolveRule};
use http_body_util::Empty;
use hyper::{Method, Request, header, header::HeaderValue};
use hyper_util::rt::TokioIo;
use std::{
    collections::HashSet,
    fmt, io,
    net::IpAddr,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{net::TcpStream, time::timeout};

/// Limit for name resolution, TCP, and the handshake with another proxy together.
const CONNECT: Duration = Duration::from_secs(10);

/// Reason for a refused or failed connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The address must not be contacted.
    Address(IpAddr),
    /// The host is a tracker's.
    Tracker,
    /// The connection failed, or is of an unsupported kind.
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

/// Another proxy that connections go through.
struct Upstream {
    host: String,
    port: u16,
    credentials: Option<HeaderValue>,
}

impl Upstream {
    fn new(proxy: &ProxyUrl) -> io::Result<Self> {
        let url = proxy.with_credentials();
        let wrong = |reason: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("the proxy {reason}"));
        let host = url.host_str().filter(|_| url.scheme() == "http");
        let host = host.ok_or_else(|| wrong("has to be a URL of the kind http"))?;
        let decoded = |text| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
        let credentials = (!url.username().is_empty()).then(|| {
            let pair = format!("{}:{}", decoded(url.username()), decoded(url.password().unwrap_or_default()));
            let mut value = HeaderValue::from_str(&format!("Basic {}", BASE64_STANDARD.encode(pair)))?;
            value.set_sensitive(true);
            Ok::<_, header::InvalidHeaderValue>(value)
        });
        Ok(Self {
            host: bare(host),
            port: url.port_or_known_default().unwrap_or(80),
            credentials: credentials
                .transpose()
                .map_err(|_| wrong("has credentials that no header can hold"))?,
        })
    }

    /// A tunnel to a host.
    async fn tunnel(&self, stream: TcpStream, host: &str, port: u16) -> Result<TcpStream, Refusal> {
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake::<_, Empty<Bytes>>(TokioIo::new(stream)).await?;
        let connection = tokio::spawn(connection.with_upgrades());
        let target = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        let mut request =
            Request::builder().method(Method::CONNECT).uri(&target).header(header::HOST, &target);
        if let Some(credentials) = &self.credentials {
            request = request.header(header::PROXY_AUTHORIZATION, credentials);
        }
        let request = request.body(Empty::new()).map_err(|error| Refusal::Failed(error.to_string()))?;
        let answer = sender.send_request(request).await?;
        if !answer.status().is_success() {
            return Err(Refusal::Failed(format!("the proxy answers {}", answer.status())));
        }
        let upgraded = hyper::upgrade::on(answer).await?;
        drop(connection);
        let parts = upgraded.downcast::<TokioIo<TcpStream>>();
        // the browser speaks first in a tunnel, so nothing has been read ahead
        parts.map(|parts| parts.io.into_inner()).map_err(|_| Refusal::Failed("no tunnel".into()))
    }
}

/// A connection, and where it leads.
pub(super) struct RoutedConnection {
    pub(super) stream: TcpStream,
    /// Set if it leads to another proxy, which gets the host; with its credentials.
    pub(super) upstream: Option<Option<HeaderValue>>,
}

/// Allowed destinations and the ways to them.
pub(super) struct Destinations {
    addresses: AddressPolicy,
    resolve: Vec<ResolveRule>,
    trackers: bool,
    upstream: Option<Upstream>,
    /// Ports of the proxy on loopback, closed to pages under all settings.
    own_ports: Mutex<HashSet<u16>>,
}

impl Destinations {
    pub(super) fn new(settings: &ChromeSettings) -> io::Result<Self> {
        Ok(Self {
            addresses: settings.addresses.clone(),
            resolve: settings.resolve.clone(),
            trackers: settings.blocked.trackers,
            upstream: settings.proxy.as_ref().map(Upstream::new).transpose()?,
            own_ports: Mutex::default(),
        })
    }

    fn ports(&self) -> MutexGuard<'_, HashSet<u16>> {
        self.own_ports.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes a port on loopback to pages.
    pub(super) fn close_port(&self, port: u16) {
        self.ports().insert(port);
    }

    /// Reopens a port on loopback.
    pub(super) fn open_port(&self, port: u16) {
        self.ports().remove(&port);
    }

    /// Connects to a host for a plain request or a tunnel.
    pub(super) async fn connect(
        &self,
        host: &str,
        port: u16,
        tunnel: bool,
    ) -> Result<RoutedConnection, Refusal> {
        if self.trackers && RULES.is_tracker(host) {
            return Err(Refusal::Tracker);
        }
        if RULES.is_own(host) {
            return Err(Refusal::Failed("a host that the browser contacts by itself".into()));
        }
        let connect = async {
            match &self.upstream {
                Some(upstream) if self.goes_upstream(host, port).await? => {
                    let stream = TcpStream::connect((upstream.host.as_str(), upstream.port)).await;
                    let stream = stream.map_err(|error| Refusal::Failed(format!("the proxy: {error}")))?;
                    let _ = stream.set_nodelay(true);
                    if tunnel {
                        let stream = upstream.tunnel(stream, host, port).await?;
                        return Ok(RoutedConnection { stream, upstream: None });
                    }
                    Ok(RoutedConnection { stream, upstream: Some(upstream.credentials.clone()) })
                }
                _ => Ok(RoutedConnection { stream: self.directly(host, port).await?, upstream: None }),
            }
        };
        timeout(CONNECT, connect)
            .await
            .unwrap_or_else(|_| Err(Refusal::Failed(format!("no connection within {CONNECT:?}"))))
    }

    /// Returns true if a host is reached through the other proxy, as for plain requests of the crawl. A host
    /// with a fixed address, or with an address in an explicitly allowed network, is reached directly. A name
    /// that resolves here must be allowed; the proxy resolves an unknown one.
    async fn goes_upstream(&self, host: &str, port: u16) -> Result<bool, Refusal> {
        if self.fixed(host, port).is_some() {
            return Ok(false);
        }
        if let Ok(address) = host.parse() {
            self.check(address, port)?;
            return Ok(AddressPolicy::default().allows(address));
        }
        for address in self.addresses_of(host, port).await.unwrap_or_default() {
            self.check(address, port)?;
        }
        Ok(true)
    }

    async fn directly(&self, host: &str, port: u16) -> Result<TcpStream, Refusal> {
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
    }

    fn check(&self, address: IpAddr, port: u16) -> Result<(), Refusal> {
        // `::ffff:127.0.0.1` leads to 127.0.0.1
        let address = address.to_canonical();
        let inside = address.is_loopback() || address.is_unspecified();
        if !self.addresses.allows(address) || (inside && self.ports().contains(&port)) {
            return Err(Refusal::Address(address));
        }
        Ok(())
    }

    fn fixed(&self, host: &str, port: u16) -> Option<&ResolveRule> {
        self.resolve.iter().find(|rule| rule.host == host && rule.port == port)
    }

    async fn addresses_of(&self, host: &str, port: u16) -> Result<Vec<IpAddr>, Refusal> {
        if let Ok(address) = host.parse() {
            return Ok(vec![address]);
        }
        if let Some(rule) = self.fixed(host, port) {
            return Ok(rule.addresses.clone());
        }
        let found = tokio::net::lookup_host((host, port)).await;
        found
            .map(|found| found.map(|address| address.ip()).collect())
            .map_err(|e| Refusal::Failed(e.to_string()))
    }
}

/// A host without the brackets of an address, in lower case.
pub(super) fn bare(host: &str) -> String {
    host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase()
}
