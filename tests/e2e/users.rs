//! Findings from sessions of users: words of the summary and the status, saved pages, limits of the machine.

use crate::{
    run::{self, Sandbox, run, url_counts},
    support::{
        made::{Tree, page},
        server::{Request, Response, Server},
    },
};
use serde_json::Value;
use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

#[test]
fn a_round_without_a_page_is_not_compared_with() {
    let version = Arc::new(AtomicUsize::new(0));
    let now = Arc::clone(&version);
    let server =
        Server::start(0, move |request: &Request| match (request.path(), now.load(Ordering::Relaxed)) {
            ("/", version @ 1..) => Response::html(page(&format!("the start page {version}"), &[])),
            _ => Response::status(404),
        })
        .unwrap();
    let sandbox = Sandbox::new();
    let round = |flags: &[&str], code| {
        let flags = [&["-o", "out.jsonl"], flags].concat();
        run(&mut sandbox.crawl(&[server.url("/")], &flags)).expect(code).stderr
    };
    let failed = round(&[], 4);
    version.store(1, Ordering::Relaxed);
    let first = round(&["--recrawl", "all"], 0);
    for shown in [&failed, &first] {
        assert!(!shown.contains("  changes  "), "{shown}");
    }
    let second = round(&["--recrawl", "all"], 0);
    assert!(second.contains("0 new, 0 changed, 1 unchanged, 0 gone"), "{second}");
    version.store(2, Ordering::Relaxed);
    round(&["--recrawl", "all"], 0);
    let status = run(sandbox.bare().args(["status", "--state-dir", "state"])).expect(0).stdout;
    assert!(status.contains("round 4: 1 record (0 new, 1 changed, 0 gone), 0 URLs failed"), "{status}");
}

#[test]
fn urls_of_an_endless_section_are_no_failures() {
    let server = Server::start(0, |request: &Request| match request.path() {
        "/robots.txt" => Response::status(404),
        "/" => {
            let links: Vec<String> = (0..60).map(|n| format!("/list/{n}")).collect();
            Response::html(page("the start page", &links))
        }
        _ => Response::html(page("nothing was found", &[])),
    })
    .unwrap();
    let sandbox = Sandbox::new();
    let mut crawl = sandbox.crawl(&[server.url("/")], &["-o", "out.jsonl"]);
    let done = run(crawl.env("CRAWL_TRAPS_TEMPLATE_CREDIT", "5")).expect(0);
    assert!(done.stderr.contains("trap_template: "), "{}", done.stderr);
    assert!(done.stderr.contains(", 0 URLs failed"), "{}", done.stderr);
    // without a report and with none of the last lines, too
    fs::remove_file(sandbox.path("state/report.json")).unwrap();
    let status =
        run(sandbox.bare().args(["status", "--state-dir", "state", "--errors", "0"])).expect(0).stdout;
    assert!(status.contains(" failed (traps included), "), "{status}");
    let retry = |kind: &[&str]| {
        let mut retry = sandbox.bare();
        retry.arg("retry-errors").args(sandbox.crawl(&[server.url("/")], &["-o", "out.jsonl"]).get_args());
        run(retry.args(kind).env("CRAWL_TRAPS_TEMPLATE_CREDIT", "5")).expect(0).stderr
    };
    let none = retry(&[]);
    assert!(none.contains("no page failed in the last round of "), "{none}");
    assert!(
        none.contains("; URLs of endless sections stay out (--kind trap_template fetches them)"),
        "{none}"
    );
    let all = retry(&["--kind", "trap_template"]);
    assert!(all.contains(" failed URLs again") && !all.contains("stay out"), "{all}");
}

#[test]
fn pages_that_are_left_out_are_named_in_the_report_and_the_log() {
    let server = Server::start(0, |request: &Request| match request.path() {
        "/noindex" => {
            let html = page("a page that asks not to be indexed", &[]);
            Response::html(html.replace("<head>", "<head><meta name=robots content=noindex>"))
        }
        "/data" => Response::new(200, "application/json", "{}"),
        "/" => Response::html(page("the start page", &["/noindex".to_owned(), "/data".to_owned()])),
        _ => Response::status(404),
    })
    .unwrap();
    let sandbox = Sandbox::new();
    let flags = ["-o", "out.jsonl", "--log-level", "info"];
    let done = run(&mut sandbox.crawl(&[server.url("/")], &flags)).expect(0);
    let report: Value = serde_json::from_str(&sandbox.read("state/report.json")).unwrap();
    for (kind, path) in [("noindex", "/noindex"), ("content_type", "/data")] {
        assert_eq!(report["leftOut"][kind], serde_json::json!([server.url(path)]), "{kind}");
        let is_logged = |line: &str| line.contains("left out") && line.contains(path) && line.contains(kind);
        assert!(done.stderr.lines().any(is_logged), "{}", done.stderr);
    }
    assert_eq!(report["leftOut"].as_object().unwrap().len(), 2, "{}", report["leftOut"]);
}

