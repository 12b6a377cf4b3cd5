//! Tables of documents in CSV, compressed or not.
#![no_main]

use crawl_archive::Body;
use crawl_fuzz::Scratch;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static FILE: LazyLock<Scratch> = LazyLock::new(|| Scratch::new("csv"));

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

fuzz_target!(|data: &[u8]| {
    let packed = data.starts_with(b"\x1f\x8b") || data.starts_with(b"\x28\xb5\x2f\xfd");
    let weight = if packed { 1 << 20 } else { data.len() };
    let read = FILE.read(data, weight);
    assert!(packed || read.items <= data.len(), "{} records", read.items);
    assert_eq!(read.shown, FILE.read(data, weight).shown);
    // Texts written by RFC 4180 are read back.
    let texts: Vec<&str> = read
        .documents
        .iter()
        .filter_map(|document| match &document.body {
            Body::Text(text) => Some(text.as_str()),
            Body::Html(_) => None,
        })
        .collect();
    let rows = texts.iter().map(|text| format!("https://h.test/,{}\r\n", quoted(text)));
    let table = format!("url,text\r\n{}", rows.collect::<String>());
    let again = FILE.read(table.as_bytes(), table.len());
    let bodies: Vec<&Body> = again.documents.iter().map(|document| &document.body).collect();
    let expected: Vec<Body> = texts.iter().map(|text| Body::Text((*text).to_owned())).collect();
    assert_eq!(bodies, expected.iter().collect::<Vec<_>>(), "{}", again.shown);
});
