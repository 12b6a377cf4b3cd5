//! [`Frontier`] on SQLite.

use super::{
    Inner, SqliteStore,
    checksum::{checksum, read_checked},
    codes,
    enqueue::stored_bytes,
    error::sql,
    memory::Memory,
    recrawl::{ReadBefore, note_status},
    settle::end_lease,
};
use crate::{
    known::Revisit,
    ledger::{HostId, ROW_BYTES, UrlState, row_bytes},
};
use crawl_model::{
    CrawlRequest, Enqueued, Frontier, FrontierCounts, HeldPage, HostBounds, HostKey, HostLoad, KnownUrl,
    Lane, LeaseRef, LeaseToken, NewUrl, OutputMark, ReadyHost, RequestId, Settlement, StoreError, Strategy,
    UrlKey,
};
use rusqlite::{Connection, OptionalExtension, Row};
use std::sync::Arc;
use url::Url;

impl Frontier for SqliteStore {
    fn enqueue(&self, urls: &[NewUrl]) -> Result<Enqueued, StoreError> {
        self.ready()?.enqueue(urls, Revisit::No)
    }

    fn bound_hosts(&self, bounds: HostBounds) -> Result<(), StoreError> {
        self.ready()?.memory.bounds = bounds;
        Ok(())
    }

    fn revisit(&self, urls: &[NewUrl]) -> Result<Enqueued, StoreError> {
        self.ready()?.enqueue(urls, Revisit::Yes)
    }

    fn known(&self, after: RequestId, limit: usize) -> Result<Vec<KnownUrl>, StoreError> {
        self.ready()?.known(after, limit)
    }

    fn known_among(&self, keys: &[UrlKey]) -> Result<Vec<KnownUrl>, StoreError> {
        self.ready()?.known_among(keys)
    }

    fn hosts_with_pending(
        &self,
        lane: Lane,
        now_ms: i64,
        limit: usize,
    ) -> Result<Vec<ReadyHost>, StoreError> {
        let mut inner = self.ready()?;
        inner.promote(now_ms)?;
        Ok(inner.memory.ledger.ready(lane, limit))
    }

    fn suspend(&self, host: &HostKey) -> Result<(), StoreError> {
        let mut inner = self.ready()?;
        let inner = &mut *inner;
        if let Some(host) = inner.memory.find_host(&inner.conn, host).map_err(sql)? {
            inner.memory.ledger.suspend(host);
        }
        Ok(())
    }

    fn resume(&self, hosts: &[HostKey]) -> Result<(), StoreError> {
        let mut inner = self.ready()?;
        let inner = &mut *inner;
        for host in hosts {
            if let Some(host) = inner.memory.find_host(&inner.conn, host).map_err(sql)? {
                inner.memory.ledger.resume(host);
            }
        }
        Ok(())
    }

    fn resume_all(&self) -> Result<(), StoreError> {
        self.ready()?.memory.ledger.resume_all();
        Ok(())
    }

    fn next_due(&self) -> Result<Option<i64>, StoreError> {
        Ok(self.ready()?.memory.next_due)
    }

    fn bring_forward(&self, latest_ms: i64, now_ms: i64) -> Result<usize, StoreError> {
        let mut inner = self.ready()?;
        let moved = inner.write(|conn, memory| {
            let moved = conn
                .execute("UPDATE waiting SET due = ?2 WHERE due > ?1", [latest_ms, now_ms])
                .map_err(sql)?;
            if moved > 0 {
                memory.next_due = Some(memory.next_due.map_or(now_ms, |due| due.min(now_ms)));
            }
            Ok(moved)
        })?;
        inner.commit()?;
        Ok(moved)
    }

    fn lease(
        &self,
        host: &HostKey,
        lane: Lane,
        max: usize,
        worker: &str,
        now_ms: i64,
        deadline_ms: i64,
    ) -> Result<Vec<CrawlRequest>, StoreError> {
        self.lease_down_to(None, (host, lane), max, worker, [now_ms, deadline_ms])
    }

    fn lease_by_level(
        &self,
        host: &HostKey,
        lane: Lane,
        max: usize,
        worker: &str,
        now_ms: i64,
        deadline_ms: i64,
    ) -> Result<Vec<CrawlRequest>, StoreError> {
        self.lease_down_to(Some(level), (host, lane), max, worker, [now_ms, deadline_ms])
    }

