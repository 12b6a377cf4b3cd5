//! The runtime, and starting and joining stages, whether they are tasks or threads of their own.

use crate::{cpu::words_of, stage_error::StageError};
use crawl_model::{mark_async, mark_async_thread};
use crawl_output::OutputError;
use futures::FutureExt;
use std::{
    future::{Future, poll_fn},
    io,
    num::NonZero,
    panic::AssertUnwindSafe,
    pin::pin,
    time::Duration,
};
use tokio::{
    runtime::{Builder, Handle},
    sync::oneshot,
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

/// Polls of tasks between two looks at timers and sockets. The default is 61: with a server that sends
/// without a pause, a poll takes a quarter of a second. All other requests would wait a quarter of a minute.
const EVENT_INTERVAL: u32 = 8;

/// Time that a stage waits for more messages after it has handled all. A thread that sleeps costs its waker and
/// itself as much as some of the work on a page.
const GATHER: Duration = Duration::from_millis(4);
/// A stage that handles more messages between two looks at an empty queue is busy. Its pauses would slow down the crawl.
const MAX_IDLE_MESSAGES: u32 = 8;

/// Builds the runtime of tasks that fetch from foreign servers. It has half as many workers as cores: the other work
/// of a crawl has threads of its own, and workers wake each other.
#[must_use]
pub fn runtime() -> Builder {
    let mut builder = Builder::new_multi_thread();
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    builder.enable_all().event_interval(EVENT_INTERVAL).worker_threads(cores.div_ceil(2));
    // only workers park: threads of blocking calls stay without the mark
    if cfg!(debug_assertions) {
        builder.on_thread_park(mark_async_thread);
    }
    builder
}

/// Runs a task with the mark of [`mark_async`], so that a debug build reports storage calls of it.
pub async fn marked<T>(task: impl Future<Output = T>) -> T {
    if !cfg!(debug_assertions) {
        return task.await;
    }
    let mut task = pin!(task);
    poll_fn(|context| {
        let _mark = mark_async();
        task.as_mut().poll(context)
    })
    .await
}

/// Threads or tasks of the stages that compute or call into the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threading {
    /// One thread for each stage.
    #[default]
    Threads,
    /// Tasks on the thread of the runtime: for a simulation of a crawl on one thread.
    Inline,
}

impl Threading {
    /// Lets messages gather for a stage that has its own thread, for a few milliseconds. A task does not wait.
    #[expect(clippy::disallowed_methods, reason = "no event ends the pause: it waits for more of them")]
    pub fn gather(self) {
        if self == Self::Threads {
            std::thread::sleep(GATHER);
        }
    }
}

/// Decides when a stage pauses to let messages gather.
pub struct Gathering {
    threading: Threading,
    /// Messages since the queue was empty.
    handled: u32,
}

impl Gathering {
    /// Creates the pauses of a stage.
    #[must_use]
    pub const fn new(threading: Threading) -> Self {
        Self { threading, handled: 0 }
    }

    /// Notes a message that was handled. Pauses if the queue is empty then, unless the stage is busy.
    pub fn handled(&mut self, is_empty: bool) {
        if self.is_due(is_empty) {
            self.threading.gather();
        }
    }

    fn is_due(&mut self, is_empty: bool) -> bool {
        self.handled += 1;
        is_empty && std::mem::take(&mut self.handled) <= MAX_IDLE_MESSAGES
    }
}

/// The running stages.
pub struct Stages {
    running: JoinSet<Result<(), StageError>>,
    cancel: CancellationToken,
    threading: Threading,
}

impl Stages {
    /// Creates an empty set of stages. An error of any stage cancels `cancel`.
    #[must_use]
    pub fn new(cancel: CancellationToken, threading: Threading) -> Self {
        Self { running: JoinSet::new(), cancel, threading }
    }

    /// Starts a stage that mostly waits.
    pub fn task(
        &mut self,
        name: &'static str,
        stage: impl Future<Output = Result<(), StageError>> + Send + 'static,
    ) {
        let inner = match self.threading {
            Threading::Threads => tokio::spawn(marked(stage)),
            // stages that call the store are tasks too
            Threading::Inline => tokio::spawn(stage),
        };
        self.running.spawn(async move {
            inner.await.unwrap_or_else(|e| Err(StageError::Panicked { stage: name, words: e.to_string() }))
        });
    }

