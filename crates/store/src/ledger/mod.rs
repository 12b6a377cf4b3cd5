//! Number of URLs of each host by state. The counts are in memory and are updated with every transaction, so no query
//! scans the frontier. Only hosts with pending, waiting, leased or held URLs have an entry.

mod room;
#[cfg(test)]
mod tests;
mod url_counts;

pub(crate) use room::{ROW_BYTES, Room, bytes_of, chain_len, is_bounded, refuse, row_bytes};
pub(crate) use url_counts::{UrlCounts, UrlState};

use crawl_model::{HostBound, HostBounds, HostKey, HostLoad, Lane, ReadyHost};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// The store's number of a host.
pub(crate) type HostId = i64;

/// Number of first leases in which a host comes before hosts without leases. They cover its robots.txt, its first
/// pages and its probe. Otherwise a crawl of thousands of hosts would fetch every robots.txt before any page.
const FIRST_LEASES: u64 = 16;

/// Assumed bytes of a pending URL of an earlier process, until the URLs of its host are counted. Only long redirect
/// chains exceed it.
const ASSUMED_BYTES: u64 = 8 << 10;

/// Order of hosts in a lane: those within their first leases, then the others; each by their last lease.
type Position = (bool, u64);

struct Entry {
    key: HostKey,
    counts: UrlCounts,
    /// Turn in each lane; `None` while no URL is ready there.
    turns: [Option<u64>; 2],
    /// Position in the order of each lane; `None` while no URL can be leased there.
    position: [Option<Position>; 2],
    /// URLs leased since the host has an entry.
    leases: u64,
    /// True if the caller cannot use the host for now.
    suspended: bool,
    /// True if the ready URLs of the lane wait for URLs nearer to the seeds.
    behind_level: [bool; 2],
    /// Bytes of pending URLs.
    bytes: u64,
    /// True if some of the bytes are assumed.
    is_assumed: bool,
}

impl Entry {
    fn new(key: &HostKey) -> Self {
        Self {
            key: key.clone(),
            counts: UrlCounts::default(),
            turns: [None; 2],
            position: [None; 2],
            leases: 0,
            suspended: false,
            behind_level: [false; 2],
            bytes: 0,
            is_assumed: false,
        }
    }

    /// Returns true if the host has begun but has not had all its first leases.
    const fn has_begun(&self) -> bool {
        self.leases > 0 && self.leases < FIRST_LEASES
    }
}

/// Hosts with the states and turns of their URLs.
#[derive(Default)]
pub(crate) struct Ledger {
    hosts: FxHashMap<HostId, Entry>,
    /// Hosts with URLs to lease in each lane, in order.
    turns: [BTreeMap<Position, HostId>; 2],
    next_turn: u64,
    total: UrlCounts,
    suspended: FxHashSet<HostId>,
    /// Hosts that were drained since [`Ledger::take_drained`].
    drained: Vec<HostKey>,
}

impl Ledger {
    /// Adds `n` new URLs of a host in a state.
    pub(crate) fn add(&mut self, host: HostId, key: &HostKey, state: UrlState, n: u64) {
        if n == 0 {
            return;
        }
        let entry = self.hosts.entry(host).or_insert_with(|| Entry::new(key));
        entry.counts.add(state, n);
        entry.behind_level = [false; 2];
        self.total.add(state, n);
        self.note_drained(host);
        self.order(host);
    }

    /// Adds the bytes of URLs that become pending.
    pub(crate) fn grow(&mut self, host: HostId, bytes: u64) {
        if let Some(entry) = self.hosts.get_mut(&host) {
            entry.bytes = entry.bytes.saturating_add(bytes);
        }
    }

    /// Subtracts the bytes of URLs that are leased.
    pub(crate) fn shrink(&mut self, host: HostId, bytes: u64) {
        if let Some(entry) = self.hosts.get_mut(&host) {
            entry.bytes = entry.bytes.saturating_sub(bytes);
        }
    }

    /// Counts `n` URLs of an earlier process at an assumed size.
    pub(crate) fn assume(&mut self, host: HostId, n: u64) {
        self.grow(host, n.saturating_mul(ASSUMED_BYTES));
        if let Some(entry) = self.hosts.get_mut(&host) {
            entry.is_assumed = true;
        }
    }

    /// Capacity of a host for a new URL of `bytes`.
    pub(crate) fn room(&self, host: HostId, bounds: HostBounds, bytes: u64) -> Room {
        let Some(entry) = self.hosts.get(&host) else { return Room::Enough };
        if bounds.urls.is_some_and(|most| entry.counts.pending() >= most) {
            return Room::Full(HostBound::Urls);
        }
        match bounds.bytes {
            Some(most) if entry.bytes.saturating_add(bytes) <= most => Room::Enough,
            Some(_) if entry.is_assumed => Room::Uncounted,
            Some(_) => Room::Full(HostBound::Bytes),
            None => Room::Enough,
        }
    }

    /// Replaces the assumed bytes of a host's pending URLs by a count.
    pub(crate) fn counted(&mut self, host: HostId, bytes: u64) {
        if let Some(entry) = self.hosts.get_mut(&host) {
            (entry.bytes, entry.is_assumed) = (bytes, false);
        }
    }

    /// Removes `n` settled URLs of a host from a state.
    pub(crate) fn take(&mut self, host: HostId, state: UrlState, n: u64) {
        if n == 0 {
            return;
        }
        if let Some(entry) = self.hosts.get_mut(&host) {
            entry.counts.take(state, n);
            entry.behind_level = [false; 2];
            self.total.take(state, n);
            if state != UrlState::Held {
                self.note_drained(host);
            }
            self.order(host);
        }
    }

