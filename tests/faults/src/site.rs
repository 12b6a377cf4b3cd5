//! Site of the campaign: three hosts of 8, 20 and 32 pages with repeated navigation and footers, missing
//! pages, redirects and duplicates. It has a first night, a second night and a night with failing pages.

use crate::server::{Handler, Request, Response, Server};
use std::{
    fmt::Write as _,
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

/// Pages of each host.
pub const PAGES: [usize; 3] = [8, 20, 32];

/// A night of the site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Night {
    /// The first one.
    First,
    /// Some pages have changed, some are gone, some are new.
    Second,
    /// Each fifth page answers 500.
    Broken,
}

/// The servers of one case.
pub struct Site {
    servers: Vec<Server>,
    shared: Arc<Shared>,
}

struct Shared {
    night: AtomicUsize,
    requests: AtomicU64,
    /// Told the number of each request.
    on_request: Box<dyn Fn(u64) + Send + Sync>,
}

struct Host {
    number: usize,
    shared: Arc<Shared>,
}

impl Site {
    /// Starts the servers; `on_request` is called with the number of each request.
    ///
    /// # Errors
    /// When no port is free.
    pub fn start(on_request: impl Fn(u64) + Send + Sync + 'static) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            night: AtomicUsize::new(0),
            requests: AtomicU64::new(0),
            on_request: Box::new(on_request),
        });
        let servers = (0..PAGES.len())
            .map(|number| Server::start(0, Host { number, shared: Arc::clone(&shared) }))
            .collect::<io::Result<_>>()?;
        Ok(Self { servers, shared })
    }

    /// Makes it this night.
    pub fn set(&self, night: Night) {
        self.shared.night.store(night as usize, Ordering::Release);
    }

    /// Ports of the hosts.
    #[must_use]
    pub fn ports(&self) -> Vec<u16> {
        self.servers.iter().map(|server| server.address().port()).collect()
    }
}

impl Handler for Host {
    fn answer(&self, request: &Request) -> Response {
        (self.shared.on_request)(self.shared.requests.fetch_add(1, Ordering::AcqRel) + 1);
        let night = match self.shared.night.load(Ordering::Acquire) {
            0 => Night::First,
            1 => Night::Second,
            _ => Night::Broken,
        };
        answer(self.number, night, request.path())
    }
}

fn answer(host: usize, night: Night, path: &str) -> Response {
    let pages = PAGES[host] + if night == Night::Second { 2 } else { 0 };
    let number = match path {
        "/" => Some(0),
        path => {
            path.strip_prefix("/page/").and_then(|rest| rest.strip_suffix(".html")?.parse::<usize>().ok())
        }
    };
    match number {
        Some(n) if n < pages && night == Night::Broken && n % 5 == 3 => Response::status(500),
        Some(n) if n < pages && night == Night::Second && n % 7 == 5 => Response::status(404),
        Some(n) if n < pages => Response::html(page(host, n, pages, night)),
        _ if path == "/moved.html" => Response::redirect(301, "/page/2.html"),
        _ => Response::status(404),
    }
}

fn page(host: usize, n: usize, pages: usize, night: Night) -> String {
    let mut links = String::new();
    for child in [2 * n + 1, 2 * n + 2, n + 7].into_iter().filter(|child| *child < pages) {
        let _ = write!(links, "<li><a href=\"/page/{child}.html\">page {child}</a></li>");
    }
    if n == 1 {
        links += "<li><a href=\"/moved.html\">moved</a></li><li><a href=\"/missing-1.html\">missing</a></li>";
    }
    if n == 2 {
        links += "<li><a href=\"/missing-2.html\">missing</a></li>";
    }
    if night == Night::Second && n == 0 {
        links += &format!("<li><a href=\"/page/{}.html\">new</a></li>", pages - 1);
    }
    // page 6 has the text of page 4
    let said = if n == 6 { 4 } else { n };
    let changed = night == Night::Second && n % 3 == 1;
    let words = sentences(host, said, if changed { 1 } else { 0 });
    format!(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Host {host} page {said}</title></head><body>\
         <nav><p>Navigation of host {host}: this line stands on every page of the host and is boilerplate for all of them.</p></nav>\
         <main><h1>Host {host} page {said}</h1>{words}<ul>{links}</ul></main>\
         <footer><p>Footer of host {host}: all rights of this wording are kept by nobody, on every page of the host again.</p></footer>\
         </body></html>"
    )
}

/// Paragraphs that no other page has.
fn sentences(host: usize, n: usize, version: usize) -> String {
    const NOUNS: [&str; 12] = [
        "harbour", "lantern", "meadow", "orchard", "quarry", "railway", "sparrow", "thicket", "valley",
        "windmill", "anchor", "bridge",
    ];
    const VERBS: [&str; 8] = ["crosses", "follows", "holds", "keeps", "leaves", "meets", "passes", "watches"];
    let mut state = (host * 1009 + n * 131 + version * 17 + 7) as u64;
    let mut next = |length: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap_or(0) % length
    };
    let mut out = String::new();
    for paragraph in 0..4 {
        let _ = write!(out, "<p>Paragraph {paragraph} of page {n} on host {host}, version {version}.");
        for _ in 0..5 {
            let (a, verb, b) = (NOUNS[next(12)], VERBS[next(8)], NOUNS[next(12)]);
            let _ = write!(out, " The {a} number {} {verb} the {b} at {}.", next(997), next(9973));
        }
        out += "</p>";
    }
    out
}
