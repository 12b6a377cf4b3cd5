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
mod tests {
    use super::*;

    fn host(n: usize) -> HostKey {
        HostKey::from_stored(format!("h{n}.test"))
    }

    #[test]
    fn slow_hosts_leave_a_quarter_of_the_permits() {
        let lane = SlowLane::new(16, None);
        assert!(lane.admit(&host(0), Answers::Pages).unwrap().is_none(), "nothing is known of it");
        let taken: Vec<_> = (0..12).map(|n| lane.admit_slow(&host(n), Answers::Pages).unwrap()).collect();
        assert_eq!(lane.admit_slow(&host(12), Answers::Pages).err(), Some(Full::Lane));
        assert_eq!(lane.free(), 0);
        assert!(lane.admit(&host(12), Answers::Pages).is_err(), "and the host is slow all the same");
        assert!(lane.admit(&host(99), Answers::Pages).unwrap().is_none(), "others need no permit");
        drop(taken);
        assert!(lane.admit(&host(12), Answers::Pages).unwrap().is_some());
        let alone = SlowLane::new(1, None);
        assert!(alone.admit_slow(&host(0), Answers::Pages).is_ok(), "one permit is enough to go on with");
    }

    #[test]
    fn unproven_hosts_leave_a_permit_while_half_of_the_lane_is_taken() {
        let lane = SlowLane::new(16, None);
        let admit = |n: usize| lane.admit(&host(n), Answers::None).ok().flatten();
        let unproven: Vec<_> = (0..16).map_while(admit).collect();
        assert_eq!(unproven.len(), 16, "nothing is slow: they may take all");
        assert!(!unproven[0].is_of_lane());
        assert!(lane.admit(&host(16), Answers::Pages).unwrap().is_none(), "a proven host needs no permit");
        drop(unproven);
        let mut slow: Vec<_> = (20..26).map(|n| lane.admit_slow(&host(n), Answers::None).unwrap()).collect();
        let unproven: Vec<_> = (0..16).map_while(admit).collect();
        assert_eq!(unproven.len(), 9, "sixteen without six slow ones and the kept one");
        assert_eq!(lane.admit(&host(16), Answers::None).err(), Some(Full::Unproven));
        assert_eq!(lane.free_for(Answers::Files), 1, "the slow ones have not answered for robots.txt");
        let known = lane.admit(&host(20), Answers::None).unwrap().unwrap();
        assert!(known.is_of_lane(), "a slow host takes a permit of the lane");
        drop(known);
        slow.pop();
        assert_eq!(lane.free_for(Answers::None), 2, "the one of the slow host and the kept one");
        drop((slow, unproven));
        assert_eq!(lane.free_for(Answers::None), 16);
    }

    #[test]
    fn unproven_slow_hosts_take_a_quarter_of_the_lane_while_others_wait() {
        let lane = SlowLane::new(16, None);
        lane.set_demand(Demand { preferred: true, ..Demand::default() });
        let admit = |n: usize, answers| lane.admit_slow(&host(n), answers).ok();
        let unproven: Vec<_> =
            (0..9).filter_map(|n| admit(n, [Answers::None, Answers::Files][n % 2])).collect();
        assert_eq!((unproven.len(), lane.free_for_unproven(), lane.free()), (3, 0, 9));
        let proven: Vec<_> = (20..40).filter_map(|n| admit(n, Answers::Pages)).collect();
        assert_eq!(proven.len(), 9, "the others take the rest");
        drop(proven);
        lane.set_demand(Demand::default());
        let more: Vec<_> = (0..20).filter_map(|n| admit(n, Answers::None)).collect();
        assert_eq!(more.len(), 9, "no other host waits: they take it all");
    }

