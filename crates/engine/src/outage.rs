//! Lack of a resource of this machine: file descriptors, memory, a name resolver. No host is blamed for it. All
//! requests pause, and the run ends if the lack lasts for too long.

use crate::{descriptors, stage_error::StageError};
use crawl_fetch::{FetchError, LocalResource};
use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::time::Instant;

/// First and longest pause; each pause is twice the previous one.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), LONGEST_PAUSE);
/// The longest pause of all requests.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Minimum time between two warnings.
const WARNING: Duration = Duration::from_secs(60);
/// Time without an error after a pause, after which the outage has ended.
const OVER: Duration = Duration::from_secs(120);

/// The present outage of a run. An answer of any host ends it.
pub struct Outage {
    patience: Duration,
    is_on: AtomicBool,
    interruption: Mutex<Option<Interruption>>,
    warned: Mutex<Option<Instant>>,
}

#[derive(Clone, Copy)]
struct Interruption {
    since: Instant,
    /// The last pause.
    pause: Duration,
    until: Instant,
}

impl Outage {
    /// Creates the state without an outage. An outage of `patience` ends the run.
    #[must_use]
    pub fn new(patience: Duration) -> Self {
        Self {
            patience,
            is_on: AtomicBool::new(false),
            interruption: Mutex::default(),
            warned: Mutex::default(),
        }
    }

    /// Ends the outage after an answer of a host.
    pub fn answered(&self) {
        if self.is_on.swap(false, Relaxed) {
            *self.interruption.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    /// Handles a request that failed on this machine. Returns the pause for all requests.
    ///
    /// # Errors
    /// [`StageError::Outage`] when the outage lasts for too long.
    pub fn on_error(&self, error: &FetchError) -> Result<Duration, StageError> {
        self.on_error_at(error, Instant::now())
    }

    fn on_error_at(&self, error: &FetchError, now: Instant) -> Result<Duration, StageError> {
        self.warn(error, now);
        let mut interruption = self.interruption.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_on.store(true, Relaxed);
        let known = interruption.filter(|known| now < known.until + OVER);
        let next = match known {
            // requests before the end of the pause fail together
            Some(known) if now < known.until => known,
            Some(Interruption { since, pause, .. }) => {
                let lasting = now - since;
                if lasting >= self.patience {
                    return Err(StageError::Outage { lasting, words: words(error) });
                }
                let pause = pause.saturating_mul(2).min(PAUSES.1);
                Interruption { since, pause, until: now + pause }
            }
            None => Interruption { since: now, pause: PAUSES.0, until: now + PAUSES.0 },
        };
        *interruption = Some(next);
        Ok(next.until - now)
    }

    fn warn(&self, error: &FetchError, now: Instant) {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.is_none_or(|at| now - at >= WARNING) {
            *warned = Some(now);
            tracing::warn!("{}: requests pause, and no host is blamed for it", words(error));
        }
    }
}

fn words(error: &FetchError) -> String {
    let limit = match error {
        FetchError::Local { resource: LocalResource::Descriptors, .. } => {
            format!(" of {}", descriptors::limit())
        }
        _ => String::new(),
    };
    format!("{error}{limit}; {}", error.hint())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error() -> FetchError {
        FetchError::Local { resource: LocalResource::Resolver, reason: "try again".into() }
    }

    #[test]
    fn outage_pauses_grow_until_the_run_ends() {
        let outage = Outage::new(Duration::from_secs(600));
        let (began, mut pauses) = (Instant::now(), Vec::new());
        let mut now = began;
        let lasting = loop {
            match outage.on_error_at(&error(), now) {
                Ok(pause) => {
                    let again = outage.on_error_at(&error(), now).unwrap();
                    assert_eq!(again, pause, "requests that fail together are one trouble");
                    pauses.push(pause);
                    now += pause;
                }
                Err(StageError::Outage { lasting, .. }) => break lasting,
                Err(error) => panic!("{error}"),
            }
        };
        assert_eq!(lasting, now - began);
        assert!(lasting >= Duration::from_secs(600) && lasting <= Duration::from_secs(630), "{lasting:?}");
        assert_eq!((pauses[0], pauses[1], *pauses.last().unwrap()), (PAUSES.0, PAUSES.0 * 2, PAUSES.1));
    }

    #[test]
    fn answer_or_quiet_time_ends_an_outage() {
        let outage = Outage::new(Duration::from_secs(600));
        let mut now = Instant::now();
        for _ in 0..2_000 {
            let pause = outage.on_error_at(&error(), now).unwrap();
            assert_eq!(pause, PAUSES.0);
            now += pause;
            outage.answered();
        }
        assert_eq!(outage.on_error_at(&error(), now).unwrap(), PAUSES.0);
        now += Duration::from_secs(3_600);
        assert_eq!(outage.on_error_at(&error(), now).unwrap(), PAUSES.0);
    }
}
