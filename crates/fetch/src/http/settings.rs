//! Settings of a client, as plain data. `Debug` hides secrets.

use super::{addresses::AddressPolicy, credentials::HostAuth, pool::check_roots, resolve::ResolveRule};
use crate::FetchError;
use crawl_model::strip_userinfo;
use reqwest::header::{HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use std::{fmt, str::FromStr, time::Duration};
use url::Url;

/// Minimum mean rate of a body, in bytes a second, once it has taken the read timeout. A page of 8 MiB at this
/// rate would take nine hours, so a slower body is a trap or a broken server.
pub const MIN_RATE_BYTES: u64 = 256;

/// Maximum idle connections of one host. More serve no purpose, since few hosts permit more requests at a
/// time.
pub const MAX_IDLE_PER_HOST: usize = 16;

/// Time limit of an idle connection. Servers close theirs after 5 to 75 s, and pauses between requests are
/// mostly shorter than this.
pub const MAX_IDLE_TIME: Duration = Duration::from_secs(30);

/// Choice of a proxy. As text: empty for the environment, `none` for no proxy, else its URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProxyChoice {
    /// The proxies of `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`.
    #[default]
    Environment,
    /// No proxy, ignoring the environment.
    Direct,
    /// One proxy for all requests: `http`, `https`, `socks5` or `socks5h`.
    Url(ProxyUrl),
}

/// URL of a proxy. `Debug` hides its user name and password.
#[derive(Clone)]
pub struct ProxyUrl {
    /// Without user name and password.
    address: Url,
    whole: SecretString,
}

impl ProxyUrl {
    /// The URL without user name and password.
    #[must_use]
    pub fn address(&self) -> &Url {
        &self.address
    }

    /// The URL with user name and password, for the connection to the proxy.
    #[must_use]
    pub fn with_credentials(&self) -> Url {
        Url::parse(self.whole.expose_secret()).unwrap_or_else(|_| self.address.clone())
    }
}

impl From<Url> for ProxyUrl {
    fn from(url: Url) -> Self {
        let whole = SecretString::from(url.as_str());
        let mut address = url;
        strip_userinfo(&mut address);
        Self { address, whole }
    }
}

impl fmt::Debug for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProxyUrl({})", self.address)
    }
}

impl PartialEq for ProxyUrl {
    fn eq(&self, other: &Self) -> bool {
        self.whole.expose_secret() == other.whole.expose_secret()
    }
}

impl Eq for ProxyUrl {}

impl FromStr for ProxyChoice {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "" => return Ok(Self::Environment),
            "none" => return Ok(Self::Direct),
            _ => {}
        }
        let url = Url::parse(text)
            .map_err(|_| "is neither \"none\" nor the URL of a proxy, such as http://proxy.example:3128")?;
        match url.scheme() {
            "http" | "https" | "socks5" | "socks5h" if url.has_host() => Ok(Self::Url(url.into())),
            _ => Err(
                "has to be the URL of a proxy of the kind http, https, socks5 or socks5h, such as http://proxy.example:3128",
            ),
        }
    }
}

/// A header of every request. `Debug` hides its value, which may be a token.
#[derive(Clone, PartialEq, Eq)]
pub struct RequestHeader {
    /// Name.
    pub name: HeaderName,
    /// Value; never logged.
    pub value: HeaderValue,
}

/// Headers of message framing and coding, which the client sets.
const FRAMING: &[&str] = &[
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// Headers of credentials, refused because every host would receive them.
const CREDENTIALS: &[&str] = &["authorization", "cookie", "proxy-authorization"];

impl FromStr for RequestHeader {
    type Err = String;

    /// Parses `Name: value`, like curl's `--header`. No message repeats the value.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once(':').ok_or("a header is written \"Name: value\"")?;
        let name = HeaderName::from_bytes(name.trim().as_bytes())
            .map_err(|_| "the part before the colon is not the name of a header")?;
        if FRAMING.contains(&name.as_str()) {
            return Err(format!("the header {name} cannot be set: the client writes it itself"));
        }
        if CREDENTIALS.contains(&name.as_str()) {
            return Err(format!(
                "the header {name} would go to every host; fetch.auth sends credentials to one, fetch.cookies keeps \
                 cookies by host"
            ));
        }
        let mut value = HeaderValue::from_str(value.trim())
            .map_err(|_| format!("the value of the header {name} is not valid in HTTP"))?;
        value.set_sensitive(true);
        Ok(Self { name, value })
    }
}

