//! Hosts that allow no request now, with the times of their turns. They are suspended in the store, so a pass only
//! costs the hosts that are due.

use crate::slow_lane::Demand;
use crawl_fetch::{Answers, GateRefusal};
use crawl_model::{HostKey, ReadyHost};
use rustc_hash::FxHashMap;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, VecDeque, btree_map::OccupiedEntry},
    net::IpAddr,
    time::Duration,
};
use tokio::time::Instant;

/// A time, and a number that makes it unique.
type Timer = (Instant, u64);

/// Place of an unproven host: hosts of a higher rank go first. A host makes few requests until it is proven or loses its
/// rank, so it delays the others for a bounded time.
type Place = (Reverse<u32>, u64);

/// Hosts that wait for their turn.
#[derive(Default)]
pub struct WaitingHosts {
    hosts: FxHashMap<HostKey, Wait>,
    addresses: FxHashMap<IpAddr, Queue>,
    timers: BTreeMap<Timer, Waiter>,
    /// Slow hosts that wait for a permit of the slow lane, in order: those with answers for pages, and the others.
    slow: [VecDeque<(HostKey, Answers)>; 2],
    /// Number of waiting slow hosts that have only answered for robots.txt.
    slow_with_files: usize,
    /// Unproven hosts that wait for one of their permits: those with and those without answers.
    unproven: [BTreeMap<Place, HostKey>; 2],
    /// Places of unproven hosts that are being tried.
    tried: FxHashMap<HostKey, Place>,
    numbers: u64,
}

/// The event that a host waits for.
enum Wait {
    /// One of its slots.
    Slot,
    /// Its own time, or one of its slots.
    Time(Timer),
    /// The turn of its address.
    Address,
    /// A permit of [`SlowLane`](crate::slow_lane::SlowLane).
    Permit,
}

/// The owner of a timer.
enum Waiter {
    Host(HostKey),
    Address(IpAddr),
}

/// Hosts that wait for their address. One of them is tried at a time, since one request uses up the address's turn.
struct Queue {
    /// Hosts within their first leases, which go first.
    begun: VecDeque<HostKey>,
    others: VecDeque<HostKey>,
    timer: Timer,
    /// The host that is being tried.
    tried: Option<HostKey>,
}

impl Queue {
    fn push(&mut self, host: &ReadyHost, asked: bool) {
        let again = self.tried.take_if(|tried| *tried == host.host).is_some();
        // a first lease may have only resolved the address
        let queue = if host.begun && asked { &mut self.begun } else { &mut self.others };
        if again {
            queue.push_front(host.host.clone());
        } else {
            queue.push_back(host.host.clone());
        }
    }
}

impl WaitingHosts {
    /// Adds a host that the gate has refused.
    pub fn defer(&mut self, host: &ReadyHost, refused: GateRefusal) {
        if let Some(Wait::Time(timer)) = self.hosts.remove(&host.host) {
            self.timers.remove(&timer);
        }
        let wait = match (refused.at, refused.address) {
            (None, _) => Wait::Slot,
            (Some(at), None) => Wait::Time(self.wake(at, Waiter::Host(host.host.clone()))),
            (Some(at), Some(address)) => {
                self.defer_at_address(address, host, refused.asked, at);
                Wait::Address
            }
        };
        self.hosts.insert(host.host.clone(), wait);
    }

    /// Adds a slow host for which the slow lane has no permit.
    pub fn defer_slow(&mut self, host: &HostKey, answers: Answers) {
        self.defer_for_permit(host);
        self.slow[usize::from(answers != Answers::Pages)].push_back((host.clone(), answers));
        self.slow_with_files += usize::from(answers == Answers::Files);
    }

    /// Adds an unproven host for which there is no permit. A host that was tried returns to its place.
    pub fn defer_unproven(&mut self, host: &HostKey, answers: Answers, rank: u32) {
        self.defer_for_permit(host);
        self.numbers += 1;
        let last = (Reverse(rank), self.numbers);
        let place = self.tried.remove(host).filter(|place| place.0 == last.0).unwrap_or(last);
        self.unproven[usize::from(answers == Answers::None)].insert(place, host.clone());
    }

    /// Notes that a host has got its turn.
    pub fn admitted(&mut self, host: &HostKey) {
        self.tried.remove(host);
    }

    fn defer_for_permit(&mut self, host: &HostKey) {
        if let Some(Wait::Time(timer)) = self.hosts.insert(host.clone(), Wait::Permit) {
            self.timers.remove(&timer);
        }
    }

