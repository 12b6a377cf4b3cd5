//! The pipeline of a crawl: creates every channel, and starts and joins every stage. It has no other logic.
//!
//! ```text
//! frontier --lease--> scheduler --jobs--> fetch x N  --pages--> extract --shards--> dedup x S --finished--> sink
//!     ^                         --jobs--> render x T --pages-->
//!     enqueue, requeue, escalate, hold, settle: calls into the store, never a channel back
//! ```
//!
//! Plain requests and rendered pages are two lanes with their own permits. So a page that takes seconds does not
//! delay pages that take milliseconds. A page that needs another strategy returns to the frontier with its partial
//! result.
//!
//! All channels are bounded, and none leads back, so a full one can only slow down the stages before it. Memory is
//! bounded while the sink is blocked. Bodies: one for each of the N fetch workers and T tabs,
//! [`ChannelSizes::fetched`], and one for each extract thread while it parses. Pages without body: one for each
//! extract thread and each shard, [`ChannelSizes::extracted`] for each shard, [`ChannelSizes::cleaned`], and a batch
//! of the sink. Only the scheduler and requests in flight see the cancellation; the other stages end because their
//! senders are dropped.

#[cfg(doc)]
use crate::platform::ChannelSizes;
use crate::{
    context::Context,
    extract_stage, fetch_stage,
    scheduler::Scheduler,
    shard,
    sink::Sink,
    stage_error::StageError,
    threads::{self, Stages},
};
use crawl_model::Lane;
use crawl_output::{Output, RecordOutput};
use std::sync::Arc;
use tokio::sync::{Mutex, mpsc::channel};

/// Runs a crawl to its end. The reason of the end is in [`Control::ending`](crate::context::Control::ending).
///
/// # Errors
/// The first error of a stage; the others have drained then.
pub async fn run(
    context: Arc<Context>,
    records: Box<dyn RecordOutput>,
    errors: Box<dyn Output>,
) -> Result<(), StageError> {
    let (fetch, channels, shards) =
        (&context.config.fetch, context.compute.channels, context.config.dedup.shards);
    let (jobs, job_queue) = channel(fetch.concurrency);
    let (renders, render_queue) = channel(context.config.chrome.tabs);
    let (pages, page_queue) = channel(channels.fetched);
    let (shard_senders, shard_queues): (Vec<_>, Vec<_>) =
        (0..shards).map(|_| channel(channels.extracted)).unzip();
    let (finished, finished_queue) = channel(channels.cleaned);

    let mut stages = Stages::new(context.control.cancel.clone(), context.compute.threading);
    let scheduler = Scheduler::new(Arc::clone(&context), [jobs, renders], shard_senders.clone());
    stages.thread("scheduler", scheduler.run())?;

    let lanes = [
        (Lane::Plain, "fetch", fetch.concurrency, job_queue),
        (Lane::Browser, "render", context.config.chrome.tabs, render_queue),
    ];
    for (lane, name, workers, queue) in lanes {
        let queue = Arc::new(Mutex::new(queue));
        for _ in 0..workers {
            let worker = fetch_stage::worker(
                Arc::clone(&context),
                lane,
                Arc::clone(&queue),
                pages.clone(),
                finished.clone(),
            );
            stages.task(name, worker);
        }
    }
    drop(pages);

    stages.task(
        "extract",
        extract_stage::run(Arc::clone(&context), page_queue, shard_senders, finished.clone()),
    );

    for (index, queue) in shard_queues.into_iter().enumerate() {
        let (context, finished) = (Arc::clone(&context), finished.clone());
        stages.thread("dedup", shard::run(context, index, queue, finished))?;
    }
    drop(finished);

    let sink = Sink::new(context, records, errors);
    stages.thread("sink", sink.run(finished_queue))?;
    threads::join(stages).await
}
