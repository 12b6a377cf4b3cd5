//! Leases that run out before their page is written, and the order of settling and finishing.

use super::*;
use crate::{config, failed_page::failed_page, session};
use crawl_model::{Discovery, Frontier, HostKey, Lane, NewUrl, Record, RunStore, Store, StoreError, UrlKey};
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
    let (outcome, history) = (Outcome::Skipped, Box::default());
    Finished::Other { lease, outcome, kind: "test", history, seed: None, left_out: None }
}

fn context(store: Arc<dyn Store>) -> Arc<Context> {
    let config = config::load(None, std::iter::empty(), Vec::new()).unwrap();
    Arc::new(session::context(config, store).unwrap())
}

/// The URL is fetched again, so this record would be a second one.
#[tokio::test]
async fn page_with_an_expired_lease_is_not_written() {
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
    assert!(sink.settlements.is_empty() && sink.counts.ended == 0);
    sink.take(end(current)).unwrap();
    sink.commit().unwrap();
    assert!(context.store.drained().unwrap());
    assert_eq!((context.stats.ended.get(), context.stats.kinds()["test"]), (1, 1));
}

/// A worker that loses its database fetches these pages again, and counts them then.
#[tokio::test]
async fn unsettled_batch_changes_no_counts() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(dir.path()).unwrap());
    store.begin_round().unwrap();
    store.enqueue(&[seed()]).unwrap();
    let request =
        store.lease(&HostKey::from_stored(HOST), Lane::Plain, 1, "w", 0, i64::MAX).unwrap().remove(0);
    let known = |outcome| {
        let (request, history) = (request.clone(), PageHistory::default());
        Finished::Known(Box::new(KnownPageEnd { request, outcome, history }))
    };
    let mut failed = failed_page(&request, Stage::Sink, "timeout", None, "late".into());
    failed.found_on = Some(String::new());
    let batch = || {
        let failed = Finished::Failed(Box::new(failed.clone()), Box::default());
        [known(Outcome::Gone), known(Outcome::Unchanged), failed, end(LeaseRef::from(&request))]
    };
    let context = context(Arc::clone(&store) as Arc<dyn Store>);
    let counts = || {
        let stats = &context.stats;
        let changes = (stats.pages_gone.get(), stats.pages_unchanged.get(), stats.changed_pages().len());
        let ends =
            (stats.records.get(), stats.ended.get(), stats.failed.get(), stats.written_bytes.get() > 0);
        let failures = (stats.failures().len(), stats.first_failures().len(), stats.host_failures().len());
        (changes, ends, failures, stats.kinds().values().sum::<u64>())
    };
    let sink = || {
        let records = LineRecords::new(Box::new(DiscardingOutput), None);
        Sink::new(Arc::clone(&context), Box::new(records), Box::new(DiscardingOutput))
    };
    let mut lost = sink();
    batch().into_iter().for_each(|end| lost.take(end).unwrap());
    let mut settled = sink();
    batch().into_iter().for_each(|end| settled.take(end).unwrap());
    let none = ((0, 0, 0), (0, 0, 0, false), (0, 0, 0), 0);
    assert_eq!(counts(), none);
    settled.commit().unwrap();
    let once = counts();
    assert_eq!(once, ((1, 1, 1), (1, 3, 1, true), (1, 1, 1), 2));
    store.abandon(&StoreError::Busy("lost".into()));
    assert!(lost.commit().is_err());
    assert_eq!(counts(), once);
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
