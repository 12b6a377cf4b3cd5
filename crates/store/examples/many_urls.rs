//! Measures a frontier as it grows: `cargo run --release -p crawl-store --example many_urls [URLS [VISITED]]`.
//!
//! URLs of 40 bytes are enqueued, and a part of them is visited. A visited page links to 18 URLs, of which
//! eight are anywhere in the site. The program prints CPU and state per URL, CPU per page, and the time to
//! open the state again. It opens the state after a clean end, as after a kill, and for a reader.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "it prints its figures, and ends where anything fails"
)]

use crawl_model::{
    BodyHash, ContentHash, Discovery, Frontier, HostKey, Lane, LeaseRef, NewUrl, Outcome, PageHistory,
    Settlement, TextHash, UrlKey,
};
use crawl_store::SqliteStore;
use std::{fs, path::Path, time::Instant};

const HOST: &str = "site.example";
const BATCH: u64 = 1_000;
const LINKS: u64 = 10;
const FAR: u64 = 8;

fn main() {
    let mut args = std::env::args().skip(1).map(|n| n.parse().unwrap());
    let urls = args.next().unwrap_or(1_000_000_u64);
    let visited = args.next().unwrap_or(urls / 50);
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path()).unwrap();
    store.begin_round().unwrap();
    let before = cpu_seconds();
    for start in (0..urls).step_by(BATCH as usize) {
        let batch: Vec<NewUrl> = (start..(start + BATCH).min(urls)).map(url).collect();
        store.enqueue(&batch).unwrap();
    }
    store.commit().unwrap();
    let cpu = (cpu_seconds() - before) * 1e6 / urls as f64;
    drop(store);
    let pending = size(dir.path());
    println!("{urls} URLs: {cpu:.1} µs of CPU a URL, {:.0} bytes a URL", pending as f64 / urls as f64);
    let store = opened(dir.path(), "after a clean end");
    let before = cpu_seconds();
    visit(&store, urls, visited);
    store.commit().unwrap();
    let cpu = (cpu_seconds() - before) * 1e6 / visited as f64;
    drop(store);
    let after = size(dir.path());
    println!(
        "{visited} visited: {cpu:.1} µs of CPU a page, {:.0} bytes more a page",
        (after as f64 - pending as f64) / visited as f64
    );
    fs::remove_file(dir.path().join("crawl.sqlite.sum")).unwrap();
    drop(opened(dir.path(), "as after a kill"));
    let started = Instant::now();
    let store = SqliteStore::open_read_only(dir.path()).unwrap();
    let counts = store.counts().unwrap();
    println!("opened for a reader in {:.2} s: {} pending", started.elapsed().as_secs_f64(), counts.pending);
}

fn opened(dir: &Path, when: &str) -> SqliteStore {
    let started = Instant::now();
    let store = SqliteStore::open(dir).unwrap();
    println!("opened {when} in {:.2} s", started.elapsed().as_secs_f64());
    store
}

fn visit(store: &SqliteStore, urls: u64, pages: u64) {
    let host = HostKey::from_stored(HOST);
    let mut dice = 0x9e37_79b9_7f4a_7c15_u64;
    let mut roll = || {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        dice % urls
    };
    let mut done = 0;
    while done < pages {
        let leased = store.lease(&host, Lane::Plain, 16, "worker", 0, i64::MAX).unwrap();
        let mut ended = Vec::new();
        for request in &leased {
            let links: Vec<NewUrl> = (0..LINKS).chain((0..FAR).map(|_| roll())).map(url).collect();
            store.enqueue(&links).unwrap();
            let history = PageHistory {
                status: Some(200),
                etag: Some(format!("\"{done:x}-61c\"")),
                last_modified: Some("Sun, 22 Nov 2026 01:22:00 GMT".into()),
                content_hash: Some(ContentHash::of(request.url.as_str())),
                text_hash: Some(TextHash::of("text")),
                body_hash: Some(BodyHash([1; 16])),
                fetched_at_ms: Some(1_795_000_000_000),
                ..PageHistory::default()
            };
            ended.push(Settlement { lease: LeaseRef::from(request), outcome: Outcome::Record, history });
            done += 1;
        }
        assert_eq!(store.settle(&ended, &[]).unwrap(), 0);
    }
}

fn url(n: u64) -> NewUrl {
    let url = format!("https://{HOST}/page/{n:014}");
    NewUrl {
        key: UrlKey::of(&url),
        url,
        host: HostKey::from_stored(HOST),
        depth: 1,
        discovery: Discovery::Link,
        redirects: Vec::new(),
        sitemap_lastmod: None,
    }
}

fn size(dir: &Path) -> u64 {
    fs::metadata(dir.join("crawl.sqlite")).unwrap().len()
}

/// User and system time of the process in seconds; Linux counts in hundredths.
fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11..13].iter().map(|ticks| ticks.parse::<f64>().unwrap() / 100.0).sum()
}
