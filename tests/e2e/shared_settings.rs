//! Settings of a crawl in PostgreSQL: one set for each round, which the worker that begins the round stores.

use crate::{
    changing::Changing,
    database::Server as Database,
    run::{Done, Run, Sandbox, eventually, lines, run},
    support::server::{Request, Response, Server},
};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    fs,
    process::Command,
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    time::Duration,
};

/// Pages of [`Changing::of`] with six numbered ones.
const PAGES: usize = 8;

struct Crawl {
    server: Server,
    database: Database,
    sandbox: Sandbox,
}

impl Crawl {
    fn of(server: Server) -> Self {
        Self { server, database: Database::start(), sandbox: Sandbox::new() }
    }

    /// A worker with a directory of its own, whose parts are in a folder of the same name.
    fn worker(&self, name: &str, flags: &[&str]) -> Command {
        let output = format!("{name}-out/*.jsonl");
        let store = self.database.text_url("crawl");
        let mut command = self.sandbox.bare();
        command.arg(self.server.url("/")).args(["--delay", "0s", "--allow-address", "127.0.0.0/8"]);
        command.args(["-o", &output, "--state-dir", name, "--store", &store, "--crawl", "c"]).args(flags);
        command.env("CRAWL_CRAWL_SOFT404", "false").env("CRAWL_CRAWL_AI_OPTOUT_FILES", "false");
        command
    }

    #[track_caller]
    fn refused(&self, name: &str, flags: &[&str], words: &[&str]) -> Done {
        let asked = self.server.requests().len();
        let done = run(&mut self.worker(name, flags)).expect(2);
        for word in words {
            assert!(done.stderr.contains(word), "{word:?} is not in:\n{}", done.stderr);
        }
        assert_eq!(self.server.requests().len(), asked, "it asks for nothing");
        done
    }

    /// Records of the parts of a round.
    fn records(&self, round: u64) -> Vec<Value> {
        let store = self.database.text_url("crawl");
        let mut command = self.sandbox.bare();
        command.args(["outputs", "--json", "--crawl", "c", "--store", &store]);
        let parts: Vec<Value> = serde_json::from_str(&run(&mut command).expect(0).stdout).unwrap();
        let of_round = parts.iter().filter(|part| part["round"] == round);
        of_round
            .flat_map(|part| lines(&fs::read_to_string(part["path"].as_str().unwrap()).unwrap()))
            .collect()
    }
}

/// Text settings that each record of a whole round has.
const LEAN: [&str; 5] = ["--lean", "--recrawl", "all", "--emit", "all"];

#[test]
#[ignore = "needs PostgreSQL"]
fn round_with_new_text_settings_needs_every_page() {
    let site = Changing::of(6);
    site.tag_all();
    let crawl = Crawl::of(site.serve());
    run(&mut crawl.worker("a", &[])).expect(0);
    assert_eq!(crawl.records(1).len(), PAGES);
    let ways = [
        "output.lean = true here, false in its records",
        "--recrawl all --emit all",
        "--crawl",
        "--emit changes",
    ];
    for worker in ["a", "b"] {
        let refused = crawl.refused(worker, &["--lean"], &ways);
        assert!(!refused.stderr.contains("--fresh"), "{}", refused.stderr);
    }
    // a refusal begins no round
    run(&mut crawl.worker("a", &[])).expect(0);
    assert!(crawl.records(2).is_empty() && crawl.records(3).is_empty());

    run(&mut crawl.worker("a", &[&LEAN[..], &["--limit", "3"]].concat())).expect(5);
    crawl.refused(
        "b",
        &[],
        &["round 3 of the crawl \"c\"", "output.lean = false here, true in the round", "another --crawl"],
    );
    // two workers end the round, the one that joined knows that each page has its text
    let workers = ["b", "a"].map(|name| Run::start(&mut crawl.worker(name, &LEAN)));
    workers.into_iter().for_each(|worker| _ = worker.wait().expect(0));
    let records = crawl.records(3);
    let urls: BTreeSet<&str> = records.iter().map(|record| record["url"].as_str().unwrap()).collect();
    assert_eq!((records.len(), urls.len()), (PAGES, PAGES));
    for record in &records {
        assert!(record["text"] != "" && record.get("metadata").is_none(), "{record}");
    }
    // a round of changes alone may have others
    let count = || (1..=5).map(|round| crawl.records(round).len()).sum::<usize>();
    // worker a has begun round 4 if b ended round 3 before a had started
    let before = count();
    run(&mut crawl.worker("b", &["--emit", "changes"])).expect(0);
    assert_eq!(count(), before);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn workers_that_start_together_agree_on_new_settings() {
    let crawl = Crawl::of(Changing::of(6).serve());
    run(&mut crawl.worker("a", &[])).expect(0);
    // the machines of a crawl start at the same time, and all have the new settings
    let workers = ["a", "b", "d"].map(|name| Run::start(&mut crawl.worker(name, &LEAN)));
    workers.into_iter().for_each(|worker| _ = worker.wait().expect(0));
    let mut client = crawl.database.client();
    let round: i32 = client.query_one("SELECT round FROM crawl_c.crawls", &[]).unwrap().get(0);
    for round in 2..=u64::try_from(round).unwrap() {
        let records = crawl.records(round);
        assert!(records.iter().all(|record| record.get("metadata").is_none()), "{records:?}");
    }
    assert_eq!(crawl.records(2).len(), PAGES);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_first_start_without_a_page_does_not_fix_the_settings() {
    let (site, is_first) = (Changing::of(6), AtomicBool::new(true));
    let answer = move |request: &Request| -> Response {
        let is_late = request.path() == "/robots.txt" && is_first.swap(false, SeqCst);
        site.answer(request).after(Duration::from_secs(if is_late { 5 } else { 0 }))
    };
    let crawl = Crawl::of(Server::start(0, answer).unwrap());
    let failed = Run::start(&mut crawl.worker("a", &["--lean", "--depth", "0"]));
    eventually("it asks for robots.txt", || !crawl.server.requests().is_empty());
    failed.kill();
    run(&mut crawl.worker("a", &[])).expect(0);
    let records = crawl.records(1);
    assert!(records.len() == PAGES && records.iter().all(|record| record.get("metadata").is_some()));
}
