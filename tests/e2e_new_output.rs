//! Runs whose output or text settings are new to the state: none ends with a file that lacks pages in
//! silence.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

#[path = "support/nights.rs"]
mod nights;
#[path = "support/run.rs"]
mod run;
mod support;

use nights::Changing;
use run::{Run, Sandbox, lines, run, url_counts};
use std::{fs, io::BufRead};
use support::server::Server;

fn site() -> Server {
    Changing::of(6).serve()
}

#[test]
fn an_output_that_is_new_to_the_state_is_2_and_changes_nothing() {
    let (server, sandbox) = (site(), Sandbox::new());
    let crawl = |flags: &[&str]| run(&mut sandbox.crawl(&[server.url("/")], flags));
    crawl(&["-o", "a.jsonl"]).expect(0);
    let state = fs::read(sandbox.path("state/crawl.sqlite")).unwrap();
    for flags in
        [&["-o", "b.jsonl"][..], &["-O", "b.jsonl"], &["-o", "b.jsonl", "--emit", "all"], &["-o", "-"]]
    {
        let asked = server.requests().len();
        let refused = crawl(flags).expect(2);
        assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
        for way in ["a.jsonl", "--fresh", "--recrawl all --emit all", "--state-dir", "--emit changes"] {
            assert!(refused.stderr.contains(way), "{way}: {}", refused.stderr);
        }
        assert_eq!(server.requests().len(), asked, "it asks for nothing");
        assert!(!sandbox.path("b.jsonl").exists());
    }
    assert_eq!(fs::read(sandbox.path("state/crawl.sqlite")).unwrap(), state);
    crawl(&["-o", "a.jsonl"]).expect(0);
    assert_eq!(sandbox.records("a.jsonl").len(), 8);
}

#[test]
fn a_new_output_can_have_all_pages_with_their_text() {
    let site = Changing::of(6);
    site.tag_all();
    let (server, sandbox) = (site.serve(), Sandbox::new());
    let crawl = |flags: &[&str]| run(&mut sandbox.crawl(&[server.url("/")], flags));
    crawl(&["-o", "a.jsonl"]).expect(0);
    crawl(&["-o", "b.jsonl", "--recrawl", "all", "--emit", "all"]).expect(0);
    let text = |name: &str| {
        let mut texts: Vec<_> =
            sandbox.records(name).iter().map(|r| (r["url"].to_string(), r["text"].to_string())).collect();
        texts.sort();
        texts
    };
    assert_eq!(text("b.jsonl"), text("a.jsonl"));
    assert!(sandbox.records("b.jsonl").iter().all(|r| r["metadata"]["change"] == "unchanged"));
    // known from here on: a page that is unchanged has no text again
    crawl(&["-o", "b.jsonl", "--recrawl", "all", "--emit", "all"]).expect(0);
    let second = sandbox.records("b.jsonl").split_off(8);
    assert!(second.len() == 8 && second.iter().all(|r| r["text"] == ""), "{second:?}");
}

#[test]
fn changes_alone_go_to_a_new_output_if_the_user_says_so() {
    let (server, sandbox) = (site(), Sandbox::new());
    let crawl = |flags: &[&str]| run(&mut sandbox.crawl(&[server.url("/")], flags));
    crawl(&["-o", "monday.jsonl"]).expect(0);
    crawl(&["-o", "tuesday.jsonl", "--recrawl", "all", "--emit", "changes"]).expect(0);
    assert_eq!(sandbox.read("tuesday.jsonl"), "");
}

#[test]
fn text_settings_that_are_new_to_the_state_are_2_and_named() {
    let (server, sandbox) = (site(), Sandbox::new());
    let crawl = |flags: &[&str]| run(&mut sandbox.crawl(&[server.url("/")], flags));
    crawl(&["-o", "a.jsonl"]).expect(0);
    let settings = [("output.fields", &["--fields", "url,text"][..]), ("dedup.enabled", &["--no-dedup"])];
    for (name, flags) in settings {
        let flags = [&["-o", "a.jsonl"], flags].concat();
        let refused = crawl(&flags).expect(2);
        for word in [name, "--fresh", "--recrawl all --emit all"] {
            assert!(refused.stderr.contains(word), "{word}: {}", refused.stderr);
        }
        assert_eq!(sandbox.records("a.jsonl").len(), 8);
    }
    crawl(&["-O", "a.jsonl", "--fields", "url,text", "--recrawl", "all", "--emit", "all"]).expect(0);
    let records = lines(&sandbox.read("a.jsonl"));
    assert!(records.len() == 8 && records.iter().all(|r| r["text"] != "" && r.get("metadata").is_none()));
    crawl(&["-o", "a.jsonl", "--fields", "url,text"]).expect(0);
}

#[test]
fn a_round_that_was_stopped_does_not_continue_in_another_output() {
    let (server, sandbox) = (site(), Sandbox::new());
    let crawl = |flags: &[&str]| run(&mut sandbox.crawl(&[server.url("/")], flags));
    crawl(&["-o", "a.jsonl", "--limit", "3"]).expect(5);
    let refused = crawl(&["-o", "b.jsonl", "--recrawl", "all", "--emit", "all"]).expect(2);
    assert!(
        refused.stderr.contains("a.jsonl") && !refused.stderr.contains("--recrawl"),
        "{}",
        refused.stderr
    );
    crawl(&["-o", "a.jsonl"]).expect(0);
    let counts = url_counts(&sandbox.records("a.jsonl"));
    assert!(counts.len() == 8 && counts.values().all(|n| *n == 1), "{counts:?}");
}

/// `crawl URL | head` looks at a site. It must not take a page from the crawl that comes after.
#[test]
fn a_run_to_standard_output_leaves_no_state() {
    let (server, sandbox) = (site(), Sandbox::new());
    let crawl = |flags: &[&str]| {
        let mut command = sandbox.bare();
        command.arg(server.url("/")).args(["--delay", "0s", "--allow-address", "127.0.0.0/8"]).args(flags);
        command.env("CRAWL_CRAWL_SOFT404", "false").env("CRAWL_CRAWL_AI_OPTOUT_FILES", "false");
        command
    };
    let look = run(&mut crawl(&["--depth", "0"])).expect(0);
    assert_eq!(lines(&look.stdout).len(), 1);
    assert!(look.stderr.contains("--state-dir"), "{}", look.stderr);
    let (head, mut reader) = Run::start_reading(&mut crawl(&[]));
    reader.read_line(&mut String::new()).unwrap();
    drop(reader);
    head.wait().expect(0);
    let states = fs::read_dir(sandbox.path(".local/state/crawl")).unwrap().count();
    assert_eq!(states, 0, "a state was left");
    run(&mut crawl(&["-o", "all.jsonl"])).expect(0);
    assert_eq!(sandbox.records("all.jsonl").len(), 8);
}
