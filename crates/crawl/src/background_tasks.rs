//! Tasks beside a session: signals, progress, metrics and samples.

use crate::{logging::say, progress, report::Samples, signals::StopRequest};
use crawl_engine::{config::LogFormat, context::Context};
use crawl_server::metrics::Metrics;
use std::sync::Arc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Tasks beside a session: a request to stop is passed on, progress and metrics are shown, samples taken.
pub struct BackgroundTasks {
    samples: JoinHandle<()>,
    stop: JoinHandle<()>,
    metrics: JoinHandle<()>,
    /// Cancelled once the exit code is known.
    ended: CancellationToken,
    progress: Option<JoinHandle<()>>,
    done: CancellationToken,
}

impl BackgroundTasks {
    pub fn start(
        context: &Arc<Context>,
        samples: &Arc<Samples>,
        stop: &StopRequest,
        (metrics, quiet): (Metrics, bool),
    ) -> Self {
        stop.listen();
        let (requested, cancel) = (stop.requested().clone(), context.control.cancel.clone());
        if let Some(address) = metrics.address().filter(|_| !quiet) {
            say(&format!("metrics at http://{address}/metrics"));
        }
        let (done, closed) = (CancellationToken::new(), CancellationToken::new());
        // a collector of JSON lines has no use for a line of progress
        let shows = !quiet && context.config.log.format == LogFormat::Text;
        let (sampled, counted, ended) = (Arc::clone(samples), Arc::clone(context), done.clone());
        Self {
            samples: tokio::spawn(async move { sampled.take(&counted.stats, ended).await }),
            stop: tokio::spawn(async move {
                requested.cancelled().await;
                cancel.cancel();
            }),
            metrics: tokio::spawn(metrics.show(Arc::clone(context), closed.clone())),
            progress: shows.then(|| tokio::spawn(progress::show(Arc::clone(context), done.clone()))),
            done,
            ended: closed,
        }
    }

    /// The run has ended: the line of progress is wiped before the summary is printed.
    pub async fn wipe(&mut self) {
        self.done.cancel();
        if let Some(progress) = self.progress.take() {
            let _ = progress.await;
        }
    }

    /// Waits for the tasks that show the last counts.
    pub async fn end(self) {
        self.ended.cancel();
        let _ = (self.samples.await, self.metrics.await);
        self.stop.abort();
    }
}
