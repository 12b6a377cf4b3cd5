//! After any end of a run the same command resumes it: finally every page is a record, exactly once.

use crate::{
    kills::kill_after,
    run::{PATIENCE, Run, Sandbox, lines, run, url_counts},
    support::{
        made::Tree,
        server::{Handler, Request, Response, Server},
        site::Site,
    },
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

/// Beyond the last page, so that only the calendar is cut off there.
const DEPTH: [&str; 2] = ["--depth", "6"];

fn harbour() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/sites/harbour")
}

/// The fixture site with slow answers, so that a crawl can be stopped during its run.
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

/// Records of an undisturbed crawl.
fn undisturbed() -> BTreeMap<String, usize> {
    let (server, sandbox) = (Server::start(0, Site::open(&harbour()).unwrap()).unwrap(), Sandbox::new());
    run(&mut sandbox.crawl(&[server.url("/")], &[&["-O", "out.jsonl"], DEPTH.as_slice()].concat())).expect(0);
    let counts = without_host(&sandbox.records("out.jsonl"), &server);
    assert!(counts.len() > 60 && counts.values().all(|n| *n == 1), "{counts:?}");
    counts
}

/// Kills a crawl several times after a number of requests, then lets it end. A small `settle` writes records
/// early, so that some are on disk at each kill.
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
fn kills_while_pages_are_held_lose_no_record() {
    let (counts, _) = killed_and_resumed("200");
    assert_eq!(counts, undisturbed());
}

#[test]
fn kills_while_records_are_written_lose_no_record() {
    let (counts, early) = killed_and_resumed("5");
    assert!(early > 0, "the test is about records that were on disk when the process died");
    assert_eq!(counts, undisturbed());
}

/// Output of a killed process after its last settled line is cut off, not kept beside the rewritten record.
#[test]
fn a_torn_line_at_the_end_is_cut_off() {
    let tree = Tree { delay: Duration::from_millis(20), ..Tree::of(40) };
    let (server, sandbox) = (Server::start(0, tree.handler()).unwrap(), Sandbox::new());
    let crawl = || sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--no-dedup"]);
    let running = Run::start(&mut crawl());
    assert!(server.wait(PATIENCE, |requests| requests.len() > 15), "{}", running.stderr_so_far());
    running.kill();
    let mut torn = fs::read(sandbox.path("out.jsonl")).unwrap();
    torn.extend_from_slice(b"{\"schema_version\":2,\"id\":\"torn");
    fs::write(sandbox.path("out.jsonl"), torn).unwrap();
    run(&mut crawl()).expect(0);
    let counts = url_counts(&sandbox.records("out.jsonl"));
    assert_eq!(counts, tree.targets().iter().map(|t| (server.url(t), 1)).collect());
}

#[test]
fn same_command_resumes_after_a_limit() {
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
    // at a limit, pages in flight may be dropped and fetched again; no more than were in flight
    assert!(asked.len() <= once.len() + 2 * 16, "{} requests for {} pages", asked.len(), once.len());
}

#[test]
fn finished_round_is_followed_by_a_new_one() {
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
    run(&mut sandbox.crawl(&[server.url("/")], &["-O", "replaced.jsonl", "--emit", "changes"])).expect(0);
    assert_eq!(sandbox.read("replaced.jsonl"), "", "nothing has changed");
}

