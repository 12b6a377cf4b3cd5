//! History of URLs from earlier rounds, and the start of a round.

use super::{
    Commit, Inner,
    affinity::fill_batch,
    db::{Db, get, int, uint},
    lease::read_strategy,
    memory::Memory,
    round_settings,
    tally::Tally,
    texts,
    url_rows::split_redirects,
};
use crate::codes;
use crawl_model::{
    Before, BodyHash, ContentHash, HostKey, KnownUrl, NewUrl, PageHistory, RequestId, RulesVersion,
    SUFFIX_LIST, StoreError, TextHash, UrlKey, Visits,
};
use tokio_postgres::Row;
use uuid::Uuid;

/// Known URLs that a round has not enqueued, in the order of their numbers.
const KNOWN: &str = "SELECT u.id, key, url, hosts.name, depth, discovery, redirects, sitemap_lastmod, outcome, \
                     first_at, changed_at, visits, changes, status, etag, last_modified, content_hash, fetched_at, \
                     fetched_lastmod, text_hash, body_hash, rules, via \
                     FROM (SELECT * FROM urls WHERE id > $1 AND round <> $2 ORDER BY id LIMIT $3) u \
                     JOIN hosts ON hosts.id = u.host ORDER BY u.id";
const AMONG: &str = "SELECT u.id, key, url, hosts.name, depth, discovery, redirects, sitemap_lastmod, outcome, \
                     first_at, changed_at, visits, changes, status, etag, last_modified, content_hash, fetched_at, \
                     fetched_lastmod, text_hash, body_hash, rules, via \
                     FROM unnest($1::uuid[]) WITH ORDINALITY AS wanted (name, place) \
                     JOIN urls u ON u.key = wanted.name AND u.round <> $2 \
                     JOIN hosts ON hosts.id = u.host ORDER BY wanted.place";
const HISTORY: &str = "SELECT status, etag, last_modified, content_hash, fetched_at, fetched_lastmod, text_hash, \
                       body_hash, rules, via FROM urls WHERE key = $1";

fn hash<const N: usize>(row: &Row, column: usize) -> Result<Option<[u8; N]>, StoreError> {
    let Some(bytes) = get::<Option<&[u8]>>(row, column)? else { return Ok(None) };
    bytes.try_into().map(Some).map_err(|_| StoreError::Corrupt("a hash has another length".into()))
}

/// The hash of a text or body: the first bytes of a column. A worker of an earlier version that outlived an upgrade may have
/// stored longer ones.
fn short_hash(row: &Row, column: usize) -> Result<Option<[u8; 16]>, StoreError> {
    let Some(bytes) = get::<Option<&[u8]>>(row, column)? else { return Ok(None) };
    let short = bytes.first_chunk().ok_or_else(|| StoreError::Corrupt("a hash is too short".into()))?;
    Ok(Some(*short))
}

fn status(row: &Row, column: usize) -> Result<Option<u16>, StoreError> {
    Ok(get::<Option<i32>>(row, column)?.and_then(|status| u16::try_from(status).ok()))
}

/// Reads the columns of [`HISTORY`], from column `at` on.
fn read_history(row: &Row, at: usize) -> Result<PageHistory, StoreError> {
    Ok(PageHistory {
        status: status(row, at)?,
        etag: get(row, at + 1)?,
        last_modified: get(row, at + 2)?,
        content_hash: hash(row, at + 3)?.map(ContentHash),
        fetched_at_ms: get(row, at + 4)?,
        sitemap_lastmod: get(row, at + 5)?,
        text_hash: short_hash(row, at + 6)?.map(TextHash),
        body_hash: short_hash(row, at + 7)?.map(BodyHash),
        rules: get::<Option<i64>>(row, at + 8)?.map(RulesVersion),
        strategy: read_strategy(get(row, at + 9)?)?,
    })
}

/// Reads a page's history for a lease, from column `at` on; none for a URL that was no page.
pub(super) fn read_before(row: &Row, at: usize) -> Result<Option<Before>, StoreError> {
    let Some(content_hash) = hash(row, at)?.map(ContentHash) else { return Ok(None) };
    Ok(Some(Before {
        content_hash,
        text_hash: short_hash(row, at + 1)?.map(TextHash),
        body_hash: short_hash(row, at + 2)?.map(BodyHash),
        rules: get::<Option<i64>>(row, at + 3)?.map(RulesVersion),
        strategy: read_strategy(get(row, at + 4)?)?,
        status: status(row, at + 5)?,
        read_at_ms: get(row, at + 6)?,
        seen_at_ms: get(row, at + 7)?,
    }))
}

/// Reads a URL of columns 1 to 7: key, URL, host, depth, discovery, redirects, sitemap's date.
pub(super) fn read_new_url(row: &Row) -> Result<NewUrl, StoreError> {
    Ok(NewUrl {
        key: UrlKey(get::<Uuid>(row, 1)?.into_bytes()),
        url: get(row, 2)?,
        host: HostKey::from_stored(get::<&str>(row, 3)?),
        depth: uint(get(row, 4)?),
        discovery: codes::read_discovery(i64::from(get::<i16>(row, 5)?))?,
        redirects: split_redirects(get(row, 6)?)?,
        sitemap_lastmod: get(row, 7)?,
    })
}

