//! Pages that repeat others: reported in the stream, left out on request, over kills, rounds and runs of a
//! project.

use crate::{
    kills::kill_after,
    run::{Sandbox, record, run, url_counts},
    support::server::{Handler, Request, Response, Server},
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    sync::{Arc, Mutex},
    time::Duration,
};

/// Invented words, so that no two families have a common shingle.
fn word(family: usize, at: usize) -> String {
    let mut n = (family * 1_000 + at + 1) * 7_919;
    let mut out = String::new();
    for _ in 0..5 {
        out.push(char::from(b"bdfgklmnprst"[n % 12]));
        out.push(char::from(b"aeiou"[n / 12 % 5]));
        n = n / 3 + at;
    }
    out
}

/// A text of 200 words with `changed` words of its own. With one to three of them it is a near duplicate of
/// the unchanged version (similarity 0.95 to 0.86), with more it is not.
fn text(family: usize, version: usize, changed: usize) -> String {
    let own = |at: usize| (1..=changed).any(|n| n * 200 / (changed + 1) == at);
    let words =
        (0..200).map(|at| if own(at) { word(500 + family, version * 300 + at) } else { word(family, at) });
    words.collect::<Vec<_>>().chunks(40).map(|part| part.join(" ")).collect::<Vec<_>>().join("\n")
}

fn page(text: &str, links: &[String]) -> String {
    let mut out = String::from("<html lang=en><title>Page</title><body><article>");
    text.lines().for_each(|part| write!(out, "<p>{part}</p>").unwrap());
    links.iter().for_each(|link| write!(out, "<p><a href=\"{link}\">x</a></p>").unwrap());
    out + "</article>"
}

/// Texts by path. The start page links to all of them, in order.
#[derive(Clone, Default)]
struct Pages(Arc<Mutex<BTreeMap<String, String>>>);

impl Pages {
    fn of(pages: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(Arc::new(Mutex::new(pages.into_iter().collect())))
    }

    /// Ten families: a text, a copy, versions with one to three changed words, and one with ten.
    fn families() -> Self {
        Self::of((0..10).flat_map(|family| {
            let changed = [0, 0, 1, 2, 3, 10];
            (0..6).map(move |n| (format!("/p{n}-{family}"), text(family, n, changed[n])))
        }))
    }

    fn set(&self, path: &str, text: Option<String>) {
        let mut pages = self.0.lock().unwrap();
        match text {
            Some(text) => pages.insert(path.into(), text),
            None => pages.remove(path),
        };
    }
}

impl Handler for Pages {
    fn answer(&self, request: &Request) -> Response {
        let pages = self.0.lock().unwrap();
        match pages.get(request.path()) {
            Some(text) => Response::html(page(text, &[])).after(Duration::from_millis(3)),
            None if request.path() == "/" => {
                Response::html(page(&text(900, 0, 0), &pages.keys().cloned().collect::<Vec<_>>()))
            }
            None => Response::status(404),
        }
    }
}

const PLAIN: [&str; 4] = ["--no-dedup", "--links", "strip", "-O"];

fn crawl(sandbox: &Sandbox, server: &Server, flags: &[&str]) -> std::process::Command {
    sandbox.crawl(&[server.url("/")], &[&PLAIN, flags].concat())
}

/// Sets of five words.
fn shingles(text: &str) -> BTreeSet<Vec<String>> {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    words.windows(5).map(<[String]>::to_vec).collect()
}

fn jaccard(a: &Value, b: &Value) -> f64 {
    let (a, b) = (shingles(a["text"].as_str().unwrap()), shingles(b["text"].as_str().unwrap()));
    a.intersection(&b).count() as f64 / a.union(&b).count() as f64
}

fn duplicate_of(record: &Value) -> Option<&str> {
    record["metadata"]["duplicateOf"].as_str()
}

