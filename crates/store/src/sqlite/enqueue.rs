//! Adding URLs: the hottest path of the store, since a page has a hundred links, most of them known.

use super::{Inner, codes, error::sql, memory::Memory, url_keys::stored};
use crate::{
    known::Revisit,
    ledger::{HostId, Ledger, ROW_BYTES, Room, UrlState, bytes_of, is_bounded, refuse, row_bytes},
};
use crawl_model::{Discovery, Enqueued, HostBound, HostBounds, Lane, NewUrl, Outcome, RequestId, StoreError};
use rusqlite::{CachedStatement, Connection, OptionalExtension};

impl Inner {
    /// Adds URLs that `page` names.
    pub(super) fn enqueue(
        &mut self,
        urls: &[NewUrl],
        revisit: Revisit,
        page: Option<RequestId>,
    ) -> Result<Enqueued, StoreError> {
        let candidates = self.memory.known.not_covered(urls, revisit);
        if candidates.is_empty() {
            return Ok(Enqueued { known: urls.len(), ..Enqueued::default() });
        }
        let (new, refused) = self.write(|conn, memory| {
            let mut adding = Adding::prepare(conn, page).map_err(sql)?;
            let (mut new, mut refused) = (0, Vec::new());
            for url in candidates {
                match adding.refusal(memory, url).map_err(sql)? {
                    Some(bound) => refuse(&mut refused, url, bound),
                    None => new += usize::from(adding.add(memory, url, revisit)?),
                }
            }
            Ok((new, refused))
        })?;
        let left: usize = refused.iter().map(|refused| refused.keys.len()).sum();
        Ok(Enqueued { new, known: urls.len() - new - left, refused })
    }
}

/// Capacity of a host for a new URL of `bytes`. Counts the host's pending URLs if their bytes are assumed and
/// would exceed the bound. That happens once per host after opening, at a cost proportional to its pending
/// URLs.
pub(super) fn room(
    conn: &Connection,
    ledger: &mut Ledger,
    host: HostId,
    bounds: HostBounds,
    bytes: u64,
) -> rusqlite::Result<Room> {
    let room = ledger.room(host, bounds, bytes);
    if room != Room::Uncounted {
        return Ok(room);
    }
    ledger.counted(host, pending_bytes(conn, host)?);
    Ok(ledger.room(host, bounds, bytes))
}

/// Bytes of a host's pending URLs.
fn pending_bytes(conn: &Connection, host: HostId) -> rusqlite::Result<u64> {
    conn.prepare_cached(
        "SELECT coalesce(sum(?2 + octet_length(url) + coalesce(octet_length(redirects), 0)), 0) FROM urls WHERE id IN \
         (SELECT id FROM queue WHERE host = ?1 UNION ALL SELECT id FROM waiting WHERE host = ?1)",
    )?
    .query_row((host, ROW_BYTES), |row| row.get(0))
}

/// Bytes of one URL while it is pending.
pub(super) fn stored_bytes(conn: &Connection, id: i64) -> rusqlite::Result<u64> {
    conn.prepare_cached(
        "SELECT ?2 + octet_length(url) + coalesce(octet_length(redirects), 0) FROM urls WHERE id = ?1",
    )?
    .query_row((id, ROW_BYTES), |row| row.get(0))
}

/// The statements of one call.
struct Adding<'c> {
    conn: &'c Connection,
    /// The page that names the URLs.
    page: Option<i64>,
    insert: CachedStatement<'c>,
    find: CachedStatement<'c>,
    queue: CachedStatement<'c>,
}

/// A URL that was there already.
struct Found {
    id: i64,
    round: i64,
    depth: u32,
    discovery: i64,
    outcome: Option<i64>,
}

impl Found {
    /// Returns true if an earlier round settled it, so that this one need not visit it.
    fn is_settled_earlier(&self) -> bool {
        self.outcome.is_some_and(|outcome| outcome != codes::outcome(Outcome::Gone))
    }
}

