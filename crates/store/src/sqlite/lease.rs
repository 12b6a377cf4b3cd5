//! Leases: URLs that leave the queue, and URLs that return to it.

use super::{
    Inner, SqliteStore, codes, enqueue::stored_bytes, error::sql, memory::Memory, recrawl::ReadBefore,
    url_keys::fits,
};
use crate::ledger::{HostId, ROW_BYTES, UrlState, row_bytes};
use crawl_model::{CrawlRequest, HostKey, Lane, LeaseToken, RequestId, StoreError, Strategy};
use rusqlite::{Connection, Row};
use std::sync::Arc;
use url::Url;

impl Inner {
    /// Moves due URLs from waiting to the queue.
    pub(super) fn promote(&mut self, now_ms: i64) -> Result<(), StoreError> {
        if self.memory.next_due.is_none_or(|due| due > now_ms) {
            return Ok(());
        }
        self.write(|conn, memory| {
            return_to_queue(conn, memory, WAITING, now_ms).map_err(sql)?;
            memory.next_due = conn
                .prepare_cached("SELECT min(due) FROM waiting")
                .and_then(|mut select| select.query_row([], |row| row.get(0)))
                .map_err(sql)?;
            Ok(())
        })
    }

    pub(super) fn expire_leases(&mut self, now_ms: i64) -> Result<usize, StoreError> {
        if self.memory.ledger.total().get(UrlState::Leased) == 0 {
            return Ok(0);
        }
        self.write(|conn, memory| return_to_queue(conn, memory, LEASES, now_ms).map_err(sql))
    }
}

/// Source of URLs that return to the queue at a time: table, its time column, and its state in the ledger.
type Source = (&'static str, &'static str, UrlState);
const WAITING: Source = ("waiting", "due", UrlState::Waiting);
const LEASES: Source = ("leases", "deadline", UrlState::Leased);

/// Moves each row of a table with a time up to `until` into the queue of its lane; returns their number.
fn return_to_queue(
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

impl SqliteStore {
    /// Leases URLs of a host and lane up to the depth `level` of their host, or all.
    pub(super) fn lease_down_to(
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
pub(super) fn level(conn: &Connection, host: HostId) -> rusqlite::Result<i64> {
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
             FROM queue JOIN visited ON visited.id = queue.id \
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

/// A row of the queue with its URL, as read.
struct Leased {
    id: i64,
    /// The beginning of its key.
    key: Vec<u8>,
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
            key: row.get(18)?,
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
        if !fits(&self.url, &self.key) {
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

/// Makes a URL wait after its lease has ended.
pub(super) fn postpone(
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
