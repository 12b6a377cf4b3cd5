//! Consecutive runs over a site that changes in between.

#![allow(clippy::unwrap_used, reason = "a helper of tests fails the test that uses it")]
#![allow(dead_code, reason = "every test file uses a part of the module")]

use super::{
    run::{self, Done, Sandbox, run},
    support::{
        made::page,
        server::{Request, Response, Server},
    },
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    sync::{Arc, Mutex, PoisonError},
};

/// A page on the server.
#[derive(Clone, Default)]
pub struct Page {
    pub html: String,
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    /// Answered instead of the page.
    pub status: Option<u16>,
}

/// A site whose pages a test changes.
#[derive(Clone, Default)]
pub struct Changing(Arc<Mutex<BTreeMap<String, Page>>>);

impl Changing {
    pub fn set(&self, target: &str, change: impl FnOnce(&mut Page)) {
        let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(pages.entry(target.to_owned()).or_default());
    }

    pub fn put(&self, target: &str, html: String) {
        self.set(target, |page| page.html = html);
    }

    pub fn answer(&self, request: &Request) -> Response {
        let pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(page) = pages.get(request.path()) else { return Response::status(404) };
        if let Some(status) = page.status {
            return Response::status(status);
        }
        let same =
            |name: &str, value: &Option<String>| value.is_some() && request.header(name) == value.as_deref();
        let tagged = |response: Response| {
            let named = [("ETag", &page.etag), ("Last-Modified", &page.last_modified)];
            let given = named.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?)));
            given.fold(response, |response, (name, value)| response.header(name, value))
        };
        if same("if-none-match", &page.etag) || same("if-modified-since", &page.last_modified) {
            return tagged(Response { body: Vec::new(), ..Response::status(304) });
        }
        let kind = match request.path() {
            "/robots.txt" => "text/plain",
            "/sitemap.xml" => "application/xml",
            _ => "text/html; charset=utf-8",
        };
        tagged(Response::new(200, kind, page.html.clone()))
    }

    pub fn serve(&self) -> Server {
        let site = self.clone();
        Server::start(0, move |request: &Request| site.answer(request)).unwrap()
    }

    /// Creates a start page that links to pages 1 to `n`, each with its own text; only page 1 links to
    /// `/hidden`.
    pub fn of(n: usize) -> Self {
        let site = Self::default();
        let links: Vec<String> = (1..=n).map(|n| format!("/{n}.html")).collect();
        // a page with too little text is fetched by a mobile client, too
        let about = "<p>This site is about pages: how they come, how they change, how they go, and who is told of it. It has been \
                     here for as long as anybody can remember, which is not very long, and it says so on every page that has \
                     something to say about the matter, as this one has in more than a few words.</p><ul>";
        site.put("/", page("start", &links).replace("<ul>", about));
        for n in 1..=n {
            let links = if n == 1 { vec!["/hidden".to_owned()] } else { Vec::new() };
            site.put(&format!("/{n}.html"), page(&format!("page number {n}"), &links));
        }
        site.put("/hidden", page("what one page alone links to", &[]));
        site
    }

    pub fn tag_all(&self) {
        let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (target, page) in pages.iter_mut() {
            page.etag = Some(format!("\"{target}\""));
        }
    }
}

/// Result of one run.
pub struct Brought {
    pub done: Done,
    pub records: Vec<Value>,
    /// Requested targets, each with true for a conditional request.
    pub asked: Vec<(String, bool)>,
}

impl Brought {
    /// `change` and path of each record, sorted.
    pub fn changes(&self, server: &Server) -> Vec<(String, String)> {
        let told = |record: &Value| {
            let url = record["url"].as_str().unwrap().replace(&server.url(""), "");
            (record["metadata"]["change"].as_str().unwrap().to_owned(), url)
        };
        let mut changes: Vec<_> = self.records.iter().map(told).collect();
        changes.sort();
        changes
    }

    pub fn targets(&self) -> Vec<&str> {
        let mut targets: Vec<_> = self.asked.iter().map(|(target, _)| target.as_str()).collect();
        targets.sort_unstable();
        targets
    }
}

/// Consecutive runs with one state directory; each writes its own file.
pub struct Nights<'a> {
    pub server: &'a Server,
    pub sandbox: Sandbox,
    pub flags: Vec<&'a str>,
    pub seeds: Vec<String>,
    pub night: usize,
}

impl<'a> Nights<'a> {
    pub fn new(server: &'a Server, flags: &[&'a str]) -> Self {
        let seeds = vec![server.url("/")];
        Self { server, sandbox: Sandbox::new(), flags: flags.to_vec(), seeds, night: 0 }
    }

    pub fn next(&mut self, flags: &[&str]) -> Brought {
        self.next_with(flags, &[])
    }

    pub fn next_with(&mut self, flags: &[&str], env: &[(&str, &str)]) -> Brought {
        self.night += 1;
        let output = format!("{}.jsonl", self.night);
        let before = self.server.requests().len();
        let mut flags = [&["-o", output.as_str()], self.flags.as_slice(), flags].concat();
        // each night has a file of its own
        if !flags.contains(&"--emit") {
            flags.extend(["--emit", "changes"]);
        }
        let mut command = self.sandbox.crawl(&self.seeds, &flags);
        command.env("CRAWL_RECRAWL_CONFIRM_GONE", "20ms").envs(env.iter().copied());
        let done = run(&mut command).expect(0);
        let requests = self.server.requests();
        let asked = requests[before..].iter().filter(|r| r.target != "/robots.txt");
        let conditional =
            |r: &Request| r.header("if-none-match").is_some() || r.header("if-modified-since").is_some();
        let asked = asked.map(|r| (r.target.clone(), conditional(r))).collect();
        let records = fs::read_to_string(self.sandbox.path(&output)).unwrap_or_default();
        Brought { done, records: run::lines(&records), asked }
    }
}
