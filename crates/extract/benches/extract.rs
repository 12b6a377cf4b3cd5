//! Extraction by page size, from 10 kB to 5 MB: the time per byte must stay constant. The pages concatenate
//! the fixtures' bodies: articles, a thread, tables and menus.

#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a bench stops at the first error; criterion writes no comments"
)]

use crawl_extract::{Input, Options, PageExtractor};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::{fs, hint::black_box, path::Path, time::Duration};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Inner HTML of each fixture's body.
fn bodies() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/pages");
    let mut folders: Vec<_> = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    let body = |path: &Path| {
        let text = fs::read_to_string(path.join("source.html")).ok()?;
        let (_, after) = text.split_once("<body")?;
        let (_, inner) = after.split_once('>')?;
        Some(inner.split("</body>").next()?.to_owned())
    };
    folders.iter().filter_map(|path| body(path)).collect()
}

fn page(bodies: &[String], bytes: usize) -> String {
    let mut page = String::from("<!DOCTYPE html><html lang=en><title>All of them</title><body>");
    for body in bodies.iter().cycle() {
        page.push_str("<section>");
        page.push_str(body);
        page.push_str("</section>");
        if page.len() >= bytes {
            break;
        }
    }
    page
}

fn by_size(criterion: &mut Criterion) {
    let bodies = bodies();
    let url = url::Url::parse("https://example.org/a/b").unwrap();
    let mut group = criterion.benchmark_group("extract");
    group.sample_size(10).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(3));
    let deadline = Some(Duration::from_secs(60));
    for (name, options) in
        [("whole", Options::default()), ("with a deadline", Options::default().with_deadline(deadline))]
    {
        let extractor = PageExtractor::new(options).unwrap();
        for kilobytes in [10, 100, 1_000, 5_000] {
            let page = page(&bodies, kilobytes * 1_000);
            group.throughput(Throughput::Bytes(page.len().try_into().unwrap()));
            group.bench_with_input(BenchmarkId::new(name, format!("{kilobytes} kB")), &page, |b, page| {
                let input = Input::new(page.as_bytes()).with_url(&url).with_content_type("text/html");
                b.iter(|| extractor.extract(black_box(&input)));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, by_size);
criterion_main!(benches);