/// Each record names the most similar earlier one, or none if none is similar.
fn assert_named(records: &[Value]) -> usize {
    let mut named = 0;
    for (at, record) in records.iter().enumerate() {
        let before = records[..at].iter().map(|earlier| (jaccard(record, earlier), earlier));
        let best = before.filter(|(j, _)| *j >= 0.85).max_by(|a, b| a.0.total_cmp(&b.0));
        let meta = &record["metadata"];
        let Some((similarity, _)) = best else {
            assert_eq!(duplicate_of(record), None, "{}", record["url"]);
            continue;
        };
        named += 1;
        let first = records[..at].iter().find(|r| r["id"] == meta["duplicateOf"]).unwrap();
        assert!((jaccard(record, first) - similarity).abs() < 1e-9, "{} {}", record["url"], first["url"]);
        assert!((meta["similarity"].as_f64().unwrap() - similarity).abs() < 1e-9, "{}", record["url"]);
        let estimate = meta["similarityEstimate"].as_f64();
        assert!(estimate.is_none_or(|e| (e - similarity).abs() < 0.2), "{estimate:?} for {similarity}");
        assert!(record["warnings"].as_array().unwrap().contains(&"duplicate".into()));
    }
    named
}

/// Left-out pages by path, each with the record that it repeats and one log line.
fn dropped_duplicates(sandbox: &Sandbox, server: &Server) -> BTreeMap<String, String> {
    let errors = sandbox.errors();
    let lines: Vec<_> = errors.iter().filter(|line| line["kind"] == "duplicate").collect();
    let of = |line: &Value| line["message"].as_str().unwrap().split(' ').nth(3).unwrap().to_owned();
    let out: BTreeMap<_, _> =
        lines.iter().map(|l| (l["url"].as_str().unwrap().replace(&server.url(""), ""), of(l))).collect();
    assert_eq!(out.len(), lines.len(), "a line for each: {lines:?}");
    out
}

/// Every page is a record or was left out for one, and no two records are similar.
fn assert_one_of_each(sandbox: &Sandbox, server: &Server, pages: &Pages) -> usize {
    let records = sandbox.records("out.jsonl");
    let out = dropped_duplicates(sandbox, server);
    let ids: BTreeSet<&str> = records.iter().map(|r| r["id"].as_str().unwrap()).collect();
    assert!(out.values().all(|id| ids.contains(id.as_str())), "{out:?}");
    let counts = url_counts(&records);
    assert!(counts.values().all(|n| *n == 1));
    for path in pages.0.lock().unwrap().keys() {
        let written = counts.contains_key(&server.url(path));
        assert!(written != out.contains_key(path), "{path} is written: {written}");
    }
    assert_eq!(assert_named(&records), 0);
    out.len()
}

#[test]
fn near_duplicate_names_its_original() {
    let pages = Pages::families();
    let (server, sandbox) = (Server::start(0, pages).unwrap(), Sandbox::new());
    let done = run(&mut crawl(&sandbox, &server, &["out.jsonl", "--host-concurrency", "4"])).expect(0);
    let records = sandbox.records("out.jsonl");
    assert_eq!(records.len(), 61);
    assert_eq!(assert_named(&records), 40, "of each family of six two are like no other");
    assert!(done.stderr.contains("40 duplicates (30 of them near)"), "{}", done.stderr);
    let off = run(&mut crawl(&sandbox, &server, &["off.jsonl", "--no-near-duplicates", "--fresh"])).expect(0);
    assert!(off.stderr.contains("10 duplicates (0 of them near)"), "{}", off.stderr);
    let strict = ["strict.jsonl", "--near-jaccard", "0.93", "--fresh"];
    let strict = run(&mut crawl(&sandbox, &server, &strict)).expect(0);
    // a copy, and the version with one changed word
    assert!(strict.stderr.contains("20 duplicates (10 of them near)"), "{}", strict.stderr);
}

