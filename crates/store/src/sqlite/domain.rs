//! [`DomainStore`] on SQLite.

use super::{
    Inner, SqliteStore,
    checksum::{checksum, read_checked},
    codes,
    error::sql,
    memory::Memory,
    url_keys::id_of,
};
use crawl_model::{ContentHash, DomainStore, HostKey, LeaseRef, Outcome, StoreError, UrlKey};
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
                "INSERT OR REPLACE INTO host_states (host, state, round, checksum) VALUES (?1, ?2, ?3, ?4)",
            )
            .and_then(|mut insert| insert.execute((host, state, memory.round, checksum(state))))
            .map_err(sql)?;
            conn.prepare_cached("DELETE FROM unsettled WHERE host = ?1")
                .and_then(|mut delete| delete.execute([host]))
                .map_err(sql)?;
            Ok(())
        })
    }

    fn load_unsettled(&self, host: &HostKey) -> Result<Option<Vec<u8>>, StoreError> {
        let mut inner = self.ready()?;
        let inner = &mut *inner;
        let Some(id) = inner.memory.find_host(&inner.conn, host).map_err(sql)? else { return Ok(None) };
        let mut select = inner
            .conn
            .prepare_cached("SELECT state, checksum FROM unsettled WHERE host = ?1")
            .map_err(sql)?;
        let found = select.query_row([id], |row| read_checked(row, 0)).optional().map_err(sql)?;
        Ok(found.and_then(|state| warn_if_damaged(state, host, "fingerprint")))
    }

    fn save_unsettled(&self, host: &HostKey, state: Option<&[u8]>) -> Result<(), StoreError> {
        self.ready()?.write(|conn, memory| {
            let host = memory.host(conn, host).map_err(sql)?;
            let done = match state {
                Some(state) => conn
                    .prepare_cached(
                        "INSERT OR REPLACE INTO unsettled (host, state, checksum) VALUES (?1, ?2, ?3)",
                    )
                    .and_then(|mut insert| insert.execute((host, state, checksum(state)))),
                None => conn
                    .prepare_cached("DELETE FROM unsettled WHERE host = ?1")
                    .and_then(|mut delete| delete.execute([host])),
            };
            done.map(|_| ()).map_err(sql)
        })
    }

    fn load_lessons(&self, host: &HostKey) -> Result<Option<Vec<u8>>, StoreError> {
        let mut inner = self.ready()?;
        let inner = &mut *inner;
        let Some(id) = inner.memory.find_host(&inner.conn, host).map_err(sql)? else { return Ok(None) };
        let mut select = inner
            .conn
            .prepare_cached("SELECT lessons, checksum FROM lessons WHERE host = ?1")
            .map_err(sql)?;
        let found = select.query_row([id], |row| read_checked(row, 0)).optional().map_err(sql)?;
        Ok(found.and_then(|lessons| warn_if_damaged(lessons, host, "strategies")))
    }

    fn save_lessons(&self, host: &HostKey, lessons: &[u8]) -> Result<(), StoreError> {
        self.ready()?.write(|conn, memory| {
            let host = memory.host(conn, host).map_err(sql)?;
            conn.prepare_cached(
                "INSERT OR REPLACE INTO lessons (host, lessons, checksum) VALUES (?1, ?2, ?3)",
            )
            .and_then(|mut insert| insert.execute((host, lessons, checksum(lessons))))
            .map_err(sql)?;
            Ok(())
        })
    }

    fn claim_content(&self, hash: &ContentHash, claimant: UrlKey, _: LeaseRef) -> Result<UrlKey, StoreError> {
        let first = self.ready()?.write(|conn, _| claim(conn, CONTENTS, hash.0, claimant.0).map_err(sql))?;
        Ok(first.map_or(claimant, UrlKey))
    }

    fn release_content(&self, hash: &ContentHash, claimant: UrlKey, _: LeaseRef) -> Result<(), StoreError> {
        self.ready()?.write(|conn, _| {
            conn.prepare_cached("DELETE FROM contents WHERE hash = ?1 AND claimant = ?2")
                .and_then(|mut delete| delete.execute((hash.0, claimant.0)))
                .map_err(sql)?;
            Ok(())
        })
    }

    fn became_page(&self, url: UrlKey) -> Result<bool, StoreError> {
        let inner = self.ready()?;
        let Some(id) = id_of(&inner.conn, &url).map_err(sql)? else { return Ok(false) };
        let [record, unchanged] = [Outcome::Record, Outcome::Unchanged].map(codes::outcome);
        let mut select = inner.conn.prepare_cached(BECAME_PAGE).map_err(sql)?;
        let Memory { round, recrawl, .. } = &inner.memory;
        select.query_row((id, round, recrawl, record, unchanged), |row| row.get(0)).map_err(sql)
    }
}

/// Statements to claim, and to find the claimant.
type Claim = [&'static str; 2];

const CONTENTS: Claim = [
    "INSERT INTO contents (hash, claimant) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
    "SELECT claimant FROM contents WHERE hash = ?1",
];

/// A URL that this round enqueued has no earlier outcome; one with an earlier outcome rests.
const BECAME_PAGE: &str = "SELECT EXISTS (SELECT 1 FROM urls WHERE id = ?1 AND (round = ?2 OR ?3) AND \
                           (outcome IN (?4, ?5) OR id IN (SELECT id FROM held)))";

/// Round and state of a host's fingerprint.
fn state_of(inner: &mut Inner, host: &HostKey) -> Result<Option<(u32, Vec<u8>)>, StoreError> {
    let Some(id) = inner.memory.find_host(&inner.conn, host).map_err(sql)? else { return Ok(None) };
    let mut select = inner
        .conn
        .prepare_cached("SELECT round, state, checksum FROM host_states WHERE host = ?1")
        .map_err(sql)?;
    let found =
        select.query_row([id], |row| Ok((row.get(0)?, read_checked(row, 1)?))).optional().map_err(sql)?;
    Ok(found.and_then(|(round, state)| Some((round, warn_if_damaged(state, host, "fingerprint")?))))
}

/// Returns the blob, or warns of a wrong checksum; the data is then learned again.
fn warn_if_damaged(read: Option<Vec<u8>>, host: &HostKey, what: &str) -> Option<Vec<u8>> {
    if read.is_none() {
        tracing::warn!(%host, "the saved state of the host ({what}) is damaged: it is learned again");
    }
    read
}

/// Claims for a claimant and returns the earlier claimant; none if the claim is now the claimant's.
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
