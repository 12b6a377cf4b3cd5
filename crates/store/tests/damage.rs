//! Damaged databases: detection on opening, checks and repair.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, its helpers too")]

use crawl_model::{
    CachedRobots, Discovery, DomainStore, Frontier, HostKey, Lane, LeaseRef, NewUrl, Origin, Outcome,
    OutputMark, PageHistory, RunStore, Settlement, StoreError, Strategy, UrlKey,
};
use crawl_store::{CheckReport, SqliteStore};
use rusqlite::Connection;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

const DATABASE: &str = "crawl.sqlite";
const URLS: usize = 1_000;
const HELD: usize = 60;
const RECORDS: usize = 400;

fn url(n: usize) -> String {
    format!("https://h{}.example/a/path/of/some/length/{n}", n % 7)
}

fn new_url(n: usize) -> NewUrl {
    NewUrl {
        key: UrlKey::of(&url(n)),
        host: HostKey::from_stored(format!("h{}.example", n % 7)),
        url: url(n),
        depth: 0,
        discovery: Discovery::Link,
        redirects: Vec::new(),
        sitemap_lastmod: None,
    }
}

/// A state of an unfinished round: records, held pages, leases and pending URLs.
fn made(dir: &Path) {
    let store = SqliteStore::open(dir).unwrap();
    store.begin_round().unwrap();
    store.enqueue(&(0..URLS).map(new_url).collect::<Vec<_>>()).unwrap();
    let mut leased: Vec<(LeaseRef, HostKey)> = Vec::new();
    for n in 0..7 {
        let host = HostKey::from_stored(format!("h{n}.example"));
        let requests = store.lease(&host, Lane::Plain, 80, "w", 0, 1_000).unwrap();
        leased.extend(requests.iter().map(|request| (request.into(), host.clone())));
        store.save_host(&host, format!("the state of {host}").repeat(200).as_bytes()).unwrap();
    }
    let page = serde_json::json!({ "text": "words of a held page ".repeat(250) }).to_string();
    for (lease, host) in &leased[..HELD] {
        store.hold(*lease, host, page.as_bytes()).unwrap();
    }
    let ended: Vec<Settlement> = leased[HELD..HELD + RECORDS]
        .iter()
        .map(|(lease, _)| Settlement {
            lease: *lease,
            outcome: Outcome::Record,
            history: PageHistory::default(),
        })
        .collect();
    store.settle(&ended, &[OutputMark { name: "/tmp/out.jsonl".into(), offset: 7 }]).unwrap();
    store.put("retry_after", "{\"h1.example\":5}").unwrap();
}

/// Opens a database to break it.
fn sqlite(dir: &Path) -> Connection {
    Connection::open(dir.join(DATABASE)).unwrap()
}

fn corrupt(dir: &Path) -> String {
    match SqliteStore::open(dir) {
        Err(StoreError::Corrupt(words)) => words,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("the damage is not noticed"),
    }
}

fn intact(dir: &Path) -> CheckReport {
    let report = SqliteStore::check(dir).unwrap();
    assert_eq!(report.findings, Vec::<String>::new());
    report
}

#[test]
fn intact_state_passes_the_check() {
    let dir = tempfile::tempdir().unwrap();
    made(dir.path());
    let before = fs::read(dir.path().join(DATABASE)).unwrap();
    let report = intact(dir.path());
    assert!(report.looked_at.contains(&("rows of urls".into(), URLS as u64)), "{:?}", report.looked_at);
    assert!(report.looked_at.contains(&("rows of held".into(), HELD as u64)), "{:?}", report.looked_at);
    assert_eq!(fs::read(dir.path().join(DATABASE)).unwrap(), before, "nothing is changed");
    SqliteStore::open(dir.path()).unwrap();
    intact(dir.path());
}

