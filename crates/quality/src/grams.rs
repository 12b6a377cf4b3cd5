//! Runs of words: their frequencies in a text, and repeated ones.
//!
//! Each n takes two passes: the first counts hashes in a small table of slots. So the second looks up only
//! runs in slots with at least two hits, which are few in most texts. Runs are equal if the 64-bit hashes of
//! their texts are.

use crate::text::chars;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Words of a text, prepared for runs.
pub(crate) struct Grams {
    /// Words joined with a space, and without one.
    spaced: Joined,
    closed: Joined,
    /// Characters of the words before each word; one more entry than words.
    chars: Vec<usize>,
    seed: u64,
}

/// Words in one text.
struct Joined {
    text: String,
    /// Start of each word, and of a further one.
    starts: Vec<usize>,
    /// Bytes between two words.
    gap: usize,
}

impl Joined {
    fn of(words: &[&str], gap: &str) -> Self {
        let bytes = words.iter().map(|word| word.len() + gap.len()).sum();
        let mut joined = Self { text: String::with_capacity(bytes), starts: Vec::new(), gap: gap.len() };
        joined.starts.reserve(words.len() + 1);
        for word in words {
            joined.starts.push(joined.text.len());
            joined.text.push_str(word);
            joined.text.push_str(gap);
        }
        joined.starts.push(joined.text.len());
        joined
    }

    /// Hashes of all runs of `n` words.
    fn hashes(&self, n: usize, seed: u64) -> Vec<u64> {
        let ends = self.starts.get(n..).unwrap_or_default();
        let bytes = self.text.as_bytes();
        self.starts
            .iter()
            .zip(ends)
            .map(|(from, end)| {
                xxh3_64_with_seed(bytes.get(*from..end.saturating_sub(self.gap)).unwrap_or_default(), seed)
            })
            .collect()
    }
}

/// A run of words that occurs more than once, or the first run if none does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Top {
    /// Words of its first occurrence.
    pub words: Range<usize>,
    /// Times.
    pub count: usize,
    /// Its characters, with the spaces between its words.
    pub chars: usize,
}

impl Grams {
    /// Prepares words. `seed` prevents authors of texts from choosing colliding hashes.
    pub fn of(words: &[&str], seed: u64) -> Self {
        let mut all = 0;
        let mut before = Vec::with_capacity(words.len() + 1);
        for word in words {
            before.push(all);
            all += chars(word);
        }
        before.push(all);
        Self { spaced: Joined::of(words, " "), closed: Joined::of(words, ""), chars: before, seed }
    }

    /// Characters of some words, without spaces.
    fn chars_of(&self, words: &Range<usize>) -> usize {
        let at = |word: usize| self.chars.get(word).copied().unwrap_or_default();
        at(words.end).saturating_sub(at(words.start))
    }

    /// The most frequent run of `n` words, of several the first one; none if there are fewer words.
    pub fn top(&self, n: usize) -> Option<Top> {
        let hashes = self.spaced.hashes(n, self.seed);
        if hashes.is_empty() || n == 0 {
            return None;
        }
        let slots = Slots::of(&hashes);
        // hash → times and the first place
        let mut counts: FxHashMap<u64, (usize, usize)> = FxHashMap::default();
        for (at, hash) in hashes.iter().enumerate().filter(|(_, hash)| slots.twice(**hash)) {
            counts.entry(*hash).or_insert((0, at)).0 += 1;
        }
        let best = counts.values().copied().filter(|(count, _)| *count > 1);
        let (count, at) = best.max_by_key(|(count, at)| (*count, usize::MAX - at)).unwrap_or((1, 0));
        let words = at..at + n;
        let chars = self.chars_of(&words) + n - 1;
        Some(Top { words, count, chars })
    }

    /// Repeated runs of `n` words, taken from the front without overlaps. Runs are compared without the
    /// spaces between their words, as in datatrove.
    pub fn duplicates(&self, n: usize) -> Vec<usize> {
        let hashes = self.closed.hashes(n, self.seed);
        let slots = Slots::of(&hashes);
        let mut seen = FxHashSet::default();
        let (mut at, mut found) = (0, Vec::new());
        while let Some(hash) = hashes.get(at) {
            if slots.twice(*hash) && !seen.insert(*hash) {
                found.push(at);
                at += n.max(1);
            } else {
                at += 1;
            }
        }
        found
    }

    /// Characters of repeated runs of `n` words, without spaces.
    pub fn duplicate_chars(&self, n: usize) -> usize {
        self.duplicates(n).iter().map(|at| self.chars_of(&(*at..at + n))).sum()
    }
}

