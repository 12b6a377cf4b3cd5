//! Copies of all readable and consistent rows of a table.

use crate::sqlite::{check::BLOBS, checksum::is_intact, error::sql, url_keys};
use crate::upkeep::TableReport;
use crawl_model::StoreError;
use rusqlite::{Connection, params_from_iter, types::Value};
use serde::de::IgnoredAny;
use std::collections::VecDeque;

/// Consecutive reads without a row of a table before the rest of its gaps is skipped.
const MOST_FAILURES: u32 = 500;

/// The tables of a database.
pub(super) fn tables(conn: &Connection) -> rusqlite::Result<Vec<String>> {
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
pub(super) fn copy(old: &Connection, new: &Connection, table: &str) -> Result<TableReport, StoreError> {
    let columns = columns(new, table).map_err(sql)?;
    let rowid = new.prepare(&format!("SELECT rowid FROM {table} LIMIT 0")).is_ok();
    let mut copy = Copy { old, new, table, columns, rowid, kept: 0, refused: 0, failures: 0, last: 0 };
    if rowid {
        copy.range(i64::MIN, i64::MAX)?;
    } else {
        copy.copy_from_both_ends()?;
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
    fn copy_from_both_ends(&mut self) -> Result<(), StoreError> {
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
        return url_keys::fits(url, key);
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
