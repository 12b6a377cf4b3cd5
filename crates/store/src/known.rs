//! Cache of the URLs known in this round. Most links of a page are also on the previous page and need no look-up.

use crawl_model::{Discovery, NewUrl, UrlKey};

/// Slots per set.
const SLOTS_PER_SET: usize = 4;

/// Number of sets; with 20 bytes per slot the cache takes 2.5 MiB at most, allocated as it fills.
const SETS: usize = 1 << 15;

/// Treatment of a resting URL.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Revisit {
    /// The URL keeps resting.
    No,
    /// The URL is pending in this round.
    Yes,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    key: [u8; 16],
    /// Depth plus one; 0 is an empty slot.
    depth: u32,
}

/// Set-associative, exact: the whole key is compared, so a new URL never counts as known.
pub(crate) struct KnownUrls {
    slots: Vec<Slot>,
    /// The slot to overwrite next, in any full set.
    victim: usize,
}

impl KnownUrls {
    pub(crate) fn new() -> Self {
        Self { slots: vec![Slot::default(); SETS * SLOTS_PER_SET], victim: 0 }
    }

    /// URLs that may change the store: unknown URLs, URLs with a shorter path, URLs of a sitemap, and all revisited
    /// URLs.
    pub(crate) fn not_covered<'u>(&self, urls: &'u [NewUrl], revisit: Revisit) -> Vec<&'u NewUrl> {
        let may_change = |url: &&NewUrl| {
            revisit == Revisit::Yes
                || url.sitemap_lastmod.is_some()
                || url.discovery == Discovery::SitemapFile
                || !self.covers(&url.key, url.depth)
        };
        urls.iter().filter(may_change).collect()
    }

    /// Returns true if the URL is known and this path to it is not shorter than any before.
    pub(crate) fn covers(&self, key: &UrlKey, depth: u32) -> bool {
        let set = set_of(key);
        self.slots[set..set + SLOTS_PER_SET]
            .iter()
            .any(|slot| slot.depth != 0 && slot.key == key.0 && slot.depth - 1 <= depth)
    }

    /// Stores a URL with its least known depth, or 0 when the depth no longer matters.
    pub(crate) fn note(&mut self, key: &UrlKey, depth: u32) {
        let set = set_of(key);
        let ways = &mut self.slots[set..set + SLOTS_PER_SET];
        let place = ways.iter().position(|s| s.depth != 0 && s.key == key.0);
        let way = place.or_else(|| ways.iter().position(|s| s.depth == 0)).unwrap_or_else(|| {
            self.victim = (self.victim + 1) % SLOTS_PER_SET;
            self.victim
        });
        ways[way] = Slot { key: key.0, depth: depth.saturating_add(1) };
    }
}

/// First slot of a key's set. Keys are prefixes of SHA-256, so any bits are uniform.
fn set_of(key: &UrlKey) -> usize {
    (usize::from(key.0[0]) | usize::from(key.0[1]) << 8) % SETS * SLOTS_PER_SET
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smaller_depth_is_not_covered() {
        let mut known = KnownUrls::new();
        let key = UrlKey::of("https://example.org/");
        assert!(!known.covers(&key, 9));
        known.note(&key, 3);
        assert!(known.covers(&key, 3) && known.covers(&key, 4) && !known.covers(&key, 2));
        known.note(&key, 2);
        assert!(known.covers(&key, 2));
    }

    #[test]
    fn full_cache_set_evicts_and_never_confuses_keys() {
        let mut known = KnownUrls::new();
        let key = |n: u8| UrlKey([7, 7, n, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        for n in 0..10 {
            known.note(&key(n), 0);
            assert!(known.covers(&key(n), 0), "the newest is kept");
        }
        assert_eq!((0..=255).filter(|&n| known.covers(&key(n), 0)).count(), SLOTS_PER_SET);
    }
}