/// Ranges of items in repeated runs of `n` items, by position; items are given by their hashes.
pub(crate) fn repeated(things: &[u64], n: usize, seed: u64) -> Vec<Range<usize>> {
    let bytes: Vec<u8> = things.iter().flat_map(|hash| hash.to_le_bytes()).collect();
    let hashes: Vec<u64> =
        bytes.windows(8 * n.max(1)).step_by(8).map(|run| xxh3_64_with_seed(run, seed)).collect();
    let slots = Slots::of(&hashes);
    let mut seen = FxHashSet::default();
    let mut stretches: Vec<Range<usize>> = Vec::new();
    for (at, hash) in hashes.iter().enumerate() {
        if !slots.twice(*hash) || seen.insert(*hash) {
            continue;
        }
        match stretches.last_mut().filter(|stretch| stretch.end >= at) {
            Some(stretch) => stretch.end = at + n,
            None => stretches.push(at..at + n),
        }
    }
    stretches
}

/// Hits per slot of a table of hashes: none, one, more. A repeated hash is always found; one that only shares
/// its slot is reported too and costs a look-up.
struct Slots {
    once: Vec<u64>,
    twice: Vec<u64>,
    mask: u64,
}

impl Slots {
    fn of(hashes: &[u64]) -> Self {
        let bits = (hashes.len() * 8).next_power_of_two().max(64);
        let mut slots = Self { once: vec![0; bits / 64], twice: vec![0; bits / 64], mask: bits as u64 - 1 };
        for hash in hashes {
            let (word, bit) = slots.place(*hash);
            if let (Some(once), Some(twice)) = (slots.once.get_mut(word), slots.twice.get_mut(word)) {
                *twice |= *once & bit;
                *once |= bit;
            }
        }
        slots
    }

    fn place(&self, hash: u64) -> (usize, u64) {
        let slot = hash & self.mask;
        ((slot / 64) as usize, 1 << (slot % 64))
    }

    fn twice(&self, hash: u64) -> bool {
        let (word, bit) = self.place(hash);
        self.twice.get(word).is_some_and(|found| found & bit != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{HashMap, HashSet};

    fn grams(text: &str) -> Grams {
        Grams::of(&text.split(' ').collect::<Vec<_>>(), 7)
    }

    #[test]
    fn top_gram_is_the_first_of_equally_frequent_ones() {
        let top = grams("a b c a b c d").top(2).unwrap();
        assert_eq!((top.words, top.count, top.chars), (0..2, 2, 3));
        let top = grams("a bb c").top(2).unwrap();
        assert_eq!((top.words, top.count, top.chars), (0..2, 1, 4));
        assert_eq!(grams("a").top(2), None);
    }

    #[test]
    fn duplicate_grams_do_not_overlap() {
        assert_eq!(grams("a b a b a b").duplicates(2), [2, 4]);
        assert_eq!(grams("a a a a a").duplicates(2), [1, 3]);
        // without spaces these are the same
        assert_eq!(grams("ab c x a bc").duplicates(2), [3]);
        assert_eq!(repeated(&[1, 2, 3, 1, 2, 3, 4], 2, 7), std::slice::from_ref(&(3..6)));
        assert_eq!(repeated(&[1, 2, 1, 2, 5, 1, 2], 2, 7), [2..4, 5..7]);
        assert!(repeated(&[1, 1], 3, 7).is_empty());
    }

    /// Plain form of datatrove's `find_all_duplicate`, as the reference for the table of slots.
    fn plain_duplicates(words: &[&str], n: usize) -> usize {
        let (mut seen, mut at, mut chars) = (HashSet::new(), 0, 0);
        while at + n <= words.len() {
            let run = words[at..at + n].concat();
            let size = run.chars().count();
            if seen.insert(run) {
                at += 1;
            } else {
                chars += size;
                at += n;
            }
        }
        chars
    }

    proptest! {
        #[test]
        fn gram_counts_equal_a_simple_implementation(words in prop::collection::vec("[abé]{1,2}", 0..80), n in 1_usize..6) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let grams = Grams::of(&words, 3);
            prop_assert_eq!(grams.duplicate_chars(n), plain_duplicates(&words, n));
            let mut counts: HashMap<&[&str], usize> = HashMap::new();
            words.windows(n).for_each(|run| *counts.entry(run).or_default() += 1);
            let most = counts.values().max().copied();
            prop_assert_eq!(grams.top(n).map(|top| top.count), most);
            if let Some(top) = grams.top(n) {
                let run = &words[top.words.clone()];
                prop_assert_eq!(counts[run], top.count);
                prop_assert_eq!(run.join(" ").chars().count(), top.chars);
                let first = words.windows(n).find(|run| Some(counts[*run]) == most).unwrap();
                prop_assert_eq!(run, first);
            }
            let things: Vec<u64> = words.iter().map(|word| xxh3_64_with_seed(word.as_bytes(), 3)).collect();
            let covered: HashSet<usize> = words.windows(n).enumerate()
                .filter(|(at, run)| words.windows(n).take(*at).any(|before| before == *run))
                .flat_map(|(at, _)| at..at + n)
                .collect();
            let found: HashSet<usize> = repeated(&things, n, 3).into_iter().flatten().collect();
            prop_assert_eq!(found, covered);
        }
    }
}
