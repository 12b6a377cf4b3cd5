//! From SQLite to PostgreSQL.

use super::{
    super::{
        db::{Db, get, int, text},
        own,
    },
    COPIED, RETRY_AFTER, add, bad_note,
    rows::import,
    tables::IMPORTS,
};
use crate::{codes::OUTCOMES, database::CopyReport, sqlite::rows::sql};
use crawl_model::StoreError;
use rusqlite::{Connection, OptionalExtension};
use std::collections::BTreeMap;

/// Copies all tables and notes.
pub(super) fn all(conn: &Connection, db: &mut Db) -> Result<CopyReport, StoreError> {
    let mut report = CopyReport::default();
    for table in IMPORTS {
        add(&mut report, table.table, import(conn, db, table)?);
    }
    report.fetched_again = count(conn, "SELECT count(*) FROM held")?.unsigned_abs();
    let worker = worker(db)?;
    notes(conn, db, worker)?;
    outputs(conn, db, worker)?;
    numbers(conn, db, worker)?;
    Ok(report)
}

fn count(conn: &Connection, query: &str) -> Result<i64, StoreError> {
    conn.query_row(query, [], |row| row.get(0)).map_err(sql)
}

/// The worker that owns the outputs and notes of the process so far.
fn worker(db: &mut Db) -> Result<i32, StoreError> {
    let row = db.one(
        "INSERT INTO workers (name, lease_until, epoch) VALUES ($1, clock_timestamp(), 0) RETURNING id",
        &[&COPIED],
    )?;
    get(&row, 0)
}

fn notes(conn: &Connection, db: &mut Db, worker: i32) -> Result<(), StoreError> {
    let mut select =
        conn.prepare("SELECT name, value FROM settings WHERE name NOT LIKE 'pause:%'").map_err(sql)?;
    let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(sql)?;
    let notes: Vec<(String, String)> = rows.collect::<Result<_, _>>().map_err(sql)?;
    for (name, value) in &notes {
        let name = text(&own::note(worker, name));
        db.execute("INSERT INTO settings (name, value) VALUES ($1, $2)", &[&name, &value.as_bytes()])?;
    }
    let waits = notes.iter().find(|(name, _)| name == RETRY_AFTER);
    let waits: BTreeMap<String, i64> = match waits {
        Some((name, value)) => serde_json::from_str(value).map_err(|e| bad_note(name, &e))?,
        None => BTreeMap::new(),
    };
    for (host, until_ms) in &waits {
        db.execute(
            "UPDATE hosts SET not_before = to_timestamp($2::int8 / 1000.0) WHERE name = $1",
            &[host, until_ms],
        )?;
    }
    Ok(())
}

/// Existing files become complete parts, up to their settled length.
fn outputs(conn: &Connection, db: &mut Db, worker: i32) -> Result<(), StoreError> {
    let mut select = conn.prepare("SELECT name, reach FROM outputs").map_err(sql)?;
    let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(sql)?;
    let outputs: Vec<(String, i64)> = rows.collect::<Result<_, _>>().map_err(sql)?;
    for (name, reach) in &outputs {
        let mark = own::output(worker, name);
        db.execute("INSERT INTO outputs (name, reach) VALUES ($1, $2)", &[&mark, reach])?;
        if *reach == 0 || !name.starts_with('/') || name.ends_with("/errors.jsonl") {
            continue;
        }
        let round: Option<String> = conn
            .query_row("SELECT value FROM settings WHERE name = 'round:' || ?1", [name], |row| row.get(0))
            .optional()
            .map_err(sql)?;
        let round: i32 = match round {
            Some(round) => round.parse().map_err(|e| bad_note(&format!("round:{name}"), &e))?,
            None => 0,
        };
        db.execute(
            "INSERT INTO parts (path, worker, epoch, seq, round, mark, bytes) VALUES ($1, $2, 0, 0, $3, $4, $5)",
            &[name, &worker, &round, &mark, reach],
        )?;
    }
    Ok(())
}

/// The row of the crawl, its counts, and what new rows begin with.
fn numbers(conn: &Connection, db: &mut Db, worker: i32) -> Result<(), StoreError> {
    let number = |name: &str| -> Result<i64, StoreError> {
        let select = "SELECT value FROM numbers WHERE name = ?1";
        conn.query_row(select, [name], |row| row.get(0)).map_err(sql)
    };
    let round = int(u32::try_from(number("round")?).unwrap_or(0));
    let recrawl = number("recrawl")? != 0;
    let (next_id, next_token) =
        (count(conn, "SELECT coalesce(max(id), 0) + 1 FROM urls")?, number("token")? + 1);
    let run: Option<(String, Option<String>)> = conn
        .query_row("SELECT project, source_group FROM run", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
        .map_err(sql)?;
    let (project, group) = run.unwrap_or_default();
    db.execute(
        "UPDATE crawls SET round = $1, recrawl = $2, next_id = $3, next_token = $4, project = $5, source_group = $6",
        &[&round, &recrawl, &next_id, &next_token, &text(&project), &group.as_deref().map(text)],
    )?;
    let mut settled = Vec::with_capacity(OUTCOMES.len());
    for (_, name) in OUTCOMES {
        settled.push(number(name)?);
    }
    db.execute(
        "INSERT INTO tallies (worker, round, pending, hosts, records, failed, skipped, redirected, unchanged, gone) \
         SELECT $1, $2, (SELECT count(*) FROM queue), (SELECT count(*) FROM hosts WHERE round = $2), \
         s[1], s[2], s[3], s[4], s[5], s[6] FROM (SELECT $3::int8[] AS s) AS settled",
        &[&worker, &round, &settled],
    )?;
    db.batch(
        "INSERT INTO bands (hash, place) SELECT unnest(bands), place FROM texts ON CONFLICT DO NOTHING; \
         SELECT setval(pg_get_serial_sequence('hosts', 'id'), (SELECT coalesce(max(id), 0) + 1 FROM hosts), false); \
         SELECT setval(pg_get_serial_sequence('texts', 'place'), (SELECT coalesce(max(place), 0) + 1 FROM texts), false)",
    )
}
