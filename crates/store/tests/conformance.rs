//! The contract of the storage traits: every test runs on every backend.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use crawl_model::{
    CachedRobots, ContentHash, CrawlRequest, Discovery, DomainStore, Enqueued, Frontier, FrontierCounts,
    HostKey, HostLoad, LeaseRef, LeaseToken, NewUrl, Origin, Outcome, OutputMark, PageHistory, RequestId,
    RunStore, Settlement, Strategy, UrlKey,
};
use crawl_store::{MemoryStore, SqliteStore};
use std::collections::BTreeSet;
use url::Url;

/// What the suite needs of a backend.
trait Store: Frontier + DomainStore + RunStore {
    fn history_of(&self, url: &str) -> Option<PageHistory>;
    fn set(&self, project: &str, source_group: Option<&str>);
}

impl Store for MemoryStore {
    fn history_of(&self, url: &str) -> Option<PageHistory> {
        self.history(UrlKey::of(url)).unwrap()
    }
    fn set(&self, project: &str, source_group: Option<&str>) {
        self.set_project(project, source_group).unwrap();
    }
}

impl Store for SqliteStore {
    fn history_of(&self, url: &str) -> Option<PageHistory> {
        self.history(UrlKey::of(url)).unwrap()
    }
    fn set(&self, project: &str, source_group: Option<&str>) {
        self.set_project(project, source_group).unwrap();
    }
}

macro_rules! conformance {
    ($($name:ident),+ $(,)?) => {
        mod memory {
            $(#[test] fn $name() { super::$name(&super::MemoryStore::new()); })+
        }
        mod sqlite {
            $(#[test] fn $name() {
                let dir = tempfile::tempdir().unwrap();
                super::$name(&super::SqliteStore::open(dir.path()).unwrap());
            })+
        }
    };
}

conformance!(
    a_url_is_visited_once_a_round,
    a_batch_may_name_a_url_twice,
    a_pending_url_takes_the_lesser_depth,
    leases_come_by_depth_then_discovery,
    a_lease_carries_what_was_enqueued,
    a_lease_carries_the_project,
    only_the_asked_host_is_leased,
    hosts_take_turns,
    tokens_grow_and_old_ones_do_nothing,
    leases_expire_at_their_deadline,
    all_leases_can_be_taken_back,
    a_requeued_url_waits_for_its_time,
    a_requeued_url_keeps_attempt_and_strategy,
    drained_waits_for_leases_and_retries_but_not_for_held_pages,
    held_pages_come_in_order_and_by_pages,
    a_page_can_be_held_for_another_host,
    settling_ends_leases_and_held_pages,
    settling_leaves_out_what_is_no_longer_held,
    settling_marks_outputs_even_alone,
    outcomes_are_counted,
    a_new_round_visits_again_and_keeps_the_history,
    a_new_round_drops_what_was_active,
    a_lease_of_an_earlier_round_cannot_be_settled,
    history_is_replaced_by_content_and_merged_otherwise,
    claims_name_the_first,
    host_states_are_kept_for_a_round,
    settings_and_robots_are_kept,
    nothing_is_known_of_strangers,
    many_threads_share_the_work,
    any_sequence_of_calls_agrees_with_a_simple_model,
);

fn host(name: &str) -> HostKey {
    HostKey::from_stored(name)
}

fn new_url(url: &str, depth: u32) -> NewUrl {
    NewUrl {
        key: UrlKey::of(url),
        url: url.to_owned(),
        host: HostKey::of(&Url::parse(url).unwrap()).unwrap(),
        depth,
        discovery: Discovery::Link,
        redirects: Vec::new(),
        sitemap_lastmod: None,
    }
}

fn enqueue(store: &impl Store, urls: &[&str]) -> Enqueued {
    store.enqueue(&urls.iter().map(|url| new_url(url, 0)).collect::<Vec<_>>()).unwrap()
}

/// Leases at time 0 until 100.
fn lease(store: &impl Store, name: &str, max: usize) -> Vec<CrawlRequest> {
    store.lease(&host(name), max, "w", 0, 100).unwrap()
}

