//! Places for slow hosts. A slow request keeps its fetch place only with a place of this lane. A host that is known to be slow
//! is leased from only with a place of this lane. The places are fewer than all fetch places, so that
//! hosts that answer at once find some, however many slow ones there are.

use crawl_fetch::AddressBook;
use crawl_model::HostKey;
use rustc_hash::FxHashMap;
use std::{
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Time that a request may wait for its host before it counts as slow.
pub const SLOW_AFTER: Duration = Duration::from_secs(3);
/// Pause before the next check of a slow host whose address has no free place.
pub const SLOW_PAUSE: Duration = Duration::from_millis(250);
/// Slow hosts that are known; beyond that those without a place are forgotten.
const MAX_HOSTS: usize = 100_000;
/// Upper bound of strikes. A host with n strikes needs 2ⁿ quick answers.
const MAX_STRIKES: u32 = 6;

/// Places for slow hosts, and the hosts known to be slow.
pub struct SlowLane {
    shared: Arc<Shared>,
    /// Addresses of hosts, if those on one address share a limit.
    addresses: Option<AddressBook>,
}

struct Shared {
    places: usize,
    at_address: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    taken: usize,
    hosts: FxHashMap<HostKey, SlowHost>,
    /// Places that are taken by hosts at an address.
    addresses: FxHashMap<IpAddr, usize>,
}

#[derive(Default)]
struct SlowHost {
    places: usize,
    slow_answers: u32,
    /// Quick answers since the last slow one.
    quick: u32,
}

/// One place of the lane, until it is dropped.
pub struct SlowPermit {
    shared: Arc<Shared>,
    host: HostKey,
    address: Option<IpAddr>,
}

/// Reason why a host has no place of the lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// All places are taken.
    Lane,
    /// The share of the host's address is taken.
    Address,
}

impl SlowLane {
    /// Three quarters of `concurrency` places, and a quarter of those for each address.
    #[must_use]
    pub fn new(concurrency: usize, addresses: Option<AddressBook>) -> Self {
        let places = concurrency.saturating_sub((concurrency / 4).max(1)).max(1);
        let shared = Shared { places, at_address: (places / 4).max(1), state: Mutex::default() };
        Self { shared: Arc::new(shared), addresses }
    }

    /// A place for the next request to a host that is known to be slow; `None` for a host that is not.
    ///
    /// # Errors
    /// If there is no room for a slow host.
    pub fn admit(&self, host: &HostKey) -> Result<Option<SlowPermit>, Full> {
        let address = self.address_of(host);
        let mut state = self.shared.lock();
        if state.hosts.contains_key(host) { self.take(&mut state, host, address).map(Some) } else { Ok(None) }
    }

    /// Marks a host as slow, and takes a place for its current request.
    ///
    /// # Errors
    /// If there is no room for it.
    pub fn admit_slow(&self, host: &HostKey) -> Result<SlowPermit, Full> {
        let address = self.address_of(host);
        let mut state = self.shared.lock();
        state.count_slow_answer(host);
        self.take(&mut state, host, address)
    }

    /// Notes that a request that had a place was slow.
    pub fn was_slow(&self, host: &HostKey) {
        self.shared.lock().count_slow_answer(host);
    }

    /// Notes that a host has answered a request without delay. After a few of those it is slow no longer.
    pub fn was_quick(&self, host: &HostKey) {
        let mut state = self.shared.lock();
        let Some(slow) = state.hosts.get_mut(host) else { return };
        slow.quick += 1;
        // a place that is still out keeps the entry
        if slow.quick >= 1 << slow.slow_answers && slow.places == 0 {
            state.hosts.remove(host);
        }
    }

    /// Number of free places.
    #[must_use]
    pub fn free(&self) -> usize {
        self.shared.places.saturating_sub(self.shared.lock().taken)
    }

    fn address_of(&self, host: &HostKey) -> Option<IpAddr> {
        self.addresses.as_ref().and_then(|book| book.address_of(host))
    }

