//! The reqwest clients behind one [`HttpClient`](super::HttpClient), and their selection.

use super::{
    connections::ConnectionCount,
    failure::{Limits, classify, innermost, local},
    metered_tls,
    resolve::{GuardedResolver, Refused, ResolverProbe},
    settings::{HttpSettings, ProxyChoice},
    transport::{Answer, Attributed, Transport, Waiting},
};
use crate::error::{FetchError, LocalResource, Phase};
use crawl_model::HostKey;
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::{Certificate, Client, ClientBuilder, Proxy, header::HeaderMap, redirect, retry};
use rustc_hash::{FxHashMap, FxHashSet};
use std::{
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::time::Instant;
use url::{Host, Url};

/// Maximum size of HTTP/2 header lists. Hyper bounds HTTP/1 (100 headers, about 400 KiB).
const MAX_HEADER_LIST: u32 = 64 * 1024;

/// Maximum number of hosts limited to HTTP/1.1; beyond it the list is cleared.
const MAX_WITHOUT_HTTP2: usize = 50_000;

/// Route to a host.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Route {
    /// Through the configured proxy, if any.
    Open,
    /// To a literal address: its network is allowed explicitly, so no proxy is used.
    Literal,
    /// To a host with a fixed address. reqwest passes its resolver the name alone, so each port in the rules
    /// has a client.
    Fixed(u16),
}

/// Clients by route, with their connections. Dropping them closes idle connections.
struct Generation {
    open: Client,
    literal: Client,
    fixed: FxHashMap<u16, Client>,
    /// Clients that speak HTTP/1.1 only, created on demand.
    without_http2: FxHashMap<Route, Client>,
    /// Connections that were made.
    made: ConnectionCount,
}

/// Resolvers of hosts without a fixed address.
struct Guards {
    /// Resolver of [`Route::Open`]: the names of proxies are exempt.
    open: GuardedResolver,
    /// Resolver of [`Route::Literal`], and of pages whose host is a proxy.
    literal: GuardedResolver,
}

/// The clients of a crawl. A client bounds its idle connections only per host. So a generation of clients is
/// replaced after as many connections as may be kept over all hosts.
pub(super) struct Pool {
    generation: Mutex<Generation>,
    /// Hosts limited to HTTP/1.1.
    without_http2: Mutex<FxHashSet<HostKey>>,
    settings: HttpSettings,
    /// Resolvers of hosts with a fixed address, by port.
    fixed: FxHashMap<u16, GuardedResolver>,
    /// True if no proxy is in use.
    direct: bool,
    /// Host names of the proxies, which the resolver of [`Route::Open`] exempts.
    proxies: FxHashSet<String>,
    /// Proxy settings of the environment, as the clients read them.
    environment: Matcher,
    limits: Limits,
    guards: Guards,
    probe: ResolverProbe,
}

impl Pool {
    pub(super) fn new(settings: &HttpSettings) -> Result<Self, FetchError> {
        metered_tls::install();
        let mut by_port: FxHashMap<u16, FxHashMap<String, Vec<IpAddr>>> = FxHashMap::default();
        for rule in &settings.resolve {
            by_port.entry(rule.port).or_default().insert(rule.host.clone(), rule.addresses.clone());
        }
        let policy = Arc::new(settings.addresses.clone());
        let guard = |fixed, exempt| {
            GuardedResolver::new(fixed, exempt, Arc::clone(&policy), settings.connect_timeout)
        };
        let fixed: FxHashMap<u16, GuardedResolver> =
            by_port.into_iter().map(|(port, hosts)| (port, guard(hosts, FxHashSet::default()))).collect();
        let urls = proxy_urls(&settings.proxy);
        // the URL of a SOCKS proxy keeps the case of its host
        let proxies: FxHashSet<String> =
            urls.iter().filter_map(|url| url.host_str().map(str::to_ascii_lowercase)).collect();
        let guards = Guards {
            open: guard(FxHashMap::default(), proxies.clone()),
            literal: guard(FxHashMap::default(), FxHashSet::default()),
        };
        Ok(Self {
            generation: Mutex::new(Generation::new(settings, &guards, &fixed)?),
            without_http2: Mutex::default(),
            settings: settings.clone(),
            fixed,
            direct: proxies.is_empty(),
            limits: Limits::of(settings),
            proxies,
            environment: Matcher::from_system(),
            guards,
            probe: ResolverProbe::default(),
        })
    }

