//! Comparison of two stores under the same random calls.

use crate::*;

/// xorshift64 (Marsaglia 2003), seeded: the same calls in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    fn urls(&mut self) -> Vec<NewUrl> {
        let n = self.below(6);
        (0..n)
            .map(|_| {
                new_url(&format!("https://h{}/{}", self.below(5), self.below(120)), self.below(4) as u32)
            })
            .collect()
    }
}

/// Two stores that get the same calls and must give the same answers.
struct Twins<'a, S> {
    store: &'a S,
    model: MemoryStore,
    /// Leases from both stores, current or not.
    out: Vec<(CrawlRequest, CrawlRequest)>,
    settled: usize,
}

impl<S: Store> Twins<'_, S> {
    fn agree<T: std::fmt::Debug + PartialEq>(&self, call: impl Fn(&dyn Frontier) -> T) -> T {
        let answer = call(self.store);
        assert_eq!(answer, call(&self.model));
        answer
    }

    fn lease(&mut self, (name, lane): (&HostKey, Lane), max: usize, now: i64, deadline: i64) {
        let lease = |s: &dyn Frontier| s.lease(name, lane, max, "w", now, deadline).unwrap();
        let (a, b) = (lease(self.store), lease(&self.model));
        let told = |r: &CrawlRequest| (r.id, r.url.clone(), r.depth, r.attempt, r.strategy, r.etag.clone());
        assert_eq!(a.iter().map(told).collect::<Vec<_>>(), b.iter().map(told).collect::<Vec<_>>());
        self.out.extend(a.into_iter().zip(b));
    }

    fn settle(&mut self, at: usize, now: i64) {
        let (a, b) = self.out.swap_remove(at);
        let history = PageHistory { etag: Some(now.to_string()), ..Default::default() };
        let ended = |lease| [Settlement { lease, outcome: Outcome::Record, history: history.clone() }];
        let stale = self.store.settle(&ended((&a).into()), &[]).unwrap();
        assert_eq!(stale, self.model.settle(&ended((&b).into()), &[]).unwrap());
        self.settled += 1 - stale;
    }

    /// Makes the same call on both, about one lease.
    fn about(&self, at: usize, call: impl Fn(&dyn Frontier, &CrawlRequest) -> bool) {
        let (a, b) = &self.out[at];
        assert_eq!(call(self.store, a), call(&self.model, b));
    }
}

/// Makes a few thousand calls on the store and a store in memory, and compares all counts after each.
pub fn any_sequence_of_calls_agrees_with_a_simple_model(store: &impl Store) {
    let mut random = Random(88_172_645_463_325_252);
    let mut twins = Twins { store, model: MemoryStore::new(), out: Vec::new(), settled: 0 };
    for now in 0..3_000_i64 {
        let name = host(&format!("h{}", random.below(5)));
        let later = |random: &mut Random, most| now + random.below(most) as i64;
        let out = twins.out.len() as u64;
        let lane = if random.below(3) == 0 { Lane::Browser } else { Lane::Plain };
        let strategy = (lane == Lane::Browser).then_some(Strategy::Chrome);
        match random.below(12) {
            0..=3 => {
                let urls = random.urls();
                twins.agree(|s| s.enqueue(&urls).unwrap());
            }
            4..=6 => twins.lease((&name, lane), random.below(4) as usize, now, later(&mut random, 400)),
            7 | 8 if out > 0 => twins.settle(random.below(out) as usize, now),
            9 if out > 0 => {
                let due = later(&mut random, 40);
                twins.about(random.below(out) as usize, |s, r| {
                    s.requeue(r.into(), due, r.attempt + 1, strategy).unwrap()
                });
            }
            10 if out > 0 && random.below(2) == 0 => {
                let at = random.below(out) as usize;
                twins.about(at, |s, r| s.escalate(r.into(), now, Strategy::Chrome, b"so far").unwrap());
                twins.about(at, |s, r| s.partial_result(r.id).unwrap().is_some());
            }
            10 if out > 0 => {
                twins.about(random.below(out) as usize, |s, r| {
                    s.hold(r.into(), &name, b"page").unwrap().is_some()
                });
            }
            11 if random.below(20) == 0 => _ = twins.agree(|s| s.begin_round().unwrap()),
            11 => _ = twins.agree(|s| s.expire_leases(now).unwrap()),
            _ => {}
        }
        twins.agree(|s| {
            (s.counts().unwrap(), s.next_due().unwrap(), s.hosts_with_pending(lane, now, 3).unwrap())
        });
        twins.agree(|s| (s.hosts_with_held().unwrap(), s.host_drained(&name).unwrap(), s.drained().unwrap()));
    }
    assert!(twins.settled > 100, "the sequence does something: {}", twins.settled);
}

const OUTCOMES: [Outcome; 6] = [
    Outcome::Record,
    Outcome::Failed,
    Outcome::Skipped,
    Outcome::Redirected,
    Outcome::Unchanged,
    Outcome::Gone,
];

