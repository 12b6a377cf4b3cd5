//! Hosts that change hands.

use crate::*;
use crawl_model::{DomainStore, Quota, RunStore};
use crawl_store::Upkeep;
use std::net::IpAddr;

#[test]
#[ignore = "needs PostgreSQL"]
fn takeover_revokes_all_leases_of_the_old_owner() {
    let (server, old) = begun("old");
    old.enqueue(&urls(&["https://a/1", "https://a/2", "https://a/3", "https://a/4", "https://b/1"])).unwrap();
    let out = lease(&old, "a", 4);
    assert_eq!(out.len(), 4);
    old.settle(&records(&out[..1]), &[mark("old.jsonl", 10)]).unwrap();
    old.hold((&out[3]).into(), &host("a"), b"page").unwrap().unwrap();
    expire(&server, "old");

    let new = open(&server, "new");
    assert_eq!(ready(&new), ["a", "b"]);
    assert_eq!(new.counts().unwrap().pending, 4);
    let again = lease(&new, "a", 9);
    assert_eq!(
        again.iter().map(|r| r.url.path()).collect::<Vec<_>>(),
        ["/2", "/3", "/4"],
        "a settled page is not fetched again; the bytes of the held one are on the disk of the old owner"
    );
    assert!(new.held(&host("a"), 0, 9).unwrap().is_empty());
    assert!(again[0].token > out[1].token);

    assert!(!old.is_current((&out[1]).into()).unwrap());
    let refused = old.settle(&records(&out[1..2]), &[mark("old.jsonl", 20)]);
    assert!(matches!(refused, Err(StoreError::Busy(_))), "{refused:?}");
    assert_eq!(old.output_mark("old.jsonl").unwrap(), Some(10), "its mark does not move");
    assert!(!old.requeue((&out[2]).into(), 0, 1, None).unwrap());
    assert!(old.hold((&out[2]).into(), &host("a"), b"page").unwrap().is_none());
    assert!(lease(&old, "a", 9).is_empty());

    assert_eq!(new.settle(&records(&again), &[mark("new.jsonl", 5)]).unwrap(), 0);
    assert_eq!(new.counts().unwrap().records, 4);
    assert!(new.host_drained(&host("a")).unwrap() && !new.drained().unwrap() && !old.drained().unwrap());
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_restarted_worker_has_its_hosts_and_pages_at_once() {
    let server = Server::start();
    let spool = tempfile::tempdir().unwrap();
    let mut options = server.options("c", "w");
    options.spool = Some(spool.path().to_owned());
    let store = PgStore::open(&options).unwrap();
    store.begin_round().unwrap();
    store.enqueue(&urls(&["https://a/1", "https://a/2", "https://a/3"])).unwrap();
    let out = lease(&store, "a", 3);
    let order = store.hold((&out[0]).into(), &host("a"), b"page").unwrap().unwrap();
    store.requeue((&out[1]).into(), 50, 1, None).unwrap();
    store.put("a setting", "v\0").unwrap();
    die(store);

    let store = PgStore::open(&options).unwrap();
    assert_eq!(store.get("a setting").unwrap().as_deref(), Some("v\0"));
    let held = store.held(&host("a"), 0, 9).unwrap();
    assert_eq!(
        (held.len(), held[0].order, &held[0].page[..], held[0].intact),
        (1, order, &b"page"[..], true)
    );
    assert_eq!(store.next_due().unwrap(), Some(50));
    assert_eq!(lease(&store, "a", 9).iter().map(|r| r.url.path()).collect::<Vec<_>>(), ["/3"]);
    assert_eq!(store.settle(&records(&out[2..]), &[]).unwrap(), 1, "a lease ends with its process");
    let counts = store.counts().unwrap();
    assert_eq!((counts.pending, counts.leased, counts.held), (1, 1, 1));
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_restarted_worker_counts_the_bytes_of_its_hosts() {
    let (server, store) = begun("w");
    let long = |n: usize| format!("https://a/{n}/{}", "x".repeat(1_000));
    let batch = |from: usize| -> Vec<NewUrl> { (from..from + 5).map(|n| new_url(&long(n))).collect() };
    assert_eq!(store.enqueue(&batch(0)).unwrap().new, 5);
    let out = lease(&store, "a", 1);
    die(store);
    let store = open(&server, "w");
    store.bound_hosts(HostBounds { urls: None, bytes: Some(10_000) }).unwrap();
    let done = store.enqueue(&batch(5)).unwrap();
    assert!((2..=4).contains(&done.new) && done.refused[0].bound == HostBound::Bytes, "{done:?}");
    assert_eq!(lease(&store, "a", 1)[0].id, out[0].id, "the crawl goes on");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn links_reach_the_owner_of_their_host() {
    let (server, a) = begun("a");
    a.enqueue(&urls(&["https://a/1"])).unwrap();
    let b = open(&server, "b");
    assert_eq!(b.enqueue(&urls(&["https://b/1", "https://a/1", "https://a/2"])).unwrap().new, 1);
    assert_eq!(ready(&b), ["b"]);
    b.settle(&records(&lease(&b, "b", 1)), &[]).unwrap();
    assert!(!b.drained().unwrap(), "links are on their way");
    assert_eq!(a.hosts_with_pending(Lane::Plain, 0, 9).unwrap()[0].pending, 2);
    assert_eq!(lease(&a, "a", 9).len(), 2);
    assert_eq!(a.counts().unwrap().hosts, 2);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn released_hosts_are_taken_at_once() {
    let (server, first) = begun("first");
    first.enqueue(&urls(&["https://a/1", "https://b/1", "https://c/1"])).unwrap();
    first.save_host(&host("a"), b"state").unwrap();
    first.settle(&records(&lease(&first, "c", 1)), &[]).unwrap();
    let second = open(&server, "second");
    assert!(ready(&second).is_empty());
    first.release().unwrap();
    assert!(first.counts().is_err());
    let third = open(&server, "third");
    assert_eq!(ready(&third), ["a", "b"]);
    assert_eq!(third.load_host(&host("a")).unwrap().as_deref(), Some(&b"state"[..]));
    third.settle(&records(&lease(&third, "a", 1)), &[]).unwrap();
    drop(third);
    let fourth = open(&server, "fourth");
    assert_eq!(ready(&fourth), ["b"], "dropping gives back too");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn concurrent_workers_begin_a_round_once() {
    let server = Server::start();
    let a = open(&server, "a");
    let b = open(&server, "b");
    assert_eq!((a.begin_round().unwrap(), b.begin_round().unwrap()), (1, 1));
    let all = ["https://a/1", "https://b/1", "https://c/1", "https://d/1", "https://e/1", "https://f/1"];
    a.enqueue(&urls(&all)).unwrap();
    // each worker takes its part of new hosts
    let own = ready(&a).remove(0);
    let out = lease(&a, &own, 1);
    assert_eq!(b.begin_round().unwrap(), 2);
    assert!(matches!(a.settle(&records(&out), &[mark("a", 9)]), Err(StoreError::Busy(_))));
    assert_eq!(a.begin_round().unwrap(), 2, "it joins");
    assert_eq!((a.counts().unwrap().records, a.output_mark("a").unwrap()), (0, None));
    assert_eq!(a.enqueue(&urls(&[&format!("https://{own}/1")])).unwrap().new, 1);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn round_lists_workers_that_run_or_wrote_in_it() {
    let (server, a) = begun("a");
    a.enqueue(&urls(&["https://a/1"])).unwrap();
    a.settle(&records(&lease(&a, "a", 1)), &[]).unwrap();
    drop((a, open(&server, "idle")));
    let of_round = || {
        let reader = PgStore::open_read_only(&server.options("c", "reader")).unwrap();
        let workers = reader.all_workers().unwrap().into_iter().filter(crawl_store::WorkerState::is_of_round);
        workers.map(|worker| worker.name).collect::<Vec<_>>()
    };
    assert_eq!(of_round(), ["a"], "its lease has ended");
    let next = open(&server, "next");
    assert_eq!(of_round(), ["a", "next"]);
    next.begin_recrawl(true).unwrap();
    assert_eq!(of_round(), ["next"]);
    die(next);
    expire(&server, "next");
    let mut client = server.client();
    let mut execute = |change: &str| assert_eq!(client.execute(change, &[]).unwrap(), 1, "{change}");
    execute("UPDATE crawl_c.tallies SET pending = 0, held = 0, hosts = 0");
    execute("UPDATE crawl_c.hosts SET owner = (SELECT id FROM crawl_c.workers WHERE name = 'next')");
    assert_eq!(of_round(), ["next"], "a killed worker owns its hosts until another one takes them");
    execute("UPDATE crawl_c.hosts SET owner = NULL");
    assert!(of_round().is_empty());
    // it took failed URLs back that another worker had settled
    execute("UPDATE crawl_c.tallies SET records = 3, failed = -3");
    assert_eq!(of_round(), ["next"]);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn read_only_connections_change_nothing() {
    let (server, store) = begun("a");
    store.enqueue(&urls(&["https://a/1", "https://a/2"])).unwrap();
    let reader = PgStore::open_read_only(&server.options("c", "reader")).unwrap();
    assert_eq!(reader.counts().unwrap().pending, 2);
    assert_eq!(reader.hosts().unwrap()[0].queued, 2);
    assert!(matches!(reader.put("a", "b"), Err(StoreError::Full(_))));
}

#[test]
#[ignore = "needs PostgreSQL"]
fn joining_worker_gets_its_share_of_unstarted_hosts() {
    let (clock, _guard) = Clock::start();
    let (server, first) = begun("first");
    let all: Vec<String> = (0..10).map(|n| format!("https://h{n}/")).collect();
    first.enqueue(&all.iter().map(|url| new_url(url)).collect::<Vec<_>>()).unwrap();
    let out = lease(&first, "h0", 1);
    let second = open(&server, "second");
    assert!(ready(&second).is_empty());
    clock.pass(16);
    assert_eq!(ready(&first).len(), 4, "five, of which one is out");
    assert_eq!(ready(&second).len(), 5);
    clock.pass(16);
    assert_eq!((ready(&first).len(), ready(&second).len()), (4, 5));
    assert_eq!(first.settle(&records(&out), &[]).unwrap(), 0, "what has begun stays");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn requested_host_rests_before_another_worker_takes_it() {
    let server = Server::start();
    let (patient, pause) = (|worker: &str| server.options("c", worker), Duration::from_secs(3_600));
    let open = |worker: &str| PgStore::open(&crawl_store::PgOptions { pause, ..patient(worker) }).unwrap();
    let first = open("first");
    first.begin_round().unwrap();
    first.enqueue(&urls(&["https://a/1", "https://a/2", "https://b/1"])).unwrap();
    lease(&first, "a", 1);
    first.release().unwrap();
    let second = open("second");
    assert_eq!(ready(&second), ["b"], "nobody asked b");
    second.enqueue(&urls(&["https://a/3"])).unwrap();
    assert!(!second.drained().unwrap());
    assert!(lease(&second, "a", 1).is_empty());
    expire(&server, "second");
    let third = open("third");
    assert!(ready(&third).is_empty(), "nor does it take b before the lease and the pause have ended");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn host_with_held_pages_moves_to_a_joining_worker() {
    let (clock, _guard) = Clock::start();
    let (server, first) = begun("first");
    first
        .enqueue(&urls(&["https://a/1", "https://a/2", "https://b/1", "https://b/2", "https://b/3"]))
        .unwrap();
    // a drained host is nobody's share
    first.enqueue(&urls(&["https://c/1"])).unwrap();
    first.settle(&records(&lease(&first, "c", 1)), &[]).unwrap();
    let (a, b) = (lease(&first, "a", 1), lease(&first, "b", 2));
    for page in [&a[0], &b[0], &b[1]] {
        first.hold(page.into(), &HostKey::of(&page.url).unwrap(), b"page").unwrap().unwrap();
    }
    assert_eq!(first.held(&host("a"), 0, 9).unwrap().len(), 1);
    let second = open(&server, "second");
    assert!(ready(&second).is_empty());
    assert_eq!(
        ready(&first),
        ["a", "b"],
        "pages of a were read back: they may be on their way to the output"
    );
    clock.pass(5);
    assert!(lease(&first, "a", 1).is_empty(), "nothing of a is leased any more");
    assert!(ready(&first) == ["b"] && ready(&second).is_empty());
    clock.pass(6);
    assert_eq!(ready(&first), ["b"]);
    let moved = first.handed_over().unwrap();
    assert_eq!(
        moved.iter().map(|load| (load.host.as_str(), load.pending)).collect::<Vec<_>>(),
        [("a", 1), ("a", 0)]
    );
    assert!(matches!(first.settle(&records(&a), &[mark("first", 1)]), Err(StoreError::Busy(_))));
    clock.pass(1);
    assert_eq!(ready(&second), ["a"]);
    assert_eq!(lease(&second, "a", 9).len(), 2, "the held page is fetched again");
    let first = first.counts().unwrap();
    assert_eq!((first.held, first.pending, first.records), (2, 3, 1));
}

#[test]
#[ignore = "needs PostgreSQL"]
fn host_stays_while_its_page_is_held_for_another() {
    let (clock, _guard) = Clock::start();
    let (server, first) = begun("first");
    first.enqueue(&urls(&["https://a/1", "https://a/2", "https://b/1"])).unwrap();
    first.settle(&records(&lease(&first, "b", 1)), &[]).unwrap();
    let page = lease(&first, "a", 1);
    first.hold((&page[0]).into(), &host("b"), b"page").unwrap().unwrap();
    assert_eq!(first.held(&host("b"), 0, 9).unwrap().len(), 1);
    let second = open(&server, "second");
    clock.pass(1);
    ready(&first);
    assert!(lease(&first, "a", 1).is_empty(), "a is to leave");
    clock.pass(1);
    ready(&first);
    assert_eq!(first.handed_over().unwrap(), [], "its page may be on its way to the output");
    clock.pass(10);
    ready(&first);
    assert_eq!(first.handed_over().unwrap()[0], HostLoad { host: host("a"), pending: 1 });
    drop(second);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn retries_are_due_on_time_despite_clock_differences() {
    /// The clock of a machine that is off.
    struct Off(i64);
    impl Simulation for Off {
        fn now_ms(&self) -> i64 {
            now_ms() + self.0
        }
        fn instant(&self) -> Instant {
            Instant::now()
        }
        fn random(&self) -> u64 {
            0
        }
    }
    fn now_ms() -> i64 {
        i64::try_from(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis()).unwrap()
    }
    let server = Server::start();
    for off in [3_600_000, -3_600_000] {
        let worker = format!("off {off}");
        let guard = crawl_model::simulate(Rc::new(Off(off)));
        let first = open(&server, &worker);
        first.begin_round().unwrap();
        first.enqueue(&urls(&["https://a/1"])).unwrap();
        let out = lease(&first, "a", 1);
        assert!(first.requeue((&out[0]).into(), now_ms() + off + 60_000, 1, None).unwrap());
        assert_eq!(first.bring_forward(now_ms() + off + 90_000, now_ms() + off).unwrap(), 0);
        die(first);
        drop(guard);
        expire(&server, &worker);
        let second = open(&server, "second");
        let wait = second.next_due().unwrap().unwrap() - now_ms();
        assert!((50_000..=62_000).contains(&wait), "{off}: {wait}");
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn url_keeps_its_referrer_on_any_worker() {
    let (server, a) = begun("a");
    a.enqueue(&urls(&["https://a/1"])).unwrap();
    let b = open(&server, "b");
    b.enqueue(&urls(&["https://b/1"])).unwrap();
    let page = lease(&b, "b", 1)[0].id;
    b.enqueue_found_on(&urls(&["https://b/2", "https://a/2", "https://a/1"]), page).unwrap();
    let redirect = NewUrl { discovery: Discovery::Redirect, ..new_url("https://a/3") };
    let source = lease(&b, "b", 1)[0].id;
    b.enqueue_found_on(&[redirect], source).unwrap();
    ready(&a);
    let found_on = |url: &str| a.found_on(UrlKey::of(url)).unwrap();
    for named in ["https://a/2", "https://b/2", "https://a/3"] {
        assert_eq!(found_on(named).as_deref(), Some("https://b/1"), "{named}");
    }
    assert_eq!(
        (found_on("https://a/1"), found_on("https://b/1"), found_on("https://c/1")),
        (None, None, None)
    );
    // a later round keeps the page unless it learns another one
    a.begin_round().unwrap();
    a.enqueue(&urls(&["https://a/2"])).unwrap();
    assert_eq!(found_on("https://a/2").as_deref(), Some("https://b/1"));
}

#[test]
#[ignore = "needs PostgreSQL"]
fn workers_take_turns_at_an_address() {
    let server = Server::start();
    let (first, second) = (open(&server, "first"), open(&server, "second"));
    let (here, there) = (IpAddr::from([192, 0, 2, 1]), "2001:db8::1".parse().unwrap());
    let turn = |store: &PgStore, address| store.take_turn(address, Duration::from_secs(100)).unwrap();
    assert_eq!(turn(&first, here), Duration::ZERO);
    let waits = [turn(&second, here), turn(&first, here), turn(&second, here)].map(|wait| wait.as_secs());
    assert!(
        waits.iter().zip([100, 200, 300]).all(|(wait, most)| (most - 9..=most).contains(wait)),
        "{waits:?}"
    );
    assert_eq!(turn(&second, there), Duration::ZERO, "another address");
    server.client().execute("UPDATE crawl_c.addresses SET next_at = now() - interval '1 h'", &[]).unwrap();
    assert_eq!(turn(&second, here), Duration::ZERO, "a pause that is over");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn pauses_and_delays_of_a_host_apply_to_the_next_worker() {
    let (server, first) = begun("first");
    first
        .enqueue(&urls(&["https://a/1", "https://a/2", "https://b/1", "https://b/2", "https://c/1"]))
        .unwrap();
    lease(&first, "b", 1);
    first
        .pause_hosts(&[(host("a"), Duration::from_secs(600)), (host("unknown"), Duration::from_secs(9))])
        .unwrap();
    first.note_pause(&host("b"), Duration::from_secs(300)).unwrap();
    die(first);
    expire(&server, "first");
    assert_eq!(ready(&open(&server, "second")), ["c"], "after the death of the worker");
    // a process of the same worker knows the rest of a, and gives b back after its lease
    let first = open(&server, "first");
    assert_eq!(ready(&first), ["a", "b", "c"]);
    assert_eq!(first.resumed_pauses().unwrap(), [(host("b"), Duration::from_secs(300))]);
    first.release().unwrap();
    assert_eq!(ready(&open(&server, "third")), ["c"], "after it was given back");
    let rest = |name: &str| -> f64 {
        let select = "SELECT extract(epoch FROM not_before - clock_timestamp())::float8 FROM crawl_c.hosts WHERE name = $1";
        server.client().query_one(select, &[&name]).unwrap().get(0)
    };
    assert!(
        (590.0..600.0).contains(&rest("a")) && (290.0..300.0).contains(&rest("b")),
        "{} {}",
        rest("a"),
        rest("b")
    );
}

#[test]
#[ignore = "needs PostgreSQL"]
fn workers_share_the_page_limit() {
    let (server, first) = begun("first");
    first.enqueue(&urls(&["https://a/1", "https://a/2", "https://a/3"])).unwrap();
    let second = open(&server, "second");
    let take = |store: &PgStore, used: u64| store.take_quota(Quota::Records, 10, used).unwrap();
    let (mut a, mut b) = (take(&first, 0), take(&second, 0));
    assert!(a > 0 && b > 0 && a + b < 10, "blocks leave something for others: {a} {b}");
    assert_eq!(take(&first, 0), a, "nothing more before it is used");
    for _ in 0..20 {
        (a, b) = (take(&first, a), take(&second, b));
    }
    assert_eq!(a + b, 10);
    // what a dead worker has not settled is free once its hosts are
    first.settle(&records(&lease(&first, "a", 1)), &[]).unwrap();
    die(first);
    expire(&server, "first");
    assert_eq!(take(&second, b), b, "its lease has ended, and it has its hosts still");
    ready(&second);
    for _ in 0..20 {
        b = take(&second, b);
    }
    assert_eq!(b, 9);
    assert!(second.run_age().unwrap() > Duration::ZERO);
    let first = open(&server, "first");
    assert_eq!(take(&first, 0), 0, "a new process of the first worker belongs to the run");
    drop((first, second));
    let third = open(&server, "third");
    assert!(take(&third, 0) > 0, "a run begins when no other worker is there");
}
