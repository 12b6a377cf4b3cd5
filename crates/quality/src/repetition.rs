//! The ratios of a repetition filter, with stop words left out.

use crate::{
    assessment::Reason,
    limit::Limit,
    rules::BoilerplateRules,
    settings::TextThresholds,
    text::{folded, has_letter, is_space, ratio, words},
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Places of the values.
pub(crate) const WORD: usize = 0;
pub(crate) const CHAR: usize = 1;
pub(crate) const NGRAM: usize = 2;

pub(crate) fn limits(settings: &TextThresholds) -> Vec<(String, Limit)> {
    crate::limit::named([
        ("word_repetition_ratio", Limit::AtMost(settings.max_word_repetition_ratio)),
        ("char_repetition_ratio", Limit::AtMost(settings.max_char_repetition_ratio)),
        ("ngram_repetition", Limit::AtMost(settings.max_ngram_repetition)),
    ])
}

/// A word that is no punctuation mark.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word {
    /// Position among the words of the text.
    pub at: usize,
    /// Hash of its folded form.
    pub hash: u64,
    /// True if the unit has a letter.
    pub letter: bool,
    /// True if it has a letter and is no stop word.
    pub content: bool,
}

/// Words of a text with a letter or digit.
pub(crate) fn countable_words(
    words: &[&str],
    stop_words: Option<&FxHashSet<String>>,
    seed: u64,
) -> Vec<Word> {
    let word = |(at, word): (usize, &&str)| {
        let letter = has_letter(word);
        if !letter && !word.chars().any(char::is_numeric) {
            return None;
        }
        let folded = folded(word);
        let content = letter && !stop_words.is_some_and(|list| list.contains(folded.as_ref()));
        Some(Word { at, hash: xxh3_64_with_seed(folded.as_bytes(), seed), letter, content })
    };
    words.iter().enumerate().filter_map(word).collect()
}

/// Share of one word in a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct WordRatio {
    /// Words with a letter.
    pub words: usize,
    /// Number of words that are not stop words.
    pub content_words: usize,
    /// Count of the most frequent content word ÷ content words; 0 if there are too few of these.
    pub ratio: f64,
    /// Hash of that word.
    pub top: Option<u64>,
    pub reason: Option<Reason>,
}

/// Word ratio: the share of the most frequent word among the content words. Words are compared in lower case.
///
/// The specification leaves the formula open. Other filters take the share of repeated words, which grows
/// with the length of any text (Heaps' law). Over a fifth of any documentation page consists of such words:
/// the failure that the specification describes. The share of one word does not depend on the length.
pub(crate) fn word_ratio(words: &[Word], settings: &TextThresholds) -> WordRatio {
    let mut counts: FxHashMap<u64, (usize, usize)> = FxHashMap::default();
    let mut content_words = 0;
    for (at, word) in words.iter().filter(|word| word.content).enumerate() {
        counts.entry(word.hash).or_insert((0, at)).0 += 1;
        content_words += 1;
    }
    let top = counts.iter().max_by_key(|(_, (count, at))| (*count, usize::MAX - at));
    let top = top.map(|(hash, (count, _))| (*hash, *count));
    let mut found = WordRatio {
        words: words.iter().filter(|word| word.letter).count(),
        content_words,
        ratio: ratio(top.map_or(0, |(_, count)| count), content_words),
        top: top.map(|(hash, _)| hash),
        reason: None,
    };
    if content_words < settings.min_content_words {
        (found.ratio, found.reason) = (0.0, Some(Reason::TooFewContentWords));
    } else if found.ratio > settings.max_word_repetition_ratio
        && found.top.is_some_and(|top| is_term(words, top))
    {
        found.reason = Some(Reason::Term);
    }
    found
}

/// Counts of words with a letter by hash, the most frequent first.
pub(crate) fn counts(words: &[Word]) -> Vec<(u64, usize)> {
    let mut counts: FxHashMap<u64, (usize, usize)> = FxHashMap::default();
    for (at, word) in words.iter().filter(|word| word.letter).enumerate() {
        counts.entry(word.hash).or_insert((0, at)).0 += 1;
    }
    let mut all: Vec<(u64, (usize, usize))> = counts.into_iter().collect();
    all.sort_unstable_by_key(|(_, (count, at))| (usize::MAX - count, *at));
    all.into_iter().map(|(hash, (count, _))| (hash, count)).collect()
}

