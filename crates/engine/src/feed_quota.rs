//! Quota of feeds per host (`crawl.feeds`).

use crate::config::Limit;
use crawl_model::{HostKey, UrlKey};
use rustc_hash::FxHashMap;
use std::sync::{Mutex, PoisonError};

/// Maximum hosts whose feeds are counted. Beyond that the counts start again from zero.
const MAX_HOSTS: usize = 50_000;

/// Feeds of each host that the run has taken, with their limit. A site may have a feed for each of its pages.
pub struct FeedQuota {
    limit: Limit,
    taken: Mutex<FxHashMap<HostKey, Vec<UrlKey>>>,
}

impl FeedQuota {
    /// A quota without taken feeds, with a limit per host.
    #[must_use]
    pub fn new(limit: Limit) -> Self {
        Self { limit, taken: Mutex::default() }
    }

    /// Counts a feed. Returns true if it is within the limit of its host.
    pub fn takes(&self, host: &HostKey, feed: UrlKey) -> bool {
        // the frontier knows which URLs it has
        let Some(limit) = self.limit.0 else { return true };
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.len() >= MAX_HOSTS && !taken.contains_key(host) {
            taken.clear();
        }
        let feeds = taken.entry(host.clone()).or_default();
        if feeds.contains(&feed) || feeds.len() as u64 >= limit {
            return false;
        }
        feeds.push(feed);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feeds_are_limited_per_host() {
        let quota = FeedQuota::new(Limit(Some(2)));
        let takes = |host: &str, feed: &str| quota.takes(&HostKey::from_stored(host), UrlKey::of(feed));
        assert!(takes("a", "1") && takes("a", "2") && !takes("a", "3"));
        assert!(!takes("a", "1"), "it is in the frontier");
        assert!(takes("b", "3"));
        let quota = FeedQuota::new(Limit(None));
        assert!((0..99).all(|n| quota.takes(&HostKey::from_stored("a"), UrlKey::of(&n.to_string()))));
    }
}
