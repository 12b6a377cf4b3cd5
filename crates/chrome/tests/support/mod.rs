//! A server of pages for a browser, and test helpers.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "each test uses a part of it, and fails by it"
)]

use crawl_chrome::{Budgets, ChromeSettings, RenderError, Rendered, Renderer};
use crawl_fetch::AddressPolicy;
use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    sync::{Arc, Mutex},
    time::Duration,
};
use url::Url;

/// Text of a page with content.
pub const TEXT: &str = "Words that only a script brings to the page.";

/// Budget for pages that end by themselves. It fails a test that hangs, and holds on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Gives pages that end by themselves as much time as a busy machine needs.
pub fn patient(settings: &mut ChromeSettings) {
    let budgets = &mut settings.budgets;
    (budgets.navigate, budgets.settle, budgets.consent, budgets.scroll) =
        (PATIENCE, PATIENCE, PATIENCE, PATIENCE);
}

/// Delay of paths that begin with `/slow`: longer than any silence that ends a page.
pub const SLOW: Duration = Duration::from_millis(400);

/// Answer of a path: headers (each with its line end; `Location` makes it a redirect), and body.
pub type Pages = HashMap<&'static str, (&'static str, String)>;

/// A server on a loopback address that counts its requests.
pub struct Server {
    pub port: u16,
    pub address: &'static str,
    scheme: &'static str,
    hits: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub fn start(address: &'static str, pages: Pages) -> Self {
        Self::start_at(address, 0, pages)
    }

    /// Starts a server at a port; 0 picks a free one.
    pub fn start_at(address: &'static str, port: u16, pages: Pages) -> Self {
        Self::start_with((address, port), "http", pages, Some)
    }

    /// A server that speaks TLS.
    pub fn start_tls(address: &'static str, pages: Pages, config: rustls::ServerConfig) -> Self {
        let config = Arc::new(config);
        Self::start_with((address, 0), "https", pages, move |stream| {
            let connection = rustls::ServerConnection::new(Arc::clone(&config)).ok()?;
            Some(rustls::StreamOwned::new(connection, stream))
        })
    }

    fn start_with<S: Read + Write>(
        (address, port): (&'static str, u16),
        scheme: &'static str,
        pages: Pages,
        wrap: impl Fn(std::net::TcpStream) -> Option<S> + Send + Sync + 'static,
    ) -> Self {
        let wrap = Arc::new(wrap);
        let listener = TcpListener::bind((address, port)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let hits = Arc::new(Mutex::new(Vec::new()));
        let (pages, seen) = (Arc::new(pages), Arc::clone(&hits));
        let accept = move || {
            for stream in listener.incoming().flatten() {
                let (pages, seen, wrap) = (Arc::clone(&pages), Arc::clone(&seen), Arc::clone(&wrap));
                let serve = move || wrap(stream).and_then(|stream| serve(stream, &pages, &seen));
                std::thread::Builder::new().spawn(serve).unwrap();
            }
        };
        std::thread::Builder::new().spawn(accept).unwrap();
        Self { port, address, scheme, hits }
    }

    pub fn url(&self, path: &str) -> Url {
        Url::parse(&format!("{}://{}:{}{path}", self.scheme, self.address, self.port)).unwrap()
    }

    pub fn hits(&self) -> Vec<String> {
        self.hits.lock().unwrap().clone()
    }
}

fn serve(stream: impl Read + Write, pages: &Pages, seen: &Mutex<Vec<String>>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut first = String::new();
        if reader.read_line(&mut first).ok()? == 0 {
            return None;
        }
        let mut line = String::new();
        while reader.read_line(&mut line).ok()? > 2 {
            line.clear();
        }
        let path = first.split(' ').nth(1)?.to_owned();
        seen.lock().unwrap().push(path.clone());
        let bare = path.split('?').next()?;
        if bare == "/cut" {
            return None;
        }
        if bare == "/never" {
            std::thread::park();
        }
        if bare.starts_with("/slow") {
            std::thread::park_timeout(SLOW);
        }
        let missing = ("", String::from("missing"));
        let (headers, body) = pages.get(bare).unwrap_or(&missing);
        let status = match pages.contains_key(bare) {
            true if headers.contains("Location:") => "302 Found",
            true if headers.contains("WWW-Authenticate:") => "401 Unauthorized",
            true => "200 OK",
            false => "404 Not Found",
        };
        let length = body.len();
        let kind = if headers.contains("Content-Type") { "" } else { "Content-Type: text/html\r\n" };
        let head = format!("HTTP/1.1 {status}\r\n{kind}{headers}Content-Length: {length}\r\n\r\n");
        reader.get_mut().write_all(format!("{head}{body}").as_bytes()).ok()?;
    }
}

/// Settings for pages on loopback, with short budgets and profiles in `profiles`.
pub fn settings(profiles: &tempfile::TempDir) -> ChromeSettings {
    ChromeSettings {
        tabs: 1,
        budgets: Budgets {
            navigate: Duration::from_secs(5),
            settle: Duration::from_secs(3),
            consent: Duration::from_secs(1),
            scroll: Duration::from_secs(3),
            ..Budgets::default()
        },
        // tests run as root in containers, and render nothing but their own pages
        sandbox: false,
        addresses: AddressPolicy { allow_private: false, allow: vec!["127.0.0.1/32".parse().unwrap()] },
        profiles: Some(profiles.path().to_owned()),
        ..ChromeSettings::default()
    }
}

/// Pages of HTML by path.
pub fn pages(pages: &[(&'static str, String)]) -> Pages {
    pages.iter().map(|(path, body)| (*path, ("", format!("<!doctype html><title>t</title>{body}")))).collect()
}

/// A page with an empty container and a script.
pub fn script(code: &str) -> String {
    format!("<body><div id=app></div><script>{code}</script>")
}

/// A renderer for pages on 127.0.0.1, and the folder of its profiles.
pub fn renderer(change: impl FnOnce(&mut ChromeSettings)) -> (Renderer, tempfile::TempDir) {
    let profiles = tempfile::tempdir().unwrap();
    let mut settings = settings(&profiles);
    change(&mut settings);
    (Renderer::new(settings), profiles)
}

/// One page after the other.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

pub fn render(renderer: &Renderer, url: &Url) -> Result<Rendered, RenderError> {
    block_on(renderer.render(url))
}

/// Processes whose environment, command line or group belongs to a profile below `base`.
pub fn processes_of(base: &std::path::Path) -> Vec<u32> {
    let needle = base.as_os_str().as_encoded_bytes();
    let holds = |pid: u32, file: &str| {
        let text = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        text.windows(needle.len()).any(|part| part == needle)
    };
    let names = std::fs::read_dir("/proc").unwrap().flatten();
    let all: Vec<u32> = names.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    let group = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let zombie = fields.next()? == "Z";
        fields.nth(1)?.parse::<u32>().ok().filter(|_| !zombie)
    };
    let own = std::process::id();
    let marked = |pid: u32| pid != own && (holds(pid, "environ") || holds(pid, "cmdline"));
    let groups: Vec<u32> = all.iter().filter(|pid| marked(**pid)).filter_map(|pid| group(*pid)).collect();
    all.into_iter().filter(|pid| group(*pid).is_some_and(|group| groups.contains(&group))).collect()
}
