//! Another visit of URLs that failed, which no worker is disturbed by.

use crate::*;
use crawl_model::RulesVersion;
use crawl_store::{Database, RoundSettings, Upkeep};

fn fail(store: &PgStore, name: &str) {
    let failed: Vec<Settlement> = lease(store, name, 9)
        .iter()
        .map(|request| Settlement {
            lease: request.into(),
            outcome: Outcome::Failed,
            history: PageHistory::default(),
        })
        .collect();
    assert!(!failed.is_empty());
    assert_eq!(store.settle(&failed, &[]).unwrap(), 0);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn failed_urls_go_to_the_owners_of_their_hosts() {
    let (clock, _guard) = Clock::start();
    let (server, a) = begun("a");
    a.enqueue(&urls(&["https://a/1", "https://a/2", "https://a/3"])).unwrap();
    a.settle(&records(&lease(&a, "a", 1)), &[]).unwrap();
    fail(&a, "a");
    assert_eq!((a.counts().unwrap().failed, a.drained().unwrap()), (2, true));

    // by the command, which is no worker: the fence of the owner stays
    let epoch =
        || server.client().query_one("SELECT epoch FROM crawl_c.hosts", &[]).unwrap().get::<_, i64>(0);
    let before = epoch();
    assert_eq!(server.url().reopen_failed("c", Some(&[UrlKey::of("https://a/2")])).unwrap(), 1);
    assert_eq!(server.url().reopen_failed("c", None).unwrap(), 1);
    assert_eq!(server.url().reopen_failed("c", None).unwrap(), 0, "none is put back twice");
    assert_eq!((a.counts().unwrap().failed, a.drained().unwrap()), (0, false));
    clock.pass(1);
    assert_eq!(ready(&a), ["a"]);
    let again = lease(&a, "a", 9);
    assert_eq!(again.iter().map(|request| request.url.path()).collect::<Vec<_>>(), ["/2", "/3"]);
    assert_eq!(epoch(), before);
    assert_eq!(a.settle(&records(&again), &[]).unwrap(), 0);
    let counts = a.counts().unwrap();
    assert_eq!((counts.records, counts.failed, counts.pending), (3, 0, 0));
    assert!(a.drained().unwrap());
    drop(a);
    assert!(server.url().reopen_failed("other", None).unwrap_err().to_string().contains("no crawl named"));
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_round_with_urls_that_were_put_back_does_not_end() {
    let (server, store) = begun("a");
    store.enqueue(&urls(&["https://a/1"])).unwrap();
    fail(&store, "a");
    let next = open(&server, "next");
    let settings = RoundSettings { settings: [].into(), rules: RulesVersion(1), notes: Vec::new() };
    next.propose(settings).unwrap();
    assert_eq!(server.url().reopen_failed("c", None).unwrap(), 1);
    assert!(matches!(next.begin_recrawl(true), Err(StoreError::Busy(_))));
    drop(next);
    assert_eq!(store.round().unwrap(), 1);
    drop(store);
    let next = open(&server, "next");
    assert_eq!(ready(&next), ["a"], "another worker finds it");
}
