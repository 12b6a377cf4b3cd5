//! Copies between a state directory and a database, and upgrades of a schema.

use crate::*;
use crawl_model::{
    CachedRobots, ContentHash, DomainStore, LeaseRef, LeaseToken, NewText, Origin, RequestId, RulesVersion,
    RunStore, Sketch, Strategy, TextIndex,
};
use crawl_store::{Agreement, Database, RoundSettings, SqliteStore, Upkeep};

/// A state with URLs in each place: settled, queued, waiting, leased and held.
fn state_in(dir: &std::path::Path) -> SqliteStore {
    let store = SqliteStore::open(dir).unwrap();
    store.set_project("birds", Some("north")).unwrap();
    store.begin_round().unwrap();
    let all = ["https://a/1", "https://a/2", "https://a/3", "https://a/4", "https://a/5", "https://b/1"];
    store.enqueue(&urls(&all[..1])).unwrap();
    store.enqueue_found_on(&urls(&all[1..]), RequestId(1)).unwrap();
    let out = store.lease(&host("a"), Lane::Plain, 4, "w", 0, 100).unwrap();
    let mut seen = records(&out[..1]);
    seen[0].history = PageHistory {
        content_hash: Some(ContentHash([7; 32])),
        fetched_at_ms: Some(9),
        ..PageHistory::default()
    };
    let text = NewText {
        page: UrlKey::of("https://a/1"),
        place: None,
        sketch: Sketch {
            content: Some(ContentHash([8; 32])),
            shingles: vec![1, 2],
            signature: vec![3, 4],
            bands: vec![5, u64::MAX],
        },
    };
    store.settle_with_texts(&seen, &[mark("/out/pages.jsonl", 70)], &[text]).unwrap();
    store.hold((&out[1]).into(), &host("a"), b"page").unwrap().unwrap();
    store.requeue((&out[2]).into(), 50, 1, Some(Strategy::Chrome)).unwrap();
    store.save_host(&host("b"), b"state of b").unwrap();
    store.save_lessons(&host("a"), b"lessons of a").unwrap();
    store.claim_content(&ContentHash([8; 32]), UrlKey::of("https://a/1"), (&out[0]).into()).unwrap();
    store.put("a note", "v\0").unwrap();
    store.put("round:/out/pages.jsonl", "1").unwrap();
    store.put("retry_after", r#"{"b":4102444800000}"#).unwrap();
    let robots = CachedRobots { status: 200, body: b"Disallow: /x"[..].into(), fetched_at_ms: 5 };
    store.save_robots(&Origin::of(&Url::parse("https://a/").unwrap()).unwrap(), &robots).unwrap();
    store
}

/// Checks what a copy of [`state_in`] knows.
fn check<S: Frontier + DomainStore + RunStore + TextIndex>(store: &S) {
    let counts = store.counts().unwrap();
    assert_eq!((counts.pending, counts.leased, counts.held), (5, 0, 0), "held and leased pages are pending");
    assert_eq!((counts.records, counts.hosts, store.round().unwrap()), (1, 2, 1));
    assert_eq!(store.get("a note").unwrap().as_deref(), Some("v\0"));
    assert_eq!(store.load_host(&host("b")).unwrap().as_deref(), Some(&b"state of b"[..]));
    assert_eq!(store.load_lessons(&host("a")).unwrap().as_deref(), Some(&b"lessons of a"[..]));
    let no_lease = LeaseRef { id: RequestId(0), token: LeaseToken(0) };
    let first = store.claim_content(&ContentHash([8; 32]), UrlKey::of("https://b/1"), no_lease).unwrap();
    assert_eq!(first, UrlKey::of("https://a/1"));
    let sketch = Sketch { content: None, shingles: Vec::new(), signature: vec![3, 4], bands: vec![u64::MAX] };
    let like = store.similar_texts(&sketch, 9).unwrap();
    assert_eq!((like.len(), like[0].page, &like[0].sketch.shingles[..]), (1, first, &[1, 2][..]));
    assert_eq!(store.found_on(UrlKey::of("https://a/5")).unwrap().as_deref(), Some("https://a/1"));
    assert_eq!(store.found_on(UrlKey::of("https://a/1")).unwrap(), None);
    let origin = Origin::of(&Url::parse("https://a/").unwrap()).unwrap();
    assert_eq!(&store.load_robots(&origin).unwrap().unwrap().body[..], b"Disallow: /x");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn state_round_trips_through_a_database() {
    let (server, from, to) = (Server::start(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    drop(state_in(from.path()));
    let report = server.url().copy_from("c", from.path()).unwrap();
    assert_eq!((report.fetched_again, report.damaged), (1, 0));
    assert!(report.rows.contains(&("urls", 6)) && report.rows.contains(&("queue", 5)), "{report:?}");

    let reader = PgStore::open_read_only(&server.options("c", "")).unwrap();
    let parts = reader.all_parts().unwrap();
    assert_eq!((parts.len(), &*parts[0].path, parts[0].bytes), (1, "/out/pages.jsonl", 70));
    assert!(parts[0].is_complete && parts[0].round == 1);
    drop(reader);
    let worker = open(&server, "w");
    check(&worker);
    assert_eq!(ready(&worker), ["a"], "b asked to be left alone");
    assert_eq!(lease(&worker, "a", 9).len(), 3, "one waits");
    assert_eq!(worker.next_due().unwrap(), Some(50));
    assert_eq!(worker.get("round:/out/pages.jsonl").unwrap(), None, "another worker's output");
    let busy = server.url().copy_to("c", to.path()).unwrap_err();
    assert!(matches!(&busy, StoreError::Busy(words) if words.contains("are running: w;")), "{busy}");
    // a link of a host that nobody has taken
    server
        .client()
        .execute(
            "INSERT INTO crawl_c.inbox (host, round, depth, discovery, again, key, url, found_on) \
             SELECT id, 1, 3, 3, false, $1, 'https://b/2', 6 FROM crawl_c.hosts WHERE name = 'b'",
            &[&uuid::Uuid::from_bytes(UrlKey::of("https://b/2").0)],
        )
        .unwrap();
    worker.release().unwrap();

    server.url().copy_to("c", to.path()).unwrap();
    let store = SqliteStore::open(to.path()).unwrap();
    assert_eq!(store.counts().unwrap().pending, 6);
    check_pages(&store);
    let taken = store.lease(&host("b"), Lane::Plain, 9, "w", 0, 100).unwrap();
    assert_eq!(taken.iter().map(|r| (r.url.path(), r.depth)).collect::<Vec<_>>(), [("/1", 0), ("/2", 3)]);
    store.settle(&records(&taken[1..]), &[]).unwrap();
    assert_eq!(store.lease(&host("a"), Lane::Plain, 9, "w", 0, 100).unwrap().len(), 3);
    assert_eq!(store.output_mark("/out/pages.jsonl").unwrap(), Some(70));
    assert_eq!(store.get("round:/out/pages.jsonl").unwrap().as_deref(), Some("1"));
    assert!(store.get("retry_after").unwrap().unwrap().contains("4102444800000"));
    let history = store.history(UrlKey::of("https://a/1")).unwrap().unwrap();
    assert_eq!((history.content_hash, history.fetched_at_ms), (Some(ContentHash([7; 32])), Some(9)));
    drop(store);
    assert!(SqliteStore::check(to.path()).unwrap().findings.is_empty());
    assert!(!to.path().join("unfinished-copy").exists());
}

/// Checks the pages that name the URLs of the copy.
fn check_pages(store: &SqliteStore) {
    let found_on = |url: &str| store.found_on(UrlKey::of(url)).unwrap();
    assert_eq!(found_on("https://a/5").as_deref(), Some("https://a/1"));
    assert_eq!(found_on("https://b/2").as_deref(), Some("https://b/1"), "a link that nobody had taken");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn copy_never_overwrites_a_state() {
    let (server, dir, empty) = (Server::start(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let database = server.url();
    let error =
        |result: Result<_, StoreError>| result.map(|_: crawl_store::CopyReport| ()).unwrap_err().to_string();
    assert!(error(database.copy_from("c", empty.path())).contains("holds no state"));
    assert!(error(database.copy_to("c", empty.path())).contains("no crawl named \"c\""));
    drop(state_in(dir.path()));
    database.copy_from("c", dir.path()).unwrap();
    assert!(error(database.copy_from("c", dir.path())).contains("name another --crawl"));
    assert!(error(database.copy_to("c", dir.path())).contains("holds a state already"));
    let source = SqliteStore::open(dir.path()).unwrap().counts().unwrap();
    assert_eq!((source.pending, source.leased, source.held), (3, 1, 1), "the source stays as it is");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_failed_copy_names_its_cause_and_leaves_no_crawl() {
    let server = Server::start();
    let causes = [
        (
            "UPDATE settings SET value = 'soon' WHERE name = 'retry_after'",
            "the note \"retry_after\" cannot be read",
        ),
        (
            "UPDATE settings SET value = 'one' WHERE name LIKE 'round:%'",
            "\"round:/out/pages.jsonl\" cannot be read",
        ),
        ("UPDATE urls SET depth = 5000000000 WHERE url = 'https://a/2'", "table urls, url \"https://a/2\": "),
    ];
    for (damage, cause) in causes {
        let dir = tempfile::tempdir().unwrap();
        drop(state_in(dir.path()));
        let state = rusqlite::Connection::open(dir.path().join("crawl.sqlite")).unwrap();
        assert_eq!(state.execute(damage, []).unwrap(), 1, "{damage}");
        drop(state);
        let error = server.url().copy_from("c", dir.path()).unwrap_err();
        assert!(matches!(&error, StoreError::Corrupt(words) if words.contains(cause)), "{error}");
        let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname = 'crawl_c'";
        assert_eq!(server.client().query_one(schemas, &[]).unwrap().get::<_, i64>(0), 0, "{damage}");
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn unreadable_value_ends_the_copy_into_a_directory() {
    let (server, dir, to) = (Server::start(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    drop(state_in(dir.path()));
    server.url().copy_from("c", dir.path()).unwrap();
    let damage = "UPDATE crawl_c.settings SET value = 'soon' WHERE name LIKE '%retry_after'";
    assert_eq!(server.client().execute(damage, &[]).unwrap(), 1);
    let error = server.url().copy_to("c", to.path()).unwrap_err().to_string();
    assert!(error.contains("retry_after\" cannot be read"), "{error}");
    assert!(!SqliteStore::exists(to.path()));
}

#[test]
#[ignore = "needs PostgreSQL"]
fn older_schema_is_refused_until_upgraded() {
    let server = Server::start();
    let first = include_str!("../../src/postgres/migrations/0001_frontier.sql");
    server
        .client()
        .batch_execute(&format!(
            "CREATE SCHEMA crawl_c; SET search_path TO crawl_c; CREATE TABLE schema_version (version int NOT NULL); \
             INSERT INTO schema_version VALUES (1); {first}; INSERT INTO crawls (name) VALUES ('c'); \
             INSERT INTO workers (name, lease_until) VALUES ('old', clock_timestamp() + interval '1 min')"
        ))
        .unwrap();
    let options = server.options("c", "w");
    let refused = PgStore::open(&options).err().unwrap().to_string();
    assert!(refused.contains("version 1") && refused.contains("crawl state upgrade"), "{refused}");
    assert!(PgStore::open_read_only(&options).err().unwrap().to_string().contains("crawl state upgrade"));
    let busy = server.url().upgrade("c").unwrap_err();
    assert!(matches!(&busy, StoreError::Busy(words) if words.contains("old")), "{busy}");
    expire(&server, "old");
    let (mut begins, upgrades) = (server.client(), server.url());
    let mut begin = begins.transaction().unwrap();
    let lease = "UPDATE crawl_c.workers SET lease_until = clock_timestamp() + interval '1 min'";
    begin.execute(lease, &[]).unwrap();
    let upgrade = std::thread::Builder::new().spawn(move || upgrades.upgrade("c")).unwrap();
    let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted";
    while server.client().query_one(waits, &[]).unwrap().get::<_, i64>(0) == 0 && !upgrade.is_finished() {
        std::thread::yield_now();
    }
    begin.commit().unwrap();
    let busy = upgrade.join().unwrap().unwrap_err();
    assert!(matches!(&busy, StoreError::Busy(words) if words.contains("old")), "began meanwhile: {busy}");
    expire(&server, "old");
    let (before, now) = server.url().upgrade("c").unwrap();
    assert!(before == 1 && now >= 2);
    assert_eq!(server.url().upgrade("c").unwrap(), (now, now));
    assert_eq!(open(&server, "w").begin_round().unwrap(), 1);
}

/// Makes a schema look like that of the version before.
fn downgrade(server: &Server) {
    let back = "ALTER TABLE crawl_c.hosts DROP COLUMN domain; DROP INDEX crawl_c.hosts_resting; \
                ALTER TABLE crawl_c.crawls DROP COLUMN suffixes; UPDATE crawl_c.schema_version SET version = 7";
    server.client().batch_execute(back).unwrap();
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_stopped_worker_writes_nothing_after_an_upgrade() {
    let (server, old) = begun("old");
    old.enqueue(&urls(&["https://a/1", "https://a/2", "https://b/1"])).unwrap();
    let out = lease(&old, "a", 2);
    old.hold((&out[1]).into(), &host("a"), b"page").unwrap().unwrap();
    old.pause_hosts(&[(host("b"), Duration::from_secs(600))]).unwrap();
    let settings = [("politeness.delay".to_owned(), "\"90s\"".to_owned())].into();
    let settings = RoundSettings { settings, rules: RulesVersion(1), notes: Vec::new() };
    assert_eq!(old.agree(&settings).unwrap(), Agreement::Same);
    downgrade(&server);
    expire(&server, "old");
    assert_eq!(server.url().upgrade("c").unwrap(), (7, 9));

    let refused = old.settle(&records(&out[..1]), &[mark("old.jsonl", 9)]);
    assert!(matches!(refused, Err(StoreError::Busy(_))), "{refused:?}");
    let number = |query: &str| server.client().query_one(query, &[]).unwrap().get::<_, i64>(0);
    assert_eq!(number("SELECT count(*) FROM crawl_c.outputs"), 0);
    assert_eq!(number("SELECT sum(records)::int8 FROM crawl_c.tallies"), 0);
    assert_eq!(number("SELECT count(*) FROM crawl_c.hosts WHERE owner IS NOT NULL"), 0);
    let rest =
        "SELECT extract(epoch FROM not_before - clock_timestamp())::int8 FROM crawl_c.hosts WHERE name = ";
    assert!((60..90).contains(&number(&format!("{rest}'a'"))), "the pause after the lease");
    assert!(number(&format!("{rest}'b'")) > 500, "a longer rest stays");

    server.client().batch_execute("UPDATE crawl_c.hosts SET not_before = NULL").unwrap();
    let new = open(&server, "new");
    assert_eq!(lease(&new, "a", 9).len(), 2, "the held page is fetched again");
    assert_eq!(lease(&new, "b", 9).len(), 1);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_worker_that_outlives_an_upgrade_takes_no_hosts() {
    let (clock, _guard) = Clock::start();
    let (server, old) = begun("old");
    server
        .client()
        .batch_execute(
            "INSERT INTO crawl_c.hosts (name, domain, active, round) VALUES ('free', 1, true, 1); \
             UPDATE crawl_c.schema_version SET version = 10",
        )
        .unwrap();
    clock.pass(1);
    let refused = old.hosts_with_pending(Lane::Plain, 0, 9).unwrap_err();
    assert!(matches!(refused, StoreError::Version { found: 10, known: 9 }), "{refused}");
    assert!(old.enqueue(&urls(&["https://a/1"])).is_err());
    let select = "SELECT count(*) FROM crawl_c.hosts WHERE owner IS NOT NULL";
    assert_eq!(server.client().query_one(select, &[]).unwrap().get::<_, i64>(0), 0);
}
