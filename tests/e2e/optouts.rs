//! Opt-outs from mining and machine learning in files of the site.

use crate::{
    run::{Sandbox, run},
    support::{
        made::page,
        server::{Request, Response, Server},
    },
};
use serde_json::Value;
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

/// Crawls a site whose `ai.txt` fails `fails` times before it reserves /art/, with these settings. Returns
/// the paths of its records, the kinds of its errors, and the number of requests for the file.
fn failing_ai_txt(fails: usize, how: Response, settings: &[(&str, &str)]) -> (Vec<Value>, Vec<Value>, usize) {
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let handler = move |request: &Request| match request.path() {
        "/ai.txt" => match asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
            n if n < fails => how.clone(),
            _ => Response::redirect(301, "/texts/ai.txt"),
        },
        "/texts/ai.txt" => Response::new(200, "text/plain", "User-agent: *\nDisallow: /art/\n"),
        "/" => Response::html(page("the start", &["/art/1".into(), "/open".into()])),
        path @ ("/art/1" | "/open") => Response::html(page(path, &[])),
        _ => Response::status(404),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let mut command = sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl"]);
    command.env("CRAWL_CRAWL_AI_OPTOUT_FILES", "true").env("CRAWL_POLITENESS_MAX_SLOW_DELAY", "50ms");
    command.env("CRAWL_FETCH_CONNECT_TIMEOUT", "2s").env("CRAWL_FETCH_READ_TIMEOUT", "2s");
    run(command.envs(settings.iter().copied())).expect(0);
    let asked = server.targets().iter().filter(|target| *target == "/ai.txt").count();
    (sandbox.records("out.jsonl"), sandbox.errors(), asked)
}

fn paths(lines: &[Value]) -> Vec<String> {
    let path = |line: &Value| url::Url::parse(line["url"].as_str().unwrap()).unwrap().path().to_owned();
    let mut paths: Vec<String> = lines.iter().map(path).collect();
    paths.sort();
    paths
}

/// The pages of an origin wait while one of its files fails temporarily.
#[test]
fn unavailable_opt_out_files_are_retried() {
    let hangs = || Response::status(404).after(Duration::from_secs(20));
    for (fails, how) in [(2, Response::status(500)), (3, Response::status(429)), (1, hangs())] {
        let (records, errors, asked) = failing_ai_txt(fails, how.clone(), &[]);
        assert_eq!(paths(&records), ["/", "/open"], "{how:?}");
        assert!(errors.is_empty() && asked == fails + 1, "{asked} requests: {errors:?}");
        assert!(records.iter().all(|record| record["metadata"]["aiOptOut"] == serde_json::json!([])));
    }
    // one that is refused is none
    let (records, _, asked) = failing_ai_txt(1, Response::status(403), &[]);
    assert_eq!((records.len(), asked), (3, 1));
}

/// A file that never answers does not block the run, and its pages are not marked as free.
#[test]
fn unanswered_opt_out_files_give_unknown_opt_out() {
    let never = || Response::status(503);
    let (records, errors, asked) = failing_ai_txt(usize::MAX, never(), &[]);
    assert!(records.is_empty() && asked == 4, "{asked} requests, {records:?}");
    assert_eq!(paths(&errors), ["/", "/art/1", "/open"], "their links are followed");
    assert!(errors.iter().all(|line| line["kind"] == "ai_optout_unknown"), "{errors:?}");
    for settings in [("CRAWL_CRAWL_AI_OPTOUT_UNKNOWN", "keep"), ("CRAWL_CRAWL_RESPECT_AI_OPTOUT", "false")] {
        let (records, errors, asked) = failing_ai_txt(usize::MAX, never(), &[settings]);
        assert_eq!((records.len(), errors.len(), asked), (3, 0, 4), "{settings:?}");
        for record in &records {
            assert_eq!(record["metadata"]["aiOptOut"], serde_json::json!(["unknown"]));
            assert!(record["warnings"].to_string().contains("opt_out_unknown"), "{}", record["warnings"]);
        }
    }
}