impl<S: Store> Twins<'_, S> {
    fn end(&mut self, at: usize, outcome: Outcome, now: i64) {
        let (a, b) = self.out.swap_remove(at);
        let content = (outcome == Outcome::Record).then_some(ContentHash([7; 32]));
        let history = PageHistory {
            content_hash: content,
            status: Some(200),
            fetched_at_ms: Some(now),
            ..Default::default()
        };
        let ended = |lease| [Settlement { lease, outcome, history: history.clone() }];
        let stale = self.store.settle(&ended((&a).into()), &[]).unwrap();
        assert_eq!(stale, self.model.settle(&ended((&b).into()), &[]).unwrap());
        self.settled += 1 - stale;
    }

    /// Fetches the first held page of a host again.
    fn refetch(&self, name: &HostKey, after: i64) {
        let refetch = |s: &dyn Frontier| {
            let held = s.held(name, after, 2).unwrap();
            let told: Vec<_> = held.iter().map(|page| (page.order, page.url.clone())).collect();
            (told, held.first().map(|page| s.refetch(page.lease).unwrap()))
        };
        assert_eq!(refetch(self.store), refetch(&self.model));
    }

    fn lease_by_level(&mut self, name: &HostKey, lane: Lane, now: i64, deadline: i64) {
        let lease = |s: &dyn Frontier| s.lease_by_level(name, lane, 2, "w", now, deadline).unwrap();
        let (a, b) = (lease(self.store), lease(&self.model));
        let told = |r: &CrawlRequest| (r.id, r.url.clone(), r.before.as_ref().and_then(|b| b.status));
        assert_eq!(a.iter().map(told).collect::<Vec<_>>(), b.iter().map(told).collect::<Vec<_>>());
        self.out.extend(a.into_iter().zip(b));
    }

    /// Suspends a host, or resumes it or all hosts.
    fn suspend(&self, name: &HostKey, choice: u64) {
        match choice {
            0 => self.agree(|s| s.resume_all().unwrap()),
            1 => self.agree(|s| s.resume(std::slice::from_ref(name)).unwrap()),
            _ => self.agree(|s| s.suspend(name).unwrap()),
        }
    }

    /// Begins a round, or asks for drained hosts, or takes back expired leases.
    fn begin(&self, choice: u64, now: i64) {
        match choice {
            0 => _ = self.agree(|s| s.begin_round().unwrap()),
            1 => _ = self.agree(|s| s.begin_recrawl(true).unwrap()),
            2 => _ = self.agree(|s| s.begin_recrawl(false).unwrap()),
            3..=6 => {
                _ = self.agree(|s| {
                    let mut drained = s.newly_drained().unwrap();
                    drained.sort_by_key(ToString::to_string);
                    drained
                });
            }
            _ => _ = self.agree(|s| s.expire_leases(now).unwrap()),
        }
    }
}

/// Makes calls of recrawls, suspended hosts and jumps of the clock on the store and a store in memory.
pub fn recrawls_and_suspensions_agree_with_a_simple_model(store: &impl Store) {
    let mut random = Random(2_463_534_242);
    let mut twins = Twins { store, model: MemoryStore::new(), out: Vec::new(), settled: 0 };
    let mut now = 0;
    for _ in 0..4_000 {
        now += if random.below(200) == 0 { 100_000 } else { 1 };
        let name = host(&format!("h{}", random.below(5)));
        let lane = if random.below(3) == 0 { Lane::Browser } else { Lane::Plain };
        let out = twins.out.len() as u64;
        let deadline = now + 1 + random.below(400) as i64;
        match random.below(16) {
            0..=2 => {
                let urls = random.urls();
                twins.agree(|s| s.enqueue(&urls).unwrap());
            }
            3 => {
                let urls = random.urls();
                twins.agree(|s| s.revisit(&urls).unwrap());
            }
            4 | 5 => twins.lease((&name, lane), 1 + random.below(3) as usize, now, deadline),
            6 => twins.lease_by_level(&name, lane, now, deadline),
            7..=9 if out > 0 => {
                let outcome = OUTCOMES[random.below(6) as usize];
                twins.end(random.below(out) as usize, outcome, now);
            }
            10 if out > 0 => {
                let (at, due) = (random.below(out) as usize, now + random.below(90) as i64);
                if random.below(2) == 0 {
                    twins.about(at, |s, r| s.mark_possibly_gone(r, due, 404).unwrap());
                } else {
                    twins.about(at, |s, r| s.requeue(r.into(), due, r.attempt + 1, None).unwrap());
                }
            }
            11 if out > 0 => twins.about(random.below(out) as usize, |s, r| {
                s.hold(r.into(), &name, b"page").unwrap().is_some()
            }),
            12 => twins.refetch(&name, random.below(20) as i64),
            13 => twins.suspend(&name, random.below(4)),
            14 => _ = twins.agree(|s| s.bring_forward(now + 60, now).unwrap()),
            15 => twins.begin(random.below(24), now),
            _ => {}
        }
        twins.agree(|s| {
            (s.counts().unwrap(), s.next_due().unwrap(), s.hosts_with_pending(lane, now, 3).unwrap())
        });
        twins.agree(|s| (s.hosts_with_held().unwrap(), s.host_drained(&name).unwrap(), s.drained().unwrap()));
    }
    assert!(twins.settled > 100, "the sequence does something: {}", twins.settled);
}
