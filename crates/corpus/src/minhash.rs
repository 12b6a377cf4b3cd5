//! MinHash signatures, and their bands.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Maximum share of pairs at the threshold that no band brings together.
///
/// A textbook optimum balances misses against needless comparisons. Here every candidate is verified exactly,
/// which is cheap, so misses must be rare.
const MAX_MISS: f64 = 1e-6;

/// MinHash in time linear in the set plus the signature, instead of their product: Dahlgaard, Knudsen,
/// Thorup, "Fast Similarity Sketching" (FOCS 2017).
///
/// In each round every element throws one value into one slot of the signature, with other hashes each time,
/// until each slot has a value. A slot keeps the least value of the first round that reached it. Two
/// signatures agree at a slot with the probability of the Jaccard similarity, as with one permutation per
/// slot. Slots are drawn without replacement, so the estimate has a smaller error.
#[derive(Debug)]
pub struct MinHash {
    places: usize,
    seed: u64,
}

/// No value yet: greater than that of any round.
const NONE: u64 = u64::MAX;

impl MinHash {
    /// Creates signatures of `permutations` values (the specification's term), drawn from a seed.
    #[must_use]
    pub fn new(permutations: usize, seed: u64) -> Self {
        Self { places: permutations, seed }
    }

    /// Signature of a set of shingles, in any order and with duplicates; `u32::MAX` everywhere for the empty
    /// set.
    #[must_use]
    pub fn signature(&self, shingles: &[u64]) -> Vec<u32> {
        let mut least = vec![NONE; self.places];
        if shingles.is_empty() {
            return least.iter().map(|_| u32::MAX).collect();
        }
        let mut empty = self.places;
        let mut state = self.seed;
        let places = self.places as u64;
        // at most one round per slot; only small sets need more than a few
        for round in 0..places {
            let seed = split_mix(&mut state);
            for shingle in shingles {
                let hash = folded(shingle ^ seed);
                let place = ((hash & 0xffff_ffff) * places) >> 32;
                if let Some(least) = least.get_mut(place as usize) {
                    empty -= usize::from(*least == NONE);
                    *least = (round << 32 | hash >> 32).min(*least);
                }
            }
            if empty == 0 {
                break;
            }
        }
        for least in &mut least {
            let seed = split_mix(&mut state);
            if *least == NONE {
                // the least value of all, regardless of slots
                *least = shingles.iter().map(|s| folded(s ^ seed) >> 32).min().unwrap_or(NONE);
            }
        }
        least.iter().map(|value| (value & 0xffff_ffff) as u32).collect()
    }
}

/// Combines both halves of a product: each of its bits depends on all bits of the factor.
fn folded(x: u64) -> u64 {
    let product = u128::from(x) * 0x9e37_79b9_7f4a_7c15;
    (product as u64) ^ (product >> 64) as u64
}

/// Steele, Lea, Flood: Fast splittable pseudorandom number generators (2014).
pub(crate) fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Share of permutations in which two signatures agree: an estimate of the Jaccard similarity J with the
/// standard error √(J(1−J)/permutations).
#[must_use]
pub fn estimate(a: &[u32], b: &[u32]) -> f64 {
    if a.is_empty() { 0.0 } else { crate::words::ratio(agreeing(a, b), a.len()) }
}

/// Number of values in which two signatures agree.
pub(crate) fn agreeing(a: &[u32], b: &[u32]) -> usize {
    a.iter().zip(b).filter(|(a, b)| a == b).count()
}

/// Minimum agreeing values of two signatures, so that at most the share `miss` of pairs of a similarity have
/// fewer. Each value agrees with the probability of the similarity, so their number is binomial.
pub(crate) fn least_agreeing(permutations: usize, similarity: f64, miss: f64) -> usize {
    if similarity <= 0.0 {
        return 0;
    }
    if similarity >= 1.0 {
        return permutations;
    }
    let odds = (similarity / (1.0 - similarity)).ln();
    let mut log = crate::words::to_f64(permutations) * (1.0 - similarity).ln();
    let mut fewer = 0.0;
    for agreeing in 0..permutations {
        fewer += log.exp();
        if fewer > miss {
            return agreeing;
        }
        log += odds + crate::words::ratio(permutations - agreeing, agreeing + 1).ln();
    }
    permutations
}

