//! Output besides records: pipes, silence, logs, the error log, the summary.

use crate::{
    run::{PATIENCE, Run, Sandbox, lines, run},
    support::{
        made::{Tree, page},
        server::{Request, Response, Server},
    },
};
use std::{collections::BTreeMap, io::BufRead, time::Duration};

#[test]
fn standard_output_has_only_records() {
    let (server, sandbox) = (Server::start(0, Tree::of(7).handler()).unwrap(), Sandbox::new());
    let done = run(&mut sandbox.crawl(&[server.url("/")], &[])).expect(0);
    assert_eq!(lines(&done.stdout).len(), 7);
    assert!(done.stderr.contains("errors.jsonl"), "the summary is on standard error:\n{}", done.stderr);
    assert!(
        !done.stderr.contains('\u{1b}') && !done.stderr.contains('\r'),
        "no terminal, no escapes:\n{:?}",
        done.stderr
    );
}

/// `crawl … | head -1`: the reader closes the pipe long before the end. The output is many times the capacity
/// of a pipe.
#[test]
fn closed_pipe_ends_the_run_cleanly() {
    let tree = Tree { pages: 200, delay: Duration::ZERO, filler: 3000 };
    let (server, sandbox) = (Server::start(0, tree.handler()).unwrap(), Sandbox::new());
    let (running, mut stdout) = Run::start_reading(&mut sandbox.crawl(&[server.url("/")], &["--no-dedup"]));
    let mut first = String::new();
    stdout.read_line(&mut first).unwrap();
    assert_eq!(lines(&first).len(), 1);
    drop(stdout);
    let done = running.wait();
    // 0, since the reader has its lines; a shell with pipefail must not see a failure
    assert_eq!(done.code(), 0, "{}", done.stderr);
    assert!(!done.stderr.to_lowercase().contains("broken pipe"), "{}", done.stderr);
}

#[test]
fn quiet_run_prints_nothing() {
    let (server, sandbox) = (Server::start(0, Tree::of(3).handler()).unwrap(), Sandbox::new());
    let done = run(&mut sandbox.crawl(&[server.url("/")], &["--quiet"])).expect(0);
    assert_eq!(done.stderr, "");
    assert_eq!(lines(&done.stdout).len(), 3);
}

#[test]
fn quiet_run_still_prints_its_failure() {
    let sandbox = Sandbox::new();
    let done = run(&mut sandbox.crawl(&["# no seed".into()], &["--quiet"])).expect(2);
    assert!(!done.stderr.is_empty());
}

