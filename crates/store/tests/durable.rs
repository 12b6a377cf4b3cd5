//! Guarantees of SQLite alone: a store that is reopened, killed, damaged, full, or of another version.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use crawl_model::{
    Discovery, Enqueued, Frontier, HostKey, Lane, LeaseRef, NewUrl, Outcome, OutputMark, PageHistory,
    RunStore, Settlement, StoreError, UrlKey,
};
use crawl_store::{SqliteStore, StoreOptions};
use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

const DATABASE: &str = "crawl.sqlite";

fn url(n: usize) -> NewUrl {
    let url = format!("https://h{}.example/{n}", n % 3);
    NewUrl {
        key: UrlKey::of(&url),
        host: HostKey::from_stored(format!("h{}.example", n % 3)),
        url,
        depth: 0,
        discovery: Discovery::Link,
        redirects: Vec::new(),
        sitemap_lastmod: None,
    }
}

fn lease_one(store: &SqliteStore) -> LeaseRef {
    let host = store.hosts_with_pending(Lane::Plain, 0, 1).unwrap().remove(0).host;
    (&store.lease(&host, Lane::Plain, 1, "w", 0, 100).unwrap()[0]).into()
}

fn settle(store: &SqliteStore, lease: LeaseRef) {
    let ended = Settlement { lease, outcome: Outcome::Record, history: PageHistory::default() };
    assert_eq!(store.settle(&[ended], &[OutputMark { name: "o".into(), offset: 1 }]).unwrap(), 0);
}

fn size(dir: &Path, file: &str) -> u64 {
    fs::metadata(dir.join(file)).map_or(0, |found| found.len())
}

/// All in-memory state that can be queried; turns and first leases restart with the process.
fn observable_state(store: &SqliteStore) -> String {
    let hosts = store.hosts_with_pending(Lane::Plain, 0, 99).unwrap();
    let mut hosts: Vec<_> = hosts.into_iter().map(|found| (found.host, found.pending)).collect();
    hosts.sort();
    let (held, due) = (store.hosts_with_held().unwrap(), store.next_due().unwrap());
    format!("{:?} {hosts:?} {held:?} {due:?} {:?}", store.counts().unwrap(), store.round().unwrap())
}

/// URLs that were scheduled while the clock was in 2100 are still fetched.
#[test]
fn urls_scheduled_too_late_are_rescheduled() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path()).unwrap();
    store.begin_round().unwrap();
    store.enqueue(&[url(0), url(3)]).unwrap();
    let in_2100 = 4_102_444_800_000;
    for due in [in_2100, 50] {
        let lease = lease_one(&store);
        store.requeue(lease, due, 1, None).unwrap();
    }
    assert_eq!(store.bring_forward(1_000, 1_000).unwrap(), 1);
    assert_eq!(store.next_due().unwrap(), Some(50));
    let ready =
        |now| store.hosts_with_pending(Lane::Plain, now, 9).unwrap().iter().map(|h| h.pending).sum::<usize>();
    assert_eq!([ready(49), ready(50), ready(1_000)], [0, 1, 2]);
    drop(store);
    assert_eq!(SqliteStore::open(dir.path()).unwrap().bring_forward(1_000, 1_000).unwrap(), 0);
}

#[test]
fn reopened_store_has_the_same_state() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(dir.path()).unwrap();
    store.begin_round().unwrap();
    store.set_project("drives", Some("catalogue")).unwrap();
    let mut tokens = Vec::new();
    for step in 0..60 {
        store.enqueue(&[url(step), url(step + 100)]).unwrap();
        let lease = lease_one(&store);
        tokens.push(lease.token);
        match step % 5 {
            0 => settle(&store, lease),
            1 => assert!(store.hold(lease, &HostKey::from_stored("h1.example"), b"page").unwrap().is_some()),
            2 => assert!(store.requeue(lease, 1_000 + step as i64, 1, None).unwrap()),
            3 => {}
            _ => assert!(store.expire_leases(100).unwrap() > 0),
        }
        if step % 7 == 0 {
            let before = observable_state(&store);
            drop(store);
            store = SqliteStore::open(dir.path()).unwrap();
            assert_eq!(observable_state(&store), before, "step {step}");
        }
    }
    assert!(tokens.is_sorted_by(|a, b| a < b), "tokens grow from one start to the next");
    assert_eq!(store.enqueue(&[url(0), url(30)]).unwrap(), Enqueued { known: 2, ..Enqueued::default() });
    let host = HostKey::from_stored("h0.example");
    let request = store.lease(&host, Lane::Plain, 1, "w", 0, 100).unwrap().remove(0);
    assert_eq!((&*request.project, request.source_group.as_deref()), ("drives", Some("catalogue")));
}

