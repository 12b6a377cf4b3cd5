//! Feeds of each host that the run reads, up to `crawl.feeds`.

use crate::config::Limit;
use crawl_model::{HostKey, UrlKey};
use rustc_hash::FxHashMap;
use std::sync::{Mutex, PoisonError};

/// Maximum hosts whose feeds are counted. Beyond that the counts start again from zero.
const MAX_HOSTS: usize = 50_000;

/// The feeds of each host that were taken. A site with a feed for each of its pages is not asked for all of
/// them.
pub struct FeedBook {
    limit: Limit,
    taken: Mutex<FxHashMap<HostKey, Vec<UrlKey>>>,
}

impl FeedBook {
    /// An empty book with a limit of feeds per host.
    #[must_use]
    pub fn new(limit: Limit) -> Self {
        Self { limit, taken: Mutex::default() }
    }

    /// Returns true if the feed is one of the first of its host that are named, and takes it if there is
    /// room.
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
        let book = FeedBook::new(Limit(Some(2)));
        let takes = |host: &str, feed: &str| book.takes(&HostKey::from_stored(host), UrlKey::of(feed));
        assert!(takes("a", "1") && takes("a", "2") && !takes("a", "3"));
        assert!(!takes("a", "1"), "it is in the frontier");
        assert!(takes("b", "3"));
        let book = FeedBook::new(Limit(None));
        assert!((0..99).all(|n| book.takes(&HostKey::from_stored("a"), UrlKey::of(&n.to_string()))));
    }
}
