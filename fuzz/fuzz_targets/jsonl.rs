//! Records and documents as lines of JSON, compressed or not.
#![no_main]

use crawl_archive::Body;
use crawl_fuzz::Scratch;
use libfuzzer_sys::fuzz_target;
use serde_json::json;
use std::sync::LazyLock;

static FILE: LazyLock<Scratch> = LazyLock::new(|| Scratch::new("jsonl"));

fuzz_target!(|data: &[u8]| {
    let packed = data.starts_with(b"\x1f\x8b") || data.starts_with(b"\x28\xb5\x2f\xfd");
    let weight = if packed { 1 << 20 } else { data.len() };
    let read = FILE.read(data, weight);
    let mut lines = data.split(|byte| *byte == b'\n');
    assert!(packed || read.items <= lines.clone().count(), "{} records", read.items);
    assert_eq!(read.shown, FILE.read(data, weight).shown);
    let mut written = String::new();
    for document in &read.documents {
        assert!(packed || lines.any(|line| line.trim_ascii() == document.line.trim_ascii()), "{document:?}");
        let (key, text) = match &document.body {
            Body::Text(text) => ("text", text.clone()),
            Body::Html(bytes) => ("html", String::from_utf8_lossy(bytes).into_owned()),
        };
        let (id, url, title) = (&document.id, &document.url, &document.title);
        written += &json!({ "id": id, "url": url, "title": title, key: text }).to_string();
        written.push('\n');
    }
    // The documents are written and read back.
    let again = FILE.read(written.as_bytes(), written.len());
    assert_eq!(again.documents.len(), read.documents.len(), "{}", again.shown);
    for (one, two) in again.documents.iter().zip(&read.documents) {
        assert_eq!((&one.id, &one.url, &one.title), (&two.id, &two.url, &two.title));
        assert_eq!(one.body.is_empty(), two.body.is_empty());
        if let Body::Text(_) = two.body {
            assert_eq!(one.body, two.body);
        }
    }
});
