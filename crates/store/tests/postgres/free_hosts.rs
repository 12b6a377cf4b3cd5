//! Search for free hosts: pauses, links that wait, upgrades at the same time.

use crate::*;
use crawl_model::SUFFIX_LIST;
use std::thread;

fn number(server: &Server, query: &str) -> i64 {
    server.client().query_one(query, &[]).unwrap().get(0)
}

#[test]
#[ignore = "needs PostgreSQL"]
fn hosts_with_links_that_wait_count_once_in_their_domain() {
    let (clock, _guard) = Clock::start();
    let server = Server::start();
    let first = open(&server, "first");
    first.begin_round().unwrap();
    let own: Vec<NewUrl> = (0..5).map(|n| new_url(&format!("https://h{n}.d0.org/"))).collect();
    first.enqueue(&own).unwrap();
    first.enqueue(&urls(&["https://h0.d1.org/"])).unwrap();
    // hosts of which all is leased stay
    (0..5).for_each(|n| assert_eq!(lease(&first, &format!("h{n}.d0.org"), 1).len(), 1));
    let second = open(&server, "second");
    for _ in 0..20 {
        clock.pass(1);
        ready(&first);
        ready(&second);
    }
    assert_eq!(ready(&second), ["h0.d1.org"]);
    server
        .client()
        .batch_execute(
            "SET search_path TO crawl_c; \
             INSERT INTO hosts (name, domain, active, round) SELECT 'h' || n || '.d2.org', 2, true, 1 FROM generate_series(1, 4) n; \
             INSERT INTO inbox (host, round, depth, discovery, again, key, url) \
             SELECT id, 1, 0, 0, false, gen_random_uuid(), 'https://' || name || '/' FROM hosts WHERE domain = 2",
        )
        .unwrap();
    // ten hosts are five for each: the second worker has room for the whole domain
    clock.pass(16);
    ready(&second);
    let taken = "SELECT count(*) FROM crawl_c.hosts h JOIN crawl_c.workers w ON w.id = h.owner \
                 WHERE h.domain = 2 AND w.name = 'second'";
    assert_eq!(number(&server, taken), 4);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn host_search_skips_paused_hosts() {
    let (clock, _guard) = Clock::start();
    let server = Server::start();
    let (first, second) = (open(&server, "first"), open(&server, "second"));
    first.begin_round().unwrap();
    second.begin_round().unwrap();
    server
        .client()
        .batch_execute(
            "INSERT INTO crawl_c.hosts (name, domain, active, round, not_before) \
             SELECT 'h' || n, n, true, 1, clock_timestamp() + interval '1 h' FROM generate_series(1, 20000) n; \
             INSERT INTO crawl_c.hosts (name, domain, active, round) VALUES ('free', 30000, true, 1)",
        )
        .unwrap();
    for _ in 0..10 {
        clock.pass(1);
        ready(&first);
        ready(&second);
    }
    let owned = "SELECT count(*) FROM crawl_c.hosts WHERE owner IS NOT NULL";
    assert_eq!(number(&server, owned), 1, "the free host");
    server
        .client()
        .batch_execute(
            "UPDATE crawl_c.hosts SET not_before = clock_timestamp() - interval '1 s' WHERE name IN ('h1', 'h2')",
        )
        .unwrap();
    clock.pass(1);
    ready(&first);
    assert_eq!(number(&server, owned), 3, "two hosts have rested");
    // the counts of a session are complete after its end
    drop((first, second));
    let looks =
        "SELECT sum(idx_scan)::int8 FROM pg_stat_user_indexes WHERE indexrelname = 'hosts_free_domain'";
    let until = Instant::now() + Duration::from_secs(20);
    while number(&server, looks) < 20 && Instant::now() < until {
        thread::yield_now();
    }
    let read =
        "SELECT sum(idx_tup_read)::int8 FROM pg_stat_user_indexes WHERE indexrelname = 'hosts_free_domain'";
    assert!((1..2_000).contains(&number(&server, read)), "{} rows read", number(&server, read));
}

#[test]
#[ignore = "needs PostgreSQL"]
fn paused_hosts_of_a_dead_worker_become_free_and_stay_paused() {
    let (clock, _guard) = Clock::start();
    let server = Server::start();
    let first = open(&server, "first");
    first.begin_round().unwrap();
    first.enqueue(&urls(&["https://a/1", "https://b/1"])).unwrap();
    first.pause_hosts(&[(host("b"), Duration::from_secs(600))]).unwrap();
    die(first);
    expire(&server, "first");
    let second = open(&server, "second");
    clock.pass(1);
    assert_eq!(ready(&second), ["a"]);
    let owned = "SELECT count(*) FROM crawl_c.hosts WHERE name = 'b' AND owner IS NOT NULL";
    assert_eq!(number(&server, owned), 1, "the worker may restart");
    server
        .client()
        .batch_execute("UPDATE crawl_c.workers SET lease_until = clock_timestamp() - interval '11 min' WHERE name = 'first'")
        .unwrap();
    clock.pass(1);
    ready(&second);
    let free = "SELECT count(*) FROM crawl_c.hosts WHERE name = 'b' AND owner IS NULL AND not_before > clock_timestamp() \
                AND epoch > 1";
    assert_eq!(number(&server, free), 1);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn worker_that_releases_its_hosts_does_not_block_an_upgrade() {
    let server = Server::start();
    let worker = open(&server, "w");
    worker.begin_round().unwrap();
    worker.enqueue(&urls(&["https://a/1"])).unwrap();
    let mut client = server.client();
    let mut upgrade = client.transaction().unwrap();
    upgrade.batch_execute("LOCK TABLE crawl_c.workers IN SHARE ROW EXCLUSIVE MODE").unwrap();
    let releases = thread::Builder::new().spawn(move || worker.release()).unwrap();
    while number(&server, "SELECT count(*) FROM pg_locks WHERE NOT granted") == 0 {
        thread::yield_now();
    }
    let void = "UPDATE crawl_c.hosts SET owner = NULL, epoch = epoch + 1";
    assert_eq!(upgrade.execute(void, &[]).unwrap(), 1);
    upgrade.commit().unwrap();
    releases.join().unwrap().unwrap();
}

#[test]
#[ignore = "needs PostgreSQL"]
fn new_round_recomputes_domains_for_a_newer_suffix_list() {
    let server = Server::start();
    let worker = open(&server, "w");
    worker.begin_round().unwrap();
    worker.enqueue(&urls(&["https://a.example.org/1", "https://b.example.org/1"])).unwrap();
    let spoil = |list: i64| {
        let spoil =
            format!("UPDATE crawl_c.hosts SET domain = id; UPDATE crawl_c.crawls SET suffixes = {list}");
        server.client().batch_execute(&spoil).unwrap();
    };
    let domains = || number(&server, "SELECT count(DISTINCT domain) FROM crawl_c.hosts");
    spoil(SUFFIX_LIST);
    worker.begin_round().unwrap();
    assert_eq!(domains(), 2, "the list is the same");
    spoil(1);
    worker.begin_round().unwrap();
    assert_eq!(domains(), 1);
    assert_eq!(number(&server, "SELECT suffixes FROM crawl_c.crawls"), SUFFIX_LIST);
}
