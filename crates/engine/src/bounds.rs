//! Limits at which a run stops: records, time, bytes.

use crate::{config::CrawlSection, stats::Stats};
use std::fmt;

/// A bound of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// `crawl.limit`, in records. Pages that may still become one count, so that none too many is fetched.
    Records,
    /// `crawl.max_time`, since the start of the run, of whichever worker began it.
    Time,
    /// `crawl.max_bytes`: bodies as they came over the wire.
    Bytes,
}

impl Bound {
    /// Returns the first bound that a run has reached. URLs in flight are still finished.
    #[must_use]
    pub fn reached(settings: &CrawlSection, stats: &Stats) -> Option<Self> {
        let time = settings.max_time.is_some_and(|most| stats.age_of_run() >= most);
        let bytes = settings.max_bytes.is_some_and(|most| stats.session_bytes() >= most.as_u64());
        match () {
            () if !settings.limit.allows(stats.claimed()) => Some(Self::Records),
            () if time => Some(Self::Time),
            () if bytes => Some(Self::Bytes),
            () => None,
        }
    }
}

impl fmt::Display for Bound {
    /// The flag that sets it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Records => "--limit",
            Self::Time => "--max-time",
            Self::Bytes => "--max-bytes",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::Instant;

    #[test]
    fn each_limit_is_reached_by_its_own_counter() {
        let settings = |keys: &[(&'static str, &str)]| {
            let keys = keys.iter().map(|(key, value)| crate::config::Override {
                flag: "test",
                key,
                value: toml::Value::from(*value),
            });
            crate::config::load(None, std::iter::empty(), keys.collect()).unwrap().crawl
        };
        let mut stats = Stats::default();
        assert_eq!(Bound::reached(&settings(&[]), &stats), None);
        stats.wire_bytes.add(1024);
        let bytes = |most| settings(&[("crawl.max_bytes", most)]);
        assert_eq!(Bound::reached(&bytes("1 KiB"), &stats), Some(Bound::Bytes));
        assert_eq!(Bound::reached(&bytes("1025 B"), &stats), None);
        stats.session_started = Instant::now().checked_sub(Duration::from_secs(60)).unwrap();
        let time = |most| settings(&[("crawl.max_time", most)]);
        assert_eq!(Bound::reached(&time("1m"), &stats), Some(Bound::Time));
        assert_eq!(Bound::reached(&time("1h"), &stats), None);
        stats.run_age = Duration::from_secs(3_600);
        assert_eq!(Bound::reached(&time("1h"), &stats), Some(Bound::Time));
    }
}
