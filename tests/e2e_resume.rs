//! Whatever ends a run, the same command goes on: at the end every page is a record, exactly once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test that uses them")]

#[path = "support/kills.rs"]
mod kills;
#[path = "support/run.rs"]
mod run;
mod support;

use kills::kill_after;
use run::{PATIENCE, Run, Sandbox, lines, run, url_counts};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};
use support::{
    made::Tree,
    server::{Handler, Request, Response, Server},
    site::Site,
};

/// Past the last page, so that only the calendar ends there.
const DEPTH: [&str; 2] = ["--depth", "6"];

fn harbour() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/sites/harbour")
}

/// The fixture site, answering slowly enough that a crawl can be caught in the middle.
struct Slow(Site);

impl Handler for Slow {
    fn answer(&self, request: &Request) -> Response {
        self.0.answer(request).after(Duration::from_millis(15))
    }
}

fn slow_harbour() -> Server {
    Server::start(0, Slow(Site::open(&harbour()).unwrap())).unwrap()
}

fn without_host(records: &[Value], server: &Server) -> BTreeMap<String, usize> {
    let prefix = server.url("");
    url_counts(records).into_iter().map(|(url, n)| (url.replace(&prefix, ""), n)).collect()
}

/// What a crawl that nobody disturbs brings.
fn undisturbed() -> BTreeMap<String, usize> {
    let (server, sandbox) = (Server::start(0, Site::open(&harbour()).unwrap()).unwrap(), Sandbox::new());
    run(&mut sandbox.crawl(&[server.url("/")], &[&["-O", "out.jsonl"], DEPTH.as_slice()].concat())).expect(0);
    let counts = without_host(&sandbox.records("out.jsonl"), &server);
    assert!(counts.len() > 60 && counts.values().all(|n| *n == 1), "{counts:?}");
    counts
}

/// Kills a crawl after so many requests, again and again, then lets it end; `settle` small makes records come early,
/// so that there are some on disk when the process dies.
fn killed_and_resumed(settle: &str) -> (BTreeMap<String, usize>, usize) {
    let (server, sandbox) = (slow_harbour(), Sandbox::new());
    let crawl = || {
        let flags = [&["-O", "out.jsonl", "--host-concurrency", "3"], DEPTH.as_slice()].concat();
        let mut command = sandbox.crawl(&[server.url("/")], &flags);
        command.env("CRAWL_DEDUP_SETTLE_PAGES", settle).env("CRAWL_OUTPUT_BATCH", "4");
        command
    };
    let mut early = 0;
    for more in [3, 9, 14, 20] {
        kill_after(&server, &mut crawl(), more);
        early =
            fs::read(sandbox.path("out.jsonl")).unwrap_or_default().iter().filter(|b| **b == b'\n').count();
    }
    run(&mut crawl()).expect(0);
    (without_host(&sandbox.records("out.jsonl"), &server), early)
}

#[test]
fn killed_four_times_while_pages_are_held() {
    let (counts, _) = killed_and_resumed("200");
    assert_eq!(counts, undisturbed());
}

#[test]
fn killed_four_times_while_records_are_written() {
    let (counts, early) = killed_and_resumed("5");
    assert!(early > 0, "the test is about records that were on disk when the process died");
    assert_eq!(counts, undisturbed());
}

/// What a killed process left behind its last settled line is cut off, not kept beside the record written anew.
#[test]
fn a_torn_line_at_the_end_is_cut_off() {
    let tree = Tree { delay: Duration::from_millis(20), ..Tree::of(40) };
    let (server, sandbox) = (Server::start(0, tree.handler()).unwrap(), Sandbox::new());
    let crawl = || sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--no-dedup"]);
    let running = Run::start(&mut crawl());
    assert!(server.wait(PATIENCE, |requests| requests.len() > 15), "{}", running.stderr_so_far());
    running.kill();
    let mut torn = fs::read(sandbox.path("out.jsonl")).unwrap();
    torn.extend_from_slice(b"{\"schema_version\":1,\"id\":\"torn");
    fs::write(sandbox.path("out.jsonl"), torn).unwrap();
    run(&mut crawl()).expect(0);
    let counts = url_counts(&sandbox.records("out.jsonl"));
    assert_eq!(counts, tree.targets().iter().map(|t| (server.url(t), 1)).collect());
}

