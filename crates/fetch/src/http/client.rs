//! HTTP client: each request gets exactly one typed answer.

mod addresses;
mod resource;

pub use resource::Resource;

use super::{
    body::{Plan, Read, drain, read},
    content::{Declared, SkipKind, essence, gate, gate_shown},
    cookies::CookieJar,
    exchange::{Draft, Recorder, Truncated},
    failure::Limits,
    fetched::Fetched,
    headers::{conditions, headers, owned, requestable, retry_after, target},
    losses::Losses,
    pool::{Pool, literal},
    settings::HttpSettings,
    transport::{Answer, Transport},
    turns::AddressTurns,
    watch::waiting,
};
use crate::{
    address_book::AddressBook,
    budget::ByteBudget,
    error::{FetchError, Phase},
    user_agents,
};
use crawl_model::{Body, CrawlRequest, FetchedPage, HostKey, Origin, Strategy, Timings, now_ms};
use reqwest::{
    Response,
    header::{COOKIE, HeaderMap, HeaderName, HeaderValue, LOCATION},
};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout, timeout_at},
};
use url::Url;
use uuid::Uuid;

/// HTTP client for pages and related files. It follows no redirect: each hop is the caller's decision and
/// counts for politeness. Cheap to share in an `Arc`.
pub struct HttpClient {
    transport: Arc<dyn Transport>,
    settings: HttpSettings,
    budget: ByteBudget,
    plain: HeaderMap,
    mobile: HeaderMap,
    limits: Limits,
    addresses: AddressBook,
    cookies: Option<CookieJar>,
    recorder: Option<Arc<dyn Recorder>>,
    turns: Option<Arc<dyn AddressTurns>>,
    losses: Losses,
    /// Permits of the requests that may hold a connection.
    permits: Semaphore,
}

impl HttpClient {
    /// Creates a client. `budget` accounts for the bodies of pages.
    ///
    /// # Errors
    /// When a header or the proxy of the settings is not valid, or TLS cannot be set up.
    pub fn new(settings: HttpSettings, budget: ByteBudget) -> Result<Self, FetchError> {
        let pool = Arc::new(Pool::new(&settings)?);
        Self::over(pool, settings, budget)
    }

    /// Creates a client over a given transport.
    ///
    /// # Errors
    /// When a header of the settings is not valid.
    pub fn over(
        transport: Arc<dyn Transport>,
        settings: HttpSettings,
        budget: ByteBudget,
    ) -> Result<Self, FetchError> {
        let mobile = user_agents::mobile_headers(&settings.user_agent);
        Ok(Self {
            transport,
            plain: headers(&settings, &[])?,
            mobile: headers(&settings, &mobile)?,
            limits: Limits::of(&settings),
            cookies: settings.cookies.then(CookieJar::default),
            permits: Semaphore::new(settings.max_requests.clamp(1, Semaphore::MAX_PERMITS)),
            settings,
            budget,
            addresses: AddressBook::default(),
            recorder: None,
            turns: None,
            losses: Losses::default(),
        })
    }

    /// Records every exchange from now on.
    pub fn record_to(&mut self, recorder: Arc<dyn Recorder>) {
        self.recorder = Some(recorder);
    }

    /// The budget that accounts for bodies.
    #[must_use]
    pub fn budget(&self) -> &ByteBudget {
        &self.budget
    }

    /// Checks a response that a browser shows by the rules for responses here. `headers` are the response's,
    /// with names in lower case.
    ///
    /// # Errors
    /// Why it is no page.
    pub fn check_shown(&self, headers: &[(String, String)], html: &str) -> Result<(), SkipKind> {
        gate_shown(headers, html, &self.settings.accept_types)
    }

    /// Makes one request of one hop; follows no redirect. The strategy `mobile` sends the headers of a mobile
    /// client. Validators of an earlier round make the request conditional.
    pub async fn fetch(&self, request: CrawlRequest) -> Fetched {
        // the permit is taken before the turn, so that the request begins on its turn
        let _permit = self.permits.acquire().await;
        if let Err(error) = self.turn(&request.url).await {
            return Fetched::Failed { request, error, status: None, retry_after: None };
        }
        let started_at_ms = now_ms();
        let started = Instant::now();
        let mobile = request.strategy == Some(Strategy::Mobile);
        let mut headers = if mobile { self.mobile.clone() } else { self.plain.clone() };
        conditions(&request, &mut headers);
        let deadline = started + self.limits.total;
        let (response, draft) = match self.send(&request.url, headers, deadline).await {
            Ok(answer) => answer,
            Err(error) => return Fetched::Failed { request, error, status: None, retry_after: None },
        };
        let first_byte = started.elapsed();
        let status = response.status().as_u16();
        match status {
            301 | 302 | 303 | 307 | 308 => self.redirected(request, response, draft).await,
            // the choice that the server prefers (RFC 9110 §15.4.1)
            300 if response.headers().contains_key(LOCATION) => {
                self.redirected(request, response, draft).await
            }
            304 => Self::skipped(request, SkipKind::NotModified, response, draft).await,
            204 | 205 => Self::skipped(request, SkipKind::NoContent, response, draft).await,
            200..=299 => match gate(response.headers(), &self.settings.accept_types) {
                Err(kind) => Self::skipped(request, kind, response, draft).await,
                Ok(declared) => {
                    let times = (started_at_ms, started, first_byte);
                    self.page(request, (response, draft), declared, deadline, times).await
                }
            },
            _ => {
                let retry_after = retry_after(response.headers());
                drain_unwanted(response, draft).await;
                Fetched::Failed {
                    request,
                    error: FetchError::Status(status),
                    status: Some(status),
                    retry_after,
                }
            }
        }
    }

