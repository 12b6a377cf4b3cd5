//! Outcomes, rounds, and state that outlives them.

use crate::*;

pub fn outcomes_are_counted(store: &impl Store) {
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
        sitemap_lastmod: None,
        content_hash: content.map(ContentHash::of),
        fetched_at_ms: Some(7),
        ..PageHistory::default()
    }
}

pub fn a_new_round_visits_again_and_keeps_the_history(store: &impl Store) {
    store.begin_round().unwrap();
    enqueue(store, &["https://a/1", "https://a/2"]);
    let leased = lease(store, "a", 2);
    let history = PageHistory {
        last_modified: Some("Thu, 01 Jan 1970".into()),
        sitemap_lastmod: Some("1970-01-01".into()),
        ..seen(Some("\"e\""), Some("text"))
    };
    let done = Settlement { lease: (&leased[0]).into(), outcome: Outcome::Record, history: history.clone() };
    store.settle(&[done], &[]).unwrap();
    store.requeue((&leased[1]).into(), 0, 2, Some(Strategy::Amp)).unwrap();

    assert_eq!(store.begin_round().unwrap(), 2);
    assert_eq!(store.round().unwrap(), 2);
    assert_eq!(store.counts().unwrap(), FrontierCounts::default());
    assert_eq!(store.history_of("https://a/1"), Some(history));
    let again = [new_url("https://a/2", 3), new_url("https://a/1", 1), new_url("https://a/3", 2)];
    assert_eq!(store.enqueue(&again).unwrap(), added(3, 0));
    assert_eq!(store.counts().unwrap().hosts, 1);
    let leased = lease(store, "a", 9);
    assert_eq!(paths(&leased), ["/1", "/3", "/2"], "by the depths of this round");
    assert_eq!(leased[0].etag.as_deref(), Some("\"e\""));
    assert_eq!(leased[0].last_modified.as_deref(), Some("Thu, 01 Jan 1970"));
    assert_eq!((leased[2].attempt, leased[2].strategy), (0, None), "attempts are a round's");
}

/// A sitemap's `lastmod` is in the lease, whether it comes before or after the first link to the page. Its
/// value at the time of the fetch is history, and stays when the next round has another value or none.
pub fn lastmod_is_kept_per_round_and_per_visit(store: &impl Store) {
    let listed =
        |url: &str, lastmod: &str| NewUrl { sitemap_lastmod: Some(lastmod.into()), ..new_url(url, 1) };
    store.begin_round().unwrap();
    enqueue(store, &["https://a/1", "https://a/2"]);
    store.enqueue(&[listed("https://a/1", "2026-01-01"), listed("https://a/3", "2026-03-03")]).unwrap();
    enqueue(store, &["https://a/3"]);
    let leased = lease(store, "a", 9);
    let told: Vec<_> = leased.iter().map(|r| (r.url.path(), r.sitemap_lastmod.as_deref())).collect();
    assert_eq!(told, [("/1", Some("2026-01-01")), ("/2", None), ("/3", Some("2026-03-03"))]);
    for request in &leased {
        let history =
            PageHistory { sitemap_lastmod: request.sitemap_lastmod.clone(), ..seen(None, Some("text")) };
        let done = Settlement { lease: request.into(), outcome: Outcome::Record, history };
        store.settle(&[done], &[]).unwrap();
    }
    let fetched = |url| store.history_of(url).unwrap().sitemap_lastmod;
    assert_eq!(fetched("https://a/1").as_deref(), Some("2026-01-01"));

    store.begin_round().unwrap();
    store.enqueue(&[listed("https://a/1", "2026-02-02")]).unwrap();
    enqueue(store, &["https://a/3"]);
    let leased = lease(store, "a", 9);
    let told: Vec<_> = leased.iter().map(|r| r.sitemap_lastmod.as_deref()).collect();
    assert_eq!(told, [None, Some("2026-02-02")], "of this round");
    assert_eq!(fetched("https://a/1").as_deref(), Some("2026-01-01"), "of the last visit");
    settle(store, &leased, Outcome::Failed);
    assert_eq!(fetched("https://a/3").as_deref(), Some("2026-03-03"), "a failure teaches nothing");
    let now_without = PageHistory { sitemap_lastmod: None, ..seen(None, Some("other")) };
    store.begin_round().unwrap();
    enqueue(store, &["https://a/3"]);
    let done =
        Settlement { lease: (&one(store, "a")).into(), outcome: Outcome::Record, history: now_without };
    store.settle(&[done], &[]).unwrap();
    assert_eq!(fetched("https://a/3"), None, "a visit replaces what the one before taught");
}