#[test]
fn after_a_limit_the_same_command_goes_on() {
    let tree = Tree::of(30);
    let (server, sandbox) = (Server::start(0, tree.handler()).unwrap(), Sandbox::new());
    let mut before = 0;
    for code in [5, 5, 0] {
        run(&mut sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--limit", "12"])).expect(code);
        let now = sandbox.records("out.jsonl").len();
        assert!(now > before && now - before <= 12, "{before}, then {now}");
        before = now;
    }
    let counts = url_counts(&sandbox.records("out.jsonl"));
    assert_eq!(counts, tree.targets().iter().map(|t| (server.url(t), 1)).collect());
    let asked = server.targets();
    let mut once = asked.clone();
    once.sort();
    once.dedup();
    // at a limit, pages that were under way may be let go and fetched again; not more than were in flight
    assert!(asked.len() <= once.len() + 2 * 16, "{} requests for {} pages", asked.len(), once.len());
}

#[test]
fn after_a_finished_round_the_next_one_starts() {
    let (server, sandbox) = (Server::start(0, Tree::of(7).handler()).unwrap(), Sandbox::new());
    let all = |name: &str, expected: usize| {
        let flags =
            [if name == "replaced.jsonl" { "-O" } else { "-o" }, name, "--recrawl", "all", "--emit", "all"];
        run(&mut sandbox.crawl(&[server.url("/")], &flags)).expect(0);
        assert_eq!(sandbox.records(name).len(), expected, "{name}");
    };
    all("replaced.jsonl", 7);
    all("replaced.jsonl", 7);
    all("appended.jsonl", 7);
    all("appended.jsonl", 14);
    assert_eq!(server.targets().len(), 28, "each of the four rounds asked for every page");
    run(&mut sandbox.crawl(&[server.url("/")], &["-O", "replaced.jsonl"])).expect(0);
    assert_eq!(sandbox.read("replaced.jsonl"), "", "nothing has changed");
}

#[test]
fn fresh_forgets_what_was_done() {
    let tree = Tree::of(30);
    let (server, sandbox) = (Server::start(0, tree.handler()).unwrap(), Sandbox::new());
    run(&mut sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--limit", "5"])).expect(5);
    run(&mut sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--fresh"])).expect(0);
    let counts = url_counts(&sandbox.records("out.jsonl"));
    assert_eq!(counts, tree.targets().iter().map(|t| (server.url(t), 1)).collect());
}

/// Standard output cannot be cut; a resumed run may repeat the last batch, but it loses nothing.
#[test]
fn standard_output_loses_nothing() {
    let tree = Tree { delay: Duration::from_millis(10), ..Tree::of(60) };
    let (server, sandbox) = (Server::start(0, tree.handler()).unwrap(), Sandbox::new());
    let crawl = || {
        let mut command = sandbox.crawl(&[server.url("/")], &["--no-dedup"]);
        command.env("CRAWL_OUTPUT_BATCH", "4");
        command
    };
    let running = Run::start(&mut crawl());
    assert!(server.wait(PATIENCE, |requests| requests.len() > 20), "{}", running.stderr_so_far());
    let first = running.kill().stdout;
    let second = run(&mut crawl()).expect(0).stdout;
    let whole = &first[..first.rfind('\n').map_or(0, |at| at + 1)];
    let counts = url_counts(&lines(&(whole.to_owned() + &second)));
    assert_eq!(counts.len(), 60);
    let repeated = counts.values().filter(|n| **n > 1).count();
    assert!(repeated <= 4, "{repeated} repeated: more than a batch");
}