    async fn page(
        &self,
        request: CrawlRequest,
        (response, mut draft): (Response, Option<Draft>),
        declared: Declared,
        deadline: Instant,
        (started_at_ms, started, first_byte): (i64, Instant, Duration),
    ) -> Fetched {
        let status = response.status().as_u16();
        let waiting = Instant::now();
        let mut admission = self.budget.admit().await;
        let plan = Plan {
            host: request.url.host_str().unwrap_or_default(),
            cap: self.settings.max_body_bytes,
            // time in our own queue does not count against the server
            deadline: deadline + waiting.elapsed(),
            limits: self.limits,
            declared: Some(declared),
        };
        let headers = owned(response.headers());
        let content_type = essence(response.headers());
        let coded = draft.as_mut().map(|draft| &mut draft.coded);
        let (bytes, truncated, wire_bytes) = match read(response, &plan, Some(&mut admission), coded).await {
            Ok(Read::Body { bytes, truncated, wire_bytes }) if !bytes.is_empty() => {
                if truncated == Some(Truncated::Time) {
                    self.transport.disable_http2(&request.url);
                }
                (bytes, truncated, wire_bytes)
            }
            Ok(other) => {
                let (kind, bytes, wire_bytes, why) = match other {
                    Read::Body { bytes, wire_bytes, .. } => (SkipKind::NoContent, bytes, wire_bytes, None),
                    Read::Unwanted { bytes, wire_bytes } => {
                        (SkipKind::Sniffed, bytes, wire_bytes, Some(Truncated::Unspecified))
                    }
                };
                keep(draft, Some(bytes.into()), why).await;
                let refresh = headers.get("refresh").map(str::to_owned);
                return Fetched::Skipped { request, kind, status, content_type, wire_bytes, refresh };
            }
            Err(error) => {
                let error = self.avoid_http2_after(&request.url, error);
                keep(draft, None, Some(Truncated::by(&error))).await;
                return Fetched::Failed { request, error, status: Some(status), retry_after: None };
            }
        };
        let bytes = bytes::Bytes::from(compact(bytes));
        let total = started.elapsed();
        let captured = keep(draft, Some(bytes.clone()), truncated).await;
        let guard = Some(admission.complete(bytes.len() as u64));
        Fetched::Page(Box::new(FetchedPage {
            final_url: request.url.clone(),
            status,
            headers,
            // a page whose last tag has arrived is whole, unless its server might have sent more
            body: Body { bytes, guard, truncated: truncated.is_some_and(|why| why != Truncated::Disconnect) },
            strategy: if request.strategy == Some(Strategy::Mobile) {
                Strategy::Mobile
            } else {
                Strategy::Static
            },
            timings: Timings { started_at_ms, first_byte_ms: millis(first_byte), total_ms: millis(total) },
            captured,
            wire_bytes,
            unsettled: false,
            reserved_by_file: None,
            request,
        }))
    }

    async fn redirected(&self, request: CrawlRequest, response: Response, draft: Option<Draft>) -> Fetched {
        let status = response.status().as_u16();
        let target = target(&request.url, response.headers());
        let retry_after = retry_after(response.headers());
        drain_unwanted(response, draft).await;
        match target {
            Ok(to) => Fetched::Redirect { request, to, status, retry_after },
            Err(error) => Fetched::Failed { request, error, status: Some(status), retry_after: None },
        }
    }

    async fn skipped(
        request: CrawlRequest,
        kind: SkipKind,
        response: Response,
        draft: Option<Draft>,
    ) -> Fetched {
        let status = response.status().as_u16();
        let content_type = essence(response.headers());
        let refresh = owned(response.headers()).get("refresh").map(str::to_owned);
        if matches!(kind, SkipKind::NotModified | SkipKind::NoContent) {
            drain_unwanted(response, draft).await;
        } else {
            keep(draft, None, Some(Truncated::Unspecified)).await;
        }
        Fetched::Skipped { request, kind, status, content_type, wire_bytes: 0, refresh }
    }

