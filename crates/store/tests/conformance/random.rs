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
