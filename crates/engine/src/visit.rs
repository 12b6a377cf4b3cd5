//! Visit of one page by the whole pipeline: a crawl of a single seed without links. So robots.txt, politeness, the
//! address policy, opt-outs and redirects work as in a crawl.

use crate::{
    config::{Config, Limit},
    duplicates,
    exit::Failure,
    hints, pipeline,
    session::{context, enqueue_seeds},
    stage_error::StageError,
};
use crawl_fetch::{Gate, Seed};
use crawl_model::{Frontier, Record, RunStore, Store, StoreError};
use crawl_output::{LineRecords, Output, OutputError};
use crawl_projects::ProjectWriter;
use crawl_store::MemoryStore;
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex as StdMutex, PoisonError},
    time::Duration,
};
use tokio::{
    sync::Mutex,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;
use url::Url;

/// Share of a visit's time for the browser. The rest is for returning the page without it.
const BROWSER_SHARE: f64 = 0.9;
/// Visits after which the shared store is replaced. It grows by a few bytes per URL and has the robots.txt of
/// origins.
const VISITS_PER_STORE: u32 = 1_000;
/// Idle time after which the politeness gate evicts a host at that time. A visit is too short for the interval of a
/// crawl.
const HOST_IDLE_TIME: Duration = Duration::from_secs(600);

/// Error of a visit.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VisitError {
    /// The page was left out, or could not be fetched.
    #[error("{0}")]
    NoPage(String),
    /// The visit took too long.
    #[error("no answer within {0:?}")]
    TooLong(Duration),
    /// The caller has ended the visit.
    #[error("the visit was cancelled")]
    Cancelled,
    /// A setting cannot be used, or this machine failed.
    #[error("{0}")]
    Failed(String),
}

impl From<Failure> for VisitError {
    fn from(failure: Failure) -> Self {
        Self::Failed(format!("{:#}", failure.error))
    }
}

impl From<StoreError> for VisitError {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Visits pages, one at a time. The politeness of a crawl applies across visits.
pub struct Visitor {
    config: Config,
    patience: Duration,
    kept: Mutex<VisitState>,
}

/// State that visits share.
struct VisitState {
    store: Arc<MemoryStore>,
    gate: Option<Gate>,
    visits: u32,
}

impl VisitState {
    /// Counts a visit. Drops the state of earlier ones every [`VISITS_PER_STORE`] visits.
    fn begin_visit(&mut self) {
        if self.visits >= VISITS_PER_STORE {
            (self.store, self.visits) = (Arc::default(), 0);
            if let Some(gate) = &self.gate {
                gate.evict_idle(HOST_IDLE_TIME);
            }
        }
        self.visits += 1;
    }
}

impl Visitor {
    /// Creates a visitor with the settings of a crawl. It always obeys robots.txt, since its caller is a program. A
    /// visit takes at most `patience`; a page that the browser has not completed by then is returned as fetched.
    #[must_use]
    pub fn new(mut config: Config, patience: Duration) -> Self {
        let crawl = &mut config.crawl;
        (crawl.depth, crawl.limit, crawl.feeds) = (Limit(Some(0)), Limit(Some(1)), Limit(Some(0)));
        (crawl.sitemaps, crawl.soft404, crawl.obey_robots) = (false, false, true);
        // one page is no evidence of boilerplate
        config.dedup.enabled = false;
        // a requested page is returned even if it repeats another one
        config.near_duplicates.drop = false;
        config.extract.threads = 1;
        let kept = VisitState { store: Arc::default(), gate: None, visits: 0 };
        Self { config, patience, kept: Mutex::new(kept) }
    }

    /// Waits until no visit runs.
    pub async fn idle(&self) {
        drop(self.kept.lock().await);
    }