    fn requeue(
        &self,
        lease: LeaseRef,
        not_before_ms: i64,
        attempt: u32,
        strategy: Option<Strategy>,
    ) -> Result<bool, StoreError> {
        self.ready()?.write(|conn, memory| {
            let Some(host) = end_lease(conn, lease).map_err(sql)? else { return Ok(false) };
            postpone(conn, memory, (host, lease.id), not_before_ms, attempt, strategy).map_err(sql)?;
            Ok(true)
        })
    }

    fn mark_possibly_gone(
        &self,
        request: &CrawlRequest,
        not_before_ms: i64,
        status: u16,
    ) -> Result<bool, StoreError> {
        self.ready()?.write(|conn, memory| {
            let Some(host) = end_lease(conn, request.into()).map_err(sql)? else { return Ok(false) };
            note_status(conn, request.id, status).map_err(sql)?;
            let (id, attempt) = (request.id, request.attempt);
            postpone(conn, memory, (host, id), not_before_ms, attempt, request.strategy).map_err(sql)?;
            Ok(true)
        })
    }

    fn escalate(
        &self,
        lease: LeaseRef,
        now_ms: i64,
        strategy: Strategy,
        partial_result: &[u8],
    ) -> Result<bool, StoreError> {
        self.ready()?.write(|conn, memory| {
            let Some(host) = end_lease(conn, lease).map_err(sql)? else { return Ok(false) };
            save_partial_result(conn, memory, lease.id, partial_result).map_err(sql)?;
            postpone(conn, memory, (host, lease.id), now_ms, 0, Some(strategy)).map_err(sql)?;
            Ok(true)
        })
    }

    fn partial_result(&self, url: RequestId) -> Result<Option<Vec<u8>>, StoreError> {
        let inner = self.ready()?;
        let mut select =
            inner.conn.prepare_cached("SELECT pages, checksum FROM so_far WHERE id = ?1").map_err(sql)?;
        let found = select.query_row([url.0], |row| read_checked(row, 0)).optional().map_err(sql)?;
        if let Some(None) = found {
            tracing::warn!(
                url = url.0,
                "what other strategies brought of the URL is damaged: it is left out"
            );
        }
        Ok(found.flatten())
    }

