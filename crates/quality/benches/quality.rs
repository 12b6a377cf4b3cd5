//! Cost of assessing a document: a page of prose-like words, a long one, and texts made to be slow.

#![allow(missing_docs, clippy::unwrap_used, reason = "a bench, not an interface")]

#[path = "../examples/support/mod.rs"]
mod support;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use support::checker;

/// Sentences of words with the frequencies of prose: the n-th most frequent word comes every n-th time.
fn prose(bytes: usize) -> String {
    let (mut text, mut state) = (String::new(), 1_u64);
    while text.len() < bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let rank = 20_000 / (1 + (state >> 40) % 20_000);
        text.push_str(&format!("wo{rank}rd{}", if state >> 60 == 0 { ".\n" } else { " " }));
    }
    text
}

fn documents(c: &mut Criterion) {
    let checker = checker();
    let mut group = c.benchmark_group("assess");
    group.sample_size(10);
    for (name, text) in [
        ("prose of 6 kB", prose(6_000)),
        ("prose of 1 MB", prose(1_000_000)),
        ("one word, 5 MB", "word ".repeat(1_000_000)),
        ("one line, 1 MB", "A line that is said again.\n".repeat(37_000)),
    ] {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(name, |b| b.iter(|| checker.assess(black_box(&text), "en")));
    }
    group.finish();
}

criterion_group!(benches, documents);
criterion_main!(benches);
