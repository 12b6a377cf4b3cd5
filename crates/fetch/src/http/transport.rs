//! Transport of a request, below [`HttpClient`](super::HttpClient).

use crate::error::FetchError;
use reqwest::{Response, header::HeaderMap};
use std::{future::Future, net::IpAddr, pin::Pin};
use tokio::time::Instant;
use url::Url;

/// An error that is waited for.
pub type Attributed<'a> = Pin<Box<dyn Future<Output = FetchError> + Send + 'a>>;

/// A result that is waited for.
pub type Waiting<'a, T> = Pin<Box<dyn Future<Output = Result<T, FetchError>> + Send + 'a>>;

/// Head of a response; its body is still unread.
#[derive(Debug)]
pub struct Answer {
    /// The response.
    pub response: Response,
    /// The address that gave it, if it is known.
    pub peer: Option<IpAddr>,
}

/// Transport of requests: by default reqwest's clients, in a simulation its own. The caller drops the future
/// when its limits expire.
pub trait Transport: Send + Sync {
    /// Sends a GET with exactly these headers and waits for the head of the response.
    fn get<'a>(&'a self, url: &'a Url, headers: HeaderMap) -> Waiting<'a, Answer>;

    /// Finds out whether the error of [`Transport::get`], which began at `since`, is this machine's. It has its own
    /// time limit.
    fn attribute<'a>(&'a self, error: FetchError, _url: &'a Url, _since: Instant) -> Attributed<'a> {
        Box::pin(std::future::ready(error))
    }

    /// Resolves the address of a request to this URL; `None` if a proxy resolves it.
    fn locate<'a>(&'a self, url: &'a Url) -> Waiting<'a, Option<IpAddr>>;

    /// Checks the host of a URL against the address policy if [`Transport::get`] does not.
    fn check<'a>(&'a self, url: &'a Url) -> Waiting<'a, ()>;

    /// Uses HTTP/1.1 for the host of a URL from now on, after a timeout or protocol error over HTTP/2. An
    /// HTTP/2 connection costs CPU as long as its peer sends frames, even without a request.
    fn disable_http2(&self, _url: &Url) {}

    /// Returns true if the peer of a request to this URL is the host itself.
    fn is_direct(&self, url: &Url) -> bool;
}