fn one(store: &impl Store, name: &str) -> CrawlRequest {
    let mut leased = lease(store, name, 1);
    assert_eq!(leased.len(), 1, "{name} has something to lease");
    leased.remove(0)
}

fn paths(requests: &[CrawlRequest]) -> Vec<&str> {
    requests.iter().map(|r| r.url.path()).collect()
}

fn settlement(lease: LeaseRef, outcome: Outcome) -> Settlement {
    Settlement { lease, outcome, history: PageHistory::default() }
}

fn settle(store: &impl Store, requests: &[CrawlRequest], outcome: Outcome) -> usize {
    let batch: Vec<_> = requests.iter().map(|r| settlement(r.into(), outcome)).collect();
    store.settle(&batch, &[]).unwrap()
}

fn load(name: &str, pending: usize) -> HostLoad {
    HostLoad { host: host(name), pending }
}

fn a_url_is_visited_once_a_round(store: &impl Store) {
    assert_eq!(store.round().unwrap(), 0);
    assert_eq!(store.begin_round().unwrap(), 1);
    assert_eq!(enqueue(store, &["https://a/1", "https://a/2"]), Enqueued { new: 2, known: 0 });
    assert_eq!(enqueue(store, &["https://a/2", "https://a/3"]), Enqueued { new: 1, known: 1 });
    let leased = lease(store, "a", 9);
    assert_eq!(enqueue(store, &["https://a/1"]), Enqueued { new: 0, known: 1 }, "leased");
    settle(store, &leased, Outcome::Failed);
    assert_eq!(enqueue(store, &["https://a/1"]), Enqueued { new: 0, known: 1 }, "settled");
    assert_eq!(store.enqueue(&[]).unwrap(), Enqueued::default());
}

fn a_batch_may_name_a_url_twice(store: &impl Store) {
    assert_eq!(enqueue(store, &["https://a/1", "https://a/1"]), Enqueued { new: 1, known: 1 });
    assert_eq!(lease(store, "a", 9).len(), 1);
}

fn a_pending_url_takes_the_lesser_depth(store: &impl Store) {
    store.enqueue(&[new_url("https://a/deep", 5), new_url("https://a/mid", 3)]).unwrap();
    assert_eq!(store.enqueue(&[new_url("https://a/deep", 7)]).unwrap().known, 1);
    assert_eq!(store.enqueue(&[new_url("https://a/deep", 2)]).unwrap().known, 1);
    let leased = lease(store, "a", 9);
    assert_eq!(paths(&leased), ["/deep", "/mid"]);
    assert_eq!(leased[0].depth, 2);
    // too late for one that is out already
    store.enqueue(&[new_url("https://a/mid", 1)]).unwrap();
    store.expire_leases(i64::MAX).unwrap();
    assert_eq!(lease(store, "a", 9).iter().map(|r| r.depth).collect::<Vec<_>>(), [2, 3]);
}

fn leases_come_by_depth_then_discovery(store: &impl Store) {
    let urls = [("https://a/x", 1), ("https://a/y", 0), ("https://a/z", 1), ("https://a/w", 0)];
    store.enqueue(&urls.map(|(url, depth)| new_url(url, depth))).unwrap();
    assert_eq!(paths(&lease(store, "a", 3)), ["/y", "/w", "/x"]);
    assert_eq!(paths(&lease(store, "a", 3)), ["/z"]);
    assert!(lease(store, "a", 3).is_empty());
    assert!(lease(store, "a", 0).is_empty());
}

fn a_lease_carries_what_was_enqueued(store: &impl Store) {
    let url = NewUrl {
        discovery: Discovery::Redirect,
        redirects: vec!["http://a/old".into(), "http://a/older".into()],
        sitemap_lastmod: Some("2026-01-01".into()),
        ..new_url("https://a/p?q=%C3%A9", 4)
    };
    store.enqueue(&[url]).unwrap();
    let request = one(store, "a");
    assert_eq!(request.url.as_str(), "https://a/p?q=%C3%A9");
    assert_eq!((request.depth, request.discovery, request.attempt), (4, Discovery::Redirect, 0));
    assert_eq!(request.redirects, ["http://a/old", "http://a/older"]);
    assert_eq!((request.strategy, request.etag, request.last_modified), (None, None, None));
}

