//! Bounds of one page: loaded bytes of all kinds, memory, and storage.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test that uses them")]

mod support;

use crawl_chrome::RenderError;
use std::time::Duration;
use support::{Server, block_on, pages, render, renderer, script};

const MIB: u64 = 1 << 20;

/// Keeps the page busy until its budget ends, so that its activity is observed.
const CLOCK: &str = "const clock = setInterval(() => app.textContent = performance.now(), 20);";
/// Budget of a page that ends by itself, even on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// A page that loads files of 1 MiB by a worker and by a frame of another site.
#[test]
#[ignore = "needs Chromium"]
fn bytes_of_workers_and_frames_count() {
    let (renderer, _profiles) = renderer(|settings| {
        settings.max_page_bytes = 8 * MIB;
        settings.addresses.allow = vec!["127.0.0.0/28".parse().unwrap()];
    });
    let load = "for (let i = 0; i < 60; i++) await fetch(location.origin + '/big?' + i).then(r => r.text(), () => 0)";
    let frame = script(&format!("(async () => {{ {load} }})()"));
    let mut other = pages(&[("/frame", frame)]);
    let big = ("Content-Type: text/plain\r\n", "x".repeat(MIB as usize));
    other.insert("/big", big.clone());
    let other = Server::start("127.0.0.2", other);
    let page = format!(
        "<iframe src={}></iframe>{}",
        other.url("/frame"),
        script(&format!(
            "new Worker(URL.createObjectURL(new Blob([`(async () => {{ {} }})()`])));{CLOCK}",
            load.replace("location.origin", "'${location.origin}'")
        ))
    );
    let mut own = pages(&[("/page", page), ("/small", "text".into())]);
    own.insert("/big", big);
    let own = Server::start("127.0.0.1", own);
    let page = render(&renderer, &own.url("/page")).unwrap();
    assert!(page.truncated, "{page:?}");
    assert!((4 * MIB..9 * MIB).contains(&page.bytes), "{}", page.bytes);
    let asked = |server: &Server| server.hits().iter().filter(|path| path.starts_with("/big")).count();
    assert!(asked(&own) > 0 && asked(&other) > 0, "{} {}", asked(&own), asked(&other));
    assert!(asked(&own) + asked(&other) <= 12, "{} {}", asked(&own), asked(&other));
    // the next page has its own bytes
    let small = render(&renderer, &own.url("/small")).unwrap();
    assert!(!small.truncated && small.bytes < MIB, "{small:?}");
}

#[test]
#[ignore = "needs Chromium"]
fn bytes_of_failed_pages_are_reported() {
    let (renderer, _profiles) = renderer(|_| {});
    let mut served = pages(&[("/page", "text".into())]);
    let file = "Content-Type: application/octet-stream\r\nContent-Disposition: attachment\r\n";
    served.insert("/file", (file, "x".repeat(20_000)));
    let server = Server::start("127.0.0.1", served);
    assert!(render(&renderer, &server.url("/page")).unwrap().bytes > 50);
    let _ = renderer.take_uncharged();
    assert_eq!(render(&renderer, &server.url("/file")).unwrap_err(), RenderError::Download);
    assert!(renderer.take_uncharged() > 50);
}

/// Fills 2 GB, 16 MB at a time.
const FILL: &str = "let kept = []; const fill = () => { kept.push(new Uint8Array(16e6).fill(7)); \
     if (kept.length < 125) setTimeout(fill) }; fill();";

#[test]
#[ignore = "needs Chromium"]
fn page_over_its_memory_limit_ends_alone() {
    let (renderer, _profiles) = renderer(|settings| {
        settings.tabs = 2;
        settings.max_page_memory = 300 * MIB;
        settings.budgets.settle = LONG;
        settings.addresses.allow = vec!["127.0.0.0/28".parse().unwrap()];
    });
    let slow = "setTimeout(() => setTimeout(() => app.textContent = 'came', 950), 950)";
    let worker = format!("new Worker(URL.createObjectURL(new Blob([`{FILL}`])));{CLOCK}");
    let served = [
        ("/heap", script(&format!("{FILL}{CLOCK}"))),
        ("/worker", script(&worker)),
        ("/other", script(slow)),
        ("/small", "text".into()),
    ];
    let server = Server::start("127.0.0.1", pages(&served));
    // the other tab has another site, so that the two share no process
    let other = Server::start("127.0.0.2", pages(&[("/other", script(slow))]));
    for path in ["/heap", "/worker"] {
        let (hungry, calm) = (server.url(path), other.url("/other"));
        let (taken, shown) =
            block_on(async { futures::join!(renderer.render(&hungry), renderer.render(&calm)) });
        assert_eq!(taken.unwrap_err(), RenderError::Memory { limit: 300 * MIB }, "{path}");
        assert!(shown.unwrap().html.contains("came"), "{path}");
    }
    assert!(render(&renderer, &server.url("/small")).is_ok());
    assert_eq!(renderer.stats().browsers, 1);
}

/// Files and databases of pages stay within a bound, in memory and on disk.
#[test]
#[ignore = "needs Chromium"]
fn page_storage_stays_within_its_quota() {
    let (renderer, profiles) = renderer(|settings| settings.budgets.settle = LONG);
    let code = "(async () => { let n = 0; try { const d = await navigator.storage.getDirectory(); \
         const f = await d.getFileHandle('x', { create: true }); const w = await f.createWritable(); \
         for (; n < 40; n++) await w.write(new Uint8Array(16e6).fill(7)); await w.close() } \
         catch (error) { document.title = `${error.name} after ${n}` } clearInterval(clock) })();";
    let server = Server::start("127.0.0.1", pages(&[("/page", script(&format!("{CLOCK}{code}")))]));
    let page = render(&renderer, &server.url("/page")).unwrap();
    let disk: u64 =
        files(profiles.path()).iter().map(|path| path.metadata().map_or(0, |meta| meta.len())).sum();
    assert!(disk < 64 * MIB, "{} MiB on disk, {}", disk / MIB, page.html);
    // QuotaExceededError, or AbortError if the file was closed for it before the next write
    let written = page.html.split_once("Error after ").and_then(|(_, rest)| rest.split_once('<'));
    let written = written.and_then(|(count, _)| count.parse::<u64>().ok());
    assert!(written.is_some_and(|count| count * 16_000_000 <= 64 * MIB), "{}", page.html);
}

fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let below = entries.flat_map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => files(&entry.path()),
        _ => vec![entry.path()],
    });
    below.collect()
}
