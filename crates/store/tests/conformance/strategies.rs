//! Lanes, results between strategies, and strategies learned per host.

use crate::*;

fn in_lane(store: &impl Store, lane: Lane, now: i64) -> Vec<CrawlRequest> {
    store.lease(&host("a"), lane, 9, "w", now, 100).unwrap()
}

pub fn urls_are_leased_per_lane(store: &impl Store) {
    enqueue(store, &["https://a/1", "https://a/2", "https://b/1"]);
    let leased = lease(store, "a", 2);
    store.requeue((&leased[0]).into(), 5, 1, Some(Strategy::Chrome)).unwrap();
    store.requeue((&leased[1]).into(), 5, 1, Some(Strategy::Amp)).unwrap();
    let ready = |lane| store.hosts_with_pending(lane, 5, 9).unwrap();
    assert_eq!(ready(Lane::Browser), [begun("a", 1)]);
    assert_eq!(ready(Lane::Plain), [begun("a", 1), new_host("b", 1)]);
    let browser = in_lane(store, Lane::Browser, 5);
    assert_eq!(paths(&browser), ["/1"]);
    assert_eq!(browser[0].strategy, Some(Strategy::Chrome));
    assert_eq!(paths(&in_lane(store, Lane::Plain, 5)), ["/2"]);
    assert!(ready(Lane::Browser).is_empty());
    // an expired lease returns to its lane
    assert_eq!(store.expire_leases(i64::MAX).unwrap(), 2);
    assert_eq!(ready(Lane::Browser), [begun("a", 1)]);
    assert_eq!(store.counts().unwrap().pending, 3);
    assert!(!store.host_drained(&host("a")).unwrap());
    // found again by a shorter path, it stays in its lane
    store.requeue((&in_lane(store, Lane::Browser, 5)[0]).into(), 0, 0, None).unwrap();
    assert_eq!(paths(&in_lane(store, Lane::Plain, 5)), ["/1", "/2"]);
}

pub fn depth_levels_span_both_lanes(store: &impl Store) {
    store.enqueue(&[new_url("https://a/1", 1), new_url("https://a/2", 2)]).unwrap();
    let first = lease(store, "a", 1);
    store.requeue((&first[0]).into(), 0, 0, Some(Strategy::Chrome)).unwrap();
    let level = |lane| store.lease_by_level(&host("a"), lane, 9, "w", 0, 100).unwrap();
    assert!(level(Lane::Plain).is_empty(), "the browser's page is nearer");
    let rendered = level(Lane::Browser);
    assert_eq!(paths(&rendered), ["/1"]);
    assert!(level(Lane::Plain).is_empty());
    settle(store, &rendered, Outcome::Record);
    assert_eq!(paths(&level(Lane::Plain)), ["/2"]);
}

pub fn shorter_path_to_a_url_keeps_its_lane(store: &impl Store) {
    store.enqueue(&[new_url("https://a/1", 4)]).unwrap();
    let first = lease(store, "a", 1);
    store.requeue((&first[0]).into(), 0, 0, Some(Strategy::Chrome)).unwrap();
    assert_eq!(store.hosts_with_pending(Lane::Browser, 0, 9).unwrap(), [begun("a", 1)]);
    store.enqueue(&[new_url("https://a/1", 2)]).unwrap();
    assert!(store.hosts_with_pending(Lane::Plain, 0, 9).unwrap().is_empty());
    assert_eq!(in_lane(store, Lane::Browser, 0)[0].depth, 2);
}

