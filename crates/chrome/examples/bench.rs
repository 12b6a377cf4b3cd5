//! Pages a second over pages that only a script fills, and the memory of the browser over many of them:
//! `cargo run --release -p crawl-chrome --example bench -- [PAGES [TABS]]`. The pages are served on loopback from here.
//! Prints a line of JSON for the speed, and one for each hundred pages with the memory after it.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a tool for measuring: it prints, and fails where it stands"
)]

#[path = "../tests/support/mod.rs"]
mod support;

use crawl_chrome::Renderer;
use futures::StreamExt;
use std::time::Instant;
use support::Server;

/// A page that asks for its text and puts up a list from it, as small frameworks do.
const PAGE: &str = "<!doctype html><title>page</title><div id=app></div><script>fetch('/data').then(r => r.json()).then(d => {\
    app.innerHTML = d.items.map(i => `<article><h2>${i}</h2><p>${d.text}</p></article>`).join('') })</script>";

fn main() {
    let arguments: Vec<usize> = std::env::args().skip(1).filter_map(|text| text.parse().ok()).collect();
    let (pages, tabs) = (arguments.first().copied().unwrap_or(60), arguments.get(1).copied().unwrap_or(4));
    let profiles = tempfile::tempdir().unwrap();
    let Some(mut settings) = support::settings(&profiles) else { return };
    settings.tabs = tabs;
    settings.recycle_pages = u32::MAX;
    let data =
        serde_json::json!({ "items": (0..20).collect::<Vec<_>>(), "text": "Text of an item. ".repeat(20) });
    let served = [
        ("/page", ("", PAGE.to_owned())),
        ("/data", ("Content-Type: application/json\r\n", data.to_string())),
    ];
    let server = Server::start("127.0.0.1", served.into_iter().collect());
    let renderer = Renderer::new(settings);
    support::block_on(async {
        // the start of the browser and of its tabs is not measured
        run(&renderer, &server, 2 * tabs, tabs).await;
        let start = Instant::now();
        let mut done = 0;
        while done < pages {
            let part = (pages - done).min(100);
            run(&renderer, &server, part, tabs).await;
            done += part;
            let stats = renderer.stats();
            println!(
                "{}",
                serde_json::json!({ "pages": done, "memory_mb": stats.memory >> 20, "tabs": stats.tabs })
            );
        }
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{}",
            serde_json::json!({ "pages": pages, "tabs": tabs, "seconds": seconds, "pages_per_second": pages as f64 / seconds })
        );
    });
}

async fn run(renderer: &Renderer, server: &Server, pages: usize, tabs: usize) {
    let urls: Vec<_> = (0..pages).map(|n| server.url(&format!("/page?{n}"))).collect();
    let mut results = futures::stream::iter(&urls).map(|url| renderer.render(url)).buffer_unordered(tabs);
    while let Some(page) = results.next().await {
        assert!(page.unwrap().html.contains("<h2>19</h2>"));
    }
}
