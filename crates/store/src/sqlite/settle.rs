//! Ending leases and held pages.

use super::{
    Inner,
    codes::OUTCOMES,
    error::sql,
    held::delete_partial_result,
    memory::{Memory, set_number},
    texts::Texts,
    visits::VisitStatements,
};
use crate::ledger::{HostId, UrlState};
use crawl_model::{LeaseRef, NewText, Outcome, OutputMark, RequestId, Settlement, StoreError, UrlKey};
use rusqlite::{CachedStatement, Connection, OptionalExtension};

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
            let stale = settle_all(conn, memory, batch)?;
            for ((now, was), (_, name)) in memory.settled.iter().zip(before).zip(OUTCOMES) {
                if *now != was {
                    set_number(conn, name, now.cast_signed()).map_err(sql)?;
                }
            }
            mark_all(conn, outputs)?;
            let mut index = Texts::of_crawl(conn, memory);
            texts.iter().try_for_each(|text| index.put(text)).map_err(sql)?;
            index.write_bands().map_err(sql)?;
            Ok(stale)
        })?;
        self.commit()?;
        Ok(stale)
    }
}

/// Settles leases; returns the number of those no longer held.
fn settle_all(conn: &Connection, memory: &mut Memory, batch: &[Settlement]) -> Result<usize, StoreError> {
    let mut statements = EndStatements::prepare(conn).map_err(sql)?;
    let mut visits = VisitStatements::prepare(conn).map_err(sql)?;
    let mut stale = 0;
    for settlement in batch {
        let Some((host, place)) = statements.end(settlement.lease).map_err(sql)? else {
            stale += 1;
            continue;
        };
        memory.ledger.take(host, place, 1);
        delete_partial_result(conn, memory, settlement.lease.id).map_err(sql)?;
        if let Some(n) = OUTCOMES.iter().position(|(outcome, _)| *outcome == settlement.outcome) {
            memory.settled[n] += 1;
        }
        if settlement.outcome != Outcome::Record {
            let page = key_of(conn, settlement.lease.id).map_err(sql)?;
            let mut texts = Texts::of_crawl(conn, memory);
            // other pages must not count as duplicates of a URL that is no longer a page
            let done = if settlement.outcome == Outcome::Unchanged {
                texts.confirm(page)
            } else {
                texts.forget(page)
            };
            done.map_err(sql)?;
        }
        visits.add(settlement.lease.id, settlement.outcome, &settlement.history)?;
    }
    Ok(stale)
}

fn key_of(conn: &Connection, url: RequestId) -> rusqlite::Result<UrlKey> {
    conn.prepare_cached("SELECT url FROM urls WHERE id = ?1")?
        .query_row([url.0], |row| Ok(UrlKey::of(row.get_ref(0)?.as_str()?)))
}

/// Statements that remove a lease or a held page with a given token.
struct EndStatements<'c> {
    lease: CachedStatement<'c>,
    held: CachedStatement<'c>,
}

impl<'c> EndStatements<'c> {
    fn prepare(conn: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            lease: conn.prepare_cached(END_LEASE)?,
            held: conn.prepare_cached("DELETE FROM held WHERE id = ?1 AND token = ?2 RETURNING host")?,
        })
    }

    fn end(&mut self, lease: LeaseRef) -> rusqlite::Result<Option<(HostId, UrlState)>> {
        let key = (lease.id.0, lease.token.0);
        if let Some(host) = self.lease.query_row(key, |row| row.get(0)).optional()? {
            return Ok(Some((host, UrlState::Leased)));
        }
        let host = self.held.query_row(key, |row| row.get(0)).optional()?;
        Ok(host.map(|host| (host, UrlState::Held)))
    }
}

const END_LEASE: &str = "DELETE FROM leases WHERE id = ?1 AND token = ?2 RETURNING host";

/// Removes a lease with the given token; returns its host if it was still held.
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
