//! Pages of this worker on its own disk: held pages, and results between strategies. In the database
//! they would double its log. A worker that takes over a host fetches them again.

use crate::{file_error::io_error, private};
use crawl_model::StoreError;
use rusqlite::{Connection, OptionalExtension};
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

/// Name of the file in the directory of the worker.
const FILE: &str = "waiting.sqlite";

/// Kind of a stored page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Held until the fingerprint of its host settles.
    Held = 0,
    /// Result of earlier strategies.
    PartialResult = 1,
}

/// Pages that wait, in a database of the worker.
pub(super) struct Spool {
    conn: Connection,
}

impl Spool {
    pub(super) fn open(dir: Option<&Path>) -> Result<Self, StoreError> {
        let conn = match dir {
            Some(dir) => {
                private::create_dir_all(dir).map_err(|e| io_error(dir, &e))?;
                let path = dir.join(FILE);
                private::create(&path).map_err(|e| io_error(&path, &e))?;
                Connection::open(path)
            }
            None => Connection::open_in_memory(),
        };
        let conn = conn.map_err(sql)?;
        // a page that a loss of power takes is fetched again
        conn.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; \
             CREATE TABLE IF NOT EXISTS pages (kind INTEGER NOT NULL, id INTEGER NOT NULL, token INTEGER NOT NULL, \
             checksum INTEGER NOT NULL, page BLOB NOT NULL, PRIMARY KEY (kind, id))",
        )
        .map_err(sql)?;
        Ok(Self { conn })
    }

    pub(super) fn put(&self, kind: Kind, id: i64, token: i64, page: &[u8]) -> Result<(), StoreError> {
        self.conn
            .prepare_cached(
                "INSERT OR REPLACE INTO pages (kind, id, token, checksum, page) VALUES (?1, ?2, ?3, ?4, ?5)",
            )
            .and_then(|mut insert| {
                insert.execute((kind as i64, id, token, xxh3_64(page).cast_signed(), page))
            })
            .map(|_| ())
            .map_err(sql)
    }

    /// A page with its token; `None` if it is missing or damaged.
    pub(super) fn get(&self, kind: Kind, id: i64) -> Result<Option<(i64, Vec<u8>)>, StoreError> {
        let found: Option<(i64, i64, Vec<u8>)> = self
            .conn
            .prepare_cached("SELECT token, checksum, page FROM pages WHERE kind = ?1 AND id = ?2")
            .and_then(|mut select| {
                select
                    .query_row((kind as i64, id), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
                    .optional()
            })
            .map_err(sql)?;
        let intact = |(_, checksum, page): &(i64, i64, Vec<u8>)| xxh3_64(page).cast_signed() == *checksum;
        Ok(found.filter(intact).map(|(token, _, page)| (token, page)))
    }

    /// The token of a page; `None` if the page is missing.
    pub(super) fn token(&self, kind: Kind, id: i64) -> Result<Option<i64>, StoreError> {
        self.conn
            .prepare_cached("SELECT token FROM pages WHERE kind = ?1 AND id = ?2")
            .and_then(|mut select| select.query_row((kind as i64, id), |row| row.get(0)).optional())
            .map_err(sql)
    }

    pub(super) fn remove(&self, kind: Kind, id: i64) -> Result<(), StoreError> {
        self.conn
            .prepare_cached("DELETE FROM pages WHERE kind = ?1 AND id = ?2")
            .and_then(|mut delete| delete.execute((kind as i64, id)))
            .map(|_| ())
            .map_err(sql)
    }

    pub(super) fn clear(&self) -> Result<(), StoreError> {
        self.conn.execute("DELETE FROM pages", []).map(|_| ()).map_err(sql)
    }

    /// Removes held pages that are no longer held.
    pub(super) fn retain(&self, is_held: impl Fn(i64) -> bool) -> Result<(), StoreError> {
        let ids: Vec<i64> = self
            .conn
            .prepare("SELECT id FROM pages WHERE kind = 0")
            .and_then(|mut select| select.query_map([], |row| row.get(0))?.collect())
            .map_err(sql)?;
        ids.into_iter().filter(|id| !is_held(*id)).try_for_each(|id| self.remove(Kind::Held, id))
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err takes")]
fn sql(error: rusqlite::Error) -> StoreError {
    StoreError::Full(format!("the waiting pages of this worker: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spooled_pages_survive_a_restart_and_damage_is_detected() {
        let dir = tempfile::tempdir().unwrap();
        let spool = Spool::open(Some(dir.path())).unwrap();
        spool.put(Kind::Held, 1, 7, b"one").unwrap();
        spool.put(Kind::Held, 2, 8, b"two").unwrap();
        spool.put(Kind::PartialResult, 1, 7, b"so far").unwrap();
        drop(spool);
        let spool = Spool::open(Some(dir.path())).unwrap();
        spool.retain(|id| id == 1).unwrap();
        assert_eq!(spool.get(Kind::Held, 1).unwrap(), Some((7, b"one".to_vec())));
        assert_eq!(spool.get(Kind::Held, 2).unwrap(), None);
        spool.conn.execute("UPDATE pages SET page = x'00' WHERE kind = 0", []).unwrap();
        assert_eq!(spool.get(Kind::Held, 1).unwrap(), None);
        assert_eq!(spool.get(Kind::PartialResult, 1).unwrap(), Some((7, b"so far".to_vec())));
    }
}