#[test]
fn fresh_discards_the_state() {
    let tree = Tree::of(30);
    let (server, sandbox) = (Server::start(0, tree.handler()).unwrap(), Sandbox::new());
    run(&mut sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--limit", "5"])).expect(5);
    run(&mut sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--fresh"])).expect(0);
    let counts = url_counts(&sandbox.records("out.jsonl"));
    assert_eq!(counts, tree.targets().iter().map(|t| (server.url(t), 1)).collect());
}

/// A run that cannot begin leaves the state that it was to forget.
#[test]
fn fresh_discards_the_state_only_after_settings_checks() {
    let (server, sandbox) = (Server::start(0, Tree::of(30).handler()).unwrap(), Sandbox::new());
    let crawl = |flags: &[&str]| run(&mut sandbox.crawl(&[server.url("/")], flags));
    crawl(&["-O", "out.jsonl", "--limit", "5"]).expect(5);
    for (flags, code) in [
        (["-O", "new.jsonl", "--fields", "nonsense"], 2),
        (["-O", "https://a.test/x.jsonl", "--fields", "id"], 2),
        (["-O", "missing/new.jsonl", "--fields", "id"], 3),
        (["-O", "new.jsonl", "--metrics-listen", "192.0.2.1:1"], 2),
    ] {
        let refused = crawl(&[&flags[..], &["--fresh"]].concat());
        assert_eq!(refused.code(), code, "{flags:?}: {}", refused.stderr);
    }
    let requests = server.requests().len();
    crawl(&["-O", "out.jsonl", "--limit", "1"]).expect(5);
    let again = server.requests().split_off(requests);
    assert!(again.iter().all(|request| request.path() != "/"), "the state is forgotten");
}

/// Standard output cannot be cut back; a resumed run may repeat the last batch, but loses no record.
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

/// A state of version 6 of the store, killed during a round over `Tree::of(7)` at HOST. The last program of
/// that version wrote it: four pages are held, one is leased, two are queued.
const VERSION_6: &str = include_str!("../../fixtures/states/version6.sql");

/// The same state after a program of version 7 opened it and was killed: four pages are held, three are queued.
const VERSION_7: &str = include_str!("../../fixtures/states/version7.sql");

/// Copies an old state to the sandbox, with its site at the server's URL.
fn old_state(version: &str, sandbox: &Sandbox, server: &Server) {
    fs::create_dir_all(sandbox.path("state")).unwrap();
    let state = rusqlite::Connection::open(sandbox.path("state/crawl.sqlite")).unwrap();
    state.execute_batch(&version.replace("HOST", &server.url("").replace("http://", ""))).unwrap();
    let mut select = state.prepare("SELECT id, url FROM urls").unwrap();
    let rows = select.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))).unwrap();
    for (id, url) in rows.map(Result::unwrap).collect::<Vec<_>>() {
        let key = crawl_model::UrlKey::of(&url).0;
        state.execute("UPDATE urls SET key = ?2 WHERE id = ?1", (id, key)).unwrap();
    }
}

#[test]
fn unfinished_state_of_version_6_resumes() {
    assert_old_state_resumes(VERSION_6);
}

#[test]
fn unfinished_state_of_version_7_resumes() {
    assert_old_state_resumes(VERSION_7);
}

/// Ends the round of an old state: each page is written once, and held pages are not fetched again.
fn assert_old_state_resumes(version: &str) {
    let (server, sandbox) = (Server::start(0, Tree::of(7).handler()).unwrap(), Sandbox::new());
    old_state(version, &sandbox, &server);
    run(&mut sandbox.crawl(&[server.url("/")], &["-o", "out.jsonl"])).expect(0);
    let records = sandbox.records("out.jsonl");
    assert_eq!(url_counts(&records), Tree::of(7).targets().iter().map(|t| (server.url(t), 1)).collect());
    let held = records.iter().filter(|record| record["text"].as_str().unwrap().contains("nobody else says"));
    assert_eq!(held.count(), 4, "held pages are those of the old state");
    let check =
        run(sandbox.bare().args(["state", "check", "--state-dir"]).arg(sandbox.path("state"))).expect(0);
    assert!(check.stdout.contains("no damage found"), "{}", check.stdout);
}

