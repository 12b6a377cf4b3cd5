//! Operator's queries and maintenance of a store, outside of the crawl.

use super::{
    Inner, SqliteStore,
    codes::{self, OUTCOMES},
    enqueue::{room, stored_bytes},
    error::sql,
    memory::set_number,
    url_keys::FindUrl,
};
use crate::ledger::{Room, UrlState};
use crate::upkeep::{HostCounts, StoreSize};
use crawl_model::{HostBound, HostBounds, HostKey, KnownUrl, Lane, Outcome, RequestId, StoreError, UrlKey};
use rusqlite::OptionalExtension;

impl SqliteStore {
    /// Hosts with unsettled URLs in this round, those with the most first.
    ///
    /// # Errors
    /// When storage fails.
    pub fn hosts(&self) -> Result<Vec<HostCounts>, StoreError> {
        let inner = self.ready()?;
        let mut hosts: Vec<HostCounts> = inner
            .memory
            .ledger
            .hosts()
            .map(|(host, counts)| HostCounts {
                host: host.clone(),
                queued: counts.get(UrlState::Ready) + counts.get(UrlState::ReadyForBrowser),
                waiting: counts.get(UrlState::Waiting),
                leased: counts.get(UrlState::Leased),
                held: counts.get(UrlState::Held),
            })
            .collect();
        hosts.sort_unstable_by(|a, b| b.total().cmp(&a.total()).then_with(|| a.host.cmp(&b.host)));
        Ok(hosts)
    }

    /// The bound that prevents more URLs of a host.
    ///
    /// # Errors
    /// When storage fails.
    pub fn full_by(&self, host: &HostKey, bounds: HostBounds) -> Result<Option<HostBound>, StoreError> {
        let mut inner = self.ready()?;
        let Inner { conn, memory, .. } = &mut *inner;
        let Some(host) = memory.find_host(conn, host).map_err(sql)? else { return Ok(None) };
        Ok(
            match room(conn, &mut memory.ledger, host, bounds, bounds.bytes.unwrap_or(0) / 10).map_err(sql)? {
                Room::Full(bound) => Some(bound),
                Room::Enough | Room::Uncounted => None,
            },
        )
    }

    /// URLs that the next round will know, in the order of their numbers: those after `after` (0 for the
    /// start), `limit` at most.
    ///
    /// # Errors
    /// When storage fails.
    pub fn known_next(&self, after: RequestId, limit: usize) -> Result<Vec<KnownUrl>, StoreError> {
        let inner = self.ready()?;
        inner.known_beside(inner.memory.round + 1, after, limit)
    }

