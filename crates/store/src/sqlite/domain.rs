//! [`DomainStore`] on SQLite.

use super::{Inner, SqliteStore, codes, error::sql, memory::Memory};
use crawl_model::{ContentHash, DomainStore, HostKey, Outcome, StoreError, UrlKey};
use rusqlite::{Connection, OptionalExtension, ToSql, types::FromSql};

impl DomainStore for SqliteStore {
    fn load_host(&self, host: &HostKey) -> Result<Option<Vec<u8>>, StoreError> {
        let mut inner = self.ready()?;
        let inner = &mut *inner;
        Ok(state_of(inner, host)?.filter(|(round, _)| *round == inner.memory.round).map(|(_, state)| state))
    }

    fn load_earlier_host(&self, host: &HostKey) -> Result<Option<Vec<u8>>, StoreError> {
        let mut inner = self.ready()?;
        let inner = &mut *inner;
        Ok(state_of(inner, host)?.filter(|(round, _)| *round != inner.memory.round).map(|(_, state)| state))
    }

    fn save_host(&self, host: &HostKey, state: &[u8]) -> Result<(), StoreError> {
        self.ready()?.write(|conn, memory| {
            let host = memory.host(conn, host).map_err(sql)?;
            conn.prepare_cached(
                "INSERT OR REPLACE INTO host_states (host, state, round) VALUES (?1, ?2, ?3)",
            )
            .and_then(|mut insert| insert.execute((host, state, memory.round)))
            .map_err(sql)?;
            Ok(())
        })
    }

    fn load_lessons(&self, host: &HostKey) -> Result<Option<Vec<u8>>, StoreError> {
        let mut inner = self.ready()?;
        let inner = &mut *inner;
        let Some(host) = inner.memory.find_host(&inner.conn, host).map_err(sql)? else { return Ok(None) };
        let mut select =
            inner.conn.prepare_cached("SELECT lessons FROM lessons WHERE host = ?1").map_err(sql)?;
        select.query_row([host], |row| row.get(0)).optional().map_err(sql)
    }

    fn save_lessons(&self, host: &HostKey, lessons: &[u8]) -> Result<(), StoreError> {
        self.ready()?.write(|conn, memory| {
            let host = memory.host(conn, host).map_err(sql)?;
            conn.prepare_cached("INSERT OR REPLACE INTO lessons (host, lessons) VALUES (?1, ?2)")
                .and_then(|mut insert| insert.execute((host, lessons)))
                .map_err(sql)?;
            Ok(())
        })
    }

    fn claim_content(&self, hash: &ContentHash, claimant: UrlKey) -> Result<UrlKey, StoreError> {
        let first = self.ready()?.write(|conn, _| claim(conn, CONTENTS, hash.0, claimant.0).map_err(sql))?;
        Ok(first.map_or(claimant, UrlKey))
    }

    fn release_content(&self, hash: &ContentHash, claimant: UrlKey) -> Result<(), StoreError> {
        self.ready()?.write(|conn, _| {
            conn.prepare_cached("DELETE FROM contents WHERE hash = ?1 AND claimant = ?2")
                .and_then(|mut delete| delete.execute((hash.0, claimant.0)))
                .map_err(sql)?;
            Ok(())
        })
    }

    fn became_page(&self, url: UrlKey) -> Result<bool, StoreError> {
        let inner = self.ready()?;
        let [record, unchanged] = [Outcome::Record, Outcome::Unchanged].map(codes::outcome);
        let mut select = inner.conn.prepare_cached(BECAME_PAGE).map_err(sql)?;
        let Memory { round, recrawl, .. } = &inner.memory;
        select.query_row((url.0, round, recrawl, record, unchanged), |row| row.get(0)).map_err(sql)
    }
}

/// How to claim, and how to find who did.
type Claim = [&'static str; 2];

const CONTENTS: Claim = [
    "INSERT INTO contents (hash, claimant) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
    "SELECT claimant FROM contents WHERE hash = ?1",
];

/// An outcome of an earlier round was cleared when the URL was enqueued in this one; where it was not, the URL rests.
const BECAME_PAGE: &str = "SELECT EXISTS (SELECT 1 FROM urls WHERE key = ?1 AND (round = ?2 OR ?3) AND \
                           (outcome IN (?4, ?5) OR id IN (SELECT id FROM held)))";

/// The round and the state of a host's fingerprint.
fn state_of(inner: &mut Inner, host: &HostKey) -> Result<Option<(u32, Vec<u8>)>, StoreError> {
    let Some(host) = inner.memory.find_host(&inner.conn, host).map_err(sql)? else { return Ok(None) };
    let mut select =
        inner.conn.prepare_cached("SELECT round, state FROM host_states WHERE host = ?1").map_err(sql)?;
    select.query_row([host], |row| Ok((row.get(0)?, row.get(1)?))).optional().map_err(sql)
}

/// Who claimed it before; nobody, if it is the claimant's now.
fn claim<T: ToSql + FromSql>(
    conn: &Connection,
    [insert, select]: Claim,
    key: impl ToSql,
    claimant: T,
) -> rusqlite::Result<Option<T>> {
    if conn.prepare_cached(insert)?.execute((&key, claimant))? == 1 {
        return Ok(None);
    }
    conn.prepare_cached(select)?.query_row([&key], |row| row.get(0)).map(Some)
}
