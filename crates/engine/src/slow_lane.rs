//! Permits for slow hosts. A slow request, and each further request to a slow host, needs a permit of this lane
//! besides its fetch permit. The lane has fewer permits than the fetch stage, so slow hosts never take them all.
//!
//! A host is unproven until it has answered a request for a page: it may be slow, which shows only after [`SLOW_AFTER`].
//! Unproven hosts could take all other permits in turn, so they leave some of them while there are many slow hosts of
//! their kind. Hosts without any answer are one kind, hosts that have only answered for robots.txt the other.
//!
//! While other hosts wait for a permit, slow hosts that are unproven take a quarter of the lane at most. If there are
//! many of them, the first request to an unproven host ends after [`FIRST_TRIAL`] and is made again later. So each
//! host gets its first request soon.

use crawl_fetch::{AddressBook, Answers};
use crawl_model::HostKey;
use rustc_hash::{FxHashMap, FxHashSet};
use std::{
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Time that a request may wait for its host before it counts as slow.
pub const SLOW_AFTER: Duration = Duration::from_secs(3);
/// Waiting time after which the first trial of an unproven host ends while many slow hosts of its kind are known. The
/// second trial ends after [`SLOW_AFTER`].
pub const FIRST_TRIAL: Duration = Duration::from_millis(1_500);
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
    /// Fetch permits.
    concurrency: usize,
    permits: usize,
    at_address: usize,
    /// Fetch permits that unproven hosts leave to the others while there are many slow ones.
    kept: usize,
    state: Mutex<State>,
}

/// Hosts that wait for a permit, as of the last pass of the scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// True if a host waits that is not known to be slow, or that has answered a request for a page.
    pub preferred: bool,
    /// Unproven hosts that wait for a permit of the lane.
    pub unproven: usize,
    /// Those of them that have answered for robots.txt.
    pub with_files: usize,
}

#[derive(Default)]
struct State {
    /// Permits taken by slow hosts without answers, with answers for robots.txt only, and with answers for pages.
    taken: [usize; 3],
    demand: Demand,
    /// Requests to unproven hosts that are not slow yet.
    unproven: usize,
    hosts: FxHashMap<HostKey, SlowHost>,
    /// Hosts whose first trial has ended, with the number of their answers then, until they are slow or proven.
    tried: FxHashMap<HostKey, u32>,
    /// Those of them that have not waited for their second trial.
    ended: FxHashSet<HostKey>,
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

/// Permit for a request to a slow or unproven host, until it is dropped. If the request of an unproven host proves slow,
/// its permit is replaced, so it never counts twice.
pub struct SlowPermit {
    shared: Arc<Shared>,
    holder: Holder,
}

enum Holder {
    /// An unproven host. It takes no permit of the lane.
    Unproven,
    Slow {
        host: HostKey,
        address: Option<IpAddr>,
        answers: Answers,
    },
}

/// Reason why a host has no permit of the lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// All permits are taken.
    Lane,
    /// The share of the host's address is taken.
    Address,
    /// The host is unproven, and the permits for such hosts are taken.
    Unproven,
}

impl SlowLane {
    /// Creates a lane with three quarters of `concurrency` permits. Each address may take a quarter of them. A quarter
    /// of the other permits is kept from unproven hosts.
    #[must_use]
    pub fn new(concurrency: usize, addresses: Option<AddressBook>) -> Self {
        let permits = concurrency.saturating_sub((concurrency / 4).max(1)).max(1);
        let others = concurrency.saturating_sub(permits);
        // one permit must remain for unproven hosts
        let kept = if others < 2 { 0 } else { (others / 4).max(1) };
        let at_address = (permits / 4).max(1);
        let shared = Shared { concurrency, permits, at_address, kept, state: Mutex::default() };
        Self { shared: Arc::new(shared), addresses }
    }

    /// A permit for the next request to a slow host, or to a host that is unproven by its answers so far. `None` for
    /// another host.
    ///
    /// # Errors
    /// If no permit is free for the host.
    pub fn admit(&self, host: &HostKey, answers: Answers) -> Result<Option<SlowPermit>, Full> {
        let address = self.address_of(host);
        let mut state = self.shared.lock();
        if state.hosts.contains_key(host) {
            return self.take(&mut state, (host, answers), address).map(Some);
        }
        if answers == Answers::Pages {
            state.forget_trial(host);
            return Ok(None);
        }
        // the second trial comes after the first trials of the hosts that wait
        if state.ended.remove(host) && state.demand.preferred {
            return Err(Full::Unproven);
        }
        if self.shared.free_for(answers, &state) == 0 {
            return Err(Full::Unproven);
        }
        state.unproven += 1;
        Ok(Some(SlowPermit { shared: Arc::clone(&self.shared), holder: Holder::Unproven }))
    }

    /// Ends the first trial of an unproven host if other hosts wait, and if there are many slow hosts of its kind.
    /// Returns true if it has ended.
    pub fn end_trial(&self, host: &HostKey, (answers, answered): (Answers, u32)) -> bool {
        let mut state = self.shared.lock();
        let ends = state.demand.preferred
            && self.shared.has_many_slow(answers, &state)
            && !state.hosts.contains_key(host)
            && !state.tried.contains_key(host);
        if ends {
            if state.tried.len() >= MAX_HOSTS {
                state.tried.clear();
                state.ended.clear();
            }
            state.tried.insert(host.clone(), answered);
            state.ended.insert(host.clone());
        }
        ends
    }

