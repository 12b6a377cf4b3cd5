//! Rate of settling pages with new links, and the size of a URL, on PostgreSQL and SQLite: `settle_rate PAGES LINKS`.
//! It starts a PostgreSQL of its own, with `fsync`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program of measurement")]

#[path = "../tests/support/postgres.rs"]
mod server;

use crawl_model::{
    ContentHash, Discovery, HostKey, Lane, NewUrl, Outcome, OutputMark, PageHistory, Settlement, TextHash,
    UrlKey,
};
use crawl_store::{PgStore, StateStore, StoreSize};
use std::time::Instant;

/// Pages that one settlement ends.
const BATCH: usize = 16;

const HOSTS: usize = 50;

fn url(n: usize) -> NewUrl {
    // names of the length of the usual article
    let url = format!("https://www.host-{}.example/news/2026/article-with-a-usual-name-{n}", n % HOSTS);
    NewUrl {
        key: UrlKey::of(&url),
        host: HostKey::from_stored(format!("www.host-{}.example", n % HOSTS)),
        url,
        depth: 1,
        discovery: Discovery::Link,
        redirects: Vec::new(),
        sitemap_lastmod: None,
    }
}

fn visit(n: usize) -> PageHistory {
    PageHistory {
        status: Some(200),
        etag: Some(format!("\"{n:016x}\"")),
        content_hash: Some(ContentHash::of(&n.to_string())),
        text_hash: Some(TextHash::of(&n.to_string())),
        fetched_at_ms: Some(1_780_000_000_000),
        ..PageHistory::default()
    }
}

fn run(name: &str, store: &dyn StateStore, pages: usize, links: usize) -> StoreSize {
    store.begin_round().unwrap();
    store.enqueue(&(0..HOSTS * BATCH).map(url).collect::<Vec<_>>()).unwrap();
    let mut next = HOSTS * BATCH;
    let mut done = 0;
    let begun = Instant::now();
    while done < pages {
        for found in store.hosts_with_pending(Lane::Plain, 0, HOSTS).unwrap() {
            let leased = store.lease(&found.host, Lane::Plain, BATCH, "w", 0, i64::MAX).unwrap();
            for _ in &leased {
                store.enqueue(&(next..next + links).map(url).collect::<Vec<_>>()).unwrap();
                next += links;
            }
            let end = |(n, request): (usize, _)| Settlement {
                lease: request,
                outcome: Outcome::Record,
                history: visit(done + n),
            };
            let batch: Vec<Settlement> = leased.iter().map(Into::into).enumerate().map(end).collect();
            let mark = OutputMark { name: "out.jsonl".into(), offset: done as u64 };
            assert_eq!(store.settle(&batch, &[mark]).unwrap(), 0);
            done += leased.len();
            if done >= pages {
                break;
            }
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    let size = store.size().unwrap();
    println!(
        "{name}: {done} pages with {links} new links in {seconds:.1} s: {:.0} pages/s, {:.0} links/s, {next} URLs, {} bytes a URL",
        done as f64 / seconds,
        (done * links) as f64 / seconds,
        size.file / next as u64,
    );
    size
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|n| n.parse::<usize>().unwrap());
    let (pages, links) = (arguments.next().unwrap_or(800), arguments.next().unwrap_or(700));
    let server = server::Server::start_with(&["-c", "max_wal_size=4GB", "-c", "shared_buffers=1GB"]);
    let options = server.options("rate", "w");
    let store = PgStore::open(&options).unwrap();
    let before = server.log_bytes();
    run("PostgreSQL", &store, pages, links);
    let written = server.log_bytes() - before;
    println!("PostgreSQL: {} bytes of log a link", written / (pages * links) as i64);
    let begun = Instant::now();
    drop(store);
    let _again = PgStore::open(&options).unwrap();
    println!("PostgreSQL: opened again in {:.2} s", begun.elapsed().as_secs_f64());
    let dir = tempfile::tempdir().unwrap();
    run("SQLite", &*crawl_store::open(dir.path()).unwrap(), pages, links);
}
