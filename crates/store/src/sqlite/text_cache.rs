//! Cache of texts and bands that many pages share. The oldest texts of a large family are read again for each
//! of its pages, and change rarely.

use crawl_model::KnownText;
use rustc_hash::FxHashMap;

/// Texts of a look-up that are worth keeping: fewer are read as fast as they are copied.
const FAMILY: usize = 8;

/// Maximum bytes of cached texts. Thirty families of pages with a thousand shingles fit.
const TEXT_BYTES: usize = 8 << 20;

/// Maximum number of cached bands, 2 MiB.
const BANDS: usize = 1 << 12;

/// Cached texts by place, and the oldest places of full bands: those with as many texts as a look-up reads.
#[derive(Default)]
pub(super) struct TextCache {
    /// Each with the round of its row.
    texts: FxHashMap<i64, (u32, KnownText)>,
    text_bytes: usize,
    bands: FxHashMap<i64, Box<[i64]>>,
}

impl TextCache {
    /// A text with the round of its row.
    pub(super) fn text(&self, place: i64) -> Option<&(u32, KnownText)> {
        self.texts.get(&place)
    }

    /// Keeps the texts of a look-up if they are a large family.
    pub(super) fn keep_texts(&mut self, found: &[(u32, KnownText)]) {
        if found.len() < FAMILY {
            return;
        }
        for (round, text) in found {
            if self.texts.contains_key(&text.place) {
                continue;
            }
            let bytes = bytes_of(text);
            if self.text_bytes + bytes > TEXT_BYTES {
                self.texts.clear();
                self.text_bytes = 0;
            }
            self.text_bytes += bytes;
            self.texts.insert(text.place, (*round, text.clone()));
        }
    }

    /// The oldest places of a band.
    pub(super) fn band(&self, hash: i64) -> Option<&[i64]> {
        self.bands.get(&hash).map(AsRef::as_ref)
    }

    /// Stores the oldest places of a full band.
    pub(super) fn keep_band(&mut self, hash: i64, places: &[i64]) {
        if self.bands.len() >= BANDS {
            self.bands.clear();
        }
        self.bands.insert(hash, places.into());
    }

    /// Drops a text whose row changes.
    pub(super) fn drop_text(&mut self, place: i64) {
        if let Some((_, text)) = self.texts.remove(&place) {
            self.text_bytes -= bytes_of(&text);
        }
    }

    /// Drops a band that loses a place.
    pub(super) fn drop_band(&mut self, hash: i64) {
        self.bands.remove(&hash);
    }

    /// Drops a band if a new place changes its oldest places.
    pub(super) fn add_to_band(&mut self, hash: i64, place: i64) {
        if self.bands.get(&hash).is_some_and(|places| places.last().is_none_or(|last| place < *last)) {
            self.bands.remove(&hash);
        }
    }

    /// Drops everything.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

fn bytes_of(text: &KnownText) -> usize {
    size_of::<KnownText>() + text.sketch.shingles.len() + size_of_val(text.sketch.signature.as_slice())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crawl_model::{Sketch, UrlKey};
    use std::sync::Arc;

    fn text(place: i64, shingles: usize) -> (u32, KnownText) {
        let sketch = Sketch { shingles: vec![1; shingles], ..Sketch::default() };
        (1, KnownText { page: UrlKey([0; 16]), place, this_round: true, sketch: Arc::new(sketch) })
    }

    #[test]
    fn small_text_family_is_not_cached() {
        let mut cache = TextCache::default();
        cache.keep_texts(&[text(1, 10)]);
        assert!(cache.text(1).is_none());
        cache.keep_texts(&(1..=8).map(|place| text(place, 10)).collect::<Vec<_>>());
        assert!((1..=8).all(|place| cache.text(place).is_some()));
        (1..=8).for_each(|place| cache.drop_text(place));
        assert_eq!((cache.texts.len(), cache.text_bytes), (0, 0));
    }

    #[test]
    fn cached_texts_stay_within_their_byte_limit() {
        let mut cache = TextCache::default();
        let large = |n: i64| (n..n + 8).map(|place| text(place, 300_000)).collect::<Vec<_>>();
        for n in 0..20 {
            cache.keep_texts(&large(n * 8));
            assert!(cache.text_bytes <= TEXT_BYTES && !cache.texts.is_empty(), "{}", cache.text_bytes);
        }
        let kept: usize = cache.texts.values().map(|(_, text)| bytes_of(text)).sum();
        assert_eq!(kept, cache.text_bytes);
    }

    #[test]
    fn cached_band_is_dropped_when_its_oldest_places_change() {
        let mut cache = TextCache::default();
        cache.keep_band(7, &[1, 3, 5]);
        cache.add_to_band(7, 6);
        assert_eq!(cache.band(7), Some([1, 3, 5].as_slice()));
        cache.add_to_band(7, 4);
        assert_eq!(cache.band(7), None);
    }
}
