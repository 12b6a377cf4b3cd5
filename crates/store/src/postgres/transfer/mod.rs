//! Copies of a crawl between a state directory and a database.
//!
//! A copy carries what decides on URLs and records. Pages that wait for a fingerprint are fetched again, since the
//! fingerprint of their host counts them anew.

mod export;
mod import;
mod rows;
mod tables;

use super::{
    PgOptions,
    connect::Target,
    db::{Db, get},
    migrate,
    rights::{self, Access},
};
use crate::{SqliteStore, database::CopyReport};
use crawl_model::StoreError;
use rows::Rows;
use std::{cell::RefCell, path::Path};

/// Name of the worker that represents the process of a state directory.
const COPIED: &str = "copied";

/// Name of the note with the times before which hosts must get no request.
const RETRY_AFTER: &str = "retry_after";

fn bad_note(name: &str, error: &dyn std::fmt::Display) -> StoreError {
    StoreError::Corrupt(format!("the note \"{name}\" cannot be read: {error}"))
}

fn add(report: &mut CopyReport, table: &'static str, rows: Rows) {
    report.rows.push((table, rows.copied));
    report.damaged += rows.damaged;
}

/// Copies the state of a directory into a new crawl of a database. Hold the [`StateLock`](crate::StateLock).
///
/// # Errors
/// [`StoreError::Other`] when the database has such a crawl, or the directory no state. Those of both stores.
pub(super) fn copy_to_database(dir: &Path, to: &PgOptions) -> Result<CopyReport, StoreError> {
    if !SqliteStore::exists(dir) {
        return Err(StoreError::Other(format!("{} holds no state of a crawl", dir.display())));
    }
    let store = SqliteStore::open(dir)?;
    let target = Target::new(&to.url, &to.crawl)?;
    let mut db = target.connect()?;
    rights::check(&mut db, &target, Access::Write)?;
    db.transaction(|db| {
        migrate::migrate(db, &target)?;
        let row = db.one(
            "SELECT round <> 0 OR EXISTS (SELECT 1 FROM urls) OR EXISTS (SELECT 1 FROM workers) FROM crawls FOR UPDATE",
            &[],
        )?;
        if get(&row, 0)? {
            return Err(StoreError::Other(format!(
                "{} has a crawl named \"{}\" already: name another --crawl",
                target.place(),
                target.crawl()
            )));
        }
        store.read_rows(|conn| import::all(conn, db))
    })
}

/// Copies a crawl of a database, which no worker crawls, into a directory without a state. Hold the
/// [`StateLock`](crate::StateLock).
///
/// # Errors
/// [`StoreError::Other`] when the database has no such crawl, or the directory a state. [`StoreError::Busy`] while a
/// worker crawls. Those of both stores.
pub(super) fn copy_to_directory(from: &PgOptions, dir: &Path) -> Result<CopyReport, StoreError> {
    if SqliteStore::exists(dir) {
        return Err(StoreError::Other(format!(
            "{} holds a state already: name another directory",
            dir.display()
        )));
    }
    let target = Target::new(&from.url, &from.crawl)?;
    let mut db = target.connect()?;
    rights::check(&mut db, &target, Access::Write)?;
    migrate::verify(&mut db, &target)?;
    db.batch("BEGIN ISOLATION LEVEL REPEATABLE READ")?;
    // workers that begin meanwhile wait before they take a host
    db.one("SELECT round FROM crawls FOR UPDATE", &[])?;
    refuse_workers(&mut db, &target)?;
    let mut report = CopyReport::default();
    let db = RefCell::new(db);
    SqliteStore::make(
        dir,
        |conn| {
            report = export::all(&mut db.borrow_mut(), conn)?;
            Ok(())
        },
        |store| export::links(&mut db.borrow_mut(), store),
    )?;
    db.into_inner().batch("ROLLBACK")?;
    Ok(report)
}

/// Brings the schema of a crawl up to date, which no worker crawls. Returns the version before and after.
///
/// # Errors
/// [`StoreError::Other`] when the database has no such crawl, [`StoreError::Busy`] while a worker crawls.
pub(super) fn upgrade(crawl: &PgOptions) -> Result<(u32, u32), StoreError> {
    let target = Target::new(&crawl.url, &crawl.crawl)?;
    let mut db = target.connect()?;
    rights::check(&mut db, &target, Access::Write)?;
    let before = migrate::version(&mut db, &target)?;
    if before == migrate::newest() {
        return Ok((before, before));
    }
    rights::act_as_owner(&mut db, &target)?;
    migrate::upgrade(&mut db, &target, |db| refuse_workers(db, &target))?;
    Ok((before, migrate::newest()))
}

fn refuse_workers(db: &mut Db, target: &Target) -> Result<(), StoreError> {
    let rows =
        db.rows("SELECT name FROM workers WHERE lease_until > clock_timestamp() ORDER BY name", &[])?;
    let names: Vec<String> = rows.iter().map(|row| get(row, 0)).collect::<Result<_, _>>()?;
    if names.is_empty() {
        return Ok(());
    }
    Err(StoreError::Busy(format!(
        "workers of the crawl \"{}\" are running: {}; end them first, or wait a minute after a kill",
        target.crawl(),
        names.join(", ")
    )))
}
