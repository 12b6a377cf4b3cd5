//! A running `crawl serve`, and requests to it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of tests fails the test that uses it")]
#![allow(dead_code, reason = "every test file uses a part of the module")]

use super::run::{self, Run, Sandbox, eventually};
use crawl_model::{NewSource, ProjectId, ProjectStore};
use crawl_store::SqliteProjects;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::TcpStream,
};

/// Token of [`started`].
pub const TOKEN: &str = "a-token-for-one-test";

/// A server over the database `p.sqlite` of a sandbox.
pub struct Served {
    pub run: Run,
    pub address: String,
}

/// An answer of the server.
pub struct Answer {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: Value,
}

impl Served {
    pub fn start(sandbox: &Sandbox, variables: &[(&str, &str)]) -> Self {
        let mut command = sandbox.bare();
        command.args(["serve", "--listen", "127.0.0.1:0", "--database", "p.sqlite"]);
        command.envs(variables.iter().copied());
        let mut run = Run::start(&mut command);
        let said =
            |run: &Run| run.stderr_so_far().lines().find(|l| l.starts_with("listening")).map(str::to_owned);
        eventually("the server listens", || {
            assert!(run.is_on(), "{}", run.stderr_so_far());
            said(&run).is_some()
        });
        let line = said(&run).unwrap();
        let address = line.split(['/', ',']).nth(2).unwrap().to_owned();
        Self { run, address }
    }

    pub fn raw(&self, request: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(run::PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines
            .map(|line| line.split_once(": ").unwrap())
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect();
        let body = if body.is_empty() { Value::Null } else { serde_json::from_str(body).unwrap() };
        let answer = Answer { status, headers, body };
        if status >= 400 {
            assert_eq!(answer.headers["content-type"], "application/problem+json", "{text}");
            assert_eq!(answer.body["status"], status, "{text}");
            assert_eq!(answer.body["type"], "about:blank");
            assert!(answer.body["title"].is_string() && answer.body["detail"].is_string(), "{text}");
        }
        answer
    }

    pub fn with(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Answer {
        let mut head =
            format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
        if !headers.iter().any(|h| h.to_lowercase().starts_with("host:")) {
            head += &format!("host: {}\r\n", self.address);
        }
        headers.iter().for_each(|h| head += &format!("{h}\r\n"));
        self.raw(&format!("{head}\r\n{body}"))
    }

    /// Sends a request with the token.
    pub fn ask(&self, method: &str, path: &str) -> Answer {
        self.with(method, path, &[&format!("authorization: Bearer {TOKEN}")], "")
    }

    pub fn get(&self, path: &str) -> Value {
        let answer = self.ask("GET", path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.body
    }

    pub fn post(&self, path: &str, headers: &[&str], body: &str) -> Answer {
        let token = format!("authorization: Bearer {TOKEN}");
        self.with("POST", path, &[&[token.as_str()], headers].concat(), body)
    }

    pub fn create(&self, body: &str) -> Answer {
        self.post("/api/v1/projects", &["content-type: application/json"], body)
    }
}

/// A server with [`TOKEN`].
pub fn started() -> (Sandbox, Served) {
    let sandbox = Sandbox::new();
    let served = Served::start(&sandbox, &[("CRAWL_SERVE_TOKEN", TOKEN)]);
    (sandbox, served)
}

/// Stores a project with so many pages of two domains, which share a footer.
pub fn fill(sandbox: &Sandbox, name: &str, pages: usize) -> ProjectId {
    let store = SqliteProjects::open(&sandbox.path("p.sqlite")).unwrap();
    let id = store.create_project(name, 1).unwrap().unwrap().id;
    let page = |n: usize| NewSource {
        url: format!("https://h{}.example/{n}", n % 2),
        domain: format!("h{}.example", n % 2),
        source_group: Some(["news", "shop"][n % 2].into()),
        metadata: r#"{"title":"A sheet","keywords":["a"]}"#.into(),
        content: format!(
            "Sheet {n} has words of its own.\n\nThis office is open on weekdays from eight to four, says every sheet."
        ),
        cleaned_content: None,
    };
    assert!(store.save_sources(id, &(0..pages).map(page).collect::<Vec<_>>(), 1).unwrap());
    id
}
