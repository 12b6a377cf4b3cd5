//! A model of the leases of hosts on PostgreSQL: workers, crashes, pauses and a database, in any interleaving.
//!
//! Each worker reads the queue of a host that it owns, fetches, and settles in a transaction of two steps: the fence
//! and the commit. Anything may happen between two steps. The property: no URL is settled twice.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, its helpers too"
)]

use proptest::{
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner},
};

const WORKERS: usize = 2;
const HOSTS: usize = 2;
const URLS: usize = 2;

/// Seconds of a lease, and of the longest transaction that the server lets stand idle.
const LEASE: u64 = 60;
const IDLE: u64 = 60;

/// Fence of the modelled protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fence {
    /// None: a worker trusts its memory.
    Missing,
    /// Owner and epoch are read and not locked.
    Read,
    /// Owner and epoch are read and locked until the commit.
    Locked,
}

/// A step of the world. A paused worker takes none.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Time passes in the database.
    Tick(u64),
    /// A worker takes a host without a live owner.
    Acquire(usize, usize),
    Renew(usize),
    /// A worker reads a URL of a host from the queue and fetches it.
    Fetch(usize, usize, usize),
    /// The first statement of the transaction that settles all fetched pages.
    Begin(usize),
    /// Its end.
    Commit(usize),
    /// The process dies and starts anew under its name.
    Crash(usize),
    Pause(usize),
    Continue(usize),
}

#[derive(Clone, Copy, Default)]
struct Host {
    owner: Option<usize>,
    epoch: u64,
}

#[derive(Clone, Default)]
struct Worker {
    lease_until: u64,
    paused: bool,
    /// Epoch in which the worker owns a host, as it believes.
    owns: [Option<u64>; HOSTS],
    /// Fetched pages: host and URL.
    fetched: Vec<(usize, usize)>,
    /// Time at which its transaction began, and the hosts that it locks.
    transaction: Option<(u64, Vec<usize>)>,
}

struct World {
    fence: Fence,
    /// True if a worker that takes a host drops what it fetched there in an earlier epoch.
    forgets: bool,
    now: u64,
    hosts: [Host; HOSTS],
    workers: [Worker; WORKERS],
    /// Number of settlements of each URL. A settled URL is not in the queue.
    settled: [[u32; URLS]; HOSTS],
}

impl World {
    fn new(fence: Fence, forgets: bool) -> Self {
        let workers = [(); WORKERS].map(|()| Worker { lease_until: LEASE, ..Worker::default() });
        let hosts = [Host::default(); HOSTS];
        Self { fence, forgets, now: 1, hosts, workers, settled: [[0; URLS]; HOSTS] }
    }

    fn is_locked(&self, host: usize) -> bool {
        let locks =
            |worker: &Worker| worker.transaction.as_ref().is_some_and(|(_, hosts)| hosts.contains(&host));
        self.workers.iter().any(locks)
    }

    /// Takes back ownership by name, each in a new epoch.
    fn restart(&mut self, w: usize) {
        self.workers[w] = Worker { lease_until: self.now + LEASE, ..Worker::default() };
        for (h, host) in self.hosts.iter_mut().enumerate().filter(|(_, host)| host.owner == Some(w)) {
            host.epoch += 1;
            self.workers[w].owns[h] = Some(host.epoch);
        }
    }

    fn acquire(&mut self, w: usize, h: usize) {
        let free = match self.hosts[h].owner {
            Some(owner) => owner != w && self.workers[owner].lease_until < self.now,
            None => true,
        };
        // SKIP LOCKED; a worker has one connection, so its own transaction has ended
        if self.workers[w].transaction.is_none() && free && !self.is_locked(h) {
            self.hosts[h] = Host { owner: Some(w), epoch: self.hosts[h].epoch + 1 };
            self.workers[w].owns[h] = Some(self.hosts[h].epoch);
            if self.forgets {
                self.workers[w].fetched.retain(|(host, _)| *host != h);
            }
        }
    }

    fn owns(&self, w: usize, h: usize) -> bool {
        self.hosts[h].owner == Some(w) && self.workers[w].owns[h] == Some(self.hosts[h].epoch)
    }

    fn begin(&mut self, w: usize) {
        let mut hosts: Vec<usize> = self.workers[w].fetched.iter().map(|(host, _)| *host).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let lost: Vec<usize> = hosts.iter().copied().filter(|host| !self.owns(w, *host)).collect();
        if self.fence != Fence::Missing && !lost.is_empty() {
            // nothing is settled, and the pages of these hosts are dropped
            let worker = &mut self.workers[w];
            worker.fetched.retain(|(host, _)| !lost.contains(host));
            lost.iter().for_each(|host| worker.owns[*host] = None);
            return;
        }
        let locks = if self.fence == Fence::Locked { hosts } else { Vec::new() };
        self.workers[w].transaction = Some((self.now, locks));
    }

