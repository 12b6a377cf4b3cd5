//! Store of a simulated process: it counts calls, fails at one of them, or dies there.

use crawl_model::{
    CachedRobots, ContentHash, CrawlRequest, DomainStore, Enqueued, Frontier, FrontierCounts, HeldPage,
    HostBounds, HostKey, HostLoad, KnownText, KnownUrl, Lane, LeaseRef, NewText, NewUrl, Origin, OutputMark,
    ReadyHost, RequestId, RunStore, Settlement, Sketch, Store, StoreError, Strategy, TextIndex, UrlKey,
};
use crawl_store::StateStore;
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};
use tokio::sync::Notify;

/// Fault of one process of a crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Nothing,
    /// The process dies at this call of its store: before or after its execution.
    KillAtCall {
        call: u64,
        after: bool,
    },
    /// The process dies this many milliseconds after its start.
    KillAtTime(u64),
    /// This call of the store fails; `full` makes it a lack of space.
    StoreFails {
        call: u64,
        full: bool,
    },
    Interrupt(u64),
    ClockJumps {
        at_ms: u64,
        by_ms: i64,
    },
    /// The run ends at this many records.
    Limit(u64),
}

impl Fault {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "none",
            Self::KillAtCall { .. } => "kill at a store call",
            Self::KillAtTime(_) => "kill at an await",
            Self::StoreFails { .. } => "store call fails",
            Self::Interrupt(_) => "interruption",
            Self::ClockJumps { .. } => "clock jump",
            Self::Limit(_) => "limit",
        }
    }
}

/// State of the store of a process, as seen from outside.
pub struct Probe {
    fault: Fault,
    pub calls: AtomicU64,
    pub dead: AtomicBool,
    /// The fault has struck.
    pub struck: AtomicBool,
    pub death: Notify,
}

impl Probe {
    pub fn new(fault: Fault) -> Arc<Self> {
        Arc::new(Self {
            fault,
            calls: AtomicU64::new(0),
            dead: AtomicBool::new(false),
            struck: AtomicBool::new(false),
            death: Notify::new(),
        })
    }
}

pub struct Watched {
    pub store: Arc<dyn Store>,
    pub state: Arc<dyn StateStore>,
    pub probe: Arc<Probe>,
}

impl Watched {
    fn die(&self) -> StoreError {
        let error = StoreError::Other("the simulated process is dead".into());
        self.state.abandon(&error);
        self.probe.dead.store(true, Relaxed);
        self.probe.struck.store(true, Relaxed);
        self.probe.death.notify_one();
        error
    }

    fn call<T>(&self, work: impl FnOnce(&dyn Store) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let number = self.probe.calls.fetch_add(1, Relaxed);
        assert!(number < 3_000_000, "a run without end");
        match self.probe.fault {
            _ if self.probe.dead.load(Relaxed) => Err(self.die()),
            Fault::KillAtCall { call, after: false } if call == number => Err(self.die()),
            Fault::KillAtCall { call, after: true } if call == number => {
                let _ = work(&*self.store);
                Err(self.die())
            }
            Fault::StoreFails { call, full } if call == number => {
                // like the store itself: uncommitted changes are rolled back, and every later call fails
                let words = "simulated".to_owned();
                let error = if full { StoreError::Full(words) } else { StoreError::Other(words) };
                self.state.abandon(&error);
                self.probe.struck.store(true, Relaxed);
                Err(error)
            }
            _ => work(&*self.store),
        }
    }
}

macro_rules! forward {
    ($($name:ident($($arg:ident: $type:ty),*) -> $result:ty;)*) => {
        $(fn $name(&self, $($arg: $type),*) -> Result<$result, StoreError> {
            self.call(|store| store.$name($($arg),*))
        })*
    };
}

