//! Ending leases and held pages.

use super::{
    Inner, codes,
    error::sql,
    frontier::forget_so_far,
    memory::{Memory, OUTCOMES, set_number},
    texts,
};
use crate::ledger::{HostId, Place};
use crawl_model::{LeaseRef, NewText, Outcome, OutputMark, RequestId, Settlement, StoreError, UrlKey};
use rusqlite::{CachedStatement, Connection, OptionalExtension};

/// The content was seen: everything that an earlier visit taught is replaced.
const REPLACE: &str = "UPDATE urls SET outcome = ?2, status = ?3, etag = ?4, last_modified = ?5, \
                       content_hash = ?6, fetched_at = ?7, fetched_lastmod = ?8 WHERE id = ?1";

/// It was not (a 304, a failure): only what is given is overwritten.
const MERGE: &str = "UPDATE urls SET outcome = ?2, status = coalesce(?3, status), etag = coalesce(?4, etag), \
                     last_modified = coalesce(?5, last_modified), content_hash = coalesce(?6, content_hash), \
                     fetched_at = coalesce(?7, fetched_at), fetched_lastmod = coalesce(?8, fetched_lastmod) \
                     WHERE id = ?1";

impl Inner {
    pub(super) fn settle(
        &mut self,
        batch: &[Settlement],
        outputs: &[OutputMark],
        texts: &[NewText],
    ) -> Result<usize, StoreError> {
        if batch.is_empty() && outputs.is_empty() && texts.is_empty() {
            return Ok(0);
        }
        let stale = self.write(|conn, memory| {
            let before = memory.settled;
            let stale = settle_all(conn, memory, batch).map_err(sql)?;
            for ((now, was), (_, name)) in memory.settled.iter().zip(before).zip(OUTCOMES) {
                if *now != was {
                    set_number(conn, name, now.cast_signed()).map_err(sql)?;
                }
            }
            mark_all(conn, outputs)?;
            for text in texts {
                texts::put(conn, memory.round, text).map_err(sql)?;
            }
            Ok(stale)
        })?;
        self.commit()?;
        Ok(stale)
    }
}

/// Returns how many were not held any more.
fn settle_all(conn: &Connection, memory: &mut Memory, batch: &[Settlement]) -> rusqlite::Result<usize> {
    let mut ending = Ending::prepare(conn)?;
    let (mut replace, mut merge) = (conn.prepare_cached(REPLACE)?, conn.prepare_cached(MERGE)?);
    let mut stale = 0;
    for settlement in batch {
        let Some((host, place)) = ending.end(settlement.lease)? else {
            stale += 1;
            continue;
        };
        memory.ledger.take(host, place, 1);
        forget_so_far(conn, memory, settlement.lease.id)?;
        if let Some(n) = OUTCOMES.iter().position(|(outcome, _)| *outcome == settlement.outcome) {
            memory.settled[n] += 1;
        }
        if settlement.outcome != Outcome::Record {
            // a page that is none any more is nothing that others repeat
            texts::forget(conn, key_of(conn, settlement.lease.id)?)?;
        }
        let history = &settlement.history;
        let update = if history.content_hash.is_some() { &mut replace } else { &mut merge };
        update.execute((
            settlement.lease.id.0,
            codes::outcome(settlement.outcome),
            history.status,
            &history.etag,
            &history.last_modified,
            history.content_hash.map(|hash| hash.0),
            history.fetched_at_ms,
            &history.sitemap_lastmod,
        ))?;
    }
    Ok(stale)
}

fn key_of(conn: &Connection, url: RequestId) -> rusqlite::Result<UrlKey> {
    conn.prepare_cached("SELECT key FROM urls WHERE id = ?1")?
        .query_row([url.0], |row| row.get(0).map(UrlKey))
}

/// Removes a lease, or a held page, whose token is the one given.
struct Ending<'c> {
    lease: CachedStatement<'c>,
    held: CachedStatement<'c>,
}

impl<'c> Ending<'c> {
    fn prepare(conn: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            lease: conn.prepare_cached(END_LEASE)?,
            held: conn.prepare_cached("DELETE FROM held WHERE id = ?1 AND token = ?2 RETURNING host")?,
        })
    }

    fn end(&mut self, lease: LeaseRef) -> rusqlite::Result<Option<(HostId, Place)>> {
        let key = (lease.id.0, lease.token.0);
        if let Some(host) = self.lease.query_row(key, |row| row.get(0)).optional()? {
            return Ok(Some((host, Place::Leased)));
        }
        let host = self.held.query_row(key, |row| row.get(0)).optional()?;
        Ok(host.map(|host| (host, Place::Held)))
    }
}

const END_LEASE: &str = "DELETE FROM leases WHERE id = ?1 AND token = ?2 RETURNING host";

/// Removes a lease whose token is the one given; its host, if it was still held.
pub(super) fn end_lease(conn: &Connection, lease: LeaseRef) -> rusqlite::Result<Option<HostId>> {
    conn.prepare_cached(END_LEASE)?.query_row((lease.id.0, lease.token.0), |row| row.get(0)).optional()
}

fn mark_all(conn: &Connection, outputs: &[OutputMark]) -> Result<(), StoreError> {
    let mut mark = conn
        .prepare_cached(
            "INSERT INTO outputs (name, reach) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET reach = excluded.reach",
        )
        .map_err(sql)?;
    for output in outputs {
        let offset = i64::try_from(output.offset).map_err(|e| StoreError::Other(e.to_string()))?;
        mark.execute((&output.name, offset)).map_err(sql)?;
    }
    Ok(())
}
