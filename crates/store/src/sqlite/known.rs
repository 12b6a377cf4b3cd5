//! A cache of URLs that are known in this round: of a page's hundred links most are the menu that the page before it
//! had too, and need not be looked up again.

use crawl_model::UrlKey;

/// Slots that a key can stand in.
const WAYS: usize = 4;

/// Sets of slots; with 20 bytes a slot the cache takes 2.5 MiB at most, touched as it fills.
const SETS: usize = 1 << 15;

#[derive(Clone, Copy, Default)]
struct Slot {
    key: [u8; 16],
    /// One more than the depth; 0 is an empty slot.
    depth: u32,
}

/// Set-associative, exact: the whole key is compared, so nothing new is ever taken for known.
pub(super) struct KnownUrls {
    slots: Vec<Slot>,
    /// The way that is overwritten next, in whatever set is full.
    victim: usize,
}

impl KnownUrls {
    pub(super) fn new() -> Self {
        Self { slots: vec![Slot::default(); SETS * WAYS], victim: 0 }
    }

    /// The URL is known and this path to it is not shorter than any before.
    pub(super) fn covers(&self, key: &UrlKey, depth: u32) -> bool {
        let set = set_of(key);
        self.slots[set..set + WAYS]
            .iter()
            .any(|slot| slot.depth != 0 && slot.key == key.0 && slot.depth - 1 <= depth)
    }

    /// Notes a URL with the least depth that is known of it, or 0 when the depth no longer matters.
    pub(super) fn note(&mut self, key: &UrlKey, depth: u32) {
        let set = set_of(key);
        let ways = &mut self.slots[set..set + WAYS];
        let place = ways.iter().position(|s| s.depth != 0 && s.key == key.0);
        let way = place.or_else(|| ways.iter().position(|s| s.depth == 0)).unwrap_or_else(|| {
            self.victim = (self.victim + 1) % WAYS;
            self.victim
        });
        ways[way] = Slot { key: key.0, depth: depth.saturating_add(1) };
    }
}

/// First slot of a key's set. Keys are heads of SHA-256, so any of their bits do.
fn set_of(key: &UrlKey) -> usize {
    (usize::from(key.0[0]) | usize::from(key.0[1]) << 8) % SETS * WAYS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shorter_path_is_not_covered() {
        let mut known = KnownUrls::new();
        let key = UrlKey::of("https://example.org/");
        assert!(!known.covers(&key, 9));
        known.note(&key, 3);
        assert!(known.covers(&key, 3) && known.covers(&key, 4) && !known.covers(&key, 2));
        known.note(&key, 2);
        assert!(known.covers(&key, 2));
    }

    #[test]
    fn a_full_set_forgets_and_never_confuses() {
        let mut known = KnownUrls::new();
        let key = |n: u8| UrlKey([7, 7, n, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        for n in 0..10 {
            known.note(&key(n), 0);
            assert!(known.covers(&key(n), 0), "the newest is kept");
        }
        assert_eq!((0..=255).filter(|&n| known.covers(&key(n), 0)).count(), WAYS);
    }
}
