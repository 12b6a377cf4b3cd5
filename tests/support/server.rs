//! A small HTTP/1.1 server on loopback for tests and the demo. It uses one thread per connection, at most
//! `MAX_CONNECTIONS`. Each read and write has a deadline, so that no client can block a test.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// Maximum connections; a further one is answered with 503 and closed.
pub const MAX_CONNECTIONS: usize = 128;
/// Maximum bytes of a request's line and headers together.
const MAX_HEAD: u64 = 64 * 1024;
/// Maximum bytes of a request's body, which are read and dropped.
const MAX_BODY: u64 = 1024 * 1024;
/// Limit of an idle connection, and of one write.
const PATIENCE: Duration = Duration::from_secs(30);
/// Requests remembered for [`Server::requests`].
const MAX_LOG: usize = 200_000;

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Request {
    /// `GET`, `HEAD`, …
    pub method: String,
    /// Path and query, percent-encoding untouched.
    pub target: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// Time of its first line.
    pub at: Instant,
}

impl Request {
    /// Value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The target without its query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }
}

/// An answer to send.
#[derive(Clone, Debug)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// Headers apart from Content-Length and Connection.
    pub headers: Vec<(String, String)>,
    /// Body; for HEAD only its length is sent.
    pub body: Vec<u8>,
    /// Wait before the status line.
    pub delay: Duration,
    /// Sends only this many bytes of the body, then closes.
    pub cut_after: Option<usize>,
}

impl Response {
    /// An answer of a content type.
    pub fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("Content-Type".to_owned(), content_type.to_owned())];
        Self { status, headers, body: body.into(), delay: Duration::ZERO, cut_after: None }
    }

    /// 200 with HTML in UTF-8.
    pub fn html(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, "text/html; charset=utf-8", body)
    }

    /// A status with a line of plain text.
    pub fn status(status: u16) -> Self {
        Self::new(status, "text/plain; charset=utf-8", format!("{status} {}\n", reason(status)))
    }

    /// A redirect.
    pub fn redirect(status: u16, location: &str) -> Self {
        Self::status(status).header("Location", location)
    }

    /// The same with one more header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same, later.
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}

/// Answers requests, from many threads at once.
pub trait Handler: Send + Sync + 'static {
    /// The answer to a request.
    fn answer(&self, request: &Request) -> Response;
}

impl<F: Fn(&Request) -> Response + Send + Sync + 'static> Handler for F {
    fn answer(&self, request: &Request) -> Response {
        self(request)
    }
}

struct Shared {
    handler: Box<dyn Handler>,
    stopped: AtomicBool,
    connections: AtomicUsize,
    log: Mutex<Vec<Request>>,
    /// Notified at each logged request and when the server stops.
    changed: Condvar,
}