/// Maximum share of a term's occurrences between known neighbours among content words. On the benchmarks it
/// is 0 to 0.30 for terms of honest pages, and 0.46 to 0.73 on keyword-stuffed pages in six languages.
const SAME_COMPANY: f64 = 0.4;

/// Returns true if a word is a term: most of its occurrences have a new neighbour. Neighbours are the next
/// content words, since function words vary between the same two keywords. An occurrence beside another one
/// has none.
pub(crate) fn is_term(words: &[Word], hash: u64) -> bool {
    let line: Vec<u64> =
        words.iter().filter(|word| word.content || word.hash == hash).map(|word| word.hash).collect();
    let (mut before, mut behind) = (FxHashSet::default(), FxHashSet::default());
    let (mut all, mut again) = (0_usize, 0_usize);
    let neighbour = |at: Option<usize>| at.and_then(|at| line.get(at)).copied();
    for (at, _) in line.iter().enumerate().filter(|(_, word)| **word == hash) {
        all += 1;
        let (left, right) = (neighbour(at.checked_sub(1)), neighbour(at.checked_add(1)));
        let beside_itself = left == Some(hash) || right == Some(hash);
        // both sets take their neighbour, whatever the other one knows
        let (new_left, new_right) = (before.insert(left), behind.insert(right));
        again += usize::from(beside_itself || !(new_left || new_right));
    }
    ratio(again, all) <= SAME_COMPANY
}

/// Share of the characters (white space aside) in runs of one character, as `-----` or `aaaa`.
pub(crate) fn char_ratio(text: &str, run: usize) -> f64 {
    let (mut all, mut in_runs, mut length, mut last) = (0, 0, 0, None);
    for c in text.chars() {
        let counts = !is_space(c);
        all += usize::from(counts);
        if counts && last == Some(c) {
            length += 1;
            continue;
        }
        in_runs += if length >= run { length } else { 0 };
        (length, last) = (usize::from(counts), Some(c));
    }
    in_runs += if length >= run { length } else { 0 };
    ratio(in_runs, all)
}

/// N-gram ratio: the share of the words (with letters or digits) in a repeated n-gram.
pub(crate) fn ngram_ratio(words: &[Word], settings: &TextThresholds, seed: u64) -> f64 {
    let again = stretches(words, settings.ngram_words, seed).iter().map(ExactSizeIterator::len).sum();
    ratio(again, words.len())
}

/// Ranges of such words, by their positions in `words`.
pub(crate) fn stretches(words: &[Word], n: usize, seed: u64) -> Vec<std::ops::Range<usize>> {
    let hashes: Vec<u64> = words.iter().map(|word| word.hash).collect();
    crate::grams::repeated(&hashes, n, seed)
}

/// Text without its lines of boilerplate.
pub(crate) fn without_boilerplate<'t>(text: &'t str, rules: &BoilerplateRules) -> Cow<'t, str> {
    if !text.split('\n').any(|line| rules.phrase_of(line).is_some()) {
        return text.into();
    }
    let kept: Vec<&str> = text.split('\n').filter(|line| rules.phrase_of(line).is_none()).collect();
    kept.join("\n").into()
}

/// Words as slices.
pub(crate) fn slices(text: &str) -> Vec<&str> {
    words(text).map(|(_, word)| word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn char_ratio_counts_runs_of_one_character() {
        let share = |text| char_ratio(text, 4);
        assert!((share("aaaa bbb") - 4.0 / 7.0).abs() < 1e-12);
        assert!((share("-----") - 1.0).abs() < 1e-12);
        assert_eq!(share("abc      def\n\n\n\n\n"), 0.0);
        assert_eq!(share("aa aa"), 0.0);
        assert_eq!(share(""), 0.0);
    }

    #[test]
    fn term_has_varying_neighbours() {
        let of = |text: &str| {
            let words = countable_words(&slices(text), None, 1);
            let hash = xxh3_64_with_seed(b"stain", 1);
            is_term(&words, hash)
        };
        assert!(of(
            "A stain of wine, the stain that coffee leaves, one stain after another, no stain at all"
        ));
        assert!(!of("buy stain remover now buy stain remover now buy stain remover now"));
    }
}