    /// Makes failed URLs of this round pending without attempts; returns their number. Other URLs do not
    /// change. One transaction.
    ///
    /// # Errors
    /// When storage fails; then nothing was changed.
    pub fn reopen_failed(&self, urls: &[UrlKey]) -> Result<usize, StoreError> {
        let mut inner = self.ready()?;
        let reopened = inner.write(|conn, memory| {
            let failed = codes::outcome(Outcome::Failed);
            let mut find = conn
                .prepare_cached(
                    "SELECT urls.id, urls.host, hosts.name, depth FROM urls JOIN hosts ON hosts.id = urls.host \
                     WHERE urls.id = ?1 AND urls.round = ?2 AND outcome = ?3",
                )
                .map_err(sql)?;
            let mut reset = conn
                .prepare_cached("UPDATE urls SET outcome = NULL, attempt = 0, strategy = NULL WHERE id = ?1")
                .map_err(sql)?;
            let mut queue = conn
                .prepare_cached("INSERT INTO queue (host, lane, depth, id) VALUES (?1, ?2, ?3, ?4)")
                .map_err(sql)?;
            let mut reopened = 0;
            let mut find_url = FindUrl::prepare(conn).map_err(sql)?;
            for url in urls {
                let Some(id) = find_url.id(url).map_err(sql)? else { continue };
                let found = find
                    .query_row((id, memory.round, failed), |row| {
                        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, String>(2)?, row.get::<_, u32>(3)?))
                    })
                    .optional()
                    .map_err(sql)?;
                let Some((id, host, name, depth)) = found else { continue };
                reset.execute([id]).map_err(sql)?;
                queue.execute((host, codes::lane(Lane::Plain), depth, id)).map_err(sql)?;
                memory.ledger.add(host, &HostKey::from_stored(&name), UrlState::Ready, 1);
                memory.ledger.grow(host, stored_bytes(conn, id).map_err(sql)?);
                reopened += 1;
            }
            if let Some(n) = OUTCOMES.iter().position(|(outcome, _)| *outcome == Outcome::Failed) {
                memory.settled[n] = memory.settled[n].saturating_sub(reopened as u64);
                set_number(conn, OUTCOMES[n].1, memory.settled[n].cast_signed()).map_err(sql)?;
            }
            Ok(reopened)
        })?;
        inner.commit()?;
        Ok(reopened)
    }

    /// Size of the database, and of its unused part.
    ///
    /// # Errors
    /// When storage fails.
    pub fn size(&self) -> Result<StoreSize, StoreError> {
        let inner = self.ready()?;
        let number =
            |name: &str| inner.conn.pragma_query_value(None, name, |row| row.get::<_, u64>(0)).map_err(sql);
        let (page, pages, free) = (number("page_size")?, number("page_count")?, number("freelist_count")?);
        Ok(StoreSize { file: page * pages, free: page * free })
    }

    /// Returns the unused part of the database to the disk. It rewrites the database, which takes the time
    /// of a copy. Its space is needed twice in the state directory: by a temporary file and by the log.
    ///
    /// # Errors
    /// When storage fails, or the disk is full; then the database has not changed.
    pub fn compact(&self) -> Result<(), StoreError> {
        let mut inner = self.ready()?;
        inner.commit()?;
        let Some(directory) = self.dir.to_str() else {
            return Err(StoreError::Other("the path of the state is not UTF-8".into()));
        };
        let conn = &inner.conn;
        // for all connections of the process; SQLite reads it under a mutex, and only when it makes a temporary file
        let temporary = |store: &str, directory: &str| {
            conn.pragma_update(None, "temp_store_directory", directory)?;
            conn.pragma_update(None, "temp_store", store)
        };
        // a copy in memory would take as much of it as the database has bytes
        let compacted = temporary("file", directory)
            .and_then(|()| conn.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);"));
        let restored = temporary("memory", "");
        compacted.and(restored).map_err(sql)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crawl_model::{Discovery, Frontier, NewUrl, PageHistory, Settlement};

    fn urls(n: usize, padding: usize) -> Vec<NewUrl> {
        let url = |n| format!("https://a.example/{n}/{}", "x".repeat(padding));
        let new = |n| NewUrl {
            key: UrlKey::of(&url(n)),
            url: url(n),
            host: HostKey::from_stored("a.example"),
            depth: 1,
            discovery: Discovery::Link,
            redirects: Vec::new(),
            sitemap_lastmod: None,
        };
        (0..n).map(new).collect()
    }

    #[test]
    fn reopen_failed_requeues_only_failed_urls() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(dir.path()).unwrap();
        store.begin_round().unwrap();
        let urls = urls(4, 0);
        store.enqueue(&urls).unwrap();
        let host = HostKey::from_stored("a.example");
        let leased = store.lease(&host, Lane::Plain, 3, "w", 0, 1_000).unwrap();
        let outcomes = [Outcome::Record, Outcome::Failed, Outcome::Failed];
        let ended: Vec<Settlement> = leased
            .iter()
            .zip(outcomes)
            .map(|(lease, outcome)| Settlement {
                lease: lease.into(),
                outcome,
                history: PageHistory::default(),
            })
            .collect();
        store.settle(&ended, &[]).unwrap();
        let keys: Vec<UrlKey> = urls.iter().map(|url| url.key).collect();
        assert_eq!(store.reopen_failed(&keys).unwrap(), 2);
        assert_eq!(store.reopen_failed(&keys).unwrap(), 0, "they are pending already");
        drop(store);
        let store = SqliteStore::open(dir.path()).unwrap();
        let counts = store.counts().unwrap();
        assert_eq!((counts.pending, counts.failed, counts.records), (3, 0, 1));
        let hosts = store.hosts().unwrap();
        assert_eq!(hosts, [HostCounts { host: host.clone(), queued: 3, waiting: 0, leased: 0, held: 0 }]);
        assert_eq!(store.lease(&host, Lane::Plain, 9, "w", 0, 1_000).unwrap().len(), 3);
        store.begin_round().unwrap();
        assert_eq!(store.reopen_failed(&keys).unwrap(), 0, "that was another round");
    }

    #[test]
    fn reopened_urls_count_for_the_host_limit() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(dir.path()).unwrap();
        store.begin_round().unwrap();
        let (urls, host) = (urls(9, 1_000), HostKey::from_stored("a.example"));
        store.bound_hosts(HostBounds { urls: None, bytes: Some(4_900) }).unwrap();
        assert_eq!(store.enqueue(&urls[..4]).unwrap().new, 4);
        let leased = store.lease(&host, Lane::Plain, 4, "w", 0, 1_000).unwrap();
        let (outcome, history) = (Outcome::Failed, PageHistory::default());
        let end = |lease| Settlement { lease, outcome, history: history.clone() };
        store.settle(&leased.iter().map(|lease| end(lease.into())).collect::<Vec<_>>(), &[]).unwrap();
        let keys: Vec<UrlKey> = urls[..3].iter().map(|url| url.key).collect();
        assert_eq!(store.reopen_failed(&keys).unwrap(), 3);
        assert_eq!(store.enqueue(&urls[4..]).unwrap().new, 1);
        assert!(store.full_by(&host, HostBounds { urls: None, bytes: Some(4_900) }).unwrap().is_some());
        drop(store);
        let store = SqliteStore::open(dir.path()).unwrap();
        store.bound_hosts(HostBounds { urls: None, bytes: Some(7_300) }).unwrap();
        assert_eq!(store.enqueue(&urls[4..]).unwrap().new, 2, "those from before count as they are");
    }

    #[test]
    fn compaction_frees_unused_pages() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(dir.path()).unwrap();
        store.begin_round().unwrap();
        store.enqueue(&urls(2_000, 300)).unwrap();
        store.commit().unwrap();
        store.inner.lock().unwrap().conn.execute_batch("DELETE FROM urls").unwrap();
        let before = store.size().unwrap();
        assert!(before.free > before.file / 4, "{before:?}");
        store.compact().unwrap();
        let after = store.size().unwrap();
        assert!(after.free == 0 && after.file < before.file, "{after:?} of {before:?}");
    }
}
