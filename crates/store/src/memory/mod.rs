//! The storage traits in memory: for tests, for runs that keep no state, and as the reference for the
//! contract.

mod frontier;
mod projects;
mod texts;

pub use projects::MemoryProjects;

use crate::{
    ledger::{HostId, Ledger, UrlState, bytes_of, chain_len, row_bytes},
    visited::Visited,
};
use crawl_model::{
    CachedRobots, ContentHash, CrawlRequest, Discovery, DomainStore, FrontierCounts, HostBounds, HostKey,
    Lane, LeaseRef, LeaseToken, NewUrl, Origin, Outcome, PageHistory, RequestId, RunStore, StoreError,
    Strategy, UrlKey,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use url::Url;

/// The storage traits in memory, without persistence.
#[derive(Default)]
pub struct MemoryStore {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Rows; a URL's id is its position, counted from 1.
    rows: Vec<Row>,
    by_key: FxHashMap<UrlKey, i64>,
    hosts: FxHashMap<HostKey, HostId>,
    round: u32,
    /// True if URLs of earlier rounds rest in this one.
    recrawl: bool,
    /// States of fingerprints from earlier rounds.
    earlier_states: FxHashMap<HostKey, Vec<u8>>,
    this_round: Round,
    bounds: HostBounds,
    token: i64,
    outputs: FxHashMap<String, u64>,
    settings: FxHashMap<String, String>,
    robots: FxHashMap<Origin, CachedRobots>,
    lessons: FxHashMap<HostKey, Vec<u8>>,
    project: Arc<str>,
    source_group: Option<Arc<str>>,
    texts: texts::Texts,
}

/// State that a new round drops.
#[derive(Default)]
struct Round {
    ledger: Ledger,
    /// URLs by depth and id.
    queues: FxHashMap<(HostId, Lane), BTreeSet<(u32, i64)>>,
    /// Results of earlier strategies, by id.
    partial_results: FxHashMap<i64, Vec<u8>>,
    /// URLs by due time.
    waiting: BTreeSet<(i64, i64)>,
    leases: BTreeMap<i64, Lease>,
    held: BTreeMap<i64, Held>,
    held_order: i64,
    hosts: FxHashSet<HostId>,
    counts: FrontierCounts,
    host_states: FxHashMap<HostKey, Vec<u8>>,
    unsettled: FxHashMap<HostKey, Vec<u8>>,
    /// Ids of URLs whose held page could not be read.
    refetched: FxHashSet<i64>,
    contents: FxHashMap<ContentHash, UrlKey>,
    /// Ids of URLs that were held or ended as a record.
    pages: FxHashSet<i64>,
}

struct Row {
    url: Url,
    host: HostId,
    round: u32,
    depth: u32,
    discovery: Discovery,
    attempt: u32,
    strategy: Option<Strategy>,
    redirects: Vec<String>,
    sitemap_lastmod: Option<String>,
    found_on: Option<i64>,
    outcome: Option<Outcome>,
    visited: Visited,
}

struct Lease {
    token: LeaseToken,
    deadline: i64,
}

struct Held {
    lease: LeaseRef,
    host: HostId,
    page: Vec<u8>,
}

impl MemoryStore {
    /// Creates an empty store, before its first round.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// History of a URL as [`SqliteStore::history`](crate::SqliteStore::history) returns it.
    ///
    /// # Errors
    /// None; the signature is that of the other store.
    pub fn history(&self, url: UrlKey) -> Result<Option<PageHistory>, StoreError> {
        let inner = self.lock();
        Ok(inner.by_key.get(&url).map(|&id| inner.rows[index(id)].visited.history.clone()))
    }

    /// Locks the state. No change panics halfway, so a poisoned lock is safe.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn index(id: i64) -> usize {
    usize::try_from(id - 1).unwrap_or(usize::MAX)
}

impl Inner {
    fn host(&mut self, key: &HostKey) -> HostId {
        if let Some(&id) = self.hosts.get(key) {
            return id;
        }
        let id = self.hosts.len() as HostId;
        self.hosts.insert(key.clone(), id);
        id
    }

    fn add(&mut self, url: &NewUrl, parsed: Option<Url>, again: bool) -> bool {
        let host = self.host(&url.host);
        let round = self.round;
        let id = match self.by_key.get(&url.key) {
            Some(&id) if self.rows[index(id)].round == round => {
                self.set_discovery(host, id, url.discovery);
                self.reduce_depth(host, id, url.depth);
                if url.sitemap_lastmod.is_some() {
                    self.rows[index(id)].sitemap_lastmod.clone_from(&url.sitemap_lastmod);
                }
                return false;
            }
            Some(&id) if self.recrawl && !again && self.rows[index(id)].is_settled_earlier() => {
                if url.sitemap_lastmod.is_some() {
                    self.rows[index(id)].sitemap_lastmod.clone_from(&url.sitemap_lastmod);
                }
                return false;
            }
            Some(&id) => id,
            None => {
                let Some(parsed) = parsed else { return false };
                self.rows.push(Row::new(parsed, host));
                self.rows.len() as i64
            }
        };
        self.by_key.insert(url.key, id);
        self.rows[index(id)].enter(round, url);
        let now = &mut self.this_round;
        now.queues.entry((host, Lane::Plain)).or_default().insert((url.depth, id));
        now.ledger.add(host, &url.host, UrlState::Ready, 1);
        now.ledger.grow(host, bytes_of(url));
        now.hosts.insert(host);
        true
    }

    /// Changes the origin of a URL while it is pending.
    fn set_discovery(&mut self, host: HostId, id: i64, discovery: Discovery) {
        let (row, now) = (&mut self.rows[index(id)], &self.this_round);
        let queue = now.queues.get(&(host, row.lane()));
        let queued = queue.is_some_and(|queue| queue.contains(&(row.depth, id)));
        let pending = || queued || now.waiting.iter().any(|&(_, waiting)| waiting == id);
        if row.discovery.is_replaced_by(discovery) && pending() {
            row.discovery = discovery;
        }
    }

    /// Reduces the depth of a URL while it is pending.
    fn reduce_depth(&mut self, host: HostId, id: i64, depth: u32) {
        let row = &mut self.rows[index(id)];
        if depth >= row.depth {
            return;
        }
        if let Some(queue) = self.this_round.queues.get_mut(&(host, row.lane()))
            && queue.remove(&(row.depth, id))
        {
            queue.insert((depth, id));
            row.depth = depth;
        }
    }

    fn queue(&mut self, id: i64, from: UrlState) {
        let row = &self.rows[index(id)];
        let lane = row.lane();
        self.this_round.queues.entry((row.host, lane)).or_default().insert((row.depth, id));
        self.this_round.ledger.shift(row.host, from, UrlState::ready(lane), 1);
        if from == UrlState::Leased {
            self.this_round.ledger.grow(row.host, row.bytes());
        }
    }

    /// Makes a settled URL pending without attempts.
    fn put_back(&mut self, id: i64) {
        let row = &mut self.rows[index(id)];
        (row.attempt, row.strategy) = (0, None);
        let (host, depth, bytes) = (row.host, row.depth, row.bytes());
        let key = self.hosts.iter().find(|(_, known)| **known == host).map(|(key, _)| key.clone());
        let now = &mut self.this_round;
        now.queues.entry((host, Lane::Plain)).or_default().insert((depth, id));
        if let Some(key) = key {
            now.ledger.add(host, &key, UrlState::Ready, 1);
            now.ledger.grow(host, bytes);
        }
    }

    fn promote(&mut self, now_ms: i64) {
        while let Some(&(due, id)) = self.this_round.waiting.first() {
            if due > now_ms {
                break;
            }
            self.this_round.waiting.pop_first();
            self.queue(id, UrlState::Waiting);
        }
    }

    fn end_lease(&mut self, lease: LeaseRef) -> bool {
        let leases = &mut self.this_round.leases;
        let held = leases.get(&lease.id.0).is_some_and(|found| found.token == lease.token);
        if held {
            leases.remove(&lease.id.0);
        }
        held
    }

    /// Ends a lease or a held page; returns false if it is no longer held.
    fn end(&mut self, lease: LeaseRef) -> bool {
        if self.end_lease(lease) {
            let host = self.rows[index(lease.id.0)].host;
            self.this_round.ledger.take(host, UrlState::Leased, 1);
            return true;
        }
        let now = &mut self.this_round;
        let Some((&order, held)) = now.held.iter().find(|(_, held)| held.lease == lease) else {
            return false;
        };
        now.ledger.take(held.host, UrlState::Held, 1);
        now.held.remove(&order);
        true
    }

    fn request(&self, id: i64, token: LeaseToken) -> CrawlRequest {
        let row = &self.rows[index(id)];
        CrawlRequest {
            id: RequestId(id),
            token,
            url: row.url.clone(),
            depth: row.depth,
            discovery: row.discovery,
            attempt: row.attempt,
            strategy: row.strategy,
            redirects: row.redirects.clone(),
            etag: row.visited.history.etag.clone(),
            last_modified: row.visited.history.last_modified.clone(),
            sitemap_lastmod: row.sitemap_lastmod.clone(),
            before: row.visited.before().filter(|_| self.recrawl).map(Box::new),
            project: Arc::clone(&self.project),
            source_group: self.source_group.clone(),
        }
    }
}

impl Row {
    fn new(url: Url, host: HostId) -> Self {
        Self {
            url,
            host,
            round: 0,
            depth: 0,
            discovery: Discovery::Link,
            attempt: 0,
            strategy: None,
            redirects: Vec::new(),
            sitemap_lastmod: None,
            found_on: None,
            outcome: None,
            visited: Visited::default(),
        }
    }

    /// Bytes of the URL while it is pending.
    fn bytes(&self) -> u64 {
        row_bytes(self.url.as_str().len(), chain_len(&self.redirects))
    }

    /// Returns true if an earlier round settled it, so that the next one need not visit it.
    fn is_settled_earlier(&self) -> bool {
        self.outcome.is_some_and(|outcome| outcome != Outcome::Gone)
    }

    fn lane(&self) -> Lane {
        Lane::of(self.strategy)
    }

    /// Makes a URL pending in a round; its history stays.
    fn enter(&mut self, round: u32, url: &NewUrl) {
        self.round = round;
        self.depth = url.depth;
        self.discovery = url.discovery;
        self.redirects.clone_from(&url.redirects);
        self.sitemap_lastmod.clone_from(&url.sitemap_lastmod);
        self.attempt = 0;
        self.strategy = None;
        self.outcome = None;
    }
}

impl DomainStore for MemoryStore {
    fn load_host(&self, host: &HostKey) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.lock().this_round.host_states.get(host).cloned())
    }

    fn load_earlier_host(&self, host: &HostKey) -> Result<Option<Vec<u8>>, StoreError> {
        let inner = self.lock();
        let now = inner.this_round.host_states.contains_key(host);
        Ok(inner.earlier_states.get(host).filter(|_| !now).cloned())
    }

    fn save_host(&self, host: &HostKey, state: &[u8]) -> Result<(), StoreError> {
        let now = &mut self.lock().this_round;
        now.host_states.insert(host.clone(), state.to_vec());
        now.unsettled.remove(host);
        Ok(())
    }

    fn load_unsettled(&self, host: &HostKey) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.lock().this_round.unsettled.get(host).cloned())
    }

    fn save_unsettled(&self, host: &HostKey, state: Option<&[u8]>) -> Result<(), StoreError> {
        let unsettled = &mut self.lock().this_round.unsettled;
        match state {
            Some(state) => unsettled.insert(host.clone(), state.to_vec()),
            None => unsettled.remove(host),
        };
        Ok(())
    }

    fn load_lessons(&self, host: &HostKey) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.lock().lessons.get(host).cloned())
    }

    fn save_lessons(&self, host: &HostKey, lessons: &[u8]) -> Result<(), StoreError> {
        self.lock().lessons.insert(host.clone(), lessons.to_vec());
        Ok(())
    }

    fn claim_content(&self, hash: &ContentHash, claimant: UrlKey, _: LeaseRef) -> Result<UrlKey, StoreError> {
        Ok(*self.lock().this_round.contents.entry(*hash).or_insert(claimant))
    }

    fn release_content(&self, hash: &ContentHash, claimant: UrlKey, _: LeaseRef) -> Result<(), StoreError> {
        let contents = &mut self.lock().this_round.contents;
        if contents.get(hash) == Some(&claimant) {
            contents.remove(hash);
        }
        Ok(())
    }

    fn became_page(&self, url: UrlKey) -> Result<bool, StoreError> {
        let inner = self.lock();
        let Some(id) = inner.by_key.get(&url) else { return Ok(false) };
        let row = &inner.rows[index(*id)];
        let is_settled_earlier = inner.recrawl && row.round != inner.round;
        let was_page = matches!(row.outcome, Some(Outcome::Record | Outcome::Unchanged));
        Ok(inner.this_round.pages.contains(id) || (is_settled_earlier && was_page))
    }
}

