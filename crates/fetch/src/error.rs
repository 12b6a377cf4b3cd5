//! Reasons for a failed fetch.

use std::{net::IpAddr, time::Duration};

/// The part of a request that took too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Name resolution, TCP and TLS.
    Connect,
    /// The wait for a turn at a host: for a redirect of robots.txt, or for another request of the same page.
    Turn,
    /// From the request to the end of the response headers.
    Headers,
    /// A pause within the body.
    Body,
    /// The request as a whole.
    Total,
}

impl Phase {
    const fn words(self) -> &'static str {
        match self {
            Self::Connect => "connecting",
            Self::Turn => "waiting for a turn at the host",
            Self::Headers => "waiting for the response headers",
            Self::Body => "waiting for more of the body",
            Self::Total => "the whole request",
        }
    }
}

/// A resource of this machine that requests to any host need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalResource {
    /// File descriptors of the process.
    Descriptors,
    /// File descriptors of the system.
    SystemDescriptors,
    /// Memory of the kernel.
    Memory,
    /// Space of a file system or of a kernel table.
    Space,
    /// The name resolver.
    Resolver,
    /// The store that orders the requests of several processes.
    Store,
}

impl LocalResource {
    const fn words(self) -> &'static str {
        match self {
            Self::Descriptors => "this process has no file descriptor left",
            Self::SystemDescriptors => "this system has no file descriptor left",
            Self::Memory => "this system has no memory left for a connection",
            Self::Space => "this system has no space left for a connection",
            Self::Resolver => "the name resolver does not answer",
            Self::Store => "the store of the crawl gives no turn at an address",
        }
    }
}

/// Error of a request that brings no page. The message says what happened, [`FetchError::hint`] how to react.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The URL cannot be requested.
    #[error("not a URL that can be fetched ({0})")]
    Url(String),
    /// The host is, or resolves to, an address that must not be contacted.
    #[error("{}", refused_address(host, address))]
    AddressBlocked {
        /// The host of the URL.
        host: String,
        /// Its first address that was refused.
        address: IpAddr,
    },
    /// This machine lacks a resource. The error says nothing about the host.
    #[error("{} ({reason})", resource.words())]
    Local {
        /// The missing resource.
        resource: LocalResource,
        /// The system's words.
        reason: String,
    },
    /// The name could not be resolved.
    #[error("the name {host} does not resolve ({reason})")]
    Dns {
        /// The host of the URL.
        host: String,
        /// The resolver's words.
        reason: String,
        /// True if the answer is that the name does not exist, or has no address. A retry would get the same answer.
        is_unknown: bool,
    },
    /// No connection was made.
    #[error("no connection to {}{host} ({reason})", if *.proxy { "the proxy " } else { "" })]
    Connect {
        /// Host of the URL, or of the proxy with its port if the proxy failed.
        host: String,
        /// The system's words.
        reason: String,
        /// True if the proxy is unreachable, which says nothing about the host.
        proxy: bool,
    },
    /// TLS failed: certificate, name or version.
    #[error("no secure connection to {host} ({reason})")]
    Tls {
        /// The host of the URL.
        host: String,
        /// The TLS library's words.
        reason: String,
    },
    /// Something took longer than its limit.
    #[error("{what} took longer than {limit:?}", what = phase.words())]
    Timeout {
        /// Phase that exceeded its limit.
        phase: Phase,
        /// The limit that was passed.
        limit: Duration,
    },
    /// The body arrived below the minimum rate.
    #[error("the body arrived with less than {min_rate} bytes a second")]
    TooSlow {
        /// Minimum rate of a body, in bytes per second.
        min_rate: u64,
    },
    /// The peer closed or reset the connection before the response was complete.
    #[error("the connection broke before the response was complete ({0})")]
    ConnectionLost(String),
    /// The response was not HTTP, or broke a rule of HTTP or a bound on headers.
    #[error("the response violates HTTP or exceeds limits ({0})")]
    Protocol(String),
    /// The response broke a rule of HTTP/2. The next request to the host is made over HTTP/1.1.
    #[error("the response violates HTTP/2 ({0})")]
    Http2(String),
    /// The announced size is far beyond the limit.
    #[error("the announced body of {announced} bytes is far larger than the limit of {cap}")]
    TooLarge {
        /// `Content-Length`.
        announced: u64,
        /// The cap on a body.
        cap: u64,
    },
    /// The body is not valid under its `Content-Encoding`.
    #[error("the body cannot be decoded as {coding} ({reason})")]
    Encoding {
        /// The coding that failed.
        coding: String,
        /// Fault of the body.
        reason: String,
    },
    /// A redirect that leads nowhere.
    #[error("a redirect that cannot be followed ({0})")]
    Redirect(String),
    /// The server answered with an error status.
    #[error("the server answered with status {0}")]
    Status(u16),
}

