//! What the connection had, for an archive: each request with its answer, whatever it was.

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
    /// What was asked for.
    pub url: Url,
    /// When, in milliseconds since the Unix epoch.
    pub started_at_ms: i64,
    /// Who answered; `None` behind a proxy.
    pub address: Option<IpAddr>,
    /// `http/1.1` or `h2`.
    pub protocol: &'static str,
    /// Headers that were sent, but for `Host` and without those that may be secrets: cookies, credentials, and the headers of the
    /// settings.
    pub sent: Vec<(String, Vec<u8>)>,
    /// HTTP status.
    pub status: u16,
    /// Its words, where the server had some of its own or the standard has.
    pub reason: String,
    /// Headers of the answer, names in lower case, in the order of the HTTP library, which is that in which each name
    /// came first.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body as it came, its content coding left as it is; the transfer coding is undone, since the HTTP library undoes
    /// it.
    pub body: Bytes,
    /// Why the body is not the whole one.
    pub truncated: Option<Truncated>,
}

/// Why a body was not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truncated {
    /// It was longer than we read.
    Length,
    /// It took too long.
    Time,
    /// The connection ended before it.
    Disconnect,
    /// It was not wanted: not a page.
    Unspecified,
}

impl Truncated {
    /// As in `WARC-Truncated`.
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

/// What [`Recorder::record`] comes to.
pub type Recorded<'a> = Pin<Box<dyn Future<Output = Option<Uuid>> + Send + 'a>>;

/// Keeps exchanges. The client waits for it, so that no more bodies are in memory than there are requests in flight.
pub trait Recorder: Send + Sync {
    /// Keeps one, and names it; `None` if it could not be kept. What a failure means is the recorder's matter.
    fn record(&self, exchange: Exchange) -> Recorded<'_>;
}

/// An exchange whose body is still coming.
pub(super) struct Draft {
    exchange: Exchange,
    recorder: Arc<dyn Recorder>,
    /// Of a body with a content coding, the bytes that came.
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

    /// Keeps the exchange. `plain` is the body where it had no content coding.
    pub(super) async fn finish(mut self, plain: Option<Bytes>, truncated: Option<Truncated>) -> Option<Uuid> {
        self.exchange.body =
            if self.coded.is_empty() { plain.unwrap_or_default() } else { self.coded.into() };
        self.exchange.truncated = truncated;
        self.recorder.record(self.exchange).await
    }
}

/// The headers of a request that hold no secret.
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
