//! Why a URL brought no page.

use std::{net::IpAddr, time::Duration};

/// The part of a request that took too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Name resolution, TCP and TLS.
    Connect,
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
            Self::Headers => "waiting for the response headers",
            Self::Body => "waiting for more of the body",
            Self::Total => "the whole request",
        }
    }
}

/// Every way in which a request can end without a page. The message says what happened and what can be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The URL is not one that can be requested.
    #[error("not a URL that can be fetched ({0}); only http and https URLs with a valid host are")]
    Url(String),
    /// The host is, or resolves to, an address that must not be contacted.
    #[error("{host} is the address {address}, which is not public; allow it with --allow-address {address}/{bits} if you mean it", bits = bits(address))]
    AddressBlocked {
        /// The host of the URL.
        host: String,
        /// The first of its addresses that was refused.
        address: IpAddr,
    },
    /// The name could not be resolved.
    #[error(
        "the name {host} does not resolve ({reason}); check its spelling, or name its address with --resolve"
    )]
    Dns {
        /// The host of the URL.
        host: String,
        /// The resolver's words.
        reason: String,
    },
    /// No connection was made.
    #[error("no connection to {host} ({reason}); the host may be down, or a firewall or proxy in between")]
    Connect {
        /// The host of the URL.
        host: String,
        /// The system's words.
        reason: String,
    },
    /// TLS failed: certificate, name or version.
    #[error("no secure connection to {host} ({reason}); the site's certificate has to be fixed by its owner")]
    Tls {
        /// The host of the URL.
        host: String,
        /// The TLS library's words.
        reason: String,
    },
    /// Something took longer than its limit.
    #[error("{what} took longer than {limit:?}; raise the time limits under [fetch] if the site is merely slow", what = phase.words())]
    Timeout {
        /// What took too long.
        phase: Phase,
        /// The limit that was passed.
        limit: Duration,
    },
    /// The peer closed or reset the connection before the response was complete.
    #[error(
        "the connection broke before the response was complete ({0}); tried again later, if attempts are left"
    )]
    ConnectionLost(String),
    /// What came was not HTTP, or broke one of its rules or our bounds on headers.
    #[error("not a valid HTTP response ({0}); the server has to be fixed by its owner")]
    Protocol(String),
    /// The announced size is beyond any use.
    #[error(
        "the body is announced with {announced} bytes, of which at most {cap} would be kept; raise max_body to take more"
    )]
    TooLarge {
        /// `Content-Length`.
        announced: u64,
        /// The cap on a body.
        cap: u64,
    },
    /// The body could not be decoded as its `Content-Encoding` says.
    #[error("the body cannot be decoded as {coding} ({reason}); the server has to be fixed by its owner")]
    Encoding {
        /// The coding that failed.
        coding: String,
        /// What was wrong.
        reason: String,
    },
    /// A redirect that leads nowhere.
    #[error("a redirect that cannot be followed ({0}); look at the URL in a browser")]
    Redirect(String),
    /// The server answered with an error status.
    #[error("the server answered with status {0}{hint}", hint = status_hint(*.0))]
    Status(u16),
}

const fn bits(address: &IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

const fn status_hint(status: u16) -> &'static str {
    match status {
        401 => "; it wants credentials, which can be configured for a host",
        403 => "; it refuses us, perhaps because of the user agent",
        404 | 410 => "; there is no such page",
        429 => "; it wants fewer requests: raise --delay",
        500..=599 => "; it has trouble of its own, try again later",
        _ => "",
    }
}

impl FetchError {
    /// A stable name for counts and logs.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Url(_) => "invalid_url",
            Self::AddressBlocked { .. } => "address_blocked",
            Self::Dns { .. } => "dns",
            Self::Connect { .. } => "connect",
            Self::Tls { .. } => "tls",
            Self::Timeout { .. } => "timeout",
            Self::ConnectionLost(_) => "connection_lost",
            Self::Protocol(_) => "protocol",
            Self::TooLarge { .. } => "too_large",
            Self::Encoding { .. } => "content_encoding",
            Self::Redirect(_) => "bad_redirect",
            Self::Status(_) => "http_status",
        }
    }

    /// Whether the same request may succeed later. Statuses: 408, 425, 429 and 5xx except 501 and 505, which are
    /// not about the moment. A request that used up all its time is not tried again: it has cost enough.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Timeout { phase, .. } => !matches!(phase, Phase::Total),
            Self::Dns { .. } | Self::Connect { .. } | Self::ConnectionLost(_) => true,
            Self::Status(status) => {
                matches!(*status, 408 | 425 | 429 | 500..=599) && !matches!(*status, 501 | 505)
            }
            _ => false,
        }
    }

    /// Whether no connection to the host was made: what a circuit breaker counts.
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
    fn messages_name_the_way_out() {
        let blocked = FetchError::AddressBlocked { host: "h".into(), address: "fe80::1".parse().unwrap() };
        assert!(blocked.to_string().contains("--allow-address fe80::1/128"), "{blocked}");
        assert!(FetchError::Status(429).to_string().contains("--delay"));
    }

    #[test]
    fn only_what_may_pass_is_transient() {
        for status in [408, 425, 429, 500, 502, 503, 504, 599] {
            assert!(FetchError::Status(status).is_transient(), "{status}");
        }
        for status in [400, 401, 403, 404, 410, 451, 501, 505, 999] {
            assert!(!FetchError::Status(status).is_transient(), "{status}");
        }
        assert!(!FetchError::Redirect(String::new()).is_transient());
        let timeout = |phase| FetchError::Timeout { phase, limit: Duration::from_secs(1) };
        assert!(timeout(Phase::Headers).is_transient() && !timeout(Phase::Total).is_transient());
        assert!(FetchError::ConnectionLost(String::new()).is_transient());
    }
}
