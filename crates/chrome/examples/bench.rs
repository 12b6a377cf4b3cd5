//! Renders pages for `benches/compare_chrome.py`: `bench CHROMIUM TABS`. Reads lines of JSON, each a list of
//! `[url, text]`, and renders them in `TABS` tabs. Answers each with a line of JSON: the number of pages that
//! held their text, those that did not, the seconds, and the renderer's statistics.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a tool for measuring: it prints, and fails where it stands"
)]

use crawl_chrome::{ChromeSettings, Renderer};
use futures::StreamExt;
use std::{
    io::BufRead,
    time::{Duration, Instant},
};
use url::Url;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().map(Into::into);
    let tabs = arguments.next().and_then(|tabs| tabs.parse().ok()).unwrap_or(4);
    let mut settings = ChromeSettings { path, tabs, ..ChromeSettings::default() };
    // containers run this as root, and the pages are the bench's own on loopback
    settings.sandbox = false;
    settings.addresses.allow = vec!["127.0.0.0/8".parse().unwrap()];
    let renderer = Renderer::new(settings);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for line in std::io::stdin().lock().lines() {
        let pages: Vec<(Url, String)> = serde_json::from_str(&line.unwrap()).unwrap();
        println!("{}", runtime.block_on(run(&renderer, &pages, tabs)));
    }
}

async fn run(renderer: &Renderer, pages: &[(Url, String)], tabs: usize) -> serde_json::Value {
    let start = Instant::now();
    let (mut found, mut chars, mut missed) = (0, 0, Vec::new());
    let (mut navigate, mut settle, mut scroll, mut total) = (0.0, 0.0, 0.0, 0.0);
    let mut results = futures::stream::iter(pages)
        .map(|(url, text)| async move { (url, text, renderer.render(url).await) })
        .buffer_unordered(tabs);
    while let Some((url, text, result)) = results.next().await {
        match result {
            Ok(page) => {
                chars += page.html.len();
                let ms = |duration: Duration| duration.as_secs_f64() * 1000.0 / pages.len() as f64;
                navigate += ms(page.timings.navigate);
                settle += ms(page.timings.settle);
                scroll += ms(page.timings.consent + page.timings.scroll);
                total += ms(page.timings.total);
                if page.html.contains(text) {
                    found += 1;
                } else {
                    missed.push(format!("{url}: {:?}", page.timings));
                }
            }
            Err(error) => missed.push(format!("{url}: {error}")),
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let stats = renderer.stats();
    serde_json::json!({
        "found": found, "missed": missed, "chars": chars, "seconds": seconds,
        "mean_ms": { "navigate": navigate, "settle": settle, "consent_and_scroll": scroll, "total": total },
        "memory": stats.memory, "tabs": stats.tabs, "browsers": stats.browsers,
    })
}