/// A damaged held page of an unfinished round is fetched again; the others are unchanged.
#[test]
fn a_damaged_held_page_is_fetched_again() {
    let (server, sandbox) = (Server::start(0, Tree::of(7).handler()).unwrap(), Sandbox::new());
    old_state(VERSION_6, &sandbox, &server);
    let state = rusqlite::Connection::open(sandbox.path("state/crawl.sqlite")).unwrap();
    let cut = "UPDATE held SET page = substr(page, 1, 900) WHERE id = (SELECT max(id) FROM held)";
    assert_eq!(state.execute(cut, []).unwrap(), 1);
    drop(state);
    let done = run(&mut sandbox.crawl(&[server.url("/")], &["-o", "out.jsonl"])).expect(0);
    assert!(done.stderr.contains("held page") && done.stderr.contains("fetched again"), "{}", done.stderr);
    let records = sandbox.records("out.jsonl");
    assert_eq!(url_counts(&records), Tree::of(7).targets().iter().map(|t| (server.url(t), 1)).collect());
    assert_eq!(sandbox.errors().len(), 0);
}

/// A part of the database is overwritten during a round: the run reports it, a repair saves the rest, and
/// each page is written once.
#[test]
fn damaged_state_is_repaired_and_resumed() {
    let tree = Tree { pages: 300, ..Tree::of(300) };
    let (server, sandbox) = (Server::start(0, tree.handler()).unwrap(), Sandbox::new());
    let crawl = |more: &[&str]| {
        let args = [&["-o", "out.jsonl", "--no-dedup"], more].concat();
        sandbox.crawl(&[server.url("/")], &args)
    };
    run(&mut crawl(&["--limit", "120"])).expect(5);
    let database = sandbox.path("state/crawl.sqlite");
    let mut bytes = fs::read(&database).unwrap();
    // pages of the table of URLs: those whose rows have the longest text
    let leaves: Vec<usize> = (0..bytes.len() / 4096)
        .filter(|n| {
            bytes[n * 4096] == 13
                && bytes[n * 4096..][..4096].windows(5).filter(|w| w == b".html").count() > 12
        })
        .collect();
    let leaf = leaves[leaves.len() / 2] * 4096;
    let damaged = String::from_utf8_lossy(&bytes[leaf..leaf + 4096]).into_owned();
    bytes[leaf..leaf + 4096].fill(0);
    fs::write(&database, bytes).unwrap();
    let failed = run(&mut crawl(&[])).expect(7);
    assert!(failed.stderr.contains("crawl state repair"), "{}", failed.stderr);
    let state = |job: &str| {
        let mut command = sandbox.bare();
        command.args(["state", job, "--state-dir"]).arg(sandbox.path("state"));
        command
    };
    run(&mut state("check")).expect(7);
    let repaired = run(&mut state("repair")).expect(0);
    assert!(repaired.stdout.contains("URLs were lost"), "{}", repaired.stdout);
    assert!(sandbox.path("state/crawl.sqlite.damaged-1").exists());
    run(&mut state("check")).expect(0);
    let sound = run(&mut state("repair")).expect(0);
    assert!(sound.stdout.contains("no damage was found"), "{}", sound.stdout);
    assert!(!sandbox.path("state/crawl.sqlite.damaged-2").exists());
    run(&mut crawl(&[])).expect(0);
    let counts = url_counts(&sandbox.records("out.jsonl"));
    assert!(counts.values().all(|n| *n == 1), "a record stands twice: {counts:?}");
    // A page may be missing only if its URL, or that of a page on the path to it, was in the damaged part.
    let is_lost = |n: usize| n > 1 && damaged.contains(&Tree::target(n));
    let lost = (1..=300).filter(|n| is_lost(*n)).count();
    assert!((13..150).contains(&lost), "{lost} URLs stood in the damaged part");
    for n in 1..=300 {
        let mut path = std::iter::successors(Some(n), |n| (*n > 1).then_some(n / 2));
        assert!(
            counts.contains_key(&server.url(&Tree::target(n))) || path.any(is_lost),
            "page {n} is missing; {lost} URLs stood in the damaged part"
        );
    }
}
