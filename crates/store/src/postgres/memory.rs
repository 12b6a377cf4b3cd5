//! State of the database that the worker keeps in memory: its hosts, its leases of URLs, and its counts.

use super::{
    db::{Db, get, uint},
    hosts::Host,
    page_fences::PageFences,
    read_ahead::ReadAhead,
    tally::Tally,
};
use crate::{
    known::KnownUrls,
    ledger::{HostId, Ledger, UrlState},
};
use crawl_model::{HostBounds, HostKey, HostLoad, Lane, LeaseRef, StoreError, UrlKey, now_ms};
use rustc_hash::{FxHashMap, FxHashSet};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant},
};

/// Number of ids and tokens that are reserved at a time, so that not every URL or lease writes to the database.
const BLOCK: i64 = 1 << 12;

pub(super) struct Memory {
    pub(super) worker: i32,
    pub(super) round: u32,
    pub(super) clock: ClockOffset,
    /// True if URLs of earlier rounds rest in this one.
    pub(super) recrawl: bool,
    pub(super) project: Arc<str>,
    pub(super) source_group: Option<Arc<str>>,
    pub(super) ledger: Ledger,
    pub(super) bounds: HostBounds,
    pub(super) known: KnownUrls,
    /// Hosts by name: those of this worker, and some of others.
    pub(super) hosts: FxHashMap<HostKey, Host>,
    /// Hosts with a lease since this worker took them.
    pub(super) begun: FxHashSet<HostId>,
    /// Hosts that go to another worker: no URL of theirs is leased any more.
    pub(super) leaving: FxHashSet<HostId>,
    /// Hosts that another worker took over, with the number of their held pages, until the caller reads the list.
    pub(super) handed_over: Vec<HostLoad>,
    /// Time at which the held pages of a host were last read.
    pub(super) read_at: FxHashMap<HostId, Instant>,
    /// Stored pauses of hosts that need more than the usual one.
    pub(super) pauses: FxHashMap<HostId, Duration>,
    /// Blocks of records and bytes that earlier processes of this worker were granted in this run; `None` before the first
    /// block of this one.
    pub(super) quota_bases: [Option<i64>; 2],
    /// Names of this worker's hosts.
    pub(super) names: FxHashMap<HostId, HostKey>,
    /// Number of this worker's hosts of each domain.
    pub(super) domains: BTreeMap<i64, usize>,
    /// Domain whose free hosts this worker searched for last.
    pub(super) probed: i64,
    /// URLs read ahead for the next leases.
    pub(super) ahead: ReadAhead,
    /// Leased URLs.
    pub(super) out: FxHashMap<i64, Out>,
    /// Fences of the URLs that are leased or held.
    pub(super) fences: PageFences,
    /// URLs that wait for a retry, by number and by time.
    pub(super) waits: FxHashMap<i64, Wait>,
    pub(super) waiting: BTreeSet<(i64, i64)>,
    /// Leased and waiting URLs of each host, which are in its queue too.
    pub(super) busy: FxHashMap<HostId, FxHashSet<i64>>,
    pub(super) held: FxHashMap<i64, Held>,
    /// Tokens of leases and held pages that ended with the loss of their host, by URL.
    pub(super) revoked: FxHashMap<i64, i64>,
    pub(super) tally: Tally,
    /// Order of the next held page.
    pub(super) next_order: i64,
    ids: Block,
    tokens: Block,
}

/// A leased URL.
#[derive(Clone, Copy)]
pub(super) struct Out {
    pub(super) token: i64,
    pub(super) host: HostId,
    pub(super) lane: Lane,
    pub(super) depth: u32,
    pub(super) deadline: i64,
    pub(super) key: UrlKey,
    /// Bytes of the URL while it was pending.
    pub(super) bytes: u64,
}

/// A URL that waits for a retry.
#[derive(Clone, Copy)]
pub(super) struct Wait {
    pub(super) due: i64,
    pub(super) host: HostId,
    pub(super) lane: Lane,
}

/// A held page.
#[derive(Clone, Copy)]
pub(super) struct Held {
    pub(super) token: i64,
    /// Host of the URL.
    pub(super) host: HostId,
    pub(super) held_for: HostId,
    pub(super) key: UrlKey,
    pub(super) bytes: u64,
}