fn a_lease_carries_the_project(store: &impl Store) {
    enqueue(store, &["https://a/1", "https://a/2"]);
    let request = one(store, "a");
    assert_eq!((&*request.project, request.source_group), ("", None));
    store.set("drives", Some("catalogue"));
    let request = one(store, "a");
    assert_eq!((&*request.project, request.source_group.as_deref()), ("drives", Some("catalogue")));
}

fn only_the_asked_host_is_leased(store: &impl Store) {
    enqueue(store, &["https://a/1", "https://b/1", "https://a:8080/1"]);
    assert_eq!(paths(&lease(store, "b", 9)), ["/1"]);
    assert_eq!(lease(store, "a:8080", 9)[0].url.as_str(), "https://a:8080/1");
    assert_eq!(lease(store, "a", 9).len(), 1);
}

fn hosts_take_turns(store: &impl Store) {
    enqueue(store, &["https://a/1", "https://b/1", "https://a/2", "https://c/1", "https://a/3"]);
    assert_eq!(store.hosts_with_pending(0, 9).unwrap(), [load("a", 3), load("b", 1), load("c", 1)]);
    assert_eq!(store.hosts_with_pending(0, 1).unwrap(), [load("a", 3)]);
    one(store, "a");
    assert_eq!(store.hosts_with_pending(0, 9).unwrap(), [load("b", 1), load("c", 1), load("a", 2)]);
    one(store, "b");
    assert_eq!(store.hosts_with_pending(0, 9).unwrap(), [load("c", 1), load("a", 2)]);
}

fn tokens_grow_and_old_ones_do_nothing(store: &impl Store) {
    enqueue(store, &["https://a/1"]);
    let first = one(store, "a");
    assert_eq!(store.expire_leases(100).unwrap(), 1);
    let second = one(store, "a");
    assert_eq!(second.id, first.id);
    assert!(second.token > first.token);
    assert!(!store.requeue((&first).into(), 0, 1, None).unwrap());
    assert!(!store.hold((&first).into(), &host("a"), b"x").unwrap());
    assert!(store.held(&host("a"), 0, 9).unwrap().is_empty(), "nothing was stored");
    assert_eq!(settle(store, &[first], Outcome::Record), 1);
    assert_eq!(settle(store, &[second], Outcome::Record), 0);
}

fn leases_expire_at_their_deadline(store: &impl Store) {
    enqueue(store, &["https://a/1", "https://a/2", "https://b/1"]);
    store.lease(&host("a"), 1, "w", 0, 50).unwrap();
    store.lease(&host("a"), 1, "w", 0, 60).unwrap();
    store.lease(&host("b"), 1, "w", 0, 50).unwrap();
    assert_eq!(store.expire_leases(49).unwrap(), 0);
    assert_eq!(store.expire_leases(50).unwrap(), 2);
    let again = lease(store, "a", 9);
    assert_eq!((paths(&again), again[0].attempt), (vec!["/1"], 0), "an expired lease is not an attempt");
    assert_eq!(store.counts().unwrap().leased, 2);
}

fn all_leases_can_be_taken_back(store: &impl Store) {
    enqueue(store, &["https://a/1", "https://b/1"]);
    store.lease(&host("a"), 1, "w", 0, i64::MAX).unwrap();
    store.lease(&host("b"), 1, "w", 0, 10).unwrap();
    assert_eq!(store.expire_leases(i64::MAX).unwrap(), 2);
    assert_eq!(store.counts().unwrap(), FrontierCounts { pending: 2, hosts: 2, ..Default::default() });
}

