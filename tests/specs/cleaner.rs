//! HTML cleaner impact through the command: a page of boilerplate among others, and a run without settings.

use crate::run::{Sandbox, lines, run};
use serde_json::json;

const PROSE: &str =
    "<p>The ferry leaves the quay at six, and it comes back at nine with the post of the islands.</p>";

#[test]
fn page_of_boilerplate_only_does_not_end_the_run() {
    let sandbox = Sandbox::new();
    let good = format!("<html><body><main><h1>The ferry</h1>{}</main></body></html>", PROSE.repeat(4));
    let bad = "<html><body><nav><a href=/>Home</a></nav><footer>All rights reserved</footer></body></html>";
    let pages: String = [("a", good.as_str()), ("b", bad), ("c", good.as_str())]
        .iter()
        .map(|(id, html)| {
            format!("{}\n", json!({"id": id, "url": format!("https://h.example/{id}"), "html": html}))
        })
        .collect();
    sandbox.write("in.jsonl", pages);
    let done = run(sandbox.bare().args(["extract", "--jsonl", "in.jsonl"])).expect(0);
    let records = lines(&done.stdout);
    let ids: Vec<&str> = records.iter().map(|record| record["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["a", "b", "c"]);
    assert_eq!(records[1]["text"], "");
    assert!(records[1]["warnings"].as_array().unwrap().contains(&"all_boilerplate".into()), "{}", records[1]);
    assert!(records[2]["text"].as_str().unwrap().contains("The ferry leaves the quay"));
}
