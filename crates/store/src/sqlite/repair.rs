//! Repair of a damaged state: a new database from all readable rows.
//!
//! Rows of a table are read from its front, and from its end once a page of it is unreadable. The gap between
//! is halved until its readable rows are found. Inconsistent rows are dropped: a URL must match its key, a
//! blob its checksum. Then the frontier is rebuilt from the URLs, and URLs in an uncertain state are fetched
//! again.

use super::{
    FILE, MIGRATIONS, SqliteStore, StateAtRest,
    check::{BLOBS, PLACES},
    checksum::is_intact,
    codes::{self, OUTCOMES},
    connect_at_rest,
    error::sql,
    io_error,
    migrate::{self, migrate},
    seal,
};
use crate::upkeep::{RepairReport, TableReport};
use crawl_model::{Discovery, HostKey, Lane, Outcome, StoreError, Strategy, UrlKey};
use rusqlite::{Connection, OptionalExtension, params_from_iter, types::Value};
use serde::de::IgnoredAny;
use std::{
    collections::VecDeque,
    fs::{self, File},
    io::{self, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};
use url::Url;

/// Consecutive reads without a row of a table before the rest of its gaps is skipped.
const MOST_FAILURES: u32 = 500;
/// Lease tokens that are skipped, since the record of the last ones may be lost.
const TOKEN_GAP: i64 = 1 << 21;

impl SqliteStore {
    /// Builds a new database from all readable rows of a damaged one, which is kept under another name. Hold
    /// the [`StateLock`](crate::StateLock). If the process is killed, the damaged database stays in place.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when nothing can be read, [`StoreError::Full`] when the disk is full.
    pub fn repair(dir: &Path) -> Result<RepairReport, StoreError> {
        let database = dir.join(FILE);
        if !database.exists() {
            return Err(StoreError::Other(format!("{} holds no state of a crawl", dir.display())));
        }
        let scratch = Scratch::of(dir)?;
        let (old, version) = scratch.open()?;
        let new_path = dir.join(format!("{FILE}.repaired"));
        remove_all(&new_path)?;
        let mut new = connect_at_rest(&new_path, StateAtRest::Create).map_err(sql)?;
        for (migration, n) in MIGRATIONS.iter().zip(1..).take_while(|(_, n)| *n <= version) {
            new.execute_batch(migration)
                .and_then(|()| new.pragma_update(None, "user_version", n))
                .map_err(sql)?;
        }
        let mut report = RepairReport { damaged: free_name(dir), ..RepairReport::default() };
        new.execute_batch("BEGIN; DELETE FROM numbers;").map_err(sql)?;
        let mut bands_lost = false;
        for table in tables(&new).map_err(sql)? {
            let copied = copy(&old, &new, &table)?;
            bands_lost |= copied.lost != Some(0) && matches!(table.as_str(), "texts" | "bands");
            report.tables.push(copied);
        }
        new.execute_batch("COMMIT").map_err(sql)?;
        numbers(&new, version).map_err(sql)?;
        migrate(&mut new, MIGRATIONS)?;
        new.execute_batch("BEGIN").map_err(sql)?;
        if bands_lost {
            new.execute_batch("DELETE FROM bands; UPDATE numbers SET value = 0 WHERE name = 'banded'")
                .map_err(sql)?;
        }
        make_consistent(&new, &mut report)?;
        new.execute_batch("COMMIT").map_err(sql)?;
        drop((old, new));
        put_in_place(dir, &new_path, &report.damaged)?;
        Ok(report)
    }

    /// Adds URLs as records of this round, or of the last round in a recrawl. They are in an output, but
    /// unknown to a repaired state. Returns their number.
    ///
    /// # Errors
    /// When storage fails; then nothing was added.
    pub fn adopt_written(&self, urls: &[String]) -> Result<u64, StoreError> {
        let mut inner = self.ready()?;
        let adopted = inner.write(|conn, memory| {
            let round = if memory.recrawl { memory.round.saturating_sub(1) } else { memory.round };
            let mut adopted = 0;
            for text in urls {
                let Some(host) = Url::parse(text).ok().as_ref().and_then(HostKey::of) else { continue };
                let host = memory.host(conn, &host).map_err(sql)?;
                let mut insert = conn
                    .prepare_cached(
                        "INSERT OR IGNORE INTO urls (key, host, round, depth, discovery, outcome, url) \
                         VALUES (?1, ?2, ?3, 0, ?4, ?5, ?6)",
                    )
                    .map_err(sql)?;
                let (link, record) = (codes::discovery(Discovery::Link), codes::outcome(Outcome::Record));
                let row = (UrlKey::of(text).0, host, round, link, record, text);
                adopted += insert.execute(row).map_err(sql)? as u64;
            }
            if round == memory.round && adopted > 0 {
                memory.settled[0] += adopted;
                super::memory::set_number(conn, OUTCOMES[0].1, memory.settled[0].cast_signed())
                    .map_err(sql)?;
            }
            Ok(adopted)
        })?;
        inner.commit()?;
        Ok(adopted)
    }

    /// Names and lengths of the written outputs.
    ///
    /// # Errors
    /// When storage fails.
    pub fn output_marks(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let inner = self.ready()?;
        let mut select = inner.conn.prepare("SELECT name, reach FROM outputs").map_err(sql)?;
        let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(sql)?;
        rows.collect::<rusqlite::Result<_>>().map_err(sql)
    }
}

/// A copy of the damaged database for reading, since a read of one with a log changes it.
struct Scratch {
    path: PathBuf,
}

impl Scratch {
    fn of(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join(format!("{FILE}.salvage"));
        remove_all(&path)?;
        copy_file(&dir.join(FILE), &path)?;
        let log = dir.join(format!("{FILE}-wal"));
        if log.exists() {
            copy_file(&log, &with_suffix(&path, "-wal"))?;
        }
        Ok(Self { path })
    }

    /// Opens a connection to the copy; returns it with its schema version. A damaged header is rewritten.
    fn open(&self) -> Result<(Connection, u32), StoreError> {
        let first = self.read();
        let Err(StoreError::Corrupt(_)) = first else { return first };
        self.write_header().map_err(|e| io_error(&self.path, &e))?;
        self.read()
    }

    fn read(&self) -> Result<(Connection, u32), StoreError> {
        let conn = connect_at_rest(&self.path, StateAtRest::Salvage).map_err(sql)?;
        let tables: i64 = conn
            .query_row("SELECT count(*) FROM sqlite_schema WHERE name = 'urls'", [], |row| row.get(0))
            .map_err(sql)?;
        if tables == 0 {
            return Err(StoreError::Corrupt("the list of its tables cannot be read".into()));
        }
        let version = match migrate::version(&conn, MIGRATIONS)? {
            0 => migrate::newest(MIGRATIONS),
            found => found,
        };
        Ok((conn, version))
    }

    /// Rewrites the first hundred bytes of a database with this program's values, except for counters without
    /// effect.
    fn write_header(&self) -> io::Result<()> {
        let mut header = [0; 100];
        header[..16].copy_from_slice(b"SQLite format 3\0");
        header[16..18].copy_from_slice(&4096_u16.to_be_bytes());
        header[18..24].copy_from_slice(&[2, 2, 0, 64, 32, 32]);
        // schema cookie, schema format, UTF-8
        header[43] = 1;
        header[47] = 4;
        header[59] = 1;
        header[60..64].copy_from_slice(&migrate::newest(MIGRATIONS).to_be_bytes());
        let mut file = File::options().write(true).open(&self.path)?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&header)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = remove_all(&self.path) {
            tracing::warn!(%error, "a copy of the damaged database is left");
        }
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn copy_file(from: &Path, to: &Path) -> Result<(), StoreError> {
    fs::copy(from, to).map(|_| ()).map_err(|e| io_error(to, &e))
}

fn remove_all(database: &Path) -> Result<(), StoreError> {
    for suffix in ["-wal", "-shm", "-journal", ""] {
        let path = with_suffix(database, suffix);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io_error(&path, &error)),
            _ => {}
        }
    }
    Ok(())
}