fn a_requeued_url_waits_for_its_time(store: &impl Store) {
    enqueue(store, &["https://a/1", "https://a/2"]);
    assert_eq!(store.next_due().unwrap(), None);
    let leased = lease(store, "a", 2);
    assert!(store.requeue((&leased[0]).into(), 70, 1, None).unwrap());
    assert!(store.requeue((&leased[1]).into(), 50, 1, None).unwrap());
    assert_eq!(store.next_due().unwrap(), Some(50));
    assert_eq!(store.hosts_with_pending(49, 9).unwrap(), []);
    assert!(lease(store, "a", 9).is_empty());
    assert_eq!(store.hosts_with_pending(50, 9).unwrap(), [load("a", 1)]);
    assert_eq!(store.next_due().unwrap(), Some(70));
    assert_eq!(paths(&store.lease(&host("a"), 9, "w", 70, 100).unwrap()), ["/1", "/2"]);
    assert_eq!(store.next_due().unwrap(), None);
}

fn a_requeued_url_keeps_attempt_and_strategy(store: &impl Store) {
    enqueue(store, &["https://a/1"]);
    store.requeue((&one(store, "a")).into(), 0, 2, Some(Strategy::Chrome)).unwrap();
    let request = one(store, "a");
    assert_eq!((request.attempt, request.strategy), (2, Some(Strategy::Chrome)));
    store.requeue((&request).into(), 0, 3, None).unwrap();
    assert_eq!(one(store, "a").strategy, None);
}

fn drained_waits_for_leases_and_retries_but_not_for_held_pages(store: &impl Store) {
    let drained = || (store.drained().unwrap(), store.host_drained(&host("a")).unwrap());
    assert_eq!(drained(), (true, true));
    enqueue(store, &["https://a/1", "https://b/1"]);
    assert_eq!(drained(), (false, false));
    settle(store, &lease(store, "b", 1), Outcome::Record);
    assert!(store.host_drained(&host("b")).unwrap());
    let request = one(store, "a");
    assert_eq!(drained(), (false, false), "leased");
    store.requeue((&request).into(), 10, 1, None).unwrap();
    assert_eq!(drained(), (false, false), "waiting");
    let request = store.lease(&host("a"), 1, "w", 10, 99).unwrap().remove(0);
    store.hold((&request).into(), &host("a"), b"page").unwrap();
    assert_eq!(drained(), (true, true));
    assert_eq!(store.counts().unwrap().held, 1);
}

fn held_pages_come_in_order_and_by_pages(store: &impl Store) {
    enqueue(store, &["https://a/1", "https://a/2", "https://a/3", "https://b/1"]);
    let mut leased = lease(store, "a", 9);
    leased.reverse();
    leased.insert(1, one(store, "b"));
    for request in &leased {
        let name = HostKey::of(&request.url).unwrap();
        assert!(store.hold(request.into(), &name, request.url.path().as_bytes()).unwrap());
        assert!(!store.hold(request.into(), &name, b"again").unwrap(), "the lease has ended");
    }
    let bodies = |after, limit| -> Vec<(i64, String)> {
        let held = store.held(&host("a"), after, limit).unwrap();
        held.into_iter().map(|h| (h.order, String::from_utf8(h.page).unwrap())).collect()
    };
    let all = bodies(0, 9);
    assert_eq!(all.iter().map(|(_, page)| page.as_str()).collect::<Vec<_>>(), ["/3", "/2", "/1"]);
    assert!(all.is_sorted());
    assert_eq!(bodies(0, 2), all[..2]);
    assert_eq!(bodies(all[1].0, 2), all[2..]);
    assert_eq!(bodies(all[2].0, 2), []);
    assert_eq!(store.hosts_with_held().unwrap(), [load("a", 3), load("b", 1)]);
}

fn a_page_can_be_held_for_another_host(store: &impl Store) {
    enqueue(store, &["https://a/1"]);
    let request = one(store, "a");
    assert!(store.hold((&request).into(), &host("b"), b"page").unwrap());
    assert_eq!(store.hosts_with_held().unwrap(), [load("b", 1)]);
    assert_eq!(store.counts().unwrap(), FrontierCounts { held: 1, hosts: 1, ..Default::default() });
    settle(store, &[request], Outcome::Record);
    assert_eq!(store.hosts_with_held().unwrap(), []);
}

