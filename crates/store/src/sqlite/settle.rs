//! Ending leases and held pages.

use super::{
    Inner,
    codes::{self, OUTCOMES},
    error::sql,
    held::delete_partial_result,
    memory::{Memory, set_number},
    texts::Texts,
};
use crate::ledger::{HostId, UrlState};
use crawl_model::{LeaseRef, NewText, Outcome, OutputMark, RequestId, Settlement, StoreError, UrlKey};
use rusqlite::{CachedStatement, Connection, OptionalExtension};

// A first visit and a last change dated later than this visit come from a wrong clock: they get the visit's
// time.

/// Replaces the earlier history, since the content was fetched. `?13`: true if it is new or has changed.
const REPLACE: &str = "UPDATE urls SET outcome = ?2, status = ?3, etag = ?4, last_modified = ?5, \
                       content_hash = ?6, fetched_at = ?7, fetched_lastmod = ?8, text_hash = ?9, body_hash = ?10, \
                       rules = ?11, via = ?12, read_at = ?7, seen_at = ?7, \
                       changed_at = iif(?13 OR first_at IS NULL OR changed_at > ?7, ?7, changed_at), \
                       visits = visits + (first_at IS NOT NULL), \
                       changes = changes + (first_at IS NOT NULL AND ?13), \
                       first_at = iif(first_at IS NULL OR first_at > ?7, ?7, first_at) WHERE id = ?1";

/// Overwrites only set fields, since the content was not fetched (a 304, a failure). `?13`: true if the page
/// exists.
const MERGE: &str = "UPDATE urls SET outcome = ?2, status = coalesce(?3, status), etag = coalesce(?4, etag), \
                     last_modified = coalesce(?5, last_modified), content_hash = coalesce(?6, content_hash), \
                     fetched_at = coalesce(?7, fetched_at), fetched_lastmod = coalesce(?8, fetched_lastmod), \
                     text_hash = coalesce(?9, text_hash), body_hash = coalesce(?10, body_hash), \
                     rules = coalesce(?11, rules), via = coalesce(?12, via), seen_at = iif(?13, ?7, seen_at), \
                     changed_at = iif(changed_at IS NULL OR changed_at > ?7, ?7, changed_at), \
                     visits = visits + (first_at IS NOT NULL), \
                     first_at = iif(first_at IS NULL OR first_at > ?7, ?7, first_at) WHERE id = ?1";

/// Drops the history of a page that no longer exists, so that its successor is new.
const FORGET: &str = "UPDATE urls SET outcome = ?2, status = ?3, etag = NULL, last_modified = NULL, \
                      content_hash = NULL, text_hash = NULL, body_hash = NULL, fetched_at = ?4, changed_at = ?4, \
                      visits = visits + 1, changes = changes + 1 WHERE id = ?1";

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
fn settle_all(conn: &Connection, memory: &mut Memory, batch: &[Settlement]) -> rusqlite::Result<usize> {
    let mut statements = EndStatements::prepare(conn)?;
    let (mut replace, mut merge) = (conn.prepare_cached(REPLACE)?, conn.prepare_cached(MERGE)?);
    let mut forget = conn.prepare_cached(FORGET)?;
    let mut stale = 0;
    for settlement in batch {
        let Some((host, place)) = statements.end(settlement.lease)? else {
            stale += 1;
            continue;
        };
        memory.ledger.take(host, place, 1);
        delete_partial_result(conn, memory, settlement.lease.id)?;
        if let Some(n) = OUTCOMES.iter().position(|(outcome, _)| *outcome == settlement.outcome) {
            memory.settled[n] += 1;
        }
        if settlement.outcome != Outcome::Record {
            let page = key_of(conn, settlement.lease.id)?;
            let mut texts = Texts::of_crawl(conn, memory);
            // other pages must not repeat a page that no longer is one
            if settlement.outcome == Outcome::Unchanged { texts.confirm(page) } else { texts.forget(page) }?;
        }
        let (history, outcome) = (&settlement.history, settlement.outcome);
        if outcome == Outcome::Gone {
            let code = codes::outcome(outcome);
            forget.execute((settlement.lease.id.0, code, history.status, history.fetched_at_ms))?;
            continue;
        }
        let seen = history.content_hash.is_some();
        let update = if seen { &mut replace } else { &mut merge };
        update.execute((
            settlement.lease.id.0,
            codes::outcome(outcome),
            history.status,
            &history.etag,
            &history.last_modified,
            history.content_hash.map(|hash| hash.0),
            history.fetched_at_ms,
            &history.sitemap_lastmod,
            history.text_hash.map(|hash| hash.0),
            history.body_hash.map(|hash| hash.0),
            history.rules.map(|rules| rules.0),
            history.strategy.map(codes::strategy),
            if seen { outcome == Outcome::Record } else { outcome == Outcome::Unchanged },
        ))?;
    }
    Ok(stale)
}

fn key_of(conn: &Connection, url: RequestId) -> rusqlite::Result<UrlKey> {
    conn.prepare_cached("SELECT key FROM urls WHERE id = ?1")?
        .query_row([url.0], |row| row.get(0).map(UrlKey))
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