impl<'c> Adding<'c> {
    fn prepare(conn: &'c Connection, page: Option<RequestId>) -> rusqlite::Result<Self> {
        Ok(Self {
            conn,
            page: page.map(|page| page.0),
            insert: conn.prepare_cached(
                "INSERT INTO urls (key, host, round, depth, discovery, url, redirects, sitemap_lastmod, found_on) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            )?,
            find: conn
                .prepare_cached("SELECT id, round, depth, discovery, outcome, url FROM urls WHERE key = ?1")?,
            queue: conn
                .prepare_cached("INSERT INTO queue (host, lane, depth, id) VALUES (?1, ?2, ?3, ?4)")?,
        })
    }

    /// The bound that refuses a new URL.
    fn refusal(&mut self, memory: &mut Memory, url: &NewUrl) -> rusqlite::Result<Option<HostBound>> {
        let bounds = memory.bounds;
        if bounds == HostBounds::default() || !is_bounded(url.discovery) {
            return Ok(None);
        }
        let Some(host) = memory.find_host(self.conn, &url.host)? else { return Ok(None) };
        let room = room(self.conn, &mut memory.ledger, host, bounds, bytes_of(url))?;
        let Room::Full(bound) = room else { return Ok(None) };
        Ok(self.find(url)?.is_none().then_some(bound))
    }

    /// The row of a URL. Rows of other URLs may have the same stored key.
    fn find(&mut self, url: &NewUrl) -> rusqlite::Result<Option<Found>> {
        let mut rows = self.find.query([stored(&url.key)])?;
        while let Some(row) = rows.next()? {
            if row.get_ref(5)?.as_str()? == url.url {
                let (id, round, depth, discovery) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
                return Ok(Some(Found { id, round, depth, discovery, outcome: row.get(4)? }));
            }
        }
        Ok(None)
    }

    /// Adds a URL; returns true if it is new in this round.
    fn add(&mut self, memory: &mut Memory, url: &NewUrl, revisit: Revisit) -> Result<bool, StoreError> {
        let host = memory.host(self.conn, &url.host).map_err(sql)?;
        let redirects = redirects(url)?;
        let found_on = self.found_on(url).map_err(sql)?;
        let Some(found) = self.find(url).map_err(sql)? else {
            self.insert
                .execute((
                    stored(&url.key),
                    host,
                    memory.round,
                    url.depth,
                    codes::discovery(url.discovery),
                    &url.url,
                    &redirects,
                    &url.sitemap_lastmod,
                    found_on,
                ))
                .map_err(sql)?;
            let id = self.conn.last_insert_rowid();
            return self.queue(memory, url, host, (id, redirects.as_deref())).map_err(sql);
        };
        if found.round != i64::from(memory.round) {
            if memory.recrawl && revisit == Revisit::No && found.is_settled_earlier() {
                if let Some(lastmod) = &url.sitemap_lastmod {
                    self.set_lastmod(found.id, lastmod).map_err(sql)?;
                }
                memory.known.note(&url.key, 0);
                return Ok(false);
            }
            self.revive(memory, url, (redirects.as_deref(), found_on), found.id).map_err(sql)?;
            return self.queue(memory, url, host, (found.id, redirects.as_deref())).map_err(sql);
        }
        if codes::read_discovery(found.discovery)?.is_replaced_by(url.discovery) {
            self.set_discovery(found.id, url.discovery).map_err(sql)?;
        }
        if let Some(lastmod) = &url.sitemap_lastmod {
            self.set_lastmod(found.id, lastmod).map_err(sql)?;
        }
        let least = if url.depth < found.depth {
            self.reduce_depth(url, host, &found).map_err(sql)?
        } else {
            found.depth
        };
        memory.known.note(&url.key, least);
        Ok(false)
    }

    /// The row of the page that names a URL. A redirect target has that of its source.
    fn found_on(&self, url: &NewUrl) -> rusqlite::Result<Option<i64>> {
        let Some(page) = self.page.filter(|_| url.discovery == Discovery::Redirect) else {
            return Ok(self.page);
        };
        self.conn
            .prepare_cached("SELECT found_on FROM urls WHERE id = ?1")?
            .query_row([page], |row| row.get(0))
            .optional()
            .map(Option::flatten)
    }

    fn queue(
        &mut self,
        memory: &mut Memory,
        url: &NewUrl,
        host: HostId,
        (id, redirects): (i64, Option<&str>),
    ) -> rusqlite::Result<bool> {
        memory.host_in_round(self.conn, &url.host)?;
        self.queue.execute((host, codes::lane(Lane::Plain), url.depth, id))?;
        memory.ledger.add(host, &url.host, UrlState::Ready, 1);
        memory.ledger.grow(host, row_bytes(url.url.len(), redirects.map_or(0, str::len)));
        memory.known.note(&url.key, url.depth);
        Ok(true)
    }

    /// Makes a URL of an earlier round pending again; its history stays.
    fn revive(
        &self,
        memory: &Memory,
        url: &NewUrl,
        (redirects, found_on): (Option<&str>, Option<i64>),
        id: i64,
    ) -> rusqlite::Result<()> {
        let mut update = self.conn.prepare_cached(
            "UPDATE urls SET round = ?2, depth = ?3, discovery = ?4, redirects = ?5, sitemap_lastmod = ?6, \
             found_on = coalesce(?7, found_on), attempt = 0, strategy = NULL, outcome = NULL WHERE id = ?1",
        )?;
        let discovery = codes::discovery(url.discovery);
        let lastmod = &url.sitemap_lastmod;
        update.execute((id, memory.round, url.depth, discovery, redirects, lastmod, found_on)).map(|_| ())
    }

    /// Changes the origin of a URL while it is pending.
    fn set_discovery(&self, id: i64, discovery: Discovery) -> rusqlite::Result<()> {
        self.conn
            .prepare_cached(
                "UPDATE urls SET discovery = ?2 WHERE id = ?1 AND outcome IS NULL \
                 AND NOT EXISTS (SELECT 1 FROM leases WHERE id = ?1) \
                 AND NOT EXISTS (SELECT 1 FROM held WHERE id = ?1)",
            )?
            .execute((id, codes::discovery(discovery)))
            .map(|_| ())
    }

    /// Stores the `lastmod` of a known URL.
    fn set_lastmod(&self, id: i64, lastmod: &str) -> rusqlite::Result<()> {
        self.conn
            .prepare_cached(
                "UPDATE urls SET sitemap_lastmod = ?2 WHERE id = ?1 AND sitemap_lastmod IS NOT ?2",
            )?
            .execute((id, lastmod))
            .map(|_| ())
    }

    /// Reduces the depth of a URL while it is in the queue. Returns the depth below which another path would
    /// matter.
    fn reduce_depth(&mut self, url: &NewUrl, host: HostId, found: &Found) -> rusqlite::Result<u32> {
        let mut unqueue = self
            .conn
            .prepare_cached("DELETE FROM queue WHERE host = ?1 AND lane = ?2 AND depth = ?3 AND id = ?4")?;
        let mut from = None;
        for lane in Lane::ALL.map(codes::lane) {
            if from.is_none() && unqueue.execute((host, lane, found.depth, found.id))? > 0 {
                from = Some(lane);
            }
        }
        let Some(lane) = from else { return Ok(0) };
        self.queue.execute((host, lane, url.depth, found.id))?;
        self.conn
            .prepare_cached("UPDATE urls SET depth = ?2 WHERE id = ?1")?
            .execute((found.id, url.depth))?;
        Ok(url.depth)
    }
}

/// Redirects as JSON; none for the many URLs without them.
fn redirects(url: &NewUrl) -> Result<Option<String>, StoreError> {
    if url.redirects.is_empty() {
        return Ok(None);
    }
    serde_json::to_string(&url.redirects).map(Some).map_err(|e| StoreError::Other(e.to_string()))
}
