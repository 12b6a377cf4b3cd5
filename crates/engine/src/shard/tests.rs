//! Pages that make cleaning panic, held pages that cannot be read, and more hosts than are kept in memory.

use super::*;
use crate::{config, links::new_url, page_work::injected::panic_for, session, sink::Sink};
use crawl_dedup::{Fingerprint, Release};
use crawl_model::{CrawlRequest, Discovery, Frontier, Lane, NewUrl};
use crawl_output::{LineRecords, Output, OutputError};
use crawl_store::MemoryStore;
use serde_json::Value;
use std::sync::{Mutex, PoisonError};
use tokio::sync::mpsc::channel;
use url::Url;

/// States of the version before; one of them has held pages.
const VERSION_6: &str = include_str!("../../../../fixtures/states/version6.sql");

/// URLs and texts of pages, kinds and URLs of failures.
type Sent = (Vec<(String, String)>, Vec<(&'static str, String)>);

/// A shard over a store in memory.
struct Bench {
    store: Arc<MemoryStore>,
    shard: Shard,
    finished: Receiver<Finished>,
}

fn bench() -> Bench {
    bench_of(Release::Settled)
}

fn bench_of(release: Release) -> Bench {
    let mut config = config::load(None, std::iter::empty(), Vec::new()).unwrap();
    (config.crawl.soft404, config.dedup.shards, config.dedup.release) = (false, 1, release);
    let settings = FingerprintSettings::new(0.7, 5, 50).unwrap();
    let (mode, store) = (Mode::Exact, Arc::new(MemoryStore::new()));
    store.begin_round().unwrap();
    let context =
        Arc::new(session::context(config, Arc::clone(&store) as Arc<dyn crawl_model::Store>).unwrap());
    let (sender, finished) = channel(10_000);
    Bench { shard: Shard::new(context, 0, (mode, settings), sender), store, finished }
}

fn url(host: &str, n: &str) -> NewUrl {
    let url = Url::parse(&format!("http://{host}/{n}")).unwrap();
    new_url(url, HostKey::from_stored(host), 0, Discovery::Link)
}

impl Bench {
    /// Leases a new URL.
    fn lease(&self, host: &str, n: &str) -> CrawlRequest {
        assert_eq!(self.store.enqueue(&[url(host, n)]).unwrap().new, 1);
        self.leased(host)
    }

    fn leased(&self, host: &str) -> CrawlRequest {
        self.store.lease(&HostKey::from_stored(host), Lane::Plain, 1, "w", 0, i64::MAX).unwrap().remove(0)
    }

    /// A page as an earlier version has held one, with a text of its own and a line that all pages of its host have.
    fn page(request: CrawlRequest) -> ExtractedPage {
        let line = VERSION_6.lines().find(|line| line.contains("INSERT INTO \"held\"")).unwrap();
        let json = line.split("CAST('").nth(1).unwrap().split("' AS BLOB)").next().unwrap();
        let mut page: ExtractedPage =
            serde_json::from_str(&json.replace("''", "'").replace("HOST", "h.test")).unwrap();
        let own =
            format!("The words of {} stand on this page alone, and there are enough of them.", request.url);
        page.extraction.content = format!(
            "{own}\n\nThis notice is the same on every page of the site, whatever the page is about."
        );
        page.final_url = request.url.clone();
        page.request = request;
        page
    }

    /// A page comes.
    async fn come(&mut self, host: &str, n: &str) {
        let request = self.lease(host, n);
        self.shard.make_room().await.unwrap();
        self.shard.page(Self::page(request), None).await.unwrap();
        self.shard.send_ends().await.unwrap();
    }

    async fn settle(&mut self, host: &str) {
        self.shard.settle(&HostKey::from_stored(host)).await.unwrap();
        self.shard.send_ends().await.unwrap();
    }

    /// URLs and texts of pages that were sent on, and kinds and URLs of those that failed.
    fn sent(&mut self) -> Sent {
        let (mut pages, mut failed) = (Vec::new(), Vec::new());
        while let Ok(end) = self.finished.try_recv() {
            match end {
                Finished::Page(page, _) => pages.push((page.page.final_url.to_string(), page.text)),
                Finished::Failed(line, _) => failed.push((line.kind, line.url)),
                other => panic!("{other:?}"),
            }
        }
        pages.sort();
        (pages, failed)
    }
}

const HOST: &str = "h.test";

#[tokio::test]
async fn panicking_page_fails_alone_and_others_are_cleaned() {
    let mut undisturbed = bench();
    let mut disturbed = bench();
    panic_for(Stage::Dedup, "/bad");
    for n in 0..8 {
        undisturbed.come(HOST, &n.to_string()).await;
        disturbed.come(HOST, &n.to_string()).await;
        if n % 3 == 0 {
            disturbed.come(HOST, &format!("bad-{n}")).await;
        }
    }
    undisturbed.settle(HOST).await;
    disturbed.settle(HOST).await;
    // a page of a settled host
    disturbed.come(HOST, "bad-last").await;
    let (pages, failed) = disturbed.sent();
    assert_eq!(pages, undisturbed.sent().0);
    assert_eq!(pages.len(), 8);
    assert!(pages.iter().all(|(_, text)| !text.contains("notice")), "{pages:?}");
    let bad = |n: &str| ("internal", format!("http://{HOST}/bad-{n}"));
    assert_eq!(failed, [bad("0"), bad("3"), bad("6"), bad("last")]);
}

#[tokio::test]
async fn panicking_held_page_fails_alone() {
    let mut bench = bench();
    for n in ["1", "2", "late", "3", "4", "5"] {
        bench.come(HOST, n).await;
    }
    panic_for(Stage::Dedup, "/late");
    // a new process rebuilds the host from its held pages
    bench.shard.hosts.clear();
    bench.settle(HOST).await;
    let (pages, failed) = bench.sent();
    assert_eq!(pages.len(), 5);
    assert_eq!(failed, [("internal", format!("http://{HOST}/late"))]);
    bench.settle(HOST).await;
    assert_eq!(bench.sent(), (Vec::new(), Vec::new()), "once");
}

#[tokio::test]
async fn unreadable_held_page_is_refetched_once_then_fails() {
    let mut bench = bench();
    for n in 0..5 {
        bench.come(HOST, &n.to_string()).await;
    }
    let host = HostKey::from_stored(HOST);
    let broken = bench.lease(HOST, "broken");
    bench.store.hold((&broken).into(), &host, b"{\"request\":").unwrap();
    bench.shard.hosts.clear();
    bench.shard.host(&host).unwrap();
    let counts = bench.store.counts().unwrap();
    assert_eq!((counts.pending, counts.held), (1, 5), "it is back in the frontier");
    // the same again
    let broken = bench.leased(HOST);
    assert_eq!(broken.url.path(), "/broken");
    bench.store.hold((&broken).into(), &host, b"").unwrap();
    bench.shard.hosts.clear();
    bench.settle(HOST).await;
    let (pages, failed) = bench.sent();
    assert_eq!(pages.len(), 5);
    assert_eq!(failed, [("held_unreadable", format!("http://{HOST}/broken"))]);
}

#[tokio::test]
async fn unreadable_held_pages_are_requeued_before_leasing() {
    let bench = bench();
    let host = HostKey::from_stored(HOST);
    for n in 0..9 {
        let request = bench.lease(HOST, &n.to_string());
        let page: &[u8] = if n % 2 == 0 { b"{}" } else { b"{" };
        bench.store.hold((&request).into(), &host, page).unwrap();
    }
    assert_eq!(refetch_unreadable(&bench.shard.context).unwrap(), 4);
    let counts = bench.store.counts().unwrap();
    assert_eq!((counts.pending, counts.held), (4, 5));
}

#[tokio::test]
async fn interleaved_hosts_do_not_reread_held_pages() {
    let mut bench = bench();
    const HOSTS: usize = 5_000;
    for round in 0..3 {
        for host in 0..HOSTS {
            bench.come(&format!("h{host}.test"), &round.to_string()).await;
        }
    }
    assert!(bench.shard.hosts.len() < HOSTS, "some are in the store");
    assert_eq!(bench.shard.read_back, 0, "what was counted is saved with its host");
    for host in (0..HOSTS).step_by(100) {
        bench.settle(&format!("h{host}.test")).await;
        let pages = bench.sent().0;
        assert_eq!(pages.len(), 3, "host {host}");
    }
    assert_eq!(bench.shard.read_back, 3 * HOSTS as u64 / 100, "each page once, to be let go");
}

#[tokio::test]
async fn saved_host_counts_pages_held_after_the_save() {
    let mut bench = bench();
    let host = HostKey::from_stored(HOST);
    for n in 0..4 {
        bench.come(HOST, &n.to_string()).await;
    }
    bench.shard.evict().await.unwrap();
    assert!(bench.shard.hosts.is_empty());
    for n in 4..8 {
        bench.come(HOST, &n.to_string()).await;
    }
    // after a kill: memory is lost, and the saved state is older than the held pages
    bench.shard.hosts.clear();
    assert_eq!(bench.shard.host(&host).unwrap().stream.fingerprint().state().pages(), 8);
    assert_eq!(bench.shard.read_back, 4);
    bench.settle(HOST).await;
    let pages = bench.sent().0;
    assert_eq!(pages.len(), 8);
    assert!(pages.iter().all(|(_, text)| !text.contains("notice")), "{pages:?}");
}

#[tokio::test]
async fn rebuilt_host_stays_rebuilt_after_eviction() {
    let mut bench = bench();
    let host = HostKey::from_stored(HOST);
    for n in 0..6 {
        bench.come(HOST, &n.to_string()).await;
    }
    bench.settle(HOST).await;
    let context = Arc::clone(&bench.shard.context);
    let state = bench.shard.host(&host).unwrap();
    state.rebuilt = true;
    save(&context, &host, state).unwrap();
    bench.shard.evict().await.unwrap();
    assert!(bench.shard.hosts.is_empty());
    assert!(bench.shard.host(&host).unwrap().rebuilt);
}

#[tokio::test]
async fn early_release_emits_pages_from_min_pages() {
    let mut bench = bench_of(Release::Early);
    for n in 0..5 {
        assert_eq!(bench.sent().0.len(), 0, "{n} pages");
        bench.come(HOST, &n.to_string()).await;
    }
    assert_eq!(bench.sent().0.len(), 5);
    bench.come(HOST, "6").await;
    let (pages, _) = bench.sent();
    assert!(pages.len() == 1 && !pages[0].1.contains("notice"), "{pages:?}");
    assert_eq!(bench.store.counts().unwrap().held, 5, "the sink takes them off");
}

#[tokio::test]
async fn counts_of_an_early_settled_host_survive_a_kill() {
    let mut bench = bench_of(Release::Early);
    let host = HostKey::from_stored(HOST);
    for n in 0..20 {
        bench.come(HOST, &n.to_string()).await;
    }
    bench.shard.hosts.clear();
    let state = bench.shard.host(&host).unwrap().stream.fingerprint().state().clone();
    assert!(state.is_settled() && state.pages() >= 10, "{state:?}");
}

#[tokio::test]
async fn page_that_panics_during_early_release_fails_alone() {
    let mut bench = bench_of(Release::Early);
    for n in ["1", "2", "late", "3"] {
        bench.come(HOST, n).await;
    }
    panic_for(Stage::Dedup, "/late");
    bench.come(HOST, "4").await;
    let (pages, failed) = bench.sent();
    assert_eq!((pages.len(), failed.len()), (4, 1));
}

/// A host whose pages of an earlier round had a line of their own, and pages of this round with the line of [`Bench::page`].
async fn second_night(redesigned: bool) -> Bench {
    let mut bench = bench_of(Release::Early);
    let mut earlier = Fingerprint::new(bench.shard.mode, bench.shard.settings);
    for n in 0..40 {
        let notice = if redesigned {
            "The notice of the old design has other words, and stands on all pages."
        } else {
            "This notice is the same on every page of the site, whatever the page is about."
        };
        let content = format!("What page {n} says stands on this page and on no other.\n\n{notice}");
        let page = PageText { content: &content, ..PageText::default() };
        let read = earlier.read(&page);
        earlier.observe(&page, &read);
    }
    earlier.settle();
    bench.shard.host(&HostKey::from_stored(HOST)).unwrap().kept = Some(earlier);
    bench
}

#[tokio::test]
async fn redesign_is_detected_from_min_pages() {
    for redesigned in [false, true] {
        let mut bench = second_night(redesigned).await;
        for n in 0..5 {
            assert_eq!(bench.sent().0.len(), 0);
            bench.come(HOST, &n.to_string()).await;
        }
        let (pages, _) = bench.sent();
        assert_eq!(pages.len(), 5, "{redesigned}");
        assert!(pages.iter().all(|(_, text)| !text.contains("notice")), "{pages:?}");
        let state = bench.shard.host(&HostKey::from_stored(HOST)).unwrap();
        assert_eq!(state.rebuilt, redesigned);
        assert_eq!(state.stream.fingerprint().state().pages(), if redesigned { 5 } else { 45 });
    }
}

/// Lines in memory.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    fn values(&self) -> Vec<Value> {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
    }
}

