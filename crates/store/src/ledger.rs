//! Counts of each host's URLs by state, kept in memory and updated with every transaction, so that no query
//! scans the frontier. Only hosts with pending, waiting, leased or held URLs have an entry.

use crawl_model::{Discovery, HostBound, HostBounds, HostKey, HostLoad, Lane, NewUrl, ReadyHost, Refused};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// The store's number of a host.
pub(crate) type HostId = i64;

/// State of an unsettled URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UrlState {
    /// Pending and due.
    Ready,
    /// The same, by a browser.
    ReadyForBrowser,
    /// Scheduled for a later fetch.
    Waiting,
    /// Out with a worker.
    Leased,
    /// Fetched, held until the host's fingerprint settles.
    Held,
}

impl UrlState {
    /// State of a due URL of a lane.
    pub(crate) const fn ready(lane: Lane) -> Self {
        match lane {
            Lane::Plain => Self::Ready,
            Lane::Browser => Self::ReadyForBrowser,
        }
    }
}

/// Numbers by [`UrlState`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Places([u64; 5]);

impl Places {
    pub(crate) fn get(self, place: UrlState) -> u64 {
        self.0[place as usize]
    }

    /// Number of pending URLs, due now or later.
    pub(crate) fn pending(self) -> u64 {
        self.get(UrlState::Ready) + self.get(UrlState::ReadyForBrowser) + self.get(UrlState::Waiting)
    }

    /// Number of all URLs.
    pub(crate) fn total(self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns true if nothing is pending, waiting or leased.
    pub(crate) fn drained(self) -> bool {
        self.pending() + self.get(UrlState::Leased) == 0
    }

    fn add(&mut self, place: UrlState, n: u64) {
        self.0[place as usize] += n;
    }

    fn take(&mut self, place: UrlState, n: u64) {
        let count = &mut self.0[place as usize];
        debug_assert!(*count >= n, "more taken from {place:?} than there is");
        *count = count.saturating_sub(n);
    }
}

/// Leases of a host before hosts that have not begun: its files, its first pages and its probe. Otherwise a
/// crawl of thousands of hosts fetches every robots.txt before any page.
const FIRST_LEASES: u64 = 16;

/// Bytes of a URL's row besides its texts: key, numbers, date, and entries in tables and indexes.
pub(crate) const ROW_BYTES: u64 = 192;

/// Assumed bytes of a pending URL of an earlier process. The first count of its host replaces the assumption.
/// Only long redirect chains exceed it, each of whose URLs has cost a fetch.
const ASSUMED_BYTES: u64 = 8 << 10;

/// Bytes of a pending URL with texts of these lengths.
pub(crate) const fn row_bytes(url: usize, redirects: usize) -> u64 {
    ROW_BYTES + (url + redirects) as u64
}

/// Total length of a redirect chain.
pub(crate) fn chain_len(redirects: &[String]) -> usize {
    redirects.iter().map(String::len).sum()
}

/// Bytes of a new URL while it is pending.
pub(crate) fn bytes_of(url: &NewUrl) -> u64 {
    row_bytes(url.url.len(), chain_len(&url.redirects))
}

/// Returns true if the bounds of a host apply to a new URL. Seeds and redirects are exempt.
pub(crate) const fn is_bounded(discovery: Discovery) -> bool {
    matches!(discovery, Discovery::Link | Discovery::Sitemap)
}

/// Adds a URL to the refused ones.
pub(crate) fn refuse(refused: &mut Vec<Refused>, url: &NewUrl, bound: HostBound) {
    match refused.iter_mut().find(|refused| refused.host == url.host) {
        Some(refused) => refused.keys.push(url.key),
        None => {
            let (host, first) = (url.host.clone(), url.url.clone());
            refused.push(Refused { host, bound, first, keys: vec![url.key] });
        }
    }
}

/// Capacity of a host for a new URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    Enough,
    Full(HostBound),
    /// The bytes of the host's pending URLs must be counted first: [`Ledger::counted`].
    Uncounted,
}

/// Order of hosts in a lane: those within their first leases, then the others; each by their last lease.
type Position = (bool, u64);

struct Entry {
    key: HostKey,
    places: Places,
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
    /// Some of the bytes are assumed.
    is_assumed: bool,
}