#[test]
fn dropped_duplicates_are_counted_and_one_of_each_stays() {
    let pages = Pages::families();
    let (server, sandbox) = (Server::start(0, pages.clone()).unwrap(), Sandbox::new());
    let flags = ["out.jsonl", "--drop-duplicates", "--host-concurrency", "4"];
    let done = run(&mut crawl(&sandbox, &server, &flags)).expect(0);
    let out = assert_one_of_each(&sandbox, &server, &pages);
    assert!(out >= 30, "{out}");
    assert!(done.stderr.contains(&format!("duplicate: {out}")), "{}", done.stderr);
    // the next round reads them again, and leaves them out for the same unchanged records
    let again = [
        "again.jsonl",
        "--drop-duplicates",
        "--host-concurrency",
        "4",
        "--recrawl",
        "all",
        "--emit",
        "changes",
    ];
    let done = run(&mut crawl(&sandbox, &server, &again)).expect(0);
    assert!(done.stderr.contains(&format!("duplicate: {out}")), "{}", done.stderr);
    assert!(done.stderr.contains(&format!("0 new, 0 changed, {} unchanged", 61 - out)), "{}", done.stderr);
}

/// Kills a crawl several times after a number of requests, then lets it end.
fn killed(sandbox: &Sandbox, server: &Server, flags: &[&str]) -> usize {
    let start = || {
        let mut command = crawl(sandbox, server, flags);
        command.env("CRAWL_OUTPUT_BATCH", "3");
        command
    };
    let mut early = 0;
    for more in [6, 10, 14, 12] {
        kill_after(server, &mut start(), more);
        early = std::fs::read(sandbox.path("out.jsonl")).unwrap_or_default().len();
    }
    run(&mut start()).expect(0);
    early
}

#[test]
fn resumed_crawl_marks_no_page_as_its_own_duplicate() {
    let (server, sandbox) = (Server::start(0, Pages::families()).unwrap(), Sandbox::new());
    let early = killed(&sandbox, &server, &["out.jsonl", "--host-concurrency", "2"]);
    assert!(early > 0, "the test is about records that were on disk when the process died");
    let records = sandbox.records("out.jsonl");
    assert_eq!((records.len(), url_counts(&records).len()), (61, 61));
    assert_eq!(assert_named(&records), 40);
}

#[test]
fn resumed_crawl_keeps_one_of_each_duplicate() {
    let pages = Pages::families();
    let (server, sandbox) = (Server::start(0, pages.clone()).unwrap(), Sandbox::new());
    let early = killed(&sandbox, &server, &["out.jsonl", "--drop-duplicates", "--host-concurrency", "2"]);
    assert!(early > 0, "the test is about records that were on disk when the process died");
    assert!(assert_one_of_each(&sandbox, &server, &pages) >= 30);
}

#[test]
fn originals_are_remembered_across_rounds() {
    let pages = Pages::of([("/m".to_owned(), text(1, 0, 0))]);
    let (server, sandbox) = (Server::start(0, pages.clone()).unwrap(), Sandbox::new());
    let round = |flags: &[&str]| {
        run(crawl(&sandbox, &server, &[&["out.jsonl", "--recrawl", "all"], flags].concat())
            .env("CRAWL_RECRAWL_CONFIRM_GONE", "20ms"))
        .expect(0);
        sandbox.records("out.jsonl")
    };
    let first = round(&[]);
    // fetched before the page that it repeats, which came in the round before
    pages.set("/a", Some(text(1, 1, 2)));
    let m = record(&first, &server.url("/m"))["id"].as_str().unwrap();
    let records = round(&[]);
    assert_eq!(duplicate_of(record(&records, &server.url("/a"))), Some(m));
    pages.set("/m", Some(text(1, 0, 1)));
    let records = round(&[]);
    let now = duplicate_of(record(&records, &server.url("/m")));
    assert_eq!(now, None, "a page does not repeat one that came after it");
    // a page that is gone cannot be repeated
    pages.set("/m", None);
    round(&[]);
    pages.set("/a", Some(text(1, 3, 2)));
    let records = round(&[]);
    assert_eq!(duplicate_of(record(&records, &server.url("/a"))), None);
    // nor can its changed text
    pages.set("/a", Some(text(2, 0, 0)));
    round(&[]);
    pages.set("/b", Some(text(1, 2, 1)));
    let records = round(&[]);
    assert_eq!(duplicate_of(record(&records, &server.url("/b"))), None);
}