    /// See [`Transport::is_direct`].
    fn reaches_host(&self, url: &Url) -> bool {
        self.direct || self.route(url) != Route::Open
    }

    /// The proxy of a request to this URL, as `host:port`, without credentials.
    fn proxy_of(&self, url: &Url) -> Option<String> {
        if self.reaches_host(url) {
            return None;
        }
        let (host, port) = match &self.settings.proxy {
            ProxyChoice::Direct => return None,
            ProxyChoice::Url(proxy) => {
                let address = proxy.address();
                (address.host_str()?.to_owned(), address.port_or_known_default())
            }
            ProxyChoice::Environment => {
                let found = self.environment.intercept(&url.as_str().parse().ok()?)?;
                (found.uri().host()?.to_owned(), found.uri().port_u16())
            }
        };
        Some(port.map_or_else(|| host.clone(), |port| format!("{host}:{port}")))
    }

    /// The name in a URL that [`Transport::check`] must resolve before a request. The resolver of a client
    /// with a proxy exempts the proxy's name. It cannot distinguish a connection to the proxy from one to a
    /// page there.
    fn unchecked_name<'a>(&self, url: &'a Url) -> Option<&'a str> {
        if self.reaches_host(url) {
            return None;
        }
        url.domain().filter(|name| self.proxies.contains(*name))
    }

    /// See [`Transport::locate`].
    async fn address_of(&self, url: &Url) -> Result<Option<IpAddr>, FetchError> {
        if !self.reaches_host(url) {
            return Ok(None);
        }
        let Some(name) = url.domain() else { return Ok(literal(url)) };
        let fixed = url.port_or_known_default().and_then(|port| self.fixed.get(&port));
        let resolver = fixed.filter(|resolver| resolver.is_fixed(name));
        resolve(resolver.unwrap_or(&self.guards.literal), name).await
    }

    fn route(&self, url: &Url) -> Route {
        match url.host() {
            Some(Host::Domain(name)) => {
                let port = url.port_or_known_default();
                let fixed = port.and_then(|port| Some((port, self.fixed.get(&port)?)));
                fixed
                    .filter(|(_, resolver)| resolver.is_fixed(name))
                    .map_or(Route::Open, |(port, _)| Route::Fixed(port))
            }
            _ if is_public_literal(url) => Route::Open,
            _ => Route::Literal,
        }
    }

    /// The client for a URL.
    fn client(&self, url: &Url) -> Client {
        let route = self.route(url);
        let mut generation = self.generation.lock().unwrap_or_else(PoisonError::into_inner);
        let most = self.settings.max_connections;
        if most > 0 && generation.made.count() >= most {
            match Generation::new(&self.settings, &self.guards, &self.fixed) {
                Ok(next) => *generation = next,
                Err(error) => tracing::warn!(%error, "idle connections cannot be closed"),
            }
        }
        if self.is_without_http2(url) {
            match generation.without_http2(route, &self.settings, &self.guards, &self.fixed) {
                Ok(client) => return client,
                Err(error) => tracing::warn!(%error, "HTTP/2 cannot be left"),
            }
        }
        generation.client(route).clone()
    }

    /// Sends a POST and waits for the head of the response. Returns its status.
    pub(super) async fn post(&self, url: &Url, headers: HeaderMap, body: Vec<u8>) -> Result<u16, FetchError> {
        self.check(url).await?;
        let request = self.client(url).post(url.clone()).headers(headers).body(body);
        match request.timeout(self.settings.total_timeout).send().await {
            Ok(response) => Ok(response.status().as_u16()),
            Err(error) if error.is_timeout() && !error.is_connect() => {
                Err(FetchError::Timeout { phase: Phase::Headers, limit: self.settings.total_timeout })
            }
            Err(error) => {
                let host = url.host_str().unwrap_or_default();
                Err(classify(&error, host, self.proxy_of(url), self.limits))
            }
        }
    }

    fn is_without_http2(&self, url: &Url) -> bool {
        let hosts = self.without_http2.lock().unwrap_or_else(PoisonError::into_inner);
        !hosts.is_empty() && HostKey::of(url).is_some_and(|host| hosts.contains(&host))
    }

    /// Distinguishes a silent resolver from a name that does not resolve, for an error of a request that
    /// began at `since`.
    async fn attributed(&self, error: FetchError, url: &Url, since: Instant) -> FetchError {
        let (FetchError::Local { resource: LocalResource::Resolver, reason }, Some(name)) =
            (&error, url.domain())
        else {
            return error;
        };
        if self.probe.answers(name, since, self.settings.connect_timeout).await {
            return FetchError::dns(name.to_owned(), reason.clone());
        }
        error
    }
}

