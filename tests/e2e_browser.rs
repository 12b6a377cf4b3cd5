//! Requests of a crawl's browser, and the handling of a host's answers to it. The tests are ignored without
//! Chromium (tests/unavailable).

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test that uses them")]

#[path = "support/run.rs"]
mod run;
#[path = "support/scripted.rs"]
mod scripted;
mod support;

use crawl_engine::visit::Visitor;
use run::{Sandbox, record, run};
use scripted::{is_browser, tried};
use serde_json::Value;
use std::{
    panic::resume_unwind,
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
    time::Duration,
};
use support::server::{Request, Response, Server};

/// A page that its script fills with the text of `/api` and of other resources that it requests.
fn shell(others: &[&str]) -> String {
    let ask = "const ask = at => fetch(at).then(r => r.text()).catch(() => '')";
    let fill = "Promise.all(all.map(ask)).then(texts => { root.innerHTML = '<main><article><h1>Log</h1>' + texts.join('') + '</article></main>' })";
    let all = serde_json::to_string(&[&["/api"], others].concat()).unwrap();
    format!(
        "<!doctype html><html><head><title>Harbour log</title></head><body><div id=root><p>Loading the tide tables, please wait.</p>\
         </div><script>{ask}; const all = {all}; {fill}</script></body></html>"
    )
}

fn prose() -> Response {
    let one = |n| {
        format!("<p>Entry {n} of the log: the keeper wrote down wind and water at hour {n} as always.</p>")
    };
    Response::html((0..20).map(one).collect::<String>())
}

/// A shell; requests of a browser get the answer of `otherwise`, if it has one.
fn told_otherwise(
    otherwise: impl Fn() -> Option<Response> + Send + Sync + 'static,
) -> impl Fn(&Request) -> Response + Send + Sync + 'static {
    move |request: &Request| match request.path() {
        "/" if is_browser(request) => otherwise().unwrap_or_else(|| Response::html(shell(&[]))),
        "/" => Response::html(shell(&[])),
        "/api" => prose(),
        _ => Response::status(404),
    }
}

fn crawled(server: &Server, config: &str, flags: &[&str]) -> Vec<Value> {
    let sandbox = Sandbox::new();
    let config = sandbox.write("crawl.toml", config);
    let always = ["-O", "out.jsonl", "--chrome-no-sandbox", "--config", config.to_str().unwrap()];
    let mut command = sandbox.crawl(&[server.url("/")], &[&always, flags].concat());
    // a budget for a busy machine
    command
        .env("CRAWL_CHROME_SETTLE", "30s")
        .env("CRAWL_CHROME_NAVIGATE", "30s")
        .env("GULL_SECRET", "s3cret");
    run(&mut command).expect(0);
    sandbox.records("out.jsonl")
}

#[test]
#[ignore = "needs Chromium"]
fn headers_cookies_and_credentials_go_with_a_browser_to_their_origin_alone() {
    let other = Server::start(0, |_: &Request| {
        prose().header("Access-Control-Allow-Origin", "*").header("Access-Control-Allow-Headers", "*")
    })
    .unwrap();
    let (there, away) = (other.url("/there"), other.url("/away"));
    let site = move |request: &Request| {
        if request.header("authorization") != Some("Basic Z3VsbDpzM2NyZXQ=") {
            return Response::status(401).header("WWW-Authenticate", "Basic");
        }
        match request.path() {
            "/" => Response::html(shell(&[&there, "/leads"])).header("Set-Cookie", "berth=7"),
            "/api" => prose(),
            "/leads" => Response::redirect(302, &away).header("Access-Control-Allow-Origin", "*"),
            _ => Response::status(404),
        }
    };
    let server = Server::start(0, site).unwrap();
    let config = format!(
        "[fetch]\ncookies = true\nauth = [{{ site = \"{}\", user = \"gull\", password_env = \"GULL_SECRET\" }}]\n",
        server.url("")
    );
    let records = crawled(&server, &config, &["--header", "X-Watch: night"]);
    assert_eq!(tried(record(&records, &server.url("/"))), [("static", None), ("chrome", None)]);
    assert!(records[0]["text"].as_str().unwrap().contains("Entry 7 of the log"), "{records:?}");
    let asked = |server: &Server| server.requests().into_iter().filter(is_browser).collect::<Vec<_>>();
    let here = asked(&server);
    for path in ["/", "/api", "/leads"] {
        let request =
            here.iter().find(|r| r.path() == path).unwrap_or_else(|| panic!("{path} was not asked for"));
        let sent = ["x-watch", "cookie", "authorization"].map(|name| request.header(name));
        assert_eq!(sent, [Some("night"), Some("berth=7"), Some("Basic Z3VsbDpzM2NyZXQ=")], "{path}");
    }
    let elsewhere = asked(&other);
    for path in ["/there", "/away"] {
        assert!(elsewhere.iter().any(|r| r.path() == path), "{path}");
    }
    for request in elsewhere {
        let sent = ["x-watch", "cookie", "authorization"].map(|name| request.header(name));
        assert_eq!(sent, [None; 3], "{}", request.target);
    }
}