pub fn new_round_drops_active_requests(store: &impl Store) {
    enqueue(store, &["https://a/1", "https://a/2", "https://a/3", "https://a/4"]);
    let leased = lease(store, "a", 3);
    store.hold((&leased[0]).into(), &host("a"), b"page").unwrap();
    store.requeue((&leased[1]).into(), 5, 1, None).unwrap();
    store.begin_round().unwrap();
    assert!(store.drained().unwrap() && store.host_drained(&host("a")).unwrap());
    assert_eq!(store.hosts_with_pending(Lane::Plain, 9, 9).unwrap(), []);
    assert_eq!(store.next_due().unwrap(), None);
    assert_eq!(store.hosts_with_held().unwrap(), []);
    assert_eq!(store.expire_leases(i64::MAX).unwrap(), 0);
    assert!(lease(store, "a", 9).is_empty());
}

pub fn a_lease_of_an_earlier_round_cannot_be_settled(store: &impl Store) {
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

pub fn new_content_replaces_history_and_other_outcomes_merge(store: &impl Store) {
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

pub fn url_counts_as_a_page_when_held_or_recorded(store: &impl Store) {
    store.begin_round().unwrap();
    let urls = ["https://a/1", "https://a/2", "https://a/3", "https://a/4"];
    let pages = |store: &dyn Store| urls.map(|url| store.became_page(UrlKey::of(url)).unwrap());
    enqueue(store, &urls[..3]);
    let leased = lease(store, "a", 3);
    assert_eq!(pages(store), [false; 4], "known or not, none has come to an end");
    settle(store, &leased[..1], Outcome::Record);
    settle(store, &leased[1..2], Outcome::Failed);
    assert!(store.hold((&leased[2]).into(), &host("a"), b"page").unwrap().is_some());
    assert_eq!(pages(store), [true, false, true, false]);
    settle(store, &leased[2..], Outcome::Record);
    assert_eq!(pages(store), [true, false, true, false]);
    store.begin_round().unwrap();
    enqueue(store, &urls);
    assert_eq!(pages(store), [false; 4], "each round begins anew");
}

pub fn content_claims_return_the_first_claimant(store: &impl Store) {
    let (a, b) = (UrlKey::of("a"), UrlKey::of("b"));
    let hash = ContentHash::of("text");
    let claim =
        |hash: &ContentHash, claimant| store.claim_content(hash, claimant, other_page(store)).unwrap();
    store.begin_round().unwrap();
    assert_eq!(claim(&hash, a), a);
    assert_eq!(claim(&hash, b), a);
    assert_eq!(claim(&hash, a), a, "the claimant may come again");
    assert_eq!(claim(&ContentHash::of("other"), b), b);
    store.begin_round().unwrap();
    assert_eq!(claim(&hash, b), b, "claims are a round's");
}

pub fn end_value_is_stored_only_when_the_round_ended(store: &impl Store) {
    store.begin_round().unwrap();
    enqueue(store, &["https://a/1", "https://a/2"]);
    let is_set = |value: &str| {
        let done = store.put_at_end("ended", value).unwrap();
        assert_eq!(store.get("ended").unwrap().as_deref() == Some(value), done);
        done
    };
    assert!(!is_set("queued"));
    let leased = lease(store, "a", 2);
    assert!(!is_set("leased"));
    settle(store, &leased[..1], Outcome::Record);
    store.hold((&leased[1]).into(), &host("a"), b"page").unwrap().unwrap();
    assert!(!is_set("held"));
    settle(store, &leased[1..], Outcome::Record);
    assert!(is_set("1") && is_set("2"));
}

pub fn host_states_are_kept_for_a_round(store: &impl Store) {
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

pub fn settings_and_robots_are_kept(store: &impl Store) {
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
