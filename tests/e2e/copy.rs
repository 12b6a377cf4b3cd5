//! `crawl state copy`: a crawl moves from a directory to PostgreSQL and back.

use crate::{
    run::{self, Run, lines, run, url_counts},
    shared_crawl::Crawl,
};
use std::{collections::BTreeMap, fs, io::Read as _, process::Command};

/// `crawl state` with words behind it.
fn state_job(crawl: &Crawl, words: &[&str]) -> run::Done {
    let mut command = crawl.sandbox.bare();
    run(command.arg("state").args(words).args(["--crawl", "c"]))
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_crawl_moves_from_a_directory_to_a_database_and_back() {
    let crawl = Crawl::new(3, ".jsonl");
    fs::create_dir(crawl.sandbox.path("out")).unwrap();
    let (seeds, store) = (crawl.sites.seeds(), crawl.database.text_url("crawl"));
    let alone = |state: &str| {
        let mut command = crawl.sandbox.crawl(&seeds, &["--depth", "6", "-o", "out/alone.jsonl"]);
        command.args([
            "--emit",
            "changes",
            "--store",
            &format!("sqlite:{}", crawl.sandbox.path(state).display()),
        ]);
        command.env("CRAWL_OUTPUT_BATCH", "4").env("CRAWL_DEDUP_SETTLE_PAGES", "8");
        command
    };
    let stop = |mut command: Command| {
        let process = Run::start(&mut command);
        crawl.sites.wait_for(40);
        process.signal("TERM");
        assert_eq!(process.wait().code(), 130);
    };
    stop(alone("first"));
    let (first, other) = (crawl.sandbox.path("first"), crawl.sandbox.path("other"));
    let [first_url, other_url] = [&first, &other].map(|dir| format!("sqlite:{}", dir.display()));
    let copied = state_job(&crawl, &["copy", &first_url, &store]).expect(0);
    assert!(copied.stdout.contains("  urls\n"), "{}", copied.stdout);
    let again = state_job(&crawl, &["copy", &first_url, &store]).expect(2);
    assert!(again.stderr.contains("name another --crawl"), "{}", again.stderr);
    let both = state_job(&crawl, &["copy", &first_url, &other_url]).expect(2);
    assert!(both.stderr.contains("one of the two must be postgres://"), "{}", both.stderr);
    // the records of the copy have settings, too
    let lean = run(crawl.worker("lean").arg("--lean")).expect(2);
    assert!(lean.stderr.contains("output.lean = true here, false in its records"), "{}", lean.stderr);
    stop(crawl.worker("a"));
    assert!(state_job(&crawl, &["copy", &store, "sqlite:a"]).expect(2).stderr.contains("belongs to"));
    state_job(&crawl, &["upgrade", "--store", &store]).expect(0);
    // an output belongs to the directory of its crawl
    fs::rename(&first, other).unwrap();
    state_job(&crawl, &["copy", &store, &first_url]).expect(0);
    run(&mut alone("first")).expect(0);
    // what the worker wrote stays, and the file of the process has grown since
    let mut records = crawl.sandbox.records("out/alone.jsonl");
    let parts = crawl.parts();
    assert!(parts.len() > 1 && parts.iter().any(|part| part["worker"] == "copied"), "{parts:?}");
    for part in parts.iter().filter(|part| part["worker"] != "copied") {
        let mut text = String::new();
        let file = fs::File::open(part["path"].as_str().unwrap()).unwrap();
        file.take(part["bytes"].as_u64().unwrap()).read_to_string(&mut text).unwrap();
        records.extend(lines(&text));
    }
    let counts = url_counts(&records);
    let twice: BTreeMap<_, _> = counts.iter().filter(|(_, n)| **n != 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    assert_eq!(counts.into_keys().collect::<Vec<_>>(), crawl.expected());
}
