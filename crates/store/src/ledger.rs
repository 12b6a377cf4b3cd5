//! How many URLs of each host are where, kept in memory and changed with every transaction, so that no question
//! about the frontier scans it. Only hosts with something pending, waiting, leased or held have an entry.

use crawl_model::{HostKey, HostLoad, Lane};
use rustc_hash::FxHashMap;
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

struct Entry {
    key: HostKey,
    places: Places,
    /// Position in the order of turns of each lane; `None` while nothing is ready there.
    turns: [Option<u64>; 2],
}

/// See the module.
#[derive(Default)]
pub(crate) struct Ledger {
    hosts: FxHashMap<HostId, Entry>,
    /// Hosts with something ready in each lane, the one that has waited longest first.
    turns: [BTreeMap<u64, HostId>; 2],
    next_turn: u64,
    total: Places,
}

impl Ledger {
    /// `n` URLs of a host come to a place from outside.
    pub(crate) fn add(&mut self, host: HostId, key: &HostKey, place: Place, n: u64) {
        if n == 0 {
            return;
        }
        let entry = self.hosts.entry(host).or_insert_with(|| Entry {
            key: key.clone(),
            places: Places::default(),
            turns: [None; 2],
        });
        entry.places.add(place, n);
        self.total.add(place, n);
        self.order(host);
    }

    /// `n` URLs of a host leave for good.
    pub(crate) fn take(&mut self, host: HostId, place: Place, n: u64) {
        if n == 0 {
            return;
        }
        if let Some(entry) = self.hosts.get_mut(&host) {
            entry.places.take(place, n);
            self.total.take(place, n);
            self.order(host);
        }
    }

    /// `n` URLs of a host go from one place to another.
    pub(crate) fn shift(&mut self, host: HostId, from: Place, to: Place, n: u64) {
        if let Some(entry) = self.hosts.get_mut(&host) {
            entry.places.take(from, n);
            entry.places.add(to, n);
            self.total.take(from, n);
            self.total.add(to, n);
            self.order(host);
        }
    }

    /// A host has been leased from: it goes to the end of the lane's order.
    pub(crate) fn served(&mut self, host: HostId, lane: Lane) {
        let lane = lane as usize;
        if let Some(turn) = self.hosts.get_mut(&host).and_then(|entry| entry.turns[lane].take()) {
            self.turns[lane].remove(&turn);
        }
        self.order(host);
    }

    /// Makes the order of turns agree with what is ready, and forgets a host of which nothing is left.
    fn order(&mut self, host: HostId) {
        let Some(entry) = self.hosts.get_mut(&host) else { return };
        for lane in Lane::ALL {
            let ready = entry.places.get(Place::ready(lane)) > 0;
            let (place, turns) = (&mut entry.turns[lane as usize], &mut self.turns[lane as usize]);
            match *place {
                None if ready => {
                    *place = Some(self.next_turn);
                    turns.insert(self.next_turn, host);
                    self.next_turn += 1;
                }
                Some(turn) if !ready => {
                    *place = None;
                    turns.remove(&turn);
                }
                _ => {}
            }
        }
        if entry.places == Places::default() {
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

    /// Hosts with something ready in a lane, in their order, `limit` at most.
    pub(crate) fn ready(&self, lane: Lane, limit: usize) -> Vec<HostLoad> {
        let hosts = self.turns[lane as usize].values().take(limit).filter_map(|host| self.hosts.get(host));
        hosts.map(|entry| load(entry, Place::ready(lane))).collect()
    }

    /// All hosts that have anything anywhere.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = (&HostKey, Places)> {
        self.hosts.values().map(|entry| (&entry.key, entry.places))
    }

    /// Hosts with held pages, by name.
    pub(crate) fn held(&self) -> Vec<HostLoad> {
        let held = self.hosts.values().filter(|entry| entry.places.get(Place::Held) > 0);
        let mut hosts: Vec<_> = held.map(|entry| load(entry, Place::Held)).collect();
        hosts.sort_unstable_by(|a, b| a.host.cmp(&b.host));
        hosts
    }
}

fn load(entry: &Entry, place: Place) -> HostLoad {
    HostLoad {
        host: entry.key.clone(),
        pending: usize::try_from(entry.places.get(place)).unwrap_or(usize::MAX),
    }
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

    #[test]
    fn hosts_take_turns() {
        let mut ledger = Ledger::default();
        ledger.add(1, &key("a"), Place::Ready, 2);
        ledger.add(2, &key("b"), Place::Ready, 1);
        ledger.add(1, &key("a"), Place::Ready, 1);
        assert_eq!(names(&ledger), ["a", "b"]);
        ledger.shift(1, Place::Ready, Place::Leased, 1);
        ledger.served(1, Lane::Plain);
        assert_eq!(names(&ledger), ["b", "a"]);
        ledger.shift(2, Place::Ready, Place::Leased, 1);
        ledger.served(2, Lane::Plain);
        assert_eq!(names(&ledger), ["a"]);
        ledger.shift(2, Place::Leased, Place::Ready, 1);
        assert_eq!(names(&ledger), ["a", "b"]);
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
        ledger.take(1, Place::Held, 1);
        assert!(ledger.hosts.is_empty() && ledger.turns.iter().all(BTreeMap::is_empty));
    }
}
