//! Sketches of pages in a stream: the shingles of a corpus, one page at a time.

use crate::{
    CorpusError,
    clean::clean,
    minhash::{Banding, MinHash, agreeing, estimate, least_agreeing},
    settings::within,
    words::{jaccard, shingles_in_order},
};
use crawl_model::{ContentHash, Sketch};
use std::cell::OnceCell;

/// Maximum share of pairs at the threshold that no band brings together. It is higher than in a corpus, since
/// each page reads and writes an index row per band.
const MAX_MISS: f64 = 1e-5;

/// Maximum share of pairs at the threshold whose signatures agree too seldom for an exact comparison. The
/// exact comparison sorts all shingles of both pages.
const MAX_DISAGREEING: f64 = 1e-6;

/// Maximum share of missed pairs for [`SketchSettings::bands`].
const MAX_CHOSEN_MISS: f64 = 0.01;

/// Bytes kept of a shingle's hash. For pages with a thousand shingles each, one in a million pairs has two
/// shingles that become equal.
const KEPT: usize = 5;

/// Settings of comparing pages.
#[derive(Clone, Debug, PartialEq)]
pub struct SketchSettings {
    /// Words in a shingle.
    pub shingle_words: usize,
    /// Values of a MinHash signature.
    pub permutations: usize,
    /// Bands of the signature; 0 takes as few as miss at most one in 100,000 pairs at the threshold.
    pub bands: usize,
    /// Minimum exact Jaccard similarity of shingles, 0 to 1.
    pub jaccard: f64,
    /// Minimum distinct shingles of a compared page.
    pub min_shingles: usize,
    /// Seed of the signatures.
    pub seed: u64,
}

impl SketchSettings {
    /// Checks the ranges.
    ///
    /// # Errors
    /// Names the first setting that is out of its range.
    pub fn check(&self) -> Result<(), CorpusError> {
        within("shingle_words", self.shingle_words, 1, 100, "1 to 100")?;
        within("permutations", self.permutations, 8, 1024, "8 to 1,024")?;
        within("jaccard", self.jaccard, 0.3, 1.0, "0.3 to 1")?;
        within("min_shingles", self.min_shingles, 1, 10_000, "1 to 10,000")?;
        within("bands", self.bands, 0, self.permutations, "0 to the number of permutations")?;
        if self.banding().miss(self.jaccard) > MAX_CHOSEN_MISS {
            let range = "so many that of the pairs right at the threshold at most 1 in 100 is missed (0 finds a number)";
            return Err(CorpusError::Setting { name: "bands", given: self.bands.to_string(), range });
        }
        Ok(())
    }

    fn banding(&self) -> Banding {
        match self.bands {
            0 => Banding::missing(self.permutations, self.jaccard, MAX_MISS),
            bands => Banding::of(self.permutations, bands),
        }
    }
}

/// Makes sketches.
#[derive(Debug)]
pub struct Sketcher {
    settings: SketchSettings,
    minhash: MinHash,
    banding: Banding,
    threshold: Threshold,
}

/// Minimum similarity of two pages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    /// Minimum exact Jaccard similarity of the shingles, 0 to 1.
    jaccard: f64,
    /// Minimum agreeing values of two signatures. Pages with fewer are not compared exactly.
    agreeing: usize,
}

impl Threshold {
    /// Only pages of equal content are similar.
    pub const SAME_CONTENT: Self = Self { jaccard: 1.0, agreeing: 0 };

    fn new(permutations: usize, jaccard: f64) -> Self {
        Self { jaccard, agreeing: least_agreeing(permutations, jaccard, MAX_DISAGREEING) }
    }
}

impl Sketcher {
    /// Creates a sketcher.
    ///
    /// # Errors
    /// When a setting is out of its range.
    pub fn new(settings: SketchSettings) -> Result<Self, CorpusError> {
        settings.check()?;
        let minhash = MinHash::new(settings.permutations, settings.seed);
        let threshold = Threshold::new(settings.permutations, settings.jaccard);
        Ok(Self { minhash, banding: settings.banding(), threshold, settings })
    }

