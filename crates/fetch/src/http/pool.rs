//! The reqwest clients behind one [`HttpClient`](super::HttpClient), and the choice among them.

use super::{
    failure::{Limits, classify, innermost},
    resolve::{GuardedResolver, Refused},
    settings::{HttpSettings, ProxyChoice},
    transport::{Answer, Transport, Waiting},
};
use crate::error::FetchError;
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::{Certificate, Client, Proxy, header::HeaderMap, redirect};
use rustc_hash::{FxHashMap, FxHashSet};
use std::{net::IpAddr, sync::Arc};
use url::{Host, Url};

/// HTTP/2 header lists beyond this are refused; HTTP/1 is bounded by hyper (100 headers, about 400 KiB).
const MAX_HEADER_LIST: u32 = 64 * 1024;

/// Clients by how they reach a host.
pub(super) struct Pool {
    /// Everything else.
    open: Client,
    /// Addresses that are written out: their network was allowed by hand, so no proxy stands between.
    literal: Client,
    /// Hosts with a fixed address. reqwest's resolver is told the name alone, so there is a client for each port
    /// that rules name.
    fixed: FxHashMap<u16, (GuardedResolver, Client)>,
    /// No proxy is in use anywhere.
    direct: bool,
    /// Host names of the proxies: the resolver of `open` lets them pass.
    proxies: FxHashSet<String>,
    choice: ProxyChoice,
    /// What the environment says, as the clients read it.
    environment: Matcher,
    /// A resolver without exemptions, for pages at those names.
    guard: GuardedResolver,
    limits: Limits,
}

impl Pool {
    pub(super) fn new(settings: &HttpSettings) -> Result<Self, FetchError> {
        let mut by_port: FxHashMap<u16, FxHashMap<String, Vec<IpAddr>>> = FxHashMap::default();
        for rule in &settings.resolve {
            by_port.entry(rule.port).or_default().insert(rule.host.clone(), rule.addresses.clone());
        }
        let policy = Arc::new(settings.addresses.clone());
        let guard = |fixed, exempt| GuardedResolver::new(fixed, exempt, Arc::clone(&policy));
        let fixed = by_port.into_iter().map(|(port, hosts)| {
            let resolver = guard(hosts, FxHashSet::default());
            let client = build(settings, resolver.clone(), &ProxyChoice::Direct)?;
            Ok((port, (resolver, client)))
        });
        let urls = proxy_urls(&settings.proxy);
        // the URL of a SOCKS proxy keeps the case of its host
        let proxies: FxHashSet<String> =
            urls.iter().filter_map(|url| url.host_str().map(str::to_ascii_lowercase)).collect();
        Ok(Self {
            direct: proxies.is_empty(),
            limits: Limits::of(settings),
            proxies: proxies.clone(),
            choice: settings.proxy.clone(),
            environment: Matcher::from_system(),
            guard: guard(FxHashMap::default(), FxHashSet::default()),
            fixed: fixed.collect::<Result<_, FetchError>>()?,
            literal: build(
                settings,
                guard(FxHashMap::default(), FxHashSet::default()),
                &ProxyChoice::Direct,
            )?,
            open: build(settings, guard(FxHashMap::default(), proxies), &settings.proxy)?,
        })
    }

    /// See [`Transport::is_direct`].
    fn reaches_host(&self, url: &Url) -> bool {
        self.direct || !std::ptr::eq(self.client(url), &raw const self.open)
    }

    /// The proxy that a request to this URL goes through, as `host:port`, without its credentials.
    fn proxy_of(&self, url: &Url) -> Option<String> {
        if self.reaches_host(url) {
            return None;
        }
        let (host, port) = match &self.choice {
            ProxyChoice::Direct => return None,
            ProxyChoice::Url(proxy) => (proxy.host_str()?.to_owned(), proxy.port_or_known_default()),
            ProxyChoice::Environment => {
                let found = self.environment.intercept(&url.as_str().parse().ok()?)?;
                (found.uri().host()?.to_owned(), found.uri().port_u16())
            }
        };
        Some(port.map_or_else(|| host.clone(), |port| format!("{host}:{port}")))
    }

