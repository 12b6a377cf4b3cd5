//! History of URLs from earlier rounds, and the start of a recrawl.

use super::{
    Inner, codes,
    error::sql,
    memory::{Memory, set_number},
    run::forget_pauses,
    texts::Texts,
    url_keys::FindUrl,
};
use crawl_model::{
    Before, BodyHash, ContentHash, HostKey, KnownUrl, NewUrl, PageHistory, RequestId, RulesVersion,
    StoreError, TextHash, UrlKey, Visits,
};
use rusqlite::Row;

/// The columns that [`read_history`] reads.
pub(super) const HISTORY: &str = "status, etag, last_modified, content_hash, fetched_at, fetched_lastmod, \
                                  text_hash, body_hash, rules, via";

/// Columns that [`read_known`] reads, before those of [`HISTORY`].
const KNOWN: &str = "visited.id, url, hosts.name, depth, discovery, redirects, sitemap_lastmod, outcome, \
                     first_at, changed_at, visits, changes";

/// A history with the number of its strategy.
type ReadHistory = (PageHistory, Option<i64>);

/// Reads the columns of [`HISTORY`], from column `at` on.
pub(super) fn read_history(row: &Row<'_>, at: usize) -> rusqlite::Result<ReadHistory> {
    let read = PageHistory {
        status: row.get(at)?,
        etag: row.get(at + 1)?,
        last_modified: row.get(at + 2)?,
        content_hash: row.get::<_, Option<[u8; 32]>>(at + 3)?.map(ContentHash),
        fetched_at_ms: row.get(at + 4)?,
        sitemap_lastmod: row.get(at + 5)?,
        text_hash: row.get::<_, Option<[u8; 16]>>(at + 6)?.map(TextHash),
        body_hash: row.get::<_, Option<[u8; 16]>>(at + 7)?.map(BodyHash),
        rules: row.get::<_, Option<i64>>(at + 8)?.map(RulesVersion),
        strategy: None,
    };
    Ok((read, row.get(at + 9)?))
}

/// Converts the result of [`read_history`].
pub(super) fn history((read, strategy): ReadHistory) -> Result<PageHistory, StoreError> {
    let strategy = strategy.map(codes::read_strategy).transpose()?;
    Ok(PageHistory { strategy, ..read })
}

/// A page's history, as read with its lease.
pub(super) struct ReadBefore {
    before: Before,
    strategy: Option<i64>,
}

impl ReadBefore {
    /// Reads from column `at` on; none for a URL that was no page.
    pub(super) fn read(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Self>> {
        let Some(content_hash) = row.get::<_, Option<[u8; 32]>>(at)? else { return Ok(None) };
        let before = Before {
            content_hash: ContentHash(content_hash),
            text_hash: row.get::<_, Option<[u8; 16]>>(at + 1)?.map(TextHash),
            body_hash: row.get::<_, Option<[u8; 16]>>(at + 2)?.map(BodyHash),
            rules: row.get::<_, Option<i64>>(at + 3)?.map(RulesVersion),
            strategy: None,
            status: row.get(at + 5)?,
            read_at_ms: row.get(at + 6)?,
            seen_at_ms: row.get(at + 7)?,
        };
        Ok(Some(Self { before, strategy: row.get(at + 4)? }))
    }

    pub(super) fn before(self) -> Result<Before, StoreError> {
        let strategy = self.strategy.map(codes::read_strategy).transpose()?;
        Ok(Before { strategy, ..self.before })
    }
}

/// A row of [`KNOWN`] and [`HISTORY`].
struct ReadKnown {
    known: KnownUrl,
    discovery: i64,
    redirects: Option<String>,
    outcome: Option<i64>,
    history: ReadHistory,
}

fn read_known(row: &Row<'_>) -> rusqlite::Result<ReadKnown> {
    let text: String = row.get(1)?;
    let url = NewUrl {
        key: UrlKey::of(&text),
        url: text,
        host: HostKey::from_stored(row.get::<_, String>(2)?),
        depth: row.get(3)?,
        // converted when no row is read any more
        discovery: crawl_model::Discovery::Link,
        redirects: Vec::new(),
        sitemap_lastmod: row.get(6)?,
    };
    let visits = Visits {
        first_ms: row.get(8)?,
        changed_ms: row.get(9)?,
        visits: row.get(10)?,
        changes: row.get(11)?,
    };
    let id = RequestId(row.get(0)?);
    Ok(ReadKnown {
        known: KnownUrl { id, url, outcome: None, history: PageHistory::default(), visits },
        discovery: row.get(4)?,
        redirects: row.get(5)?,
        outcome: row.get(7)?,
        history: read_history(row, 12)?,
    })
}

impl ReadKnown {
    fn known(self) -> Result<KnownUrl, StoreError> {
        let mut known = self.known;
        let damaged = |e| StoreError::Corrupt(format!("{}: {e}", known.url.url));
        let redirects = self.redirects.as_deref().map(serde_json::from_str).transpose().map_err(damaged)?;
        known.url.redirects = redirects.unwrap_or_default();
        known.url.discovery = codes::read_discovery(self.discovery)?;
        known.outcome = self.outcome.map(codes::read_outcome).transpose()?;
        known.history = history(self.history)?;
        Ok(known)
    }
}

impl Inner {
    pub(super) fn known(&self, after: RequestId, limit: usize) -> Result<Vec<KnownUrl>, StoreError> {
        self.known_beside(self.memory.round, after, limit)
    }

