//! Sites that scripts fill, and crawls of them that may use a browser.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of tests fails the test that uses it")]
#![allow(dead_code, reason = "every test file uses a part of the module")]

use crate::{
    run::{Sandbox, run},
    support::server::{Request, Response, Server},
};
use serde_json::Value;
use std::process::Command;

/// A page that a script fills with the text of `/api/…`.
pub const SHELL: &str = "<!doctype html><html><head><title>Harbour log</title></head><body><div id=root></div>\
                     <script src=/app.js></script></body></html>";
pub const APP: &str = "fetch('/api' + location.pathname).then(r => r.text()).then(text => {\
                   document.getElementById('root').innerHTML = '<main><article><h1>Log</h1>' + text + '</article></main>' })";

/// Sentences about something, each different.
pub fn prose(about: &str, sentences: usize) -> String {
    let one = |n| {
        format!("<p>Entry {n} of {about}: the keeper wrote down wind and water at hour {n} as always.</p>")
    };
    (0..sentences).map(one).collect()
}

pub fn article(title: &str, text: &str) -> String {
    format!(
        "<!doctype html><html lang=en><head><title>{title}</title></head><body><article><h1>{title}</h1>{text}</article></body></html>"
    )
}

pub fn index(targets: &[&str]) -> Response {
    let links: String = targets.iter().map(|t| format!("<li><a href='{t}'>{t}</a></li>")).collect();
    Response::html(article("Index", &format!("{}<ul>{links}</ul>", prose("the index", 20))))
}

pub fn is_mobile(request: &Request) -> bool {
    request.header("sec-ch-ua-mobile") == Some("?1")
}

pub fn is_browser(request: &Request) -> bool {
    request.header("user-agent").is_some_and(|agent| agent.contains("Chrome/")) && !is_mobile(request)
}

/// Common resources of every site here: the script, and the data that it requests.
pub fn common(request: &Request) -> Response {
    match request.path() {
        "/app.js" => Response::new(200, "text/javascript", APP),
        path if path.starts_with("/api/") => Response::html(prose(&path[5..], 20)),
        _ => Response::status(404),
    }
}

pub fn crawl(sandbox: &Sandbox, server: &Server, flags: &[&str]) -> Command {
    let flags = [&["-O", "out.jsonl", "--chrome-no-sandbox"], flags].concat();
    let mut command = sandbox.crawl(&[server.url("/")], &flags);
    // a budget for a busy machine
    command.env("CRAWL_CHROME_SETTLE", "30s").env("CRAWL_CHROME_NAVIGATE", "30s");
    command
}

pub fn finished(sandbox: &Sandbox, server: &Server, flags: &[&str]) -> (Vec<Value>, String) {
    let done = run(&mut crawl(sandbox, server, flags)).expect(0);
    (sandbox.records("out.jsonl"), done.stderr)
}

pub fn tried(record: &Value) -> Vec<(&str, Option<&str>)> {
    let attempts = record["metadata"]["attempts"].as_array().unwrap();
    attempts.iter().map(|a| (a["strategy"].as_str().unwrap(), a["error"].as_str())).collect()
}

pub fn strategy(record: &Value) -> &str {
    record["metadata"]["strategy"].as_str().unwrap()
}

pub fn warns(record: &Value, warning: &str) -> bool {
    record["warnings"].as_array().unwrap().iter().any(|w| w == warning)
}

pub fn navigations(server: &Server, path: &str) -> usize {
    server.requests().iter().filter(|r| r.path() == path && is_browser(r)).count()
}

/// A site of shells, or of shells and pages.
pub fn many(shells: usize, pages: usize) -> impl Fn(&Request) -> Response + Send + Sync + 'static {
    move |request: &Request| match request.path() {
        "/" => {
            let apps = (1..=shells).map(|n| format!("/app/{n}"));
            let docs = (1..=pages).map(|n| format!("/doc/{n}"));
            let mixed = (1..=pages).map(|n| format!("/mix/{n}"));
            let all: Vec<String> = apps.chain(docs).chain(mixed).collect();
            index(&all.iter().map(String::as_str).collect::<Vec<_>>())
        }
        path if path.starts_with("/app/") => Response::html(SHELL),
        // every third page of this pattern is a shell
        path if path.starts_with("/mix/")
            && path
                .trim_start_matches(|c: char| !c.is_ascii_digit())
                .parse::<usize>()
                .is_ok_and(|n| n % 3 == 0) =>
        {
            Response::html(SHELL)
        }
        path if path.starts_with("/doc/") || path.starts_with("/mix/") => {
            Response::html(article(path, &prose(path, 20)))
        }
        _ => common(request),
    }
}