#[test]
fn inconsistent_tables_are_detected() {
    let breaks = [
        ("DELETE FROM hosts WHERE id = 1", "a URL without its host"),
        ("UPDATE urls SET url = url || 'x' WHERE id = 5", "does not fit its key"),
        ("DELETE FROM queue WHERE id = (SELECT min(id) FROM queue)", "neither in the frontier nor settled"),
        ("INSERT INTO waiting SELECT 1, id, host FROM held LIMIT 1", "two places"),
        ("UPDATE numbers SET value = 3 WHERE name = 'records'", "records: 3 counted"),
        ("UPDATE numbers SET value = 0 WHERE name = 'token'", "token"),
        (
            "UPDATE held SET page = CAST('{\"text\":1}' AS BLOB) WHERE id IN (SELECT min(id) FROM held)",
            "row of held",
        ),
        ("UPDATE host_states SET state = x'00' WHERE host = 2", "row of host_states"),
        ("UPDATE settings SET value = '{half' WHERE name = 'retry_after'", "retry_after"),
    ];
    for (statement, expected) in breaks {
        let dir = tempfile::tempdir().unwrap();
        made(dir.path());
        assert!(sqlite(dir.path()).execute(statement, []).unwrap() > 0, "{statement}");
        let findings = SqliteStore::check(dir.path()).unwrap().findings;
        assert!(findings.iter().any(|line| line.contains(expected)), "{statement}: {findings:?}");
        let repaired = SqliteStore::repair(dir.path()).unwrap();
        assert!(repaired.damaged.exists());
        intact(dir.path());
    }
}

#[test]
fn changed_byte_in_a_blob_is_detected() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path()).unwrap();
    let (host, origin) =
        (HostKey::from_stored("h0.example"), Origin::of(&"https://h0.example/".parse().unwrap()).unwrap());
    let robots = CachedRobots { status: 200, body: b"User-agent: *"[..].into(), fetched_at_ms: 1 };
    store.begin_round().unwrap();
    store.enqueue(&[new_url(0), new_url(7)]).unwrap();
    let leased = store.lease(&host, Lane::Plain, 2, "w", 0, 1_000).unwrap();
    store.hold((&leased[0]).into(), &host, b"a held page").unwrap();
    store.escalate((&leased[1]).into(), 0, Strategy::Chrome, b"a static page").unwrap();
    store.save_host(&host, b"a fingerprint").unwrap();
    store.save_unsettled(&host, Some(b"a stream")).unwrap();
    store.save_lessons(&host, b"lessons").unwrap();
    store.save_robots(&origin, &robots).unwrap();
    drop(store);
    let flip = |table: &str, blob: &str| {
        let changed = sqlite(dir.path())
            .execute(&format!("UPDATE {table} SET {blob} = x'41' || substr({blob}, 2)"), []);
        assert_eq!(changed.unwrap(), 1, "{table}");
    };
    let read = |store: &SqliteStore| {
        let held = store.held(&host, 0, 9).unwrap();
        assert_eq!(held.len(), 1, "it can be put back");
        [
            held[0].intact,
            store.partial_result(leased[1].id).unwrap().is_some(),
            store.load_host(&host).unwrap().is_some(),
            store.load_unsettled(&host).unwrap().is_some(),
            store.load_lessons(&host).unwrap().is_some(),
            store.load_robots(&origin).unwrap().is_some(),
        ]
    };
    assert_eq!(read(&SqliteStore::open(dir.path()).unwrap()), [true; 6]);
    let tables = [
        ("held", "page"),
        ("so_far", "pages"),
        ("host_states", "state"),
        ("unsettled", "state"),
        ("lessons", "lessons"),
        ("robots", "body"),
    ];
    for (n, (table, blob)) in tables.into_iter().enumerate() {
        flip(table, blob);
        let mut expected = [true; 6];
        expected[..=n].fill(false);
        assert_eq!(read(&SqliteStore::open(dir.path()).unwrap()), expected, "{table}");
    }
}

#[test]
fn url_that_does_not_match_its_key_is_not_leased() {
    let dir = tempfile::tempdir().unwrap();
    made(dir.path());
    sqlite(dir.path()).execute("UPDATE urls SET url = url || 'x'", []).unwrap();
    let store = SqliteStore::open(dir.path()).unwrap();
    let leased = store.lease(&HostKey::from_stored("h0.example"), Lane::Plain, 1, "w", 0, 1_000);
    assert!(matches!(leased, Err(StoreError::Corrupt(_))), "{leased:?}");
}

