//! Projects: pages kept by a crawl, after any end of it, and their later use.

use crate::{
    run::{self, PATIENCE, Run, Sandbox, eventually, run},
    support::{
        made::{Tree, page},
        server::{Request, Response, Server},
    },
};
use crawl_model::{DomainBoilerplate, NewSource, ProjectStore, Source, SourceQuery};
use crawl_store::SqliteProjects;
use serde_json::Value;
use std::{collections::BTreeMap, fs, time::Duration};

/// Default path of the database in the home directory of a sandbox.
const DEFAULT: &str = ".local/share/crawl/projects.sqlite";

fn store(sandbox: &Sandbox, file: &str) -> SqliteProjects {
    SqliteProjects::open(&sandbox.path(file)).unwrap()
}

fn kept(store: &SqliteProjects, project: &str) -> Vec<Source> {
    let id = store.project_named(project).unwrap().unwrap().id;
    store
        .sources(id, &SourceQuery { limit: 10_000, max_bytes: usize::MAX, ..SourceQuery::default() })
        .unwrap()
}

/// Ten pages with one footer of at least the minimum block length.
fn site(request: &Request) -> Response {
    let footer = "<p>Harbour office, quay nine, open on weekdays from eight to four and by appointment on Saturdays</p>";
    let path = request.path();
    let n: usize = path.trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(0);
    if !(path == "/" || (path.starts_with("/p/") && n < 10)) {
        return Response::status(404);
    }
    let links: Vec<String> = (1..10).map(|n| format!("/p/{n}.html")).collect();
    Response::html(page(&format!("sheet {n}"), &links).replace("</ul>", &format!("</ul>{footer}")))
}

