//! Exchanges for an archive: each request of a connection with its answer.

use crate::error::{FetchError, Phase};
use bytes::Bytes;
use reqwest::{
    Response, Version,
    header::{AUTHORIZATION, COOKIE, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHORIZATION},
};
use std::{future::Future, net::IpAddr, pin::Pin, sync::Arc};
use url::Url;
use uuid::Uuid;

/// A request and its answer.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The requested URL.
    pub url: Url,
    /// Start of the request, in milliseconds since the Unix epoch.
    pub started_at_ms: i64,
    /// Address of the server; `None` behind a proxy.
    pub address: Option<IpAddr>,
    /// `http/1.1` or `h2`.
    pub protocol: &'static str,
    /// Headers of the request, without `Host` and without possible secrets: cookies, credentials, and custom
    /// headers.
    pub sent: Vec<(String, Vec<u8>)>,
    /// HTTP status.
    pub status: u16,
    /// Reason phrase: the server's, or the standard's.
    pub reason: String,
    /// Headers of the answer, names in lower case. The HTTP library orders them by the first occurrence of
    /// each name.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Body with its content coding. The HTTP library has removed the transfer coding.
    pub body: Bytes,
    /// Reason for a truncated body.
    pub truncated: Option<Truncated>,
}

/// Reason for not reading a body to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truncated {
    /// The body exceeds the maximum length.
    Length,
    /// The body exceeds the maximum time.
    Time,
    /// The connection ended before it.
    Disconnect,
    /// The body is not a page.
    Unspecified,
}

impl Truncated {
    /// Value of `WARC-Truncated`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Time => "time",
            Self::Disconnect => "disconnect",
            Self::Unspecified => "unspecified",
        }
    }

    pub(super) const fn by(error: &FetchError) -> Self {
        match error {
            FetchError::Timeout { phase: Phase::Body | Phase::Total, .. } | FetchError::TooSlow { .. } => {
                Self::Time
            }
            FetchError::TooLarge { .. } => Self::Length,
            FetchError::Encoding { .. } => Self::Unspecified,
            _ => Self::Disconnect,
        }
    }
}

/// Future of [`Recorder::record`].
pub type Recorded<'a> = Pin<Box<dyn Future<Output = Option<Uuid>> + Send + 'a>>;

/// Storage for exchanges. The client waits for it, so that no more bodies are in memory than requests are in
/// flight.
pub trait Recorder: Send + Sync {
    /// Stores an exchange and returns its identity; `None` if that failed. The recorder handles the failure.
    fn record(&self, exchange: Exchange) -> Recorded<'_>;
}

/// An exchange whose body is still arriving.
pub(super) struct Draft {
    exchange: Exchange,
    recorder: Arc<dyn Recorder>,
    /// Encoded bytes of a body with a content coding.
    pub(super) coded: Vec<u8>,
}

impl Draft {
    pub(super) fn new(
        recorder: &Arc<dyn Recorder>,
        url: &Url,
        sent: &HeaderMap,
        started_at_ms: i64,
        direct: bool,
        response: &Response,
    ) -> Self {
        let status = response.status();
        let own = response.extensions().get::<hyper::ext::ReasonPhrase>();
        let reason = own.and_then(|reason| std::str::from_utf8(reason.as_bytes()).ok());
        let exchange = Exchange {
            url: url.clone(),
            started_at_ms,
            address: response.remote_addr().filter(|_| direct).map(|peer| peer.ip()),
            protocol: if response.version() == Version::HTTP_2 { "h2" } else { "http/1.1" },
            sent: owned(&public(sent)),
            status: status.as_u16(),
            reason: reason.or_else(|| status.canonical_reason()).unwrap_or_default().to_owned(),
            headers: owned(response.headers()),
            body: Bytes::new(),
            truncated: None,
        };
        Self { exchange, recorder: Arc::clone(recorder), coded: Vec::new() }
    }

    /// Stores the exchange. `plain` is the body if it had no content coding.
    pub(super) async fn finish(mut self, plain: Option<Bytes>, truncated: Option<Truncated>) -> Option<Uuid> {
        self.exchange.body =
            if self.coded.is_empty() { plain.unwrap_or_default() } else { self.coded.into() };
        self.exchange.truncated = truncated;
        self.recorder.record(self.exchange).await
    }
}

/// The headers of a request without secrets.
fn public(sent: &HeaderMap) -> HeaderMap {
    let is_secret = |name: &HeaderName, value: &HeaderValue| {
        value.is_sensitive() || [AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION].contains(name)
    };
    let public = sent.iter().filter(|(name, value)| !is_secret(name, value));
    public.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn owned(headers: &HeaderMap) -> Vec<(String, Vec<u8>)> {
    headers.iter().map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec())).collect()
}
