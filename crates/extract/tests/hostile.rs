//! Any bytes: no panic, linear time.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use cpu_time::ThreadTime;
use crawl_extract::{Input, Options, PageExtractor};
use crawl_model::{Extraction, Warning};
use std::{fs, path::Path, time::Duration};

fn extract(bytes: &[u8]) -> Extraction {
    let url = url::Url::parse("https://example.org/a/b").unwrap();
    extractor().extract(&Input::new(bytes).with_url(&url).with_content_type("text/html"))
}

fn extractor() -> &'static PageExtractor {
    static EXTRACTOR: std::sync::OnceLock<PageExtractor> = std::sync::OnceLock::new();
    EXTRACTOR
        .get_or_init(|| PageExtractor::new(Options::default().with_images(true).with_blocks(true)).unwrap())
}

/// Time limit: debug builds are about ten times slower than release builds.
const LIMIT: Duration = Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 2 });

fn within_limit(what: &str, page: &str) -> Extraction {
    // CPU time, since tests run in parallel.
    let start = ThreadTime::now();
    let extraction = extract(page.as_bytes());
    let spent = start.elapsed();
    assert!(spent < LIMIT, "{what}: {spent:?}");
    extraction
}

#[test]
fn deep_nesting_is_flattened_in_time() {
    for tag in ["div", "b", "font", "span", "ul><li", "table><tr><td", "blockquote", "section"] {
        let page = format!("<p>before</p>{}text at the bottom", format!("<{tag}>").repeat(100_000));
        let extraction = within_limit(tag, &page);
        assert!(extraction.warnings.contains(&Warning::DepthCapped), "{tag}: {:?}", extraction.warnings);
    }
}

#[test]
fn distinct_formatting_elements_end_in_time() {
    let page: String = (0..60_000).map(|n| format!("</p><p><font size={n}>x")).collect();
    within_limit("font", &page);
}

#[test]
fn a_million_attributes_end_in_time() {
    let attributes: String = (0..1_000_000).map(|n| format!(" a{n}=1")).collect();
    let extraction = within_limit("attributes", &format!("<p{attributes}>A paragraph of some words.</p>"));
    assert!(extraction.warnings.contains(&Warning::AttributesCapped));
    assert!(extraction.content.contains("A paragraph of some words."));
    let quoted: String = (0..200_000).map(|n| format!(" a{n}='>'")).collect();
    within_limit("quoted", &format!("<p{quoted}>text"));
}

#[test]
fn long_runs_end_in_time() {
    for (what, page) in [
        ("one word", "x".repeat(2_000_000)),
        ("links", "<a href=/x>y</a> ".repeat(50_000)),
        ("open brackets", "<".repeat(1_000_000)),
        ("entities", "&amp;".repeat(300_000)),
        ("comments", "<!--".repeat(200_000)),
        ("list items", "<ul><li>x".repeat(50_000)),
        ("tables", "<table><tr><td>x".repeat(20_000)),
        ("headings", "<h2><a href=/x>Title here</a></h2>".repeat(30_000)),
        ("cookies", "<div class=cookie>we use cookies ".repeat(20_000)),
        ("breaks", "<br>x".repeat(100_000)),
        ("bold", "<p><b>x</b> y".repeat(60_000)),
        ("scripts", "<script type=application/ld+json>{\"@graph\":[[[</script>".repeat(10_000)),
        ("brackets in data", format!("<script type=application/ld+json>{}</script>", "[".repeat(500_000))),
    ] {
        within_limit(what, &page);
    }
}

fn sources() -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/pages");
    let mut paths: Vec<_> =
        fs::read_dir(root).unwrap().map(|e| e.unwrap().path().join("source.html")).collect();
    paths.sort();
    paths.iter().filter_map(|path| fs::read(path).ok()).collect()
}

#[test]
fn truncated_pages_do_not_panic() {
    for source in sources() {
        let step = (source.len() / 60).max(1);
        for end in (0..source.len()).step_by(step) {
            let _ = extract(&source[..end]);
        }
    }
}

#[test]
fn mutated_pages_do_not_panic() {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    const PARTS: [&[u8]; 12] = [
        b"<",
        b">",
        b"\"",
        b"</div>",
        b"<table>",
        b"<pre>",
        b"\xff",
        b"\0",
        b"&#x110000;",
        b"<svg>",
        b"<template>",
        b"\xe2\x80",
    ];
    for source in sources() {
        for _ in 0..40 {
            let mut page = source.clone();
            for _ in 0..=random(8) {
                let at = random(page.len());
                match random(3) {
                    0 => page.truncate(at.max(1)),
                    1 => page[at] = random(256) as u8,
                    _ => {
                        page.splice(at..at, PARTS[random(PARTS.len())].iter().copied());
                    }
                }
            }
            let _ = extract(&page);
        }
    }
}

#[test]
fn empty_and_binary_input_does_not_panic() {
    for bytes in [&b""[..], b"\0", b"\xff\xfe", b"%PDF-1.7 binary", b"<", b"<html", b"\xef\xbb\xbf"] {
        let _ = extract(bytes);
    }
}

#[test]
fn formulas_in_formulas_end_in_time() {
    for name in ["mover", "munder", "msup", "mfrac"] {
        let deep = format!(
            "{}<mi>x</mi>{}",
            format!("<{name}>").repeat(60),
            format!("<mo>^</mo></{name}>").repeat(60)
        );
        let page = format!(
            "<body><article><p>{}</p><p><math>{deep}</math></p></article>",
            "A sentence of the text. ".repeat(40)
        );
        assert!(extract(page.as_bytes()).content.contains("A sentence"), "{name}");
    }
}

#[test]
fn list_and_line_numbers_do_not_overflow() {
    let most = u64::MAX;
    let text = "A sentence of the text. ".repeat(40);
    let page = format!(
        "<body><article><p>{text}<sup>1</sup></p><aside><ol start={most}><li>a<li>b</ol></aside><ol start=999999999><li>c<li>d</ol>\
         <pre><span class=n>{most}</span>one\n<span class=n>1</span>two</pre></article>"
    );
    assert!(extract(page.as_bytes()).content.contains("A sentence"));
}