/// The first unused name `crawl.sqlite.damaged-N`.
fn free_name(dir: &Path) -> PathBuf {
    let names = (1..u32::MAX).map(|n| dir.join(format!("{FILE}.damaged-{n}")));
    let mut free = names.filter(|path| !path.exists());
    free.next().unwrap_or_else(|| dir.join(format!("{FILE}.damaged")))
}

/// Renames the damaged database and its log, and puts the new one in place. The log moves first, since the
/// new database would take it over.
fn put_in_place(dir: &Path, new: &Path, damaged: &Path) -> Result<(), StoreError> {
    let (database, log) = (dir.join(FILE), dir.join(format!("{FILE}-wal")));
    File::open(new).and_then(|file| file.sync_all()).map_err(|e| io_error(new, &e))?;
    copy_synced(&database, damaged)?;
    if log.exists() {
        copy_synced(&log, &with_suffix(damaged, "-wal"))?;
    }
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(|e| io_error(dir, &e))?;
    seal::remove(dir)?;
    for suffix in ["-wal", "-shm"] {
        match fs::remove_file(with_suffix(&database, suffix)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io_error(&log, &error)),
            _ => {}
        }
    }
    fs::rename(new, &database).map_err(|e| io_error(&database, &e))?;
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(|e| io_error(dir, &e))
}