/// A pseudo-random number for a seed.
fn random(seed: u64) -> u64 {
    let mut x = seed.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^= x >> 27;
    x = x.wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Damages a file by a seed; returns a description.
fn damage(file: &Path, seed: u64) -> String {
    let mut bytes = fs::read(file).unwrap();
    let at = usize::try_from(random(seed) % bytes.len() as u64).unwrap();
    let how = match seed % 4 {
        0 => {
            bytes[at] ^= 1 << (random(seed + 1) % 8);
            "a bit"
        }
        1 => {
            let start = at / 4096 * 4096;
            bytes[start..start + 4096].fill(0);
            "a page of zeros"
        }
        2 => {
            let end = (at + 700).min(bytes.len());
            (at..end).for_each(|n| bytes[n] = random(n as u64) as u8);
            "700 bytes of noise"
        }
        _ => {
            bytes.truncate(at.max(bytes.len() / 2));
            "the end cut off"
        }
    };
    fs::write(file, bytes).unwrap();
    format!("{how} at {at} (seed {seed})")
}

fn copy(from: &Path) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        fs::copy(entry.path(), dir.path().join(entry.file_name())).unwrap();
    }
    let path = dir.path().to_owned();
    (dir, path)
}

/// Every damage is reported, and the readable rest is used.
#[test]
fn damaged_database_is_reported_and_repaired() {
    let original = tempfile::tempdir().unwrap();
    made(original.path());
    let all: BTreeSet<String> = (0..URLS).map(url).collect();
    let (mut repaired, mut lost_all) = (0, 0);
    for seed in 0..24 {
        let (_guard, dir) = copy(original.path());
        let how = damage(&dir.join(DATABASE), seed);
        let told = SqliteStore::check(&dir).map_or(true, |report| !report.findings.is_empty());
        assert!(told, "{how} is not told");
        let report = match SqliteStore::repair(&dir) {
            Ok(report) => report,
            Err(StoreError::Corrupt(_)) => {
                lost_all += 1;
                continue;
            }
            Err(error) => panic!("{how}: {error}"),
        };
        repaired += 1;
        let found = SqliteStore::check(&dir).unwrap();
        assert_eq!(found.findings, Vec::<String>::new(), "{how}");
        let store = SqliteStore::open(&dir).unwrap();
        let counts = store.counts().unwrap();
        let known = counts.pending + counts.held + counts.records;
        assert_eq!(known + report.lost_urls, URLS as u64, "{how}: {counts:?} {report:?}");
        assert_eq!(counts.leased, 0, "{how}");
        // records in the output are not fetched again
        let written: Vec<String> = all.iter().cloned().collect();
        store.adopt_written(&written).unwrap();
        assert_eq!(store.enqueue(&(0..URLS).map(new_url).collect::<Vec<_>>()).unwrap().new, 0, "{how}");
        drop(store);
        intact(&dir);
        assert!(report.damaged.exists(), "{how}");
    }
    println!("{repaired} repaired, {lost_all} without a readable list of tables");
    assert!(lost_all <= 3, "{lost_all} of 24 cannot be read at all");
}

/// A killed process leaves no checksum, so SQLite's check finds the damage.
#[test]
fn damage_without_a_checksum_is_detected_after_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    made(dir.path());
    fs::remove_file(dir.path().join("crawl.sqlite.sum")).unwrap();
    let path = dir.path().join(DATABASE);
    let root: u64 = sqlite(dir.path())
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'urls_key'", [], |row| row.get(0))
        .unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let start = usize::try_from((root - 1) * 4096).unwrap();
    bytes[start + 8..start + 4096].fill(0);
    fs::write(&path, bytes).unwrap();
    for _ in 0..2 {
        let words = corrupt(dir.path());
        assert!(words.contains(DATABASE), "it names the file: {words}");
        assert!(!dir.path().join("crawl.sqlite.sum").exists(), "damage gets no checksum");
    }
    SqliteStore::repair(dir.path()).unwrap();
    assert_eq!(SqliteStore::open(dir.path()).unwrap().counts().unwrap().records, RECORDS as u64);
}
