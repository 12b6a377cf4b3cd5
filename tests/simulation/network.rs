//! Network of a simulation: names, servers, and the faults between them and the crawl. Servers log requests.

use super::{
    rng::Rng,
    site::{Answer as Content, Fault, Host, Site, html},
    world::World,
};
use crawl_fetch::{Answer, FetchError, Phase, Transport, Waiting};
use futures::StreamExt;
use reqwest::header::HeaderMap;
use std::{
    collections::HashMap,
    io::{self, Write},
    net::IpAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};
use url::Url;

/// A request from its server's view.
#[derive(Clone, Debug)]
pub struct Request {
    /// Number of the process that made it.
    pub life: usize,
    pub host: String,
    pub address: IpAddr,
    pub path: String,
    pub start: Duration,
    /// `None` while it is running.
    pub end: Option<Duration>,
    /// 0 without a whole answer.
    pub status: u16,
    pub retry_after_s: u64,
}

pub struct Network {
    world: Arc<World>,
    site: Site,
    seed: u64,
    hits: Mutex<HashMap<String, usize>>,
    log: Mutex<Vec<Request>>,
    pub life: AtomicUsize,
    pub round: AtomicU32,
    connect_timeout: Duration,
}

/// A running request; its end is logged when it is dropped.
struct Going {
    network: Arc<Network>,
    index: usize,
}

impl Drop for Going {
    fn drop(&mut self) {
        let now = self.network.world.now();
        self.network.log.lock().unwrap()[self.index].end.get_or_insert(now);
    }
}

/// The network as a transport.
pub struct Wire(pub Arc<Network>);

impl Network {
    pub fn new(world: Arc<World>, site: Site, seed: u64, connect_timeout: Duration) -> Arc<Self> {
        Arc::new(Self {
            world,
            site,
            seed,
            hits: Mutex::default(),
            log: Mutex::default(),
            life: AtomicUsize::new(0),
            round: AtomicU32::new(1),
            connect_timeout,
        })
    }

    pub fn log(&self) -> Vec<Request> {
        self.log.lock().unwrap().clone()
    }

    fn host(&self, url: &Url) -> Option<&Host> {
        self.site.hosts.iter().find(|host| Some(host.name.as_str()) == url.host_str())
    }

    /// Logs a request and returns its number among those for this URL.
    fn arrived(self: &Arc<Self>, host: &Host, url: &Url) -> (Going, usize) {
        let mut log = self.log.lock().unwrap();
        let index = log.len();
        log.push(Request {
            life: self.life.load(Relaxed),
            host: host.name.clone(),
            address: host.address,
            path: url.path().to_owned(),
            start: self.world.now(),
            end: None,
            status: 0,
            retry_after_s: 0,
        });
        let mut hits = self.hits.lock().unwrap();
        let count = hits.entry(url.to_string()).or_default();
        *count += 1;
        (Going { network: Arc::clone(self), index }, *count - 1)
    }

    fn answered(&self, going: &Going, status: u16, retry_after_s: u64) {
        let mut log = self.log.lock().unwrap();
        (log[going.index].status, log[going.index].retry_after_s) = (status, retry_after_s);
    }

    async fn get(self: &Arc<Self>, url: &Url, headers: &HeaderMap) -> Result<Answer, FetchError> {
        let name = url.host_str().unwrap_or_default().to_owned();
        let Some(host) = self.host(url) else {
            return Err(FetchError::Dns { host: name, reason: "no such name".into(), is_unknown: false });
        };
        let (going, hit) = self.arrived(host, url);
        let mut rng = Rng::new(self.seed ^ hit as u64, url.as_str());
        tokio::time::sleep(Duration::from_millis(rng.between(host.latency_ms.0, host.latency_ms.1))).await;
        let target = host.targets.get(url.path());
        let fault = target.and_then(|target| target.faults.get(hit)).copied();
        match fault {
            Some(Fault::Refused) => {
                return Err(FetchError::Connect { host: name, reason: "refused".into(), proxy: false });
            }
            Some(Fault::Reset) => return Err(FetchError::ConnectionLost("reset".into())),
            Some(Fault::Silent) => {
                if rng.chance(30) {
                    tokio::time::sleep(self.connect_timeout).await;
                    let phase = Phase::Connect;
                    return Err(FetchError::Timeout { phase, limit: self.connect_timeout });
                }
                return std::future::pending().await;
            }
            Some(Fault::Status(status, retry_after_s)) => {
                self.answered(&going, status, retry_after_s);
                let mut fields = Vec::new();
                if retry_after_s > 0 {
                    fields.push(("retry-after", retry_after_s.to_string()));
                }
                return Ok(self.response(status, &fields, b"Try again.", going, None, &mut rng, host));
            }
            Some(Fault::Cut | Fault::Stalled) | None => {}
        }
        let later = target.and_then(|target| target.later.as_ref()).filter(|_| self.round.load(Relaxed) > 1);
        let content = later.or(target.map(|target| &target.answer));
        let (status, fields, body) =
            content.map_or_else(|| missing(host), |content| answer(content, headers));
        if fault.is_none() {
            self.answered(&going, status, 0);
        }
        Ok(self.response(status, &fields, &body, going, fault, &mut rng, host))
    }