impl Generation {
    fn new(
        settings: &HttpSettings,
        guards: &Guards,
        fixed: &FxHashMap<u16, GuardedResolver>,
    ) -> Result<Self, FetchError> {
        let made = ConnectionCount::default();
        let make = |builder: Result<ClientBuilder, FetchError>| finish(builder?);
        let direct =
            |resolver: &GuardedResolver| make(build(settings, resolver, &ProxyChoice::Direct, &made));
        Ok(Self {
            open: make(build(settings, &guards.open, &settings.proxy, &made))?,
            literal: direct(&guards.literal)?,
            fixed: fixed
                .iter()
                .map(|(&port, resolver)| Ok((port, direct(resolver)?)))
                .collect::<Result<_, FetchError>>()?,
            without_http2: FxHashMap::default(),
            made,
        })
    }

    /// The HTTP/1.1 client of a route.
    fn without_http2(
        &mut self,
        route: Route,
        settings: &HttpSettings,
        guards: &Guards,
        fixed: &FxHashMap<u16, GuardedResolver>,
    ) -> Result<Client, FetchError> {
        if let Some(client) = self.without_http2.get(&route) {
            return Ok(client.clone());
        }
        let (resolver, proxy) = match route {
            Route::Open => (&guards.open, &settings.proxy),
            Route::Literal => (&guards.literal, &ProxyChoice::Direct),
            Route::Fixed(port) => (fixed.get(&port).unwrap_or(&guards.literal), &ProxyChoice::Direct),
        };
        let client = finish(build(settings, resolver, proxy, &self.made)?.http1_only())?;
        self.without_http2.insert(route, client.clone());
        Ok(client)
    }

    fn client(&self, route: Route) -> &Client {
        match route {
            Route::Open => &self.open,
            Route::Literal => &self.literal,
            Route::Fixed(port) => self.fixed.get(&port).unwrap_or(&self.open),
        }
    }
}

impl Transport for Pool {
    fn get<'a>(&'a self, url: &'a Url, headers: HeaderMap) -> Waiting<'a, Answer> {
        Box::pin(async move {
            match self.client(url).get(url.clone()).headers(headers).send().await {
                Ok(response) => {
                    let peer = response.remote_addr().map(|peer| peer.ip());
                    Ok(Answer { response, peer })
                }
                Err(error) => {
                    let host = url.host_str().unwrap_or_default();
                    Err(classify(&error, host, self.proxy_of(url), self.limits))
                }
            }
        })
    }

    fn attribute<'a>(&'a self, error: FetchError, url: &'a Url, since: Instant) -> Attributed<'a> {
        Box::pin(self.attributed(error, url, since))
    }

    fn locate<'a>(&'a self, url: &'a Url) -> Waiting<'a, Option<IpAddr>> {
        Box::pin(async move {
            let since = Instant::now();
            match self.address_of(url).await {
                Err(error) => Err(self.attributed(error, url, since).await),
                found => found,
            }
        })
    }

    fn check<'a>(&'a self, url: &'a Url) -> Waiting<'a, ()> {
        Box::pin(async move {
            match self.unchecked_name(url) {
                Some(name) => resolve(&self.guards.literal, name).await.map(drop),
                None => Ok(()),
            }
        })
    }

