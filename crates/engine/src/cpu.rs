//! Thread pool for CPU work, so that such work never blocks a thread of tokio.

use std::{
    num::NonZero,
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// Stack of a worker. Extraction does not recurse over the tree, but libraries below it may.
const STACK_BYTES: usize = 8 << 20;

/// Panic of the work, with its message.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Panicked(pub String);

/// Threads for parsing and extracting. It accepts as many jobs as it has threads, so a page waits in a
/// bounded channel and never in the pool.
#[derive(Clone)]
pub struct CpuPool {
    /// `None` runs work on the caller's thread.
    pool: Option<Arc<rayon::ThreadPool>>,
    free: Arc<Semaphore>,
    /// Jobs that threads have or that wait for one.
    running: Arc<AtomicUsize>,
    threads: usize,
}

impl CpuPool {
    /// A pool of `threads` threads; 0 takes as many as there are cores.
    ///
    /// # Errors
    /// When the threads cannot be started.
    pub fn new(threads: usize) -> Result<Self, rayon::ThreadPoolBuildError> {
        Self::named("extract", threads)
    }

    /// Calls [`CpuPool::new`] with a name for the threads: for other work that must not hold up tokio.
    ///
    /// # Errors
    /// When the threads cannot be started.
    pub fn named(name: &'static str, threads: usize) -> Result<Self, rayon::ThreadPoolBuildError> {
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, NonZero::get),
            n => n,
        };
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .stack_size(STACK_BYTES)
            .thread_name(move |i| format!("{name}-{i}"))
            .build()?;
        Ok(Self {
            pool: Some(Arc::new(pool)),
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
        let Some(pool) = &self.pool else {
            let outcome = std::panic::catch_unwind(AssertUnwindSafe(work));
            return outcome.map_err(|panic| Panicked(words_of(&*panic)));
        };
        let (sender, outcome_receiver) = oneshot::channel();
        let job = RunningJob::start(&self.running);
        pool.spawn(move || {
            if sender.is_closed() {
                return;
            }
            let outcome =
                std::panic::catch_unwind(AssertUnwindSafe(work)).map_err(|panic| Panicked(words_of(&*panic)));
            drop(job);
            // nobody listening is not an error: the caller has gone
            let _ = sender.send(outcome);
        });
        outcome_receiver.await.unwrap_or_else(|_| Err(Panicked("the work was dropped".into())))
    }
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
