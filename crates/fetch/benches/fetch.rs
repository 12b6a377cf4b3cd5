//! CPU cost of a page apart from the network: canonical URLs, filters, robots.txt, the gate, decompression.

#![allow(missing_docs, clippy::unwrap_used, reason = "a bench, not an interface")]

use crawl_fetch::{
    Canonicalizer, Gate, PolitenessSettings, RobotsTxt, Scope, ScopeSet, SlotOutcome, UrlFilter,
};
use crawl_model::HostKey;
use criterion::{Criterion, criterion_group, criterion_main};
use std::{hint::black_box, time::Duration};
use url::Url;

const PLAIN: &str = "https://www.example.org/docs/guide/chapter-4/section.html";
const QUERY: &str = "https://www.example.org/docs/guide/section.html?lang=en&page=2";
const DIRTY: &str = "https://www.Example.org/docs//guide/%7Esection.html?utm_source=x&page=2&lang=en#top";

fn urls(c: &mut Criterion) {
    let canonicalizer = Canonicalizer::default();
    let filter = UrlFilter::new(true, &[], &[]).unwrap();
    let scope = ScopeSet::of_seeds(Scope::Host, [&Url::parse(PLAIN).unwrap()]);
    for (name, text) in [("plain", PLAIN), ("query", QUERY), ("dirty", DIRTY)] {
        let url = Url::parse(text).unwrap();
        c.bench_function(&format!("url parse {name}"), |b| b.iter(|| Url::parse(black_box(text))));
        c.bench_function(&format!("url canonical {name}"), |b| {
            b.iter(|| canonicalizer.canonical(black_box(&url)));
        });
        c.bench_function(&format!("url parse and canonical {name}"), |b| {
            b.iter(|| canonicalizer.parse(black_box(text)));
        });
        c.bench_function(&format!("filter {name}"), |b| b.iter(|| filter.classify(black_box(&url))));
    }
    let url = Url::parse(PLAIN).unwrap();
    c.bench_function("scope", |b| b.iter(|| scope.contains(black_box(&url))));
}

fn robots(c: &mut Criterion) {
    let text: String = (0..100).map(|n| format!("Disallow: /private-{n}/*.php$\n")).collect();
    let text = format!("User-agent: *\n{text}Allow: /\n");
    let rules = RobotsTxt::parse(text.as_bytes()).rules("crawl");
    let url = Url::parse(QUERY).unwrap();
    c.bench_function("robots parse of 100 rules", |b| {
        b.iter(|| RobotsTxt::parse(black_box(text.as_bytes())));
    });
    c.bench_function("robots verdict of 100 rules", |b| b.iter(|| rules.verdict(black_box(&url))));
}

fn gate(c: &mut Criterion) {
    let free =
        PolitenessSettings { delay: Duration::ZERO, host_concurrency: 16, ..PolitenessSettings::default() };
    let gate = Gate::new(free);
    let key = HostKey::of(&Url::parse(PLAIN).unwrap()).unwrap();
    c.bench_function("gate without delay", |b| {
        b.iter(|| gate.try_acquire(&key).ok().unwrap().finish(SlotOutcome::default()));
    });
}

criterion_group!(benches, urls, robots, gate);
criterion_main!(benches);