    /// The name in a URL that has to be looked up with [`Transport::check`] before a request is sent: the resolver of a client
    /// with a proxy lets the proxy's own name pass, and cannot tell a connection to the proxy from one to a page there.
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
        let resolver = fixed.map(|(resolver, _)| resolver).filter(|resolver| resolver.is_fixed(name));
        resolve(resolver.unwrap_or(&self.guard), name).await
    }

    fn client(&self, url: &Url) -> &Client {
        match url.host() {
            Some(Host::Domain(name)) => url
                .port_or_known_default()
                .and_then(|port| self.fixed.get(&port))
                .filter(|(resolver, _)| resolver.is_fixed(name))
                .map_or(&self.open, |(_, client)| client),
            _ if is_public_literal(url) => &self.open,
            _ => &self.literal,
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

    fn locate<'a>(&'a self, url: &'a Url) -> Waiting<'a, Option<IpAddr>> {
        Box::pin(self.address_of(url))
    }

    fn check<'a>(&'a self, url: &'a Url) -> Waiting<'a, ()> {
        Box::pin(async move {
            match self.unchecked_name(url) {
                Some(name) => resolve(&self.guard, name).await.map(drop),
                None => Ok(()),
            }
        })
    }

    fn is_direct(&self, url: &Url) -> bool {
        self.reaches_host(url)
    }
}

/// The first address of a name that may be contacted.
async fn resolve(resolver: &GuardedResolver, name: &str) -> Result<Option<IpAddr>, FetchError> {
    match resolver.clone().addresses(name.to_owned()).await {
        Ok(mut found) => Ok(found.next().map(|address| address.ip())),
        Err(error) => Err(match error.downcast_ref::<Refused>() {
            Some(refused) => FetchError::AddressBlocked { host: name.to_owned(), address: refused.0 },
            None => FetchError::Dns { host: name.to_owned(), reason: error.to_string() },
        }),
    }
}

fn is_public_literal(url: &Url) -> bool {
    literal(url).is_some_and(super::addresses::is_public)
}

/// The address that a URL's host is, in whatever notation it was written.
pub(super) fn literal(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Ipv4(v4) => Some(IpAddr::V4(v4)),
        Host::Ipv6(v6) => Some(IpAddr::V6(v6)),
        Host::Domain(_) => None,
    }
}

fn build(
    settings: &HttpSettings,
    resolver: GuardedResolver,
    proxy: &ProxyChoice,
) -> Result<Client, FetchError> {
    let builder = Client::builder()
        .redirect(redirect::Policy::none())
        .referer(false)
        .connect_timeout(settings.connect_timeout)
        .pool_max_idle_per_host(settings.pool_idle_per_host)
        .pool_idle_timeout(settings.pool_idle_timeout)
        .http1_ignore_invalid_headers_in_responses(true)
        .http1_allow_spaces_after_header_name_in_responses(true)
        .http1_allow_obsolete_multiline_headers_in_responses(true)
        .http2_max_header_list_size(MAX_HEADER_LIST)
        .http2_adaptive_window(true)
        .dns_resolver(resolver);
    let builder = match settings.extra_roots.as_slice() {
        [] => builder,
        pem => builder.tls_certs_merge(Certificate::from_pem_bundle(pem).map_err(|e| unusable(&e))?),
    };
    let builder = match proxy {
        ProxyChoice::Environment => builder,
        ProxyChoice::Direct => builder.no_proxy(),
        ProxyChoice::Url(url) => builder.proxy(Proxy::all(url.clone()).map_err(|e| unusable(&e))?),
    };
    builder.build().map_err(|e| unusable(&e))
}

/// Without the URL: that of a proxy may hold credentials.
fn unusable(error: &reqwest::Error) -> FetchError {
    FetchError::Protocol(format!("the HTTP client cannot be set up: {}", innermost(error)))
}

/// The proxies in use.
fn proxy_urls(choice: &ProxyChoice) -> Vec<Url> {
    match choice {
        ProxyChoice::Direct => Vec::new(),
        ProxyChoice::Url(url) => vec![url.clone()],
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
