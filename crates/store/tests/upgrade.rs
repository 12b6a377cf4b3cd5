//! States of version 9 become states of this version: each visit is kept, and a kill in the middle changes nothing.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use crawl_model::{Frontier, HostKey, Lane, UrlKey};
use crawl_store::SqliteStore;
use rusqlite::{Connection, types::Value};
use std::{fs, path::Path};

/// A state in its fourth round, killed while a URL was leased and two were queued. Pages were read, not modified, changed,
/// redirected, failed and gone.
const VERSION_9: &str = include_str!("../../../fixtures/states/version9.sql");
const TO_VERSION_10: &str = include_str!("../src/sqlite/migrations/0010_visits.sql");

const COLUMNS: &str = "id, host, round, depth, discovery, attempt, strategy, outcome, url, redirects, sitemap_lastmod, \
                       found_on, status, etag, last_modified, content_hash, rules, via, fetched_at, fetched_lastmod, \
                       read_at, seen_at, first_at, changed_at, visits, changes";

fn database(dir: &Path) -> Connection {
    Connection::open(dir.join("crawl.sqlite")).unwrap()
}

fn old_state(dir: &Path) -> Connection {
    let old = database(dir);
    old.execute_batch(VERSION_9).unwrap();
    old
}

/// All rows of a table or view with the results of visits; hashes of version 9 are cut as those of version 10.
fn rows(conn: &Connection, from: &str) -> Vec<Vec<Value>> {
    let hashes = "substr(key, 1, 6), substr(text_hash, 1, 16), substr(body_hash, 1, 16)";
    let mut select = conn.prepare(&format!("SELECT {COLUMNS}, {hashes} FROM {from} ORDER BY id")).unwrap();
    let columns = select.column_count();
    let rows = select.query_map([], |row| (0..columns).map(|n| row.get(n)).collect()).unwrap();
    rows.map(Result::unwrap).collect()
}

fn upgraded(dir: &Path, expected: &[Vec<Value>]) {
    let store = SqliteStore::open(dir).unwrap();
    assert_eq!(store.counts().unwrap().pending, 2);
    for row in expected {
        let url = matches!(&row[8], Value::Text(url) if store.history(UrlKey::of(url)).unwrap().is_some());
        assert!(url, "{row:?}");
    }
    let leased = store.lease(&HostKey::from_stored("127.0.0.1:8765"), Lane::Plain, 9, "w", 0, 1_000).unwrap();
    assert_eq!(leased.len(), 2);
    drop(store);
    assert_eq!(rows(&database(dir), "visited"), expected);
    assert_eq!(SqliteStore::check(dir).unwrap().findings, Vec::<String>::new());
}

#[test]
fn a_state_of_version_9_keeps_each_visit() {
    let dir = tempfile::tempdir().unwrap();
    let old = old_state(dir.path());
    let expected = rows(&old, "urls");
    drop(old);
    assert_eq!(expected.len(), 10);
    upgraded(dir.path(), &expected);
    let new = database(dir.path());
    let count = |table: &str| -> i64 {
        new.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    };
    assert_eq!((count("history"), count("revisits")), (10, 7), "first visits have no row of further times");
}

#[test]
fn kill_during_an_upgrade_leaves_the_old_state() {
    let (dir, killed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let old = old_state(dir.path());
    let expected = rows(&old, "urls");
    old.pragma_update(None, "journal_mode", "wal").unwrap();
    // pages of the transaction reach the log before its commit
    old.pragma_update(None, "cache_size", 1).unwrap();
    old.execute_batch(&format!("BEGIN IMMEDIATE; {TO_VERSION_10}")).unwrap();
    for name in ["crawl.sqlite", "crawl.sqlite-wal"] {
        assert!(fs::copy(dir.path().join(name), killed.path().join(name)).unwrap() > 0, "{name}");
    }
    let version = |dir: &Path| -> i64 {
        database(dir).pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
    };
    assert_eq!(version(killed.path()), 9);
    upgraded(killed.path(), &expected);
    assert_eq!(version(killed.path()), 10);
}
