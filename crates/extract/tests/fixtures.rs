//! Exact fixtures: every folder of `fixtures/pages` with an `expected.json`. (`ratchet.rs` scores those with
//! a `gold.json`.)
//!
//! `source.html` (or `source.txt`) is the page, `expected.md` its content, `expected.json` the rest. Its
//! `url`, `contentType` and `format` set the extraction; every other key is compared with the record of the
//! extraction, objects key by key. `UPDATE_FIXTURES=1` rewrites `expected.md`; review the difference before a
//! commit.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use crawl_extract::{Input, Options, PageExtractor};
use serde_json::{Value, json};
use std::{fs, path::Path};

#[test]
fn every_fixture_page_gives_its_expected_output() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/pages");
    let mut folders: Vec<_> = fs::read_dir(root)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.join("expected.json").exists())
        .collect();
    folders.sort();
    assert!(folders.len() >= 20, "only {} fixtures were found", folders.len());
    let failures: Vec<String> = folders.iter().filter_map(|folder| check(folder).err()).collect();
    assert!(
        failures.is_empty(),
        "{} of {} pages fail:\n{}",
        failures.len(),
        folders.len(),
        failures.join("\n")
    );
}

fn check(folder: &Path) -> Result<(), String> {
    let slug = folder.file_name().unwrap().to_string_lossy().into_owned();
    let html = folder.join("source.html");
    let source = fs::read(if html.exists() { html } else { folder.join("source.txt") }).unwrap();
    let mut expected: Value = serde_json::from_slice(&fs::read(folder.join("expected.json")).unwrap())
        .map_err(|error| format!("{slug}: expected.json: {error}"))?;
    let take = |value: &mut Value, key: &str| {
        value.as_object_mut().and_then(|map| map.remove(key)).and_then(|v| v.as_str().map(str::to_owned))
    };
    let url = take(&mut expected, "url").map(|url| url::Url::parse(&url).unwrap());
    let content_type = take(&mut expected, "contentType");
    let mut options = Options::default().with_blocks(true);
    if let Some(format) = take(&mut expected, "format") {
        options.format = format.parse().unwrap();
    }
    if let Some(links) = take(&mut expected, "links style") {
        options.links = links.parse().unwrap();
    }
    let extractor = PageExtractor::new(options).unwrap();
    let page = extractor
        .extract(&Input::new(&source).with_url(url.as_ref()).with_content_type(content_type.as_deref()));
    let record = json!({
        "metadata": page.metadata,
        "signals": page.signals,
        "links": page.links.iter().map(|link| &link.url).collect::<Vec<_>>(),
        "directives": page.directives,
        "extractor": page.extractor,
        "warnings": page.warnings,
        "wordCount": page.word_count,
        "charset": page.charset,
        "blocks": page.blocks.len(),
    });
    let path = folder.join("expected.md");
    if std::env::var_os("UPDATE_FIXTURES").is_some() {
        fs::write(&path, format!("{}\n", page.content)).unwrap();
    }
    let content = fs::read_to_string(&path).unwrap();
    let mut problems = Vec::new();
    if page.content != content.trim_end_matches('\n') {
        problems.push(format!("content differs ({}):\n<<<\n{}\n>>>", page.reason, page.content));
    }
    compare(&record, &expected, "", &mut problems);
    if problems.is_empty() { Ok(()) } else { Err(format!("{slug}: {}", problems.join("\n  "))) }
}

/// Compares with the expected value, which an object may exceed.
fn compare(got: &Value, want: &Value, path: &str, problems: &mut Vec<String>) {
    match (got, want) {
        (Value::Object(got), Value::Object(want)) => {
            for (key, value) in want {
                compare(got.get(key).unwrap_or(&Value::Null), value, &format!("{path}/{key}"), problems);
            }
        }
        (got, want) if got == want => {}
        (got, want) => problems.push(format!("{path} is {got}, not {want}")),
    }
}