impl RunStore for MemoryStore {
    fn set_project(&self, project: &str, source_group: Option<&str>) -> Result<(), StoreError> {
        let mut inner = self.lock();
        inner.project = project.into();
        inner.source_group = source_group.map(Into::into);
        Ok(())
    }

    fn get(&self, name: &str) -> Result<Option<String>, StoreError> {
        Ok(self.lock().settings.get(name).cloned())
    }

    fn put(&self, name: &str, value: &str) -> Result<(), StoreError> {
        self.lock().settings.insert(name.to_owned(), value.to_owned());
        Ok(())
    }

    fn put_at_end(&self, name: &str, value: &str) -> Result<bool, StoreError> {
        let mut inner = self.lock();
        let is_at_end = inner.this_round.ledger.total().total() == 0;
        if is_at_end {
            inner.settings.insert(name.to_owned(), value.to_owned());
        }
        Ok(is_at_end)
    }

    fn entries(&self, prefix: &str) -> Result<Vec<(String, String)>, StoreError> {
        let inner = self.lock();
        let found = inner.settings.iter().filter(|(name, _)| name.starts_with(prefix));
        let mut entries: Vec<_> = found.map(|(name, value)| (name.clone(), value.clone())).collect();
        entries.sort_unstable();
        Ok(entries)
    }

    /// Does nothing: no data outlives the process.
    fn sync(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn load_robots(&self, origin: &Origin) -> Result<Option<CachedRobots>, StoreError> {
        Ok(self.lock().robots.get(origin).cloned())
    }

    fn save_robots(&self, origin: &Origin, robots: &CachedRobots) -> Result<(), StoreError> {
        self.lock().robots.insert(origin.clone(), robots.clone());
        Ok(())
    }
}
