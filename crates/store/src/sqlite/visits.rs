//! Results of visits, in two tables beside that of the URLs. The view `visited` joins the three.

use super::{
    codes,
    error::sql,
    recrawl::{HISTORY, history, read_history},
};
use crate::visited::Visited;
use crawl_model::{Outcome, PageHistory, RequestId, StoreError, TextHash, Visits};
use rusqlite::{CachedStatement, Connection, OptionalExtension, types::Value};
use std::time::UNIX_EPOCH;

/// Statements that add the results of visits.
pub(super) struct VisitStatements<'c> {
    read: CachedStatement<'c>,
    end: CachedStatement<'c>,
    write: CachedStatement<'c>,
    write_times: CachedStatement<'c>,
    drop_times: CachedStatement<'c>,
}

impl<'c> VisitStatements<'c> {
    pub(super) fn prepare(conn: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            read: conn.prepare_cached(&format!(
                "SELECT {HISTORY}, read_at, seen_at, first_at, changed_at, visits, changes FROM visited WHERE id = ?1"
            ))?,
            end: conn.prepare_cached("UPDATE urls SET outcome = ?2 WHERE id = ?1")?,
            write: conn.prepare_cached(
                "INSERT OR REPLACE INTO history (id, status, etag, last_modified, content_hash, text_hash, body_hash, \
                 rules, via, fetched_at, fetched_lastmod) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            )?,
            write_times: conn.prepare_cached(
                "INSERT OR REPLACE INTO revisits (id, read_at, seen_at, first_at, changed_at, visits, changes) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?,
            drop_times: conn.prepare_cached("DELETE FROM revisits WHERE id = ?1")?,
        })
    }

    /// Ends a visit of a URL with an outcome and its results.
    pub(super) fn add(
        &mut self,
        id: RequestId,
        outcome: Outcome,
        results: &PageHistory,
    ) -> Result<(), StoreError> {
        let mut visited = self.read(id)?;
        let had_times = !visited.is_first_visit();
        visited.learn(outcome, results);
        self.end.execute((id.0, codes::outcome(outcome))).map_err(sql)?;
        self.write(id, &visited.history).map_err(sql)?;
        if visited.is_first_visit() {
            if had_times {
                self.drop_times.execute([id.0]).map_err(sql)?;
            }
            return Ok(());
        }
        let Visits { first_ms, changed_ms, visits, changes } = visited.visits;
        let row = (id.0, visited.read_at, visited.seen_at, first_ms, changed_ms, visits, changes);
        self.write_times.execute(row).map_err(sql)?;
        Ok(())
    }

    fn read(&mut self, id: RequestId) -> Result<Visited, StoreError> {
        let found = self.read.query_row([id.0], |row| {
            let visits = Visits {
                first_ms: row.get(12)?,
                changed_ms: row.get(13)?,
                visits: row.get(14)?,
                changes: row.get(15)?,
            };
            Ok((read_history(row, 0)?, row.get(10)?, row.get(11)?, visits))
        });
        let Some((read, read_at, seen_at, visits)) = found.optional().map_err(sql)? else {
            return Ok(Visited::default());
        };
        Ok(Visited { history: history(read)?, read_at, seen_at, visits })
    }

    fn write(&mut self, id: RequestId, history: &PageHistory) -> rusqlite::Result<()> {
        let text_hash = history.text_hash.map(|hash| {
            let is_content = history.content_hash.map(TextHash::from) == Some(hash);
            if is_content { Vec::new() } else { hash.0.to_vec() }
        });
        self.write
            .execute((
                id.0,
                history.status,
                &history.etag,
                history.last_modified.as_deref().map(short_date),
                history.content_hash.map(|hash| hash.0),
                text_hash,
                history.body_hash.map(|hash| hash.0),
                history.rules.map(|rules| rules.0),
                history.strategy.map(codes::strategy),
                history.fetched_at_ms,
                &history.sitemap_lastmod,
            ))
            .map(|_| ())
    }
}