impl fmt::Debug for RequestHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestHeader").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Settings of a [`HttpClient`](super::HttpClient).
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// `User-Agent`; it should begin with the product token for robots.txt.
    pub user_agent: String,
    /// `Accept-Language`; `None` sends none.
    pub accept_language: Option<String>,
    /// Limit for name resolution, TCP and TLS together.
    pub connect_timeout: Duration,
    /// Limit from the request to the end of the response headers, including a new connection, and for each
    /// pause within the body.
    pub read_timeout: Duration,
    /// Limit for the whole request, without waits for the byte budget.
    pub total_timeout: Duration,
    /// Minimum mean rate of a body in bytes per second, once it has taken `read_timeout`; 0 for no limit.
    pub min_rate_bytes: u64,
    /// Maximum decoded bytes of a body; the rest is cut off.
    pub max_body_bytes: u64,
    /// Content types of pages, lower case, without parameters. XML types among them pass only as XHTML.
    pub accept_types: Vec<String>,
    /// Fixed addresses for hosts.
    pub resolve: Vec<ResolveRule>,
    /// Addresses that may be contacted.
    pub addresses: AddressPolicy,
    /// Headers of every request; they replace built-in headers of the same name.
    pub headers: Vec<RequestHeader>,
    /// Keeps cookies, each for the host that set it. If off, no cookie is ever sent.
    pub cookies: bool,
    /// Credentials by origin.
    pub auth: Vec<HostAuth>,
    /// Choice of the proxy.
    pub proxy: ProxyChoice,
    /// Trusted certificates in PEM besides the system's.
    pub extra_roots: Vec<u8>,
    /// Maximum idle connections per host.
    pub pool_idle_per_host: usize,
    /// Time limit of an idle connection.
    pub pool_idle_timeout: Duration,
    /// Maximum concurrent requests with a connection, over all hosts.
    pub max_requests: usize,
    /// Maximum open connections over all hosts; 0 opens one per request. While a generation closes, there may
    /// be as many again.
    pub max_connections: usize,
}

/// Media types of pages that are read.
const ACCEPT_TYPES: [&str; 7] = [
    "text/html",
    "application/xhtml+xml",
    "text/plain",
    "text/markdown",
    "text/x-markdown",
    "application/xml",
    "text/xml",
];

impl HttpSettings {
    /// Checks that the certificates of further authorities can be read.
    ///
    /// # Errors
    /// When they cannot.
    pub fn check_roots(&self) -> Result<(), FetchError> {
        check_roots(&self.extra_roots)
    }
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            user_agent: crate::user_agents::default_user_agent("", "", ""),
            accept_language: None,
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(15),
            total_timeout: Duration::from_secs(60),
            min_rate_bytes: MIN_RATE_BYTES,
            max_body_bytes: 10 << 20,
            accept_types: ACCEPT_TYPES.map(String::from).to_vec(),
            resolve: Vec::new(),
            addresses: AddressPolicy::default(),
            headers: Vec::new(),
            cookies: false,
            auth: Vec::new(),
            proxy: ProxyChoice::default(),
            extra_roots: Vec::new(),
            pool_idle_per_host: 4,
            pool_idle_timeout: MAX_IDLE_TIME,
            max_requests: 1_024,
            max_connections: 4_096,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_headers_parse_like_curl_and_stay_secret() {
        let header: RequestHeader = "X-Api-Key:  s3cret ".parse().unwrap();
        assert_eq!((header.name.as_str(), header.value.as_bytes()), ("x-api-key", &b"s3cret"[..]));
        assert!(!format!("{header:?} {:?}", header.value).contains("s3cret"));
        for bad in
            ["s3cret", ": s3cret", "a b: s3cret", "X-Key: \u{1}s3cret", "Host: s3cret", "Cookie: s3cret"]
        {
            let error = bad.parse::<RequestHeader>().unwrap_err();
            assert!(!error.contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn proxy_credentials_are_never_shown() {
        assert_eq!("".parse(), Ok(ProxyChoice::Environment));
        assert_eq!("none".parse(), Ok(ProxyChoice::Direct));
        for url in ["http://u:s3cret@proxy.test:3128", "socks5h://u:s3cret@[::1]:1080"] {
            let proxy: ProxyChoice = url.parse().unwrap();
            assert!(!format!("{proxy:?}").contains("s3cret"), "{proxy:?}");
            let ProxyChoice::Url(proxy) = proxy else { panic!("{proxy:?}") };
            assert!(proxy.with_credentials().as_str().contains("u:s3cret@"), "the connection needs them");
            assert!(!proxy.address().as_str().contains('@'));
        }
        for bad in ["proxy.test:3128", "ftp://u:s3cret@h/", "//u:s3cret@h"] {
            let error = bad.parse::<ProxyChoice>().unwrap_err();
            assert!(!error.contains("s3cret"), "{error}");
        }
    }
}