impl Frontier for Watched {
    forward! {
        enqueue(urls: &[NewUrl]) -> Enqueued;
        enqueue_found_on(urls: &[NewUrl], page: RequestId) -> Enqueued;
        found_on(url: UrlKey) -> Option<String>;
        bound_hosts(bounds: HostBounds) -> ();
        revisit(urls: &[NewUrl]) -> Enqueued;
        known(after: RequestId, limit: usize) -> Vec<KnownUrl>;
        known_among(keys: &[UrlKey]) -> Vec<KnownUrl>;
        hosts_with_pending(lane: Lane, now_ms: i64, limit: usize) -> Vec<ReadyHost>;
        suspend(host: &HostKey) -> ();
        resume(hosts: &[HostKey]) -> ();
        resume_all() -> ();
        next_due() -> Option<i64>;
        bring_forward(latest_ms: i64, now_ms: i64) -> usize;
        lease(host: &HostKey, lane: Lane, max: usize, worker: &str, now_ms: i64, deadline_ms: i64) -> Vec<CrawlRequest>;
        lease_by_level(host: &HostKey, lane: Lane, max: usize, worker: &str, now_ms: i64, deadline_ms: i64) -> Vec<CrawlRequest>;
        requeue(lease: LeaseRef, not_before_ms: i64, attempt: u32, strategy: Option<Strategy>) -> bool;
        mark_possibly_gone(request: &CrawlRequest, not_before_ms: i64, status: u16) -> bool;
        escalate(lease: LeaseRef, now_ms: i64, strategy: Strategy, partial_result: &[u8]) -> bool;
        partial_result(url: RequestId) -> Option<Vec<u8>>;
        hold(lease: LeaseRef, host: &HostKey, page: &[u8]) -> Option<i64>;
        held(host: &HostKey, after: i64, limit: usize) -> Vec<HeldPage>;
        refetch(held: LeaseRef) -> bool;
        hosts_with_held() -> Vec<HostLoad>;
        settle(batch: &[Settlement], outputs: &[OutputMark]) -> usize;
        expire_leases(now_ms: i64) -> usize;
        drained() -> bool;
        host_drained(host: &HostKey) -> bool;
        newly_drained() -> Vec<HostKey>;
        is_current(lease: LeaseRef) -> bool;
        counts() -> FrontierCounts;
        round() -> u32;
        begin_round() -> u32;
        begin_recrawl(keep_sites: bool) -> u32;
        is_recrawl() -> bool;
        output_mark(name: &str) -> Option<u64>;
    }
}

impl DomainStore for Watched {
    forward! {
        load_host(host: &HostKey) -> Option<Vec<u8>>;
        load_earlier_host(host: &HostKey) -> Option<Vec<u8>>;
        load_unsettled(host: &HostKey) -> Option<Vec<u8>>;
        save_unsettled(host: &HostKey, state: Option<&[u8]>) -> ();
        save_host(host: &HostKey, state: &[u8]) -> ();
        load_lessons(host: &HostKey) -> Option<Vec<u8>>;
        save_lessons(host: &HostKey, lessons: &[u8]) -> ();
        claim_content(hash: &ContentHash, claimant: UrlKey, page: LeaseRef) -> UrlKey;
        release_content(hash: &ContentHash, claimant: UrlKey, page: LeaseRef) -> ();
        became_page(url: UrlKey) -> bool;
    }
}

impl RunStore for Watched {
    forward! {
        get(name: &str) -> Option<String>;
        set_project(project: &str, source_group: Option<&str>) -> ();
        put(name: &str, value: &str) -> ();
        note(name: &str, value: &str) -> ();
        put_at_end(name: &str, value: &str) -> bool;
        entries(prefix: &str) -> Vec<(String, String)>;
        sync() -> ();
        load_robots(origin: &Origin) -> Option<CachedRobots>;
        save_robots(origin: &Origin, robots: &CachedRobots) -> ();
    }
}

impl TextIndex for Watched {
    forward! {
        similar_texts(sketch: &Sketch, limit: usize) -> Vec<KnownText>;
        settle_with_texts(batch: &[Settlement], outputs: &[OutputMark], texts: &[NewText]) -> usize;
        keep_texts_of_method(method: &str) -> bool;
    }
}
