//! How many URLs of each host are where, kept in memory and changed with every transaction, so that no question
//! about the frontier scans it. Only hosts with something pending, waiting, leased or held have an entry.

use crawl_model::{Discovery, HostBound, HostBounds, HostKey, HostLoad, Lane, NewUrl, ReadyHost, Refused};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// The store's own number of a host.
pub(crate) type HostId = i64;

/// Where a URL that is not settled is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// To be fetched, its time has come.
    Ready,
    /// The same, by a browser.
    ReadyForBrowser,
    /// To be fetched again later.
    Waiting,
    /// Out with a worker.
    Leased,
    /// Fetched, kept until the host's fingerprint settles.
    Held,
}

impl Place {
    /// Where a URL of a lane is once its time has come.
    pub(crate) const fn ready(lane: Lane) -> Self {
        match lane {
            Lane::Plain => Self::Ready,
            Lane::Browser => Self::ReadyForBrowser,
        }
    }
}

/// Numbers by [`Place`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Places([u64; 5]);

impl Places {
    pub(crate) fn get(self, place: Place) -> u64 {
        self.0[place as usize]
    }

    /// URLs that are to be fetched, now or later.
    pub(crate) fn pending(self) -> u64 {
        self.get(Place::Ready) + self.get(Place::ReadyForBrowser) + self.get(Place::Waiting)
    }

    /// Nothing pending, waiting or leased.
    pub(crate) fn drained(self) -> bool {
        self.pending() + self.get(Place::Leased) == 0
    }

    fn add(&mut self, place: Place, n: u64) {
        self.0[place as usize] += n;
    }

    fn take(&mut self, place: Place, n: u64) {
        let count = &mut self.0[place as usize];
        debug_assert!(*count >= n, "more taken from {place:?} than there is");
        *count = count.saturating_sub(n);
    }
}

/// URLs that a host is leased ahead of hosts that have not begun: its files, its first pages and its probe. Without this a
/// crawl of thousands of hosts asks all for their robots.txt before the first page of any.
const FIRST_LEASES: u64 = 16;

/// Bytes of a URL's row besides its texts: key, numbers, date, and places in tables and indexes.
pub(crate) const ROW_BYTES: u64 = 192;

/// Assumed bytes of a pending URL of an earlier process. The first count of its host replaces the assumption. Only long
/// chains of redirects exceed it; each of their URLs has cost a fetch.
const ASSUMED_BYTES: u64 = 8 << 10;

/// Bytes of a pending URL whose texts have these lengths.
pub(crate) const fn row_bytes(url: usize, redirects: usize) -> u64 {
    ROW_BYTES + (url + redirects) as u64
}

/// Total length of a chain of redirects.
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

/// Adds a URL to those that were refused.
pub(crate) fn refuse(refused: &mut Vec<Refused>, url: &NewUrl, bound: HostBound) {
    match refused.iter_mut().find(|refused| refused.host == url.host) {
        Some(refused) => refused.keys.push(url.key),
        None => {
            let (host, first) = (url.host.clone(), url.url.clone());
            refused.push(Refused { host, bound, first, keys: vec![url.key] });
        }
    }
}

/// Room of a host for a new URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    Enough,
    Full(HostBound),
    /// The bytes of the host's pending URLs have to be counted first: [`Ledger::counted`].
    Uncounted,
}

/// Order of hosts in a lane: those within their first leases, then the others; each by the time of their last lease.
type Position = (bool, u64);

struct Entry {
    key: HostKey,
    places: Places,
    /// Turn in each lane; `None` while nothing is ready there.
    turns: [Option<u64>; 2],
    /// Position in the order of each lane; `None` while nothing can be leased there.
    listed: [Option<Position>; 2],
    /// URLs leased since the host has an entry.
    leases: u64,
    /// The caller cannot use it for now.
    suspended: bool,
    /// The ready URLs of the lane wait for URLs that are nearer to the seeds.
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
            listed: [None; 2],
            leases: 0,
            suspended: false,
            behind_level: [false; 2],
            bytes: 0,
            is_assumed: false,
        }
    }

    /// Returns true if the host has begun and has not had its first leases.
    const fn has_begun(&self) -> bool {
        self.leases > 0 && self.leases < FIRST_LEASES
    }
}

