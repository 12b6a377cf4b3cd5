//! The client alone against a hostile server, if that server lies beside the repository. The crate's own
//! tests for this are in `http.rs`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests, which clippy does not see as such"
)]

mod support;

use cpu_time::ThreadTime;
use crawl_fetch::{Fetched, Gate, HttpClient, HttpSettings, PolitenessSettings, RobotsPolicy};
use crawl_model::{CachedRobots, Origin};
use futures::{StreamExt, stream};
use serde_json::Value;
use std::{
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};
use support::{client, request, settings};
use url::Url;

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/bench/hostile_server.py");

struct Server {
    process: Child,
    port: u16,
    tls_port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

async fn start() -> Option<Server> {
    assert!(std::path::Path::new(SERVER).exists(), "the hostile server is not here");
    // a port that was free a moment ago; the server cannot choose one itself
    let free = || Some(std::net::TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()?.port());
    let (port, tls_port) = (free()?, free()?);
    let process = Command::new("python3")
        .args([SERVER, "--port", &port.to_string(), "--tls-port", &tls_port.to_string()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let server = Server { process, port, tls_port };
    for _ in 0..100 {
        if tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
            return Some(server);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    None
}

impl Server {
    fn at(&self, path: &str) -> Url {
        Url::parse(&format!("http://127.0.0.1:{}{path}", self.port)).unwrap()
    }
}

async fn json(client: &HttpClient, url: &Url) -> Value {
    let answer = client.fetch_resource(url, 8 << 20).await.unwrap();
    serde_json::from_slice(&answer.body).unwrap()
}

fn outcome(fetched: &Fetched) -> String {
    match fetched {
        Fetched::Page(page) if page.body.truncated => "page, cut".into(),
        Fetched::Page(_) => "page".into(),
        Fetched::Redirect { to, .. } => format!("redirect to {to}"),
        Fetched::Skipped { kind, .. } => format!("skipped: {}", kind.name()),
        Fetched::Failed { error, .. } => format!("{}: {error}", error.kind()),
    }
}

/// Peak memory of this process, in MiB.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap_or_default() / 1024
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the benchmark suites"]
async fn every_hostile_path_gives_one_typed_result() {
    let server = start().await.unwrap();
    let limits = HttpSettings {
        read_timeout: Duration::from_secs(4),
        total_timeout: Duration::from_secs(12),
        max_body_bytes: 4 << 20,
        ..settings()
    };
    let client = client(limits);
    let expected = json(&client, &server.at("/_expected.json")).await;
    let paths: Vec<String> = expected["paths"].as_object().unwrap().keys().cloned().collect();
    let (started, before) = (Instant::now(), peak_memory());
    let found: Vec<(String, String, Duration)> = stream::iter(paths.clone())
        .map(|path| {
            let (client, url) = (&client, server.at(&path));
            async move {
                let begun = Instant::now();
                let fetched = client.fetch(request(url)).await;
                let next = match &fetched {
                    // every redirect is tried: aliases of a private address must be refused then
                    Fetched::Redirect { to, .. } => Some(client.fetch(request(to.clone())).await),
                    _ => None,
                };
                let words = next
                    .iter()
                    .map(outcome)
                    .fold(outcome(&fetched), |all, next| format!("{all}, then {next}"));
                (path, words, begun.elapsed())
            }
        })
        .buffer_unordered(16)
        .collect()
        .await;
    for (path, outcome, took) in &found {
        println!("{path:30} {:6} ms  {outcome}", took.as_millis());
    }
    println!(
        "{} paths in {:?}, peak memory {} MiB over {before}",
        found.len(),
        started.elapsed(),
        peak_memory() - before
    );
    assert_eq!(found.len(), paths.len());
    let slow: Vec<_> = found.iter().filter(|(_, _, took)| *took > Duration::from_secs(26)).collect();
    assert!(slow.is_empty(), "{slow:?}");
    let url = Url::parse(&format!("https://127.0.0.1:{}/static/ok", server.tls_port)).unwrap();
    let secure = outcome(&client.fetch(request(url)).await);
    println!("a certificate of another name: {secure}");
    // without openssl the server has no such port
    assert!(secure.starts_with("tls: ") || secure.starts_with("connect: "), "{secure}");
    let stats = json(&client, &server.at("/_stats.json")).await;
    assert_eq!(stats["canary"], serde_json::json!({}), "a private address was reached");
    assert_eq!((client.budget().used(), client.budget().bodies()), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the benchmark suites"]
async fn every_hostile_robots_txt_gives_a_policy() {
    let server = start().await.unwrap();
    let (bare, port) = (client(settings()), server.port);
    let hosts: Vec<String> = json(&bare, &server.at("/_expected.json")).await["robots_hosts"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    let resolve = hosts.iter().map(|host| format!("{host}.test:{port}:127.0.0.1").parse().unwrap()).collect();
    let client = client(HttpSettings { resolve, read_timeout: Duration::from_secs(5), ..settings() });
    let gate = Gate::new(PolitenessSettings { delay: Duration::ZERO, ..PolitenessSettings::default() });
    for host in &hosts {
        let origin = Origin::of(&Url::parse(&format!("http://{host}.test:{port}/")).unwrap()).unwrap();
        let begun = Instant::now();
        let answer = client.fetch_robots(&gate, &origin, None).await;
        let unanswered = CachedRobots { status: 0, body: Vec::new().into(), fetched_at_ms: 0 };
        let cached = answer.unwrap_or(unanswered);
        let policy = RobotsPolicy::from_cached(&cached, "crawl");
        let allows = |path: &str| policy.verdict(&Url::parse(&format!("{origin}{path}")).unwrap()).allowed;
        let judge = || {
            let started = ThreadTime::now();
            let judged = (allows("/page"), allows("/private"), allows(&format!("/{}", "a".repeat(2_000))));
            (started.elapsed(), judged)
        };
        // the best of some runs, since other processes empty the caches
        let (took, judged) = (0..10).map(|_| judge()).min().unwrap();
        println!(
            "{host:9} status {:3} {:6} bytes {:5} ms {judged:?}",
            cached.status,
            cached.body.len(),
            begun.elapsed().as_millis()
        );
        assert!(took < Duration::from_millis(150), "{host}: {took:?}");
        assert!(cached.body.len() <= 500 * 1024, "{host}");
        let expected = match host.as_str() {
            // rcross leads to a silent host: a network error, so nothing is allowed (RFC 9309 §2.3.1.4)
            "r500" | "r503" | "r429" | "rreset" | "rslow" | "rdeny" | "rcross" => (false, false),
            "rredir" | "rbom" | "rmac" => (true, false),
            _ => (true, true),
        };
        assert_eq!((judged.0, judged.1), expected, "{host}");
    }
}
