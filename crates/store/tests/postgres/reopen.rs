//! Another visit of URLs that failed, which no worker is disturbed by.

use crate::*;
use crawl_model::{RulesVersion, RunStore};
use crawl_store::{Database, RoundSettings, Upkeep};
use std::thread;

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
fn reopened_urls_go_to_the_owners_of_their_hosts() {
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
    assert_eq!(server.url().reopen_failed("c", 1, Some(&[UrlKey::of("https://a/2")])).unwrap(), 1);
    assert_eq!(server.url().reopen_failed("c", 1, None).unwrap(), 1);
    assert_eq!(server.url().reopen_failed("c", 1, None).unwrap(), 0, "none is put back twice");
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
    assert!(server.url().reopen_failed("other", 1, None).unwrap_err().to_string().contains("no crawl named"));
}

#[test]
#[ignore = "needs PostgreSQL"]
fn round_with_reopened_urls_does_not_end() {
    let (server, store) = begun("a");
    store.enqueue(&urls(&["https://a/1"])).unwrap();
    fail(&store, "a");
    let next = open(&server, "next");
    let settings = RoundSettings { settings: [].into(), rules: RulesVersion(1), notes: Vec::new() };
    next.propose(settings).unwrap();
    assert_eq!(server.url().reopen_failed("c", 1, None).unwrap(), 1);
    assert!(matches!(next.begin_recrawl(true), Err(StoreError::Busy(_))));
    drop(next);
    assert_eq!(store.round().unwrap(), 1);
    drop(store);
    let next = open(&server, "next");
    assert_eq!(ready(&next), ["a"], "another worker finds it");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn waiting_reopen_command_does_not_lock_the_crawl() {
    let (server, store) = begun("a");
    store.enqueue(&urls(&["https://a/1", "https://b/1"])).unwrap();
    fail(&store, "a");
    fail(&store, "b");
    let date = |url: &str| format!("UPDATE crawl_c.urls SET sitemap_lastmod = '2026' WHERE url = '{url}'");
    // a worker stores dates of sitemaps one by one: it has the first URL, and wants the other
    let mut client = server.client();
    let mut worker = client.transaction().unwrap();
    worker.batch_execute(&format!("SET LOCAL deadlock_timeout = '50ms'; {}", date("https://a/1"))).unwrap();
    thread::scope(|scope| {
        let command = scope.spawn(|| server.url().reopen_failed("c", 1, None));
        eventually(&server, "SELECT count(*) = 1 FROM crawl_c.inbox");
        eventually(&server, WAITS);
        // meanwhile another worker joins, and a round could begin
        server
            .client()
            .batch_execute("SET lock_timeout = '5s'; SELECT round FROM crawl_c.crawls FOR UPDATE")
            .unwrap();
        worker.batch_execute(&date("https://b/1")).unwrap();
        worker.commit().unwrap();
        assert_eq!(command.join().unwrap().unwrap(), 2);
    });
    assert_eq!(store.counts().unwrap().failed, 0);
    eventually(&server, "SELECT count(*) = 2 AND count(DISTINCT key) = 2 FROM crawl_c.inbox");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn few_failed_urls_are_looked_up_by_key() {
    let (server, store) = begun("a");
    store.enqueue(&urls(&["https://a/1", "https://a/2", "https://b/1"])).unwrap();
    fail(&store, "a");
    fail(&store, "b");
    drop(store);
    let mut client = server.client();
    let ended = "SELECT NOT EXISTS (SELECT 1 FROM pg_stat_activity WHERE application_name = 'crawl')";
    eventually(&server, ended);
    client.batch_execute("SELECT pg_stat_reset()").unwrap();
    assert_eq!(server.url().reopen_failed("c", 1, Some(&[UrlKey::of("https://a/2")])).unwrap(), 1);
    eventually(&server, ended);
    let scans = "FROM pg_stat_user_tables WHERE relname LIKE 'urls_%'";
    eventually(&server, &format!("SELECT sum(idx_scan) > 0 {scans}"));
    let full: i64 = client.query_one(&format!("SELECT sum(seq_scan)::int8 {scans}"), &[]).unwrap().get(0);
    assert_eq!(full, 0);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn more_failed_urls_than_a_batch_are_reopened_once() {
    let (server, store) = begun("a");
    let all: Vec<String> = (0..2_500).map(|n| format!("https://a/{n}")).collect();
    store.enqueue(&all.iter().map(|url| new_url(url)).collect::<Vec<_>>()).unwrap();
    let failed = "UPDATE crawl_c.urls SET outcome = 2; DELETE FROM crawl_c.queue; UPDATE crawl_c.tallies SET pending = 0, failed = 2500";
    server.client().batch_execute(failed).unwrap();
    assert_eq!(server.url().reopen_failed("c", 1, None).unwrap(), 2_500);
    eventually(&server, "SELECT count(*) = 2500 AND count(DISTINCT key) = 2500 FROM crawl_c.inbox");
    eventually(&server, "SELECT sum(failed) = 0 FROM crawl_c.tallies");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn worker_of_an_ended_round_reopens_nothing() {
    let (server, old) = begun("old");
    old.enqueue(&urls(&["https://a/1"])).unwrap();
    fail(&old, "a");
    let next = open(&server, "next");
    assert_eq!(next.begin_recrawl(true).unwrap(), 2);
    assert!(matches!(old.reopen_failed(&[UrlKey::of("https://a/1")]), Err(StoreError::Busy(_))));
    eventually(&server, "SELECT NOT EXISTS (SELECT 1 FROM crawl_c.inbox)");
    eventually(&server, "SELECT bool_and(round = 1) FROM crawl_c.urls");
}

/// The settings of a command are compared with those of a round. So it puts nothing back in a round that begins after that.
#[test]
#[ignore = "needs PostgreSQL"]
fn reopen_command_refuses_a_later_round() {
    let (server, store) = begun("a");
    assert_eq!(store.begin_recrawl(true).unwrap(), 2);
    store.enqueue(&urls(&["https://a/1"])).unwrap();
    fail(&store, "a");
    for urls in [None, Some(&[UrlKey::of("https://a/1")][..])] {
        let refused = server.url().reopen_failed("c", 1, urls).unwrap_err();
        assert!(matches!(&refused, StoreError::Busy(words) if words.contains("round 2")), "{refused}");
    }
    assert_eq!(store.counts().unwrap().failed, 1);
    assert_eq!(server.url().reopen_failed("c", 2, None).unwrap(), 1);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn round_with_concurrently_reopened_urls_has_no_end() {
    let (server, store) = begun("a");
    assert!(store.put_at_end("ended", "1").unwrap());
    store.put("ended", "").unwrap();
    let mut client = server.client();
    let mut command = client.transaction().unwrap();
    // a command between its lock and its commit
    command
        .batch_execute(
            "SELECT round FROM crawl_c.crawls FOR KEY SHARE; \
             INSERT INTO crawl_c.inbox (host, round, depth, discovery, again, key, url) \
             VALUES (1, 1, 0, 3, true, gen_random_uuid(), 'https://a/1')",
        )
        .unwrap();
    thread::scope(|scope| {
        let end = scope.spawn(|| store.put_at_end("ended", "1"));
        eventually(&server, WAITS);
        command.commit().unwrap();
        assert!(!end.join().unwrap().unwrap());
    });
    assert_eq!(store.get("ended").unwrap().as_deref(), Some(""));
}