fn settling_ends_leases_and_held_pages(store: &impl Store) {
    enqueue(store, &["https://a/1", "https://a/2"]);
    let leased = lease(store, "a", 2);
    store.hold((&leased[0]).into(), &host("a"), b"page").unwrap();
    let held = store.held(&host("a"), 0, 1).unwrap().remove(0).lease;
    let batch = [settlement(held, Outcome::Record), settlement((&leased[1]).into(), Outcome::Skipped)];
    let mark = OutputMark { name: "/out".into(), offset: 1 << 40 };
    assert_eq!(store.settle(&batch, &[mark]).unwrap(), 0);
    assert!(store.held(&host("a"), 0, 9).unwrap().is_empty());
    assert_eq!(store.output_mark("/out").unwrap(), Some(1 << 40));
    let counts = FrontierCounts { records: 1, skipped: 1, hosts: 1, ..Default::default() };
    assert_eq!(store.counts().unwrap(), counts);
}

fn settling_leaves_out_what_is_no_longer_held(store: &impl Store) {
    enqueue(store, &["https://a/1", "https://a/2"]);
    let leased = lease(store, "a", 2);
    let twice = [leased[0].clone(), leased[0].clone(), leased[1].clone()];
    assert_eq!(settle(store, &twice, Outcome::Record), 1);
    assert_eq!(settle(store, &leased, Outcome::Failed), 2);
    let unknown = LeaseRef { id: RequestId(999), token: LeaseToken(1) };
    assert_eq!(store.settle(&[settlement(unknown, Outcome::Record)], &[]).unwrap(), 1);
    let counts = FrontierCounts { records: 2, hosts: 1, ..Default::default() };
    assert_eq!(store.counts().unwrap(), counts);
}

fn settling_marks_outputs_even_alone(store: &impl Store) {
    let mark = |offset| [OutputMark { name: "o".into(), offset }];
    assert_eq!(store.output_mark("o").unwrap(), None);
    store.settle(&[], &mark(5)).unwrap();
    store.settle(&[], &mark(0)).unwrap();
    assert_eq!(store.output_mark("o").unwrap(), Some(0));
    store.begin_round().unwrap();
    assert_eq!(store.output_mark("o").unwrap(), Some(0), "a file outlives a round");
}

fn outcomes_are_counted(store: &impl Store) {
    enqueue(store, &["https://a/1", "https://a/2", "https://b/3", "https://b/4", "https://b/5"]);
    settle(store, &lease(store, "a", 1), Outcome::Failed);
    settle(store, &lease(store, "a", 1), Outcome::Redirected);
    settle(store, &lease(store, "b", 2), Outcome::Skipped);
    settle(store, &lease(store, "b", 1), Outcome::Record);
    let counts =
        FrontierCounts { records: 1, failed: 1, skipped: 2, redirected: 1, hosts: 2, ..Default::default() };
    assert_eq!(store.counts().unwrap(), counts);
}

fn seen(etag: Option<&str>, content: Option<&str>) -> PageHistory {
    PageHistory {
        status: Some(200),
        etag: etag.map(Into::into),
        last_modified: None,
        content_hash: content.map(ContentHash::of),
        fetched_at_ms: Some(7),
    }
}