    /// Starts a stage that computes or calls into the store, by default on a thread of its own.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn thread(
        &mut self,
        name: &'static str,
        stage: impl Future<Output = Result<(), StageError>> + Send + 'static,
    ) -> Result<(), StageError> {
        if self.threading == Threading::Inline {
            self.task(name, stage);
            return Ok(());
        }
        let (sender, outcome_receiver) = oneshot::channel();
        let runtime = Handle::current();
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                let outcome =
                    runtime.block_on(AssertUnwindSafe(stage).catch_unwind()).unwrap_or_else(|panic| {
                        Err(StageError::Panicked { stage: name, words: words_of(&*panic) })
                    });
                let _ = sender.send(outcome);
            })
            .map_err(|source: io::Error| OutputError::Write { name: format!("thread {name}"), source })?;
        self.running.spawn(async move { outcome_receiver.await.unwrap_or(Err(StageError::Downstream)) });
        Ok(())
    }
}

/// Waits for all stages. The first error that is not a mere consequence of another is returned.
///
/// # Errors
/// That one.
pub async fn join(mut stages: Stages) -> Result<(), StageError> {
    let mut first: Option<StageError> = None;
    while let Some(done) = stages.running.join_next().await {
        let outcome =
            done.unwrap_or_else(|e| Err(StageError::Panicked { stage: "join", words: e.to_string() }));
        if let Err(error) = outcome {
            stages.cancel.cancel();
            let consequence = matches!(error, StageError::Downstream);
            if first.is_none() || (!consequence && matches!(first, Some(StageError::Downstream))) {
                first = Some(error);
            }
        }
    }
    first.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crawl_model::assert_may_block;
    use std::{
        panic::catch_unwind,
        time::{Duration, Instant},
    };

    fn may_block() -> bool {
        catch_unwind(|| assert_may_block("a test")).is_ok()
    }

    #[tokio::test]
    async fn stage_tasks_must_not_block() {
        async fn check(expected: bool) -> Result<(), StageError> {
            tokio::task::yield_now().await;
            assert_eq!(may_block(), expected);
            Ok(())
        }
        let debug = cfg!(debug_assertions);
        let mut stages = Stages::new(CancellationToken::new(), Threading::Threads);
        stages.task("task", check(!debug));
        stages.thread("thread", check(true)).unwrap();
        join(stages).await.unwrap();
        let mut inline = Stages::new(CancellationToken::new(), Threading::Inline);
        inline.task("task", check(true));
        join(inline).await.unwrap();
    }

    #[test]
    fn runtime_workers_must_not_block() {
        let runtime = runtime().worker_threads(1).build().unwrap();
        let worker = runtime.spawn(async {
            // the worker has parked when the timer goes off
            tokio::time::sleep(Duration::from_millis(1)).await;
            may_block()
        });
        assert_eq!(runtime.block_on(worker).unwrap(), !cfg!(debug_assertions));
        assert!(runtime.block_on(async { may_block() }), "the thread that waits for the runtime");
        let blocking = runtime.spawn_blocking(may_block);
        assert!(runtime.block_on(blocking).unwrap());
    }

    #[test]
    fn idle_stage_gathers_messages() {
        let mut gathering = Gathering::new(Threading::Threads);
        let mut pauses = |messages: u32| (1..=messages).any(|n| gathering.is_due(n == messages));
        assert!(pauses(1) && pauses(MAX_IDLE_MESSAGES), "each time the queue is empty");
        assert!(!pauses(MAX_IDLE_MESSAGES + 1), "the stage is busy");
        assert!(pauses(MAX_IDLE_MESSAGES), "earlier messages do not count");
        let (began, pauses) = (Instant::now(), 3);
        (0..pauses).for_each(|_| Gathering::new(Threading::Threads).handled(true));
        assert!(began.elapsed() >= pauses * GATHER);
    }

    #[test]
    fn timers_fire_beside_an_always_ready_task() {
        let runtime = runtime().worker_threads(1).build().unwrap();
        let busy = runtime.spawn(async {
            loop {
                let until = Instant::now() + Duration::from_millis(50);
                while Instant::now() < until {
                    std::hint::spin_loop();
                }
                tokio::task::yield_now().await;
            }
        });
        let began = Instant::now();
        runtime.block_on(async { tokio::time::sleep(Duration::from_millis(10)).await });
        assert!(began.elapsed() < Duration::from_millis(1_500), "{:?}", began.elapsed());
        busy.abort();
    }
}
