//! URLs that were read ahead of their lease, whose host changes hands.

use crate::*;

fn ten(host: &str) -> Vec<NewUrl> {
    (1..=10).map(|n| new_url(&format!("https://{host}/{n}"))).collect()
}

fn paths(requests: &[CrawlRequest]) -> Vec<&str> {
    requests.iter().map(|request| request.url.path()).collect()
}

/// Leases the first URL of a host, which reads the others ahead, and settles it.
fn begin_host(store: &PgStore, name: &str) {
    let first = lease(store, name, 1);
    assert_eq!(paths(&first), ["/1"]);
    assert_eq!(store.settle(&records(&first), &[]).unwrap(), 0);
}

/// Settles the next URLs of a host by a worker that has it.
fn visit(store: &PgStore, name: &str, most: usize) {
    let out = lease(store, name, most);
    assert_eq!(out.len(), most);
    assert_eq!(store.settle(&records(&out), &[]).unwrap(), 0);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn lost_and_regained_host_is_reread() {
    let (server, old) = begun("old");
    old.enqueue(&ten("a")).unwrap();
    begin_host(&old, "a");
    expire(&server, "old");
    let other = open(&server, "other");
    visit(&other, "a", 4);
    drop(other);
    assert_eq!(ready(&old), ["a"]);
    assert_eq!(paths(&lease(&old, "a", 99)), ["/6", "/7", "/8", "/9", "/10"]);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_lost_host_has_no_leases() {
    let (server, old) = begun("old");
    old.enqueue(&ten("a")).unwrap();
    begin_host(&old, "a");
    expire(&server, "old");
    let other = open(&server, "other");
    // the next change notices the loss
    old.enqueue(&urls(&["https://a/11"])).unwrap();
    assert!(lease(&old, "a", 99).is_empty());
    assert_eq!(lease(&other, "a", 99).len(), 9);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn released_and_regained_host_is_reread() {
    let (clock, _guard) = Clock::start();
    let (server, first) = begun("first");
    first.enqueue(&[ten("a"), ten("b")].concat()).unwrap();
    begin_host(&first, "a");
    begin_host(&first, "b");
    let second = open(&server, "second");
    assert_eq!(ready(&first).len(), 1, "one of two hosts is the share of the other worker");
    let given = first.handed_over().unwrap()[0].host.clone();
    clock.pass(1);
    assert_eq!(ready(&second), [given.as_str()]);
    visit(&second, given.as_str(), 4);
    drop(second);
    clock.pass(1);
    assert_eq!(ready(&first), ["a", "b"]);
    assert_eq!(paths(&lease(&first, given.as_str(), 99)), ["/6", "/7", "/8", "/9", "/10"]);
}
