//! The storage traits on PostgreSQL: one schema per crawl, many workers, two connections per worker.
//!
//! A worker leases hosts (`hosts.rs`) and keeps their counts, leases of URLs and retries in memory, as the other
//! stores do. A lease of a URL is never written: the URL stays in the table `queue` until it is settled. The fence
//! of the host replaces that of the lease, so a takeover ends all leases of a host.
//!
//! Links to hosts of other workers go to the table `inbox`, which the owner of each host empties.
//!
//! Held pages and partial results between strategies are on the disk of the worker (`spool.rs`).

mod acquire;
mod affinity;
mod connect;
mod db;
mod domain;
mod engine;
mod enqueue;
mod error;
mod frontier;
mod heartbeat;
mod held;
mod hosts;
mod inbox;
mod lease;
mod memory;
mod migrate;
mod own;
mod page_fences;
mod parts;
mod password;
mod quota;
mod reach;
mod read_ahead;
mod recrawl;
mod reopen;
mod rights;
mod round_settings;
mod run;
mod settle;
mod shares;
mod side;
mod spool;
mod tally;
mod texts;
mod transfer;
mod upkeep;
mod url;
mod url_rows;

pub(crate) use engine::PostgresEngine;
pub use url::{PgUrl, TlsMode};

use crate::{
    ledger::HostId,
    upkeep::{RoundSettings, WorkerStart},
};
use affinity::Patience;
use connect::Target;
use crawl_model::{LeaseClock, StoreError, instant};
use db::Db;
use heartbeat::Heartbeat;
use hosts::Lease;
use memory::Memory;
use rights::Access;
use side::Side;
use spool::{Kind, Spool};
use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};
use tally::Tally;

/// Interval at which a worker looks for links to its hosts and for free hosts.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// A crawl in a database, and the worker that opens it.
#[derive(Clone, Debug)]
pub struct PgOptions {
    /// The database.
    pub url: PgUrl,
    /// Name of the crawl, which names its schema: letters, digits, `-`, `_` and `.`.
    pub crawl: String,
    /// Name of the worker: unique in the crawl, the same after a restart. A restarted worker takes its hosts back
    /// at once. Hold a [`StateLock`](crate::StateLock) on its directory.
    pub worker: String,
    /// Directory of this worker for pages that wait; `None` keeps them in memory.
    pub spool: Option<PathBuf>,
    /// Longest pause between two requests to a host. Another worker waits for this long before it takes a host over.
    pub pause: Duration,
    /// True for the first connection of a process. It begins a run if no other worker has a lease.
    pub begins_run: bool,
}

/// The storage traits on PostgreSQL. Never call it on a thread of a `tokio` runtime.
///
/// **After the death of the process or of the server:** [`settle`](crawl_model::Frontier::settle),
/// [`begin_round`](crawl_model::Frontier::begin_round) and [`put`](crawl_model::RunStore::put) are durable with all
/// earlier changes. Newer changes of other calls may be lost, but never in part. They concern unsettled pages, which
/// are fetched again.
///
/// **After a takeover** by another worker, calls about URLs of the host return false or `None`, and its links go to
/// the new owner. `settle` returns [`StoreError::Busy`] and changes nothing, so that no mark covers a record that the
/// new owner writes too. The output must be truncated to its mark.
///
/// **After an error** other than that, each further call returns an error; open the store anew.
pub struct PgStore {
    inner: Arc<Mutex<Inner>>,
    side: Side,
    /// True once the store makes no more calls.
    is_lost: Arc<AtomicBool>,
    permits: Arc<LeaseClock>,
    heartbeat: Option<Heartbeat>,
}

