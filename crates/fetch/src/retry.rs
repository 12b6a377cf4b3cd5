//! Retries of failed requests.

use crate::FetchError;
use std::time::Duration;

/// Decision on another attempt after a failed one.
#[derive(Clone, Copy, Debug)]
pub struct RetryPolicy {
    /// Attempts after the first one.
    pub retries: u32,
    /// Pause before the second attempt; doubled for each later one.
    pub backoff: Duration,
    /// The longest pause.
    pub max_backoff: Duration,
}

/// Cause of a failed attempt.
#[derive(Clone, Copy, Debug)]
pub enum RetryCause<'a> {
    /// A failed request.
    Request {
        /// Its error.
        error: &'a FetchError,
        /// The pause that the response asks for.
        retry_after: Option<Duration>,
    },
    /// A page that the browser did not complete in time.
    RenderTimeout,
    /// An attempt without an outcome of its own: a lost browser, no slot in time, an unreachable robots.txt.
    NoOutcome,
}

impl RetryPolicy {
    /// Pause after `attempts` failed attempts, the last one with this cause. `None` ends the attempts.
    ///
    /// Only transient errors of requests are retried. `Retry-After` is obeyed up to the longest pause. A timeout
    /// is retried once, since each attempt holds a slot of the host for the full limit.
    #[must_use]
    pub fn decide(&self, attempts: u32, cause: RetryCause<'_>) -> Option<Duration> {
        let (retry_after, timed_out) = match cause {
            RetryCause::Request { error, .. } if !error.is_transient() => return None,
            RetryCause::Request { error, retry_after } => (retry_after, error.is_timeout()),
            RetryCause::RenderTimeout => (None, true),
            RetryCause::NoOutcome => (None, false),
        };
        let retries = if timed_out { self.retries.min(1) } else { self.retries };
        if attempts > retries {
            return None;
        }
        let doubled =
            self.backoff.saturating_mul(1_u32.checked_shl(attempts.saturating_sub(1)).unwrap_or(u32::MAX));
        Some(doubled.max(retry_after.unwrap_or_default()).min(self.max_backoff))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: RetryPolicy =
        RetryPolicy { retries: 4, backoff: Duration::from_secs(2), max_backoff: Duration::from_secs(10) };

    fn seconds(attempts: u32, cause: RetryCause<'_>) -> Option<u64> {
        SETTINGS.decide(attempts, cause).map(|pause| pause.as_secs())
    }

    #[test]
    fn backoff_doubles_up_to_its_limit_and_retries_end() {
        let pauses: Vec<_> = (1..=5).map(|n| seconds(n, RetryCause::NoOutcome)).collect();
        assert_eq!(pauses, [Some(2), Some(4), Some(8), Some(10), None]);
        let endless = RetryPolicy { retries: u32::MAX, ..SETTINGS };
        assert_eq!(endless.decide(u32::MAX, RetryCause::NoOutcome), Some(SETTINGS.max_backoff));
    }

    #[test]
    fn retry_delay_depends_on_the_cause() {
        let busy = FetchError::Status(503);
        let after =
            |seconds| RetryCause::Request { error: &busy, retry_after: Some(Duration::from_secs(seconds)) };
        assert_eq!([seconds(1, after(5)), seconds(1, after(99_999))], [Some(5), Some(10)]);
        let gone = RetryCause::Request { error: &FetchError::Status(404), retry_after: None };
        assert_eq!(seconds(1, gone), None, "it is no transient error");
        let late = RetryCause::RenderTimeout;
        assert_eq!([seconds(1, late), seconds(2, late)], [Some(2), None]);
    }
}
