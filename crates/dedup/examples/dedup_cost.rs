//! What the fingerprint of a host costs: `cargo run --release -p crawl-dedup --example dedup_cost [PAGES]`.
//!
//! Pages of about 8 KB with 40 blocks, eight of which stand on every page. Every page is observed and cleaned, as in a
//! stream after settling; the time and the size of the state are printed for each tenth of the pages, so that growth
//! shows.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "it prints its figures, and ends where anything fails"
)]

use crawl_dedup::{FingerprintSettings, HostFingerprint, batch::clean_domain, exact_hash};
use std::{hint::black_box, time::Instant};

fn main() {
    let pages: usize = std::env::args().nth(1).map_or(10_000, |n| n.parse().unwrap());
    let mut host = HostFingerprint::new(FingerprintSettings::default());
    host.settle();
    for tenth in 0..10 {
        let contents: Vec<_> = (tenth * pages / 10..(tenth + 1) * pages / 10).map(page).collect();
        let bytes: usize = contents.iter().map(String::len).sum();
        let started = Instant::now();
        for content in &contents {
            let blocks = host.observe(content);
            black_box(host.clean(content, &blocks));
        }
        let time = started.elapsed().as_secs_f64();
        println!(
            "{:>8} pages: {:6.1} µs a page, {:4.0} MB/s, state {:6} KiB, undercount {}",
            host.state().pages(),
            time * 1e6 / contents.len() as f64,
            bytes as f64 / time / 1e6,
            host.to_bytes().len() / 1024,
            host.state().undercount(),
        );
    }
    let contents: Vec<_> = (0..pages.min(10_000)).map(page).collect();
    let a_page = |started: Instant| started.elapsed().as_secs_f64() * 1e6 / contents.len() as f64;
    let started = Instant::now();
    black_box(clean_domain("a.example", &contents, &FingerprintSettings::default()));
    println!("   batch: {:6.1} µs a page", a_page(started));
    let started = Instant::now();
    contents.iter().for_each(|content| _ = black_box(exact_hash(content)));
    println!("   exact: {:6.1} µs a page", a_page(started));
}

fn page(n: usize) -> String {
    (0..40)
        .map(|block| {
            let of = if block % 5 == 0 { 0 } else { n };
            format!("Block {block} of page {of}: ")
                + &"the text of an invented site, with Capitals and commas, ".repeat(3)
        })
        .collect::<Vec<_>>()
        .join("\n\n")
}
