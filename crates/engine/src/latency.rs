//! Histogram of response times with doubling buckets, small enough for one per host.

/// Buckets: up to 1 ms, 2 ms, 4 ms, … 2^17 ms (two minutes); what took longer is in the last one.
pub const BUCKETS: usize = 18;

/// Times of answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    counts: [u64; BUCKETS],
    total_ms: u64,
}

impl Latency {
    /// Counts the duration of an answer.
    pub fn observe(&mut self, millis: u32) {
        let bucket = (u32::BITS - millis.saturating_sub(1).leading_zeros()) as usize;
        let bucket = if millis <= 1 { 0 } else { bucket.min(BUCKETS - 1) };
        if let Some(count) = self.counts.get_mut(bucket) {
            *count += 1;
        }
        self.total_ms += u64::from(millis);
    }

    /// Answers counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Sum of their milliseconds.
    #[must_use]
    pub const fn total_ms(&self) -> u64 {
        self.total_ms
    }

    /// The mean in milliseconds; 0 before the first answer.
    #[must_use]
    pub fn mean_ms(&self) -> u64 {
        self.total_ms / self.count().max(1)
    }

    /// Upper bound in milliseconds of a share `q` (0 to 1) of the answers, rounded up to the next power of
    /// two. It is 0 before the first answer.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a count is a count"
    )]
    pub fn quantile_ms(&self, q: f64) -> u64 {
        let wanted = (self.count() as f64 * q).ceil() as u64;
        self.cumulative().find(|(_, count)| *count >= wanted.max(1)).map_or(0, |(bound, _)| bound)
    }

    /// Returns the upper bound of each bucket in milliseconds, and the answers that took no longer.
    pub fn cumulative(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut sum = 0;
        self.counts.iter().enumerate().map(move |(bucket, count)| {
            sum += count;
            (1 << bucket, sum)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latency_bucket_ends_at_or_above_the_value() {
        for (millis, bound) in
            [(0, 1), (1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (1_000, 1_024), (u32::MAX, 131_072)]
        {
            let mut latency = Latency::default();
            latency.observe(millis);
            assert_eq!(latency.quantile_ms(1.0), bound, "{millis} ms");
            assert_eq!((latency.count(), latency.total_ms()), (1, u64::from(millis)));
        }
    }

    #[test]
    fn quantiles_and_mean_come_from_buckets() {
        let mut latency = Latency::default();
        assert_eq!((latency.quantile_ms(0.5), latency.mean_ms()), (0, 0));
        for millis in [10, 10, 10, 900] {
            latency.observe(millis);
        }
        assert_eq!((latency.quantile_ms(0.5), latency.quantile_ms(0.95)), (16, 1_024));
        assert_eq!(latency.mean_ms(), 232);
        assert_eq!(latency.cumulative().last(), Some((131_072, 4)));
    }
}
