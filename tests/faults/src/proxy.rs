//! A proxy between crawl and site that delays, cuts, resets and garbles. It disturbs each target at most
//! twice, so that retries succeed.

use crate::random::Random;
use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// Times that one target is spoilt.
const SPOILT: u64 = 2;
/// Idle limit of a connection.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running proxy; dropping it stops it.
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    site: u16,
    seed: u64,
    stopped: AtomicBool,
    calm: AtomicBool,
    /// Number of requests for each target.
    asked: Mutex<BTreeMap<String, u64>>,
    never: (Mutex<()>, std::sync::Condvar),
}

/// The fault of an answer.
#[derive(Clone, Copy, Debug)]
enum Spoil {
    No,
    /// Closed before an answer.
    Close,
    /// Reset before an answer.
    Reset,
    /// The head and a part of the body, then closed.
    Cut(f64),
    /// The head and a part of the body, then reset.
    CutAndReset(f64),
    /// Late, but within the time limits.
    Late(Duration),
    /// A chunked body with an invalid length.
    Garbled,
    /// Status 503.
    Busy,
    /// The head, then silence beyond the time limit.
    Stall,
}

impl Proxy {
    /// Starts a proxy before the site at a port.
    ///
    /// # Errors
    /// When no port is free.
    pub fn start(site: u16, seed: u64) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared {
            site,
            seed,
            stopped: AtomicBool::new(false),
            calm: AtomicBool::new(false),
            asked: Mutex::default(),
            never: Default::default(),
        });
        let serving = Arc::clone(&shared);
        thread::Builder::new().name("proxy".into()).spawn(move || {
            for client in listener.incoming().filter_map(Result::ok) {
                if serving.stopped.load(Ordering::Acquire) {
                    return;
                }
                let serving = Arc::clone(&serving);
                let started = thread::Builder::new().name("proxy-connection".into());
                // a client that disconnects is no error
                let _ = started.spawn(move || serve(client, &serving));
            }
        })?;
        Ok(Self { port, shared })
    }

    /// Its port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Disables all disturbances from now on.
    pub fn calm(&self) {
        self.shared.calm.store(true, Ordering::Release);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Release);
        self.shared.never.1.notify_all();
        drop(TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)));
    }
}

impl Shared {
    fn spoil(&self, target: &str) -> Spoil {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let times = asked.entry(target.to_owned()).or_default();
        *times += 1;
        let mut random = Random::of(self.seed.wrapping_add(*times), target);
        if self.calm.load(Ordering::Acquire) || *times > SPOILT || !random.percent(45) {
            return Spoil::No;
        }
        match random.below(100) {
            0..15 => Spoil::Close,
            15..30 => Spoil::Reset,
            30..45 => Spoil::Cut(random.share()),
            45..60 => Spoil::CutAndReset(random.share()),
            60..75 => Spoil::Late(Duration::from_millis(random.below(150))),
            75..85 => Spoil::Garbled,
            85..98 => Spoil::Busy,
            _ => Spoil::Stall,
        }
    }

    /// Waits, unless the proxy stops.
    fn wait(&self, time: Duration) {
        let held = self.never.0.lock().unwrap_or_else(PoisonError::into_inner);
        let stopped = |_: &mut ()| !self.stopped.load(Ordering::Acquire);
        drop(self.never.1.wait_timeout_while(held, time, stopped));
    }
}

/// One request a connection.
fn serve(mut client: TcpStream, shared: &Shared) -> io::Result<()> {
    client.set_read_timeout(Some(PATIENCE))?;
    client.set_nodelay(true)?;
    let head = head(&mut client)?;
    let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let spoil = shared.spoil(&target);
    if !matches!(spoil, Spoil::Reset | Spoil::CutAndReset(_)) {
        client.read_exact(&mut [0])?;
    }
    match spoil {
        Spoil::Close => return Ok(()),
        // a byte of the request was left unread: closing resets the connection
        Spoil::Reset => return Ok(()),
        Spoil::Busy => {
            return client.write_all(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        }
        Spoil::Garbled => {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
            return client.write_all(format!("{head}5\r\n<html\r\nzz\r\nno chunk\r\n").as_bytes());
        }
        Spoil::Late(time) => shared.wait(time),
        _ => {}
    }
    let answer = ask(shared.site, &head)?;
    let body = answer.windows(4).position(|window| window == b"\r\n\r\n").map_or(answer.len(), |at| at + 4);
    let part = |share: f64| {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a few kilobytes"
        )]
        let bytes = ((answer.len() - body) as f64 * share) as usize;
        &answer[..body + bytes]
    };
    match spoil {
        Spoil::Cut(share) | Spoil::CutAndReset(share) => client.write_all(part(share)),
        Spoil::Stall => {
            client.write_all(&answer[..body])?;
            shared.wait(Duration::from_secs(3));
            Ok(())
        }
        _ => client.write_all(&answer),
    }
}

/// Head of a request without its last byte.
fn head(client: &mut TcpStream) -> io::Result<String> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r") && head.len() < 64 * 1024 {
        client.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

fn ask(port: u16, head: &str) -> io::Result<Vec<u8>> {
    let mut site = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    site.write_all(format!("{}\nConnection: close\r\n\r\n", head.trim_end_matches("\n\r")).as_bytes())?;
    let mut answer = Vec::new();
    site.read_to_end(&mut answer)?;
    Ok(answer)
}