/// Opt-outs by header, meta tag and files are recorded, and obeyed by default; links are still followed.
#[test]
fn opt_outs_are_obeyed_and_recorded() {
    let handler = |request: &Request| match request.path() {
        "/" => {
            let links =
                ["/header", "/tdm", "/meta", "/art/1", "/mined/1", "/mined/free", "/open"].map(str::to_owned);
            Response::html(page("the start", &links))
        }
        "/header" => {
            Response::html(page("noai by header", &["/behind".into()])).header("X-Robots-Tag", "noai")
        }
        "/tdm" => Response::html(page("tdm by header", &[])).header("TDM-Reservation", "1"),
        "/meta" => Response::html(page("tdm by meta", &["/after".into()]).replacen(
            "<head>",
            "<head><meta name=TDM-Reservation content=\" 1 \">",
            1,
        )),
        "/open" => Response::html(page("/open", &[]).replacen(
            "<head>",
            "<head><meta name=tdm-reservation content=0>",
            1,
        )),
        "/mined/free" => Response::html(page("free by header", &[])).header("TDM-Reservation", "0"),
        "/ai.txt" => Response::new(200, "text/plain", "User-agent: *\nDisallow: /art/\n"),
        "/.well-known/tdmrep.json" => {
            let body = r#"[{"location": "/mined/*", "tdm-reservation": 1}]"#;
            Response::new(200, "application/json", body)
        }
        "/robots.txt" => Response::status(404),
        path => Response::html(page(path, &[])),
    };
    let crawled = |flags: &[&str], files: &str| {
        let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
        let mut command = sandbox.crawl(&[server.url("/")], &[&["-O", "out.jsonl"], flags].concat());
        let done = run(command.env("CRAWL_CRAWL_AI_OPTOUT_FILES", files)).expect(0);
        assert!(sandbox.errors().is_empty());
        let records = sandbox.records("out.jsonl");
        let mut said: Vec<(String, Value)> = records
            .iter()
            .map(|r| {
                (r["url"].as_str().unwrap().replace(&server.url("/"), "/"), r["metadata"]["aiOptOut"].clone())
            })
            .collect();
        said.sort_by(|a, b| a.0.cmp(&b.0));
        (said, done.stderr, server.targets())
    };
    let free = |path: &str| (path.to_owned(), serde_json::json!([]));
    let (said, summary, targets) = crawled(&["--host-concurrency", "4"], "true");
    assert_eq!(said, ["/", "/after", "/behind", "/mined/free", "/open"].map(free));
    assert!(summary.contains("ai_optout: 5"), "{summary}");
    for file in ["/ai.txt", "/.well-known/tdmrep.json"] {
        assert_eq!(targets.iter().filter(|target| *target == file).count(), 1, "{targets:?}");
    }

    let (said, _, _) = crawled(&["--no-respect-ai-optout"], "true");
    let marked = |path: &str, by: &str| (path.to_owned(), Value::from(vec![by]));
    let expected = [
        free("/"),
        free("/after"),
        marked("/art/1", "ai_txt"),
        free("/behind"),
        marked("/header", "noai"),
        marked("/meta", "tdm_meta"),
        marked("/mined/1", "tdm_file"),
        free("/mined/free"),
        free("/open"),
        marked("/tdm", "tdm_header"),
    ];
    assert_eq!(said, expected);

    let (said, _, targets) = crawled(&[], "false");
    assert_eq!(said, ["/", "/after", "/art/1", "/behind", "/mined/1", "/mined/free", "/open"].map(free));
    assert!(!targets.iter().any(|target| target.contains("tdmrep") || target == "/ai.txt"), "{targets:?}");
}

/// While an origin's files wait for the host's turn, other hosts are fetched, even with few slots.
#[test]
fn opt_out_requests_release_their_slot_while_waiting() {
    const HOSTS: usize = 12;
    let log: Arc<Mutex<Vec<(usize, String)>>> = Arc::default();
    let site = |host: usize| {
        let log = Arc::clone(&log);
        let handler = move |request: &Request| {
            log.lock().unwrap().push((host, request.path().to_owned()));
            match request.path() {
                "/" => Response::html(page(&format!("host {host}"), &[])),
                _ => Response::status(404),
            }
        };
        Server::start(0, handler).unwrap()
    };
    let (servers, sandbox): (Vec<Server>, _) = ((0..HOSTS).map(site).collect(), Sandbox::new());
    let seeds: Vec<String> = servers.iter().map(|server| server.url("/")).collect();
    sandbox.write("seeds.txt", seeds.join("\n") + "\n");
    let mut command = sandbox.bare();
    command.args(["--seed", "seeds.txt", "--state-dir", "state", "-O", "out.jsonl", "-c", "2"]);
    command.args(["--delay", "2s", "--allow-address", "127.0.0.0/8"]);
    command.env("CRAWL_CRAWL_SOFT404", "false").env("CRAWL_POLITENESS_ADDRESS_SHARE", "0");
    run(&mut command).expect(0);
    assert_eq!(sandbox.records("out.jsonl").len(), HOSTS);
    let log = log.lock().unwrap();
    let mut between = 0;
    for host in 0..HOSTS {
        let own: Vec<&str> =
            log.iter().filter(|(at, _)| *at == host).map(|(_, path)| path.as_str()).collect();
        assert_eq!(own, ["/robots.txt", "/.well-known/tdmrep.json", "/ai.txt", "/"]);
        let of = |path: &str| log.iter().position(|(at, asked)| *at == host && asked == path).unwrap();
        between += of("/ai.txt") - of("/.well-known/tdmrep.json");
    }
    // a host whose opt-out files hold their slot lets one other host be fetched in its pause
    assert!(between > HOSTS * HOSTS / 2, "{between} requests in the pauses of {HOSTS} hosts: {log:?}");
}

/// The latest record of each page is not that of a page that its owner has withdrawn.
#[test]
fn latest_records_exclude_withdrawn_pages() {
    let withdrawn = Arc::new(Mutex::new(false));
    let is_withdrawn = Arc::clone(&withdrawn);
    let handler = move |request: &Request| match request.path() {
        "/.well-known/tdmrep.json" if *is_withdrawn.lock().unwrap() => {
            Response::new(200, "application/json", r#"[{"location":"/art/*","tdm-reservation":1}]"#)
        }
        "/" => Response::html(page("the start", &["/art/1".into(), "/open".into()])),
        path @ ("/art/1" | "/open") if request.header("if-none-match").is_some() => {
            Response { body: Vec::new(), ..Response::status(304) }.header("ETag", path)
        }
        path @ ("/art/1" | "/open") => Response::html(page(path, &[])).header("ETag", path),
        _ => Response::status(404),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let mut told = Vec::new();
    for is_withdrawn in [false, true] {
        *withdrawn.lock().unwrap() = is_withdrawn;
        let mut command = sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--recrawl", "all"]);
        run(command.env("CRAWL_CRAWL_AI_OPTOUT_FILES", "true")).expect(0);
        told.push(paths(&sandbox.records("out.jsonl")));
    }
    assert_eq!(told, [vec!["/", "/art/1", "/open"], vec!["/", "/open"]]);
}