struct Inner {
    db: Db,
    memory: Memory,
    spool: Spool,
    pause: Duration,
    /// True if the store is only read.
    read_only: bool,
    /// True if no other worker had a lease at the last renewal.
    alone: bool,
    /// Number of workers with a lease at that renewal, this one included.
    workers: i64,
    /// This start of the worker; `None` for a reader.
    start: Option<WorkerStart>,
    /// Maximum number of hosts of this worker; `None` for no limit.
    share: Option<usize>,
    lease: Lease,
    renewed: Instant,
    /// The lease, for the permits of requests.
    permits: Arc<LeaseClock>,
    polled_at: Option<Instant>,
    patience: Patience,
    /// Reason for the loss of changes, if any were lost.
    lost: Option<StoreError>,
    /// Settings of the round that this worker begins next.
    proposed: Option<RoundSettings>,
    /// True if `lost` is set.
    is_lost: Arc<AtomicBool>,
}

/// Durability of a transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Commit {
    /// With the next durable transaction.
    Later,
    /// Now, with all earlier ones.
    Now,
}

impl PgStore {
    /// Opens a crawl as a worker. Creates its schema if missing. A schema of an older version is an error.
    ///
    /// # Errors
    /// [`StoreError::Version`] when a newer program wrote it. [`StoreError::Unavailable`] when the server cannot be reached
    /// or refuses the user. [`StoreError::Busy`] when locks or connections are exhausted.
    pub fn open(options: &PgOptions) -> Result<Self, StoreError> {
        let target = Target::new(&options.url, &options.crawl)?;
        let mut db = target.connect()?;
        rights::check(&mut db, &target, Access::Write)?;
        // connects before the worker registers, so that a refused connection leaves no hosts with an absent worker
        let side = target.connect()?;
        db.transaction(|db| migrate::migrate(db, &target))?;
        let spool = Spool::open(options.spool.as_deref())?;
        let (lease, renewed) = (Lease { time: options.url.lease() }, instant());
        let (worker, start) = parts::register(&mut db, &target, options, lease.time.as_secs_f64())?;
        let start = Some(start);
        let memory = Memory::load(&mut db, worker)?;
        Tally::create(&mut db, worker, memory.round)?;
        let workers = hosts::live(&mut db, worker)?;
        let alone = workers == 1;
        let (pause, share, read_only, lost) = (options.pause, None, false, None);
        let inner = Inner {
            db,
            memory,
            spool,
            pause,
            share,
            read_only,
            alone,
            workers,
            start,
            lease,
            renewed,
            permits: Arc::new(LeaseClock::new(renewed + lease.stop())),
            polled_at: None,
            patience: Patience::default(),
            lost,
            proposed: None,
            is_lost: Arc::default(),
        };
        // from here on an error releases the hosts
        let store = Self::new(inner, Some(side));
        store.ready()?.start()?;
        Ok(store)
    }

    fn new(inner: Inner, side: Option<Db>) -> Self {
        let permits = Arc::clone(&inner.permits);
        let is_lost = Arc::clone(&inner.is_lost);
        let side = Side::new(side, &inner.memory);
        Self { inner: Arc::new(Mutex::new(inner)), side, is_lost, permits, heartbeat: None }
    }