#[test]
#[ignore = "needs Chromium"]
fn a_host_that_asks_a_browser_to_wait_is_left_alone_that_long() {
    let navigations = AtomicUsize::new(0);
    let waits = move || {
        (navigations.fetch_add(1, SeqCst) == 0).then(|| Response::status(503).header("Retry-After", "2"))
    };
    let server = Server::start(0, told_otherwise(waits)).unwrap();
    let records = crawled(&server, "", &[]);
    assert_eq!(tried(&records[0]), [("static", None), ("chrome", None)], "{}", records[0]);
    let times: Vec<_> =
        server.requests().iter().filter(|r| r.path() == "/" && is_browser(r)).map(|r| r.at).collect();
    assert_eq!(times.len(), 2, "asked again once");
    assert!(times[1] - times[0] >= Duration::from_millis(1990), "{:?}", times[1] - times[0]);
}

#[test]
#[ignore = "needs Chromium"]
fn a_connection_that_a_browser_loses_is_tried_again() {
    let navigations = AtomicUsize::new(0);
    // ends the connection without an answer; Chromium itself may retry once
    let cuts = move || -> Option<Response> {
        (navigations.fetch_add(1, SeqCst) < 2).then(|| resume_unwind(Box::new("cut")))
    };
    let server = Server::start(0, told_otherwise(cuts)).unwrap();
    let records = crawled(&server, "", &[]);
    assert_eq!(tried(&records[0]), [("static", None), ("chrome", None)], "{}", records[0]);
    assert!(records[0]["text"].as_str().unwrap().contains("Entry 7 of the log"));
}

#[test]
#[ignore = "needs Chromium"]
fn a_visit_that_a_browser_keeps_waiting_gives_the_page_as_it_came() {
    let site = move |request: &Request| match request.path() {
        // longer than the visit
        "/slow" if is_browser(request) => Response::html(shell(&[])).after(Duration::from_secs(20)),
        "/slow" => Response::html(shell(&[])),
        _ => Response::status(404),
    };
    let server = Server::start(0, site).unwrap();
    let settings =
        [("FETCH_ALLOW_ADDRESSES", "127.0.0.0/8"), ("POLITENESS_DELAY", "0s"), ("CHROME_SANDBOX", "false")];
    let settings = settings.map(|(name, value)| (format!("CRAWL_{name}"), value.to_owned()));
    let config = crawl_engine::config::load(None, settings.into_iter(), Vec::new()).unwrap();
    let visitor = Visitor::new(config, Duration::from_secs(8));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let url = server.url("/slow").parse().unwrap();
    let record = serde_json::to_value(runtime.block_on(visitor.visit(url, None, None)).unwrap()).unwrap();
    assert!(record["text"].as_str().unwrap().contains("Loading the tide tables"), "{record}");
    assert_eq!(tried(&record), [("static", None), ("chrome", Some("renderer_closed"))]);
    assert!(record["warnings"].as_array().unwrap().iter().any(|w| w == "partial_content"), "{record}");
    assert_eq!(server.requests().iter().filter(|r| is_browser(r)).count(), 1);
}
