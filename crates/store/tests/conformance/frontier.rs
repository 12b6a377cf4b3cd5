//! Enqueueing, leasing, holding, settling.

use crate::*;

pub fn a_url_is_visited_once_a_round(store: &impl Store) {
    assert_eq!(store.round().unwrap(), 0);
    assert_eq!(store.begin_round().unwrap(), 1);
    assert_eq!(enqueue(store, &["https://a/1", "https://a/2"]), added(2, 0));
    assert_eq!(enqueue(store, &["https://a/2", "https://a/3"]), added(1, 1));
    let leased = lease(store, "a", 9);
    assert_eq!(enqueue(store, &["https://a/1"]), added(0, 1), "leased");
    settle(store, &leased, Outcome::Failed);
    assert_eq!(enqueue(store, &["https://a/1"]), added(0, 1), "settled");
    assert_eq!(store.enqueue(&[]).unwrap(), Enqueued::default());
}

pub fn batch_may_repeat_a_url(store: &impl Store) {
    assert_eq!(enqueue(store, &["https://a/1", "https://a/1"]), added(1, 1));
    assert_eq!(lease(store, "a", 9).len(), 1);
}

pub fn pending_urls_per_host_are_limited(store: &impl Store) {
    store.begin_round().unwrap();
    store.bound_hosts(HostBounds { urls: Some(2), bytes: None }).unwrap();
    let done = enqueue(store, &["https://a/1", "https://b/1", "https://a/2", "https://a/3", "https://a/4"]);
    assert_eq!((done.new, done.known), (3, 0));
    let host = HostKey::from_stored("a");
    let keys = ["https://a/3", "https://a/4"].map(UrlKey::of).to_vec();
    let refused = Refused { host, bound: HostBound::Urls, first: "https://a/3".into(), keys };
    assert_eq!(done.refused, [refused]);
    assert_eq!(enqueue(store, &["https://a/2", "https://b/2"]), added(1, 1), "known URLs are not refused");
    let exempt = |url: &str, discovery| NewUrl { discovery, ..new_url(url, 0) };
    let seed = exempt("https://a/seed", Discovery::Seed);
    let file = exempt("https://a/sitemap.xml", Discovery::SitemapFile);
    assert_eq!(store.enqueue(&[seed, file]).unwrap(), added(2, 0), "neither are seeds and sitemaps");
    let leased = lease(store, "a", 4);
    settle(store, &leased, Outcome::Record);
    assert_eq!(enqueue(store, &["https://a/3", "https://a/1"]), added(1, 1), "those that are done make room");
}

pub fn bytes_of_pending_urls_per_host_are_limited(store: &impl Store) {
    store.begin_round().unwrap();
    store.bound_hosts(HostBounds { urls: None, bytes: Some(10_000) }).unwrap();
    let long = |n: usize| format!("https://a/{n}/{}", "x".repeat(1_000));
    let all: Vec<String> = (0..20).map(long).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let done = enqueue(store, &all);
    assert!((7..=9).contains(&done.new), "{}", done.new);
    assert_eq!(done.refused.len(), 1);
    assert_eq!((done.refused[0].bound, done.refused[0].keys.len()), (HostBound::Bytes, 20 - done.new));
    assert_eq!(enqueue(store, &["https://b/1"]), added(1, 0), "each host has its own");
    settle(store, &lease(store, "a", 4), Outcome::Record);
    let again = enqueue(store, &all);
    assert!((2..=4).contains(&again.new), "{} after four have left", again.new);
    assert_eq!(again.known, done.new);
}

pub fn requeued_urls_count_for_the_host_limit(store: &impl Store) {
    store.begin_round().unwrap();
    store.bound_hosts(HostBounds { urls: None, bytes: Some(10_000) }).unwrap();
    let batch = |from: usize| -> Vec<NewUrl> {
        (from..from + 20).map(|n| new_url(&format!("https://a/{n}/{}", "x".repeat(1_000)), 0)).collect()
    };
    let room = store.enqueue(&batch(100)).unwrap().new;
    let new = |from: usize| store.enqueue(&batch(from)).unwrap().new;
    let leased = lease(store, "a", 3);
    for request in &leased {
        assert!(store.requeue(request.into(), 50, 1, None).unwrap());
    }
    assert_eq!(new(200), 0, "they wait");
    assert_eq!(store.lease(&host("a"), Lane::Plain, 3, "w", 60, 100).unwrap().len(), 3);
    assert_eq!(store.expire_leases(100).unwrap(), 3);
    assert_eq!(new(200), 0, "their leases have run out");
    let held = one(store, "a");
    store.hold((&held).into(), &host("a"), b"page").unwrap();
    assert!(store.refetch((&held).into()).unwrap());
    assert_eq!(new(200), 0, "a held page is fetched again");
    settle(store, &lease(store, "a", 99), Outcome::Record);
    assert_eq!(new(300), room, "all have left");
}