    /// Known URLs that a round has not enqueued; the round may be the next one.
    pub(super) fn known_beside(
        &self,
        round: u32,
        after: RequestId,
        limit: usize,
    ) -> Result<Vec<KnownUrl>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut select = self
            .conn
            .prepare_cached(&format!(
                "SELECT {KNOWN}, {HISTORY} FROM visited JOIN hosts ON hosts.id = visited.host \
                 WHERE visited.id > ?1 AND visited.round <> ?2 ORDER BY visited.id LIMIT ?3"
            ))
            .map_err(sql)?;
        let rows = select.query_map((after.0, round, limit), read_known).map_err(sql)?;
        rows.map(|row| row.map_err(sql)?.known()).collect()
    }

    pub(super) fn known_among(&self, keys: &[UrlKey]) -> Result<Vec<KnownUrl>, StoreError> {
        let mut select = self
            .conn
            .prepare_cached(&format!(
                "SELECT {KNOWN}, {HISTORY} FROM visited JOIN hosts ON hosts.id = visited.host \
                 WHERE visited.id = ?1 AND visited.round <> ?2"
            ))
            .map_err(sql)?;
        let mut find = FindUrl::prepare(&self.conn).map_err(sql)?;
        let mut found = Vec::new();
        for key in keys {
            let Some(id) = find.id(key).map_err(sql)? else { continue };
            let rows = select.query_map((id, self.memory.round), read_known).map_err(sql)?;
            for row in rows {
                found.push(row.map_err(sql)?.known()?);
            }
        }
        Ok(found)
    }

    /// Begins a round, with `recrawl` over known URLs; `keep_sites` keeps fingerprints and contents.
    pub(super) fn begin(&mut self, recrawl: bool, keep_sites: bool) -> Result<u32, StoreError> {
        self.write(|conn, memory| {
            // URLs are not updated: the new round's number makes them unvisited
            conn.execute_batch(
                "UPDATE numbers SET value = 0 \
                 WHERE name IN ('records', 'failed', 'skipped', 'redirected', 'unchanged', 'gone'); \
                 DELETE FROM queue; DELETE FROM waiting; DELETE FROM leases; DELETE FROM held; DELETE FROM so_far; \
                 DELETE FROM unsettled; DELETE FROM refetched;",
            )
            .map_err(sql)?;
            forget_pauses(conn).map_err(sql)?;
            if !(recrawl && keep_sites) {
                conn.execute_batch("DELETE FROM host_states; DELETE FROM contents;").map_err(sql)?;
            }
            if !recrawl {
                let round = memory.round;
                Texts::of_crawl(conn, memory).forget_before(round).map_err(sql)?;
            }
            set_number(conn, "round", i64::from(memory.round) + 1).map_err(sql)?;
            set_number(conn, "recrawl", i64::from(recrawl)).map_err(sql)?;
            let bounds = memory.bounds;
            *memory = Memory::load(conn)?;
            memory.bounds = bounds;
            Ok(())
        })?;
        self.commit()?;
        Ok(self.memory.round)
    }
}
