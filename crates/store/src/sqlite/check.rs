//! Checks of a whole state without a running crawl: the structure of the database, and the agreement of its
//! tables.

use super::{
    FILE, MIGRATIONS, OfflinePurpose, SqliteStore,
    checksum::is_intact,
    connect_offline,
    error::sql,
    migrate,
    seal::{self, Seal},
    url_keys::fits,
};
use crate::upkeep::CheckReport;
use crawl_model::StoreError;
use rusqlite::Connection;
use serde::de::IgnoredAny;
use std::path::Path;

/// Maximum number of reported rows per check.
const EXAMPLES: usize = 3;

/// All states of an unsettled URL, by its id.
pub(super) const PLACES: &str = "(SELECT id FROM queue UNION ALL SELECT id FROM waiting UNION ALL \
                                 SELECT id FROM leases UNION ALL SELECT id FROM held)";
const ROUND: &str = "(SELECT value FROM numbers WHERE name = 'round')";

impl SqliteStore {
    /// Checks the state of a directory that no run uses. Changes nothing.
    ///
    /// # Errors
    /// When the database cannot be opened. [`StoreError::Version`] when a newer program wrote it,
    /// [`StoreError::Other`] when there is none.
    pub fn check(dir: &Path) -> Result<CheckReport, StoreError> {
        if !Self::exists(dir) {
            return Err(StoreError::Other(format!("{} holds no state of a crawl", dir.display())));
        }
        let mut report = CheckReport::default();
        let seal = seal::look(dir)?;
        let conn = connect_offline(&dir.join(FILE), OfflinePurpose::Read).map_err(sql)?;
        let version = migrate::version(&conn, MIGRATIONS)?;
        let size = std::fs::metadata(dir.join(FILE)).map_or(0, |found| found.len());
        report.looked_at.push(("bytes of the database".into(), size));
        let faults = seal::faults(&conn, true).unwrap_or_else(|error| vec![error.to_string()]);
        report.findings.extend(faults.into_iter().map(|fault| format!("structure: {fault}")));
        if seal == Seal::Broken {
            report
                .findings
                .push("the database is not as the last run left it: something else changed it".into());
        }
        if version < migrate::newest(MIGRATIONS) {
            report.looked_at.push((format!("tables (none: version {version}, which a crawl updates)"), 0));
            return Ok(report);
        }
        for (name, statement) in tables_agree() {
            report.find(&conn, &name, &statement);
        }
        report.keys(&conn);
        for (table, key, blob) in BLOBS {
            report.blobs(&conn, table, key, blob);
        }
        report.settings(&conn);
        Ok(report)
    }
}

/// Tables with a checksum: name, key and blob.
pub(super) const BLOBS: [(&str, &str, &str); 6] = [
    ("held", "id", "page"),
    ("so_far", "id", "pages"),
    ("host_states", "host", "state"),
    ("unsettled", "host", "state"),
    ("lessons", "host", "lessons"),
    ("robots", "origin", "body"),
];

/// Statements that return faulty rows, each with a description.
fn tables_agree() -> Vec<(String, String)> {
    let mut checks = vec![
        (
            "a URL without its host".to_owned(),
            "SELECT url FROM urls LEFT JOIN hosts ON hosts.id = urls.host WHERE hosts.id IS NULL".to_owned(),
        ),
        (
            "an entry of the frontier without its URL".into(),
            format!("SELECT place.id FROM {PLACES} AS place LEFT JOIN urls USING (id) WHERE urls.id IS NULL"),
        ),
        (
            "a URL in two places of the frontier".into(),
            format!("SELECT id FROM {PLACES} GROUP BY id HAVING count(*) > 1"),
        ),
        (
            "a URL of this round that is neither in the frontier nor settled".into(),
            format!("SELECT url FROM urls WHERE round = {ROUND} AND outcome IS NULL AND id NOT IN {PLACES}"),
        ),
        (
            "a settled URL in the frontier".into(),
            format!("SELECT url FROM urls WHERE round = {ROUND} AND outcome IS NOT NULL AND id IN {PLACES}"),
        ),
        (
            "a lease token that was never assigned".into(),
            "SELECT id FROM (SELECT id, token FROM leases UNION ALL SELECT id, token FROM held) \
             WHERE token > (SELECT value FROM numbers WHERE name = 'token')"
                .into(),
        ),
        (
            "a count of settled URLs that is not their number".into(),
            format!(
                "SELECT name || ': ' || value || ' counted, ' || found || ' found' FROM ({}) WHERE value <> found",
                counted(ROUND)
            ),
        ),
    ];
    for table in ["history", "revisits"] {
        checks.push((
            format!("a row of {table} without its URL"),
            format!("SELECT id FROM {table} WHERE id NOT IN (SELECT id FROM urls)"),
        ));
    }
    for table in ["queue", "waiting", "leases", "held", "host_states", "unsettled", "lessons"] {
        checks.push((
            format!("a row of {table} without its host"),
            format!("SELECT {table}.host FROM {table} LEFT JOIN hosts ON hosts.id = {table}.host WHERE hosts.id IS NULL"),
        ));
    }
    checks
}