fn a_new_round_visits_again_and_keeps_the_history(store: &impl Store) {
    store.begin_round().unwrap();
    enqueue(store, &["https://a/1", "https://a/2"]);
    let leased = lease(store, "a", 2);
    let history =
        PageHistory { last_modified: Some("Thu, 01 Jan 1970".into()), ..seen(Some("\"e\""), Some("text")) };
    let done = Settlement { lease: (&leased[0]).into(), outcome: Outcome::Record, history: history.clone() };
    store.settle(&[done], &[]).unwrap();
    store.requeue((&leased[1]).into(), 0, 2, Some(Strategy::Amp)).unwrap();

    assert_eq!(store.begin_round().unwrap(), 2);
    assert_eq!(store.round().unwrap(), 2);
    assert_eq!(store.counts().unwrap(), FrontierCounts::default());
    assert_eq!(store.history_of("https://a/1"), Some(history));
    let again = [new_url("https://a/2", 3), new_url("https://a/1", 1), new_url("https://a/3", 2)];
    assert_eq!(store.enqueue(&again).unwrap(), Enqueued { new: 3, known: 0 });
    assert_eq!(store.counts().unwrap().hosts, 1);
    let leased = lease(store, "a", 9);
    assert_eq!(paths(&leased), ["/1", "/3", "/2"], "by the depths of this round");
    assert_eq!(leased[0].etag.as_deref(), Some("\"e\""));
    assert_eq!(leased[0].last_modified.as_deref(), Some("Thu, 01 Jan 1970"));
    assert_eq!((leased[2].attempt, leased[2].strategy), (0, None), "attempts are a round's");
}

fn a_new_round_drops_what_was_active(store: &impl Store) {
    enqueue(store, &["https://a/1", "https://a/2", "https://a/3", "https://a/4"]);
    let leased = lease(store, "a", 3);
    store.hold((&leased[0]).into(), &host("a"), b"page").unwrap();
    store.requeue((&leased[1]).into(), 5, 1, None).unwrap();
    store.begin_round().unwrap();
    assert!(store.drained().unwrap() && store.host_drained(&host("a")).unwrap());
    assert_eq!(store.hosts_with_pending(9, 9).unwrap(), []);
    assert_eq!(store.next_due().unwrap(), None);
    assert_eq!(store.hosts_with_held().unwrap(), []);
    assert_eq!(store.expire_leases(i64::MAX).unwrap(), 0);
    assert!(lease(store, "a", 9).is_empty());
}

fn a_lease_of_an_earlier_round_cannot_be_settled(store: &impl Store) {
    enqueue(store, &["https://a/1"]);
    let old = one(store, "a");
    store.begin_round().unwrap();
    enqueue(store, &["https://a/1"]);
    assert_eq!(settle(store, std::slice::from_ref(&old), Outcome::Record), 1);
    let new = one(store, "a");
    assert!(new.token > old.token);
    assert_eq!(settle(store, &[old], Outcome::Record), 1);
    assert_eq!(settle(store, &[new], Outcome::Record), 0);
}

fn history_is_replaced_by_content_and_merged_otherwise(store: &impl Store) {
    let visit = |outcome, history: PageHistory| {
        store.begin_round().unwrap();
        enqueue(store, &["https://a/1"]);
        let lease = (&one(store, "a")).into();
        store.settle(&[Settlement { lease, outcome, history }], &[]).unwrap();
        store.history_of("https://a/1").unwrap()
    };
    let first = seen(Some("1"), Some("text"));
    assert_eq!(visit(Outcome::Record, first.clone()), first);
    let unchanged = PageHistory { status: Some(304), fetched_at_ms: Some(8), ..Default::default() };
    let expected = PageHistory { status: Some(304), fetched_at_ms: Some(8), ..first.clone() };
    assert_eq!(visit(Outcome::Record, unchanged), expected, "a 304 keeps tag and hash");
    assert_eq!(visit(Outcome::Failed, PageHistory::default()), expected, "no answer teaches nothing");
    assert_eq!(
        visit(Outcome::Record, seen(None, Some("new"))),
        seen(None, Some("new")),
        "the old tag is gone"
    );
}

