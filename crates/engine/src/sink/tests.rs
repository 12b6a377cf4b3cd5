//! Leases that run out before their page is written, and the order of settling and finishing.

use super::*;
use crate::{config, session};
use crawl_model::{Discovery, Frontier, HostKey, Lane, NewUrl, Record, RunStore, Store, UrlKey};
use crawl_output::{DiscardingOutput, LineRecords, OutputError};
use crawl_store::{MemoryStore, SqliteStore};
use std::path::PathBuf;

const HOST: &str = "h.test";

fn seed() -> NewUrl {
    let url = format!("http://{HOST}/");
    NewUrl {
        key: UrlKey::of(&url),
        url,
        host: HostKey::from_stored(HOST),
        depth: 0,
        discovery: Discovery::Seed,
        redirects: Vec::new(),
        sitemap_lastmod: None,
    }
}

fn lease(store: &dyn Store, deadline_ms: i64) -> LeaseRef {
    let host = HostKey::from_stored(HOST);
    LeaseRef::from(&store.lease(&host, Lane::Plain, 1, "w", 0, deadline_ms).unwrap()[0])
}

fn end(lease: LeaseRef) -> Finished {
    Finished::Other { lease, outcome: Outcome::Skipped, kind: "test", history: Box::default() }
}

fn context(store: Arc<dyn Store>) -> Arc<Context> {
    let config = config::load(None, std::iter::empty(), Vec::new()).unwrap();
    Arc::new(session::context(config, store).unwrap())
}

/// Otherwise its record would stand twice: the URL is fetched again.
#[tokio::test]
async fn a_page_whose_lease_has_run_out_is_not_written() {
    let store = MemoryStore::new();
    store.begin_round().unwrap();
    store.enqueue(&[seed()]).unwrap();
    let context = context(Arc::new(store));
    let records = LineRecords::new(Box::new(DiscardingOutput), None);
    let mut sink = Sink::new(Arc::clone(&context), Box::new(records), Box::new(DiscardingOutput));

    let late = lease(&*context.store, 100);
    let expire = || context.records.leases.try_expire(|| context.store.expire_leases(100));
    {
        let _batch = context.records.leases.hold().await;
        assert_eq!(expire().unwrap(), None, "no lease runs out while a batch is being written");
    }
    assert_eq!(expire().unwrap(), Some(1));
    let current = lease(&*context.store, 100);
    sink.take(end(late)).unwrap();
    assert!(sink.settlements.is_empty() && sink.tally.ended == 0);
    sink.take(end(current)).unwrap();
    sink.commit().unwrap();
    assert!(context.store.drained().unwrap());
    assert_eq!((context.stats.ended.get(), context.stats.kinds()["test"]), (1, 1));
}

/// Records that look, when they are finished, at what a loss of power would leave of the state.
struct AtTheEnd(PathBuf);

impl RecordOutput for AtTheEnd {
    fn push(&mut self, _: &Record) -> Result<(), OutputError> {
        Ok(())
    }

    fn batch_bytes(&self) -> usize {
        0
    }

    fn commit(&mut self) -> Result<Option<u64>, OutputError> {
        Ok(None)
    }

    fn finish(&mut self) -> Result<Option<u64>, OutputError> {
        let copy = tempfile::tempdir().unwrap();
        // without its log the database has the state of the last sync
        std::fs::copy(self.0.join("crawl.sqlite"), copy.path().join("crawl.sqlite")).unwrap();
        assert_eq!(SqliteStore::open(copy.path()).unwrap().counts().unwrap().skipped, 1);
        Ok(Some(7))
    }

    fn name(&self) -> &'static str {
        "out"
    }
}

#[tokio::test]
async fn settled_urls_are_on_disk_before_the_output_is_finished() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(dir.path()).unwrap());
    store.begin_round().unwrap();
    store.enqueue(&[seed()]).unwrap();
    store.sync().unwrap();
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    sender.send(end(lease(&*store, i64::MAX))).await.unwrap();
    drop(sender);
    let context = context(Arc::clone(&store) as Arc<dyn Store>);
    let sink = Sink::new(context, Box::new(AtTheEnd(dir.path().to_owned())), Box::new(DiscardingOutput));
    sink.run(receiver).await.unwrap();
    assert_eq!(store.output_mark("out").unwrap(), Some(7));
}
