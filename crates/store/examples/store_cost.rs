//! Measures the cost of the store per page: `cargo run --release -p crawl-store --example store_cost
//! [PAGES]`.
//!
//! Every page has 120 links, as in a complete crawl of a site. In the first two cases a page has 12 new ones,
//! in the others one. Pages are leased 16 at a time, settled 32 at a time, and each claims its final URL and
//! its content. The last case holds every page (8 KiB) until 200 are held.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "it prints its figures, and ends where anything fails"
)]

use crawl_model::{
    ContentHash, CrawlRequest, Discovery, DomainStore, Frontier, HostKey, Lane, LeaseRef, NewUrl, Outcome,
    OutputMark, PageHistory, Settlement, UrlKey,
};
use crawl_store::{MemoryStore, SqliteStore};
use std::time::{Duration, Instant};

const LINKS: usize = 120;
const HELD: usize = 200;

#[derive(Clone, Copy)]
struct Case {
    pages: usize,
    hosts: usize,
    new: usize,
    hold: bool,
    /// True if known links are drawn from the whole site, which defeats the cache of known URLs.
    far: bool,
}

trait Store: Frontier + DomainStore {}
impl<T: Frontier + DomainStore> Store for T {}

fn main() {
    let pages = std::env::args().nth(1).map_or(1_000, |n| n.parse().unwrap());
    let cases = [
        ("12 new links a page", Case { pages, hosts: 1, new: 12, hold: false, far: false }),
        ("12 new links, 100 hosts", Case { pages, hosts: 100, new: 12, hold: false, far: false }),
        ("one new link a page", Case { pages, hosts: 7, new: 1, hold: false, far: false }),
        ("one new link, pages held", Case { pages, hosts: 7, new: 1, hold: true, far: false }),
        ("12 new links, far ones", Case { pages, hosts: 7, new: 12, hold: false, far: true }),
    ];
    for (name, case) in cases {
        let dir = tempfile::tempdir().unwrap();
        report(name, "sqlite", case, &SqliteStore::open(dir.path()).unwrap());
        for entry in std::fs::read_dir(dir.path()).unwrap() {
            let entry = entry.unwrap();
            let kib = entry.metadata().unwrap().len() / 1024;
            println!("{:>58} {kib:>8} KiB", entry.file_name().display().to_string());
        }
        report(name, "memory", case, &MemoryStore::new());
    }
}

fn report(name: &str, store_name: &str, case: Case, store: &dyn Store) {
    let cpu = cpu_time();
    let spent = crawl(case, store);
    let cpu = cpu.zip(cpu_time()).map(|(before, after)| after - before);
    let total: Duration = spent.iter().map(|(_, time)| *time).sum();
    let a_page = |time: Duration| time.as_secs_f64() * 1e6 / case.pages as f64;
    println!("{name:>24}  {store_name}: {:7.1} µs a page", a_page(total));
    if let Some(cpu) = cpu {
        println!("{:>58} {:8.1}", "CPU, the making of links included", a_page(cpu));
    }
    for (what, time) in spent {
        println!("{what:>58} {:8.1}", a_page(time));
    }
}

/// Links of page `n`: the site's menu and earlier pages, all known, and the new ones.
fn links(n: usize, case: Case) -> Vec<NewUrl> {
    let newest = n * case.new;
    let near = |k: usize| if k < 60 { k } else { newest.saturating_sub(k * 7) };
    let far = |k: usize| (n * 7_919 + k * 104_729) % (newest + 1);
    let known = (0..LINKS - case.new).map(|k| if case.far { far(k) } else { near(k) });
    known.chain(newest + 1..=newest + case.new).map(|k| url(k, case.hosts)).collect()
}

fn url(n: usize, hosts: usize) -> NewUrl {
    let host = format!("host{}.example", n % hosts);
    let url = format!("https://{host}/section-{}/page-{n}.html", n % 40);
    NewUrl {
        key: UrlKey::of(&url),
        url,
        host: HostKey::from_stored(host),
        depth: (n as f64).log(10.0) as u32,
        discovery: Discovery::Link,
        redirects: Vec::new(),
        sitemap_lastmod: None,
    }
}

/// CPU time of this thread, if the system reports it.
fn cpu_time() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    stat.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

struct Clock([(&'static str, Duration); 6]);

impl Clock {
    fn time<T>(&mut self, what: usize, work: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        let done = work();
        self.0[what].1 += started.elapsed();
        done
    }
}

fn crawl(case: Case, store: &dyn Store) -> [(&'static str, Duration); 6] {
    let mut clock =
        Clock(["hosts", "lease", "enqueue", "claim", "hold", "settle"].map(|what| (what, Duration::ZERO)));
    store.begin_round().unwrap();
    store.enqueue(&[url(0, case.hosts)]).unwrap();
    let page = vec![b'x'; 8 * 1024];
    let (mut done, mut ended, mut held) = (0, Vec::new(), 0);
    while done < case.pages {
        let hosts = clock.time(0, || store.hosts_with_pending(Lane::Plain, 0, 64).unwrap());
        assert!(!hosts.is_empty(), "ran dry after {done} pages");
        for host in hosts {
            let leased =
                clock.time(1, || store.lease(&host.host, Lane::Plain, 16, "worker", 0, i64::MAX).unwrap());
            for request in leased {
                let found = links(done, case);
                let key = UrlKey::of(request.url.as_str());
                clock.time(2, || store.enqueue(&found).unwrap());
                clock.time(3, || {
                    store
                        .claim_content(&ContentHash::of(request.url.as_str()), key, (&request).into())
                        .unwrap();
                    store.became_page(key).unwrap();
                });
                if case.hold {
                    held += usize::from(
                        clock.time(4, || store.hold((&request).into(), &host.host, &page).unwrap().is_some()),
                    );
                }
                ended.push(ended_by(&request, done));
                done += 1;
                if ended.len() == 32 && held == 0 || held == HELD {
                    held = 0;
                    for batch in ended.chunks(32) {
                        let mark = OutputMark { name: "/out.jsonl".into(), offset: done as u64 };
                        assert_eq!(clock.time(5, || store.settle(batch, &[mark]).unwrap()), 0);
                    }
                    ended.clear();
                }
            }
        }
    }
    clock.0
}

fn ended_by(request: &CrawlRequest, n: usize) -> Settlement {
    let history = PageHistory {
        status: Some(200),
        etag: Some(format!("\"{n:x}-61c\"")),
        last_modified: Some("Sun, 22 Nov 2026 01:22:00 GMT".into()),
        sitemap_lastmod: None,
        content_hash: Some(ContentHash::of(request.url.as_str())),
        fetched_at_ms: Some(1_795_000_000_000),
        ..PageHistory::default()
    };
    Settlement { lease: LeaseRef::from(request), outcome: Outcome::Record, history }
}
