//! A crawl of the fixture site by several workers in PostgreSQL.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "each test uses a part of it, and fails by panicking"
)]

use crate::{
    database::Server as Database,
    run::{Run, Sandbox, eventually, lines, run, url_counts},
    support::{
        server::{Handler, Request, Response, Server},
        site::Site,
    },
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    io::Read as _,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex},
    time::Duration,
};

pub fn harbour() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/sites/harbour")
}

/// The fixture site, with slow answers.
pub struct Slow {
    site: Site,
    answer_time: Arc<Mutex<Duration>>,
}

impl Handler for Slow {
    fn answer(&self, request: &Request) -> Response {
        self.site.answer(request).after(*self.answer_time.lock().unwrap())
    }
}

/// Hosts that serve the fixture site, each on a port of its own.
pub struct Sites {
    pub servers: Vec<Server>,
    answer_time: Arc<Mutex<Duration>>,
}

impl Sites {
    pub fn start(hosts: usize) -> Self {
        let answer_time = Arc::new(Mutex::new(Duration::from_millis(50)));
        let serve = |_| {
            let site = Site::open(&harbour()).unwrap();
            Server::start(0, Slow { site, answer_time: Arc::clone(&answer_time) }).unwrap()
        };
        Self { servers: (0..hosts).map(serve).collect(), answer_time }
    }

    /// Sets the time of each answer from now on.
    pub fn set_answer_time(&self, time: Duration) {
        *self.answer_time.lock().unwrap() = time;
    }

    pub fn seeds(&self) -> Vec<String> {
        self.servers.iter().map(|server| server.url("/")).collect()
    }

    pub fn requests(&self) -> usize {
        self.servers.iter().map(|server| server.requests().len()).sum()
    }

    /// Waits until so many more requests have come.
    pub fn wait_for(&self, more: usize) {
        let wanted = self.requests() + more;
        eventually("requests come", || self.requests() >= wanted);
    }
}

/// A crawl by several workers.
pub struct Crawl {
    pub sites: Sites,
    pub database: Database,
    pub sandbox: Sandbox,
    pub ending: &'static str,
}

impl Crawl {
    pub fn new(hosts: usize, ending: &'static str) -> Self {
        Self { sites: Sites::start(hosts), database: Database::start(), sandbox: Sandbox::new(), ending }
    }

    pub fn flags<'f>(output: &'f str, state: &'f str) -> [&'f str; 6] {
        ["--depth", "6", "-o", output, "--state-dir", state]
    }

    pub fn worker(&self, name: &str) -> Command {
        let (output, store) = (format!("out/*{}", self.ending), self.database.text_url("crawl"));
        let mut command = self.sandbox.crawl(&self.sites.seeds(), &[]);
        // the last one counts
        let words: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
        let state = words.iter().position(|word| word == "--state-dir").unwrap();
        let mut own = self.sandbox.bare();
        own.args(&words[..state]).args(&words[state + 2..]);
        for (key, value) in command.get_envs() {
            own.env(key, value.unwrap());
        }
        command = own;
        command.args(Self::flags(&output, name)).args(["--store", &store, "--crawl", "c"]);
        command.env("CRAWL_OUTPUT_BATCH", "4").env("CRAWL_DEDUP_SETTLE_PAGES", "8");
        command
    }

    /// A worker with another word in its command.
    pub fn changed(&self, name: &str, (word, other): (&str, &str)) -> Command {
        let (mut command, given) = (self.sandbox.bare(), self.worker(name));
        command.args(given.get_args().map(|given| if given == word { other.as_ref() } else { given }));
        for (key, value) in given.get_envs() {
            command.env(key, value.unwrap());
        }
        command
    }

    /// Starts a worker, which shows what it does when the test fails.
    pub fn start(&self, name: &str) -> Run {
        Run::start(&mut self.worker(name))
    }

    /// URLs of a crawl of the same sites by one process.
    pub fn expected(&self) -> Vec<String> {
        let alone = Sandbox::new();
        run(&mut alone.crawl(&self.sites.seeds(), &["--depth", "6", "-o", "out.jsonl"])).expect(0);
        url_counts(&alone.records("out.jsonl")).into_keys().collect()
    }

    pub fn parts(&self) -> Vec<Value> {
        let store = self.database.text_url("crawl");
        let mut command = self.sandbox.bare();
        command.args(["outputs", "--json", "--crawl", "c", "--store", &store]);
        serde_json::from_str(&run(&mut command).expect(0).stdout).unwrap()
    }

    /// Records over all parts, as far as each counts.
    pub fn records(&self) -> Vec<Value> {
        let mut records = Vec::new();
        for part in self.parts() {
            let file = fs::File::open(part["path"].as_str().unwrap()).unwrap();
            let (mut packed, mut text) = (file.take(part["bytes"].as_u64().unwrap()), String::new());
            if self.ending.ends_with(".zst") {
                zstd::stream::read::Decoder::new(packed).unwrap().read_to_string(&mut text).unwrap();
            } else {
                packed.read_to_string(&mut text).unwrap();
            }
            records.extend(lines(&text));
        }
        records
    }

    /// Fails the test unless each expected URL is a record, once.
    #[track_caller]
    pub fn check(&self) {
        let counts = url_counts(&self.records());
        let twice: BTreeMap<_, _> = counts.iter().filter(|(_, n)| **n != 1).collect();
        assert!(twice.is_empty(), "{twice:?}");
        assert_eq!(counts.into_keys().collect::<Vec<_>>(), self.expected());
    }

    pub fn number(&self, query: &str) -> i64 {
        self.database.client().query_one(&query.replace("@", "crawl_c."), &[]).unwrap().get(0)
    }

    /// Ends the lease of the worker of a directory, as a minute without renewal does. Returns its number.
    pub fn expire(&self, directory: &str) -> i64 {
        let text = self.sandbox.read(&format!("{directory}/worker.json"));
        let worker: Value = serde_json::from_str(&text).unwrap();
        let name = worker["name"].as_str().unwrap();
        let update = format!(
            "UPDATE @workers SET lease_until = clock_timestamp() - interval '1 s' WHERE name = '{name}' RETURNING id::int8"
        );
        self.number(&update)
    }

    pub fn hosts_of(&self, worker: i64) -> i64 {
        self.number(&format!("SELECT count(*) FROM @hosts WHERE owner = {worker}"))
    }
}
