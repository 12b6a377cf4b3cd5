//! What a client is built from: plain data, no behaviour.

use super::{addresses::AddressPolicy, resolve::ResolveRule};
use std::{fmt, time::Duration};
use url::Url;

/// How requests find their way out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProxyChoice {
    /// As `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` say.
    #[default]
    Environment,
    /// No proxy, whatever the environment says.
    Direct,
    /// This one for everything: `http`, `https`, `socks5` or `socks5h`.
    Url(Url),
}

/// Basic credentials for one host, sent to no other one.
#[derive(Clone, PartialEq, Eq)]
pub struct HostAuth {
    /// `host` or `host:port`, as in a URL; without a port it means the scheme's own.
    pub host: String,
    /// User name.
    pub user: String,
    /// Password.
    pub password: String,
}

impl fmt::Debug for HostAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // secrets stay out of logs
        f.debug_struct("HostAuth").field("host", &self.host).finish_non_exhaustive()
    }
}

/// Settings of a [`HttpClient`](super::HttpClient).
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// `User-Agent`; it should begin with the product token that robots.txt is read for.
    pub user_agent: String,
    /// `Accept-Language`; none is sent where it is `None`.
    pub accept_language: Option<String>,
    /// For name resolution, TCP and TLS together.
    pub connect_timeout: Duration,
    /// From the request to the end of the response headers (a connection that has to be made first included), and for
    /// each pause within the body.
    pub read_timeout: Duration,
    /// For the whole request; waiting for the byte budget does not count.
    pub total_timeout: Duration,
    /// Decoded bytes of a body that are kept; what follows is cut off.
    pub max_body_bytes: u64,
    /// Content types that are pages, lower case, without parameters. XML types among them pass only as XHTML.
    pub accept_types: Vec<String>,
    /// Fixed addresses for hosts.
    pub resolve: Vec<ResolveRule>,
    /// Which addresses may be contacted.
    pub addresses: AddressPolicy,
    /// Headers sent with every request, besides our own; one with the name of our own replaces it.
    pub headers: Vec<(String, String)>,
    /// Keep cookies, each for the host that set it. Off, nothing of a cookie is ever sent.
    pub cookies: bool,
    /// Basic credentials by host.
    pub auth: Vec<HostAuth>,
    /// The way out.
    pub proxy: ProxyChoice,
    /// Idle connections that are kept for a host.
    pub pool_idle_per_host: usize,
    /// How long an idle connection is kept.
    pub pool_idle_timeout: Duration,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            user_agent: crate::user_agents::default_user_agent(None),
            accept_language: None,
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(15),
            total_timeout: Duration::from_secs(60),
            max_body_bytes: 10 << 20,
            accept_types: ["text/html", "application/xhtml+xml", "text/plain", "application/xml", "text/xml"]
                .map(String::from)
                .to_vec(),
            resolve: Vec::new(),
            addresses: AddressPolicy::default(),
            headers: Vec::new(),
            cookies: false,
            auth: Vec::new(),
            proxy: ProxyChoice::default(),
            pool_idle_per_host: 4,
            pool_idle_timeout: Duration::from_secs(30),
        }
    }
}