    #[test]
    fn first_trial_ends_once_and_the_second_waits_for_the_others() {
        let lane = SlowLane::new(16, None);
        assert!(!lane.end_trial(&host(0), (Answers::None, 1)), "no host waits");
        let demand = Demand { preferred: true, unproven: 6, with_files: 2 };
        lane.set_demand(demand);
        assert!(!lane.end_trial(&host(0), (Answers::Files, 1)), "two slow hosts of this kind are not many");
        assert!(!lane.end_trial(&host(0), (Answers::Pages, 1)));
        assert_eq!(lane.rank(&host(0), 1), 1);
        assert!(lane.end_trial(&host(0), (Answers::None, 1)));
        assert_eq!((lane.rank(&host(0), 1), lane.rank(&host(0), 2)), (0, 1), "answers since then count");
        assert_eq!(lane.admit(&host(0), Answers::None).err(), Some(Full::Unproven), "others go first");
        assert!(lane.admit(&host(0), Answers::None).unwrap().is_some());
        assert!(!lane.end_trial(&host(0), (Answers::None, 1)), "the second trial is longer");
        lane.set_demand(Demand { with_files: 3, ..demand });
        assert!(lane.end_trial(&host(1), (Answers::Files, 1)));
        lane.set_demand(Demand::default());
        assert!(lane.admit(&host(1), Answers::Files).unwrap().is_some(), "no other host waits");
        lane.was_slow(&host(1));
        assert!(lane.admit(&host(0), Answers::Pages).unwrap().is_none());
        let state = lane.shared.lock();
        assert!(state.tried.is_empty() && state.ended.is_empty(), "slow and proven hosts are forgotten");
    }

    #[test]
    fn hosts_that_answer_for_robots_alone_are_a_kind_of_their_own() {
        let lane = SlowLane::new(16, None);
        let slow: Vec<_> = (0..3).map(|n| lane.admit_slow(&host(n), Answers::Files).unwrap()).collect();
        assert_eq!((lane.free_for(Answers::Files), lane.free_for(Answers::None)), (12, 13));
        drop(slow);
        let slow: Vec<_> = (0..12).map(|n| lane.admit_slow(&host(n), Answers::Pages).unwrap()).collect();
        assert_eq!((lane.free_for(Answers::Files), lane.free_for(Answers::None)), (4, 3));
        drop(slow);
        assert_eq!(lane.free_for(Answers::Files), 16);
    }

    #[test]
    fn unproven_hosts_always_have_a_permit_besides_the_slow_lane() {
        for concurrency in 1..100 {
            let lane = SlowLane::new(concurrency, None);
            let slow: Vec<_> =
                (0..concurrency).map_while(|n| lane.admit_slow(&host(n), Answers::Files).ok()).collect();
            let free = concurrency - slow.len();
            for answers in [Answers::None, Answers::Files] {
                let left = lane.free_for(answers);
                assert!(free.min(1) <= left && left <= free, "{concurrency}: {left} of {free}");
                assert!(concurrency < 8 || left < free, "{concurrency}: one is kept");
            }
        }
    }

    #[test]
    fn quick_answers_offset_slow_ones() {
        let lane = SlowLane::new(16, None);
        let is_slow = || lane.admit(&host(0), Answers::Pages).unwrap().is_some();
        drop(lane.admit_slow(&host(0), Answers::Pages));
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
        let first: Vec<_> = (0..3).map(|n| lane.admit_slow(&host(n), Answers::Pages).unwrap()).collect();
        assert_eq!(
            lane.admit_slow(&host(3), Answers::Pages).err(),
            Some(Full::Address),
            "the address has its quarter"
        );
        let other: Vec<_> = (0..5).map(|_| lane.admit_slow(&host(5), Answers::Pages).unwrap()).collect();
        assert_eq!(other.len(), 5, "a host alone at its address is bounded by politeness.host_concurrency");
        assert!(lane.admit_slow(&host(6), Answers::Pages).is_err());
        drop(first);
        assert!(lane.admit(&host(3), Answers::Pages).unwrap().is_some());
    }

    #[test]
    fn known_hosts_are_bounded() {
        let lane = SlowLane::new(16, None);
        let kept = lane.admit_slow(&host(0), Answers::Pages).unwrap();
        for n in 1..=MAX_HOSTS {
            lane.was_slow(&host(n));
        }
        assert_eq!(lane.shared.lock().hosts.len(), 2);
        drop(kept);
    }
}