    /// Sends a GET and waits for the headers. Checks the host first, since a resolver never sees literal
    /// addresses.
    async fn send(
        &self,
        url: &Url,
        mut headers: HeaderMap,
        deadline: Instant,
    ) -> Result<(Response, Option<Draft>), FetchError> {
        let started_at_ms = now_ms();
        let url = requestable(url)?;
        self.permitted(&url).await?;
        self.add_cookies(&url, &mut headers);
        // behind a proxy the peer is the proxy, which says nothing about the host
        let direct = self.transport.is_direct(&url);
        let key = if direct { HostKey::of(&url) } else { None };
        let sent = self.recorder.is_some().then(|| headers.clone());
        self.add_credentials(&url, &mut headers);
        let limit = self.limits.read.max(self.limits.connect);
        let since = Instant::now();
        let header_deadline = since + limit;
        match waiting(timeout_at(header_deadline.min(deadline), self.transport.get(&url, headers))).await {
            Ok(Ok(Answer { response, peer })) => {
                self.losses.end(&url);
                if let (Some(key), Some(peer)) = (key, peer) {
                    self.addresses.note(&key, peer);
                }
                if let Some(jar) = &self.cookies {
                    jar.keep(&url, response.headers());
                }
                let draft = self.recorder.as_ref().zip(sent).map(|(recorder, sent)| {
                    Draft::new(recorder, &url, &sent, started_at_ms, direct, &response)
                });
                Ok((response, draft))
            }
            // not under the limit, which a silent resolver has nearly used up
            Ok(Err(error)) => {
                let error = self.transport.attribute(error, &url, since).await;
                Err(self.avoid_http2_after(&url, error))
            }
            Err(_) => {
                let (phase, limit) = if header_deadline < deadline {
                    (Phase::Headers, limit)
                } else {
                    (Phase::Total, self.limits.total)
                };
                Err(self.avoid_http2_after(&url, FetchError::Timeout { phase, limit }))
            }
        }
    }

    /// Disables HTTP/2 for the host of a URL after an error that HTTP/2 may have caused.
    fn avoid_http2_after(&self, url: &Url, error: FetchError) -> FetchError {
        let is_connecting = matches!(error, FetchError::Timeout { phase: Phase::Connect, .. });
        let is_violation = matches!(error, FetchError::Protocol(_) | FetchError::Http2(_));
        let is_lost = matches!(error, FetchError::ConnectionLost(_)) && self.losses.add(url);
        if is_violation || is_lost || (error.is_timeout() && !is_connecting) {
            self.transport.disable_http2(url);
        }
        error
    }

    /// Adds the cookies of the URL's host.
    fn add_cookies(&self, url: &Url, headers: &mut HeaderMap) {
        if let Some(value) = self.cookies.as_ref().and_then(|jar| jar.header(url)) {
            headers.insert(COOKIE, value);
        }
    }

    /// Adds the credentials of exactly this origin. A redirect to another origin gets none.
    fn add_credentials(&self, url: &Url, headers: &mut HeaderMap) {
        if self.settings.auth.is_empty() {
            return;
        }
        let origin = Origin::of(url);
        for auth in self.settings.auth.iter().filter(|auth| Some(&auth.origin) == origin.as_ref()) {
            auth.credential.add_to(url, headers);
        }
    }

    /// Headers that the settings add to a request for a URL: custom headers, credentials of its origin,
    /// cookies of its host. For a browser that requests the same page; valid for the URL's origin only.
    #[must_use]
    pub fn own_headers(&self, url: &Url) -> Vec<(String, String)> {
        let mut headers: HeaderMap =
            self.settings.headers.iter().map(|header| (header.name.clone(), header.value.clone())).collect();
        self.add_cookies(url, &mut headers);
        self.add_credentials(url, &mut headers);
        let text = |(name, value): (&HeaderName, &HeaderValue)| {
            Some((name.to_string(), value.to_str().ok()?.to_owned()))
        };
        headers.iter().filter_map(text).collect()
    }

    /// Checks the address policy for hosts that the connection's resolver does not check.
    async fn permitted(&self, url: &Url) -> Result<(), FetchError> {
        if let Some(address) = literal(url).filter(|&address| !self.settings.addresses.allows(address)) {
            let host = url.host_str().unwrap_or_default().to_owned();
            return Err(FetchError::AddressBlocked { host, address });
        }
        let limit = self.limits.connect;
        let late = FetchError::Timeout { phase: Phase::Connect, limit };
        timeout(limit, self.transport.check(url)).await.unwrap_or(Err(late))
    }
}

/// Records an exchange, if a recorder is set.
async fn keep(
    draft: Option<Draft>,
    plain: Option<bytes::Bytes>,
    truncated: Option<Truncated>,
) -> Option<Uuid> {
    draft?.finish(plain, truncated).await
}

/// Drains an unneeded body. With an archive, the bytes read for connection reuse are recorded.
async fn drain_unwanted(response: Response, draft: Option<Draft>) {
    let (bytes, whole) = drain(response, draft.is_some()).await;
    keep(draft, Some(bytes.into()), (!whole).then_some(Truncated::Length)).await;
}

/// Shrinks the buffer of a body to the accounted size, within an eighth.
fn compact(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.capacity() - bytes.len() > bytes.len() / 8 {
        bytes.shrink_to_fit();
    }
    bytes
}

fn millis(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}