pub fn partial_result_is_kept_until_the_url_ends(store: &impl Store) {
    enqueue(store, &["https://a/1", "https://a/2", "https://a/3"]);
    let leased = lease(store, "a", 3);
    let partial_result = |n: usize| store.partial_result(leased[n].id).unwrap();
    for (n, request) in leased.iter().enumerate() {
        assert_eq!(partial_result(n), None);
        assert!(store.escalate(request.into(), 0, Strategy::Chrome, b"static").unwrap());
        assert!(!store.escalate(request.into(), 0, Strategy::Amp, b"late").unwrap(), "the lease has ended");
    }
    let again = in_lane(store, Lane::Browser, 0);
    assert_eq!(
        again.iter().map(|r| (r.attempt, r.strategy)).collect::<Vec<_>>(),
        [(0, Some(Strategy::Chrome)); 3]
    );
    // retried and escalated once more: the newest result counts
    store.requeue((&again[0]).into(), 0, 1, Some(Strategy::Chrome)).unwrap();
    assert_eq!(partial_result(0).as_deref(), Some(&b"static"[..]));
    let third = in_lane(store, Lane::Browser, 0);
    store.escalate((&third[0]).into(), 0, Strategy::Mobile, b"both").unwrap();
    assert_eq!(partial_result(0).as_deref(), Some(&b"both"[..]));
    store.hold((&again[1]).into(), &host("a"), b"page").unwrap();
    settle(store, &again[2..], Outcome::Record);
    assert_eq!((partial_result(1), partial_result(2)), (None, None));
    store.begin_round().unwrap();
    assert_eq!(partial_result(0), None);
}

pub fn lessons_survive_a_new_round(store: &impl Store) {
    assert_eq!(store.load_lessons(&host("a")).unwrap(), None);
    store.save_lessons(&host("a"), b"one").unwrap();
    store.save_lessons(&host("a"), b"two").unwrap();
    store.begin_round().unwrap();
    assert_eq!(store.load_lessons(&host("a")).unwrap().as_deref(), Some(&b"two"[..]));
    assert_eq!(store.load_lessons(&host("b")).unwrap(), None);
}

pub fn an_unreadable_held_page_is_fetched_again_once(store: &impl Store) {
    store.begin_round().unwrap();
    enqueue(store, &["https://a/1", "https://a/2"]);
    let first = lease(store, "a", 1);
    store.requeue((&first[0]).into(), 0, 2, Some(Strategy::Chrome)).unwrap();
    let rendered = LeaseRef::from(&in_lane(store, Lane::Browser, 0)[0]);
    store.hold(rendered, &host("b"), b"page").unwrap();
    assert!(store.became_page(UrlKey::of("https://a/1")).unwrap());
    assert!(store.refetch(rendered).unwrap());
    assert!(!store.refetch(rendered).unwrap(), "it is no longer held");
    assert!(!store.became_page(UrlKey::of("https://a/1")).unwrap());
    assert!(store.held(&host("b"), 0, 9).unwrap().is_empty());
    let counts = store.counts().unwrap();
    assert_eq!((counts.pending, counts.held, counts.leased), (2, 0, 0));
    let again = lease(store, "a", 9);
    assert_eq!(paths(&again), ["/1", "/2"]);
    assert_eq!((again[0].attempt, again[0].strategy), (0, None), "nothing has been tried yet");
    store.hold((&again[0]).into(), &host("a"), b"page").unwrap();
    assert!(!store.refetch((&again[0]).into()).unwrap(), "once a round");
    assert_eq!(store.counts().unwrap().held, 1);
    store.begin_round().unwrap();
    enqueue(store, &["https://a/1"]);
    let next = lease(store, "a", 1);
    store.hold((&next[0]).into(), &host("a"), b"page").unwrap();
    assert!(store.refetch((&next[0]).into()).unwrap(), "another round");
}

pub fn the_state_of_an_unsettled_host_lasts_until_it_settles(store: &impl Store) {
    store.begin_round().unwrap();
    store.save_host(&host("a"), b"earlier").unwrap();
    store.begin_recrawl(true).unwrap();
    let unsettled = || store.load_unsettled(&host("a")).unwrap();
    assert_eq!(unsettled(), None);
    store.save_unsettled(&host("a"), Some(b"one")).unwrap();
    store.save_unsettled(&host("a"), Some(b"two")).unwrap();
    assert_eq!(unsettled().as_deref(), Some(&b"two"[..]));
    assert_eq!(store.load_earlier_host(&host("a")).unwrap().as_deref(), Some(&b"earlier"[..]));
    store.save_unsettled(&host("a"), None).unwrap();
    assert_eq!(unsettled(), None);
    store.save_unsettled(&host("a"), Some(b"three")).unwrap();
    store.save_host(&host("a"), b"settled").unwrap();
    assert_eq!(unsettled(), None);
    store.save_unsettled(&host("b"), Some(b"four")).unwrap();
    store.begin_round().unwrap();
    assert_eq!(store.load_unsettled(&host("b")).unwrap(), None);
}