    /// Drops a host with all its URLs, after another process took it over.
    pub(crate) fn forget(&mut self, host: HostId) {
        if let Some(entry) = self.hosts.get_mut(&host) {
            let counts = std::mem::take(&mut entry.counts);
            for (total, n) in self.total.0.iter_mut().zip(counts.0) {
                *total = total.saturating_sub(n);
            }
            self.order(host);
        }
    }

    /// Moves `n` URLs of a host from one state to another.
    pub(crate) fn shift(&mut self, host: HostId, from: UrlState, to: UrlState, n: u64) {
        if let Some(entry) = self.hosts.get_mut(&host) {
            entry.counts.take(from, n);
            entry.counts.add(to, n);
            entry.behind_level = [false; 2];
            self.total.take(from, n);
            self.total.add(to, n);
            self.order(host);
        }
    }

    /// Counts `n` leases of a host, and moves it to the end of the lane's order.
    pub(crate) fn count_leases(&mut self, host: HostId, lane: Lane, n: u64) {
        if let Some(entry) = self.hosts.get_mut(&host) {
            entry.leases = entry.leases.saturating_add(n);
            entry.turns[lane as usize] = None;
        }
        self.order(host);
    }

    /// Excludes a host from a lane until one of its URLs changes state.
    pub(crate) fn wait_for_level(&mut self, host: HostId, lane: Lane) {
        if let Some(entry) = self.hosts.get_mut(&host) {
            entry.behind_level[lane as usize] = true;
        }
        self.order(host);
    }

    /// Leaves a host out of [`Ledger::ready`] until it is resumed. It keeps its turn.
    pub(crate) fn suspend(&mut self, host: HostId) {
        if let Some(entry) = self.hosts.get_mut(&host) {
            entry.suspended = true;
            self.suspended.insert(host);
        }
        self.order(host);
    }

    /// Ends [`Ledger::suspend`] for a host.
    pub(crate) fn resume(&mut self, host: HostId) {
        self.suspended.remove(&host);
        if let Some(entry) = self.hosts.get_mut(&host) {
            entry.suspended = false;
        }
        self.order(host);
    }

    /// Ends [`Ledger::suspend`] for all hosts.
    pub(crate) fn resume_all(&mut self) {
        for host in std::mem::take(&mut self.suspended) {
            self.resume(host);
        }
    }

    /// Hosts that became drained since the last call. They may have new URLs by now.
    pub(crate) fn take_drained(&mut self) -> Vec<HostKey> {
        let mut drained = std::mem::take(&mut self.drained);
        let mut seen = FxHashSet::default();
        drained.retain(|host| seen.insert(host.clone()));
        drained
    }

    fn note_drained(&mut self, host: HostId) {
        if let Some(entry) = self.hosts.get(&host).filter(|entry| entry.counts.drained()) {
            self.drained.push(entry.key.clone());
        }
    }

    /// Updates the order of a host, and drops a host without URLs.
    fn order(&mut self, host: HostId) {
        let Some(entry) = self.hosts.get_mut(&host) else { return };
        let begun = entry.has_begun();
        for lane in Lane::ALL {
            let ready = entry.counts.get(UrlState::ready(lane)) > 0;
            let lane = lane as usize;
            let turn = &mut entry.turns[lane];
            if !ready {
                *turn = None;
            } else if turn.is_none() {
                *turn = Some(self.next_turn);
                self.next_turn += 1;
            }
            let position = turn.filter(|_| !entry.suspended && !entry.behind_level[lane]);
            let position = position.map(|turn| (!begun, turn));
            if position != entry.position[lane] {
                if let Some(before) = entry.position[lane] {
                    self.turns[lane].remove(&before);
                }
                if let Some(position) = position {
                    self.turns[lane].insert(position, host);
                }
                entry.position[lane] = position;
            }
        }
        if entry.counts == UrlCounts::default() {
            self.suspended.remove(&host);
            self.hosts.remove(&host);
        }
    }

    /// Numbers over all hosts.
    pub(crate) fn total(&self) -> UrlCounts {
        self.total
    }

    /// Numbers of one host.
    pub(crate) fn of(&self, host: HostId) -> UrlCounts {
        self.hosts.get(&host).map(|entry| entry.counts).unwrap_or_default()
    }

    /// Hosts with URLs to lease in a lane, in order, `limit` at most.
    pub(crate) fn ready(&self, lane: Lane, limit: usize) -> Vec<ReadyHost> {
        let hosts = self.turns[lane as usize].values().take(limit).filter_map(|host| self.hosts.get(host));
        hosts
            .map(|entry| ReadyHost {
                host: entry.key.clone(),
                pending: number(entry, UrlState::ready(lane)),
                begun: entry.has_begun(),
            })
            .collect()
    }

    /// All hosts with unsettled URLs.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = (&HostKey, UrlCounts)> {
        self.hosts.values().map(|entry| (&entry.key, entry.counts))
    }

    /// Hosts with held pages, by name.
    pub(crate) fn held(&self) -> Vec<HostLoad> {
        let held = self.hosts.values().filter(|entry| entry.counts.get(UrlState::Held) > 0);
        let load =
            |entry: &Entry| HostLoad { host: entry.key.clone(), pending: number(entry, UrlState::Held) };
        let mut hosts: Vec<_> = held.map(load).collect();
        hosts.sort_unstable_by(|a, b| a.host.cmp(&b.host));
        hosts
    }
}

fn number(entry: &Entry, state: UrlState) -> usize {
    usize::try_from(entry.counts.get(state)).unwrap_or(usize::MAX)
}
