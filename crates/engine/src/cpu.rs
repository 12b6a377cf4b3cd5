//! Thread pool for CPU work, so that such work never blocks a thread of tokio.

use std::{
    num::NonZero,
    panic::AssertUnwindSafe,
    sync::{
        Arc, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    runtime::{Builder, Runtime},
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_util::task::AbortOnDropHandle;

/// Stack of a worker. Extraction does not recurse over the tree, but libraries below it may.
const STACK_BYTES: usize = 8 << 20;
/// Idle time after which a thread ends: longer than a crawl waits for a page.
const KEEP_ALIVE: Duration = Duration::from_hours(24);

/// Panic of the work, with its message.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Panicked(pub String);

/// Threads for parsing and extracting. It accepts as many jobs as it has threads, so a page waits in a
/// bounded channel and never in the pool.
#[derive(Clone)]
pub struct CpuPool {
    /// `None` runs work on the caller's thread.
    pool: Option<Arc<Threads>>,
    free: Arc<Semaphore>,
    /// Jobs that threads have or that wait for one.
    running: Arc<AtomicUsize>,
    threads: usize,
}

/// The threads for blocking work of a runtime without other threads. An idle thread sleeps at once; those of a
/// work-stealing pool search for work first, which takes more CPU than short jobs justify.
struct Threads(Option<Runtime>);

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // the last owner may be a task of tokio, which must not wait
            runtime.shutdown_background();
        }
    }
}

impl CpuPool {
    /// A pool of `threads` threads; 0 takes as many as there are cores.
    ///
    /// # Errors
    /// When the threads cannot be started.
    pub fn new(threads: usize) -> std::io::Result<Self> {
        Self::named("extract", threads)
    }

    /// Calls [`CpuPool::new`] with a name for the threads: for other work that must not hold up tokio.
    ///
    /// # Errors
    /// When the threads cannot be started.
    pub fn named(name: &'static str, threads: usize) -> std::io::Result<Self> {
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, NonZero::get),
            n => n,
        };
        let runtime = Builder::new_current_thread()
            .max_blocking_threads(threads)
            .thread_stack_size(STACK_BYTES)
            .thread_keep_alive(KEEP_ALIVE)
            .thread_name(name)
            .build()?;
        start_threads(&runtime, threads)?;
        Ok(Self {
            pool: Some(Arc::new(Threads(Some(runtime)))),
            free: Arc::new(Semaphore::new(threads)),
            running: Arc::default(),
            threads,
        })
    }

    /// A pool without threads: the caller's thread does the work at once. For a simulation of a crawl on one thread.
    #[must_use]
    pub fn inline() -> Self {
        Self { pool: None, free: Arc::new(Semaphore::new(1)), running: Arc::default(), threads: 1 }
    }

    /// Number of threads, which is also the number of jobs in hand at most.
    #[must_use]
    pub const fn threads(&self) -> usize {
        self.threads
    }

    /// Returns true if every thread has a job.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.running.load(Ordering::Relaxed) >= self.threads
    }

    /// Waits until a thread is free; `None` once the pool is closed (it never is).
    pub async fn ready(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.free).acquire_owned().await.ok()
    }

    /// Runs `work` on a thread of the pool; the caller holds the permit of [`CpuPool::ready`] until it has handed the
    /// result on. A caller that goes away before the work starts cancels it.
    ///
    /// # Errors
    /// When the work panicked.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Panicked> {
        let Some(runtime) = self.pool.as_ref().and_then(|pool| pool.0.as_ref()) else {
            let outcome = std::panic::catch_unwind(AssertUnwindSafe(work));
            return outcome.map_err(|panic| Panicked(words_of(&*panic)));
        };
        let job = RunningJob::start(&self.running);
        let task = runtime.spawn_blocking(move || {
            let outcome = work();
            // before the result, so that a pool with a result is not busy
            drop(job);
            outcome
        });
        AbortOnDropHandle::new(task).await.map_err(|error| match error.try_into_panic() {
            Ok(panic) => Panicked(words_of(&*panic)),
            Err(_) => Panicked("the work was dropped".into()),
        })
    }
}