/// A date of HTTP as seconds, or the text if it is written in another way.
fn short_date(text: &str) -> Value {
    let exact = httpdate::parse_http_date(text).ok().filter(|time| httpdate::fmt_http_date(*time) == text);
    let seconds = exact.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).map(|since| since.as_secs());
    match seconds.and_then(|seconds| i64::try_from(seconds).ok()) {
        Some(seconds) => Value::Integer(seconds),
        None => Value::Text(text.to_owned()),
    }
}

/// Stores the status of a URL before its visit has ended.
pub(super) fn note_status(conn: &Connection, id: RequestId, status: u16) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "INSERT INTO history (id, status) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET status = excluded.status",
    )?
    .execute((id.0, status))
    .map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::super::MIGRATIONS;
    use super::*;
    use crawl_model::{BodyHash, ContentHash};

    fn database() -> Connection {
        let conn = Connection::open_in_memory().unwrap();
        MIGRATIONS.iter().for_each(|migration| conn.execute_batch(migration).unwrap());
        conn.execute("INSERT INTO urls (id, key, host, round, depth, discovery, url) VALUES (1, x'00', 1, 0, 0, 1, 'u')", [])
            .unwrap();
        conn
    }

    #[test]
    fn stored_headers_round_trip_byte_for_byte() {
        let conn = database();
        let dates = [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Thu, 29 Feb 2024 23:59:59 GMT",
            "Thu, 01 Jan 1970 00:00:00 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Mon, 06 Nov 1994 08:49:37 GMT",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "yesterday",
            "784111777",
        ];
        for (n, date) in dates.into_iter().enumerate() {
            let results = PageHistory {
                last_modified: Some(date.into()),
                content_hash: Some(ContentHash::of(date)),
                text_hash: Some(if n % 2 == 0 { TextHash::of(date) } else { TextHash::of("text") }),
                body_hash: Some(BodyHash::of(b"", None)),
                fetched_at_ms: Some(1),
                ..PageHistory::default()
            };
            let mut statements = VisitStatements::prepare(&conn).unwrap();
            statements.add(RequestId(1), Outcome::Record, &results).unwrap();
            assert_eq!(statements.read(RequestId(1)).unwrap().history, results);
            let kind: String =
                conn.query_row("SELECT typeof(last_modified) FROM history", [], |row| row.get(0)).unwrap();
            assert_eq!(kind, if n < 3 { "integer" } else { "text" }, "{date}");
        }
    }

    #[test]
    fn first_visit_takes_one_row_and_later_visits_two() {
        let conn = database();
        let rows = || -> (i64, i64) {
            let count = "SELECT (SELECT count(*) FROM history), (SELECT count(*) FROM revisits)";
            conn.query_row(count, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
        };
        let mut statements = VisitStatements::prepare(&conn).unwrap();
        let mut visit = |outcome, content: Option<&str>, at| {
            let content_hash = content.map(ContentHash::of);
            let results = PageHistory { content_hash, fetched_at_ms: Some(at), ..PageHistory::default() };
            statements.add(RequestId(1), outcome, &results).unwrap();
            statements.read(RequestId(1)).unwrap()
        };
        let first = visit(Outcome::Record, Some("a"), 10);
        assert_eq!((rows(), first.read_at, first.seen_at), ((1, 0), Some(10), Some(10)));
        let second = visit(Outcome::Unchanged, None, 20);
        assert_eq!((rows(), second.read_at, second.seen_at), ((1, 1), Some(10), Some(20)));
        assert_eq!(second.visits, Visits { first_ms: Some(10), changed_ms: Some(10), visits: 1, changes: 0 });
        let third = visit(Outcome::Record, Some("b"), 5);
        assert_eq!((third.visits.first_ms, third.visits.visits, third.visits.changes), (Some(5), 2, 1));
    }
}
