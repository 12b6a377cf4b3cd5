//! Measures the cost of a host in a stream: `cargo run --release -p crawl-dedup --example dedup_cost [PAGES]
//! [exact|site] [early|settled]`.
//!
//! Pages have about 8 KB and 40 blocks, eight of which are on every page, in 400 sections that follow each
//! other. As in a crawl, each page is observed, possibly held, and cleaned. For each tenth of the pages the
//! program prints time, maximum of held pages, state size, undercount and process memory.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "it prints its figures, and ends where anything fails"
)]

use crawl_dedup::{
    Fingerprint, FingerprintSettings, HoldPolicy, HostStream, Mode, PageText, Release, exact_hash,
};
use std::{hint::black_box, time::Instant};

const SETTLE_PAGES: u64 = 200;
const SECTIONS: usize = 400;

fn main() {
    let mut args = std::env::args().skip(1);
    let pages: usize = args.next().map_or(10_000, |n| n.parse().unwrap());
    let mode = if args.next().as_deref() == Some("exact") { Mode::Exact } else { Mode::Site };
    let release = if args.next().as_deref() == Some("settled") { Release::Settled } else { Release::Early };
    let policy = HoldPolicy { release, settle_pages: SETTLE_PAGES };
    let fingerprint = Fingerprint::new(mode, FingerprintSettings::default());
    let mut host: HostStream<usize> = HostStream::new(fingerprint, policy);
    for tenth in 0..10 {
        let of_tenth = tenth * pages / 10..(tenth + 1) * pages / 10;
        let (mut most, mut removed, mut bytes, mut time) = (0, 0, 0, 0.0);
        for n in of_tenth.clone() {
            let (url, content) = page(n, pages);
            bytes += content.len();
            let text = PageText { content: &content, url: &url, ..PageText::default() };
            let started = Instant::now();
            let read = host.fingerprint().read(&text);
            if host.observe(&text, &read) {
                host.hold(&text, &read, n);
            } else {
                removed += black_box(host.clean(&text, &read)).bytes_removed;
            }
            most = most.max(host.waiting());
            let due = host.due();
            let to_examine = host.to_examine();
            time += started.elapsed().as_secs_f64();
            let held = due.into_iter().map(|n| (n, true)).chain(to_examine.into_iter().map(|n| (n, false)));
            for (n, due) in held {
                let (url, content) = page(n, pages);
                let text = PageText { content: &content, url: &url, ..PageText::default() };
                let started = Instant::now();
                let read = host.fingerprint().read(&text);
                if due || host.is_stable(&text, &read) {
                    host.release(&n);
                    removed += black_box(host.clean(&text, &read)).bytes_removed;
                }
                time += started.elapsed().as_secs_f64();
            }
        }
        println!(
            "{:>8} pages: {:6.1} µs a page, {:4.0} MB/s, {:2.0} % removed, {most:3} waited, state {:5} KiB, undercount {:3}, process {} MB",
            host.fingerprint().state().pages(),
            time * 1e6 / of_tenth.len() as f64,
            bytes as f64 / time / 1e6,
            removed as f64 * 100.0 / bytes as f64,
            host.fingerprint().to_bytes().len() / 1024,
            host.fingerprint().state().undercount(),
            resident() / 1024,
        );
    }
    let contents: Vec<_> = (0..pages.min(10_000)).map(|n| page(n, pages).1).collect();
    let started = Instant::now();
    contents.iter().for_each(|content| _ = black_box(exact_hash(content)));
    println!(
        "   whole content hashed: {:6.1} µs a page",
        started.elapsed().as_secs_f64() * 1e6 / contents.len() as f64
    );
}

/// Resident memory of the process in KiB, if the system reports it.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(0)
}

fn page(n: usize, of: usize) -> (String, String) {
    let section = n * SECTIONS / of;
    // in letters, since digits of short lines are masked
    let name: String = n.to_string().bytes().map(|digit| char::from(digit + (b'a' - b'0'))).collect();
    let block = |block: usize| {
        let of = if block.is_multiple_of(5) { "all" } else { &name };
        format!("Block {block} of page {of}: ")
            + &format!("the text of an invented {of} site, with Capitals and commas, ").repeat(3)
    };
    let blocks: Vec<_> = (0..40).map(block).collect();
    let url = format!("https://a.example/part-{}/{name}.html", char::from(b'a' + (section % 26) as u8));
    (url.replace("part", &format!("p{}", "x".repeat(section / 26))), blocks.join("\n\n"))
}