#[test]
fn noted_pauses_outlive_the_process_until_the_next_round() {
    let dir = tempfile::tempdir().unwrap();
    let noted = |store: &SqliteStore| {
        let mut noted = store.resumed_pauses().unwrap();
        noted.sort();
        noted
    };
    let (slow, host) = (Duration::from_millis(30_500), |n: usize| url(n).host);
    let store = SqliteStore::open(dir.path()).unwrap();
    store.begin_round().unwrap();
    for (n, pause) in [(0, slow / 2), (1, slow), (0, slow)] {
        store.note_pause(&host(n), pause).unwrap();
    }
    drop(store);
    let store = SqliteStore::open(dir.path()).unwrap();
    assert_eq!(noted(&store), [(host(0), slow), (host(1), slow)]);
    store.begin_recrawl(true).unwrap();
    assert_eq!(noted(&store), []);
    store.note_pause(&host(1), slow).unwrap();
    assert_eq!(noted(&store), [(host(1), slow)]);
}

#[test]
fn read_only_store_cannot_write() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(SqliteStore::open_read_only(dir.path()), Err(StoreError::Other(_))));
    let store = SqliteStore::open(dir.path()).unwrap();
    store.enqueue(&[url(1), url(2)]).unwrap();
    settle(&store, lease_one(&store));
    let reader = SqliteStore::open_read_only(dir.path()).unwrap();
    assert_eq!(reader.counts().unwrap(), store.counts().unwrap());
    assert!(matches!(reader.enqueue(&[url(3)]), Err(StoreError::Full(_))));
    assert_eq!(reader.counts().unwrap().records, 1, "an attempt to write does not break it");
    store.enqueue(&[url(3)]).unwrap();
}

/// Child of the next test: every page links to the next one, and is settled after that link was enqueued.
#[test]
fn child_process_of_the_kill_test() {
    let Some(dir) = std::env::var_os("CRAWL_STORE_KILLED") else { return };
    let store = SqliteStore::open(Path::new(&dir)).unwrap();
    store.expire_leases(i64::MAX).unwrap();
    for _ in 0..100_000 {
        let host = store.hosts_with_pending(Lane::Plain, 0, 1).unwrap().remove(0).host;
        let request = store.lease(&host, Lane::Plain, 1, "w", 0, 100).unwrap().remove(0);
        let n: usize = request.url.path()[1..].parse().unwrap();
        store.enqueue(&[url(n + 1)]).unwrap();
        settle(&store, (&request).into());
        println!("settled {n}");
    }
}

#[test]
fn settled_pages_and_earlier_changes_survive_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path()).unwrap();
    store.enqueue(&[url(0)]).unwrap();
    drop(store);
    for run in 1..=4 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child_process_of_the_kill_test", "--nocapture"])
            .env("CRAWL_STORE_KILLED", dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let settled =
            lines.map_while(Result::ok).filter_map(|line| line.strip_prefix("settled ")?.parse().ok());
        let last: usize = settled.take(150 * run).last().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let store = SqliteStore::open(dir.path()).unwrap();
        let counts = store.counts().unwrap();
        assert!(counts.records > last as u64, "{counts:?} after {last} was settled");
        assert_eq!(counts.pending + counts.leased, 1, "the next page of the last one settled, and no other");
        let next = usize::try_from(counts.records).unwrap();
        let known: Vec<_> = (0..=next).map(url).collect();
        assert_eq!(store.enqueue(&known).unwrap().new, 0);
        assert_eq!(store.output_mark("o").unwrap(), Some(1));
    }
}

#[test]
fn known_urls_do_not_grow_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path()).unwrap();
    let urls: Vec<_> = (0..2_000).map(url).collect();
    store.enqueue(&urls).unwrap();
    store.commit().unwrap();
    let log = format!("{DATABASE}-wal");
    let before = size(dir.path(), &log);
    assert!(before > 0);
    for _ in 0..20 {
        assert_eq!(store.enqueue(&urls).unwrap().new, 0);
        store.commit().unwrap();
    }
    assert_eq!(size(dir.path(), &log), before);
    // nor without the cache
    drop(store);
    let store = SqliteStore::open(dir.path()).unwrap();
    let before = size(dir.path(), &log);
    assert_eq!(store.enqueue(&urls).unwrap().new, 0);
    store.commit().unwrap();
    assert_eq!(size(dir.path(), &log), before);
}