#[test]
fn a_crawl_keeps_its_records_as_sources_of_its_project() {
    let (server, sandbox) = (Server::start(0, site).unwrap(), Sandbox::new());
    let flags = ["-O", "out.jsonl", "--project", "drives", "--source-group", "news"];
    run(&mut sandbox.crawl(&[server.url("/")], &flags)).expect(0);
    let (records, store) = (sandbox.records("out.jsonl"), store(&sandbox, DEFAULT));
    let sources = kept(&store, "drives");
    assert_eq!((records.len(), sources.len()), (10, 10));
    for record in &records {
        let found = sources.iter().find(|s| record["id"] == s.id.to_string()).unwrap();
        assert_eq!(record["url"], found.page.url);
        assert_eq!(run::content(record), found.page.content);
        assert_eq!(record["text"].as_str(), found.page.cleaned_content.as_deref(), "the crawl has judged it");
        assert_eq!(record["metadata"]["domain"], found.page.domain);
        assert_eq!(record["metadata"], serde_json::from_str::<Value>(&found.page.metadata).unwrap());
        assert_eq!(found.page.source_group.as_deref(), Some("news"));
    }
    // the next round finds the same pages, which are stored once
    run(&mut sandbox.crawl(&[server.url("/")], &flags)).expect(0);
    assert_eq!(kept(&store, "drives").len(), 10);
    // a run without a project stores none
    run(&mut sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--fresh"])).expect(0);
    assert_eq!(store.projects(0, 10).unwrap().len(), 1);
}

#[test]
fn resumed_crawl_stores_every_page_once() {
    let tree = Tree { delay: Duration::from_millis(10), ..Tree::of(60) };
    let (server, sandbox) = (Server::start(0, tree.handler()).unwrap(), Sandbox::new());
    let crawl = || {
        let flags = ["-O", "out.jsonl", "--project", "p", "--database", "deep/p.sqlite"];
        let mut command = sandbox.crawl(&[server.url("/")], &flags);
        command.env("CRAWL_DEDUP_SETTLE_PAGES", "5").env("CRAWL_OUTPUT_BATCH", "2");
        command
    };
    let mut early = 0;
    for more in [8, 12, 14] {
        let before = server.requests().len();
        let running = Run::start(&mut crawl());
        assert!(server.wait(PATIENCE, |r| r.len() >= before + more), "{}", running.stderr_so_far());
        running.kill();
        early = kept(&store(&sandbox, "deep/p.sqlite"), "p").len();
    }
    assert!(early > 0, "the test is about pages that were kept when the process died");
    run(&mut crawl()).expect(0);
    let records: BTreeMap<String, String> = sandbox
        .records("out.jsonl")
        .into_iter()
        .map(|r| (r["url"].as_str().unwrap().to_owned(), run::content(&r).to_owned()))
        .collect();
    let sources = kept(&store(&sandbox, "deep/p.sqlite"), "p");
    assert_eq!(sources.len(), 60);
    let sources: BTreeMap<String, String> =
        sources.into_iter().map(|s| (s.page.url, s.page.content)).collect();
    assert_eq!(sources, records);
}

#[test]
fn unreadable_project_database_is_damage_and_unchanged() {
    let (server, sandbox) = (Server::start(0, Tree::of(3).handler()).unwrap(), Sandbox::new());
    let other =
        sandbox.write("other.txt", "no database, but a file that somebody may want to keep\n".repeat(30));
    let flags = ["-O", "out.jsonl", "--project", "p", "--database", "other.txt"];
    let done = run(&mut sandbox.crawl(&[server.url("/")], &flags)).expect(7);
    assert!(done.stderr.contains("other.txt"), "{}", done.stderr);
    assert!(fs::read_to_string(other).unwrap().starts_with("no database"), "it is left alone");
    let done = run(&mut sandbox.crawl(&[server.url("/")], &["--project", " p"])).expect(2);
    assert!(done.stderr.contains("crawl.project: name:"), "{}", done.stderr);
}

#[test]
fn project_deleted_during_a_crawl_is_a_storage_failure() {
    let tree = Tree { delay: Duration::from_millis(30), ..Tree::of(60) };
    let (server, sandbox) = (Server::start(0, tree.handler()).unwrap(), Sandbox::new());
    let mut crawl = sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--no-dedup", "--project", "p"]);
    let running = Run::start(crawl.env("CRAWL_OUTPUT_BATCH", "1"));
    eventually("pages are kept", || {
        sandbox.path(DEFAULT).exists() && {
            let store = store(&sandbox, DEFAULT);
            store.project_named("p").unwrap().is_some_and(|p| p.sources > 2)
        }
    });
    run(sandbox.bare().args(["projects", "delete", "p"])).expect(0);
    let done = running.wait().expect(3);
    assert!(done.stderr.contains("the project was deleted"), "{}", done.stderr);
}

#[test]
fn projects_are_shown_analysed_and_deleted() {
    let (server, sandbox) = (Server::start(0, site).unwrap(), Sandbox::new());
    let projects = |args: &[&str], code: i32| run(sandbox.bare().arg("projects").args(args)).expect(code);
    let json = |args: &[&str]| -> Value {
        serde_json::from_str(&projects(&[args, &["--json"]].concat(), 0).stdout).unwrap()
    };
    for (name, group) in [("one", "a"), ("two", "b")] {
        let flags = ["-O", "out.jsonl", "--fresh", "--no-dedup", "--project", name, "--source-group", group];
        run(&mut sandbox.crawl(&[server.url("/")], &flags)).expect(0);
    }
    let list = json(&["list"]);
    assert_eq!((list[0]["name"].as_str(), list[1]["sources"].as_u64()), (Some("one"), Some(10)));
    assert!(projects(&["list"], 0).stdout.contains("10 pages"));
    let done = json(&["analyze", "one", "--mode", "exact"]);
    let domain = server.url("").replace("http://", "");
    assert_eq!(done["domains_analyzed"], 1);
    assert_eq!(done["total_pages_cleaned"], 10);
    assert_eq!(done["domain_results"][0]["domain"], domain.trim_end_matches('/'));
    assert!(done["total_bytes_removed"].as_u64() > Some(10 * 90), "{done}");
    let shown = json(&["show", "one"]);
    assert_eq!(shown["boilerplate"][0]["pages_analyzed"], 10);
    assert_eq!(shown["boilerplate"][0]["threshold_pct"], 0.7);
    assert!(shown["boilerplate"][0]["boilerplate_hashes"].is_null());
    assert!(projects(&["show", "one"], 0).stdout.contains("of 10 analysed"));
    assert_eq!(json(&["show", "two"])["boilerplate"], serde_json::json!([]), "another project's pages");
    assert_eq!(json(&["analyze", "two", "--source-group", "a"])["domains_analyzed"], 0);
    let id = list[0]["id"].as_str().unwrap();
    assert!(projects(&["delete", id], 0).stdout.contains("deleted one with 10 pages"));
    assert!(projects(&["show", "one"], 2).stderr.contains("there is no project \"one\""));
    assert_eq!(json(&["list"]).as_array().unwrap().len(), 1);
    assert!(projects(&["create", "two"], 2).stderr.contains("already"));
    assert_eq!(json(&["create", "three"])["sources"], 0);
}

/// Pages of a project as a crawl stores them: own text, a tracking pixel, a footer.
fn sheets(count: usize) -> Vec<NewSource> {
    let sheet = |n: usize| {
        let own = format!(
            "The keeper of sheet {n} wrote down {} boats and what each of them had brought that day.",
            n * 7
        );
        let footer =
            "Harbour office, quay nine, open on weekdays from eight to four and by appointment on Saturdays";
        let pixel = "![](https://www.facebook.com/tr?id=7&ev=PageView)";
        NewSource {
            url: format!("https://h.example/{n}"),
            domain: "h.example".into(),
            source_group: Some(if n < 3 { "few" } else { "many" }.into()),
            metadata: r#"{"extractor":"readability"}"#.into(),
            content: format!("{own}\n\n{pixel}\n\n\n\n{own} Twice.\n\n{footer}"),
            cleaned_content: Some(format!("{own}\n\n{own} Twice.")),
        }
    };
    (0..count).map(sheet).collect()
}

#[test]
fn analysis_gives_the_same_text_as_a_crawl() {
    for mode in ["exact", "site"] {
        let sandbox = Sandbox::new();
        let store = store(&sandbox, "p.sqlite");
        let id = store.create_project("p", 1).unwrap().unwrap().id;
        store.save_sources(id, &sheets(8), 1).unwrap();
        let before: Vec<_> =
            kept(&store, "p").into_iter().map(|source| source.page.cleaned_content).collect();
        let mut analyze = sandbox.bare();
        run(analyze.args(["projects", "--database", "p.sqlite", "analyze", "p", "--mode", mode])).expect(0);
        let after: Vec<_> = kept(&store, "p").into_iter().map(|source| source.page.cleaned_content).collect();
        let tidy = |texts: &[Option<String>]| -> Vec<String> {
            texts.iter().flatten().map(|text| text.trim_end().to_owned()).collect()
        };
        assert_eq!(tidy(&after), tidy(&before), "{mode}");
    }
}

#[test]
fn analysis_of_too_few_pages_keeps_earlier_results() {
    let sandbox = Sandbox::new();
    let store = store(&sandbox, "p.sqlite");
    let id = store.create_project("p", 1).unwrap().unwrap().id;
    store.save_sources(id, &sheets(8), 1).unwrap();
    let analyze = |flags: &[&str]| {
        let mut command = sandbox.bare();
        run(command.args(["projects", "--database", "p.sqlite", "analyze", "p"]).args(flags)).expect(0).stdout
    };
    analyze(&["--mode", "exact"]);
    let before = state(&store);
    assert!(before.0.iter().all(Option::is_some) && before.1[0].findings.pages_analyzed == 8);
    for flags in [["--source-group", "few"], ["--min-pages", "20"]] {
        let told = analyze(&flags);
        assert!(told.contains("h.example: ") && told.contains("not judged"), "{told}");
        let answer: Value = serde_json::from_str(&analyze(&[&flags[..], &["--json"]].concat())).unwrap();
        let domain = &answer["domain_results"][0];
        assert_eq!(
            (domain["pages_cleaned"].as_u64(), domain["warning"].is_string()),
            (Some(0), true),
            "{answer}"
        );
        assert_eq!(state(&store), before, "{flags:?}");
    }
    // unanalysed pages have counts too
    let other = store.create_project("q", 1).unwrap().unwrap().id;
    store.save_sources(other, &sheets(2), 1).unwrap();
    run(sandbox.bare().args(["projects", "--database", "p.sqlite", "analyze", "q"])).expect(0);
    assert_eq!(store.boilerplate(other, None).unwrap()[0].findings.pages_analyzed, 2);
}

/// In the mode `site` too, the hashes of an analysis are those of the specification and of a record's
/// `removed`.
#[test]
fn boilerplate_hashes_match_those_of_removed_parts() {
    let sandbox = Sandbox::new();
    let store = store(&sandbox, "p.sqlite");
    let id = store.create_project("p", 1).unwrap().unwrap().id;
    store.save_sources(id, &sheets(8), 1).unwrap();
    let lines: Vec<String> = sheets(8)
        .iter()
        .map(|page| serde_json::json!({"url": page.url, "content": page.content, "metadata": {"extractor": "readability"}}).to_string())
        .collect();
    sandbox.write("in.jsonl", lines.join("\n"));
    for mode in ["exact", "site"] {
        run(sandbox.bare().args(["projects", "--database", "p.sqlite", "analyze", "p", "--mode", mode]))
            .expect(0);
        let found = store.boilerplate(id, None).unwrap().remove(0).findings;
        let footer =
            crawl_dedup::fingerprint::hash_block(sheets(1)[0].content.rsplit("\n\n").next().unwrap());
        assert_eq!(found.boilerplate_hashes, [footer], "{mode}");
        let done = run(sandbox.bare().args(["dedup", "--mode", mode, "in.jsonl"])).expect(0).stdout;
        for line in done.lines() {
            let record: Value = serde_json::from_str(line).unwrap();
            let removed = &record["boilerplate"]["removed"][0];
            assert_eq!(removed["hash"], format!("{footer:016x}"), "{mode}");
            assert_eq!(removed["key"].is_string(), mode == "site");
        }
    }
}

/// Cleaned contents and statistics, which an analysis changes.
fn state(store: &SqliteProjects) -> (Vec<Option<String>>, Vec<DomainBoilerplate>) {
    let id = store.project_named("p").unwrap().unwrap().id;
    let pages = kept(store, "p").into_iter().map(|s| s.page.cleaned_content).collect();
    let mut rows = store.boilerplate(id, None).unwrap();
    rows.iter_mut().for_each(|row| row.updated_at_ms = 0);
    (pages, rows)
}

#[test]
fn killed_analysis_leaves_the_old_or_new_result() {
    let sandbox = Sandbox::new();
    let project = store(&sandbox, "p.sqlite");
    let id = project.create_project("p", 1).unwrap().unwrap().id;
    let pages: Vec<NewSource> = (0..300)
        .map(|n| {
            let own = format!("Sheet {n} has a text of its own. ").repeat(150);
            let shared = "What every sheet of this house says in the same words at its very end.";
            let some =
                if n % 4 == 0 { "" } else { "What three of four sheets of this house say word for word." };
            NewSource {
                url: format!("https://h{}.example/{n}", n % 5),
                domain: format!("h{}.example", n % 5),
                source_group: None,
                metadata: "{}".into(),
                content: format!("{own}\n\n{some}\n\n{shared}"),
                cleaned_content: None,
            }
        })
        .collect();
    assert!(project.save_sources(id, &pages, 1).unwrap());
    let analyze = |share: &str| {
        let mut command = sandbox.bare();
        command.args(["projects", "--database", "p.sqlite", "analyze", "p", "--mode", "exact"]);
        command.args(["--threshold-pct", share]);
        command
    };
    run(&mut analyze("0.9")).expect(0);
    let old = state(&project);
    run(&mut analyze("0.5")).expect(0);
    let new = state(&project);
    assert_ne!(old.0, new.0);
    assert_ne!(old.1[0].findings, new.1[0].findings);
    let (mut killed, mut kept_old) = (0, 0);
    for round in 0..6_u64 {
        run(&mut analyze("0.9")).expect(0);
        assert_eq!(state(&project), old);
        // empties the log, which then grows by the analysis to kill
        drop(store(&sandbox, "p.sqlite"));
        let log = || fs::metadata(sandbox.path("p.sqlite-wal")).map_or(0, |found| found.len());
        let changed = || fs::metadata(sandbox.path("p.sqlite-wal")).and_then(|found| found.modified()).ok();
        let (before, at) = (log(), changed());
        let mut running = Run::start(&mut analyze("0.5"));
        // the log may be rewritten from its start: then its time changes
        let begun = |grown: u64| if before == 0 { log() > grown } else { changed() != at };
        while running.is_on() && !begun(round * 200_000) {
            std::thread::yield_now();
        }
        killed += u64::from(running.is_on());
        running.kill();
        let found = state(&store(&sandbox, "p.sqlite"));
        assert!(found == old || found == new, "round {round}: neither the old result nor the new one");
        kept_old += u64::from(found == old);
    }
    assert!(
        killed > 0 && kept_old > 0,
        "killed in {killed} of 6 rounds, {kept_old} before the commit had ended"
    );
}

#[test]
fn check_of_a_missing_database_fails() {
    let sandbox = Sandbox::new();
    let told = run(sandbox.bare().args(["projects", "check", "--database", "nowhere.sqlite"])).expect(2);
    assert!(told.stderr.contains("nowhere.sqlite") && told.stderr.contains("--database"), "{}", told.stderr);
    assert!(!sandbox.path("nowhere.sqlite").exists());
}
