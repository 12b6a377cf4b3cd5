//! Reconnection of a worker after its database was unreachable or its hosts went to another worker. The attempt
//! begins as a restarted process does: with what was settled.

use crate::place::Place;
use crawl_engine::{
    config::Config,
    exit::{Exit, Failure},
    stage_error::StageError,
    state::State,
};
use crawl_model::StoreError;
use crawl_output::OutputError;
use crawl_server::metrics::Metrics;
use std::time::Duration;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

/// The first pause before another attempt; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// Time after which an attempt counts as successful.
const SUCCESS_AFTER: Duration = Duration::from_secs(60);

/// Returns true if the same command may succeed later.
pub fn may_succeed_later(failure: &Failure) -> bool {
    failure.error.downcast_ref::<StoreError>().is_some_and(passes)
}

/// Returns true if a shared crawl continues after the error of a stage.
pub fn is_passing_error(error: &StageError) -> bool {
    let (StageError::Store(error) | StageError::Output(OutputError::Store(error))) = error else {
        return false;
    };
    passes(error)
}

const fn passes(error: &StoreError) -> bool {
    matches!(error, StoreError::Full(_) | StoreError::Unavailable(_) | StoreError::Busy(_))
}

/// Attempts that are left.
pub struct Patience {
    /// Longest time without an attempt that went well.
    limit: Duration,
    pause: Duration,
    began: Instant,
    /// Begin of the attempts that failed one after the other.
    failing_since: Option<Instant>,
    /// True once the current outage was reported.
    is_reported: bool,
}

impl Patience {
    pub fn new(limit: Duration) -> Self {
        Self { limit, pause: FIRST_PAUSE, began: Instant::now(), failing_since: None, is_reported: false }
    }

    /// Opens the crawl again, as soon as that is possible and unless `stop` is cancelled.
    ///
    /// # Errors
    /// The last failure once the patience is over, a failure that does not pass, and an interruption.
    pub async fn reopen(
        &mut self,
        place: &mut Place,
        config: &Config,
        mut failure: Failure,
        stop: &CancellationToken,
    ) -> Result<(State, Metrics), Failure> {
        if self.began.elapsed() > SUCCESS_AFTER {
            (self.pause, self.failing_since) = (FIRST_PAUSE, None);
        }
        let stopped =
            |failure: &Failure| Failure::new(Exit::Interrupted, format!("stopped while {:#}", failure.error));
        loop {
            if stop.is_cancelled() {
                return Err(stopped(&failure));
            }
            let since = *self.failing_since.get_or_insert_with(Instant::now);
            if since.elapsed() > self.limit {
                return Err(failure);
            }
            match failure.error.downcast_ref::<StoreError>() {
                Some(StoreError::Busy(words)) => {
                    tracing::warn!("{words}; this worker continues in {:?}", self.pause);
                }
                // the whole message once, and the cause alone after that
                Some(error) if self.is_reported => {
                    tracing::warn!("{error}; next attempt in {:?}", self.pause);
                }
                _ => {
                    self.is_reported = true;
                    tracing::warn!("{:#}; next attempt in {:?}", failure.error, self.pause);
                }
            }
            if timeout(self.pause, stop.cancelled()).await.is_ok() {
                return Err(stopped(&failure));
            }
            self.pause = (self.pause * 2).min(LONGEST_PAUSE);
            self.began = Instant::now();
            match place.open(config, false) {
                Ok(state) => {
                    if std::mem::take(&mut self.is_reported) {
                        tracing::warn!("the database is reachable again: the crawl continues");
                    }
                    return Ok((state, Metrics::open(&config.metrics).await?));
                }
                Err(next) if may_succeed_later(&next) => failure = next,
                Err(next) => return Err(next),
            }
        }
    }
}