#[test]
fn write_ahead_log_stays_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path()).unwrap();
    let page = vec![b'x'; 64 * 1024];
    for n in 0..1_000 {
        store.enqueue(&[url(n)]).unwrap();
        let lease = lease_one(&store);
        store.hold(lease, &url(n).host, &page).unwrap();
        settle(&store, lease);
    }
    // 64 MB went through it; the space in the database is reused
    let (log, database) = (size(dir.path(), &format!("{DATABASE}-wal")), size(dir.path(), DATABASE));
    assert!(log < 20 << 20, "{log}");
    assert!(database < 4 << 20, "{database}");
}

#[test]
fn new_round_does_not_rewrite_known_urls() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path()).unwrap();
    store.begin_round().unwrap();
    let urls: Vec<_> = (0..20_000).map(url).collect();
    store.enqueue(&urls).unwrap();
    drop(store);
    let database = size(dir.path(), DATABASE);
    let store = SqliteStore::open(dir.path()).unwrap();
    store.begin_round().unwrap();
    let log = size(dir.path(), &format!("{DATABASE}-wal"));
    assert!(database > 1 << 20 && log < database / 8, "{log} of {database}");
}

#[test]
fn other_version_differs_from_damage() {
    let dir = tempfile::tempdir().unwrap();
    drop(SqliteStore::open(dir.path()).unwrap());
    let path = dir.path().join(DATABASE);
    let mut bytes = fs::read(&path).unwrap();
    // user_version: four bytes, big endian, at 60 (SQLite's file format, §1.3)
    bytes[60..64].copy_from_slice(&77_u32.to_be_bytes());
    fs::write(&path, &bytes).unwrap();
    let error = SqliteStore::open(dir.path()).err().unwrap();
    assert!(matches!(error, StoreError::Version { found: 77, .. }), "{error}");
    fs::write(&path, b"certainly no database, but long enough to be looked at as one").unwrap();
    let error = SqliteStore::open(dir.path()).err().unwrap();
    assert!(matches!(error, StoreError::Corrupt(_)), "{error}");
}

#[test]
fn damage_is_found_while_reading() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path()).unwrap();
    store.enqueue(&(0..5_000).map(url).collect::<Vec<_>>()).unwrap();
    drop(store);
    let path = dir.path().join(DATABASE);
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 8..bytes.len() / 4 * 3;
    bytes[middle].fill(0xa5);
    fs::write(&path, &bytes).unwrap();
    let found = SqliteStore::open(dir.path()).and_then(|store| {
        let urls: Vec<_> = (0..5_000).map(url).collect();
        store.enqueue(&urls).map(drop)
    });
    assert!(matches!(found, Err(StoreError::Corrupt(_))), "{found:?}");
}

#[test]
fn a_directory_that_cannot_be_written_is_a_storage_error() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(SqliteStore::open(&file), Err(StoreError::Full(_))));
    let taken = dir.path().join("state");
    fs::create_dir_all(taken.join(DATABASE)).unwrap();
    assert!(matches!(SqliteStore::open(&taken), Err(StoreError::Full(_))));
}

#[test]
fn concurrent_writer_gets_busy_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (SqliteStore::open(dir.path()).unwrap(), SqliteStore::open(dir.path()).unwrap());
    a.enqueue(&[url(1)]).unwrap();
    // `a` has a transaction open; `b` waits for it and then gives up
    assert!(matches!(b.put("name", "b"), Err(StoreError::Busy(_))));
    a.put("name", "a").unwrap();
    b.put("name", "b").unwrap();
    assert_eq!(a.get("name").unwrap().as_deref(), Some("b"));
}

#[test]
fn remove_deletes_all_state_files() {
    let dir = tempfile::tempdir().unwrap();
    SqliteStore::remove(dir.path()).unwrap();
    let store =
        SqliteStore::open_with(dir.path(), StoreOptions { power_safe: true, cache_kib: 512 }).unwrap();
    store.put("name", "value").unwrap();
    drop(store);
    SqliteStore::remove(dir.path()).unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    assert_eq!(SqliteStore::open(dir.path()).unwrap().get("name").unwrap(), None);
}