/// Settled URLs of a round: name, stored number, actual number.
fn counted(round: &str) -> String {
    let one = |(outcome, name): &(crawl_model::Outcome, &str)| {
        let code = super::codes::outcome(*outcome);
        format!(
            "SELECT '{name}' AS name, (SELECT value FROM numbers WHERE name = '{name}') AS value, \
             (SELECT count(*) FROM urls WHERE round = {round} AND outcome = {code}) AS found"
        )
    };
    super::codes::OUTCOMES.iter().map(one).collect::<Vec<_>>().join(" UNION ALL ")
}

impl CheckReport {
    /// Reports the rows of a statement as faults.
    fn find(&mut self, conn: &Connection, name: &str, statement: &str) {
        let read = || -> rusqlite::Result<Vec<String>> {
            let mut select = conn.prepare(statement)?;
            let mut rows = select.query([])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push(in_words(row.get_ref(0)?));
            }
            Ok(found)
        };
        match read() {
            Ok(found) => self.note(name, &found),
            Err(error) => self.findings.push(format!("{name}: cannot be checked: {error}")),
        }
    }

    fn note(&mut self, name: &str, found: &[String]) {
        if !found.is_empty() {
            let examples = found.iter().take(EXAMPLES).map(String::as_str).collect::<Vec<_>>().join(", ");
            let more = if found.len() > EXAMPLES { ", …" } else { "" };
            self.findings.push(format!("{name}: {} ({examples}{more})", found.len()));
        }
    }

    /// Compares keys with their URLs.
    fn keys(&mut self, conn: &Connection) {
        let (mut rows, mut wrong) = (0, Vec::new());
        let read = conn.prepare("SELECT key, url FROM urls").and_then(|mut select| {
            let mut found = select.query([])?;
            while let Some(row) = found.next()? {
                rows += 1;
                let (key, url): (Vec<u8>, String) = (row.get(0)?, row.get(1)?);
                if !fits(&url, &key) {
                    wrong.push(url);
                }
            }
            Ok(())
        });
        self.end("urls", rows, "a URL that does not fit its key", &wrong, read);
    }

    /// Compares blobs with their checksums. A held page of an older version has none, but must be JSON.
    fn blobs(&mut self, conn: &Connection, table: &str, key: &str, blob: &str) {
        let (mut rows, mut wrong) = (0, Vec::new());
        let select = format!("SELECT {key}, {blob}, checksum FROM {table}");
        let read = conn.prepare(&select).and_then(|mut select| {
            let mut found = select.query([])?;
            while let Some(row) = found.next()? {
                rows += 1;
                let (bytes, sum): (Vec<u8>, Option<i64>) = (row.get(1)?, row.get(2)?);
                let json = table != "held" || serde_json::from_slice::<IgnoredAny>(&bytes).is_ok();
                if !is_intact(&bytes, sum) || !json {
                    wrong.push(in_words(row.get_ref(0)?));
                }
            }
            Ok(())
        });
        self.end(table, rows, &format!("a damaged row of {table}"), &wrong, read);
    }

    /// Checks that values which begin like JSON are JSON.
    fn settings(&mut self, conn: &Connection) {
        let (mut rows, mut wrong) = (0, Vec::new());
        let read = conn.prepare("SELECT name, value FROM settings").and_then(|mut select| {
            let mut found = select.query([])?;
            while let Some(row) = found.next()? {
                rows += 1;
                let (name, value): (String, String) = (row.get(0)?, row.get(1)?);
                let json = value.starts_with(['{', '[']);
                if json && serde_json::from_str::<IgnoredAny>(&value).is_err() {
                    wrong.push(name);
                }
            }
            Ok(())
        });
        self.end("settings", rows, "a setting that cannot be read", &wrong, read);
    }

    fn end(&mut self, table: &str, rows: u64, name: &str, wrong: &[String], read: rusqlite::Result<()>) {
        self.looked_at.push((format!("rows of {table}"), rows));
        self.note(name, wrong);
        if let Err(error) = read {
            self.findings.push(format!("{table}: cannot be read behind row {rows}: {error}"));
        }
    }
}

fn in_words(value: rusqlite::types::ValueRef<'_>) -> String {
    use rusqlite::types::ValueRef;
    match value {
        ValueRef::Integer(n) => n.to_string(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
        ValueRef::Real(n) => n.to_string(),
        ValueRef::Null => "null".into(),
        ValueRef::Blob(bytes) => format!("{} bytes", bytes.len()),
    }
}