    /// Removes and returns the first hosts of each queue for which permits are free. `slow` counts the permits of slow
    /// hosts with answers for pages, and of other slow hosts. `unproven` counts those of unproven hosts with and without
    /// answers, which take the same permits.
    pub fn take_for_permits(&mut self, slow: [usize; 2], unproven: [usize; 2]) -> Vec<HostKey> {
        let mut hosts = Vec::new();
        // Both kinds take the same permits. The others have their share first, else proven slow hosts starve them.
        let others = slow[1].min(self.slow[1].len());
        let slow = [slow[0].saturating_sub(others), others];
        for (queue, free) in self.slow.iter_mut().zip(slow) {
            for (host, answers) in queue.drain(..free.min(queue.len())) {
                self.slow_with_files -= usize::from(answers == Answers::Files);
                hosts.push(host);
            }
        }
        for taken in 0.. {
            let queues = self.unproven.iter_mut().zip(unproven).filter(|(_, free)| taken < *free);
            let firsts = queues.filter_map(|(queue, _)| queue.first_entry());
            let Some((place, host)) =
                firsts.min_by_key(|first| *first.key()).map(OccupiedEntry::remove_entry)
            else {
                break;
            };
            self.tried.insert(host.clone(), place);
            hosts.push(host);
        }
        for host in &hosts {
            self.hosts.remove(host);
        }
        hosts
    }

    /// Returns true if a host waits for a permit.
    pub fn has_permit_waiters(&self) -> bool {
        self.has_preferred() || !self.slow[1].is_empty()
    }

    fn has_preferred(&self) -> bool {
        !self.slow[0].is_empty() || self.unproven.iter().any(|hosts| !hosts.is_empty())
    }

    /// The hosts that wait for a permit. `others_wait` is true if a host found no free permit for requests.
    pub fn demand(&self, others_wait: bool) -> Demand {
        Demand {
            preferred: others_wait || self.has_preferred(),
            unproven: self.slow[1].len(),
            with_files: self.slow_with_files,
        }
    }

    fn defer_at_address(&mut self, address: IpAddr, host: &ReadyHost, asked: bool, at: Instant) {
        let timer = self.wake(at, Waiter::Address(address));
        let queue = self.addresses.entry(address).or_insert_with(|| Queue {
            begun: VecDeque::new(),
            others: VecDeque::new(),
            timer,
            tried: None,
        });
        if queue.timer != timer {
            self.timers.remove(&std::mem::replace(&mut queue.timer, timer));
        }
        queue.push(host, asked);
    }

    fn wake(&mut self, at: Instant, waiter: Waiter) -> Timer {
        self.numbers += 1;
        let timer = (at, self.numbers);
        self.timers.insert(timer, waiter);
        timer
    }

    /// Removes and returns the hosts that are due. Of the hosts that wait for one address, only the first is due, and
    /// the next one after `address_pause`.
    pub fn due(&mut self, now: Instant, address_pause: Duration) -> Vec<HostKey> {
        let mut due = Vec::new();
        while let Some(entry) = self.timers.first_entry().filter(|entry| entry.key().0 <= now) {
            let host = match entry.remove() {
                Waiter::Host(host) => Some(host),
                Waiter::Address(address) => self.next_at(address, now + address_pause),
            };
            if let Some(host) = host {
                self.hosts.remove(&host);
                due.push(host);
            }
        }
        due
    }

    fn next_at(&mut self, address: IpAddr, again: Instant) -> Option<HostKey> {
        let queue = self.addresses.get_mut(&address)?;
        let Some(host) = queue.begun.pop_front().or_else(|| queue.others.pop_front()) else {
            self.addresses.remove(&address);
            return None;
        };
        queue.tried = Some(host.clone());
        self.numbers += 1;
        queue.timer = (again, self.numbers);
        self.timers.insert(queue.timer, Waiter::Address(address));
        Some(host)
    }

    /// Removes and returns those of the given hosts that wait for a slot or a time. A host that waits for its address
    /// continues to wait.
    pub fn released(&mut self, mut hosts: Vec<HostKey>) -> Vec<HostKey> {
        hosts.retain(|host| match self.hosts.get(host) {
            None | Some(Wait::Address | Wait::Permit) => false,
            Some(Wait::Slot) => self.hosts.remove(host).is_some(),
            Some(Wait::Time(timer)) => {
                self.timers.remove(timer);
                self.hosts.remove(host).is_some()
            }
        });
        hosts
    }

