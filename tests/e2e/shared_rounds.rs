//! Rounds of a crawl in PostgreSQL: the changes, summaries and error logs of a crawl in a directory, and other visits of what
//! failed.

use crate::{
    changing::Changing,
    database::Server as Database,
    run::{Done, Run, Sandbox, eventually, lines, run},
    support::{
        made::page,
        server::{Request, Server},
    },
};
use crawl_store::Database as _;
use serde_json::Value;
use std::{fs, process::Command, time::Duration};

/// A crawl of a site of its own, in a directory or in a database.
struct Crawl {
    site: Changing,
    server: Server,
    sandbox: Sandbox,
    database: Option<Database>,
}

/// Results of one run that do not depend on time and place.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    summary: Vec<String>,
    /// Path and kind.
    errors: Vec<(String, String)>,
    /// Change and path of each record of the run.
    records: Vec<(String, String)>,
}

impl Crawl {
    fn new(database: Option<Database>) -> Self {
        let site = Changing::of(6);
        Self { server: site.serve(), site, sandbox: Sandbox::new(), database }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.sandbox.bare();
        command.args(words).arg(self.server.url("/")).args([
            "--delay",
            "0s",
            "--allow-address",
            "127.0.0.0/8",
        ]);
        command.args(["-o", "out.jsonl", "--state-dir", "state", "--recrawl", "all"]);
        if let Some(database) = &self.database {
            command.args(["--store", &database.text_url("crawl"), "--crawl", "c"]);
        }
        command.env("CRAWL_CRAWL_SOFT404", "false").env("CRAWL_CRAWL_AI_OPTOUT_FILES", "false");
        command.env("CRAWL_RECRAWL_CONFIRM_GONE", "50ms");
        command.env("CRAWL_FETCH_BACKOFF", "20ms").env("CRAWL_FETCH_RETRIES", "1");
        command
    }

    fn outcome(&self, words: &[&str]) -> Outcome {
        let before =
            fs::read_to_string(self.sandbox.path("out.jsonl")).map_or(0, |text| text.lines().count());
        let done = run(&mut self.command(words)).expect(0);
        let text = |value: &Value| value.as_str().unwrap_or_default().replace(&self.server.url(""), "");
        let pairs = |values: &[Value], pair: &dyn Fn(&Value) -> (String, String)| {
            let mut pairs: Vec<_> = values.iter().map(pair).collect();
            pairs.sort();
            pairs
        };
        let errors = lines(&self.sandbox.read("state/errors.jsonl"));
        let records = lines(&self.sandbox.read("out.jsonl")).split_off(before);
        Outcome {
            summary: summary(&done),
            errors: pairs(&errors, &|line| (text(&line["url"]), text(&line["kind"]))),
            records: pairs(&records, &|record| (text(&record["metadata"]["change"]), text(&record["url"]))),
        }
    }
}

/// The lines of a summary about pages.
fn summary(done: &Done) -> Vec<String> {
    let names = ["changes", "status", "no record", "pages", "next"];
    let is_of_pages = |line: &&str| names.iter().any(|name| line.trim_start().starts_with(name));
    let first =
        done.stderr.lines().find(|line| line.contains(" from ") && line.ends_with(" failed")).unwrap();
    let counts = [first.split(" in ").next().unwrap(), first.rsplit(", ").next().unwrap()].join(", ");
    let others = done.stderr.lines().filter(is_of_pages).map(str::to_owned);
    std::iter::once(counts).chain(others).collect()
}

/// Text and links of a page that all pages of a site lead to.
fn start_page(text: &str) -> String {
    let links: Vec<String> = (1..=6).map(|n| format!("/{n}.html")).collect();
    page(text, &links)
}

