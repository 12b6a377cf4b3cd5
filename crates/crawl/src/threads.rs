//! Starting and joining stages, whether they are tasks or threads of their own.

use crate::{context::StageError, cpu::words_of};
use futures::FutureExt;
use std::{future::Future, io, panic::AssertUnwindSafe};
use tokio::{runtime::Handle, sync::oneshot, task::JoinSet};
use tokio_util::sync::CancellationToken;

/// Threads or tasks of the stages that compute or call into the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threading {
    /// On a thread of their own each.
    #[default]
    Threads,
    /// On the thread of the runtime, as tasks: for a simulation of a crawl on one thread.
    Inline,
}

/// The running stages.
pub struct Stages {
    running: JoinSet<Result<(), StageError>>,
    cancel: CancellationToken,
    threading: Threading,
}

impl Stages {
    /// None yet. An error of any stage cancels `cancel`.
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
        let inner = tokio::spawn(stage);
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
        let (tell, told) = oneshot::channel();
        let runtime = Handle::current();
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                let outcome =
                    runtime.block_on(AssertUnwindSafe(stage).catch_unwind()).unwrap_or_else(|panic| {
                        Err(StageError::Panicked { stage: name, words: words_of(&*panic) })
                    });
                let _ = tell.send(outcome);
            })
            .map_err(|source: io::Error| StageError::Output { name: format!("thread {name}"), source })?;
        self.running.spawn(async move { told.await.unwrap_or(Err(StageError::Downstream)) });
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