#[test]
fn json_log_has_one_object_per_line() {
    let handler = |request: &Request| match request.path() {
        "/" => Response::html(page("start", &["/gone.html".into()])),
        _ => Response::status(404),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let flags = ["-O", "out.jsonl", "--quiet", "--log-format", "json", "--log-level", "info"];
    let done = run(&mut sandbox.crawl(&[server.url("/")], &flags)).expect(0);
    let logged = lines(&done.stderr);
    assert!(!logged.is_empty());
    for line in &logged {
        assert!(line["level"].is_string() && line["timestamp"].is_string(), "{line}");
    }
    assert!(done.stderr.contains(&server.url("/gone.html")), "what failed is named:\n{}", done.stderr);
}

/// Each kind of failure is a line with the event, its URL and its number of attempts.
#[test]
fn error_log_has_event_url_and_attempts() {
    let handler = |request: &Request| match request.path() {
        "/" => {
            let names = ["missing", "broken", "cut", "loop", "flaky"];
            Response::html(page("start", &names.map(|n| format!("/{n}.html"))))
        }
        "/missing.html" | "/robots.txt" => Response::status(404),
        "/broken.html" => Response::status(500),
        "/cut.html" => Response { cut_after: Some(100), ..Response::html(page("cut", &[])) },
        "/loop.html" => Response::redirect(302, "/loop.html"),
        path => Response::html(page(path, &[])),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let mut crawl = sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl"]);
    run(crawl.env("CRAWL_FETCH_RETRIES", "2")).expect(0);
    let errors = sandbox.errors();
    let by_url: BTreeMap<&str, _> = errors.iter().map(|e| (e["url"].as_str().unwrap(), e)).collect();
    assert_eq!(by_url.len(), 4, "{errors:#?}");
    for (name, status, attempts) in
        [("missing", Some(404), 1), ("broken", Some(500), 3), ("cut", None, 3), ("loop", None, 1)]
    {
        let error = by_url[server.url(&format!("/{name}.html")).as_str()];
        assert_eq!(error["stage"], "fetch", "{error}");
        assert_eq!(error["attempts"], attempts, "{error}");
        if let Some(status) = status {
            assert_eq!(error["status"], status, "{error}");
        }
        assert!(error["kind"].as_str().is_some_and(|k| !k.is_empty()), "{error}");
        for words in ["message", "hint"] {
            assert!(error[words].as_str().is_some_and(|m| m.len() > 5), "{error}");
        }
        assert!(error["at"].as_str().is_some_and(|at| at.ends_with('Z')), "{error}");
    }
    let asked = server.targets();
    assert_eq!(asked.iter().filter(|t| *t == "/broken.html").count(), 3, "{asked:?}");
    assert_eq!(asked.iter().filter(|t| *t == "/missing.html").count(), 1, "{asked:?}");
}

/// A temporary failure is retried and becomes a record.
#[test]
fn temporary_failure_is_retried() {
    let tries = std::sync::atomic::AtomicUsize::new(0);
    let handler = move |request: &Request| match request.path() {
        "/robots.txt" => Response::status(404),
        "/" if tries.fetch_add(1, std::sync::atomic::Ordering::AcqRel) < 2 => Response::status(503),
        path => Response::html(page(path, &[])),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    run(&mut sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl"])).expect(0);
    assert_eq!(sandbox.records("out.jsonl").len(), 1);
    assert_eq!(server.targets().len(), 3);
    assert!(sandbox.errors().is_empty());
}

#[test]
fn no_links_omits_links_from_records() {
    let (server, sandbox) = (Server::start(0, Tree::of(3).handler()).unwrap(), Sandbox::new());
    run(&mut sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--no-links"])).expect(0);
    for record in sandbox.records("out.jsonl") {
        assert!(record["links"].as_array().is_none_or(Vec::is_empty), "{record}");
    }
}

/// Started like cron: no terminal, no HOME, closed standard input.
#[test]
fn crawl_runs_without_home_and_standard_input() {
    let (server, sandbox) = (Server::start(0, Tree::of(3).handler()).unwrap(), Sandbox::new());
    let mut crawl = sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl"]);
    crawl.env_remove("HOME").env_remove("PATH");
    let shell = sandbox.shell("umask 077; exec \"$@\" <&-", &crawl).env_remove("HOME").output().unwrap();
    assert_eq!(shell.status.code(), Some(0), "{}", String::from_utf8_lossy(&shell.stderr));
    assert_eq!(sandbox.records("out.jsonl").len(), 3);
}

/// A round that could not open its output still begins; the next run resumes it and replaces the output.
#[test]
fn a_round_replaces_its_output_although_its_first_start_failed() {
    let (server, sandbox) = (Server::start(0, Tree::of(5).handler()).unwrap(), Sandbox::new());
    let flags = ["-O", "out.jsonl", "--recrawl", "all", "--emit", "all"];
    let crawl = || sandbox.crawl(&[server.url("/")], &flags);
    run(&mut crawl()).expect(0);
    std::fs::rename(sandbox.path("out.jsonl"), sandbox.path("kept.jsonl")).unwrap();
    std::fs::create_dir(sandbox.path("out.jsonl")).unwrap();
    run(&mut crawl()).expect(3);
    std::fs::remove_dir(sandbox.path("out.jsonl")).unwrap();
    std::fs::rename(sandbox.path("kept.jsonl"), sandbox.path("out.jsonl")).unwrap();
    run(&mut crawl()).expect(0);
    assert_eq!(sandbox.records("out.jsonl").len(), 5);
}

/// With JSON logs all of standard error is JSON, including the summary. A reader of the log that leaves does
/// not end the crawl.
#[test]
fn summary_is_json_with_json_logs() {
    let (server, sandbox) = (Server::start(0, Tree::of(3).handler()).unwrap(), Sandbox::new());
    let flags = ["-O", "out.jsonl", "--log-format", "json", "--metrics-listen", "127.0.0.1:0"];
    let done = run(&mut sandbox.crawl(&[server.url("/")], &flags)).expect(0);
    let logged = lines(&done.stderr);
    assert!(
        logged.iter().any(|line| line["message"].as_str().unwrap().starts_with("metrics at ")),
        "{}",
        done.stderr
    );
    assert!(logged.iter().all(|line| line["timestamp"].is_string()), "{}", done.stderr);
    let summary = logged.last().unwrap();
    assert_eq!((summary["message"].as_str(), summary["ended"].as_str()), (Some("summary"), Some("done")));
    assert_eq!((summary["records"].as_u64(), summary["statuses"]["200"].as_u64()), (Some(3), Some(3)));
    let noisy = sandbox.crawl(&[server.url("/")], &["-O", "again.jsonl", "--fresh", "--log-level", "debug"]);
    run(&mut sandbox.shell("\"$@\" 2>&1 >/dev/null | true", &noisy)).expect(0);
    assert_eq!(sandbox.records("again.jsonl").len(), 3);
}

/// Other variables of the environment may hold any bytes.
#[test]
fn only_our_environment_variables_must_be_utf_8() {
    use std::os::unix::ffi::OsStrExt;
    let rubbish = std::ffi::OsStr::from_bytes(b"\xff\xfe");
    let (server, sandbox) = (Server::start(0, Tree::of(1).handler()).unwrap(), Sandbox::new());
    run(sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl"]).env("FOREIGN", rubbish)).expect(0);
    let failed = run(sandbox.crawl(&[server.url("/")], &[]).env("CRAWL_POLITENESS_DELAY", rubbish)).expect(2);
    assert!(failed.stderr.contains("CRAWL_POLITENESS_DELAY"), "{}", failed.stderr);
}

/// The records of a whole round replace the earlier ones of their pages. If the round ends earlier, the old
/// records stay, and the resuming run still replaces them.
#[test]
fn only_new_records_replace_earlier_records() {
    use std::sync::atomic::{AtomicU16, Ordering::SeqCst};
    static STATUS: AtomicU16 = AtomicU16::new(200);
    let tree = Tree::of(5);
    let handler = move |request: &Request| match (STATUS.load(SeqCst), request.path()) {
        (200, _) | (_, "/robots.txt") => tree.answer(request),
        (204, "/") => Response::html("<meta name=robots content=noindex>"),
        (500, _) => Response::status(500).after(Duration::from_secs(60)),
        (status, _) => Response::status(status),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let flags = ["-O", "out.jsonl", "--no-dedup", "--recrawl", "all", "--emit", "all"];
    let round = |code: i32| {
        run(&mut sandbox.crawl(&[server.url("/")], &flags)).expect(code);
        sandbox.records("out.jsonl").len()
    };
    assert_eq!(round(0), 5);
    STATUS.store(403, SeqCst);
    assert_eq!(round(4), 5, "no seed could be fetched");
    assert_eq!(round(4), 5);
    STATUS.store(200, SeqCst);
    assert_eq!(round(0), 5, "replaced, not appended to");
    // interrupted before anything came
    STATUS.store(500, SeqCst);
    let mut waiting = sandbox.crawl(&[server.url("/")], &flags);
    let before = server.requests().len();
    let running = Run::start(&mut waiting);
    assert!(server.wait(PATIENCE, |requests| requests.len() > before), "{}", running.stderr_so_far());
    running.kill();
    assert_eq!(sandbox.records("out.jsonl").len(), 5);
    STATUS.store(200, SeqCst);
    assert_eq!(round(0), 5, "the run that goes on replaces them");
    // a page that is withdrawn loses its record, and pages that fail keep theirs
    STATUS.store(204, SeqCst);
    assert_eq!(round(0), 4);
}

/// Keeps the first lines of a file.
fn shorten(sandbox: &Sandbox, name: &str, lines: usize) {
    let kept: String = sandbox.read(name).split_inclusive('\n').take(lines).collect();
    sandbox.write(name, kept);
}

#[test]
fn shortened_output_of_an_unfinished_round_exits_with_7() {
    for flag in ["-o", "-O"] {
        let (server, sandbox) = (Server::start(0, Tree::of(12).handler()).unwrap(), Sandbox::new());
        let crawl =
            |flags: &[&str]| sandbox.crawl(&[server.url("/")], &[&[flag, "out.jsonl"], flags].concat());
        run(&mut crawl(&["--limit", "5"])).expect(5);
        shorten(&sandbox, "out.jsonl", 2);
        let done = run(&mut crawl(&[])).expect(7);
        assert!(
            done.stderr.contains("bytes of records that were written are not there any more"),
            "{}",
            done.stderr
        );
        // the damage is reported once
        run(&mut crawl(&["--emit", "changes"])).expect(0);
    }
}

/// Removed and emptied files of `-o` have been taken away by their user.
#[test]
fn shortened_file_of_a_finished_round_is_a_warning() {
    let (server, sandbox) = (Server::start(0, Tree::of(12).handler()).unwrap(), Sandbox::new());
    let round = || run(&mut sandbox.crawl(&[server.url("/")], &["-o", "out.jsonl"])).expect(0).stderr;
    round();
    for (lines, is_warned) in [(12, false), (2, true), (0, false)] {
        shorten(&sandbox, "out.jsonl", lines);
        let told = round();
        let is_told = told.contains("bytes of records that were written are not there any more");
        assert_eq!(is_told, is_warned, "{lines}: {told}");
    }
}

/// The records of unchanged pages would be missing.
#[test]
fn shortened_file_of_latest_records_is_refused() {
    let (server, sandbox) = (Server::start(0, Tree::of(12).handler()).unwrap(), Sandbox::new());
    let crawl = |flags: &[&str]| sandbox.crawl(&[server.url("/")], &[&["-O", "out.jsonl"], flags].concat());
    run(&mut crawl(&[])).expect(0);
    let whole = ["--recrawl", "all", "--emit", "all"];
    for lines in [0, 2] {
        shorten(&sandbox, "out.jsonl", lines);
        let refused = run(&mut crawl(&[])).expect(2);
        assert!(refused.stderr.contains("lacks records now"), "{}", refused.stderr);
        run(&mut crawl(&whole)).expect(0);
        run(&mut crawl(&[])).expect(0);
        assert_eq!(sandbox.records("out.jsonl").len(), 12);
    }
    run(&mut crawl(&["--emit", "changes", "--recrawl", "all"])).expect(0);
    let refused = run(&mut crawl(&[])).expect(2);
    assert!(refused.stderr.contains("only the changes of a round"), "{}", refused.stderr);
    run(&mut crawl(&whole)).expect(0);
    run(&mut crawl(&[])).expect(0);
    assert_eq!(sandbox.records("out.jsonl").len(), 12);
}