    fn hold(&self, lease: LeaseRef, host: &HostKey, page: &[u8]) -> Result<Option<i64>, StoreError> {
        self.ready()?.write(|conn, memory| {
            let Some(leased_from) = end_lease(conn, lease).map_err(sql)? else { return Ok(None) };
            let held_for = memory.host(conn, host).map_err(sql)?;
            let order = memory.next_order;
            conn.prepare_cached(
                "INSERT INTO held (id, token, host, ord, page, checksum) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )
            .and_then(|mut insert| {
                insert.execute((lease.id.0, lease.token.0, held_for, order, page, checksum(page)))
            })
            .map_err(sql)?;
            memory.next_order += 1;
            delete_partial_result(conn, memory, lease.id).map_err(sql)?;
            // in this order, since a host without URLs is dropped
            memory.ledger.add(held_for, host, UrlState::Held, 1);
            memory.ledger.take(leased_from, UrlState::Leased, 1);
            Ok(Some(order))
        })
    }

    fn held(&self, host: &HostKey, after: i64, limit: usize) -> Result<Vec<HeldPage>, StoreError> {
        let mut inner = self.ready()?;
        let inner = &mut *inner;
        let Some(host) = inner.memory.find_host(&inner.conn, host).map_err(sql)? else {
            return Ok(Vec::new());
        };
        held_pages(&inner.conn, host, after, limit).map_err(sql)
    }

    fn refetch(&self, held: LeaseRef) -> Result<bool, StoreError> {
        self.ready()?.write(|conn, memory| refetch(conn, memory, held).map_err(sql))
    }

    fn hosts_with_held(&self) -> Result<Vec<HostLoad>, StoreError> {
        Ok(self.ready()?.memory.ledger.held())
    }

    fn settle(&self, batch: &[Settlement], outputs: &[OutputMark]) -> Result<usize, StoreError> {
        self.ready()?.settle(batch, outputs, &[])
    }

    fn expire_leases(&self, now_ms: i64) -> Result<usize, StoreError> {
        self.ready()?.expire_leases(now_ms)
    }

    fn drained(&self) -> Result<bool, StoreError> {
        Ok(self.ready()?.memory.ledger.total().drained())
    }

    fn host_drained(&self, host: &HostKey) -> Result<bool, StoreError> {
        let mut inner = self.ready()?;
        let inner = &mut *inner;
        let host = inner.memory.find_host(&inner.conn, host).map_err(sql)?;
        Ok(host.is_none_or(|host| inner.memory.ledger.of(host).drained()))
    }

    fn newly_drained(&self) -> Result<Vec<HostKey>, StoreError> {
        Ok(self.ready()?.memory.ledger.take_drained())
    }

    fn is_current(&self, lease: LeaseRef) -> Result<bool, StoreError> {
        let inner = self.ready()?;
        let mut select = inner
            .conn
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM leases WHERE id = ?1 AND token = ?2) \
                 OR EXISTS (SELECT 1 FROM held WHERE id = ?1 AND token = ?2)",
            )
            .map_err(sql)?;
        select.query_row((lease.id.0, lease.token.0), |row| row.get(0)).map_err(sql)
    }

    fn counts(&self) -> Result<FrontierCounts, StoreError> {
        let inner = self.ready()?;
        let places = inner.memory.ledger.total();
        let [records, failed, skipped, redirected, unchanged, gone] = inner.memory.settled;
        Ok(FrontierCounts {
            pending: places.pending(),
            leased: places.get(UrlState::Leased),
            held: places.get(UrlState::Held),
            records,
            failed,
            skipped,
            redirected,
            unchanged,
            gone,
            hosts: inner.memory.host_count,
        })
    }

    fn round(&self) -> Result<u32, StoreError> {
        Ok(self.ready()?.memory.round)
    }

    fn begin_round(&self) -> Result<u32, StoreError> {
        self.ready()?.begin(false, false)
    }

    fn begin_recrawl(&self, keep_sites: bool) -> Result<u32, StoreError> {
        self.ready()?.begin(true, keep_sites)
    }

    fn is_recrawl(&self) -> Result<bool, StoreError> {
        Ok(self.ready()?.memory.recrawl)
    }

    fn output_mark(&self, name: &str) -> Result<Option<u64>, StoreError> {
        let inner = self.ready()?;
        let mut select =
            inner.conn.prepare_cached("SELECT reach FROM outputs WHERE name = ?1").map_err(sql)?;
        select.query_row([name], |row| row.get(0)).optional().map_err(sql)
    }
}

impl Inner {
    /// Moves due URLs from waiting to the queue.
    fn promote(&mut self, now_ms: i64) -> Result<(), StoreError> {
        if self.memory.next_due.is_none_or(|due| due > now_ms) {
            return Ok(());
        }
        self.write(|conn, memory| {
            back_to_queue(conn, memory, WAITING, now_ms).map_err(sql)?;
            memory.next_due = conn
                .prepare_cached("SELECT min(due) FROM waiting")
                .and_then(|mut select| select.query_row([], |row| row.get(0)))
                .map_err(sql)?;
            Ok(())
        })
    }

    fn expire_leases(&mut self, now_ms: i64) -> Result<usize, StoreError> {
        if self.memory.ledger.total().get(UrlState::Leased) == 0 {
            return Ok(0);
        }
        self.write(|conn, memory| back_to_queue(conn, memory, LEASES, now_ms).map_err(sql))
    }
}

/// Source of URLs that return to the queue at a time: table, its time column, and its state in the ledger.
type Source = (&'static str, &'static str, UrlState);
const WAITING: Source = ("waiting", "due", UrlState::Waiting);
const LEASES: Source = ("leases", "deadline", UrlState::Leased);