/// Division of signatures into bands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Banding {
    /// Bands of a signature; two documents are candidates if one of their bands is equal.
    pub bands: usize,
    /// Permutations in a band.
    pub rows: usize,
}

impl Banding {
    /// Maximum rows per band for which at most one in a million pairs at the threshold is missed: (1 −
    /// t^rows)^bands ≤ 10⁻⁶. For 128 permutations and 0.85 these are 25 bands of 5.
    #[must_use]
    pub fn for_threshold(permutations: usize, threshold: f64) -> Self {
        Self::missing(permutations, threshold, MAX_MISS)
    }

    /// Maximum rows per band for which at most the share `miss` of pairs at the threshold is missed; else one
    /// row per band.
    #[must_use]
    pub fn missing(permutations: usize, threshold: f64, miss: f64) -> Self {
        let rows = (1..=permutations.min(64)).rev().find(|rows| {
            let banding = Self { bands: permutations / rows, rows: *rows };
            banding.miss(threshold) <= miss
        });
        let rows = rows.unwrap_or(1);
        Self { bands: permutations / rows, rows }
    }

    /// Creates this many bands, each of as many rows as the permutations allow.
    #[must_use]
    pub fn of(permutations: usize, bands: usize) -> Self {
        Self { bands, rows: (permutations / bands.max(1)).max(1) }
    }

    /// Share of pairs of a similarity that no band brings together.
    #[must_use]
    pub fn miss(&self, similarity: f64) -> f64 {
        let power = |base: f64, n: usize| base.powi(i32::try_from(n).unwrap_or(i32::MAX));
        power(1.0 - power(similarity, self.rows), self.bands)
    }

    /// Hash of each band of a signature.
    pub fn hashes<'a>(&self, signature: &'a [u32]) -> impl Iterator<Item = u64> + 'a {
        let rows = self.rows.max(1);
        let mut bytes = Vec::with_capacity(rows * 4);
        (0_u64..).zip(signature.chunks_exact(rows)).take(self.bands).map(move |(band, rows)| {
            bytes.clear();
            bytes.extend(rows.iter().flat_map(|row| row.to_le_bytes()));
            xxh3_64_with_seed(&bytes, band)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn banding_misses_few_pairs_above_the_threshold() {
        assert_eq!(Banding::for_threshold(128, 0.85), Banding { bands: 25, rows: 5 });
        for (permutations, threshold) in [(64, 0.85), (128, 0.5), (128, 0.95), (256, 0.85)] {
            let found = Banding::for_threshold(permutations, threshold);
            assert!(found.miss(threshold) <= MAX_MISS, "{found:?}");
            assert!(found.bands * found.rows <= permutations);
        }
        assert_eq!(Banding::for_threshold(8, 0.1), Banding { bands: 8, rows: 1 });
    }

    /// 600 pairs of sets with known similarity: the error is at most that of 128 independent coins.
    #[test]
    fn estimate_error_matches_theory() {
        let hash = MinHash::new(128, 1);
        let (mut squares, mut expected, mut sum, mut state) = (0.0, 0.0, 0.0, 7);
        for common in 1..=600_u64 {
            let mut draw = |n: u64| (0..n).map(|_| split_mix(&mut state)).collect::<Vec<_>>();
            let (both, only_a, only_b) = (draw(common), draw(200), draw(200));
            let a = hash.signature(&[both.clone(), only_a].concat());
            let b = hash.signature(&[both, only_b].concat());
            let jaccard = common as f64 / (common as f64 + 400.0);
            let error = estimate(&a, &b) - jaccard;
            sum += error;
            squares += error * error;
            expected += jaccard * (1.0 - jaccard) / 128.0;
        }
        let ratio: f64 = squares / expected;
        assert!((0.5..1.1).contains(&ratio), "variance is {ratio} times that of theory");
        // the mean of 600 errors, each with a standard deviation of at most 0.045: four of its standard
        // errors
        let mean: f64 = sum / 600.0;
        assert!(mean.abs() < 4.0 * 0.045 / 600_f64.sqrt(), "biased by {mean}");
    }
}