pub fn pending_url_takes_the_smaller_depth(store: &impl Store) {
    store.enqueue(&[new_url("https://a/deep", 5), new_url("https://a/mid", 3)]).unwrap();
    assert_eq!(store.enqueue(&[new_url("https://a/deep", 7)]).unwrap().known, 1);
    assert_eq!(store.enqueue(&[new_url("https://a/deep", 2)]).unwrap().known, 1);
    let leased = lease(store, "a", 9);
    assert_eq!(paths(&leased), ["/deep", "/mid"]);
    assert_eq!(leased[0].depth, 2);
    // too late for a leased URL
    store.enqueue(&[new_url("https://a/mid", 1)]).unwrap();
    store.expire_leases(i64::MAX).unwrap();
    assert_eq!(lease(store, "a", 9).iter().map(|r| r.depth).collect::<Vec<_>>(), [2, 3]);
}

pub fn pending_link_becomes_a_sitemap_file_when_named(store: &impl Store) {
    let file = |url: &str| NewUrl { discovery: Discovery::SitemapFile, ..new_url(url, 1) };
    let seed = NewUrl { discovery: Discovery::Seed, ..new_url("https://a/seed", 0) };
    let urls = ["https://a/out", "https://a/again", "https://a/feed"].map(|url| new_url(url, 1));
    store.enqueue(&[&urls[..], &[seed]].concat()).unwrap();
    let leased = lease(store, "a", 3);
    assert_eq!(paths(&leased), ["/seed", "/out", "/again"]);
    settle(store, &leased[..1], Outcome::Skipped);
    store.requeue((&leased[2]).into(), 50, 1, None).unwrap();
    let named = ["https://a/seed", "https://a/out", "https://a/again", "https://a/feed"].map(file);
    assert_eq!(store.enqueue(&named).unwrap(), added(0, 4));
    // nor does a link turn a sitemap into a page
    store.enqueue(&urls).unwrap();
    store.expire_leases(i64::MAX).unwrap();
    let again = store.lease(&host("a"), Lane::Plain, 9, "w", 50, 100).unwrap();
    let found: Vec<_> = again.iter().map(|r| (r.url.path(), r.discovery, r.attempt)).collect();
    let (link, file) = (Discovery::Link, Discovery::SitemapFile);
    assert_eq!(found, [("/out", link, 0), ("/again", file, 1), ("/feed", file, 0)]);
}

pub fn urls_are_leased_by_depth_then_discovery(store: &impl Store) {
    let urls = [("https://a/x", 1), ("https://a/y", 0), ("https://a/z", 1), ("https://a/w", 0)];
    store.enqueue(&urls.map(|(url, depth)| new_url(url, depth))).unwrap();
    assert_eq!(paths(&lease(store, "a", 3)), ["/y", "/w", "/x"]);
    assert_eq!(paths(&lease(store, "a", 3)), ["/z"]);
    assert!(lease(store, "a", 3).is_empty());
    assert!(lease(store, "a", 0).is_empty());
}