    #[expect(clippy::too_many_arguments, reason = "all that makes a response, in one place")]
    fn response(
        &self,
        status: u16,
        fields: &[(&'static str, String)],
        body: &[u8],
        going: Going,
        fault: Option<Fault>,
        rng: &mut Rng,
        host: &Host,
    ) -> Answer {
        let parts = usize::try_from(rng.between(1, 3)).unwrap();
        let size = body.len().div_ceil(parts).max(1);
        let mut chunks: Vec<Result<bytes::Bytes, io::Error>> =
            body.chunks(size).map(|part| Ok(bytes::Bytes::copy_from_slice(part))).collect();
        let broken = matches!(fault, Some(Fault::Cut));
        let stalled = matches!(fault, Some(Fault::Stalled));
        if broken || stalled {
            chunks.truncate(rng.index(chunks.len().max(1)));
        }
        if broken {
            chunks.push(Err(io::Error::new(io::ErrorKind::ConnectionReset, "cut")));
        }
        let pause = Duration::from_millis(rng.below(50));
        let stream = futures::stream::iter(chunks).then(move |chunk| async move {
            tokio::time::sleep(pause).await;
            chunk
        });
        let rest = futures::stream::once(async move {
            if stalled {
                std::future::pending::<()>().await;
            }
            Ok(bytes::Bytes::new())
        });
        let stream = stream.chain(rest).inspect(move |_| {
            // the request lasts as long as its body exists
            let _ = &going;
        });
        let mut response = http::Response::builder().status(status);
        for (name, value) in fields {
            response = response.header(*name, value);
        }
        let response = response.body(reqwest::Body::wrap_stream(stream)).unwrap();
        Answer { response: response.into(), peer: Some(host.address) }
    }
}

type Made = (u16, Vec<(&'static str, String)>, Vec<u8>);

fn missing(host: &Host) -> Made {
    let fields = vec![("content-type", "text/html; charset=utf-8".to_owned())];
    let article = "<p>There is no such page at this address. Please look at the start page of this site, or ask the \
        harbour master, who knows where everything is.</p>";
    let status = if host.soft404 { 200 } else { 404 };
    (status, fields, html("Not found", article, &[]).into_bytes())
}

/// The answer of a healthy server.
fn answer(content: &Content, headers: &HeaderMap) -> Made {
    match content {
        Content::Status(status) => (*status, Vec::new(), b"No.".to_vec()),
        Content::Redirect { to, status } => (*status, vec![("location", to.clone())], Vec::new()),
        Content::Text { body, content_type } => {
            (200, vec![("content-type", (*content_type).to_owned())], body.clone().into_bytes())
        }
        Content::Page { title, article, links, gzip, etag } => {
            let mut body = html(title, article, links).into_bytes();
            let mut fields = vec![("content-type", "text/html; charset=utf-8".to_owned())];
            if *etag {
                let tag = format!(
                    "\"{:016x}\"",
                    body.iter().fold(7_u64, |sum, b| super::rng::mix(sum ^ u64::from(*b)))
                );
                if headers.get("if-none-match").is_some_and(|asked| asked.as_bytes() == tag.as_bytes()) {
                    return (304, vec![("etag", tag)], Vec::new());
                }
                fields.push(("etag", tag));
            }
            if *gzip {
                let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                packed.write_all(&body).unwrap();
                body = packed.finish().unwrap();
                fields.push(("content-encoding", "gzip".to_owned()));
            }
            (200, fields, body)
        }
    }
}

impl Transport for Wire {
    fn get<'a>(&'a self, url: &'a Url, headers: HeaderMap) -> Waiting<'a, Answer> {
        Box::pin(async move { self.0.get(url, &headers).await })
    }

    fn locate<'a>(&'a self, url: &'a Url) -> Waiting<'a, Option<IpAddr>> {
        let found = self.0.host(url).map(|host| host.address);
        let host = url.host_str().unwrap_or_default().to_owned();
        let found =
            found.map(Some).ok_or(FetchError::Dns { host, reason: "no such name".into(), is_unknown: false });
        Box::pin(std::future::ready(found))
    }

    fn check<'a>(&'a self, _: &'a Url) -> Waiting<'a, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn is_direct(&self, _: &Url) -> bool {
        true
    }
}