/// Moves each row of a table with a time up to `until` into the queue of its lane; returns their number.
fn back_to_queue(
    conn: &Connection,
    memory: &mut Memory,
    (table, time, place): Source,
    until: i64,
) -> rusqlite::Result<usize> {
    let browser = codes::strategy(Strategy::Chrome);
    let lane = format!("urls.strategy IS {browser}");
    let due = format!("FROM {table} JOIN urls ON urls.id = {table}.id WHERE {time} <= ?1");
    let mut select = conn.prepare_cached(&format!(
        "SELECT {table}.host, {lane}, count(*), sum(octet_length(url) + coalesce(octet_length(redirects), 0)) \
         {due} GROUP BY 1, 2 ORDER BY min(urls.id)"
    ))?;
    let moved: Vec<(HostId, bool, u64, u64)> = select
        .query_map([until], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?
        .collect::<Result<_, _>>()?;
    if moved.is_empty() {
        return Ok(0);
    }
    conn.prepare_cached(&format!(
        "INSERT INTO queue (host, lane, depth, id) SELECT {table}.host, {lane}, urls.depth, urls.id {due}"
    ))?
    .execute([until])?;
    let n = conn.prepare_cached(&format!("DELETE FROM {table} WHERE {time} <= ?1"))?.execute([until])?;
    for (host, browser, n, text_bytes) in moved {
        let lane = if browser { Lane::Browser } else { Lane::Plain };
        memory.ledger.shift(host, place, UrlState::ready(lane), n);
        if place == UrlState::Leased {
            memory.ledger.grow(host, n * ROW_BYTES + text_bytes);
        }
    }
    Ok(n)
}

/// A row of the queue with its URL, as read.
struct Leased {
    id: i64,
    key: UrlKey,
    token: LeaseToken,
    depth: u32,
    discovery: i64,
    attempt: u32,
    strategy: Option<i64>,
    url: String,
    redirects: Option<String>,
    etag: Option<String>,
    last_modified: Option<String>,
    sitemap_lastmod: Option<String>,
    before: Option<Box<ReadBefore>>,
}

impl Leased {
    fn read(row: &Row<'_>, token: LeaseToken, recrawl: bool) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            key: UrlKey(row.get(18)?),
            token,
            depth: row.get(1)?,
            discovery: row.get(2)?,
            attempt: row.get(3)?,
            strategy: row.get(4)?,
            url: row.get(5)?,
            redirects: row.get(6)?,
            etag: row.get(7)?,
            last_modified: row.get(8)?,
            sitemap_lastmod: row.get(9)?,
            before: if recrawl { ReadBefore::read(row, 10)?.map(Box::new) } else { None },
        })
    }

    /// Bytes of the URL while it was pending.
    fn bytes(&self) -> u64 {
        row_bytes(self.url.len(), self.redirects.as_ref().map_or(0, String::len))
    }

    fn request(self, project: &Arc<str>, group: Option<&Arc<str>>) -> Result<CrawlRequest, StoreError> {
        let damaged = |what: &dyn std::fmt::Display| StoreError::Corrupt(format!("{}: {what}", self.url));
        if UrlKey::of(&self.url) != self.key {
            return Err(damaged(&"the URL does not fit its key"));
        }
        let redirects = self.redirects.as_deref().map(serde_json::from_str).transpose();
        Ok(CrawlRequest {
            id: RequestId(self.id),
            token: self.token,
            url: Url::parse(&self.url).map_err(|e| damaged(&e))?,
            depth: self.depth,
            discovery: codes::read_discovery(self.discovery)?,
            attempt: self.attempt,
            strategy: self.strategy.map(codes::read_strategy).transpose()?,
            redirects: redirects.map_err(|e| damaged(&e))?.unwrap_or_default(),
            etag: self.etag,
            last_modified: self.last_modified,
            sitemap_lastmod: self.sitemap_lastmod,
            before: self.before.map(|before| before.before()).transpose()?.map(Box::new),
            project: Arc::clone(project),
            source_group: group.map(Arc::clone),
        })
    }
}