pub fn late_url_is_leased_in_depth_order(store: &impl Store) {
    let depths = |max| lease(store, "a", max).iter().map(|r| r.depth).collect::<Vec<_>>();
    let deep = |n: u32| new_url(&format!("https://a/{n}"), 5 + n);
    store.enqueue(&[1, 2, 3, 4].map(deep)).unwrap();
    assert_eq!(depths(1), [6]);
    // a new URL, and a pending one by a shorter way
    store.enqueue(&[new_url("https://a/new", 2), NewUrl { depth: 3, ..deep(4) }]).unwrap();
    assert_eq!(depths(1), [2]);
    let named = NewUrl { discovery: Discovery::SitemapFile, sitemap_lastmod: Some("2026".into()), ..deep(2) };
    store.enqueue(&[named]).unwrap();
    let rest = lease(store, "a", 9);
    assert_eq!(paths(&rest), ["/4", "/2", "/3"]);
    assert_eq!(rest[1].discovery, Discovery::SitemapFile);
    assert_eq!(rest[1].sitemap_lastmod.as_deref(), Some("2026"));
    store.requeue((&rest[0]).into(), 0, 1, None).unwrap();
    store.expire_leases(i64::MAX).unwrap();
    assert_eq!(depths(1), [2]);
    assert_eq!(depths(9), [3, 6, 7, 8]);
}

pub fn deeper_levels_wait_for_shallower_urls(store: &impl Store) {
    let level = |now| store.lease_by_level(&host("a"), Lane::Plain, 9, "w", now, 100).unwrap();
    let urls =
        [("https://a/0", 0), ("https://a/1", 1), ("https://a/1b", 1), ("https://a/2", 2), ("https://b/7", 7)];
    store.enqueue(&urls.map(|(url, depth)| new_url(url, depth))).unwrap();
    let seed = level(0);
    assert_eq!(paths(&seed), ["/0"]);
    assert_eq!(paths(&level(0)), [""; 0], "the seed is out");
    settle(store, &seed, Outcome::Record);
    let first = level(0);
    assert_eq!(paths(&first), ["/1", "/1b"]);
    settle(store, &first[..1], Outcome::Record);
    store.requeue((&first[1]).into(), 50, 1, None).unwrap();
    assert_eq!(paths(&level(0)), [""; 0], "one waits to be tried again");
    let again = level(50);
    assert_eq!(paths(&again), ["/1b"]);
    assert!(store.hold((&again[0]).into(), &host("a"), b"page").unwrap().is_some());
    assert_eq!(paths(&level(50)), ["/2"], "a held page has been read");
    assert_eq!(
        paths(&store.lease_by_level(&host("b"), Lane::Plain, 9, "w", 0, 100).unwrap()),
        ["/7"],
        "each host for itself"
    );
}

