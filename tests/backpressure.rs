//! Maximum memory with a blocked sink: exactly the sum that `pipeline.rs` states. It is never exceeded, and
//! it is reached, since the earlier stages work until they block.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test that uses them")]

#[path = "support/mod.rs"]
mod support;

use crawl_engine::{
    config,
    context::Context,
    ending::Ending,
    pipeline,
    platform::{ChannelSizes, Platform},
    session::{context_on, enqueue_seeds},
};
use crawl_fetch::Seed;
use crawl_model::Frontier;
use crawl_output::{LineRecords, Output, OutputError};
use crawl_store::MemoryStore;
use std::{
    sync::{Arc, Condvar, Mutex},
    time::{Duration, Instant},
};
use support::{made::Tree, server::Server};
use toml::Value;
use url::Url;

/// Limit for a busy machine; a quiet one needs less than a second.
const PATIENCE: Duration = Duration::from_secs(180);
const CONCURRENCY: usize = 4;
const FETCHED: usize = 2;
const THREADS: usize = 2;
const EXTRACTED: usize = 3;
const SHARDS: usize = 1;
const CLEANED: usize = 5;
const BATCH: usize = 1;

/// One body per fetch slot and per slot of the next channel. An extract thread holds one only while it
/// parses: a blocked thread holds its page without the body.
const BODIES: usize = CONCURRENCY + FETCHED;
const MOST_BODIES: usize = BODIES + THREADS;
/// Those, and the pages without bodies.
const PAGES: usize = BODIES + THREADS + EXTRACTED + SHARDS + CLEANED + BATCH;

/// An output that can be stopped.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<(bool, usize)>, Condvar)>);

impl Gate {
    fn open(&self) {
        self.0.0.lock().unwrap().0 = true;
        self.0.1.notify_all();
    }

    fn lines(&self) -> usize {
        self.0.0.lock().unwrap().1
    }
}

impl Output for Gate {
    fn write(&mut self, lines: &[u8]) -> Result<(), OutputError> {
        let (state, changed) = &*self.0;
        let mut state = changed.wait_while(state.lock().unwrap(), |s| !s.0).unwrap();
        state.1 += lines.iter().filter(|b| **b == b'\n').count();
        Ok(())
    }

    fn sync(&mut self) -> Result<Option<u64>, OutputError> {
        Ok(None)
    }

    fn name(&self) -> &'static str {
        "gate"
    }
}

fn settings() -> config::Config {
    let count = |n: usize| Value::Integer(i64::try_from(n).unwrap());
    config::Config::builder()
        .with("fetch.concurrency", count(CONCURRENCY))
        .with("politeness.host_concurrency", count(CONCURRENCY))
        .with("politeness.delay", "0s")
        .with("fetch.allow_private_addresses", true)
        .with("crawl.obey_robots", false)
        .with("extract.threads", count(THREADS))
        .with("dedup.enabled", false)
        .with("dedup.shards", count(SHARDS))
        .with("output.batch", count(BATCH))
        .build()
        .unwrap()
}

fn measured(context: &Context) -> (usize, usize) {
    (context.network.budget.bodies(), usize::try_from(context.stats.in_flight()).unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocked_sink_holds_exactly_the_stated_number_of_pages() {
    let tree = Tree::of(60);
    let server = Server::start(0, tree.handler()).unwrap();
    let config = settings();
    let store = Arc::new(MemoryStore::new());
    store.begin_round().unwrap();
    let channels = ChannelSizes::new(FETCHED, EXTRACTED, CLEANED);
    let platform = Platform::default().with_channels(channels);
    let context = Arc::new(context_on(&platform, config, store).unwrap());
    let url = Url::parse(&server.url(&Tree::target(1))).unwrap();
    enqueue_seeds(&context, &[Seed { url, bare: false }]).unwrap();

    let gate = Gate::default();
    let run = {
        let records = LineRecords::new(Box::new(gate.clone()), None);
        tokio::spawn(pipeline::run(Arc::clone(&context), Box::new(records), Box::new(gate.clone())))
    };

    let deadline = Instant::now() + PATIENCE;
    while measured(&context) != (BODIES, PAGES) {
        let (bodies, pages) = measured(&context);
        assert!(bodies <= MOST_BODIES && pages <= PAGES, "{bodies} bodies and {pages} pages in memory");
        assert!(Instant::now() < deadline, "stuck at {bodies} bodies and {pages} pages");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for _ in 0..50 {
        assert_eq!(measured(&context), (BODIES, PAGES), "bodies and pages once everything is full");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }

    gate.open();
    run.await.unwrap().unwrap();
    assert_eq!(context.control.ending.get(), Some(&Ending::Drained));
    assert_eq!(gate.lines(), tree.targets().len());
    assert_eq!(measured(&context), (0, 0));
}
