//! Cost of the page tree and tokenizer beside `scraper::Html::parse_document`: CPU time and allocated bytes.
//!
//! `cargo bench -p crawl-extract --bench tree -- [PAGES.jsonl]` parses the pages of the fixtures, or the `html`
//! of each line of a file. Rounds of both parsers alternate, and the medians are compared.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a bench stops at the first error")]

use cpu_time::ThreadTime;
use mimalloc::MiMalloc;
use scraper::Html;
use std::{
    alloc::{GlobalAlloc, Layout},
    fs::{self, File},
    hint::black_box,
    io::{BufRead, BufReader},
    path::Path,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

const ROUNDS: usize = 15;
/// Pages of a file that are read.
const MAX_PAGES: usize = 1_000;

/// The allocator of the binary, with a count of the requested bytes.
struct Counted;

static BYTES: AtomicU64 = AtomicU64::new(0);

#[expect(unsafe_code, reason = "an allocator has no safe interface; each call is passed on unchanged")]
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size() as u64, Relaxed);
        unsafe { MiMalloc.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { MiMalloc.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        BYTES.fetch_add(size.saturating_sub(layout.size()) as u64, Relaxed);
        unsafe { MiMalloc.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counted = Counted;

fn fixtures() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/pages");
    let folders = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    folders.filter_map(|folder| fs::read_to_string(folder.join("source.html")).ok()).collect()
}

fn lines(path: &str) -> Vec<String> {
    let html = |line: String| {
        let page: serde_json::Value = serde_json::from_str(&line).unwrap();
        page["html"].as_str().unwrap().to_owned()
    };
    BufReader::new(File::open(path).unwrap())
        .lines()
        .take(MAX_PAGES)
        .map(|line| html(line.unwrap()))
        .collect()
}

/// CPU time and allocated bytes of parsing all pages and dropping their trees.
fn cost(pages: &[String], parse: impl Fn(&str)) -> (Duration, u64) {
    let (start, before) = (ThreadTime::now(), BYTES.load(Relaxed));
    pages.iter().for_each(|page| parse(page));
    (start.elapsed(), BYTES.load(Relaxed) - before)
}

fn median(mut rounds: Vec<(Duration, u64)>) -> (f64, f64) {
    rounds.sort_unstable();
    let time = rounds[rounds.len() / 2].0.as_secs_f64();
    rounds.sort_unstable_by_key(|round| round.1);
    (time, rounds[rounds.len() / 2].1 as f64)
}

fn main() {
    let named = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let pages = named.as_deref().map_or_else(fixtures, lines);
    let bytes: usize = pages.iter().map(String::len).sum();
    let own = |page: &str| _ = black_box(crawl_extract::parse_only(page));
    let scraper = |page: &str| drop(black_box(Html::parse_document(page)));
    let (mut of_own, mut of_scraper) = (Vec::new(), Vec::new());
    // the first round fills caches and interned names
    for round in 0..=ROUNDS {
        let pair = (cost(&pages, own), cost(&pages, scraper));
        if round > 0 {
            of_own.push(pair.0);
            of_scraper.push(pair.1);
        }
    }
    let (own, scraper) = (median(of_own), median(of_scraper));
    println!("{} pages, {:.1} MB, medians of {ROUNDS} rounds", pages.len(), bytes as f64 / 1e6);
    for (name, (seconds, allocated)) in [("own tree", own), ("scraper", scraper)] {
        let mb = bytes as f64 / 1e6;
        println!(
            "{name:<8}  {:8.1} ms  {:6.1} MB/s  {:8.1} MB allocated",
            seconds * 1e3,
            mb / seconds,
            allocated / 1e6
        );
    }
    println!(
        "scraper takes {:.2} times the time and {:.2} times the bytes",
        scraper.0 / own.0,
        scraper.1 / own.1
    );
}