    /// Fetches and extracts a page, and saves it in a project if one is given.
    ///
    /// `stop` ends the visit, so that the next one can begin.
    ///
    /// # Errors
    /// When there is no page, with the reason and the remedy.
    pub async fn visit(
        &self,
        url: Url,
        writer: Option<ProjectWriter>,
        group: Option<&str>,
        stop: &CancellationToken,
    ) -> Result<Record, VisitError> {
        let mut kept = tokio::select! {
            kept = self.kept.lock() => kept,
            () = stop.cancelled() => return Err(VisitError::Cancelled),
        };
        kept.begin_visit();
        let store = Arc::clone(&kept.store);
        let mut context = context(self.config.clone(), Arc::clone(&store) as Arc<dyn Store>)?;
        context.network.gate = kept.gate.get_or_insert_with(|| context.network.gate.clone()).clone();
        context.records.project = writer;
        store.set_project(&self.config.crawl.project, group)?;
        store.expire_leases(i64::MAX)?;
        store.begin_round()?;
        let context = Arc::new(context);
        // the project of the writer is a database
        context.in_storage(|context| duplicates::open(context)).await?;
        enqueue_seeds(&context, &[Seed { url, bare: false }])?;

        let (records, errors) = (Lines::default(), Lines::default());
        let lines = LineRecords::new(Box::new(records.clone()), None);
        let run = pipeline::run(Arc::clone(&context), Box::new(lines), Box::new(errors.clone()));
        tokio::pin!(run);
        let start = Instant::now();
        let skip_render = &context.control.skip_render;
        let mut done = until(start + self.patience.mul_f64(BROWSER_SHARE), stop, &mut run).await;
        if done.is_none() && !stop.is_cancelled() {
            skip_render.cancel();
            done = until(start + self.patience, stop, &mut run).await;
        }
        let in_time = done.is_some();
        let outcome = match done {
            Some(outcome) => outcome,
            None => {
                // requests in flight are dropped; the later stages drain
                context.control.cancel.cancel();
                run.await
            }
        };
        outcome.map_err(|e: StageError| VisitError::Failed(e.to_string()))?;
        match records.first::<Record>() {
            Some(record) => record.map_err(VisitError::Failed),
            None if stop.is_cancelled() => Err(VisitError::Cancelled),
            None if !in_time => Err(VisitError::TooLong(self.patience)),
            None => Err(VisitError::NoPage(failure_text(&errors, &context.stats.kinds()))),
        }
    }
}

/// Waits for a run until `time` or `stop`. Returns `None` if it has not ended by then.
async fn until<T>(
    time: Instant,
    stop: &CancellationToken,
    run: &mut (impl Future<Output = T> + Unpin),
) -> Option<T> {
    tokio::select! {
        done = run => Some(done),
        () = stop.cancelled() => None,
        () = sleep_until(time) => None,
    }
}

/// Kinds of errors whose hint is [`ROBOTS_HINT`].
const ROBOTS_KINDS: [&str; 3] = ["robots_disallowed", "robots_unreachable", "crawl_delay"];
const ROBOTS_HINT: &str =
    "robots.txt holds for single pages; only a crawl, of a site of your own, takes --ignore-robots";

/// Flags of a crawl that a visit lacks, with the settings that replace them.
const AS_SETTINGS: [(&str, &str); 6] = [
    ("--contact", "fetch.contact"),
    ("--delay", "politeness.delay"),
    ("--proxy", "fetch.proxy"),
    ("--cookies", "fetch.cookies"),
    ("--host-concurrency", "politeness.host_concurrency"),
    ("--strategy static", "fetch.strategy = \"static\""),
];

/// The hint of a kind of failure for a visit. It names settings instead of flags of a crawl.
#[must_use]
pub fn hint_for(kind: &str, hint: &str) -> String {
    if ROBOTS_KINDS.contains(&kind) {
        return ROBOTS_HINT.to_owned();
    }
    AS_SETTINGS.iter().fold(hint.to_owned(), |hint, (flag, setting)| hint.replace(flag, setting))
}

/// The reported fields of a line of the error log.
#[derive(Deserialize)]
struct ErrorSummary {
    kind: String,
    message: String,
    hint: String,
}

/// Describes why there is no record.
fn failure_text(errors: &Lines, kinds: &BTreeMap<&'static str, u64>) -> String {
    match errors.first::<ErrorSummary>() {
        Some(Ok(ErrorSummary { kind, message, hint })) => {
            format!("{kind}: {message} ({})", hint_for(&kind, &hint))
        }
        _ => {
            let reason = |kind: &&str| match hints::left_out(kind) {
                Some(reason) => format!("{kind}: {reason}"),
                None => (*kind).to_owned(),
            };
            let kinds: Vec<String> = kinds.keys().map(reason).collect();
            format!("the page was skipped: {}", kinds.join(", "))
        }
    }
}

/// Lines in memory.
#[derive(Clone, Default)]
struct Lines(Arc<StdMutex<Vec<u8>>>);

impl Lines {
    fn first<T: serde::de::DeserializeOwned>(&self) -> Option<Result<T, String>> {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let line = bytes.split(|byte| *byte == b'\n').find(|line| !line.is_empty())?;
        Some(serde_json::from_slice(line).map_err(|e| e.to_string()))
    }
}

impl Output for Lines {
    fn write(&mut self, lines: &[u8]) -> Result<(), OutputError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(lines);
        Ok(())
    }

    fn sync(&mut self) -> Result<Option<u64>, OutputError> {
        Ok(None)
    }

    fn name(&self) -> &'static str {
        "memory"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crawl_fetch::{PolitenessSettings, SlotOutcome};
    use crawl_model::HostKey;

    /// A server runs for months, and each of its visits may be to another host.
    #[tokio::test(start_paused = true)]
    async fn idle_hosts_are_forgotten_after_many_visits() {
        let gate = Gate::new(PolitenessSettings::default());
        let mut state = VisitState { store: Arc::default(), gate: Some(gate.clone()), visits: 0 };
        for number in 0..3 * VISITS_PER_STORE {
            state.begin_visit();
            let slot = gate.try_acquire(&HostKey::from_stored(format!("h{number}.test"))).ok().unwrap();
            slot.finish(SlotOutcome { status: Some(200), ..SlotOutcome::default() });
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert!(gate.hosts() <= 2 * VISITS_PER_STORE as usize, "{}", gate.hosts());
    }
}