    /// Returns the time of the next host's turn.
    pub fn next(&self) -> Option<Instant> {
        self.timers.first_key_value().map(|((at, _), _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_millis(250);

    fn key(name: &str) -> HostKey {
        HostKey::from_stored(name)
    }

    fn host(name: &str, begun: bool) -> ReadyHost {
        ReadyHost { host: key(name), pending: 1, begun }
    }

    fn refused(at: Option<Instant>, address: Option<&str>) -> GateRefusal {
        let address = address.map(|address| address.parse().unwrap());
        GateRefusal { at, dead: false, address, asked: true }
    }

    #[test]
    fn deferred_host_returns_at_its_time_or_a_free_slot() {
        let now = Instant::now();
        let mut waiting = WaitingHosts::default();
        waiting.defer(&host("slot", false), refused(None, None));
        waiting.defer(&host("time", false), refused(Some(now + PAUSE), None));
        waiting.defer(&host("later", false), refused(Some(now + 2 * PAUSE), None));
        assert_eq!(waiting.next(), Some(now + PAUSE));
        assert!(waiting.due(now, PAUSE).is_empty());
        assert_eq!(waiting.due(now + PAUSE, PAUSE), [key("time")]);
        assert_eq!(
            waiting.released(vec![key("slot"), key("time"), key("later")]),
            [key("slot"), key("later")]
        );
        assert!(waiting.next().is_none() && waiting.hosts.is_empty());
    }

    #[test]
    fn slow_and_unproven_hosts_return_in_order_when_permits_are_free() {
        let mut waiting = WaitingHosts::default();
        for (name, answers) in
            [("a", Answers::Pages), ("b", Answers::Files), ("c", Answers::Pages), ("d", Answers::None)]
        {
            waiting.defer_slow(&key(name), answers);
        }
        assert!(waiting.next().is_none(), "they have no timers");
        assert_eq!(waiting.demand(false), Demand { preferred: true, unproven: 2, with_files: 1 });
        waiting.defer_unproven(&key("e"), Answers::None, 0);
        assert!(waiting.take_for_permits([0; 2], [0; 2]).is_empty());
        assert!(waiting.released(vec![key("a"), key("e")]).is_empty());
        assert_eq!(waiting.take_for_permits([1, 1], [1, 0]), [key("b")], "they share one permit");
        assert_eq!(waiting.take_for_permits([9, 0], [0; 2]), [key("a"), key("c")]);
        assert_eq!(waiting.take_for_permits([0; 2], [1, 1]), [key("e")]);
        assert!(waiting.has_permit_waiters());
        assert_eq!(waiting.demand(false), Demand { preferred: false, unproven: 1, with_files: 0 });
        assert!(waiting.demand(true).preferred);
        assert_eq!(waiting.take_for_permits([0, 9], [9; 2]), [key("d")]);
        assert!(!waiting.has_permit_waiters() && waiting.hosts.is_empty());
    }

    #[test]
    fn unproven_hosts_of_a_higher_rank_go_first() {
        let mut waiting = WaitingHosts::default();
        let (none, files) = (Answers::None, Answers::Files);
        for (name, answers, rank) in
            [("a", none, 0), ("b", files, 1), ("c", files, 1), ("d", files, 2), ("e", none, 0)]
        {
            waiting.defer_unproven(&key(name), answers, rank);
        }
        assert_eq!(waiting.take_for_permits([0; 2], [2, 2]), [key("d"), key("b")], "they share two permits");
        // one of them had no permit for its request
        waiting.admitted(&key("d"));
        waiting.defer_unproven(&key("b"), files, 1);
        assert_eq!(
            waiting.take_for_permits([0; 2], [1, 3]),
            [key("b"), key("a"), key("e")],
            "its place is kept"
        );
        waiting.admitted(&key("a"));
        waiting.defer_unproven(&key("a"), none, 0);
        waiting.admitted(&key("b"));
        waiting.defer_unproven(&key("b"), files, 0);
        waiting.defer_unproven(&key("e"), none, 0);
        assert_eq!(waiting.take_for_permits([0; 2], [9, 3]), [key("c"), key("e"), key("a"), key("b")]);
    }

    #[test]
    fn host_refused_again_keeps_one_timer() {
        let now = Instant::now();
        let mut waiting = WaitingHosts::default();
        waiting.defer(&host("a", false), refused(Some(now + PAUSE), None));
        waiting.defer(&host("a", false), refused(Some(now + 3 * PAUSE), None));
        assert!(waiting.due(now + 2 * PAUSE, PAUSE).is_empty());
        assert_eq!(waiting.due(now + 3 * PAUSE, PAUSE), [key("a")]);
    }

    #[test]
    fn hosts_of_one_address_return_singly_started_first() {
        let now = Instant::now();
        let mut waiting = WaitingHosts::default();
        let shared = |after: u32| refused(Some(now + after * PAUSE), Some("192.0.2.1"));
        for (name, begun) in [("a", false), ("b", false), ("c", true)] {
            waiting.defer(&host(name, begun), shared(1));
        }
        waiting.defer(&host("located", true), GateRefusal { asked: false, ..shared(1) });
        assert_eq!(waiting.timers.len(), 1, "the group has one timer");
        assert_eq!(waiting.due(now + PAUSE, PAUSE), [key("c")]);
        assert_eq!(waiting.due(now + 2 * PAUSE, PAUSE), [key("a")]);
        // its turn was too early, so it stays first
        waiting.defer(&host("a", false), shared(3));
        waiting.defer(&host("d", false), shared(3));
        assert!(waiting.released(vec![key("a")]).is_empty());
        let order: Vec<_> = (3..7).flat_map(|after| waiting.due(now + after * PAUSE, PAUSE)).collect();
        assert_eq!(order, [key("a"), key("b"), key("located"), key("d")]);
        waiting.due(now + 7 * PAUSE, PAUSE);
        assert!(waiting.addresses.is_empty() && waiting.timers.is_empty() && waiting.hosts.is_empty());
    }
}
