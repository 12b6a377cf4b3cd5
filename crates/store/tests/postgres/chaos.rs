//! Random interleavings of workers, kills and pauses on a real database: each record is once within the marks.

use crate::*;
use std::collections::BTreeMap;

const WORKERS: usize = 3;
const HOSTS: u64 = 5;
const URLS: u64 = 60;

/// xorshift64 (Marsaglia 2003), seeded: the same steps in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// A worker with its output: one line a record.
struct Worker {
    name: String,
    store: PgStore,
    out: Vec<CrawlRequest>,
    lines: Vec<String>,
    /// Pages whose lines are written and not settled.
    written: Vec<CrawlRequest>,
}

impl Worker {
    fn new(server: &Server, n: usize) -> Self {
        let name = format!("w{n}");
        Self { store: open(server, &name), name, out: Vec::new(), lines: Vec::new(), written: Vec::new() }
    }

    /// Cuts the output back to its mark.
    fn cut(&mut self) {
        let mark = self.store.output_mark(&self.name).unwrap().unwrap_or(0);
        self.lines.truncate(mark as usize);
    }

    fn lease(&mut self, random: &mut Random) {
        for found in self.store.hosts_with_pending(Lane::Plain, 0, 9).unwrap() {
            let max = random.below(3) as usize;
            self.out.extend(self.store.lease(&found.host, Lane::Plain, max, "", 0, i64::MAX).unwrap());
        }
    }

    /// Writes lines of pages whose leases are current.
    fn write(&mut self, random: &mut Random) {
        let n = (random.below(6) as usize).min(self.out.len());
        let mut batch: Vec<CrawlRequest> = self.out.drain(..n).collect();
        batch.retain(|request| self.store.is_current(request.into()).unwrap());
        self.lines.extend(batch.iter().map(|request| request.url.to_string()));
        self.written = batch;
    }

    /// Settles the written pages; returns false if another worker has taken over one of their hosts.
    fn settle(&mut self) -> bool {
        let batch = std::mem::take(&mut self.written);
        match self.store.settle(&records(&batch), &[mark(&self.name, self.lines.len() as u64)]) {
            Ok(0) => return true,
            Ok(_) => panic!("the mark covers stale lines"),
            Err(StoreError::Busy(_)) => {}
            Err(error) => panic!("{error}"),
        }
        // those of other hosts are still leased
        self.cut();
        self.out.extend(batch);
        false
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn each_record_is_written_once_despite_crashes() {
    let (clock, _guard) = Clock::start();
    let server = Server::start();
    let mut workers: Vec<Worker> = (0..WORKERS).map(|n| Worker::new(&server, n)).collect();
    workers.iter().for_each(|worker| assert_eq!(worker.store.begin_round().unwrap(), 1));
    let all: Vec<String> =
        (0..HOSTS).flat_map(|host| (0..URLS).map(move |n| format!("https://h{host}/{n}"))).collect();
    let mut random = Random(88_172_645_463_325_252);
    let (mut takeovers, mut kills) = (0, 0);
    let mut steps = 0;
    while steps < 1_500 || !workers[0].store.drained().unwrap() {
        steps += 1;
        assert!(steps < 60_000, "the crawl does not end");
        let n = random.below(WORKERS as u64) as usize;
        let worker = &mut workers[n];
        match random.below(40) {
            0 => {
                kills += 1;
                let Worker { store, lines, .. } = workers.remove(n);
                die(store);
                let mut worker = Worker { lines, ..Worker::new(&server, n) };
                worker.cut();
                workers.insert(n, worker);
            }
            // it sleeps for longer than its lease
            1..=2 => expire(&server, &worker.name),
            3 => clock.pass(1 + random.below(20)),
            4..=15 => {
                let from = random.below(all.len() as u64) as usize;
                let links: Vec<NewUrl> = all[from..].iter().take(20).map(|url| new_url(url)).collect();
                worker.store.enqueue(&links).unwrap();
            }
            16..=27 => worker.lease(&mut random),
            _ if worker.written.is_empty() => worker.write(&mut random),
            _ => takeovers += usize::from(!worker.settle()),
        }
        if steps == 1_500 {
            workers[0].store.enqueue(&all.iter().map(|url| new_url(url)).collect::<Vec<_>>()).unwrap();
        }
    }
    let mut written: BTreeMap<&str, usize> = BTreeMap::new();
    workers.iter().flat_map(|worker| &worker.lines).for_each(|url| *written.entry(url).or_default() += 1);
    assert!(written.values().all(|n| *n == 1), "{written:?}");
    assert_eq!(written.len(), all.len());
    assert_eq!(workers[0].store.counts().unwrap().records, all.len() as u64);
    assert!(takeovers > 5 && kills > 10, "{takeovers} takeovers were noticed at a settlement, {kills} kills");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn workers_started_together_do_not_block_each_other() {
    let server = Server::start();
    for attempt in 0..6 {
        let crawl = format!("c{attempt}");
        let open = |worker: usize| PgStore::open(&server.options(&crawl, &format!("w{worker}"))).unwrap();
        let stores: Vec<PgStore> = (0..4).map(open).collect();
        stores.iter().for_each(|store| _ = store.begin_round().unwrap());
        let (at_once, seeds) =
            (std::sync::Barrier::new(stores.len()), urls(&["https://a/", "https://b/", "https://c/"]));
        std::thread::scope(|scope| {
            for store in &stores {
                let (at_once, seeds) = (&at_once, &seeds);
                // each reserves its first numbers
                scope.spawn(move || {
                    at_once.wait();
                    store.enqueue(seeds).unwrap();
                });
            }
        });
    }
}