fn claims_name_the_first(store: &impl Store) {
    let (a, b) = (UrlKey::of("a"), UrlKey::of("b"));
    let hash = ContentHash::of("text");
    assert_eq!(store.claim_content(&hash, a).unwrap(), a);
    assert_eq!(store.claim_content(&hash, b).unwrap(), a);
    assert_eq!(store.claim_content(&hash, a).unwrap(), a, "the claimant may come again");
    assert_eq!(store.claim_content(&ContentHash::of("other"), b).unwrap(), b);
    let (one, two) = (RequestId(1), RequestId(2));
    assert_eq!(store.claim_final_url(a, one).unwrap(), one);
    assert_eq!(store.claim_final_url(a, two).unwrap(), one);
    assert_eq!(store.claim_final_url(a, one).unwrap(), one);
    assert_eq!(store.claim_final_url(b, two).unwrap(), two);
    store.begin_round().unwrap();
    assert_eq!(store.claim_content(&hash, b).unwrap(), b, "claims are a round's");
    assert_eq!(store.claim_final_url(a, two).unwrap(), two);
}

fn host_states_are_kept_for_a_round(store: &impl Store) {
    assert_eq!(store.load_host(&host("a")).unwrap(), None);
    store.save_host(&host("a"), b"one").unwrap();
    store.save_host(&host("b"), b"").unwrap();
    store.save_host(&host("a"), b"two").unwrap();
    assert_eq!(store.load_host(&host("a")).unwrap().as_deref(), Some(&b"two"[..]));
    assert_eq!(store.load_host(&host("b")).unwrap().as_deref(), Some(&b""[..]));
    assert_eq!(store.counts().unwrap().hosts, 0, "a state alone is not a host to visit");
    store.begin_round().unwrap();
    assert_eq!(store.load_host(&host("a")).unwrap(), None);
}

fn settings_and_robots_are_kept(store: &impl Store) {
    assert_eq!(store.get("seeds").unwrap(), None);
    store.put("seeds", "one").unwrap();
    store.put("seeds", "é\0two").unwrap();
    let origin = Origin::of(&Url::parse("https://a").unwrap()).unwrap();
    assert_eq!(store.load_robots(&origin).unwrap(), None);
    let robots = |status, body: &[u8]| CachedRobots { status, body: body.into(), fetched_at_ms: 5 };
    store.save_robots(&origin, &robots(0, b"")).unwrap();
    store.save_robots(&origin, &robots(200, b"\xff\0Disallow")).unwrap();
    store.begin_round().unwrap();
    assert_eq!(store.get("seeds").unwrap().as_deref(), Some("é\0two"));
    assert_eq!(store.load_robots(&origin).unwrap(), Some(robots(200, b"\xff\0Disallow")));
}

fn nothing_is_known_of_strangers(store: &impl Store) {
    let stranger = LeaseRef { id: RequestId(1), token: LeaseToken(1) };
    assert!(lease(store, "a", 9).is_empty());
    assert!(store.host_drained(&host("a")).unwrap());
    assert!(store.held(&host("a"), 0, 9).unwrap().is_empty());
    assert!(!store.requeue(stranger, 0, 0, None).unwrap());
    assert!(!store.hold(stranger, &host("a"), b"").unwrap());
    assert_eq!(store.output_mark("o").unwrap(), None);
    assert_eq!(store.history_of("https://a/"), None);
    assert_eq!(store.counts().unwrap(), FrontierCounts::default());
}

fn many_threads_share_the_work(store: &impl Store) {
    let urls: Vec<_> = (0..400).map(|n| new_url(&format!("https://h{}/{n}", n % 4), 0)).collect();
    let visited = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let (urls, visited) = (&urls, &visited);
            scope.spawn(move || {
                store.enqueue(&urls[worker * 80..]).unwrap();
                while !store.drained().unwrap() {
                    for found in store.hosts_with_pending(0, 2).unwrap() {
                        let leased = store.lease(&found.host, 3, "w", 0, 100).unwrap();
                        visited.lock().unwrap().extend(leased.iter().map(|r| r.id));
                        assert_eq!(settle(store, &leased, Outcome::Record), 0);
                    }
                }
            });
        }
    });
    store.enqueue(&urls).unwrap();
    let visited = visited.into_inner().unwrap();
    assert_eq!(visited.len(), 400);
    assert_eq!(visited.iter().collect::<BTreeSet<_>>().len(), 400);
    assert_eq!(store.counts().unwrap().records, 400);
}