    /// Sketch of an uncleaned text.
    #[must_use]
    pub fn sketch(&self, content: Option<ContentHash>, text: &str) -> Sketch {
        if text.len() > MOST_BYTES {
            return Sketch { content, ..Sketch::default() };
        }
        let mut shingles = shingles_in_order(&clean(text), self.settings.shingle_words);
        if !has_distinct(&shingles, self.settings.min_shingles) {
            return Sketch { content, ..Sketch::default() };
        }
        shingles.iter_mut().for_each(|shingle| *shingle >>= 64 - 8 * KEPT);
        let signature = self.minhash.signature(&shingles);
        let bands = self.banding.hashes(&signature).collect();
        let mut kept = Vec::with_capacity(shingles.len() * KEPT);
        for shingle in &shingles {
            kept.extend_from_slice(shingle.to_le_bytes().get(..KEPT).unwrap_or_default());
        }
        Sketch { content, shingles: kept, signature, bands }
    }

    /// Identity of all settings that affect sketches: only those with the same name are comparable.
    #[must_use]
    pub fn name(&self) -> String {
        let SketchSettings { shingle_words, permutations, seed, .. } = self.settings;
        let Banding { bands, rows } = self.banding;
        format!("1: {shingle_words} words, {permutations} permutations, seed {seed}, {bands} bands of {rows}")
    }

    /// Minimum similarity of two pages.
    #[must_use]
    pub fn threshold(&self) -> Threshold {
        self.threshold
    }
}

/// Maximum bytes of a text that is compared by shingles, which take several times its memory. A longer text
/// is only a duplicate of equal content. Comparing only its beginning would confuse two editions of a manual.
const MOST_BYTES: usize = 1 << 20;

/// Returns true if there are at least this many distinct shingles: for most texts the first ones show it.
fn has_distinct(shingles: &[u64], least: usize) -> bool {
    let mut seen = rustc_hash::FxHashSet::default();
    shingles.iter().any(|shingle| {
        seen.insert(*shingle);
        seen.len() >= least
    })
}

/// One page against others.
#[derive(Debug)]
pub struct Comparison<'a> {
    sketch: &'a Sketch,
    threshold: Threshold,
    /// Most pages are compared by their signatures alone.
    shingles: OnceCell<Vec<u64>>,
}

impl<'a> Comparison<'a> {
    /// Creates the comparison with a page.
    #[must_use]
    pub const fn new(sketch: &'a Sketch, threshold: Threshold) -> Self {
        Self { sketch, threshold, shingles: OnceCell::new() }
    }

    /// Similarity of two pages, if the threshold is met: 1 for equal contents, else the exact Jaccard
    /// similarity of their shingles. Misses at most one pair in a million at the threshold.
    #[must_use]
    pub fn similarity(&self, other: &Sketch) -> Option<f64> {
        if self.sketch.content.is_some() && self.sketch.content == other.content {
            return Some(1.0);
        }
        if self.sketch.shingles.is_empty() || other.shingles.is_empty() {
            return None;
        }
        let (a, b) = (&self.sketch.signature, &other.signature);
        if a.len() == b.len() && agreeing(a, b) < self.threshold.agreeing {
            return None;
        }
        let shingles = self.shingles.get_or_init(|| unpacked(&self.sketch.shingles));
        jaccard(shingles, &unpacked(&other.shingles), self.threshold.jaccard)
    }

    /// MinHash estimate of the similarity.
    #[must_use]
    pub fn estimate(&self, other: &Sketch) -> Option<f64> {
        let (a, b) = (&self.sketch.signature, &other.signature);
        (!a.is_empty() && a.len() == b.len()).then(|| estimate(a, b))
    }
}

/// Unpacks a set for comparison: sorted, each shingle once.
fn unpacked(kept: &[u8]) -> Vec<u64> {
    let number =
        |bytes: &[u8; KEPT]| bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
    let mut shingles = sorted_hashes(kept.as_chunks().0.iter().map(number));
    shingles.dedup();
    shingles
}

/// Bits of a kept hash.
const KEPT_BITS: u32 = 8 * KEPT as u32;