    fn disable_http2(&self, url: &Url) {
        let Some(host) = HostKey::of(url).filter(|_| url.scheme() == "https") else { return };
        let mut hosts = self.without_http2.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() >= MAX_WITHOUT_HTTP2 {
            hosts.clear();
        }
        hosts.insert(host);
    }

    fn is_direct(&self, url: &Url) -> bool {
        self.reaches_host(url)
    }
}

/// The first allowed address of a name.
async fn resolve(resolver: &GuardedResolver, name: &str) -> Result<Option<IpAddr>, FetchError> {
    match resolver.clone().addresses(name.to_owned()).await {
        Ok(mut found) => Ok(found.next().map(|address| address.ip())),
        Err(error) => Err(match error.downcast_ref::<Refused>() {
            Some(refused) => FetchError::AddressBlocked { host: name.to_owned(), address: refused.0 },
            None => local(&*error).unwrap_or_else(|| FetchError::dns(name.to_owned(), error.to_string())),
        }),
    }
}

fn is_public_literal(url: &Url) -> bool {
    literal(url).is_some_and(super::addresses::is_public)
}

/// The literal address in a URL's host, in any notation.
pub(super) fn literal(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Ipv4(v4) => Some(IpAddr::V4(v4)),
        Host::Ipv6(v6) => Some(IpAddr::V6(v6)),
        Host::Domain(_) => None,
    }
}

fn build(
    settings: &HttpSettings,
    resolver: &GuardedResolver,
    proxy: &ProxyChoice,
    made: &ConnectionCount,
) -> Result<ClientBuilder, FetchError> {
    let idle_per_host = if settings.max_connections == 0 { 0 } else { settings.pool_idle_per_host };
    let builder = Client::builder()
        .redirect(redirect::Policy::none())
        // each request waits for its turn at the host, so only the caller may retry a refused stream
        .retry(retry::never())
        .referer(false)
        .connect_timeout(settings.connect_timeout)
        .pool_max_idle_per_host(idle_per_host)
        .pool_idle_timeout(settings.pool_idle_timeout)
        .http1_ignore_invalid_headers_in_responses(true)
        .http1_allow_spaces_after_header_name_in_responses(true)
        .http1_allow_obsolete_multiline_headers_in_responses(true)
        .http2_max_header_list_size(MAX_HEADER_LIST)
        .http2_adaptive_window(true)
        .connector_layer(made.clone())
        .dns_resolver(resolver.clone());
    let builder = match settings.extra_roots.as_slice() {
        [] => builder,
        pem => builder.tls_certs_merge(Certificate::from_pem_bundle(pem).map_err(|e| unusable(&e))?),
    };
    Ok(match proxy {
        ProxyChoice::Environment => builder,
        ProxyChoice::Direct => builder.no_proxy(),
        ProxyChoice::Url(url) => builder.proxy(Proxy::all(url.with_credentials()).map_err(|e| unusable(&e))?),
    })
}

/// Checks that certificates of authorities can be read.
///
/// # Errors
/// When they cannot.
pub(super) fn check_roots(pem: &[u8]) -> Result<(), FetchError> {
    if pem.is_empty() {
        Ok(())
    } else {
        Certificate::from_pem_bundle(pem).map(drop).map_err(|e| unusable(&e))
    }
}

fn finish(builder: ClientBuilder) -> Result<Client, FetchError> {
    builder.build().map_err(|e| unusable(&e))
}

/// Error without its URL, since that of a proxy may hold credentials.
fn unusable(error: &reqwest::Error) -> FetchError {
    FetchError::Protocol(format!("the HTTP client cannot be set up: {}", innermost(error)))
}

/// The proxies in use.
fn proxy_urls(choice: &ProxyChoice) -> Vec<Url> {
    match choice {
        ProxyChoice::Direct => Vec::new(),
        ProxyChoice::Url(url) => vec![url.address().clone()],
        ProxyChoice::Environment => {
            ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"]
                .iter()
                .filter_map(|name| std::env::var(name).ok())
                .map(|value| if value.contains("://") { value } else { format!("http://{value}") })
                .filter_map(|url| Url::parse(&url).ok())
                .collect()
        }
    }
}
