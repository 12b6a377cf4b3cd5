//! Claims of contents by workers that have lost the host of the page.

use crate::*;
use crawl_model::{ContentHash, DomainStore, LeaseRef};

#[test]
#[ignore = "needs PostgreSQL"]
fn claim_of_an_ended_round_has_no_effect() {
    let (server, old) = begun("old");
    old.enqueue(&urls(&["https://a/late"])).unwrap();
    let lost = LeaseRef::from(&lease(&old, "a", 1)[0]);
    let next = open(&server, "next");
    assert_eq!(next.begin_recrawl(false).unwrap(), 2);
    next.enqueue(&urls(&["https://b/new"])).unwrap();
    let page = LeaseRef::from(&lease(&next, "b", 1)[0]);
    let (one, other) = (ContentHash([1; 32]), ContentHash([2; 32]));
    let (late, new) = (UrlKey::of("https://a/late"), UrlKey::of("https://b/new"));
    assert_eq!(old.claim_content(&one, late, lost).unwrap(), late, "its page is not settled any more");
    assert_eq!(next.claim_content(&one, new, page).unwrap(), new);
    assert_eq!(next.claim_content(&other, new, page).unwrap(), new);
    old.release_content(&other, new, lost).unwrap();
    assert_eq!(next.claim_content(&other, late, page).unwrap(), new);
}

/// The old owner is stopped for longer than its lease. The new owner finds another content at the same URL, and then the content
/// that the old owner claims late at another URL.
#[test]
#[ignore = "needs PostgreSQL"]
fn worker_without_its_host_neither_claims_nor_releases_content() {
    let (server, old) = begun("old");
    old.enqueue(&urls(&["https://a/1", "https://a/2"])).unwrap();
    let lost = LeaseRef::from(&lease(&old, "a", 1)[0]);
    expire(&server, "old");
    let next = open(&server, "next");
    let out = lease(&next, "a", 2);
    let (before, now) = (ContentHash([1; 32]), ContentHash([2; 32]));
    let [first, second] = ["https://a/1", "https://a/2"].map(UrlKey::of);
    assert_eq!(next.claim_content(&now, first, (&out[0]).into()).unwrap(), first);
    assert_eq!(old.claim_content(&before, first, lost).unwrap(), first, "its page is not settled any more");
    old.release_content(&now, first, lost).unwrap();
    let claim = |content| next.claim_content(content, second, (&out[1]).into()).unwrap();
    assert_eq!(claim(&before), second, "no page has this content");
    assert_eq!(claim(&now), first, "this one has a page");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn claim_waits_for_a_started_takeover() {
    let (server, old) = begun("old");
    old.enqueue(&urls(&["https://a/1"])).unwrap();
    let page = LeaseRef::from(&lease(&old, "a", 1)[0]);
    let mut rival = server.client();
    let mut takeover = rival.transaction().unwrap();
    takeover.execute("UPDATE crawl_c.hosts SET owner = NULL, epoch = epoch + 1", &[]).unwrap();
    let (content, key) = (ContentHash([1; 32]), UrlKey::of("https://a/1"));
    std::thread::scope(|scope| {
        let claim = scope.spawn(|| old.claim_content(&content, key, page));
        eventually(&server, WAITS);
        takeover.commit().unwrap();
        assert_eq!(claim.join().unwrap().unwrap(), key);
    });
    let count = "SELECT count(*) FROM crawl_c.contents";
    assert_eq!(server.client().query_one(count, &[]).unwrap().get::<_, i64>(0), 0);
}

/// A page of an earlier ownership stays without a fence if its host comes back.
#[test]
#[ignore = "needs PostgreSQL"]
fn a_lease_of_an_earlier_epoch_claims_no_content() {
    let (clock, _guard) = Clock::start();
    let (server, old) = begun("old");
    old.enqueue(&urls(&["https://a/1", "https://a/2"])).unwrap();
    let lost = LeaseRef::from(&lease(&old, "a", 1)[0]);
    expire(&server, "old");
    let next = open(&server, "next");
    assert_eq!(ready(&next), ["a"]);
    clock.pass(16);
    assert!(ready(&old).is_empty(), "the renewal finds the loss");
    next.release().unwrap();
    clock.pass(1);
    assert_eq!(ready(&old), ["a"]);
    let page = LeaseRef::from(&lease(&old, "a", 1)[0]);
    let (content, first, second) =
        (ContentHash([1; 32]), UrlKey::of("https://a/1"), UrlKey::of("https://a/2"));
    old.claim_content(&content, first, lost).unwrap();
    assert_eq!(old.claim_content(&content, second, page).unwrap(), second);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn held_page_of_an_earlier_process_claims_its_content() {
    let (server, spool) = (Server::start(), tempfile::tempdir().unwrap());
    let open = || {
        let options = server.options("c", "w");
        PgStore::open(&crawl_store::PgOptions { spool: Some(spool.path().to_owned()), ..options }).unwrap()
    };
    let store = open();
    store.begin_round().unwrap();
    store.enqueue(&urls(&["https://a/1", "https://a/2"])).unwrap();
    store.hold((&lease(&store, "a", 1)[0]).into(), &host("a"), b"page").unwrap().unwrap();
    die(store);
    let store = open();
    let held = store.held(&host("a"), 0, 9).unwrap();
    let page = LeaseRef::from(&lease(&store, "a", 1)[0]);
    let (content, first, second) =
        (ContentHash([1; 32]), UrlKey::of("https://a/1"), UrlKey::of("https://a/2"));
    assert_eq!(store.claim_content(&content, first, held[0].lease).unwrap(), first);
    assert_eq!(store.claim_content(&content, second, page).unwrap(), first);
    let ended =
        Settlement { lease: held[0].lease, outcome: Outcome::Record, history: PageHistory::default() };
    assert_eq!(store.settle(&[ended], &[]).unwrap(), 0);
    store.release_content(&content, first, held[0].lease).unwrap();
    assert_eq!(store.claim_content(&content, second, page).unwrap(), first, "its lease has ended");
}
