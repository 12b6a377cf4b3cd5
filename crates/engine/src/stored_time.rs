//! Stored times, checked against a clock that may have been changed since.
//!
//! A time from a clock in 2100 must delay nothing. A time from a clock some minutes ahead must have no effect. A stored
//! time may therefore be ahead of the clock by a day. A later one counts as unknown.

use std::time::Duration;

/// Milliseconds by which a stored time of the past may be ahead of the clock.
const TOLERANCE_MS: i64 = 86_400_000;

/// Stored time of a past event; `None` if the clock was wrong.
#[must_use]
pub const fn past(stored_ms: i64, now_ms: i64) -> Option<i64> {
    if stored_ms.saturating_sub(now_ms) > TOLERANCE_MS { None } else { Some(stored_ms) }
}

/// Remaining time until a stored time, which was written at most `longest` ahead. `None` if it has passed, or the
/// clock was wrong.
#[must_use]
pub fn left(stored_ms: i64, now_ms: i64, longest: Duration) -> Option<Duration> {
    let left = Duration::from_millis(u64::try_from(stored_ms.saturating_sub(now_ms)).ok()?);
    (left <= longest.saturating_add(Duration::from_millis(TOLERANCE_MS.unsigned_abs()))).then_some(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_times_too_far_ahead_are_unknown() {
        let (day, hour) = (86_400_000, Duration::from_secs(3_600));
        assert_eq!([past(-5, 0), past(day, 0), past(day + 1, 0)], [Some(-5), Some(day), None]);
        assert_eq!(past(i64::MAX, i64::MIN), None);
        assert_eq!(left(1_000, 0, hour), Some(Duration::from_secs(1)));
        assert_eq!([left(-1, 0, hour), left(3_600_000 + day + 1, 0, hour)], [None, None]);
    }
}
