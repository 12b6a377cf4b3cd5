//! Domain boilerplate through the interfaces of projects: data that an analysis does not change, and the
//! served text.

use crate::{
    mcp_client::Client,
    run::{Sandbox, run},
};
use crawl_model::{ContentHash, NewSource, ProjectId, ProjectStore, Source, SourceQuery};
use crawl_store::SqliteProjects;
use serde_json::{Value, json};

const FOOTER: &str = "This office is open on weekdays from eight to four, says every sheet of it.";

fn content(n: usize) -> String {
    format!(
        "# Sheet {n}\n\nSheet {n} has words of its own, which no other sheet of this site has.\n\n{FOOTER}"
    )
}

/// A project with `pages` pages on each of two domains.
fn filled(sandbox: &Sandbox, pages: usize) -> (SqliteProjects, ProjectId) {
    let store = SqliteProjects::open(&sandbox.path("p.sqlite")).unwrap();
    let id = store.create_project("p", 1).unwrap().unwrap().id;
    let page = |n: usize| NewSource {
        url: format!("https://h{}.example/{n}", n % 2),
        domain: format!("h{}.example", n % 2),
        source_group: Some("sheets".into()),
        metadata: "{}".into(),
        content: content(n),
        cleaned_content: None,
    };
    assert!(store.save_sources(id, &(0..2 * pages).map(page).collect::<Vec<_>>(), 1).unwrap());
    (store, id)
}

fn sources(store: &SqliteProjects, id: ProjectId) -> Vec<Source> {
    store.sources(id, &SourceQuery { limit: 99, max_bytes: usize::MAX, ..SourceQuery::default() }).unwrap()
}

fn analyze(sandbox: &Sandbox, flags: &[&str]) -> Value {
    let mut command = sandbox.bare();
    command
        .args(["projects", "--database", "p.sqlite", "analyze", "p", "--mode", "exact", "--json"])
        .args(flags);
    serde_json::from_str(&run(&mut command).expect(0).stdout).unwrap()
}

#[test]
fn analysis_stores_cleaned_content_and_can_be_repeated() {
    let sandbox = Sandbox::new();
    let (store, id) = filled(&sandbox, 6);
    let first = analyze(&sandbox, &[]);
    assert_eq!(first["total_pages_cleaned"], 12);
    let once = sources(&store, id);
    for (n, source) in once.iter().enumerate() {
        assert_eq!(source.page.content, content(n), "the content is never changed");
        let cleaned = source.page.cleaned_content.as_deref().unwrap();
        assert!(!cleaned.contains(FOOTER) && cleaned.contains(&format!("Sheet {n} has words")), "{cleaned}");
    }
    assert_eq!(analyze(&sandbox, &[]), first);
    let cleaned = |all: &[Source]| -> Vec<_> { all.iter().map(|s| s.page.cleaned_content.clone()).collect() };
    assert_eq!(cleaned(&sources(&store, id)), cleaned(&once), "a second analysis changes nothing");
    assert_eq!(store.boilerplate(id, None).unwrap().len(), 2, "one row a domain");
    // with another threshold it replaces the results of the first one
    assert_eq!(analyze(&sandbox, &["--min-pages", "7"])["total_pages_cleaned"], 0);
}

#[test]
fn parameters_reach_the_row_of_the_domain() {
    let sandbox = Sandbox::new();
    let (store, id) = filled(&sandbox, 6);
    analyze(&sandbox, &["--threshold-pct", "0.5", "--min-pages", "4", "--min-block-chars", "60"]);
    let row = &store.boilerplate(id, Some("h1.example")).unwrap()[0].findings;
    assert_eq!((row.threshold_pct, row.min_pages, row.min_block_chars), (0.5, 4, 60));
    assert_eq!((row.pages_analyzed, row.blocks_boilerplate), (6, 1));
    assert_eq!(row.bytes_removed_avg, FOOTER.len() as u64);
    assert_eq!(row.boilerplate_hashes.len(), 1);
}

#[test]
fn cleaned_content_is_served_if_present() {
    let sandbox = Sandbox::new();
    let (_store, _) = filled(&sandbox, 6);
    let mut client = Client::start(&sandbox, &[]);
    let mut text = |original: bool| {
        let asked = json!({"project_id": "p", "source": "https://h1.example/1", "original": original});
        client.call("get_source", &asked).unwrap()["text"].as_str().unwrap().to_owned()
    };
    assert!(text(false).contains(FOOTER), "nothing has been cleaned yet");
    analyze(&sandbox, &[]);
    assert!(!text(false).contains(FOOTER));
    assert_eq!(text(true), content(1));
    client.close();
}

#[test]
fn mcp_analysis_takes_groups_and_parameters() {
    let sandbox = Sandbox::new();
    filled(&sandbox, 6);
    let mut client = Client::start(&sandbox, &[]);
    let mut cleaned = |more: Value| {
        let mut asked = json!({"project_id": "p", "mode": "exact"});
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        client.call("analyze_boilerplate", &asked).unwrap()["total_pages_cleaned"].clone()
    };
    assert_eq!(cleaned(json!({})), 12);
    assert_eq!(cleaned(json!({"source_groups": ["none"]})), 0);
    assert_eq!(cleaned(json!({"min_pages": 7})), 0);
    assert_eq!(cleaned(json!({"threshold_pct": 1.0, "min_pages": 2})), 12);
    client.close();
}

/// 64 digits of a record's content, 16 of a block, in the record and in its documents.
#[test]
fn hash_lengths_match_the_documentation() {
    let sandbox = Sandbox::new();
    let line =
        |n: usize| format!("{}\n", json!({"url": format!("https://h.example/{n}"), "content": content(n)}));
    sandbox.write("in.jsonl", (0..6).map(line).collect::<String>());
    let done = run(sandbox.bare().args(["dedup", "--mode", "exact", "in.jsonl"])).expect(0).stdout;
    let digits = |value: &Value| {
        let text = value.as_str().unwrap();
        assert!(text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)), "{text}");
        text.len()
    };
    for line in done.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        assert_eq!(digits(&record["boilerplate"]["removed"][0]["hash"]), 16);
    }
    assert_eq!(ContentHash::of(&content(1)).to_string().len(), 64);
    let documented = include_str!("../../docs/record.md");
    let row =
        |field: &str| documented.lines().find(|line| line.starts_with(&format!("| `{field}` |"))).unwrap();
    assert!(row("metadata.contentHash").contains("64 hex digits"));
    assert!(row("boilerplate.removed[].hash").contains("first 16 hex digits of the SHA-256"));
}