/// Message about an address that is not public.
#[must_use]
pub fn refused_address(host: &str, address: &IpAddr) -> String {
    if host.trim_matches(['[', ']']) == address.to_string() {
        return format!("refused: {address} is not a public address");
    }
    format!("refused: {host} has the address {address}, which is not public")
}

const fn bits(address: &IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

const fn status_hint(status: u16) -> &'static str {
    match status {
        401 => "give credentials for the site in fetch.auth, or correct them",
        403 => "the site refuses us: name a --contact, and ask its owner",
        404 | 410 => "the page does not exist: correct the link if it is yours",
        407 => "give the proxy's credentials in its URL (--proxy)",
        408 | 425 | 500..=599 => "the server has a fault: try again later",
        429 => "the site wants fewer requests: raise --delay",
        451 => "the site may not show it where you are",
        _ => "look at the URL in a browser",
    }
}

/// Words of the system for a name that does not exist or has no address: of glibc, musl and macOS.
const UNKNOWN_NAME: [&str; 4] =
    ["not known", "no address associated", "name does not resolve", "name has no usable address"];

/// Words of the TLS library for a connection that ends before the server has answered.
const HANDSHAKE_EOF: &str = "handshake eof";
/// Words of the HTTP library for a proxy that refuses a tunnel, and for one that asks for a password.
const TUNNEL: &str = "tunnel error";
const PROXY_LOGIN: &str = "proxy authorization required";
/// Words for a certificate of an authority that a server sends as its own.
pub(crate) const AUTHORITY: &str = "its certificate belongs to an authority";
const NO_TLS: &str = "the server speaks no TLS at this port; write http:// if that is meant";

impl FetchError {
    /// Returns the error of a name by the resolver's words.
    pub(crate) fn dns(host: String, reason: String) -> Self {
        let words = reason.to_ascii_lowercase();
        let is_unknown = UNKNOWN_NAME.iter().any(|known| words.contains(known));
        Self::Dns { host, reason, is_unknown }
    }