/// Copies a file and syncs the copy, since the original is then removed.
fn copy_synced(from: &Path, to: &Path) -> Result<(), StoreError> {
    copy_file(from, to)?;
    File::open(to).and_then(|file| file.sync_all()).map_err(|e| io_error(to, &e))
}

/// The tables of a database.
fn tables(conn: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut select = conn.prepare(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
    )?;
    let names = select.query_map([], |row| row.get(0))?;
    names.collect()
}

/// A table that is copied as far as it is readable.
struct Copy<'c> {
    old: &'c Connection,
    new: &'c Connection,
    table: &'c str,
    columns: Vec<String>,
    /// True if the table has row numbers for range reads.
    rowid: bool,
    kept: u64,
    /// Rows that were read but are inconsistent.
    refused: u64,
    failures: u32,
    last: i64,
}

/// Copies the readable and consistent rows of a table.
fn copy(old: &Connection, new: &Connection, table: &str) -> Result<TableReport, StoreError> {
    let columns = columns(new, table).map_err(sql)?;
    let rowid = new.prepare(&format!("SELECT rowid FROM {table} LIMIT 0")).is_ok();
    let mut copy = Copy { old, new, table, columns, rowid, kept: 0, refused: 0, failures: 0, last: 0 };
    if rowid {
        copy.range(i64::MIN, i64::MAX)?;
    } else {
        copy.both_ends()?;
    }
    let lost = copy.lost();
    Ok(TableReport { name: table.to_owned(), kept: copy.kept, lost })
}

fn columns(conn: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut select = conn.prepare("SELECT name FROM pragma_table_info(?1)")?;
    let names = select.query_map([table], |row| row.get(0))?;
    names.collect()
}