impl Memory {
    /// Reads the row of the crawl. The worker has no hosts yet.
    pub(super) fn load(db: &mut Db, worker: i32) -> Result<Self, StoreError> {
        let select = "SELECT round, recrawl, project, source_group, \
                      (extract(epoch FROM clock_timestamp()) * 1000)::int8 FROM crawls";
        let row = db.one(select, &[])?;
        let round = uint(get(&row, 0)?);
        Ok(Self {
            worker,
            round,
            clock: ClockOffset::of(get(&row, 4)?),
            recrawl: get(&row, 1)?,
            project: get::<&str>(&row, 2)?.into(),
            source_group: get::<Option<&str>>(&row, 3)?.map(Into::into),
            ledger: Ledger::default(),
            bounds: HostBounds::default(),
            known: KnownUrls::new(),
            hosts: FxHashMap::default(),
            begun: FxHashSet::default(),
            leaving: FxHashSet::default(),
            handed_over: Vec::new(),
            read_at: FxHashMap::default(),
            pauses: FxHashMap::default(),
            quota_bases: [None; 2],
            names: FxHashMap::default(),
            domains: BTreeMap::new(),
            probed: i64::MIN,
            ahead: ReadAhead::default(),
            out: FxHashMap::default(),
            fences: PageFences::default(),
            waits: FxHashMap::default(),
            waiting: BTreeSet::new(),
            busy: FxHashMap::default(),
            held: FxHashMap::default(),
            revoked: FxHashMap::default(),
            tally: Tally::load(db, worker, round)?,
            next_order: 1,
            ids: Block::default(),
            tokens: Block::default(),
        })
    }

    /// Takes over the reserved ids of the previous round, and its page fences.
    pub(super) fn succeed(&mut self, before: &mut Self) {
        self.ids = std::mem::take(&mut before.ids);
        self.fences = before.fences.clone();
        self.fences.clear();
    }

    /// A number that no URL has.
    pub(super) fn next_id(&mut self, db: &mut Db) -> Result<i64, StoreError> {
        self.ids.next(db, "UPDATE crawls SET next_id = next_id + $1 RETURNING next_id - $1")
    }

    /// A token larger than those of all earlier leases of this worker's URLs.
    pub(super) fn next_token(&mut self, db: &mut Db) -> Result<i64, StoreError> {
        self.tokens.next(db, "UPDATE crawls SET next_token = next_token + $1 RETURNING next_token - $1")
    }

    /// Makes the next token larger than all tokens that any worker has reserved.
    pub(super) fn skip_tokens(&mut self) {
        self.tokens = Block::default();
    }

    /// The epoch of a host of this worker.
    pub(super) fn epoch(&self, host: HostId) -> Option<i64> {
        self.names.get(&host).and_then(|name| self.hosts.get(name)).and_then(|host| host.epoch)
    }

    /// Adds a host that this worker has taken.
    pub(super) fn own(&mut self, name: HostKey, host: Host) {
        self.ahead.forget(host.id);
        self.names.insert(host.id, name.clone());
        *self.domains.entry(host.domain).or_default() += 1;
        self.hosts.insert(name, host);
    }

    /// Hosts of this worker with unsettled URLs.
    pub(super) fn busy_hosts(&self) -> usize {
        self.names.keys().filter(|id| self.ledger.of(**id).total() > 0).count()
    }

    /// Excludes a queued URL from further leases.
    pub(super) fn set_busy(&mut self, host: HostId, id: i64) {
        self.busy.entry(host).or_default().insert(id);
    }

    pub(super) fn set_idle(&mut self, host: HostId, id: i64) {
        if let Some(ids) = self.busy.get_mut(&host) {
            ids.remove(&id);
            if ids.is_empty() {
                self.busy.remove(&host);
            }
        }
    }

    pub(super) fn is_busy(&self, host: HostId, id: i64) -> bool {
        self.busy.get(&host).is_some_and(|ids| ids.contains(&id))
    }

    /// Leased and waiting URLs of a host.
    pub(super) fn busy_of(&self, host: HostId) -> Vec<i64> {
        self.busy.get(&host).map(|ids| ids.iter().copied().collect()).unwrap_or_default()
    }

    /// The lease of a URL, if it is current.
    pub(super) fn leased(&self, lease: LeaseRef) -> Option<Out> {
        self.out.get(&lease.id.0).filter(|out| out.token == lease.token.0).copied()
    }

    /// The held page of a lease, if it is current.
    pub(super) fn held_as(&self, lease: LeaseRef) -> Option<Held> {
        self.held.get(&lease.id.0).filter(|held| held.token == lease.token.0).copied()
    }

    /// Held pages of the URLs of a host, whatever host they are held for.
    pub(super) fn held_pages_of(&self, host: HostId) -> impl Iterator<Item = (i64, Held)> {
        self.held.iter().filter(move |(_, held)| held.host == host).map(|(id, held)| (*id, *held))
    }

    /// Drops URLs that were read ahead with the earlier project.
    pub(super) fn forget_ahead(&mut self) {
        self.ahead = ReadAhead::default();
    }

    /// Removes a lease; the caller updates the ledger.
    pub(super) fn end_lease(&mut self, id: i64) {
        if let Some(out) = self.out.remove(&id) {
            self.set_idle(out.host, id);
            self.fences.remove(id);
        }
    }

