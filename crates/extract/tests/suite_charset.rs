//! The encoding suite of html5lib-tests: the charset that a page without a header is read in.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

use base64::{Engine, engine::general_purpose::STANDARD};
use crawl_extract::charset;
use encoding_rs::Encoding;
use serde_json::Value;

#[test]
fn declared_charsets_follow_the_standard() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/protocol/charset_html5lib.json");
    let cases: Vec<Value> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let mut overridden = 0;
    let mut faults = Vec::new();
    for case in &cases {
        let bytes = STANDARD.decode(case["bytes_b64"].as_str().unwrap()).unwrap();
        let expected = Encoding::for_label(case["encoding"].as_str().unwrap().as_bytes()).unwrap().name();
        let decoded = charset::decode(&bytes, None);
        // the deviation that `decode` documents: valid UTF-8 is UTF-8, whatever the page declares
        if decoded.overridden {
            assert_eq!((decoded.charset, std::str::from_utf8(&bytes).is_ok()), ("UTF-8", true));
            overridden += 1;
        } else if decoded.charset != expected {
            faults.push(format!(
                "{}, not {expected}: {:?}",
                decoded.charset,
                String::from_utf8_lossy(&bytes)
            ));
        }
    }
    assert_eq!((cases.len(), overridden), (43, 1));
    assert!(faults.is_empty(), "{}:\n{}", faults.len(), faults.join("\n"));
}