/// Starts the threads of a pool, so that a process without threads for it ends before its work begins.
fn start_threads(runtime: &Runtime, threads: usize) -> std::io::Result<()> {
    // The runtime panics if it cannot start its first thread.
    let trial = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(|| {})?;
    trial.join().map_err(|panic| std::io::Error::other(words_of(&*panic)))?;
    // A thread without a job would take the next one, so the jobs wait until all have started.
    let gate = Arc::new(RwLock::new(()));
    let closed = gate.write();
    for _ in 0..threads {
        let gate = Arc::clone(&gate);
        runtime.spawn_blocking(move || drop(gate.read()));
    }
    drop(closed);
    Ok(())
}

/// A job of a pool, counted until it is dropped.
struct RunningJob(Arc<AtomicUsize>);

impl RunningJob {
    fn start(running: &Arc<AtomicUsize>) -> Self {
        running.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(running))
    }
}

impl Drop for RunningJob {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns the message of a panic.
#[must_use]
pub fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|s| (*s).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without words".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn panic_in_a_job_is_returned_as_an_error() {
        for pool in [CpuPool::new(1).unwrap(), CpuPool::inline()] {
            let error = pool.run(|| -> u8 { panic!("page {}", 7) }).await.unwrap_err();
            assert_eq!(error.to_string(), "page 7");
            assert_eq!(pool.run(|| 3).await.unwrap(), 3);
        }
    }

    #[tokio::test]
    async fn work_of_a_caller_that_has_gone_does_not_start() {
        let pool = CpuPool::new(1).unwrap();
        let (end, held) = std::sync::mpsc::sync_channel::<()>(1);
        let mut first = std::pin::pin!(pool.run(move || held.recv()));
        assert!(futures::poll!(first.as_mut()).is_pending());
        let ran = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let mark = Arc::clone(&ran);
        {
            let mut gone = std::pin::pin!(pool.run(move || mark.store(true, Ordering::Relaxed)));
            assert!(futures::poll!(gone.as_mut()).is_pending());
        }
        end.send(()).unwrap();
        first.await.unwrap().unwrap();
        pool.run(|| ()).await.unwrap();
        assert!(!ran.load(Ordering::Relaxed));
        assert!(!pool.is_busy());
    }

    #[tokio::test]
    async fn pool_runs_no_more_jobs_than_threads() {
        let pool = CpuPool::new(2).unwrap();
        let (_a, _b) = (pool.ready().await.unwrap(), pool.ready().await.unwrap());
        assert_eq!(pool.free.available_permits(), 0);
        assert_eq!(pool.threads(), 2);
    }

    #[tokio::test]
    async fn a_pool_is_busy_while_every_thread_has_a_job() {
        let pool = CpuPool::new(2).unwrap();
        let (end, held) = std::sync::mpsc::sync_channel::<()>(1);
        let _permits = (pool.ready().await.unwrap(), pool.ready().await.unwrap());
        assert!(!pool.is_busy(), "permits are no jobs");
        let mut one = std::pin::pin!(pool.run(move || held.recv()));
        assert!(futures::poll!(one.as_mut()).is_pending());
        assert!(!pool.is_busy(), "a thread is free");
        let (end_other, held) = std::sync::mpsc::sync_channel::<()>(1);
        let mut other = std::pin::pin!(pool.run(move || held.recv()));
        assert!(futures::poll!(other.as_mut()).is_pending());
        assert!(pool.is_busy());
        end_other.send(()).unwrap();
        other.await.unwrap().unwrap();
        assert!(!pool.is_busy());
        end.send(()).unwrap();
        one.await.unwrap().unwrap();
    }
}