    /// Stable name for counts and logs.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Url(_) => "invalid_url",
            Self::AddressBlocked { .. } => "address_blocked",
            Self::Local { .. } => "local",
            Self::Dns { .. } => "dns",
            Self::Connect { .. } => "connect",
            Self::Tls { .. } => "tls",
            Self::Timeout { .. } => "timeout",
            Self::TooSlow { .. } => "too_slow",
            Self::ConnectionLost(_) => "connection_lost",
            Self::Protocol(_) | Self::Http2(_) => "protocol",
            Self::TooLarge { .. } => "too_large",
            Self::Encoding { .. } => "content_encoding",
            Self::Redirect(_) => "bad_redirect",
            Self::Status(_) => "http_status",
        }
    }

    /// Advice to the user, in one sentence.
    #[must_use]
    pub fn hint(&self) -> String {
        let fixed = match self {
            Self::AddressBlocked { address, .. } => {
                return format!(
                    "if this is intended, add {address}/{bits} to fetch.allow_addresses; a crawl also takes --allow-address {address}/{bits}",
                    bits = bits(address)
                );
            }
            Self::Url(_) => "correct the address: only http and https URLs with a valid host can be fetched",
            Self::Local { resource: LocalResource::Resolver, .. } => {
                "check the network and /etc/resolv.conf of this machine"
            }
            Self::Local { resource: LocalResource::Descriptors, .. } => {
                "raise the limit of open files (ulimit -n), or lower fetch.concurrency"
            }
            Self::Local { resource: LocalResource::Store, .. } => "check the server of the database",
            Self::Local { .. } => "free the resource on this machine, or lower fetch.concurrency",
            Self::Dns { .. } => {
                "check the spelling of the name, or give its address with --resolve or fetch.resolve"
            }
            Self::Connect { proxy: true, .. } => {
                "check the proxy, or name another one, or none, with --proxy; HTTP_PROXY, HTTPS_PROXY and ALL_PROXY count too"
            }
            Self::Connect { reason, .. } if reason.contains(TUNNEL) => match reason.contains(PROXY_LOGIN) {
                true => status_hint(407),
                false => {
                    "the proxy refuses this host: ask its operator, or name another one, or none, with --proxy"
                }
            },
            Self::Connect { reason, .. } if reason.contains(HANDSHAKE_EOF) => NO_TLS,
            Self::Connect { .. } => {
                "the host may be down: try again later, and look at firewalls and --proxy"
            }
            // the server has answered a request for TLS in plain text
            Self::Tls { reason, .. } if reason.contains("InvalidContentType") => NO_TLS,
            Self::Tls { reason, .. } if reason.contains(AUTHORITY) => {
                "a server needs a certificate with CA:FALSE, made anew or signed by that authority; fetch.ca_file does not help with this one"
            }
            Self::Tls { .. } => {
                "the site's owner has to fix its certificate; for an authority of your own name fetch.ca_file"
            }
            Self::Timeout { .. } => "raise the time limits under [fetch] if the site is merely slow",
            Self::TooSlow { .. } => "try again later, when the site is less busy",
            Self::ConnectionLost(_) => "try again later; lower --host-concurrency if it happens often",
            Self::Protocol(_) | Self::Http2(_) | Self::Encoding { .. } => {
                "the site's owner has to fix the server"
            }
            Self::TooLarge { .. } => "raise fetch.max_body to take more of it",
            Self::Redirect(_) => "look at the URL in a browser, and correct the link if it is yours",
            Self::Status(status) => status_hint(*status),
        };
        fixed.to_owned()
    }

    /// Returns true if the same request may succeed later. Statuses: 408, 425, 429 and 5xx except 501 and
    /// 505, which are permanent. A request that used up its total time is not retried because of its cost.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Timeout { phase, .. } => !matches!(phase, Phase::Total),
            Self::Dns { is_unknown, .. } => !*is_unknown,
            Self::Local { .. }
            | Self::Connect { .. }
            | Self::TooSlow { .. }
            | Self::ConnectionLost(_)
            | Self::Http2(_) => true,
            Self::Status(status) => {
                matches!(*status, 408 | 425 | 429 | 500..=599) && !matches!(*status, 501 | 505)
            }
            _ => false,
        }
    }

    /// Returns true if this machine, not the host, prevented the request.
    #[must_use]
    pub const fn is_local(&self) -> bool {
        matches!(self, Self::Local { .. })
    }

    /// Returns true if a request timed out and so held a slot for long. The wait for a turn is not part of a
    /// request.
    #[must_use]
    pub const fn is_timeout(&self) -> bool {
        match self {
            Self::Timeout { phase, .. } => !matches!(phase, Phase::Turn),
            Self::TooSlow { .. } => true,
            _ => false,
        }
    }

    /// Returns true if the host sent nothing: no connection, or no answer over it. A circuit breaker counts
    /// these errors. An unfinished body does not count, since its headers arrived.
    #[must_use]
    pub const fn is_unanswered(&self) -> bool {
        self.is_unreachable()
            || matches!(
                self,
                Self::ConnectionLost(_) | Self::Timeout { phase: Phase::Headers | Phase::Total, .. }
            )
    }

    /// Returns true if no connection to the host was made.
    #[must_use]
    pub const fn is_unreachable(&self) -> bool {
        matches!(
            self,
            Self::Dns { .. }
                | Self::Connect { .. }
                | Self::Tls { .. }
                | Self::Timeout { phase: Phase::Connect, .. }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_address_is_named_once() {
        let told = |host: &str, address: &str| {
            FetchError::AddressBlocked { host: host.into(), address: address.parse().unwrap() }.to_string()
        };
        assert_eq!(told("127.0.0.1", "127.0.0.1"), "refused: 127.0.0.1 is not a public address");
        assert_eq!(told("[::1]", "::1"), "refused: ::1 is not a public address");
        assert_eq!(
            told("intranet.test", "10.0.0.1"),
            "refused: intranet.test has the address 10.0.0.1, which is not public"
        );
    }

    #[test]
    fn fetch_error_hints_name_the_remedy() {
        let blocked = FetchError::AddressBlocked { host: "h".into(), address: "fe80::1".parse().unwrap() };
        assert!(blocked.hint().contains("--allow-address fe80::1/128"), "{}", blocked.hint());
        assert!(FetchError::Status(429).hint().contains("--delay"));
        assert!(FetchError::Status(401).hint().contains("fetch.auth"));
    }

    #[test]
    fn only_temporary_errors_are_transient() {
        for status in [408, 425, 429, 500, 502, 503, 504, 599] {
            assert!(FetchError::Status(status).is_transient(), "{status}");
        }
        for status in [400, 401, 403, 404, 410, 451, 501, 505, 999] {
            assert!(!FetchError::Status(status).is_transient(), "{status}");
        }
        assert!(!FetchError::Redirect(String::new()).is_transient());
        let dns = |is_unknown| FetchError::Dns { host: "h".into(), reason: String::new(), is_unknown };
        assert!(dns(false).is_transient() && !dns(true).is_transient());
        let timeout = |phase| FetchError::Timeout { phase, limit: Duration::from_secs(1) };
        assert!(timeout(Phase::Headers).is_transient() && !timeout(Phase::Total).is_transient());
        assert!(FetchError::ConnectionLost(String::new()).is_transient());
    }
}
