//! A server of pages for a browser, and what the tests need of it.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "each test uses a part of it, fails by it, and says when it is skipped"
)]

use crawl_chrome::{Budgets, ChromeSettings, RenderError, Rendered, Renderer, find_browser};
use crawl_fetch::AddressPolicy;
use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    time::Duration,
};
use url::Url;

/// A path's answer: headers (each with its line end), and body.
pub type Pages = HashMap<&'static str, (&'static str, String)>;

/// A server on an address of loopback that counts what it is asked for.
pub struct Server {
    pub port: u16,
    pub address: &'static str,
    hits: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub fn start(address: &'static str, pages: Pages) -> Self {
        let listener = TcpListener::bind((address, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let hits = Arc::new(Mutex::new(Vec::new()));
        let (pages, seen) = (Arc::new(pages), Arc::clone(&hits));
        let accept = move || {
            for stream in listener.incoming().flatten() {
                let (pages, seen) = (Arc::clone(&pages), Arc::clone(&seen));
                let serve = move || serve(stream, &pages, &seen);
                std::thread::Builder::new().spawn(serve).unwrap();
            }
        };
        std::thread::Builder::new().spawn(accept).unwrap();
        Self { port, address, hits }
    }

    pub fn url(&self, path: &str) -> Url {
        Url::parse(&format!("http://{}:{}{path}", self.address, self.port)).unwrap()
    }

    pub fn hits(&self) -> Vec<String> {
        self.hits.lock().unwrap().clone()
    }
}

fn serve(stream: TcpStream, pages: &Pages, seen: &Mutex<Vec<String>>) -> Option<()> {
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
        if bare == "/never" {
            std::thread::park();
        }
        let missing = ("", String::from("missing"));
        let status = if pages.contains_key(bare) { "200 OK" } else { "404 Not Found" };
        let (headers, body) = pages.get(bare).unwrap_or(&missing);
        let length = body.len();
        let kind = if headers.contains("Content-Type") { "" } else { "Content-Type: text/html\r\n" };
        let head = format!("HTTP/1.1 {status}\r\n{kind}{headers}Content-Length: {length}\r\n\r\n");
        reader.get_mut().write_all(format!("{head}{body}").as_bytes()).ok()?;
    }
}

/// Settings for pages on loopback, with short budgets and profiles in `profiles`; `None`, with a line that says so, where
/// no browser is installed.
pub fn settings(profiles: &tempfile::TempDir) -> Option<ChromeSettings> {
    if let Err(error) = find_browser(None) {
        println!("skipped: {error}");
        return None;
    }
    Some(ChromeSettings {
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
    })
}

/// One page after the other.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

pub fn render(renderer: &Renderer, url: &Url) -> Result<Rendered, RenderError> {
    block_on(renderer.render(url))
}

/// Processes whose environment, command line or group leads back to a profile below `base`.
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
