//! Permits for slow hosts. A slow request, and each further request to a slow host, needs a permit of this lane
//! besides its fetch permit. The lane has fewer permits than the fetch stage, so slow hosts never take them all.

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
/// Pause before the next check of a slow host whose address has no free permit.
pub const SLOW_PAUSE: Duration = Duration::from_millis(250);
/// Maximum remembered slow hosts. Beyond it those without a permit are dropped.
const MAX_HOSTS: usize = 100_000;
/// Maximum count of slow answers. A host with n of them needs 2ⁿ quick answers to leave the lane.
const MAX_STRIKES: u32 = 6;

/// Permits for slow hosts, and the hosts known to be slow.
pub struct SlowLane {
    shared: Arc<Shared>,
    /// Addresses of hosts, if those on one address share a limit.
    addresses: Option<AddressBook>,
}

struct Shared {
    permits: usize,
    at_address: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    taken: usize,
    hosts: FxHashMap<HostKey, SlowHost>,
    /// Permits taken by hosts at an address.
    addresses: FxHashMap<IpAddr, usize>,
}

#[derive(Default)]
struct SlowHost {
    permits: usize,
    slow_answers: u32,
    /// Quick answers since the last slow one.
    quick: u32,
}

/// One permit of the lane, until it is dropped.
pub struct SlowPermit {
    shared: Arc<Shared>,
    host: HostKey,
    address: Option<IpAddr>,
}

/// Reason why a host has no permit of the lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// All permits are taken.
    Lane,
    /// The share of the host's address is taken.
    Address,
}

impl SlowLane {
    /// Creates a lane with three quarters of `concurrency` permits. Each address may take a quarter of them.
    #[must_use]
    pub fn new(concurrency: usize, addresses: Option<AddressBook>) -> Self {
        let permits = concurrency.saturating_sub((concurrency / 4).max(1)).max(1);
        let shared = Shared { permits, at_address: (permits / 4).max(1), state: Mutex::default() };
        Self { shared: Arc::new(shared), addresses }
    }

    /// A permit for the next request to a host that is known to be slow; `None` for a host that is not.
    ///
    /// # Errors
    /// If no permit is free for a slow host.
    pub fn admit(&self, host: &HostKey) -> Result<Option<SlowPermit>, Full> {
        let address = self.address_of(host);
        let mut state = self.shared.lock();
        if state.hosts.contains_key(host) { self.take(&mut state, host, address).map(Some) } else { Ok(None) }
    }

    /// Marks a host as slow, and takes a permit for its current request.
    ///
    /// # Errors
    /// If no permit is free.
    pub fn admit_slow(&self, host: &HostKey) -> Result<SlowPermit, Full> {
        let address = self.address_of(host);
        let mut state = self.shared.lock();
        state.count_slow_answer(host);
        self.take(&mut state, host, address)
    }

    /// Counts a slow request that had a permit.
    pub fn was_slow(&self, host: &HostKey) {
        self.shared.lock().count_slow_answer(host);
    }

    /// Counts a quick answer. After enough of them the host is no longer slow.
    pub fn was_quick(&self, host: &HostKey) {
        let mut state = self.shared.lock();
        let Some(slow) = state.hosts.get_mut(host) else { return };
        slow.quick += 1;
        // the entry stays while a request holds a permit
        if slow.quick >= 1 << slow.slow_answers && slow.permits == 0 {
            state.hosts.remove(host);
        }
    }

    /// Number of free permits.
    #[must_use]
    pub fn free(&self) -> usize {
        self.shared.permits.saturating_sub(self.shared.lock().taken)
    }

    fn address_of(&self, host: &HostKey) -> Option<IpAddr> {
        self.addresses.as_ref().and_then(|book| book.address_of(host))
    }

    fn take(&self, state: &mut State, host: &HostKey, address: Option<IpAddr>) -> Result<SlowPermit, Full> {
        let at_address =
            address.and_then(|address| state.addresses.get(&address)).copied().unwrap_or_default();
        let Some(slow) = state.hosts.get_mut(host) else { return Err(Full::Lane) };
        // an address of one host is bounded by politeness.host_concurrency
        let shares_address = slow.permits < at_address;
        if state.taken >= self.shared.permits {
            return Err(Full::Lane);
        }
        if shares_address && at_address >= self.shared.at_address {
            return Err(Full::Address);
        }
        slow.permits += 1;
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
            self.hosts.retain(|_, slow| slow.permits > 0);
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
            slow.permits = slow.permits.saturating_sub(1);
        }
        let Some(address) = self.address else { return };
        if let Some(permits) = state.addresses.get_mut(&address) {
            *permits = permits.saturating_sub(1);
            if *permits == 0 {
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
        assert!(lane.admit(&host(99)).unwrap().is_none(), "others need no permit");
        drop(taken);
        assert!(lane.admit(&host(12)).unwrap().is_some());
        let alone = SlowLane::new(1, None);
        assert!(alone.admit_slow(&host(0)).is_ok(), "one permit is enough to go on with");
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