    /// Starts a thread that renews the lease, so that a worker keeps its hosts while it makes no calls.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn keep_lease(&mut self) -> Result<(), StoreError> {
        let interval = self.ready()?.lease.check();
        let heartbeat = Heartbeat::start(&self.inner, interval);
        self.heartbeat = Some(heartbeat.map_err(|e| StoreError::Other(format!("thread of the lease: {e}")))?);
        Ok(())
    }

    /// Opens a crawl for reading, without a worker. Each call that would change data fails with
    /// [`StoreError::Full`].
    ///
    /// # Errors
    /// Those of [`PgStore::open`], and [`StoreError::Other`] when the database has no such crawl.
    pub fn open_read_only(options: &PgOptions) -> Result<Self, StoreError> {
        let target = Target::new(&options.url, &options.crawl)?;
        let mut db = target.connect()?;
        rights::check(&mut db, &target, Access::Read)?;
        migrate::verify(&mut db, &target)?;
        db.batch("SET default_transaction_read_only = on")?;
        let memory = Memory::load(&mut db, 0)?;
        let (spool, renewed) = (Spool::open(None)?, instant());
        let (pause, share, read_only, alone, start) = (options.pause, None, true, false, None);
        let inner = Inner {
            db,
            memory,
            spool,
            pause,
            share,
            read_only,
            alone,
            workers: 0,
            start,
            lease: Lease { time: options.url.lease() },
            renewed,
            permits: Arc::new(LeaseClock::new(renewed)),
            polled_at: None,
            patience: Patience::default(),
            lost: None,
            proposed: None,
            is_lost: Arc::default(),
        };
        Ok(Self::new(inner, None))
    }

    /// Releases all hosts, so that other workers need not wait for the end of the lease. Dropping the store does the
    /// same, but cannot return an error.
    ///
    /// # Errors
    /// When storage fails.
    pub fn release(&self) -> Result<(), StoreError> {
        self.ready()?.release()
    }

    /// Closes the connection without releasing hosts, like a killed process. Each further call fails for the given
    /// reason.
    pub fn abandon(&self, why: &StoreError) {
        if let Ok(mut inner) = self.inner.lock() {
            inner.mark_lost(why);
        }
    }

    /// Locks the connection, unless the store is lost.
    fn ready(&self) -> Result<MutexGuard<'_, Inner>, StoreError> {
        crawl_model::assert_may_block("a call of PostgreSQL");
        let inner = self.inner.lock().unwrap_or_else(|poisoned| {
            self.inner.clear_poison();
            let mut inner = poisoned.into_inner();
            inner.mark_lost(&StoreError::Other("a thread panicked in the middle of a change".into()));
            inner
        });
        match &inner.lost {
            Some(lost) => Err(copy(lost)),
            None => Ok(inner),
        }
    }
}

impl Drop for PgStore {
    fn drop(&mut self) {
        self.heartbeat = None;
        let Ok(mut inner) = self.inner.lock() else { return };
        if inner.lost.is_none()
            && !inner.read_only
            && let Err(error) = inner.release()
        {
            tracing::warn!(%error, "the hosts of this worker were not released: other workers take them when the lease ends");
        }
    }
}

/// Copies an error for a later call.
fn copy(error: &StoreError) -> StoreError {
    let words = || format!("changes were lost before: {error}");
    match error {
        StoreError::Full(_) => StoreError::Full(words()),
        StoreError::Unavailable(_) => StoreError::Unavailable(words()),
        StoreError::Busy(_) => StoreError::Busy(words()),
        StoreError::Corrupt(_) => StoreError::Corrupt(words()),
        StoreError::Version { .. } | StoreError::Other(_) => StoreError::Other(words()),
    }
}

impl Inner {
    /// Makes a change in one transaction, after the fence check of its hosts. `work` gets the hosts that were lost to
    /// other workers, and also updates memory.
    fn write<T>(
        &mut self,
        commit: Commit,
        hosts: &[HostId],
        work: impl FnOnce(&mut Db, &mut Memory, &[HostId]) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let done = self.attempt(commit, hosts, work);
        done.inspect_err(|error| self.mark_lost(error))
    }

    /// Takes the first hosts of a worker that has registered.
    fn start(&mut self) -> Result<(), StoreError> {
        self.write(Commit::Later, &[], |db, memory, _| hosts::resume(db, memory))?;
        self.acquire()?;
        let held = &self.memory.held;
        self.spool.retain(|id| held.contains_key(&id))?;
        // renewed before any permit is taken: opening may have taken longer than the lease
        self.renew()
    }

