//! Several workers on one crawl in a real PostgreSQL: takeovers, zombies, links between workers, errors.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, its helpers too"
)]

mod chaos;
mod claims;
mod domains;
mod errors;
mod free_hosts;
mod outputs;
mod read_ahead;
mod reopen;
mod round_settings;
#[path = "../support/postgres.rs"]
mod server;
mod transfer;
mod workers;

use crawl_model::{
    CrawlRequest, Discovery, Frontier, HostBound, HostBounds, HostKey, HostLoad, Lane, NewUrl, Outcome,
    OutputMark, PageHistory, Settlement, Simulation, SimulationGuard, StoreError, UrlKey,
};
use crawl_store::PgStore;
use server::Server;
use std::{
    cell::Cell,
    rc::Rc,
    time::{Duration, Instant, SystemTime},
};
use url::Url;

fn host(name: &str) -> HostKey {
    HostKey::from_stored(name)
}

fn new_url(url: &str) -> NewUrl {
    NewUrl {
        key: UrlKey::of(url),
        url: url.to_owned(),
        host: HostKey::of(&Url::parse(url).unwrap()).unwrap(),
        depth: 0,
        discovery: Discovery::Link,
        redirects: Vec::new(),
        sitemap_lastmod: None,
    }
}

fn urls(urls: &[&str]) -> Vec<NewUrl> {
    urls.iter().map(|url| new_url(url)).collect()
}

fn open(server: &Server, worker: &str) -> PgStore {
    PgStore::open(&server.options("c", worker)).unwrap()
}

/// A server with a crawl in its first round, and a worker of the crawl.
fn begun(worker: &str) -> (Server, PgStore) {
    let server = Server::start();
    let store = open(&server, worker);
    assert_eq!(store.begin_round().unwrap(), 1);
    (server, store)
}

fn lease(store: &PgStore, name: &str, max: usize) -> Vec<CrawlRequest> {
    store.lease(&host(name), Lane::Plain, max, "", 0, 100).unwrap()
}

fn ready(store: &PgStore) -> Vec<String> {
    let mut hosts: Vec<String> = store
        .hosts_with_pending(Lane::Plain, 0, 99)
        .unwrap()
        .iter()
        .map(|found| found.host.to_string())
        .collect();
    hosts.sort_unstable();
    hosts
}

fn records(requests: &[CrawlRequest]) -> Vec<Settlement> {
    let record = |request: &CrawlRequest| Settlement {
        lease: request.into(),
        outcome: Outcome::Record,
        history: PageHistory::default(),
    };
    requests.iter().map(record).collect()
}

fn mark(name: &str, offset: u64) -> OutputMark {
    OutputMark { name: name.to_owned(), offset }
}

/// Waits until a query returns true.
fn eventually(server: &Server, query: &str) {
    let mut client = server.client();
    let until = Instant::now() + Duration::from_secs(20);
    while !client.query_one(query, &[]).unwrap().get::<_, bool>(0) {
        assert!(Instant::now() < until, "not true within 20 s: {query}");
        client.batch_execute("SELECT pg_sleep(0.02)").unwrap();
    }
}

/// True once a connection of a worker or a command waits for a lock.
const WAITS: &str = "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE application_name = 'crawl' AND wait_event_type = 'Lock')";

/// Ends the lease of a worker's hosts, as a minute without renewal does.
fn expire(server: &Server, worker: &str) {
    let update =
        "UPDATE crawl_c.workers SET lease_until = clock_timestamp() - interval '1 s' WHERE name = $1";
    assert_eq!(server.client().execute(update, &[&worker]).unwrap(), 1);
}

/// Monotonic clock of this thread, which the test moves.
struct Clock(Cell<Instant>);

impl Simulation for Clock {
    fn now_ms(&self) -> i64 {
        0
    }
    fn instant(&self) -> Instant {
        self.0.get()
    }
    fn random(&self) -> u64 {
        0
    }
}

impl Clock {
    fn start() -> (Rc<Self>, SimulationGuard) {
        let clock = Rc::new(Self(Cell::new(Instant::now())));
        (Rc::clone(&clock), crawl_model::simulate(clock))
    }
    fn pass(&self, seconds: u64) {
        self.0.set(self.0.get() + Duration::from_secs(seconds));
    }
}

fn die(store: PgStore) {
    store.abandon(&StoreError::Other("killed".into()));
    drop(store);
}