impl Entry {
    fn new(key: &HostKey) -> Self {
        Self {
            key: key.clone(),
            places: Places::default(),
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

/// See the module.
#[derive(Default)]
pub(crate) struct Ledger {
    hosts: FxHashMap<HostId, Entry>,
    /// Hosts with URLs to lease in each lane, in order.
    turns: [BTreeMap<Position, HostId>; 2],
    next_turn: u64,
    total: Places,
    suspended: FxHashSet<HostId>,
    /// Hosts that were drained since [`Ledger::take_drained`].
    drained: Vec<HostKey>,
}

impl Ledger {
    /// Adds `n` new URLs of a host in a state.
    pub(crate) fn add(&mut self, host: HostId, key: &HostKey, place: UrlState, n: u64) {
        if n == 0 {
            return;
        }
        let entry = self.hosts.entry(host).or_insert_with(|| Entry::new(key));
        entry.places.add(place, n);
        entry.behind_level = [false; 2];
        self.total.add(place, n);
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
        if bounds.urls.is_some_and(|most| entry.places.pending() >= most) {
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
    pub(crate) fn take(&mut self, host: HostId, place: UrlState, n: u64) {
        if n == 0 {
            return;
        }
        if let Some(entry) = self.hosts.get_mut(&host) {
            entry.places.take(place, n);
            entry.behind_level = [false; 2];
            self.total.take(place, n);
            if place != UrlState::Held {
                self.note_drained(host);
            }
            self.order(host);
        }
    }

    /// Drops a host with all its URLs, which another process has now.
    pub(crate) fn forget(&mut self, host: HostId) {
        if let Some(entry) = self.hosts.get_mut(&host) {
            let places = std::mem::take(&mut entry.places);
            for (total, n) in self.total.0.iter_mut().zip(places.0) {
                *total = total.saturating_sub(n);
            }
            self.order(host);
        }
    }

    /// Moves `n` URLs of a host from one state to another.
    pub(crate) fn shift(&mut self, host: HostId, from: UrlState, to: UrlState, n: u64) {
        if let Some(entry) = self.hosts.get_mut(&host) {
            entry.places.take(from, n);
            entry.places.add(to, n);
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
        if let Some(entry) = self.hosts.get(&host).filter(|entry| entry.places.drained()) {
            self.drained.push(entry.key.clone());
        }
    }

    /// Updates the order of a host, and drops a host without URLs.
    fn order(&mut self, host: HostId) {
        let Some(entry) = self.hosts.get_mut(&host) else { return };
        let begun = entry.has_begun();
        for lane in Lane::ALL {
            let ready = entry.places.get(UrlState::ready(lane)) > 0;
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
        if entry.places == Places::default() {
            self.suspended.remove(&host);
            self.hosts.remove(&host);
        }
    }

    /// Numbers over all hosts.
    pub(crate) fn total(&self) -> Places {
        self.total
    }

    /// Numbers of one host.
    pub(crate) fn of(&self, host: HostId) -> Places {
        self.hosts.get(&host).map(|entry| entry.places).unwrap_or_default()
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

    /// All hosts that have anything anywhere.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = (&HostKey, Places)> {
        self.hosts.values().map(|entry| (&entry.key, entry.places))
    }

    /// Hosts with held pages, by name.
    pub(crate) fn held(&self) -> Vec<HostLoad> {
        let held = self.hosts.values().filter(|entry| entry.places.get(UrlState::Held) > 0);
        let load =
            |entry: &Entry| HostLoad { host: entry.key.clone(), pending: number(entry, UrlState::Held) };
        let mut hosts: Vec<_> = held.map(load).collect();
        hosts.sort_unstable_by(|a, b| a.host.cmp(&b.host));
        hosts
    }
}

fn number(entry: &Entry, place: UrlState) -> usize {
    usize::try_from(entry.places.get(place)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> HostKey {
        HostKey::from_stored(name)
    }

    fn names(ledger: &Ledger) -> Vec<String> {
        ledger.ready(Lane::Plain, usize::MAX).into_iter().map(|load| load.host.to_string()).collect()
    }

    fn lease(ledger: &mut Ledger, host: HostId) {
        ledger.shift(host, UrlState::Ready, UrlState::Leased, 1);
        ledger.count_leases(host, Lane::Plain, 1);
    }

    #[test]
    fn hosts_take_turns() {
        let mut ledger = Ledger::default();
        ledger.add(1, &key("a"), UrlState::Ready, 2);
        ledger.add(2, &key("b"), UrlState::Ready, 1);
        ledger.add(1, &key("a"), UrlState::Ready, 1);
        assert_eq!(names(&ledger), ["a", "b"]);
        for host in [1, 2] {
            ledger.count_leases(host, Lane::Plain, FIRST_LEASES);
        }
        assert_eq!(names(&ledger), ["a", "b"]);
        lease(&mut ledger, 1);
        assert_eq!(names(&ledger), ["b", "a"]);
        lease(&mut ledger, 2);
        assert_eq!(names(&ledger), ["a"]);
        ledger.shift(2, UrlState::Leased, UrlState::Ready, 1);
        assert_eq!(names(&ledger), ["a", "b"]);
    }

    #[test]
    fn a_host_has_its_first_leases_before_another_begins() {
        let mut ledger = Ledger::default();
        for (host, name) in [(1, "a"), (2, "b"), (3, "c")] {
            ledger.add(host, &key(name), UrlState::Ready, 100);
        }
        for _ in 0..FIRST_LEASES {
            assert_eq!(names(&ledger)[0], "a");
            lease(&mut ledger, 1);
        }
        assert_eq!(names(&ledger), ["b", "c", "a"], "then it waits for those that have not begun");
        lease(&mut ledger, 2);
        lease(&mut ledger, 3);
        assert_eq!(names(&ledger), ["b", "c", "a"], "those that have begun take turns");
    }

    #[test]
    fn a_suspended_host_is_left_out_and_keeps_its_turn() {
        let mut ledger = Ledger::default();
        for (host, name) in [(1, "a"), (2, "b"), (3, "c")] {
            ledger.add(host, &key(name), UrlState::Ready, 1);
        }
        ledger.suspend(1);
        ledger.suspend(2);
        ledger.add(1, &key("a"), UrlState::Ready, 1);
        assert_eq!(names(&ledger), ["c"]);
        assert!(!ledger.total().drained() && !ledger.of(1).drained());
        ledger.resume(2);
        assert_eq!(names(&ledger), ["b", "c"]);
        ledger.resume_all();
        assert_eq!(names(&ledger), ["a", "b", "c"]);
    }

    #[test]
    fn a_host_behind_a_level_is_left_out_until_a_url_moves() {
        let mut ledger = Ledger::default();
        ledger.add(1, &key("a"), UrlState::Ready, 3);
        lease(&mut ledger, 1);
        ledger.wait_for_level(1, Lane::Plain);
        assert!(names(&ledger).is_empty());
        ledger.take(1, UrlState::Leased, 1);
        assert_eq!(names(&ledger), ["a"]);
    }

    #[test]
    fn assumed_bytes_are_counted_once_when_they_may_be_too_many() {
        let mut ledger = Ledger::default();
        let bounds = HostBounds { urls: Some(50), bytes: Some(3 * ASSUMED_BYTES) };
        assert_eq!(ledger.room(1, bounds, 100), Room::Enough, "nothing is known of the host");
        ledger.add(1, &key("a"), UrlState::Ready, 2);
        ledger.assume(1, 2);
        assert_eq!(ledger.room(1, bounds, ASSUMED_BYTES), Room::Enough);
        assert_eq!(ledger.room(1, bounds, ASSUMED_BYTES + 1), Room::Uncounted);
        ledger.counted(1, 500);
        assert_eq!(ledger.room(1, bounds, ASSUMED_BYTES + 1), Room::Enough);
        ledger.grow(1, 3 * ASSUMED_BYTES - 500);
        assert_eq!(ledger.room(1, bounds, 1), Room::Full(HostBound::Bytes));
        ledger.shrink(1, 300);
        assert_eq!(ledger.room(1, bounds, 300), Room::Enough);
        assert_eq!(ledger.room(1, bounds, 301), Room::Full(HostBound::Bytes), "a count is exact");
        ledger.add(1, &key("a"), UrlState::Ready, 48);
        assert_eq!(ledger.room(1, bounds, 1), Room::Full(HostBound::Urls));
        assert_eq!(ledger.room(1, HostBounds::default(), u64::MAX), Room::Enough, "without bounds");
    }

    #[test]
    fn drained_hosts_are_named_once() {
        let mut ledger = Ledger::default();
        ledger.add(1, &key("a"), UrlState::Ready, 2);
        ledger.add(2, &key("b"), UrlState::Ready, 1);
        lease(&mut ledger, 1);
        ledger.take(1, UrlState::Leased, 1);
        assert!(ledger.take_drained().is_empty(), "one is ready");
        lease(&mut ledger, 1);
        ledger.take(1, UrlState::Leased, 1);
        ledger.add(1, &key("a"), UrlState::Held, 1);
        assert_eq!(ledger.take_drained(), [key("a")]);
        ledger.take(1, UrlState::Held, 1);
        assert!(ledger.take_drained().is_empty());
    }

    #[test]
    fn a_host_of_which_nothing_is_left_is_forgotten() {
        let mut ledger = Ledger::default();
        ledger.add(1, &key("a"), UrlState::Ready, 1);
        ledger.shift(1, UrlState::Ready, UrlState::Leased, 1);
        assert!(!ledger.of(1).drained());
        ledger.take(1, UrlState::Leased, 1);
        ledger.add(1, &key("a"), UrlState::Held, 1);
        assert!(ledger.of(1).drained() && ledger.total().drained());
        assert_eq!(ledger.held(), [HostLoad { host: key("a"), pending: 1 }]);
        ledger.suspend(1);
        ledger.take(1, UrlState::Held, 1);
        assert!(ledger.hosts.is_empty() && ledger.turns.iter().all(BTreeMap::is_empty));
        assert!(ledger.suspended.is_empty());
    }
}