    /// Holds a page; the caller updates the ledger.
    pub(super) fn begin_hold(&mut self, id: i64, held: Held) {
        self.held.insert(id, held);
        self.fence_page(id, held.token, held.host);
    }

    /// Removes a held page; the caller updates the ledger.
    pub(super) fn end_hold(&mut self, id: i64) {
        self.held.remove(&id);
        self.fences.remove(id);
    }

    /// Lets a URL wait for a retry.
    pub(super) fn wait(&mut self, id: i64, wait: Wait) {
        self.waits.insert(id, wait);
        self.waiting.insert((wait.due, id));
        self.set_busy(wait.host, id);
    }

    /// Makes waiting URLs ready whose time has come.
    pub(super) fn promote(&mut self, now_ms: i64) {
        let mut moved: Vec<(i64, i64)> = Vec::new();
        while let Some(&(due, id)) = self.waiting.first().filter(|(due, _)| *due <= now_ms) {
            self.waiting.pop_first();
            moved.push((due, id));
        }
        // hosts in the order of their oldest URL, as in the other stores
        moved.sort_unstable();
        for (_, id) in moved {
            let Some(wait) = self.waits.remove(&id) else { continue };
            self.set_idle(wait.host, id);
            self.ahead.forget(wait.host);
            self.ledger.shift(wait.host, UrlState::Waiting, UrlState::ready(wait.lane), 1);
        }
    }

    /// Drops a host that another worker has.
    pub(super) fn drop_host(&mut self, host: HostId) {
        if let Some(name) = self.names.remove(&host) {
            let pending = self.held_pages_of(host).count();
            if let Some(known) = self.hosts.get_mut(&name) {
                known.epoch = None;
                leave_domain(&mut self.domains, known.domain);
            }
            self.handed_over.push(HostLoad { host: name, pending });
        }
        let leased = self.out.iter().filter(|(_, out)| out.host == host).map(|(id, out)| (*id, out.token));
        let held = self.held_pages_of(host).map(|(id, held)| (id, held.token));
        let revoked: Vec<(i64, i64)> = leased.chain(held).collect();
        self.revoked.extend(revoked);
        self.fences.remove_host(host);
        self.out.retain(|_, out| out.host != host);
        self.waits.retain(|_, wait| wait.host != host);
        let waits = &self.waits;
        self.waiting.retain(|(_, id)| waits.contains_key(id));
        self.busy.remove(&host);
        self.ahead.forget(host);
        self.begun.remove(&host);
        self.leaving.remove(&host);
        self.read_at.remove(&host);
        self.pauses.remove(&host);
        for held in self.held.values().filter(|held| held.host == host && held.held_for != host) {
            self.ledger.take(held.held_for, UrlState::Held, 1);
        }
        self.held.retain(|_, held| held.host != host);
        self.ledger.forget(host);
        // pages of other hosts that are held for this one stay
        let guests = self.held.values().filter(|held| held.held_for == host).count() as u64;
        let name = self.hosts.iter().find(|(_, known)| known.id == host).map(|(name, _)| name.clone());
        if let Some(name) = name {
            self.ledger.add(host, &name, UrlState::Held, guests);
        }
    }
}

/// Counts a host of a domain out.
fn leave_domain(domains: &mut BTreeMap<i64, usize>, domain: i64) {
    if let Some(hosts) = domains.get_mut(&domain) {
        *hosts -= 1;
        if *hosts == 0 {
            domains.remove(&domain);
        }
    }
}

/// Block of reserved numbers.
#[derive(Default)]
struct Block {
    next: i64,
    end: i64,
}

impl Block {
    fn next(&mut self, db: &mut Db, reserve: &'static str) -> Result<i64, StoreError> {
        if self.next == self.end {
            self.next = get(&db.one(reserve, &[&BLOCK])?, 0)?;
            self.end = self.next + BLOCK;
        }
        self.next += 1;
        Ok(self.next - 1)
    }
}

/// Difference of the clocks of this machine and of the database. Times of retries are stored by the clock of the database, since
/// another machine may read them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ClockOffset {
    ahead_ms: i64,
}

impl ClockOffset {
    /// Least difference that counts: a shorter one may be the time of the query.
    const LEAST_MS: i64 = 2_000;

    /// The difference, from the time that the database has just given.
    pub(super) fn of(database_ms: i64) -> Self {
        let ahead_ms = now_ms().saturating_sub(database_ms);
        Self { ahead_ms: if ahead_ms.abs() < Self::LEAST_MS { 0 } else { ahead_ms } }
    }

    pub(super) const fn to_database(self, here_ms: i64) -> i64 {
        here_ms.saturating_sub(self.ahead_ms)
    }

    pub(super) const fn to_here(self, there_ms: i64) -> i64 {
        there_ms.saturating_add(self.ahead_ms)
    }
}
