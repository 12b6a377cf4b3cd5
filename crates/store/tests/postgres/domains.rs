//! Hosts of one registrable domain go to one worker where possible.

use crate::*;
use crawl_store::Database;
use postgres::error::SqlState;
use std::collections::{BTreeMap, BTreeSet};

/// URLs of so many hosts of each of so many domains.
fn hosts_of_domains(domains: usize, hosts: usize) -> Vec<NewUrl> {
    let of_domain = |domain| (0..hosts).map(move |host| new_url(&format!("https://h{host}.d{domain}.org/")));
    (0..domains).flat_map(of_domain).collect()
}

fn domain(host: &str) -> &str {
    host.split_once('.').unwrap().1
}

/// Number of hosts of each domain that each worker has.
fn shares(workers: &[&PgStore]) -> BTreeMap<String, Vec<usize>> {
    let mut shares: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (n, worker) in workers.iter().enumerate() {
        for load in ready(worker) {
            shares.entry(domain(&load).to_owned()).or_insert_with(|| vec![0; workers.len()])[n] += 1;
        }
    }
    shares
}

/// Lets workers look for hosts for so many seconds.
fn search_hosts(clock: &Clock, workers: &[&PgStore], seconds: u64) {
    for _ in 0..seconds {
        clock.pass(1);
        workers.iter().for_each(|worker| _ = ready(worker));
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn hosts_of_a_domain_go_to_one_worker() {
    let (clock, _guard) = Clock::start();
    let (server, first) = begun("first");
    first.enqueue(&hosts_of_domains(6, 5)).unwrap();
    // hosts with leased and with held pages move too
    let out = lease(&first, "h0.d0.org", 1);
    first.hold((&out[0]).into(), &host("h0.d0.org"), b"page").unwrap().unwrap();
    let out = lease(&first, "h1.d1.org", 1);
    first.requeue((&out[0]).into(), 0, 1, None).unwrap();
    let second = open(&server, "second");
    search_hosts(&clock, &[&first, &second], 40);
    let of_two = shares(&[&first, &second]);
    assert_eq!(of_two.len(), 6);
    assert!(of_two.values().all(|hosts| hosts.contains(&0)), "{of_two:?}");
    let own = |worker: usize| of_two.values().filter(|hosts| hosts[worker] > 0).count();
    assert_eq!((own(0), own(1)), (3, 3), "{of_two:?}");

    let third = open(&server, "third");
    search_hosts(&clock, &[&first, &second, &third], 40);
    let of_three = shares(&[&first, &second, &third]);
    let workers = |hosts: &Vec<usize>| hosts.iter().filter(|hosts| **hosts > 0).count();
    assert!(of_three.values().all(|hosts| workers(hosts) == 1), "{of_three:?}");
    let has_two = |worker: usize| of_three.values().filter(|hosts| hosts[worker] > 0).count() == 2;
    assert!((0..3).all(has_two), "{of_three:?}");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_new_host_goes_to_the_worker_of_its_domain() {
    let (clock, _guard) = Clock::start();
    let server = Server::start();
    let (first, second) = (open(&server, "first"), open(&server, "second"));
    first.begin_round().unwrap();
    second.begin_round().unwrap();
    first.enqueue(&hosts_of_domains(8, 2)).unwrap();
    search_hosts(&clock, &[&first, &second], 40);
    let before = shares(&[&first, &second]);
    assert!(before.values().all(|hosts| hosts.contains(&0) && hosts.contains(&2)), "{before:?}");
    let links: Vec<NewUrl> = (0..8).map(|n| new_url(&format!("https://new.d{n}.org/"))).collect();
    second.enqueue(&links).unwrap();
    search_hosts(&clock, &[&first, &second], 40);
    let after = shares(&[&first, &second]);
    let expected: BTreeMap<_, _> = before
        .into_iter()
        .map(|(domain, hosts)| (domain, hosts.iter().map(|hosts| hosts / 2 * 3).collect::<Vec<_>>()))
        .collect();
    assert_eq!(after, expected);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_domain_larger_than_a_share_is_divided() {
    let (clock, _guard) = Clock::start();
    let (server, first) = begun("first");
    first.enqueue(&hosts_of_domains(1, 120)).unwrap();
    first.enqueue(&[new_url("https://h0.other.org/")]).unwrap();
    let second = open(&server, "second");
    search_hosts(&clock, &[&first, &second], 20);
    let shares = shares(&[&first, &second]);
    let hosts: Vec<usize> = (0..2).map(|worker| shares.values().map(|hosts| hosts[worker]).sum()).collect();
    assert_eq!(hosts, [61, 60], "{shares:?}");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn free_hosts_are_first_offered_to_their_domains_worker() {
    let (clock, _guard) = Clock::start();
    let server = Server::start();
    let (first, second) = (open(&server, "first"), open(&server, "second"));
    first.begin_round().unwrap();
    second.begin_round().unwrap();
    first.enqueue(&hosts_of_domains(2, 3)).unwrap();
    search_hosts(&clock, &[&first, &second], 40);
    let names: BTreeSet<String> = ready(&second).into_iter().collect();
    let others: BTreeSet<String> = ready(&first).into_iter().collect();
    assert_eq!((names.len(), others.len()), (3, 3), "{names:?} {others:?}");
    let of_first = domain(others.first().unwrap());
    let free = "INSERT INTO crawl_c.hosts (name, domain, active, round) \
                SELECT 'free' || n || '.' || $1, (SELECT domain FROM crawl_c.hosts WHERE name = 'h0.' || $1), true, 1 \
                FROM generate_series(1, 4) n";
    assert_eq!(server.client().execute(free, &[&of_first]).unwrap(), 4);
    let taken = |worker: &str| {
        let count = "SELECT count(*) FROM crawl_c.hosts h JOIN crawl_c.workers w ON w.id = h.owner \
                     WHERE h.name LIKE 'free%' AND w.name = $1";
        server.client().query_one(count, &[&worker]).unwrap().get::<_, i64>(0)
    };
    // the renewal counts the free hosts: the share grows to five
    clock.pass(16);
    ready(&second);
    search_hosts(&clock, &[&second], 4);
    assert_eq!(taken("second"), 0, "the first worker has room");
    search_hosts(&clock, &[&second], 3);
    assert!(taken("second") > 0, "the first worker does not take them");
    search_hosts(&clock, &[&first], 20);
    assert_eq!(taken("first") + taken("second"), 4);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn an_upgrade_fills_the_domains_of_hosts() {
    let server = Server::start();
    let migrations = [
        include_str!("../../src/postgres/migrations/0001_frontier.sql"),
        include_str!("../../src/postgres/migrations/0002_parts.sql"),
        include_str!("../../src/postgres/migrations/0003_shares.sql"),
        include_str!("../../src/postgres/migrations/0004_quotas.sql"),
        include_str!("../../src/postgres/migrations/0005_found_on.sql"),
        include_str!("../../src/postgres/migrations/0006_addresses.sql"),
        include_str!("../../src/postgres/migrations/0007_hashes.sql"),
    ]
    .join(";");
    let mut client = server.client();
    client
        .batch_execute(&format!(
            "CREATE SCHEMA crawl_c; SET search_path TO crawl_c; CREATE TABLE schema_version (version int NOT NULL); \
             INSERT INTO schema_version VALUES (7); {migrations}; INSERT INTO crawls (name) VALUES ('c'); \
             INSERT INTO hosts (name) SELECT 'h' || n || '.d' || n % 5000 || '.org' FROM generate_series(1, 25000) n"
        ))
        .unwrap();
    assert_eq!(server.url().upgrade("c").unwrap(), (7, 9));
    let number = |query: &str| server.client().query_one(query, &[]).unwrap().get::<_, i64>(0);
    assert_eq!(number("SELECT count(DISTINCT domain) FROM crawl_c.hosts"), 5_000);
    let store = open(&server, "w");
    store.begin_round().unwrap();
    store.enqueue(&urls(&["https://new.d1.org/", "https://new.d1.internal/"])).unwrap();
    let same = "SELECT count(DISTINCT domain) FROM crawl_c.hosts WHERE name LIKE '%.d1.org'";
    assert_eq!(number(same), 1);
    assert_eq!(number("SELECT count(DISTINCT domain) FROM crawl_c.hosts"), 5_001);
    let earlier = client.execute("INSERT INTO hosts (name) VALUES ('a') ON CONFLICT DO NOTHING", &[]);
    let refused = earlier.unwrap_err();
    assert_eq!(
        refused.code(),
        Some(&SqlState::NOT_NULL_VIOLATION),
        "an earlier program adds no host: {refused}"
    );
}
