//! Metrics of a run for Prometheus: over HTTP, or in a file for the textfile collector of the node exporter.
//! Both show the same counters as the summary.

mod families;

use crate::{accept, visitors::Limits};
use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use crawl_engine::{
    config::MetricsSection,
    context::Context,
    exit::{Exit, Failure},
};
use crawl_output::{absolute, replace};
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{net::TcpListener, sync::Mutex, task::JoinSet, time::Instant};
use tokio_util::sync::CancellationToken;

/// Pause between two versions of the file: collectors are seldom asked more often.
const REWRITE: Duration = Duration::from_secs(15);
/// Age of counts that are shown again: many questions do not cost the crawl its time.
const FRESH: Duration = Duration::from_millis(200);
/// Bounds of connections: collectors ask seldom and read at once.
const LIMITS: Limits = Limits { connections: 16, timeout: Duration::from_secs(10) };

/// Endpoint and file of the counts during a run.
pub struct Metrics {
    listener: Option<TcpListener>,
    file: Option<PathBuf>,
}

impl Metrics {
    /// Takes the address and tries the file, so that a run with unusable metrics does not begin.
    ///
    /// # Errors
    /// When the address is taken or the file cannot be written.
    pub async fn open(settings: &MetricsSection) -> Result<Self, Failure> {
        let listener = match &settings.listen {
            Some(address) => Some(
                TcpListener::bind(address)
                    .await
                    .map_err(|e| Failure::usage(format!("metrics.listen: {address}: {e}")))?,
            ),
            None => None,
        };
        let file = Some(settings.textfile.as_str()).filter(|path| !path.is_empty());
        let file = file.map(|path| absolute(Path::new(path)));
        if let Some(path) = &file {
            replace(path, b"").map_err(|e| {
                Failure::new(Exit::Storage, format!("metrics.textfile: {}: {e}", path.display()))
            })?;
        }
        Ok(Self { listener, file })
    }

    /// Returns the address of the counts, if there is one, with the real port if any port was requested.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.listener.as_ref().and_then(|listener| listener.local_addr().ok())
    }

    /// Shows the counts until the run ends, and for a while longer unless the run is interrupted. A client that polls
    /// at intervals would otherwise miss the last counts. The file keeps them.
    pub async fn show(self, context: Arc<Context>, done: CancellationToken) {
        let (mut tasks, closing) = (JoinSet::new(), CancellationToken::new());
        let listens = self.listener.is_some();
        if let Some(listener) = self.listener {
            let shown = Arc::new(Shown { context: Arc::clone(&context), last: Mutex::default() });
            let router = Router::new().route("/metrics", get(answer)).with_state(shown);
            tasks.spawn(accept::serve(listener, router, LIMITS, closing.clone()));
        }
        if let Some(path) = self.file {
            tasks.spawn(rewrite(path, Arc::clone(&context), done.clone()));
        }
        done.cancelled().await;
        if listens {
            tokio::select! {
                () = tokio::time::sleep(context.config.metrics.linger) => {}
                () = context.control.cancel.cancelled() => {}
            }
        }
        closing.cancel();
        while tasks.join_next().await.is_some() {}
    }
}

async fn rewrite(path: PathBuf, context: Arc<Context>, done: CancellationToken) {
    loop {
        let last = tokio::select! {
            () = done.cancelled() => true,
            () = tokio::time::sleep(REWRITE) => false,
        };
        if let Err(error) = write(&path, &context).await {
            // a run does not fail for its metrics
            tracing::warn!(path = %path.display(), %error, "the metrics cannot be written");
        }
        if last {
            return;
        }
    }
}

/// Replaces the file by the present counts.
async fn write(path: &Path, context: &Arc<Context>) -> anyhow::Result<()> {
    let (text, path) = (families::text(context).await?, path.to_owned());
    let written = context.in_storage(move |_| Ok(replace(&path, text.as_bytes()))).await?;
    Ok(written?)
}

/// The counts that were shown last.
struct Shown {
    context: Arc<Context>,
    last: Mutex<Option<(Instant, Bytes)>>,
}

impl Shown {
    /// The counts, which are at most [`FRESH`] old.
    async fn text(&self) -> anyhow::Result<Bytes> {
        let mut last = self.last.lock().await;
        match &*last {
            Some((since, text)) if since.elapsed() < FRESH => Ok(text.clone()),
            _ => {
                let text = Bytes::from(families::text(&self.context).await?);
                *last = Some((Instant::now(), text.clone()));
                Ok(text)
            }
        }
    }
}

async fn answer(State(shown): State<Arc<Shown>>) -> Response {
    match shown.text().await {
        Ok(text) => ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