/// See the module.
#[derive(Default)]
pub(crate) struct Ledger {
    hosts: FxHashMap<HostId, Entry>,
    /// Hosts with something to lease in each lane, in their order.
    turns: [BTreeMap<Position, HostId>; 2],
    next_turn: u64,
    total: Places,
    suspended: FxHashSet<HostId>,
    /// Hosts that were drained since [`Ledger::take_drained`].
    drained: Vec<HostKey>,
}

impl Ledger {
    /// `n` URLs of a host come to a place from outside.
    pub(crate) fn add(&mut self, host: HostId, key: &HostKey, place: Place, n: u64) {
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

    /// Adds the bytes of URLs that come to be pending to a host.
    pub(crate) fn grow(&mut self, host: HostId, bytes: u64) {
        if let Some(entry) = self.hosts.get_mut(&host) {
            entry.bytes = entry.bytes.saturating_add(bytes);
        }
    }

    /// Subtracts the bytes of URLs that are leased from a host.
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

    /// Room of a host for a new URL of so many bytes.
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

    /// `n` URLs of a host leave for good.
    pub(crate) fn take(&mut self, host: HostId, place: Place, n: u64) {
        if n == 0 {
            return;
        }
        if let Some(entry) = self.hosts.get_mut(&host) {
            entry.places.take(place, n);
            entry.behind_level = [false; 2];
            self.total.take(place, n);
            if place != Place::Held {
                self.note_drained(host);
            }
            self.order(host);
        }
    }

    /// `n` URLs of a host go from one place to another.
    pub(crate) fn shift(&mut self, host: HostId, from: Place, to: Place, n: u64) {
        if let Some(entry) = self.hosts.get_mut(&host) {
            entry.places.take(from, n);
            entry.places.add(to, n);
            entry.behind_level = [false; 2];
            self.total.take(from, n);
            self.total.add(to, n);
            self.order(host);
        }
    }

    /// `n` URLs of a host have been leased: it goes behind the others in the lane's order.
    pub(crate) fn served(&mut self, host: HostId, lane: Lane, n: u64) {
        if let Some(entry) = self.hosts.get_mut(&host) {
            entry.leases = entry.leases.saturating_add(n);
            entry.turns[lane as usize] = None;
        }
        self.order(host);
    }

    /// Nothing of a host that is ready in a lane may be leased before a URL of the host has moved.
    pub(crate) fn wait_for_level(&mut self, host: HostId, lane: Lane) {
        if let Some(entry) = self.hosts.get_mut(&host) {
            entry.behind_level[lane as usize] = true;
        }
        self.order(host);
    }

    /// Leaves a host out of [`Ledger::ready`] until it is resumed. Its turn is kept.
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

    /// Hosts that came to have nothing pending and nothing leased since the last call. They may have more by now.
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

    /// Makes the order of turns agree with what can be leased, and forgets a host of which nothing is left.
    fn order(&mut self, host: HostId) {
        let Some(entry) = self.hosts.get_mut(&host) else { return };
        let begun = entry.has_begun();
        for lane in Lane::ALL {
            let ready = entry.places.get(Place::ready(lane)) > 0;
            let lane = lane as usize;
            let turn = &mut entry.turns[lane];
            if !ready {
                *turn = None;
            } else if turn.is_none() {
                *turn = Some(self.next_turn);
                self.next_turn += 1;
            }
            let listed = turn.filter(|_| !entry.suspended && !entry.behind_level[lane]);
            let listed = listed.map(|turn| (!begun, turn));
            if listed != entry.listed[lane] {
                if let Some(before) = entry.listed[lane] {
                    self.turns[lane].remove(&before);
                }
                if let Some(position) = listed {
                    self.turns[lane].insert(position, host);
                }
                entry.listed[lane] = listed;
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

    /// Hosts with something to lease in a lane, in their order, `limit` at most.
    pub(crate) fn ready(&self, lane: Lane, limit: usize) -> Vec<ReadyHost> {
        let hosts = self.turns[lane as usize].values().take(limit).filter_map(|host| self.hosts.get(host));
        hosts
            .map(|entry| ReadyHost {
                host: entry.key.clone(),
                pending: number(entry, Place::ready(lane)),
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
        let held = self.hosts.values().filter(|entry| entry.places.get(Place::Held) > 0);
        let load = |entry: &Entry| HostLoad { host: entry.key.clone(), pending: number(entry, Place::Held) };
        let mut hosts: Vec<_> = held.map(load).collect();
        hosts.sort_unstable_by(|a, b| a.host.cmp(&b.host));
        hosts
    }
}

fn number(entry: &Entry, place: Place) -> usize {
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
        ledger.shift(host, Place::Ready, Place::Leased, 1);
        ledger.served(host, Lane::Plain, 1);
    }

    #[test]
    fn hosts_take_turns() {
        let mut ledger = Ledger::default();
        ledger.add(1, &key("a"), Place::Ready, 2);
        ledger.add(2, &key("b"), Place::Ready, 1);
        ledger.add(1, &key("a"), Place::Ready, 1);
        assert_eq!(names(&ledger), ["a", "b"]);
        for host in [1, 2] {
            ledger.served(host, Lane::Plain, FIRST_LEASES);
        }
        assert_eq!(names(&ledger), ["a", "b"]);
        lease(&mut ledger, 1);
        assert_eq!(names(&ledger), ["b", "a"]);
        lease(&mut ledger, 2);
        assert_eq!(names(&ledger), ["a"]);
        ledger.shift(2, Place::Leased, Place::Ready, 1);
        assert_eq!(names(&ledger), ["a", "b"]);
    }

    #[test]
    fn a_host_has_its_first_leases_before_another_begins() {
        let mut ledger = Ledger::default();
        for (host, name) in [(1, "a"), (2, "b"), (3, "c")] {
            ledger.add(host, &key(name), Place::Ready, 100);
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
            ledger.add(host, &key(name), Place::Ready, 1);
        }
        ledger.suspend(1);
        ledger.suspend(2);
        ledger.add(1, &key("a"), Place::Ready, 1);
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
        ledger.add(1, &key("a"), Place::Ready, 3);
        lease(&mut ledger, 1);
        ledger.wait_for_level(1, Lane::Plain);
        assert!(names(&ledger).is_empty());
        ledger.take(1, Place::Leased, 1);
        assert_eq!(names(&ledger), ["a"]);
    }

    #[test]
    fn assumed_bytes_are_counted_once_when_they_may_be_too_many() {
        let mut ledger = Ledger::default();
        let bounds = HostBounds { urls: Some(50), bytes: Some(3 * ASSUMED_BYTES) };
        assert_eq!(ledger.room(1, bounds, 100), Room::Enough, "nothing is known of the host");
        ledger.add(1, &key("a"), Place::Ready, 2);
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
        ledger.add(1, &key("a"), Place::Ready, 48);
        assert_eq!(ledger.room(1, bounds, 1), Room::Full(HostBound::Urls));
        assert_eq!(ledger.room(1, HostBounds::default(), u64::MAX), Room::Enough, "without bounds");
    }

    #[test]
    fn drained_hosts_are_named_once() {
        let mut ledger = Ledger::default();
        ledger.add(1, &key("a"), Place::Ready, 2);
        ledger.add(2, &key("b"), Place::Ready, 1);
        lease(&mut ledger, 1);
        ledger.take(1, Place::Leased, 1);
        assert!(ledger.take_drained().is_empty(), "one is ready");
        lease(&mut ledger, 1);
        ledger.take(1, Place::Leased, 1);
        ledger.add(1, &key("a"), Place::Held, 1);
        assert_eq!(ledger.take_drained(), [key("a")]);
        ledger.take(1, Place::Held, 1);
        assert!(ledger.take_drained().is_empty());
    }

    #[test]
    fn a_host_of_which_nothing_is_left_is_forgotten() {
        let mut ledger = Ledger::default();
        ledger.add(1, &key("a"), Place::Ready, 1);
        ledger.shift(1, Place::Ready, Place::Leased, 1);
        assert!(!ledger.of(1).drained());
        ledger.take(1, Place::Leased, 1);
        ledger.add(1, &key("a"), Place::Held, 1);
        assert!(ledger.of(1).drained() && ledger.total().drained());
        assert_eq!(ledger.held(), [HostLoad { host: key("a"), pending: 1 }]);
        ledger.suspend(1);
        ledger.take(1, Place::Held, 1);
        assert!(ledger.hosts.is_empty() && ledger.turns.iter().all(BTreeMap::is_empty));
        assert!(ledger.suspended.is_empty());
    }
}