    fn attempt<T>(
        &mut self,
        commit: Commit,
        hosts: &[HostId],
        work: impl FnOnce(&mut Db, &mut Memory, &[HostId]) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let Self { db, memory, .. } = self;
        db.post_batch(match commit {
            Commit::Later => "BEGIN",
            Commit::Now => "BEGIN; SET LOCAL synchronous_commit = on",
        })?;
        let lost = hosts::fence(db, memory, hosts)?;
        let done = work(db, memory, &lost)?;
        let (worker, round) = (memory.worker, memory.round);
        memory.tally.save(db, worker, round)?;
        db.batch("COMMIT")?;
        Ok(done)
    }

    /// Makes all later calls fail, since memory may be ahead of the database.
    fn mark_lost(&mut self, why: &StoreError) {
        if self.lost.is_some() {
            return;
        }
        self.lost = Some(match why {
            StoreError::Full(words) => StoreError::Full(words.clone()),
            StoreError::Unavailable(words) => StoreError::Unavailable(words.clone()),
            StoreError::Busy(words) => StoreError::Busy(words.clone()),
            StoreError::Corrupt(words) => StoreError::Corrupt(words.clone()),
            error => StoreError::Other(error.to_string()),
        });
        self.is_lost.store(true, SeqCst);
        self.permits.end();
        // the server rolls back at the latest when the connection ends
        self.db.roll_back();
    }

    /// Renews the lease of the hosts if it is time.
    fn renew(&mut self) -> Result<(), StoreError> {
        if instant().saturating_duration_since(self.renewed) < self.lease.renew() {
            return Ok(());
        }
        // measured before the request: the database counts from a later time
        let now = instant();
        let lease = self.lease;
        // durable, so that a server crash does not lose a renewal that requests rely on
        self.write(Commit::Now, &[], |db, memory, _| hosts::renew(db, memory, lease))?;
        self.renewed = now;
        self.permits.extend(now + lease.stop());
        self.update_share()
    }

    /// Divides the hosts again if a worker has joined or left.
    fn rebalance_on_change(&mut self) -> Result<(), StoreError> {
        if hosts::live(&mut self.db, self.memory.worker)? == self.workers {
            return Ok(());
        }
        self.update_share()
    }

    /// Counts the workers, computes the share of this one, and releases surplus hosts.
    fn update_share(&mut self) -> Result<(), StoreError> {
        self.workers = hosts::live(&mut self.db, self.memory.worker)?;
        self.alone = self.workers == 1;
        self.share = None;
        if !self.alone {
            self.share = Some(self.write(Commit::Later, &[], |db, memory, _| shares::share(db, memory))?);
        }
        Ok(())
    }

    /// Returns true if the lease of the hosts outlasts a request that begins now.
    fn may_fetch(&self) -> bool {
        self.permits.is_on()
    }

    /// Takes links to hosts of this worker, and free hosts if `wants_hosts`.
    fn take_waiting_work(&mut self, wants_hosts: bool) -> Result<(), StoreError> {
        let now = instant();
        if self.polled_at.is_some_and(|at| now.saturating_duration_since(at) < POLL_INTERVAL) {
            return Ok(());
        }
        self.polled_at = Some(now);
        self.rebalance_on_change()?;
        if !self.memory.leaving.is_empty() {
            let (pause, leaving) = (self.pause, self.memory.leaving.iter().copied().collect::<Vec<_>>());
            let dropped = self
                .write(Commit::Later, &leaving, |db, memory, _| shares::release_marked(db, memory, pause))?;
            for page in dropped {
                self.spool.remove(Kind::Held, page)?;
            }
        }
        self.take_inbox()?;
        // a worker without work takes free hosts regardless of its share
        let has_room = self.share.is_none_or(|most| self.memory.busy_hosts() < most);
        if wants_hosts && (has_room || self.memory.ledger.total().drained()) {
            self.acquire()?;
        }
        Ok(())
    }

    fn release(&mut self) -> Result<(), StoreError> {
        let pause = self.pause;
        self.write(Commit::Now, &[], |db, memory, _| shares::release(db, memory, pause))?;
        self.mark_lost(&StoreError::Other("the hosts of this worker were given back".into()));
        Ok(())
    }
}