#[test]
fn a_pause_that_a_host_asked_for_is_named() {
    let server = Server::start(0, |request: &Request| match request.path() {
        "/robots.txt" => Response::status(404),
        _ => {
            let mut answer = Response::status(503);
            answer.headers.push(("Retry-After".to_owned(), "3600".to_owned()));
            answer
        }
    })
    .unwrap();
    let sandbox = Sandbox::new();
    let done =
        run(&mut sandbox.crawl(&[server.url("/")], &["-o", "out.jsonl", "--max-time", "2s"])).expect(5);
    let row = done.stderr.lines().find(|line| line.starts_with("  waiting "));
    assert!(row.is_some_and(|row| row.contains(" asked for a pause until 2")), "{}", done.stderr);
}

#[test]
fn a_limit_on_the_size_of_files_ends_the_run_like_a_full_disk() {
    let tree = Tree { filler: 20_000, ..Tree::of(40) };
    let server = Server::start(0, move |request: &Request| tree.answer(request)).unwrap();
    let sandbox = Sandbox::new();
    let crawl = sandbox.crawl(&[server.url("/")], &["-o", "out.jsonl", "--no-dedup"]);
    // blocks of 512 bytes: the state fits, the output of six MiB does not
    let limited = run(&mut sandbox.shell("ulimit -f 8000; exec \"$@\"", &crawl)).expect(3);
    assert!(limited.stderr.contains("(ulimit -f"), "{}", limited.stderr);
    run(&mut sandbox.crawl(&[server.url("/")], &["-o", "out.jsonl", "--no-dedup"])).expect(0);
    let counts = url_counts(&sandbox.records("out.jsonl"));
    assert!(counts.len() == 40 && counts.values().all(|count| *count == 1), "{counts:?}");
}

#[test]
fn a_folder_of_saved_pages_has_no_records_of_their_files() {
    let sandbox = Sandbox::new();
    for folder in ["saved/Tides_files", "saved/notes_files"] {
        fs::create_dir_all(sandbox.path(folder)).unwrap();
    }
    sandbox.write("saved/Tides.html", page("the tides of the harbour", &[]));
    sandbox.write("saved/Tides_files/frame.html", page("an advertisement in a frame", &[]));
    sandbox.write("saved/notes_files/other.html", page("a page in a folder of its own", &[]));
    let message =
        "From: <Saved by Blink>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related;\r\n\r\n<html>";
    sandbox.write("saved/whole.mhtml", message);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, page("a packed page", &[]).as_bytes()).unwrap();
    sandbox.write("saved/packed.html.gz", packed.finish().unwrap());
    let done = run(sandbox.bare().args(["extract", "saved", "--fields", "id"])).expect(0);
    let ids: Vec<Value> = run::lines(&done.stdout).iter().map(|record| record["id"].clone()).collect();
    assert_eq!(ids, ["saved/Tides.html", "saved/notes_files/other.html", "saved/packed.html.gz"]);
    for words in ["whole.mhtml: this is MHTML", "1 folder with the files of saved pages skipped"] {
        assert!(done.stderr.contains(words), "{}", done.stderr);
    }
}

#[test]
fn documents_without_text_are_counted() {
    let sandbox = Sandbox::new();
    let line =
        |id: &str, text: &str| serde_json::json!({"id": id, "url": "", "text": text}).to_string() + "\n";
    let text = "The ferry leaves the harbour at noon, and returns in the evening with the mail.";
    sandbox.write("in.jsonl", [line("a", text), line("b", ""), line("c", "")].concat());
    let done = run(sandbox.bare().args(["duplicates", "in.jsonl"])).expect(0);
    assert!(done.stderr.contains("3 documents, 2 without text, 1 different text; "), "{}", done.stderr);
}