impl Shared {
    fn log(&self) -> MutexGuard<'_, Vec<Request>> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, request: &Request) {
        let mut log = self.log();
        if log.len() < MAX_LOG {
            log.push(request.clone());
        }
        self.changed.notify_all();
    }

    /// Waits until `done` accepts the log, the server stops or `limit` is over; returns the result of `done`.
    fn wait(&self, limit: Duration, mut done: impl FnMut(&[Request]) -> bool) -> bool {
        let deadline = Instant::now() + limit;
        let mut log = self.log();
        loop {
            if done(&log) {
                return true;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || self.stopped.load(Ordering::Acquire) {
                return false;
            }
            log = self.changed.wait_timeout(log, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// A running server; dropping it stops it.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Server {
    /// Listens on 127.0.0.1; port 0 picks a free one.
    ///
    /// # Errors
    /// When the port is in use or no thread can be started.
    pub fn start(port: u16, handler: impl Handler) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            handler: Box::new(handler),
            stopped: AtomicBool::new(false),
            connections: AtomicUsize::new(0),
            log: Mutex::new(Vec::new()),
            changed: Condvar::new(),
        });
        let accepting = Arc::clone(&shared);
        thread::Builder::new().name("site-accept".into()).spawn(move || accept(&listener, &accepting))?;
        Ok(Self { address, shared })
    }

    /// Address of the listener.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// An absolute URL of this server; `target` starts with a slash.
    pub fn url(&self, target: &str) -> String {
        format!("http://{}{target}", self.address)
    }

    /// All requests so far, in order of arrival.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.log().clone()
    }

    /// Requested targets so far, without robots.txt.
    pub fn targets(&self) -> Vec<String> {
        let log = self.shared.log();
        log.iter().filter(|r| r.target != "/robots.txt").map(|r| r.target.clone()).collect()
    }

    /// Waits until `done` accepts the requests so far; returns false when `limit` is over.
    pub fn wait(&self, limit: Duration, done: impl FnMut(&[Request]) -> bool) -> bool {
        self.shared.wait(limit, done)
    }

    /// Serves until the process ends.
    pub fn run(&self) {
        while !self.shared.wait(PATIENCE, |_| false) && !self.shared.stopped.load(Ordering::Acquire) {}
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Release);
        self.shared.changed.notify_all();
        // accept() has no deadline; one more connection wakes it, and it sees the flag
        drop(TcpStream::connect_timeout(&self.address, Duration::from_secs(1)));
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.stopped.load(Ordering::Acquire) {
            return;
        }
        let Ok(stream) = stream else { continue };
        if shared.connections.fetch_add(1, Ordering::AcqRel) >= MAX_CONNECTIONS {
            shared.connections.fetch_sub(1, Ordering::AcqRel);
            let _ = send(&stream, &Response::status(503), false, false);
            continue;
        }
        let serving = Arc::clone(shared);
        let started = thread::Builder::new().name("site-connection".into()).spawn(move || {
            // a client that disconnects during an answer is no error
            let _ = serve(&stream, &serving);
            serving.connections.fetch_sub(1, Ordering::AcqRel);
        });
        if started.is_err() {
            shared.connections.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

fn serve(stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    while let Some(request) = read_request(&mut reader)? {
        if shared.stopped.load(Ordering::Acquire) {
            break;
        }
        shared.note(&request);
        let response = shared.handler.answer(&request);
        shared.wait(response.delay, |_| false);
        let keep = request.header("connection").is_none_or(|c| !c.eq_ignore_ascii_case("close"))
            && response.cut_after.is_none();
        send(stream, &response, keep, request.method == "HEAD")?;
        if !keep {
            break;
        }
    }
    Ok(())
}

fn read_request(reader: &mut BufReader<&TcpStream>) -> io::Result<Option<Request>> {
    let mut head = reader.by_ref().take(MAX_HEAD);
    let mut line = String::new();
    if head.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let at = Instant::now();
    let mut words = line.split_ascii_whitespace().map(str::to_owned);
    let (Some(method), Some(target)) = (words.next(), words.next()) else { return Ok(None) };
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        if head.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        if line.trim_end().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    let request = Request { method, target, headers, at };
    let length = request.header("content-length").and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
    io::copy(&mut reader.by_ref().take(length.min(MAX_BODY)), &mut io::sink())?;
    Ok(Some(request))
}

fn send(mut stream: &TcpStream, response: &Response, keep: bool, head_only: bool) -> io::Result<()> {
    let mut out = format!("HTTP/1.1 {} {}\r\n", response.status, reason(response.status)).into_bytes();
    for (name, value) in &response.headers {
        out.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    let connection = if keep { "keep-alive" } else { "close" };
    out.extend_from_slice(
        format!("Content-Length: {}\r\nConnection: {connection}\r\n\r\n", response.body.len()).as_bytes(),
    );
    if !head_only {
        let sent = response.cut_after.map_or(response.body.len(), |n| n.min(response.body.len()));
        out.extend_from_slice(&response.body[..sent]);
    }
    stream.write_all(&out)?;
    stream.flush()
}

const fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        301 => "Moved Permanently",
        302 => "Found",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        403 => "Forbidden",
        404 => "Not Found",
        410 => "Gone",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Status",
    }
}