pub fn lease_has_the_enqueued_values(store: &impl Store) {
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

pub fn lease_has_the_project(store: &impl Store) {
    enqueue(store, &["https://a/1", "https://a/2"]);
    let request = one(store, "a");
    assert_eq!((&*request.project, request.source_group), ("", None));
    store.set("drives", Some("catalogue"));
    let request = one(store, "a");
    assert_eq!((&*request.project, request.source_group.as_deref()), ("drives", Some("catalogue")));
}

pub fn only_urls_of_the_requested_host_are_leased(store: &impl Store) {
    enqueue(store, &["https://a/1", "https://b/1", "https://a:8080/1"]);
    assert_eq!(paths(&lease(store, "b", 9)), ["/1"]);
    assert_eq!(lease(store, "a:8080", 9)[0].url.as_str(), "https://a:8080/1");
    assert_eq!(lease(store, "a", 9).len(), 1);
}

fn ready(store: &impl Store) -> Vec<ReadyHost> {
    store.hosts_with_pending(Lane::Plain, 0, 9).unwrap()
}

pub fn hosts_take_turns(store: &impl Store) {
    enqueue(
        store,
        &["https://a/1", "https://b/1", "https://a/2", "https://c/1", "https://a/3", "https://d/1"],
    );
    assert_eq!(ready(store), [new_host("a", 3), new_host("b", 1), new_host("c", 1), new_host("d", 1)]);
    assert_eq!(store.hosts_with_pending(Lane::Plain, 0, 1).unwrap(), [new_host("a", 3)]);
    one(store, "a");
    // a host that has begun gets its first leases before another begins
    assert_eq!(ready(store), [begun("a", 2), new_host("b", 1), new_host("c", 1), new_host("d", 1)]);
    one(store, "b");
    assert_eq!(ready(store), [begun("a", 2), new_host("c", 1), new_host("d", 1)]);
    let more: Vec<String> = (0..99).map(|n| format!("https://c/more/{n}")).collect();
    enqueue(store, &more.iter().map(String::as_str).collect::<Vec<_>>());
    lease(store, "c", 50);
    // after its first leases it waits for hosts without leases
    assert_eq!(ready(store), [begun("a", 2), new_host("d", 1), new_host("c", 50)]);
}

pub fn suspended_hosts_are_skipped_until_resumed(store: &impl Store) {
    enqueue(store, &["https://a/1", "https://b/1", "https://c/1"]);
    for name in ["a", "b", "unknown"] {
        store.suspend(&host(name)).unwrap();
    }
    enqueue(store, &["https://a/2"]);
    assert_eq!(ready(store), [new_host("c", 1)]);
    assert_eq!(lease(store, "b", 9).len(), 1, "it is left out of the list alone");
    assert!(!store.drained().unwrap() && store.counts().unwrap().pending == 3);
    store.resume(&[host("a"), host("unknown")]).unwrap();
    assert_eq!(ready(store), [new_host("a", 2), new_host("c", 1)]);
    store.suspend(&host("a")).unwrap();
    store.suspend(&host("c")).unwrap();
    assert_eq!(ready(store), []);
    store.resume_all().unwrap();
    assert_eq!(ready(store), [new_host("a", 2), new_host("c", 1)]);
}

pub fn hosts_waiting_for_a_level_are_skipped_until_progress(store: &impl Store) {
    let level = || store.lease_by_level(&host("a"), Lane::Plain, 9, "w", 0, 100).unwrap();
    store.enqueue(&[new_url("https://a/0", 0), new_url("https://a/1", 1)]).unwrap();
    let seed = level();
    assert_eq!(ready(store), [begun("a", 1)]);
    assert!(level().is_empty());
    assert_eq!(ready(store), []);
    settle(store, &seed, Outcome::Record);
    assert_eq!(ready(store), [begun("a", 1)]);
    let first = level();
    store.enqueue(&[new_url("https://a/2", 2)]).unwrap();
    assert!(level().is_empty());
    store.requeue((&first[0]).into(), 0, 0, None).unwrap();
    assert_eq!(paths(&level()), ["/1"]);
}

pub fn drained_hosts_are_reported(store: &impl Store) {
    enqueue(store, &["https://a/1", "https://a/2", "https://b/1"]);
    let a = lease(store, "a", 9);
    settle(store, &a[..1], Outcome::Record);
    assert_eq!(store.newly_drained().unwrap(), []);
    store.hold((&a[1]).into(), &host("a"), b"page").unwrap();
    assert_eq!(store.newly_drained().unwrap(), [host("a")]);
    settle(store, &a[1..], Outcome::Record);
    assert_eq!(store.newly_drained().unwrap(), []);
    let b = lease(store, "b", 9);
    store.requeue((&b[0]).into(), 0, 1, None).unwrap();
    assert_eq!(store.newly_drained().unwrap(), []);
    settle(store, &lease(store, "b", 9), Outcome::Failed);
    assert_eq!(store.newly_drained().unwrap(), [host("b")]);
}

pub fn lease_is_current_until_it_ends_or_expires(store: &impl Store) {
    enqueue(store, &["https://a/1", "https://a/2"]);
    let leased = lease(store, "a", 2);
    let (first, second) = (&leased[0], &leased[1]);
    let current = |request: &CrawlRequest| store.is_current(request.into()).unwrap();
    assert!(current(first) && current(second));
    store.hold(first.into(), &host("a"), b"page").unwrap();
    assert!(current(first), "as a held page");
    settle(store, std::slice::from_ref(first), Outcome::Record);
    assert!(!current(first) && current(second));
    store.expire_leases(i64::MAX).unwrap();
    assert!(!current(second));
    let again = one(store, "a");
    assert!(current(&again) && !current(second));
}

pub fn lease_tokens_grow_and_old_tokens_are_ignored(store: &impl Store) {
    enqueue(store, &["https://a/1"]);
    let first = one(store, "a");
    assert_eq!(store.expire_leases(100).unwrap(), 1);
    let second = one(store, "a");
    assert_eq!(second.id, first.id);
    assert!(second.token > first.token);
    assert!(!store.requeue((&first).into(), 0, 1, None).unwrap());
    assert!(store.hold((&first).into(), &host("a"), b"x").unwrap().is_none());
    assert!(store.held(&host("a"), 0, 9).unwrap().is_empty(), "nothing was stored");
    assert_eq!(settle(store, &[first], Outcome::Record), 1);
    assert_eq!(settle(store, &[second], Outcome::Record), 0);
}

pub fn leases_expire_at_their_deadline(store: &impl Store) {
    enqueue(store, &["https://a/1", "https://a/2", "https://b/1"]);
    store.lease(&host("a"), Lane::Plain, 1, "w", 0, 50).unwrap();
    store.lease(&host("a"), Lane::Plain, 1, "w", 0, 60).unwrap();
    store.lease(&host("b"), Lane::Plain, 1, "w", 0, 50).unwrap();
    assert_eq!(store.expire_leases(49).unwrap(), 0);
    assert_eq!(store.expire_leases(50).unwrap(), 2);
    let again = lease(store, "a", 9);
    assert_eq!((paths(&again), again[0].attempt), (vec!["/1"], 0), "an expired lease is not an attempt");
    assert_eq!(store.counts().unwrap().leased, 2);
}

pub fn all_leases_can_be_revoked(store: &impl Store) {
    enqueue(store, &["https://a/1", "https://b/1"]);
    store.lease(&host("a"), Lane::Plain, 1, "w", 0, i64::MAX).unwrap();
    store.lease(&host("b"), Lane::Plain, 1, "w", 0, 10).unwrap();
    assert_eq!(store.expire_leases(i64::MAX).unwrap(), 2);
    assert_eq!(store.counts().unwrap(), FrontierCounts { pending: 2, hosts: 2, ..Default::default() });
}

pub fn a_requeued_url_waits_for_its_time(store: &impl Store) {
    enqueue(store, &["https://a/1", "https://a/2"]);
    assert_eq!(store.next_due().unwrap(), None);
    let leased = lease(store, "a", 2);
    assert!(store.requeue((&leased[0]).into(), 70, 1, None).unwrap());
    assert!(store.requeue((&leased[1]).into(), 50, 1, None).unwrap());
    assert_eq!(store.next_due().unwrap(), Some(50));
    assert_eq!(store.hosts_with_pending(Lane::Plain, 49, 9).unwrap(), []);
    assert!(lease(store, "a", 9).is_empty());
    assert_eq!(store.hosts_with_pending(Lane::Plain, 50, 9).unwrap(), [begun("a", 1)]);
    assert_eq!(store.next_due().unwrap(), Some(70));
    assert_eq!(paths(&store.lease(&host("a"), Lane::Plain, 9, "w", 70, 100).unwrap()), ["/1", "/2"]);
    assert_eq!(store.next_due().unwrap(), None);
}

pub fn url_that_waits_too_long_is_rescheduled(store: &impl Store) {
    enqueue(store, &["https://a/1", "https://a/2"]);
    for (leased, due) in lease(store, "a", 2).iter().zip([4_102_444_800_000, 1_000]) {
        assert!(store.requeue(leased.into(), due, 1, None).unwrap());
    }
    assert_eq!(store.bring_forward(1_000, 50).unwrap(), 1, "the other waits no longer than the limit");
    assert_eq!(store.next_due().unwrap(), Some(50));
    assert_eq!(store.hosts_with_pending(Lane::Plain, 49, 9).unwrap(), []);
    let due = store.lease(&host("a"), Lane::Plain, 9, "w", 50, 100).unwrap();
    assert_eq!((paths(&due), due[0].attempt), (vec!["/1"], 1));
    assert_eq!(store.next_due().unwrap(), Some(1_000));
    assert_eq!(store.bring_forward(1_000, 50).unwrap(), 0);
}

pub fn a_requeued_url_keeps_attempt_and_strategy(store: &impl Store) {
    enqueue(store, &["https://a/1"]);
    store.requeue((&one(store, "a")).into(), 0, 2, Some(Strategy::Amp)).unwrap();
    let request = one(store, "a");
    assert_eq!((request.attempt, request.strategy), (2, Some(Strategy::Amp)));
    store.requeue((&request).into(), 0, 3, None).unwrap();
    assert_eq!(one(store, "a").strategy, None);
}

pub fn drained_waits_for_leases_and_retries_not_held_pages(store: &impl Store) {
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
    let request = store.lease(&host("a"), Lane::Plain, 1, "w", 10, 99).unwrap().remove(0);
    store.hold((&request).into(), &host("a"), b"page").unwrap();
    assert_eq!(drained(), (true, true));
    assert_eq!(store.counts().unwrap().held, 1);
}

pub fn held_pages_are_listed_in_order_with_paging(store: &impl Store) {
    enqueue(store, &["https://a/1", "https://a/2", "https://a/3", "https://b/1"]);
    let mut leased = lease(store, "a", 9);
    leased.reverse();
    leased.insert(1, one(store, "b"));
    let mut orders = Vec::new();
    for request in &leased {
        let name = HostKey::of(&request.url).unwrap();
        orders.push(store.hold(request.into(), &name, request.url.path().as_bytes()).unwrap().unwrap());
        assert!(store.hold(request.into(), &name, b"again").unwrap().is_none(), "the lease has ended");
    }
    let bodies = |after, limit| -> Vec<(i64, String)> {
        let held = store.held(&host("a"), after, limit).unwrap();
        held.into_iter().map(|h| (h.order, String::from_utf8(h.page).unwrap())).collect()
    };
    let all = bodies(0, 9);
    assert_eq!(all.iter().map(|(_, page)| page.as_str()).collect::<Vec<_>>(), ["/3", "/2", "/1"]);
    assert!(all.is_sorted());
    orders.remove(1);
    assert_eq!(all.iter().map(|(order, _)| *order).collect::<Vec<_>>(), orders);
    assert_eq!(bodies(0, 2), all[..2]);
    assert_eq!(bodies(all[1].0, 2), all[2..]);
    assert_eq!(bodies(all[2].0, 2), []);
    assert_eq!(store.hosts_with_held().unwrap(), [load("a", 3), load("b", 1)]);
}

pub fn a_page_can_be_held_for_another_host(store: &impl Store) {
    enqueue(store, &["https://a/1"]);
    let request = one(store, "a");
    assert!(store.hold((&request).into(), &host("b"), b"page").unwrap().is_some());
    assert_eq!(store.hosts_with_held().unwrap(), [load("b", 1)]);
    assert_eq!(store.counts().unwrap(), FrontierCounts { held: 1, hosts: 1, ..Default::default() });
    settle(store, &[request], Outcome::Record);
    assert_eq!(store.hosts_with_held().unwrap(), []);
}

pub fn settling_ends_leases_and_held_pages(store: &impl Store) {
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

pub fn settling_skips_requests_that_are_not_held(store: &impl Store) {
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

pub fn settling_marks_outputs_even_alone(store: &impl Store) {
    let mark = |offset| [OutputMark { name: "o".into(), offset }];
    assert_eq!(store.output_mark("o").unwrap(), None);
    store.settle(&[], &mark(5)).unwrap();
    store.settle(&[], &mark(0)).unwrap();
    assert_eq!(store.output_mark("o").unwrap(), Some(0));
    store.begin_round().unwrap();
    assert_eq!(store.output_mark("o").unwrap(), Some(0), "a file outlives a round");
}

pub fn unknown_requests_and_hosts_have_no_effect(store: &impl Store) {
    let stranger = LeaseRef { id: RequestId(1), token: LeaseToken(1) };
    assert!(lease(store, "a", 9).is_empty());
    assert!(store.host_drained(&host("a")).unwrap());
    assert!(store.held(&host("a"), 0, 9).unwrap().is_empty());
    assert!(!store.requeue(stranger, 0, 0, None).unwrap());
    assert!(store.hold(stranger, &host("a"), b"").unwrap().is_none());
    assert_eq!(store.output_mark("o").unwrap(), None);
    assert_eq!(store.history_of("https://a/"), None);
    assert_eq!(store.counts().unwrap(), FrontierCounts::default());
}

pub fn many_threads_share_the_work(store: &impl Store) {
    let urls: Vec<_> = (0..400).map(|n| new_url(&format!("https://h{}/{n}", n % 4), 0)).collect();
    let visited = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let (urls, visited) = (&urls, &visited);
            scope.spawn(move || {
                store.enqueue(&urls[worker * 80..]).unwrap();
                while !store.drained().unwrap() {
                    for found in store.hosts_with_pending(Lane::Plain, 0, 2).unwrap() {
                        let leased = store.lease(&found.host, Lane::Plain, 3, "w", 0, 100).unwrap();
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
