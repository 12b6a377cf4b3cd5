//! Measures the cost of the text index per page as it grows: `cargo run --release -p crawl-store --example
//! text_cost [PAGES]`.
//!
//! Texts of 800 shingles with 16 bands are looked up and settled 16 at a time. Three in ten share most of
//! their bands with an earlier text, the others share none. The program prints a line for each twentieth of
//! the pages. The cost is constant from the second line on: before, families are smaller than the limit of a
//! look-up.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "it prints its figures, and ends where anything fails"
)]

use crawl_model::{ContentHash, Frontier, NewText, Sketch, TextIndex, UrlKey};
use crawl_store::SqliteStore;

const BATCH: usize = 16;
const BANDS: u64 = 16;

fn main() {
    let pages: usize = std::env::args().nth(1).map_or(200_000, |n| n.parse().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path()).unwrap();
    store.begin_round().unwrap();
    let step = (pages / 20).max(BATCH);
    let (mut before, mut found) = (cpu_seconds(), 0);
    for start in (0..pages).step_by(BATCH) {
        let texts: Vec<NewText> = (start..start + BATCH).map(text).collect();
        for text in &texts {
            found += store.similar_texts(&text.sketch, 32).unwrap().len();
        }
        store.settle_with_texts(&[], &[], &texts).unwrap();
        if (start + BATCH) % step < BATCH {
            let [user, system] = cpu_seconds();
            let each = |now: f64, then: f64| (now - then) * 1e6 / step as f64;
            println!(
                "{:>8} pages: {:>6.1} µs user and {:>6.1} µs system a page, {} KiB on disk, {} KiB resident; {found} found",
                start + BATCH,
                each(user, before[0]),
                each(system, before[1]),
                std::fs::metadata(dir.path().join("crawl.sqlite")).unwrap().len() / 1024,
                resident_kib(),
            );
            (before, found) = (cpu_seconds(), 0);
        }
    }
}

fn text(number: usize) -> NewText {
    // the pages of a family are a hundred pages apart
    let family = if number % 10 < 3 && number >= 100 { number % 100 } else { number };
    let mut state = family as u64;
    let mut bands: Vec<u64> = (0..BANDS).map(|_| mix(&mut state)).collect();
    let mut own = !(number as u64);
    bands.iter_mut().skip(12).for_each(|band| *band = mix(&mut own));
    let shingles = (0..500).flat_map(|_| mix(&mut state).to_le_bytes()).collect();
    let mut content = [0; 32];
    content[..8].copy_from_slice(&mix(&mut own).to_le_bytes());
    let signature = (0..64).map(|_| (mix(&mut state) >> 32) as u32).collect();
    let sketch = Sketch { content: Some(ContentHash(content)), shingles, signature, bands };
    NewText { page: UrlKey::of(&number.to_string()), sketch, place: None }
}

/// Steele, Lea, Flood: Fast splittable pseudorandom number generators (2014).
fn mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// User and system time of the process in seconds; Linux counts in hundredths.
fn cpu_seconds() -> [f64; 2] {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    [11, 12].map(|at| fields[at].parse::<f64>().unwrap() / 100.0)
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