fn read_known(row: &Row) -> Result<KnownUrl, StoreError> {
    let url = read_new_url(row)?;
    let count = |column| get::<Option<i32>>(row, column).map(|n| uint(n.unwrap_or(0)));
    let visits =
        Visits { first_ms: get(row, 9)?, changed_ms: get(row, 10)?, visits: count(11)?, changes: count(12)? };
    let outcome = get::<Option<i16>>(row, 8)?.map(|code| codes::read_outcome(i64::from(code))).transpose()?;
    Ok(KnownUrl { id: RequestId(get(row, 0)?), url, outcome, history: read_history(row, 13)?, visits })
}

/// Refuses to end a round whose failed URLs were put back since it was found ended.
fn refuse_pending(db: &mut Db) -> Result<(), StoreError> {
    let pending = "SELECT EXISTS (SELECT 1 FROM inbox) OR EXISTS (SELECT 1 FROM queue)";
    if get(&db.one(pending, &[])?, 0)? {
        return Err(StoreError::Busy("the round has URLs again, so it continues".into()));
    }
    Ok(())
}

impl Inner {
    /// Known URLs that a round has not enqueued; the round may be the next one.
    pub(super) fn known_beside(
        &mut self,
        round: u32,
        after: RequestId,
        limit: usize,
    ) -> Result<Vec<KnownUrl>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.db.rows(KNOWN, &[&after.0, &int(round), &limit])?.iter().map(read_known).collect()
    }

    pub(super) fn known_among(&mut self, keys: &[UrlKey]) -> Result<Vec<KnownUrl>, StoreError> {
        let keys: Vec<Uuid> = keys.iter().map(|key| Uuid::from_bytes(key.0)).collect();
        self.db.rows(AMONG, &[&keys, &int(self.memory.round)])?.iter().map(read_known).collect()
    }

    pub(super) fn history(&mut self, url: UrlKey) -> Result<Option<PageHistory>, StoreError> {
        let row = self.db.row(HISTORY, &[&Uuid::from_bytes(url.0)])?;
        row.map(|row| read_history(&row, 0)).transpose()
    }

    /// Begins a round by compare-and-swap: a worker that comes second joins the round of the first.
    pub(super) fn begin(&mut self, recrawl: bool, keep_sites: bool) -> Result<u32, StoreError> {
        let proposed = self.proposed.take();
        let begins = self.write(Commit::Now, &[], |db, memory, _| {
            let row = db.one("SELECT round FROM crawls FOR UPDATE", &[])?;
            let begins = uint(get(&row, 0)?) == memory.round;
            if begins {
                if proposed.is_some() {
                    refuse_pending(db)?;
                }
                // before the hosts, as a claim locks them
                if !(recrawl && keep_sites) {
                    db.batch("TRUNCATE contents")?;
                }
                // the hosts first: the fences of other workers end before their rows are removed
                db.batch(
                    "UPDATE hosts SET owner = NULL, epoch = epoch + 1, active = false WHERE owner IS NOT NULL OR active; \
                     TRUNCATE queue, inbox, held, refetched, unsettled, tallies, quotas; \
                     DELETE FROM addresses WHERE next_at < clock_timestamp()",
                )?;
                if !(recrawl && keep_sites) {
                    db.batch("TRUNCATE host_states")?;
                }
                if !recrawl {
                    texts::forget_before(db, memory.round)?;
                }
                db.execute("UPDATE crawls SET round = round + 1, recrawl = $1", &[&recrawl])?;
                if let Some(settings) = &proposed {
                    round_settings::store(db, memory, settings)?;
                }
            }
            let (bounds, worker) = (memory.bounds, memory.worker);
            let mut next = Memory::load(db, worker)?;
            next.succeed(memory);
            *memory = next;
            Tally::create(db, worker, memory.round)?;
            memory.bounds = bounds;
            Ok(begins)
        })?;
        self.spool.clear()?;
        if begins {
            self.renew_domains()?;
        }
        Ok(self.memory.round)
    }

    /// Computes the domains of hosts again if this program has a newer Public Suffix List than the crawl. A batch is a transaction,
    /// so other workers go on.
    fn renew_domains(&mut self) -> Result<(), StoreError> {
        let row = self.db.one("SELECT suffixes FROM crawls", &[])?;
        if get::<i64>(&row, 0)? >= SUFFIX_LIST {
            return Ok(());
        }
        let mut after = 0;
        while let Some(last) = self.write(Commit::Later, &[], |db, _, _| fill_batch(db, after))? {
            after = last;
            self.renew()?;
        }
        self.write(Commit::Later, &[], |db, _, _| {
            db.execute("UPDATE crawls SET suffixes = greatest(suffixes, $1)", &[&SUFFIX_LIST]).map(|_| ())
        })
    }
}