impl SqliteStore {
    /// Leases URLs of a host and lane up to the depth `level` of their host, or all.
    fn lease_down_to(
        &self,
        level: Option<fn(&Connection, HostId) -> rusqlite::Result<i64>>,
        (host, lane): (&HostKey, Lane),
        max: usize,
        worker: &str,
        [now_ms, deadline_ms]: [i64; 2],
    ) -> Result<Vec<CrawlRequest>, StoreError> {
        let mut inner = self.ready()?;
        inner.promote(now_ms)?;
        let inner = &mut *inner;
        let Some(host) = inner.memory.find_host(&inner.conn, host).map_err(sql)? else {
            return Ok(Vec::new());
        };
        if max == 0 || inner.memory.ledger.of(host).get(UrlState::ready(lane)) == 0 {
            return Ok(Vec::new());
        }
        let depth = level.map_or(Ok(i64::MAX), |level| level(&inner.conn, host)).map_err(sql)?;
        let (project, group) = (Arc::clone(&inner.run.project), inner.run.source_group.clone());
        let rows = inner.write(|conn, memory| {
            take_from_queue(conn, memory, (host, lane, depth), max, worker, deadline_ms)
        })?;
        if rows.is_empty() {
            inner.memory.ledger.wait_for_level(host, lane);
        }
        rows.into_iter().map(|row| row.request(&project, group.as_ref())).collect()
    }
}

/// Least depth of a host's URLs that are pending or leased.
fn level(conn: &Connection, host: HostId) -> rusqlite::Result<i64> {
    conn.prepare_cached(
        "SELECT coalesce(min(depth), 0) FROM (SELECT min(depth) AS depth FROM queue WHERE host = ?1 AND lane = 0 \
         UNION ALL SELECT min(depth) FROM queue WHERE host = ?1 AND lane = 1 \
         UNION ALL SELECT min(depth) FROM leases JOIN urls USING (id) WHERE leases.host = ?1 \
         UNION ALL SELECT min(depth) FROM waiting JOIN urls USING (id) WHERE waiting.host = ?1)",
    )?
    .query_row([host], |row| row.get(0))
}