#[test]
fn duplicates_are_found_across_runs_of_a_project() {
    let here = Server::start(0, Pages::of([("/x".to_owned(), text(1, 0, 0))])).unwrap();
    let there = Pages::of([("/y".to_owned(), text(1, 1, 2)), ("/z".to_owned(), text(2, 0, 0))]);
    let there = Server::start(0, there).unwrap();
    let (first, second) = (Sandbox::new(), Sandbox::new());
    let database = first.path("p.sqlite");
    let project = ["--project", "p", "--database", database.to_str().unwrap()];
    let go = |sandbox: &Sandbox, server: &Server, flags: &[&str]| {
        run(&mut crawl(sandbox, server, &[&["out.jsonl"], project.as_slice(), flags].concat())).expect(0);
        sandbox.records("out.jsonl")
    };
    let records = go(&first, &here, &[]);
    let x = record(&records, &here.url("/x"))["id"].clone();
    let records = go(&second, &there, &[]);
    assert_eq!(record(&records, &there.url("/y"))["metadata"]["duplicateOf"], x);
    assert_eq!(duplicate_of(record(&records, &there.url("/z"))), None);
    // again: no page repeats itself, and the first one stays the first
    assert_eq!(duplicate_of(record(&go(&first, &here, &["--fresh"]), &here.url("/x"))), None);
    let records = go(&second, &there, &["--drop-duplicates", "--fresh"]);
    assert_eq!(dropped_duplicates(&second, &there)["/y"], x.as_str().unwrap());
    // the start pages of both are the same
    assert_eq!(url_counts(&records).into_keys().collect::<Vec<_>>(), [there.url("/z")]);
    let mut delete = first.bare();
    delete.args(["projects", "--database", "p.sqlite", "delete", "p"]);
    run(&mut delete).expect(0);
    assert_eq!(
        go(&second, &there, &["--drop-duplicates", "--fresh"]).len(),
        3,
        "with the project its texts are gone"
    );
}

#[test]
fn short_pages_are_compared_by_content_hash_only() {
    let few = "Twelve quite extraordinarily longwinded expressions nevertheless constitute insufficient evidence whatsoever, regrettably";
    let nearly = format!("{few} indeed");
    let long = text(1, 0, 0);
    let nearly_long = format!("{long} indeed");
    let pages = [("/1", few), ("/2", few), ("/3", nearly.as_str()), ("/4", &long), ("/5", &nearly_long)];
    let pages = pages.map(|(path, text)| (path.to_owned(), text.to_owned()));
    let (server, sandbox) = (Server::start(0, Pages::of(pages)).unwrap(), Sandbox::new());
    run(&mut crawl(&sandbox, &server, &["out.jsonl"])).expect(0);
    let records = sandbox.records("out.jsonl");
    let same: Vec<_> = records.iter().filter(|r| duplicate_of(r).is_some()).collect();
    let is_long = |r: &&&Value| [server.url("/4"), server.url("/5")].iter().any(|url| r["url"] == *url);
    let (longer, short): (Vec<&Value>, Vec<&Value>) = same.iter().partition(|r| is_long(r));
    assert_eq!(short.len(), 1);
    assert_eq!(short[0]["metadata"]["similarity"], 1.0);
    assert_ne!(short[0]["url"], server.url("/3"));
    // one word more in a longer text: a near duplicate
    assert_eq!(longer.len(), 1);
    assert!(longer[0]["metadata"]["similarity"].as_f64().unwrap() < 1.0);
}

#[test]
fn settings_out_of_range_are_refused() {
    let sandbox = Sandbox::new();
    for (name, value, says) in [
        ("JACCARD", "1.5", "near_duplicates.jaccard is 1.5"),
        ("JACCARD", "0.1", "near_duplicates.jaccard is 0.1"),
    ] {
        let mut command = sandbox.crawl(&["http://127.0.0.1:9/".to_owned()], &[]);
        let done = run(command.env(format!("CRAWL_NEAR_DUPLICATES_{name}"), value)).expect(2);
        assert!(done.stderr.contains(says), "{}", done.stderr);
    }
}
