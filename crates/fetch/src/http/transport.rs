//! The way of a request to the network, below [`HttpClient`](super::HttpClient).

use crate::error::FetchError;
use reqwest::{Response, header::HeaderMap};
use std::{future::Future, net::IpAddr, pin::Pin};
use url::Url;

/// A result that is waited for.
pub type Waiting<'a, T> = Pin<Box<dyn Future<Output = Result<T, FetchError>> + Send + 'a>>;

/// The head of a response; its body is still to be read.
#[derive(Debug)]
pub struct Answer {
    /// The response.
    pub response: Response,
    /// The address that gave it, if it is known.
    pub peer: Option<IpAddr>,
}

/// A network that requests are sent over: by default reqwest's clients, in a simulation its own. The caller waits no longer
/// than its limits allow, and drops the future then.
pub trait Transport: Send + Sync {
    /// Sends a GET with exactly these headers and waits for the head of the response.
    fn get<'a>(&'a self, url: &'a Url, headers: HeaderMap) -> Waiting<'a, Answer>;

    /// Looks up the address that a request to this URL goes to; `None` where a proxy decides that.
    fn locate<'a>(&'a self, url: &'a Url) -> Waiting<'a, Option<IpAddr>>;

    /// Checks the host of a URL against the address policy where [`Transport::get`] does not.
    fn check<'a>(&'a self, url: &'a Url) -> Waiting<'a, ()>;

    /// Asks the host of a URL over HTTP/1.1 from now on: over HTTP/2 it ran out of time or broke the protocol. A connection of
    /// HTTP/2 costs CPU as long as its peer sends frames, whether a request waits on it or not.
    fn leave_http2(&self, _url: &Url) {}

    /// Returns true if the peer of a request to this URL is the host itself.
    fn is_direct(&self, url: &Url) -> bool;
}