impl Copy<'_> {
    /// Number of lost rows. Numbers of URLs and hosts have no gaps; for other tables it is known if all was
    /// read.
    fn lost(&self) -> Option<u64> {
        match self.table {
            "urls" | "hosts" => {
                let index = format!("SELECT count(*) FROM {} WHERE +rowid IS NOT NULL", self.table);
                let counted: i64 = self.old.query_row(&index, [], |row| row.get(0)).unwrap_or(0);
                let all = u64::try_from(self.last.max(counted)).unwrap_or(0);
                Some(all.saturating_sub(self.kept))
            }
            _ if self.failures == 0 => Some(self.refused),
            _ => None,
        }
    }

    /// Copies the rows of a statement until one is unreadable; returns true if all were readable. `seen` gets
    /// each row's number.
    fn rows(&mut self, order: &str, mut seen: impl FnMut(i64)) -> Result<bool, StoreError> {
        let names = self.columns.join(", ");
        let number = if self.rowid { "rowid" } else { "0" };
        let text = format!("SELECT {number}, {names} FROM {} {order}", self.table);
        let marks = vec!["?"; self.columns.len()].join(", ");
        let insert = format!("INSERT OR IGNORE INTO {} ({names}) VALUES ({marks})", self.table);
        let mut insert = self.new.prepare_cached(&insert).map_err(sql)?;
        let Ok(mut select) = self.old.prepare(&text) else { return Ok(false) };
        let Ok(mut rows) = select.query([]) else { return Ok(false) };
        loop {
            let Ok(row) = rows.next() else { return Ok(false) };
            let Some(row) = row else { return Ok(true) };
            let Ok(number) = row.get::<_, i64>(0) else { return Ok(false) };
            let values: rusqlite::Result<Vec<Value>> = (1..=self.columns.len()).map(|n| row.get(n)).collect();
            let Ok(values) = values else {
                self.refused += 1;
                continue;
            };
            seen(number);
            self.last = self.last.max(number);
            let fits = fits(self.table, &self.columns, &values);
            // a row whose values no column accepts is damaged too
            match fits.then(|| insert.execute(params_from_iter(values))) {
                Some(Ok(n)) => self.kept += n as u64,
                Some(Err(error)) if matches!(sql_kind(&error), StoreError::Full(_)) => {
                    return Err(sql(error));
                }
                _ => self.refused += 1,
            }
        }
    }

    /// Copies the rows with numbers from `low` to `high`.
    fn range(&mut self, low: i64, high: i64) -> Result<(), StoreError> {
        // widest gaps first, to find readable rows early
        let mut gaps = VecDeque::from([(low, high)]);
        let mut in_vain = 0;
        while let Some((low, high)) = gaps.pop_front() {
            let (mut first, mut last) = (None, None);
            let clause = format!("WHERE rowid BETWEEN {low} AND {high} ORDER BY rowid");
            if self.rows(&clause, |n| first = Some(n))? {
                continue;
            }
            let low = first.map_or(low, |n: i64| n.saturating_add(1));
            if low > high
                || self.rows(&format!("WHERE rowid BETWEEN {low} AND {high} ORDER BY rowid DESC"), |n| {
                    last = Some(n);
                })?
            {
                continue;
            }
            let high = last.map_or(high, |n: i64| n.saturating_sub(1));
            self.failures += 1;
            in_vain = if first.is_none() && last.is_none() { in_vain + 1 } else { 0 };
            if in_vain >= MOST_FAILURES {
                return Ok(());
            }
            // row numbers are positive and few, so a generous page number bounds an open gap
            let (low, high) = (low.max(0), high.min(self.last.saturating_mul(2).max(1 << 20)));
            let middle = low.midpoint(high);
            if low < high {
                gaps.extend([(low, middle), (middle + 1, high)]);
            }
        }
        Ok(())
    }

    /// Copies the rows of a table without row numbers: from its front, and after a failure from its end.
    fn both_ends(&mut self) -> Result<(), StoreError> {
        if self.rows("", |_| {})? {
            return Ok(());
        }
        self.failures += 1;
        let primary: Vec<String> = self
            .new
            .prepare("SELECT name || ' DESC' FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk")
            .and_then(|mut select| select.query_map([self.table], |row| row.get(0))?.collect())
            .map_err(sql)?;
        self.rows(&format!("ORDER BY {}", primary.join(", ")), |_| {})?;
        // both passes refuse the same rows, so their number is meaningless
        self.refused = 0;
        Ok(())
    }
}

fn sql_kind(error: &rusqlite::Error) -> StoreError {
    match error {
        rusqlite::Error::SqliteFailure(failure, _) => sql(rusqlite::Error::SqliteFailure(*failure, None)),
        _ => StoreError::Other(String::new()),
    }
}

/// Returns true if the values of a row may be the written ones.
fn fits(table: &str, columns: &[String], values: &[Value]) -> bool {
    let value = |name: &str| columns.iter().position(|column| column == name).map(|n| &values[n]);
    if table == "urls" {
        let (Some(Value::Blob(key)), Some(Value::Text(url))) = (value("key"), value("url")) else {
            return false;
        };
        return UrlKey::of(url).0[..] == key[..];
    }
    if let (Some(Value::Text(text)), true) = (value("value"), table == "settings") {
        return !text.starts_with(['{', '[']) || serde_json::from_str::<IgnoredAny>(text).is_ok();
    }
    let blob = BLOBS.iter().find(|(name, ..)| *name == table).and_then(|(.., blob)| value(blob));
    match (blob, value("checksum")) {
        (Some(Value::Blob(bytes)), Some(Value::Integer(sum))) => is_intact(bytes, Some(*sum)),
        (Some(blob), _) => matches!(blob, Value::Blob(_)),
        (None, _) => true,
    }
}

/// Restores lost counters. Later migrations add those of newer versions.
fn numbers(new: &Connection, version: u32) -> rusqlite::Result<()> {
    let mut names = vec!["round", "token", "records", "failed", "skipped", "redirected"];
    if version >= 5 {
        names.extend(["recrawl", "unchanged", "gone"]);
    }
    if version >= 6 {
        names.push("banded");
    }
    for name in names {
        new.execute("INSERT OR IGNORE INTO numbers (name, value) VALUES (?1, 0)", [name])?;
    }
    let greatest: i64 = new.query_row("SELECT coalesce(max(round), 0) FROM urls", [], |row| row.get(0))?;
    new.execute("UPDATE numbers SET value = max(value, ?1) WHERE name = 'round'", [greatest])?;
    Ok(())
}

