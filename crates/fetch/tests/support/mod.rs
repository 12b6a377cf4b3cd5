//! A minimal web server for tests: it sends exactly the given bytes, valid or not.
#![allow(dead_code, reason = "every test file uses its own part")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "clippy sees tests in files of their own only where #[test] stands"
)]

use crawl_fetch::{AddressPolicy, ByteBudget, HttpClient, HttpSettings, ProxyChoice};
use crawl_model::{CrawlRequest, Discovery, LeaseToken, RequestId};
use std::{
    future::Future,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use url::Url;

/// One request as it came.
#[derive(Clone, Debug)]
pub struct Seen {
    pub path: String,
    pub head: String,
    pub at: Instant,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (n, v) = line.split_once(':')?;
            n.eq_ignore_ascii_case(name).then(|| v.trim())
        })
    }
}

pub struct Server {
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    connections: Arc<AtomicUsize>,
    open: Arc<AtomicUsize>,
}

/// Action of a handler after its answer.
pub enum Then {
    KeepOpen,
    Close,
}

impl Server {
    /// A server on 127.0.0.1 whose handler writes the whole answer to the connection.
    pub async fn start<F, R>(handler: F) -> Self
    where
        F: Fn(Seen, TcpStream) -> R + Send + Sync + 'static,
        R: Future<Output = (TcpStream, Then)> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (seen, connections) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
        let (log, count, handler) = (Arc::clone(&seen), Arc::clone(&connections), Arc::new(handler));
        let open = Arc::new(AtomicUsize::new(0));
        let still_open = Arc::clone(&open);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, SeqCst);
                still_open.fetch_add(1, SeqCst);
                let served = serve(stream, Arc::clone(&log), Arc::clone(&handler));
                let still_open = Arc::clone(&still_open);
                tokio::spawn(async move {
                    served.await;
                    still_open.fetch_sub(1, SeqCst);
                });
            }
        });
        Self { address, seen, connections, open }
    }

    /// Starts a server that answers each path with fixed bytes and keeps the connection.
    pub async fn answering(answer: impl Fn(&Seen) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let answer = Arc::new(answer);
        Self::start(move |seen, mut stream| {
            let answer = Arc::clone(&answer);
            async move {
                let _ = stream.write_all(&answer(&seen)).await;
                (stream, Then::KeepOpen)
            }
        })
        .await
    }

    pub fn url(&self, path: &str) -> Url {
        Url::parse(&format!("http://{}{path}", self.address)).unwrap()
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Waits until at most this many connections are open.
    pub async fn at_most_open(&self, most: usize) {
        let closed = async {
            while self.open.load(SeqCst) > most {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), closed).await.unwrap();
    }

    pub fn connections(&self) -> usize {
        self.connections.load(SeqCst)
    }
}

async fn serve<F, R>(mut stream: TcpStream, log: Arc<Mutex<Vec<Seen>>>, handler: Arc<F>)
where
    F: Fn(Seen, TcpStream) -> R + Send + Sync + 'static,
    R: Future<Output = (TcpStream, Then)> + Send + 'static,
{
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read_u8().await {
                Ok(byte) => head.push(byte),
                Err(_) => return,
            }
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let seen = Seen { path, head, at: Instant::now() };
        log.lock().unwrap().push(seen.clone());
        match handler(seen, stream).await {
            (back, Then::KeepOpen) => stream = back,
            (_, Then::Close) => return,
        }
    }
}

/// A whole response with a length.
pub fn response(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut out =
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{headers}\r\n", body.len()).into_bytes();
    out.extend_from_slice(body);
    out
}

/// A page.
pub fn html(body: &str) -> Vec<u8> {
    response("200 OK", "Content-Type: text/html\r\n", body.as_bytes())
}

/// Settings that allow 127.0.0.1 and no other private address, with limits for a busy machine.
pub fn settings() -> HttpSettings {
    HttpSettings {
        addresses: AddressPolicy { allow_private: false, allow: vec!["127.0.0.1/32".parse().unwrap()] },
        connect_timeout: Duration::from_secs(5),
        read_timeout: Duration::from_secs(5),
        total_timeout: Duration::from_secs(20),
        max_body_bytes: 1 << 20,
        proxy: ProxyChoice::Direct,
        ..HttpSettings::default()
    }
}

pub fn client(settings: HttpSettings) -> HttpClient {
    HttpClient::new(settings, ByteBudget::new(64 << 20)).unwrap()
}

pub fn request(url: Url) -> CrawlRequest {
    let (id, token) = (RequestId(1), LeaseToken(1));
    let discovery = Discovery::Link;
    CrawlRequest { id, token, discovery, project: "test".into(), ..CrawlRequest::of_seed(url) }
}

/// A third-party suite of `fixtures/protocol`.
pub fn suite(name: &str) -> serde_json::Value {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/protocol/");
    serde_json::from_slice(&std::fs::read(format!("{root}{name}")).unwrap()).unwrap()
}

/// Decodes base64 (RFC 4648 §4), the encoding of bytes in suites.
pub fn base64(text: &str) -> Vec<u8> {
    let value = |b: u8| match b {
        b'A'..=b'Z' => b - b'A',
        b'a'..=b'z' => b - b'a' + 26,
        b'0'..=b'9' => b - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u32> = text.bytes().filter(|b| *b != b'=').map(|b| u32::from(value(b))).collect();
    digits
        .chunks(4)
        .flat_map(|c| {
            let bits = c.iter().enumerate().fold(0, |bits, (i, d)| bits | d << (18 - 6 * i));
            bits.to_be_bytes()[1..c.len()].to_vec()
        })
        .collect()
}
