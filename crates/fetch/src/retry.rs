//! Retries of failed requests.

use std::time::Duration;

/// Settings of retries.
#[derive(Clone, Copy, Debug)]
pub struct RetrySettings {
    /// Tries after the first one.
    pub retries: u32,
    /// Pause before the second attempt; doubled for each later one.
    pub backoff: Duration,
    /// The longest pause.
    pub max_backoff: Duration,
}

impl RetrySettings {
    /// Pause after `attempt` failed attempts (1 for the first), or `None` if no attempt is left.
    /// `Retry-After` is obeyed up to the longest pause. A timeout is retried once only, since each attempt
    /// holds a slot of the host for the full limit.
    #[must_use]
    pub fn pause(&self, attempt: u32, retry_after: Option<Duration>, timed_out: bool) -> Option<Duration> {
        let retries = if timed_out { self.retries.min(1) } else { self.retries };
        if attempt > retries {
            return None;
        }
        let doubled =
            self.backoff.saturating_mul(1_u32.checked_shl(attempt.saturating_sub(1)).unwrap_or(u32::MAX));
        Some(doubled.max(retry_after.unwrap_or_default()).min(self.max_backoff))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_tries_run_out() {
        let settings = RetrySettings {
            retries: 4,
            backoff: Duration::from_secs(2),
            max_backoff: Duration::from_secs(10),
        };
        let pauses: Vec<_> = (1..=5).map(|n| settings.pause(n, None, false).map(|p| p.as_secs())).collect();
        assert_eq!(pauses, [Some(2), Some(4), Some(8), Some(10), None]);
        assert_eq!(settings.pause(1, Some(Duration::from_secs(5)), false), Some(Duration::from_secs(5)));
        assert_eq!(
            settings.pause(1, Some(Duration::from_secs(99_999)), false),
            Some(Duration::from_secs(10))
        );
        assert_eq!(settings.pause(1, None, true), Some(Duration::from_secs(2)));
        assert_eq!(settings.pause(2, None, true), None);
        let endless = RetrySettings { retries: u32::MAX, ..settings };
        assert_eq!(endless.pause(u32::MAX, None, false), Some(Duration::from_secs(10)));
    }
}