/// xorshift64 (Marsaglia 2003), seeded: the same calls in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    fn urls(&mut self) -> Vec<NewUrl> {
        let n = self.below(6);
        (0..n)
            .map(|_| {
                new_url(&format!("https://h{}/{}", self.below(5), self.below(120)), self.below(4) as u32)
            })
            .collect()
    }
}

/// Two stores that are told the same and have to answer the same.
struct Twins<'a, S> {
    store: &'a S,
    model: MemoryStore,
    /// Leases that may or may not still be held, as each of the two gave them.
    out: Vec<(CrawlRequest, CrawlRequest)>,
    settled: usize,
}

impl<S: Store> Twins<'_, S> {
    fn agree<T: std::fmt::Debug + PartialEq>(&self, call: impl Fn(&dyn Frontier) -> T) -> T {
        let answer = call(self.store);
        assert_eq!(answer, call(&self.model));
        answer
    }

    fn lease(&mut self, name: &HostKey, max: usize, now: i64, deadline: i64) {
        let lease = |s: &dyn Frontier| s.lease(name, max, "w", now, deadline).unwrap();
        let (a, b) = (lease(self.store), lease(&self.model));
        let told = |r: &CrawlRequest| (r.id, r.url.clone(), r.depth, r.attempt, r.strategy, r.etag.clone());
        assert_eq!(a.iter().map(told).collect::<Vec<_>>(), b.iter().map(told).collect::<Vec<_>>());
        self.out.extend(a.into_iter().zip(b));
    }

    fn settle(&mut self, at: usize, now: i64) {
        let (a, b) = self.out.swap_remove(at);
        let history = PageHistory { etag: Some(now.to_string()), ..Default::default() };
        let ended = |lease| [Settlement { lease, outcome: Outcome::Record, history: history.clone() }];
        let stale = self.store.settle(&ended((&a).into()), &[]).unwrap();
        assert_eq!(stale, self.model.settle(&ended((&b).into()), &[]).unwrap());
        self.settled += 1 - stale;
    }

    /// The same of both, about one lease.
    fn about(&self, at: usize, call: impl Fn(&dyn Frontier, &CrawlRequest) -> bool) {
        let (a, b) = &self.out[at];
        assert_eq!(call(self.store, a), call(&self.model, b));
    }
}

/// A few thousand calls beside a store in memory, all numbers compared after each.
fn any_sequence_of_calls_agrees_with_a_simple_model(store: &impl Store) {
    let mut random = Random(88_172_645_463_325_252);
    let mut twins = Twins { store, model: MemoryStore::new(), out: Vec::new(), settled: 0 };
    for now in 0..3_000_i64 {
        let name = host(&format!("h{}", random.below(5)));
        let later = |random: &mut Random, most| now + random.below(most) as i64;
        let out = twins.out.len() as u64;
        match random.below(12) {
            0..=3 => {
                let urls = random.urls();
                twins.agree(|s| s.enqueue(&urls).unwrap());
            }
            4..=6 => twins.lease(&name, random.below(4) as usize, now, later(&mut random, 400)),
            7 | 8 if out > 0 => twins.settle(random.below(out) as usize, now),
            9 if out > 0 => {
                let due = later(&mut random, 40);
                twins.about(random.below(out) as usize, |s, r| {
                    s.requeue(r.into(), due, r.attempt + 1, None).unwrap()
                });
            }
            10 if out > 0 => {
                twins.about(random.below(out) as usize, |s, r| s.hold(r.into(), &name, b"page").unwrap());
            }
            11 if random.below(20) == 0 => _ = twins.agree(|s| s.begin_round().unwrap()),
            11 => _ = twins.agree(|s| s.expire_leases(now).unwrap()),
            _ => {}
        }
        twins.agree(|s| (s.counts().unwrap(), s.next_due().unwrap(), s.hosts_with_pending(now, 3).unwrap()));
        twins.agree(|s| (s.hosts_with_held().unwrap(), s.host_drained(&name).unwrap(), s.drained().unwrap()));
    }
    assert!(twins.settled > 100, "the sequence does something: {}", twins.settled);
}