fn take_from_queue(
    conn: &Connection,
    memory: &mut Memory,
    (host, lane, depth): (HostId, Lane, i64),
    max: usize,
    worker: &str,
    deadline_ms: i64,
) -> Result<Vec<Leased>, StoreError> {
    let mut leased = Vec::new();
    let mut take = || -> rusqlite::Result<()> {
        let mut select = conn.prepare_cached(
            "SELECT queue.id, queue.depth, discovery, attempt, strategy, url, redirects, etag, last_modified, \
             sitemap_lastmod, content_hash, text_hash, body_hash, rules, via, status, read_at, seen_at, key \
             FROM queue JOIN urls ON urls.id = queue.id \
             WHERE queue.host = ?1 AND queue.lane = ?4 AND queue.depth <= ?3 \
             ORDER BY queue.depth, queue.id LIMIT ?2",
        )?;
        let max = i64::try_from(max).unwrap_or(i64::MAX);
        let mut rows = select.query((host, max, depth, codes::lane(lane)))?;
        while let Some(row) = rows.next()? {
            let token = memory.next_token(conn)?;
            leased.push(Leased::read(row, token, memory.recrawl)?);
        }
        let mut insert = conn.prepare_cached(
            "INSERT INTO leases (id, token, host, deadline, worker) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        let mut unqueue = conn
            .prepare_cached("DELETE FROM queue WHERE host = ?1 AND lane = ?2 AND depth = ?3 AND id = ?4")?;
        for row in &leased {
            insert.execute((row.id, row.token.0, host, deadline_ms, worker))?;
            unqueue.execute((host, codes::lane(lane), row.depth, row.id))?;
        }
        memory.ledger.shift(host, UrlState::ready(lane), UrlState::Leased, leased.len() as u64);
        memory.ledger.shrink(host, leased.iter().map(Leased::bytes).sum());
        if !leased.is_empty() {
            memory.ledger.count_leases(host, lane, leased.len() as u64);
        }
        Ok(())
    };
    take().map_err(sql)?;
    Ok(leased)
}

/// Returns the URL of a held page to the queue, once per round.
fn refetch(conn: &Connection, memory: &mut Memory, held: LeaseRef) -> rusqlite::Result<bool> {
    let key = (held.id.0, held.token.0);
    let held_for: Option<HostId> = conn
        .prepare_cached("SELECT host FROM held WHERE id = ?1 AND token = ?2")?
        .query_row(key, |row| row.get(0))
        .optional()?;
    let Some(held_for) = held_for else { return Ok(false) };
    if conn.prepare_cached("INSERT OR IGNORE INTO refetched (id) VALUES (?1)")?.execute([held.id.0])? == 0 {
        return Ok(false);
    }
    conn.prepare_cached("DELETE FROM held WHERE id = ?1")?.execute([held.id.0])?;
    // fetched without attempts: an alternative strategy would lack the result that it is compared with
    conn.prepare_cached("UPDATE urls SET attempt = 0, strategy = NULL WHERE id = ?1")?
        .execute([held.id.0])?;
    let (host, name, depth): (HostId, String, i64) = conn
        .prepare_cached(
            "SELECT hosts.id, hosts.name, depth FROM urls JOIN hosts ON hosts.id = urls.host WHERE urls.id = ?1",
        )?
        .query_row([held.id.0], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    conn.prepare_cached("INSERT INTO queue (host, lane, depth, id) VALUES (?1, ?2, ?3, ?4)")?.execute((
        host,
        codes::lane(Lane::Plain),
        depth,
        held.id.0,
    ))?;
    memory.ledger.take(held_for, UrlState::Held, 1);
    memory.ledger.add(host, &HostKey::from_stored(&name), UrlState::Ready, 1);
    memory.ledger.grow(host, stored_bytes(conn, held.id.0)?);
    Ok(true)
}

/// Makes a URL wait after its lease has ended.
fn postpone(
    conn: &Connection,
    memory: &mut Memory,
    (host, id): (HostId, RequestId),
    due: i64,
    attempt: u32,
    strategy: Option<Strategy>,
) -> rusqlite::Result<()> {
    conn.prepare_cached("UPDATE urls SET attempt = ?2, strategy = ?3 WHERE id = ?1")?.execute((
        id.0,
        attempt,
        strategy.map(codes::strategy),
    ))?;
    conn.prepare_cached("INSERT INTO waiting (due, id, host) VALUES (?1, ?2, ?3)")?
        .execute((due, id.0, host))?;
    memory.ledger.shift(host, UrlState::Leased, UrlState::Waiting, 1);
    memory.ledger.grow(host, stored_bytes(conn, id.0)?);
    memory.next_due = Some(memory.next_due.map_or(due, |next| next.min(due)));
    Ok(())
}

fn save_partial_result(
    conn: &Connection,
    memory: &mut Memory,
    id: RequestId,
    pages: &[u8],
) -> rusqlite::Result<()> {
    let row = (id.0, pages, checksum(pages));
    let mut update = conn.prepare_cached("UPDATE so_far SET pages = ?2, checksum = ?3 WHERE id = ?1")?;
    if update.execute(row)? == 0 {
        conn.prepare_cached("INSERT INTO so_far (id, pages, checksum) VALUES (?1, ?2, ?3)")?.execute(row)?;
        memory.partial_results += 1;
    }
    Ok(())
}

/// Drops the stored result of a URL that is held or settled. Most crawls store none, and then skip the
/// database.
pub(super) fn delete_partial_result(
    conn: &Connection,
    memory: &mut Memory,
    id: RequestId,
) -> rusqlite::Result<()> {
    if memory.partial_results > 0 {
        let gone = conn.prepare_cached("DELETE FROM so_far WHERE id = ?1")?.execute([id.0])?;
        memory.partial_results -= gone as u64;
    }
    Ok(())
}

fn held_pages(conn: &Connection, host: HostId, after: i64, limit: usize) -> rusqlite::Result<Vec<HeldPage>> {
    let mut select = conn.prepare_cached(
        "SELECT held.id, token, ord, page, checksum, url FROM held LEFT JOIN urls ON urls.id = held.id \
         WHERE held.host = ?1 AND ord > ?2 ORDER BY ord LIMIT ?3",
    )?;
    let rows = select.query_map((host, after, i64::try_from(limit).unwrap_or(i64::MAX)), |row| {
        let page = read_checked(row, 3)?;
        Ok(HeldPage {
            lease: LeaseRef { id: RequestId(row.get(0)?), token: LeaseToken(row.get(1)?) },
            order: row.get(2)?,
            url: row.get::<_, Option<String>>(5)?.unwrap_or_default(),
            intact: page.is_some(),
            page: page.unwrap_or_default(),
        })
    })?;
    rows.collect()
}