impl Output for Lines {
    fn write(&mut self, lines: &[u8]) -> Result<(), OutputError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(lines);
        Ok(())
    }

    fn sync(&mut self) -> Result<Option<u64>, OutputError> {
        Ok(None)
    }

    fn name(&self) -> &'static str {
        "memory"
    }
}

#[tokio::test]
async fn panic_in_the_sink_is_one_error_line() {
    let mut bench = bench();
    for n in ["1", "2", "bad", "3", "4"] {
        bench.come(HOST, n).await;
    }
    bench.settle(HOST).await;
    panic_for(Stage::Sink, "/bad");
    let (records, errors) = (Lines::default(), Lines::default());
    let Bench { shard, store, finished } = bench;
    let output = Box::new(LineRecords::new(Box::new(records.clone()), None));
    let sink = Sink::new(Arc::clone(&shard.context), output, Box::new(errors.clone()));
    drop(shard);
    sink.run(finished).await.unwrap();
    assert_eq!(records.values().len(), 4);
    let errors = errors.values();
    assert_eq!(errors.len(), 1);
    assert_eq!((&errors[0]["kind"], &errors[0]["stage"]), (&"internal".into(), &"sink".into()));
    assert!(errors[0]["message"].as_str().unwrap().contains("injected"), "{errors:?}");
    let counts = store.counts().unwrap();
    assert_eq!((counts.records, counts.failed, counts.held, counts.leased), (4, 1, 0, 0));
}
