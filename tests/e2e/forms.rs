//! Strategies learned per URL pattern (of a host), at no cost for any page. Tests that need Chromium are
//! ignored without it (tests/unavailable).

use crate::{
    run::{Sandbox, run},
    scripted::*,
    support::server::{Request, Response, Server},
};
use serde_json::Value;
use std::collections::BTreeSet;

#[test]
#[ignore = "needs Chromium"]
fn browser_need_is_learned_per_url_pattern() {
    let (server, sandbox) = (Server::start(0, many(200, 60)).unwrap(), Sandbox::new());
    let (records, _) = finished(&sandbox, &server, &["--host-concurrency", "4"]);
    assert_eq!(records.len(), 1 + 200 + 120);
    let rendered: Vec<&Value> = records.iter().filter(|r| strategy(r) == "chrome").collect();
    assert_eq!(rendered.len(), 200 + 20);
    assert!(rendered.iter().all(|r| r["text"].as_str().unwrap().contains("Entry 7 of")));
    let requests = server.requests();
    let first = requests.iter().filter(|r| r.path().starts_with("/app/") && !is_browser(r)).count();
    // the first one, and those that come in before a busy machine has classified it; none of the last 180
    assert!(first <= 20, "{first} shells were fetched statically first");
    // no page with a text of its own goes to the browser because of its neighbours
    let shells = |r: &&Request| {
        r.path().trim_start_matches(|c: char| !c.is_ascii_digit()).parse::<usize>().is_ok_and(|n| n % 3 == 0)
    };
    let needless: BTreeSet<&str> = requests
        .iter()
        .filter(|r| {
            is_browser(r) && (r.path().starts_with("/doc/") || (r.path().starts_with("/mix/") && !shells(r)))
        })
        .map(Request::path)
        .collect();
    assert!(needless.is_empty(), "{needless:?}");
    // the next round has learned: no shell is fetched statically first
    let before = requests.len();
    finished(&sandbox, &server, &["--host-concurrency", "4"]);
    let again = server.requests().split_off(before);
    assert_eq!(again.iter().filter(|r| r.path().starts_with("/app/") && !is_browser(r)).count(), 0);
}

/// Pages of one pattern and one program: eight shells, of which the last links to pages with text in the same
/// frame.
fn changing(request: &Request) -> Response {
    let links = |from: usize, to: usize| -> String {
        (from..=to).map(|n| format!("<li><a href=/late/{n}>Log {n}</a></li>")).collect()
    };
    let number = request.path().strip_prefix("/late/").and_then(|n| n.parse::<usize>().ok());
    match (request.path(), number) {
        ("/", _) => Response::html(article("Index", &(prose("the index", 20) + &links(1, 8)))),
        ("/api/late/8", _) => Response::html(prose("late/8", 20) + &format!("<nav>{}</nav>", links(9, 40))),
        (_, Some(1..=8)) => Response::html(SHELL),
        (path, Some(_)) => {
            let text = format!("<main><article><h1>Log</h1>{}</article></main>", prose(&path[1..], 20));
            let root = format!("<div id=root>{text}</div>");
            // its script finds the text there and does not change it
            Response::html(SHELL.replace("<div id=root></div>", &root).replace("/app.js", "/hydrate.js"))
        }
        ("/hydrate.js", _) => {
            Response::new(200, "text/javascript", "document.getElementById('root').dataset.on = 1")
        }
        _ => common(request),
    }
}

#[test]
#[ignore = "needs Chromium"]
fn page_with_static_text_is_never_rendered() {
    let (server, sandbox) = (Server::start(0, changing).unwrap(), Sandbox::new());
    let (records, _) = finished(&sandbox, &server, &["--host-concurrency", "4"]);
    assert_eq!(records.len(), 41);
    let number = |url: &str| url.rsplit('/').next().unwrap().parse::<usize>().unwrap_or(0);
    let of = |r: &Value| number(r["metadata"]["sourceURL"].as_str().unwrap());
    for record in &records {
        let expected = if (1..=8).contains(&of(record)) { "chrome" } else { "static" };
        assert_eq!(strategy(record), expected, "{}: {:#}", of(record), record["metadata"]["attempts"]);
        assert_eq!(tried(record).last(), Some(&(expected, None)));
        let about = if of(record) == 0 { "the index".into() } else { format!("late/{}", of(record)) };
        let text = record["text"].as_str().unwrap();
        assert!(text.contains(&format!("Entry 7 of {about}:")), "{}: {text}", of(record));
    }
    // the first of them, and those in flight until its document was classified
    let requests = server.requests();
    let shown: BTreeSet<usize> =
        requests.iter().filter(|r| is_browser(r)).map(|r| number(r.path())).filter(|n| *n > 8).collect();
    assert!(shown.len() <= 16, "{shown:?} were asked for by the browser");
}

/// Pages of one pattern that only a mobile client gets, with repeated text.
fn repeated(request: &Request) -> Response {
    match request.path() {
        "/" => {
            let all: Vec<String> = (1..=60).map(|n| format!("/again/{n}")).collect();
            index(&all.iter().map(String::as_str).collect::<Vec<_>>())
        }
        path if path.starts_with("/again/") && is_mobile(request) => {
            Response::html(article("Again", &prose("the same", 20)))
        }
        path if path.starts_with("/again/") => Response::html(format!(
            "<title>Again</title><body><form>{}</form></body>",
            "<label>Pick one of these options here</label> ".repeat(10)
        )),
        _ => common(request),
    }
}

#[test]
fn learned_patterns_do_not_exempt_traps() {
    let (server, sandbox) = (Server::start(0, repeated).unwrap(), Sandbox::new());
    let mut command = crawl(&sandbox, &server, &["--chrome", "/nonexistent/chrome"]);
    run(command.env("CRAWL_TRAPS_TEMPLATE_CREDIT", "150")).expect(0);
    let errors = sandbox.errors();
    let trapped: BTreeSet<&str> =
        errors.iter().filter(|e| e["kind"] == "trap_template").map(|e| e["url"].as_str().unwrap()).collect();
    assert!(!trapped.is_empty(), "{errors:?}");
    let requests = server.requests();
    let of = |mobile: bool| -> BTreeSet<&str> {
        requests.iter().filter(|r| is_mobile(r) == mobile).map(Request::path).collect()
    };
    assert!(
        of(true).difference(&of(false)).next().is_some(),
        "no page was asked for by a mobile client first"
    );
    let fetched = trapped.iter().filter(|url| requests.iter().any(|r| **url == server.url(r.path()))).count();
    assert_eq!(fetched, 0, "{trapped:?}");
}