    fn take(&self, state: &mut State, host: &HostKey, address: Option<IpAddr>) -> Result<SlowPermit, Full> {
        let at_address =
            address.and_then(|address| state.addresses.get(&address)).copied().unwrap_or_default();
        let Some(slow) = state.hosts.get_mut(host) else { return Err(Full::Lane) };
        // an address of one host is bounded by politeness.host_concurrency
        let shares_address = slow.places < at_address;
        if state.taken >= self.shared.places {
            return Err(Full::Lane);
        }
        if shares_address && at_address >= self.shared.at_address {
            return Err(Full::Address);
        }
        slow.places += 1;
        state.taken += 1;
        if let Some(address) = address {
            *state.addresses.entry(address).or_default() += 1;
        }
        Ok(SlowPermit { shared: Arc::clone(&self.shared), host: host.clone(), address })
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn count_slow_answer(&mut self, host: &HostKey) {
        if self.hosts.len() >= MAX_HOSTS && !self.hosts.contains_key(host) {
            self.hosts.retain(|_, slow| slow.places > 0);
        }
        let slow = self.hosts.entry(host.clone()).or_default();
        slow.slow_answers = (slow.slow_answers + 1).min(MAX_STRIKES);
        slow.quick = 0;
    }
}

impl Drop for SlowPermit {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.taken = state.taken.saturating_sub(1);
        if let Some(slow) = state.hosts.get_mut(&self.host) {
            slow.places = slow.places.saturating_sub(1);
        }
        let Some(address) = self.address else { return };
        if let Some(places) = state.addresses.get_mut(&address) {
            *places = places.saturating_sub(1);
            if *places == 0 {
                state.addresses.remove(&address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(n: usize) -> HostKey {
        HostKey::from_stored(format!("h{n}.test"))
    }

    #[test]
    fn slow_hosts_leave_a_quarter_of_the_permits() {
        let lane = SlowLane::new(16, None);
        assert!(lane.admit(&host(0)).unwrap().is_none(), "nothing is known of it");
        let taken: Vec<_> = (0..12).map(|n| lane.admit_slow(&host(n)).unwrap()).collect();
        assert_eq!(lane.admit_slow(&host(12)).err(), Some(Full::Lane));
        assert_eq!(lane.free(), 0);
        assert!(lane.admit(&host(12)).is_err(), "and the host is slow all the same");
        assert!(lane.admit(&host(99)).unwrap().is_none(), "others need no place");
        drop(taken);
        assert!(lane.admit(&host(12)).unwrap().is_some());
        let alone = SlowLane::new(1, None);
        assert!(alone.admit_slow(&host(0)).is_ok(), "one place is enough to go on with");
    }

    #[test]
    fn quick_answers_offset_slow_ones() {
        let lane = SlowLane::new(16, None);
        let is_slow = || lane.admit(&host(0)).unwrap().is_some();
        drop(lane.admit_slow(&host(0)));
        lane.was_slow(&host(0));
        for _ in 0..3 {
            lane.was_quick(&host(0));
            assert!(is_slow(), "two slow answers ask for four quick ones");
        }
        lane.was_quick(&host(0));
        assert!(!is_slow());
    }

    #[test]
    fn one_address_takes_a_quarter_of_the_slow_lane() {
        let book = AddressBook::default();
        for n in 0..9 {
            book.note(&host(n), IpAddr::from([192, 0, 2, u8::from(n > 4)]));
        }
        let lane = SlowLane::new(16, Some(book));
        let first: Vec<_> = (0..3).map(|n| lane.admit_slow(&host(n)).unwrap()).collect();
        assert_eq!(lane.admit_slow(&host(3)).err(), Some(Full::Address), "the address has its quarter");
        let other: Vec<_> = (0..5).map(|_| lane.admit_slow(&host(5)).unwrap()).collect();
        assert_eq!(other.len(), 5, "a host alone at its address is bounded by politeness.host_concurrency");
        assert!(lane.admit_slow(&host(6)).is_err());
        drop(first);
        assert!(lane.admit(&host(3)).unwrap().is_some());
    }

    #[test]
    fn known_hosts_are_bounded() {
        let lane = SlowLane::new(16, None);
        let kept = lane.admit_slow(&host(0)).unwrap();
        for n in 1..=MAX_HOSTS {
            lane.was_slow(&host(n));
        }
        assert_eq!(lane.shared.lock().hosts.len(), 2);
        drop(kept);
    }
}