    /// Rank of an unproven host among those that wait: the number of its answers, or of those since its first trial has
    /// ended.
    #[must_use]
    pub fn rank(&self, host: &HostKey, answered: u32) -> u32 {
        answered.saturating_sub(self.shared.lock().tried.get(host).copied().unwrap_or(0))
    }

    /// Sets the hosts that wait for a permit.
    pub fn set_demand(&self, demand: Demand) {
        self.shared.lock().demand = demand;
    }

    /// Marks a host as slow, and takes a permit for its current request.
    ///
    /// # Errors
    /// If no permit is free.
    pub fn admit_slow(&self, host: &HostKey, answers: Answers) -> Result<SlowPermit, Full> {
        let address = self.address_of(host);
        let mut state = self.shared.lock();
        state.count_slow_answer(host);
        self.take(&mut state, (host, answers), address)
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

    /// Number of free permits for hosts with answers for pages.
    #[must_use]
    pub fn free(&self) -> usize {
        self.shared.free(Answers::Pages, &self.shared.lock())
    }

    /// Number of free permits for slow hosts that are unproven.
    #[must_use]
    pub fn free_for_unproven(&self) -> usize {
        self.shared.free(Answers::None, &self.shared.lock())
    }

    /// Number of free permits for unproven hosts with these answers.
    #[must_use]
    pub fn free_for(&self, answers: Answers) -> usize {
        self.shared.free_for(answers, &self.shared.lock())
    }

    fn address_of(&self, host: &HostKey) -> Option<IpAddr> {
        self.addresses.as_ref().and_then(|book| book.address_of(host))
    }

    fn take(
        &self,
        state: &mut State,
        (host, answers): (&HostKey, Answers),
        address: Option<IpAddr>,
    ) -> Result<SlowPermit, Full> {
        let free = self.shared.free(answers, state);
        let at_address =
            address.and_then(|address| state.addresses.get(&address)).copied().unwrap_or_default();
        let Some(slow) = state.hosts.get_mut(host) else { return Err(Full::Lane) };
        // an address of one host is bounded by politeness.host_concurrency
        let shares_address = slow.permits < at_address;
        if free == 0 {
            return Err(Full::Lane);
        }
        if shares_address && at_address >= self.shared.at_address {
            return Err(Full::Address);
        }
        slow.permits += 1;
        state.taken[answers as usize] += 1;
        if let Some(address) = address {
            *state.addresses.entry(address).or_default() += 1;
        }
        let holder = Holder::Slow { host: host.clone(), address, answers };
        Ok(SlowPermit { shared: Arc::clone(&self.shared), holder })
    }
}

impl Shared {
    /// Permits of the lane that slow hosts with these answers may take.
    fn free(&self, answers: Answers, state: &State) -> usize {
        let free = self.permits.saturating_sub(state.taken());
        if answers == Answers::Pages || !state.demand.preferred {
            return free;
        }
        let share = (self.permits / 4).max(1);
        let [none, files, _] = state.taken;
        free.min(share.saturating_sub(none + files))
    }

    fn free_for(&self, answers: Answers, state: &State) -> usize {
        let kept = if self.has_many_slow(answers, state) { self.kept } else { 0 };
        self.concurrency.saturating_sub(kept + state.taken() + state.unproven)
    }

    /// Returns true if slow hosts of a kind take much of the lane, or would take it.
    fn has_many_slow(&self, answers: Answers, state: &State) -> bool {
        let Demand { unproven, with_files, .. } = state.demand;
        match answers {
            Answers::None => (state.taken() + unproven) * 2 >= self.permits,
            // such a host has answered in time before
            Answers::Files => (state.taken[Answers::Files as usize] + with_files) * 4 >= self.permits,
            Answers::Pages => false,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Permits of the lane that are taken.
    fn taken(&self) -> usize {
        self.taken.iter().sum()
    }

    fn forget_trial(&mut self, host: &HostKey) {
        self.tried.remove(host);
        self.ended.remove(host);
    }

    fn count_slow_answer(&mut self, host: &HostKey) {
        self.forget_trial(host);
        if self.hosts.len() >= MAX_HOSTS && !self.hosts.contains_key(host) {
            self.hosts.retain(|_, slow| slow.permits > 0);
        }
        let slow = self.hosts.entry(host.clone()).or_default();
        slow.slow_answers = (slow.slow_answers + 1).min(MAX_STRIKES);
        slow.quick = 0;
    }
}

impl SlowPermit {
    /// Returns true if the permit is one of the lane, as a slow request needs it.
    #[must_use]
    pub const fn is_of_lane(&self) -> bool {
        matches!(self.holder, Holder::Slow { .. })
    }
}

impl Drop for SlowPermit {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        let Holder::Slow { host, address, answers } = &self.holder else {
            state.unproven = state.unproven.saturating_sub(1);
            return;
        };
        let taken = &mut state.taken[*answers as usize];
        *taken = taken.saturating_sub(1);
        if let Some(slow) = state.hosts.get_mut(host) {
            slow.permits = slow.permits.saturating_sub(1);
        }
        let Some(address) = address else { return };
        if let Some(permits) = state.addresses.get_mut(address) {
            *permits = permits.saturating_sub(1);
            if *permits == 0 {
                state.addresses.remove(address);
            }
        }
    }
}

#[cfg(test)]
mod tests;