#[test]
#[ignore = "needs PostgreSQL"]
fn shared_crawl_rounds_equal_those_in_a_directory() {
    let crawls = [Crawl::new(None), Crawl::new(Some(Database::start()))];
    let compare = |words: &[&str], change: &dyn Fn(&Changing)| {
        let [alone, shared] = crawls.each_ref().map(|crawl| {
            change(&crawl.site);
            crawl.outcome(words)
        });
        assert_eq!(shared, alone);
        alone
    };
    let path =
        |outcome: &Outcome| -> Vec<String> { outcome.errors.iter().map(|(path, _)| path.clone()).collect() };
    let first = compare(&[], &|_| ());
    assert_eq!((first.records.len(), first.errors.len()), (8, 0), "{first:?}");
    let second = compare(&[], &|site| {
        site.set("/3.html", |page| page.status = Some(404));
        site.set("/5.html", |page| page.status = Some(500));
        site.put("/2.html", page("another text on the second page", &[]));
    });
    assert_eq!(path(&second), ["/5.html"], "{second:?}");
    assert!(second.records.contains(&("gone".into(), "/3.html".into())), "{second:?}");
    // a page that still links to the gone one is read again
    let third = compare(&[], &|site| site.put("/", start_page("another start")));
    let again = compare(&["retry-errors"], &|site| {
        site.set("/5.html", |page| page.status = None);
        site.put("/5.html", page("the fifth page is back with another text", &[]));
    });
    assert_eq!(path(&third), ["/3.html", "/5.html"], "{third:?}");
    assert!(again.records.contains(&("changed".into(), "/5.html".into())), "{again:?}");
    let fourth = compare(&[], &|_| ());
    assert!(fourth.records.is_empty(), "{fourth:?}");
    for crawl in &crawls {
        let none = run(&mut crawl.command(&["retry-errors", "--kind", "timeout"])).expect(0);
        assert!(none.stderr.contains("no page failed as timeout"), "{}", none.stderr);
    }
    let given = crawls[1].command(&["retry-errors", "--kind", "timeout"]);
    let mut elsewhere = crawls[1].sandbox.bare();
    elsewhere.args(given.get_args().map(|word| if word == "state" { "new".as_ref() } else { word }));
    given.get_envs().for_each(|(key, value)| _ = elsewhere.env(key, value.unwrap()));
    let none = run(&mut elsewhere).expect(2).stderr;
    assert!(none.contains("new has no errors.jsonl") && none.contains("omit --kind"), "{none}");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn failed_pages_are_retried_while_workers_run() {
    let site = Changing::of(6);
    for n in 1..=4 {
        site.set(&format!("/{n}.html"), |page| page.status = Some(500));
    }
    let answers = site.clone();
    let answer = move |request: &Request| answers.answer(request).after(Duration::from_millis(300));
    let (server, database) = (Server::start(0, answer).unwrap(), Database::start());
    let crawl = Crawl { site, server, sandbox: Sandbox::new(), database: Some(database) };
    let worker = |words: &[&str], name: &str| {
        let mut command = crawl.sandbox.bare();
        let given = crawl.command(words);
        let words = given.get_args().map(|word| match word.to_str().unwrap() {
            "state" => name.to_owned(),
            "out.jsonl" => format!("{name}-out/*.jsonl"),
            word => word.to_owned(),
        });
        command.args(words).args(["--host-concurrency", "1"]).env("CRAWL_FETCH_RETRIES", "0");
        for (key, value) in given.get_envs() {
            command.env(key, value.unwrap());
        }
        command
    };
    let first = Run::start(&mut worker(&[], "a"));
    let failed = "SELECT count(*) FROM crawl_c.urls WHERE outcome = 2";
    let count = |query: &str| -> i64 {
        // the schema comes with the first worker
        crawl.database.as_ref().unwrap().client().query_one(query, &[]).map_or(-1, |row| row.get(0))
    };
    eventually("pages fail", || count(failed) > 0);
    (1..=4).for_each(|n| crawl.site.set(&format!("/{n}.html"), |page| page.status = None));
    let again = run(&mut worker(&["retry-errors"], "b")).expect(0);
    assert!(again.stderr.contains("failed URL") && again.stderr.contains(" again"), "{}", again.stderr);
    first.wait().expect(0);
    // pages may have failed between the query of the command and the new answers of the site
    let left = count(failed);
    let rest = run(&mut worker(&["retry-errors"], "b")).expect(0);
    assert!(left > 0 || rest.stderr.contains("no page failed"), "{}", rest.stderr);
    assert_eq!(count(failed), 0);
    assert_eq!(count("SELECT count(*) FROM crawl_c.urls WHERE outcome = 1"), 8);
    assert_eq!(count("SELECT sum(failed)::int8 FROM crawl_c.tallies"), 0);
    let mut urls: Vec<String> = Vec::new();
    for name in ["a-out", "b-out"] {
        for file in fs::read_dir(crawl.sandbox.path(name)).into_iter().flatten() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "jsonl") {
                let records = lines(&fs::read_to_string(path).unwrap());
                urls.extend(records.iter().map(|record| record["url"].to_string()));
            }
        }
    }
    let all = urls.len();
    urls.sort_unstable();
    urls.dedup();
    assert_eq!((all, urls.len()), (8, 8), "{urls:?}");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn refused_retry_changes_nothing() {
    let crawl = Crawl::new(Some(Database::start()));
    (1..=3).for_each(|n| crawl.site.set(&format!("/{n}.html"), |page| page.status = Some(500)));
    run(&mut crawl.command(&[])).expect(0);
    let database = crawl.database.as_ref().unwrap();
    let status = |flag: &[&str]| {
        let mut command = crawl.sandbox.bare();
        command.arg("status").args(flag).args(["--store", &database.text_url("crawl"), "--crawl", "c"]);
        run(&mut command).expect(0).stdout
    };
    let state = || -> Value { serde_json::from_str(&status(&["--json"])).unwrap() };
    let before = state();
    assert_eq!((&before["finished"], &before["frontier"]["failed"]), (&true.into(), &3.into()), "{before}");
    let with_other_settings = |words: &[&str]| {
        let mut command = crawl.command(words);
        command.env("CRAWL_POLITENESS_JITTER", "0.2");
        command
    };
    let refused = run(&mut with_other_settings(&["retry-errors"])).expect(2);
    for words in ["politeness.jitter = 0.2 here", "continues the round: use its settings"] {
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
    assert!(!refused.stderr.contains("failed URLs again"), "{}", refused.stderr);
    assert_eq!(state()["frontier"], before["frontier"]);
    // the round is not open again, so the next one can have other settings
    run(&mut with_other_settings(&[])).expect(0);
    assert_eq!(state()["round"], 2);

    assert_eq!(database.url().reopen_failed("c", 2, None).unwrap(), 3);
    let opened = state();
    assert_eq!((&opened["frontier"]["pending"], &opened["frontier"]["failed"]), (&3.into(), &0.into()));
    assert_eq!((&opened["hosts"][0]["queued"], &opened["hostsAtWork"]), (&3.into(), &1.into()), "{opened}");
    let words = status(&[]);
    assert!(words.contains("unfinished") && words.contains("3 queued, 0 in flight"), "{words}");
}