/// Sorts hashes of [`KEPT`] bytes. They are spread evenly, so most buckets by their upper bits have a few: that
/// takes half the time of sorting all.
fn sorted_hashes(hashes: impl ExactSizeIterator<Item = u64> + Clone) -> Vec<u64> {
    let bits = (hashes.len() / 4 + 1).ilog2();
    let bucket = |hash: u64| (hash >> (KEPT_BITS - bits)) as usize;
    let mut ends = vec![0_usize; 1 << bits];
    hashes.clone().for_each(|hash| ends[bucket(hash)] += 1);
    let mut next = 0;
    for end in &mut ends {
        // where the bucket begins; it ends there when all hashes are placed
        next += std::mem::replace(end, next);
    }
    let mut sorted = vec![0; hashes.len()];
    for hash in hashes {
        let end = &mut ends[bucket(hash)];
        sorted[*end] = hash;
        *end += 1;
    }
    let mut start = 0;
    for end in ends {
        sorted[start..end].sort_unstable();
        start = end;
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shingles;
    use proptest::prelude::*;

    fn settings() -> SketchSettings {
        SketchSettings {
            shingle_words: 5,
            permutations: 64,
            bands: 0,
            jaccard: 0.85,
            min_shingles: 3,
            seed: 1,
        }
    }

    #[test]
    fn sketch_settings_out_of_range_are_errors() {
        assert!(settings().check().is_ok());
        let wrong = |change: fn(&mut SketchSettings)| {
            let mut settings = settings();
            change(&mut settings);
            settings.check().unwrap_err().to_string()
        };
        assert!(wrong(|s| s.jaccard = 1.1).contains("jaccard"));
        assert!(wrong(|s| s.permutations = 7).contains("permutations"));
        assert!(wrong(|s| s.bands = 65).contains("bands"));
        assert!(wrong(|s| s.bands = 2).contains("1 in 100"));
        assert!(wrong(|s| s.shingle_words = 0).contains("shingle_words"));
        assert!(wrong(|s| s.min_shingles = 0).contains("min_shingles"));
    }

    #[test]
    fn default_banding_is_16_bands_of_4_rows() {
        assert_eq!(settings().banding(), Banding { bands: 16, rows: 4 });
        assert_eq!(SketchSettings { bands: 20, ..settings() }.banding(), Banding { bands: 20, rows: 3 });
    }

    #[test]
    fn short_page_has_a_content_hash_and_no_bands() {
        let sketcher = Sketcher::new(settings()).unwrap();
        let content = Some(ContentHash([1; 32]));
        let few = sketcher.sketch(content, "one two three four five six");
        assert_eq!(few, Sketch { content, ..Sketch::default() });
        let same = sketcher.sketch(None, &"word ".repeat(500));
        assert_eq!(same, Sketch::default(), "one shingle, however often");
        assert!(!sketcher.sketch(None, "one two three four five six seven").bands.is_empty());
        let comparison = Comparison::new(&few, sketcher.threshold());
        assert_eq!(comparison.similarity(&few), Some(1.0));
        assert_eq!(Comparison::new(&same, Threshold::new(64, 0.0)).similarity(&same), None);
    }

    #[test]
    fn overlong_text_has_a_content_hash_and_no_bands() {
        let sketcher = Sketcher::new(settings()).unwrap();
        let content = Some(ContentHash([1; 32]));
        let words = |n: usize| (0..n).map(|i| format!("word{} ", i % 977)).collect::<String>();
        let long = words(MOST_BYTES / 4);
        assert!(long.len() > MOST_BYTES);
        assert_eq!(sketcher.sketch(content, &long), Sketch { content, ..Sketch::default() });
        assert!(!sketcher.sketch(content, long.get(..MOST_BYTES).unwrap()).bands.is_empty());
    }

    proptest! {
        /// The kept part of the shingles gives the similarity of a corpus.
        #[test]
        fn sketch_similarity_equals_that_of_the_corpus(a in "[a-e]( [a-e]){20,60}", b in "[a-e]( [a-e]){20,60}", both in "[a-e]( [a-e]){0,200}") {
            let (a, b) = (format!("{both} {a}"), format!("{b} {both}"));
            let sketcher = Sketcher::new(settings()).unwrap();
            let (x, y) = (sketcher.sketch(None, &a), sketcher.sketch(None, &b));
            let comparison = Comparison::new(&x, Threshold::new(64, 0.0));
            let exact = jaccard(&shingles(&a, 5), &shingles(&b, 5), 0.0);
            prop_assert_eq!(comparison.similarity(&y), exact);
            // by the signatures alone no such pair is left out
            let above = Comparison::new(&x, sketcher.threshold()).similarity(&y);
            prop_assert_eq!(above, exact.filter(|similarity| *similarity >= 0.85));
            prop_assert_eq!(Comparison::new(&x, Threshold::new(64, 1.0)).similarity(&x), Some(1.0));
            prop_assert_eq!(comparison.estimate(&x), Some(1.0));
        }
    }
}