    fn commit(&mut self, w: usize) {
        if self.workers[w].transaction.take().is_some() {
            for (host, url) in std::mem::take(&mut self.workers[w].fetched) {
                self.settled[host][url] += 1;
            }
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Tick(seconds) => {
                self.now += seconds;
                let now = self.now;
                let idle = |(since, _): &(u64, Vec<usize>)| now - since > IDLE;
                for worker in
                    self.workers.iter_mut().filter(|worker| worker.transaction.as_ref().is_some_and(idle))
                {
                    // the server ends it: the worker finds an error at its next call and starts anew
                    worker.transaction = None;
                    worker.fetched.clear();
                }
            }
            Step::Crash(w) => self.restart(w),
            Step::Pause(w) => self.workers[w].paused = true,
            Step::Continue(w) => self.workers[w].paused = false,
            Step::Acquire(w, _) | Step::Renew(w) | Step::Fetch(w, ..) | Step::Begin(w) | Step::Commit(w)
                if self.workers[w].paused => {}
            Step::Acquire(w, h) => self.acquire(w, h),
            Step::Renew(w) => self.workers[w].lease_until = self.now + LEASE,
            Step::Fetch(w, h, url) => {
                let is_new = !self.workers[w].fetched.contains(&(h, url)) && self.settled[h][url] == 0;
                let worker = &mut self.workers[w];
                if worker.owns[h].is_some() && worker.transaction.is_none() && is_new {
                    worker.fetched.push((h, url));
                }
            }
            Step::Begin(w) if self.workers[w].transaction.is_none() => self.begin(w),
            Step::Begin(_) => {}
            Step::Commit(w) => self.commit(w),
        }
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (w, h) = (0..WORKERS, 0..HOSTS);
    let step = prop_oneof![
        2 => (1..2 * LEASE).prop_map(Step::Tick),
        3 => (w.clone(), h.clone()).prop_map(|(w, h)| Step::Acquire(w, h)),
        1 => w.clone().prop_map(Step::Renew),
        5 => (w.clone(), h, 0..URLS).prop_map(|(w, h, url)| Step::Fetch(w, h, url)),
        3 => w.clone().prop_map(Step::Begin),
        3 => w.clone().prop_map(Step::Commit),
        1 => w.clone().prop_map(Step::Crash),
        1 => w.clone().prop_map(Step::Pause),
        1 => w.prop_map(Step::Continue),
    ];
    prop::collection::vec(step, 1..80)
}

/// Looks for an interleaving that settles a URL twice; returns the smallest one found.
fn violation(fence: Fence, forgets: bool) -> Option<Vec<Step>> {
    let config = Config { cases: 5_000, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let found = TestRunner::new_with_rng(config, rng).run(&steps(), |steps| {
        let mut world = World::new(fence, forgets);
        for step in steps {
            world.step(step);
            let once = world.settled.iter().flatten().all(|n| *n <= 1);
            prop_assert!(once, "a URL was settled twice");
        }
        Ok::<(), TestCaseError>(())
    });
    match found {
        Ok(()) => None,
        Err(TestError::Fail(_, steps)) => Some(steps),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn with_the_fence_no_url_is_settled_twice() {
    assert!(violation(Fence::Locked, true).is_none());
}

#[test]
fn without_the_fence_a_paused_worker_settles_twice() {
    let steps = violation(Fence::Missing, true).expect("a violation is found");
    let takeovers = steps.iter().filter(|step| matches!(step, Step::Acquire(..))).count();
    assert!(takeovers == 2 && steps.iter().any(|step| matches!(step, Step::Tick(_))), "{steps:?}");
}

#[test]
fn fence_without_a_lock_is_too_weak() {
    assert!(violation(Fence::Read, true).is_some());
}

#[test]
fn host_regained_unnoticed_violates_the_lease_model() {
    assert!(violation(Fence::Locked, false).is_some());
}

#[test]
fn lease_model_follows_the_steps() {
    let mut world = World::new(Fence::Locked, true);
    let (first, second) = (0, 1);
    for step in [
        Step::Crash(first),
        Step::Acquire(first, 0),
        Step::Fetch(first, 0, 0),
        Step::Tick(LEASE / 2),
        Step::Begin(first),
        Step::Tick(LEASE / 2 + 1),
        Step::Acquire(second, 0),
    ] {
        world.step(step);
    }
    assert_eq!(world.hosts[0].owner, Some(first), "a locked host is skipped");
    world.step(Step::Commit(first));
    assert_eq!(world.settled[0], [1, 0]);
    world.step(Step::Acquire(second, 0));
    assert!(world.owns(second, 0));
}
