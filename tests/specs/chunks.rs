//! Metrics of the HTML cleaner impact: `benches/chunks.py` over the scored pages of the fixtures.

use crate::run::{Sandbox, run};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs, process::Command};

/// Pages as JSONL, and their content by id in the format of `benches/chunks.py`.
fn labelled() -> (String, Value) {
    let (mut pages, mut labels) = (String::new(), BTreeMap::new());
    for entry in fs::read_dir(crate::root().join("fixtures/pages")).unwrap() {
        let folder = entry.unwrap().path();
        let (Ok(html), Ok(content)) =
            (fs::read_to_string(folder.join("source.html")), fs::read_to_string(folder.join("gold.txt")))
        else {
            continue;
        };
        let id = folder.file_name().unwrap().to_str().unwrap();
        let url = format!("https://{id}.example/page");
        pages += &format!("{}\n", json!({"id": id, "url": url, "html": html}));
        labels.insert(id.to_owned(), json!({"site": id, "text": content, "neutral": ""}));
    }
    assert!(labels.len() >= 20, "only {} pages have their content beside them", labels.len());
    (pages, json!(labels))
}

#[test]
#[ignore = "needs Python"]
fn cleaned_chunks_have_less_boilerplate() {
    let sandbox = Sandbox::new();
    let (pages, labels) = labelled();
    sandbox.write("pages.jsonl", pages);
    sandbox.write("labels.json", labels.to_string());
    let mut script = Command::new("python3");
    script.current_dir(sandbox.path("")).arg(crate::root().join("benches/chunks.py"));
    script.args(["pages", env!("CARGO_BIN_EXE_crawl"), "pages.jsonl", "labels.json"]);
    let done = run(&mut script).expect(0);
    // name, half, pages, chunks, characters, boilerplate, mostly boilerplate, content found
    let mean = |half: &str| -> Vec<f64> {
        let row = done.stdout.lines().rev().find(|row| row.starts_with("mean") && row.contains(half));
        row.unwrap().split_whitespace().filter_map(|cell| cell.parse().ok()).collect()
    };
    let ([.., long, framed, _, _], [.., short, clean, _, found]) = (&mean("before")[..], &mean("after")[..])
    else {
        panic!("no means in {}", done.stdout);
    };
    assert!(*framed > 0.2 && *clean < 0.1, "boilerplate in a chunk: {framed} before, {clean} after");
    assert!(short < long, "characters of a chunk: {long} before, {short} after");
    assert!(*found > 0.9, "content found: {found}");
}
