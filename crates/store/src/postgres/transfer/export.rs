//! From PostgreSQL to SQLite.

use super::{
    super::{
        db::{Db, get, uint, unsigned},
        own,
        recrawl::read_new_url,
        tally,
    },
    COPIED, RETRY_AFTER, add, bad_note,
    rows::export,
    tables::EXPORTS,
};
use crate::{
    SqliteStore,
    codes::OUTCOMES,
    database::CopyReport,
    sqlite::rows::{accept_whole_urls, index_texts, put_number, sql},
};
use crawl_model::{Discovery, Frontier, FrontierCounts, NewUrl, Outcome, RequestId, StoreError};
use rusqlite::Connection;
use std::collections::BTreeMap;

/// Links that one call enqueues.
const BATCH: i64 = 1_000;

const LINKS: &str = "SELECT inbox.id, key, url, hosts.name, depth, discovery, redirects, sitemap_lastmod, again, found_on \
                     FROM inbox JOIN hosts ON hosts.id = inbox.host \
                     WHERE inbox.id > $1 AND inbox.round = (SELECT round FROM crawls) ORDER BY inbox.id LIMIT $2";

/// Enqueues the links of this round in the new state that no worker has taken.
pub(super) fn links(db: &mut Db, store: &SqliteStore) -> Result<(), StoreError> {
    let mut last = i64::MIN;
    loop {
        let rows = db.rows(LINKS, &[&last, &BATCH])?;
        let Some(row) = rows.last() else { return Ok(()) };
        last = get(row, 0)?;
        let mut links = Vec::with_capacity(rows.len());
        for row in &rows {
            let (again, found_on, url) =
                (get::<bool>(row, 8)?, get::<Option<i64>>(row, 9)?, read_new_url(row)?);
            // for the target of a redirect the state would look up the page of the source a second time
            links.push((again, found_on.filter(|_| url.discovery != Discovery::Redirect), url));
        }
        for group in links.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let urls: Vec<NewUrl> = group.iter().map(|(.., url)| url.clone()).collect();
            match group.first() {
                Some((true, ..)) => store.revisit(&urls)?,
                Some((false, Some(page), _)) => store.enqueue_found_on(&urls, RequestId(*page))?,
                _ => store.enqueue(&urls)?,
            };
        }
    }
}

/// Copies all tables and notes.
pub(super) fn all(db: &mut Db, conn: &Connection) -> Result<CopyReport, StoreError> {
    let mut report = CopyReport::default();
    accept_whole_urls(conn)?;
    for table in EXPORTS {
        add(&mut report, table.table, export(db, conn, table)?);
    }
    index_texts(conn)?;
    report.fetched_again = unsigned(&db.one("SELECT count(*) FROM held", &[])?, 0)?;
    numbers(db, conn)?;
    own_outputs(db, conn)?;
    retry_after(db, conn)?;
    Ok(report)
}

fn numbers(db: &mut Db, conn: &Connection) -> Result<(), StoreError> {
    let row = db.one(
        "SELECT round, recrawl, next_token, project, source_group, \
         (SELECT coalesce(max(place), 0) FROM texts) FROM crawls",
        &[],
    )?;
    let round: i32 = get(&row, 0)?;
    put_number(conn, "round", i64::from(round))?;
    put_number(conn, "recrawl", i64::from(get::<bool>(&row, 1)?))?;
    put_number(conn, "token", get(&row, 2)?)?;
    put_number(conn, "banded", get(&row, 5)?)?;
    let (counts, _) = tally::total(db, uint(round))?;
    for (outcome, name) in OUTCOMES {
        put_number(conn, name, i64::try_from(settled(&counts, outcome)).unwrap_or(i64::MAX))?;
    }
    let (project, group): (String, Option<String>) = (get(&row, 3)?, get(&row, 4)?);
    conn.execute("INSERT INTO run (project, source_group) VALUES (?1, ?2)", (project, group)).map_err(sql)?;
    Ok(())
}

const fn settled(counts: &FrontierCounts, outcome: Outcome) -> u64 {
    match outcome {
        Outcome::Record => counts.records,
        Outcome::Failed => counts.failed,
        Outcome::Skipped => counts.skipped,
        Outcome::Redirected => counts.redirected,
        Outcome::Unchanged => counts.unchanged,
        Outcome::Gone => counts.gone,
    }
}

/// Outputs and notes of the state directory that the crawl was once copied from. Parts of workers stay as they are.
fn own_outputs(db: &mut Db, conn: &Connection) -> Result<(), StoreError> {
    let Some(row) = db.row("SELECT id FROM workers WHERE name = $1", &[&COPIED])? else { return Ok(()) };
    let worker: i32 = get(&row, 0)?;
    for row in db.rows("SELECT name, reach FROM outputs", &[])? {
        if let Some(name) = own::plain(worker, get(&row, 0)?) {
            let reach: i64 = get(&row, 1)?;
            conn.execute("INSERT INTO outputs (name, reach) VALUES (?1, ?2)", (name, reach)).map_err(sql)?;
        }
    }
    for row in db.rows("SELECT name, value FROM settings", &[])? {
        if let Some(name) = own::plain(worker, get(&row, 0)?) {
            let value = String::from_utf8_lossy(get(&row, 1)?).into_owned();
            conn.execute("INSERT INTO settings (name, value) VALUES (?1, ?2)", (name, value)).map_err(sql)?;
        }
    }
    Ok(())
}

/// Requests of hosts to be left alone, as all workers noted them.
fn retry_after(db: &mut Db, conn: &Connection) -> Result<(), StoreError> {
    let mut waits: BTreeMap<String, i64> = BTreeMap::new();
    let mut wait = |host: String, until: i64| {
        let noted = waits.entry(host).or_insert(until);
        *noted = until.max(*noted);
    };
    for row in db.rows("SELECT name, value FROM settings WHERE name ~ '^worker [0-9]+ retry_after$'", &[])? {
        let noted: BTreeMap<String, i64> = serde_json::from_slice(get(&row, 1)?)
            .map_err(|e| bad_note(get(&row, 0).unwrap_or(RETRY_AFTER), &e))?;
        noted.into_iter().for_each(|(host, until)| wait(host, until));
    }
    let pauses = "SELECT name, (extract(epoch FROM not_before) * 1000)::int8 FROM hosts WHERE not_before > clock_timestamp()";
    for row in db.rows(pauses, &[])? {
        wait(get(&row, 0)?, get(&row, 1)?);
    }
    if waits.is_empty() {
        return Ok(());
    }
    let text = serde_json::to_string(&waits).map_err(|e| StoreError::Other(e.to_string()))?;
    conn.execute("INSERT OR REPLACE INTO settings (name, value) VALUES (?1, ?2)", (RETRY_AFTER, text))
        .map(|_| ())
        .map_err(sql)
}
