//! A network with answers from the input.

use crawl_fetch::{Answer, ByteBudget, HttpClient, HttpSettings, Transport, Waiting};
use crawl_model::{CrawlRequest, Discovery, LeaseToken, RequestId};
use reqwest::header::HeaderMap;
use std::{
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
};
use url::Url;

/// Longest body that [`client`] keeps, in bytes.
pub const MAX_BODY: u64 = 64 << 10;

/// Answers every request with one response, and records the sent headers.
#[derive(Default)]
pub struct Scripted(Mutex<State>);

#[derive(Default)]
struct State {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
    sent: HeaderMap,
}

impl Scripted {
    /// Sets the response to later requests, and drops earlier records.
    pub fn answer(&self, status: u16, headers: HeaderMap, body: &[u8]) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) =
            State { status, headers, body: body.to_vec(), sent: HeaderMap::new() };
    }

    /// Headers of the last request since then; none if it was refused.
    pub fn sent(&self) -> HeaderMap {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).sent.clone()
    }
}

impl Transport for Scripted {
    fn get<'a>(&'a self, _: &'a Url, headers: HeaderMap) -> Waiting<'a, Answer> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.sent = headers;
        let mut response = http::Response::new(state.body.clone());
        *response.status_mut() = http::StatusCode::from_u16(state.status).unwrap_or_default();
        *response.headers_mut() = state.headers.clone();
        Box::pin(async move { Ok(Answer { response: response.into(), peer: None }) })
    }

    fn locate<'a>(&'a self, _: &'a Url) -> Waiting<'a, Option<IpAddr>> {
        Box::pin(async { Ok(None) })
    }

    fn check<'a>(&'a self, _: &'a Url) -> Waiting<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    fn is_direct(&self, _: &Url) -> bool {
        true
    }
}

/// A client over such a network, with cookies.
pub fn client(network: &Arc<Scripted>) -> HttpClient {
    let settings = HttpSettings { cookies: true, max_body_bytes: MAX_BODY, ..HttpSettings::default() };
    let transport = Arc::clone(network) as Arc<dyn Transport>;
    HttpClient::over(transport, settings, ByteBudget::new(MAX_BODY * 4)).expect("the settings are right")
}

/// Request for a URL found in a link.
pub fn request(url: &Url) -> CrawlRequest {
    CrawlRequest {
        id: RequestId(1),
        token: LeaseToken(1),
        url: url.clone(),
        depth: 0,
        discovery: Discovery::Link,
        attempt: 0,
        strategy: None,
        redirects: Vec::new(),
        etag: None,
        last_modified: None,
        sitemap_lastmod: None,
        before: None,
        project: "fuzz".into(),
        source_group: None,
    }
}