/// Rebuilds hosts, frontier and counts from the kept rows.
fn make_consistent(new: &Connection, report: &mut RepairReport) -> Result<(), StoreError> {
    hosts(new)?;
    let browser = codes::strategy(Strategy::Chrome);
    let (plain_lane, browser_lane) = (codes::lane(Lane::Plain), codes::lane(Lane::Browser));
    let round = "(SELECT value FROM numbers WHERE name = 'round')";
    let pending = |new: &Connection| {
        new.query_row("SELECT (SELECT count(*) FROM queue) + (SELECT count(*) FROM waiting)", [], |row| {
            row.get(0)
        })
    };
    let before: u64 = pending(new).map_err(sql)?;
    let this_round = format!("SELECT id FROM urls WHERE round = {round} AND outcome IS NULL");
    let mut statements = vec!["DELETE FROM leases".to_owned(), "DELETE FROM queue".to_owned()];
    for table in ["held", "waiting", "so_far"] {
        statements.push(format!("DELETE FROM {table} WHERE id NOT IN ({this_round})"));
    }
    statements.push("DELETE FROM waiting WHERE id IN (SELECT id FROM held)".into());
    statements.push(
        "DELETE FROM waiting WHERE (due, id) NOT IN (SELECT max(due), id FROM waiting GROUP BY id)".into(),
    );
    statements.push(format!(
        "INSERT INTO queue (host, lane, depth, id) SELECT host, iif(strategy IS {browser}, {browser_lane}, {plain_lane}), \
         depth, id FROM urls WHERE round = {round} AND outcome IS NULL AND id NOT IN {PLACES}"
    ));
    for table in ["held", "waiting"] {
        statements.push(format!(
            "UPDATE {table} SET host = (SELECT host FROM urls WHERE urls.id = {table}.id) \
             WHERE host NOT IN (SELECT id FROM hosts)"
        ));
    }
    for table in ["host_states", "unsettled", "lessons"] {
        statements.push(format!("DELETE FROM {table} WHERE host NOT IN (SELECT id FROM hosts)"));
    }
    // their counted pages may have changed
    statements.push("DELETE FROM unsettled".into());
    statements.push(format!(
        "UPDATE numbers SET value = {TOKEN_GAP} + max(value, (SELECT coalesce(max(token), 0) FROM held)) \
         WHERE name = 'token'"
    ));
    for (outcome, name) in OUTCOMES {
        let code = codes::outcome(outcome);
        statements.push(format!(
            "UPDATE numbers SET value = (SELECT count(*) FROM urls WHERE round = {round} AND outcome = {code}) \
             WHERE name = '{name}'"
        ));
    }
    for statement in statements {
        new.execute(&statement, []).map_err(sql)?;
    }
    let after: u64 = pending(new).map_err(sql)?;
    report.fetched_again = after.saturating_sub(before);
    report.lost_urls = report.tables.iter().find(|t| t.name == "urls").and_then(|t| t.lost).unwrap_or(0);
    Ok(())
}

/// Gives each URL the row of its host, which is created if it was lost.
fn hosts(new: &Connection) -> Result<(), StoreError> {
    let mut select = new
        .prepare("SELECT id, host, round, url FROM urls WHERE host NOT IN (SELECT id FROM hosts)")
        .map_err(sql)?;
    let lost: Vec<(i64, i64, i64, String)> = select
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .and_then(Iterator::collect)
        .map_err(sql)?;
    for (id, host, round, url) in lost {
        let name = Url::parse(&url).ok().as_ref().and_then(HostKey::of);
        let name = name.map_or_else(String::new, |name| name.to_string());
        let known: Option<i64> = new
            .query_row("SELECT id FROM hosts WHERE name = ?1", [&name], |row| row.get(0))
            .optional()
            .map_err(sql)?;
        match known {
            Some(known) => new.execute("UPDATE urls SET host = ?2 WHERE id = ?1", (id, known)),
            None => {
                new.execute("INSERT INTO hosts (id, name, round) VALUES (?1, ?2, ?3)", (host, &name, round))
            }
        }
        .map_err(sql)?;
    }
    Ok(())
}
