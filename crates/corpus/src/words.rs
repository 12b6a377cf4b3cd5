//! Words of a cleaned text, and the shingles for comparing documents.

use xxhash_rust::xxh3::xxh3_64;

/// Words of a cleaned text: runs of letters, digits and `_`, with apostrophes between letters (`don't`) but
/// without a possessive `'s`. [`NUMBER`](crate::NUMBER) is a word.
pub fn words(cleaned: &str) -> impl Iterator<Item = &str> {
    let mut rest = cleaned;
    std::iter::from_fn(move || {
        let start = rest.find(|c: char| is_of_word(c) || c == '<')?;
        let from = rest.get(start..)?;
        if from.starts_with('<') {
            let word = if from.starts_with(crate::NUMBER) { crate::NUMBER } else { "<" };
            rest = from.get(word.len()..)?;
            return Some(word).filter(|w| *w != "<").or(Some(""));
        }
        let end = word_end(from);
        rest = from.get(end..)?;
        let word = from.get(..end)?;
        Some(word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word))
    })
    .filter(|word| !word.is_empty())
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Bytes of the word at the start of a text.
fn word_end(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let inner = matches!(c, '\'' | '’') && chars.peek().is_some_and(|(_, next)| next.is_alphabetic());
        // combining marks (vowel signs of Indic scripts, accents) belong to the letter before them
        if !is_of_word(c) && !inner && !is_combining(c) {
            return at;
        }
    }
    text.len()
}

pub(crate) fn is_combining(c: char) -> bool {
    !c.is_ascii() && unicode_normalization::char::is_combining_mark(c)
}

/// Distinct shingles of a cleaned text as sorted 64-bit hashes (XXH3 of the words with a space between them).
///
/// Spaces separate words. A text with fewer words than a shingle is one shingle, even the empty text.
#[must_use]
pub fn shingles(cleaned: &str, length: usize) -> Vec<u64> {
    let mut hashes = shingles_in_order(cleaned, length);
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

/// The [`shingles`] of a cleaned text in order, with repetitions.
#[must_use]
pub fn shingles_in_order(cleaned: &str, length: usize) -> Vec<u64> {
    let length = length.max(1);
    let bytes = cleaned.as_bytes();
    let mut starts: Vec<usize> = Vec::with_capacity(bytes.len() / 6 + 2);
    starts.push(0);
    push_word_starts(bytes, &mut starts);
    // the start of a further word, so that every shingle ends a space before a start
    starts.push(bytes.len() + 1);
    if starts.len() <= length {
        return vec![xxh3_64(bytes)];
    }
    let ends = starts.get(length..).unwrap_or_default();
    // of known length, so that the hashes are allocated once
    let shingle = |(from, end): (&usize, &usize)| xxh3_64(bytes.get(*from..end - 1).unwrap_or_default());
    starts.iter().zip(ends).map(shingle).collect()
}

/// Appends the positions after spaces. A space follows every five or six bytes, which is too often for a byte
/// search. The distance is irregular, so a branch for each byte would be slow: 64 bytes become one number with a
/// bit for each space.
fn push_word_starts(bytes: &[u8], starts: &mut Vec<usize>) {
    let (blocks, rest) = bytes.as_chunks();
    let mut last = [0; 64];
    last.iter_mut().zip(rest).for_each(|(byte, of_rest)| *byte = *of_rest);
    for (at, block) in (1..).step_by(64).zip(blocks.iter().chain([&last])) {
        let mut spaces = spaces(block);
        while spaces != 0 {
            starts.push(at + spaces.trailing_zeros() as usize);
            spaces &= spaces - 1;
        }
    }
}

/// A bit for each space of a block, the lowest for its first byte. Eight bytes are compared as one number.
fn spaces(block: &[u8; 64]) -> u64 {
    const SPACES: u64 = u64::from_le_bytes([b' '; 8]);
    const LOWER_BITS: u64 = u64::from_le_bytes([0x7f; 8]);
    // its product moves the lowest bits of all bytes into the highest byte
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let (numbers, _) = block.as_chunks();
    numbers.iter().rev().fold(0, |spaces, bytes| {
        let differing = u64::from_le_bytes(*bytes) ^ SPACES;
        // the highest bit of each byte is set where the byte differs
        let differs = ((differing & LOWER_BITS) + LOWER_BITS) | differing;
        let same = !(differs | LOWER_BITS) >> 7;
        spaces << 8 | same.wrapping_mul(GATHER) >> 56
    })
}

/// Exact Jaccard similarity of two sets of [`shingles`], if it is at least `least`; 0 if one set is empty.
#[must_use]
pub fn jaccard(a: &[u64], b: &[u64], least: f64) -> Option<f64> {
    let (mut i, mut j, mut common) = (0, 0, 0_usize);
    let similarity = |common: usize| {
        let union = a.len() + b.len() - common;
        if union == 0 { 0.0 } else { ratio(common, union) }
    };
    // number of common shingles for the minimum similarity: |a∩b| ≥ least/(1+least) · (|a|+|b|)
    let needed = (least / (1.0 + least) * to_f64(a.len() + b.len()) - 1e-6).ceil();
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        common += usize::from(x == y);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
        if i & 63 == 0 && to_f64(common + (a.len() - i).min(b.len() - j)) < needed {
            return None;
        }
    }
    Some(similarity(common)).filter(|s| *s >= least)
}

#[expect(clippy::cast_precision_loss, reason = "counts of words lie far below 2^53")]
pub(crate) fn to_f64(n: usize) -> f64 {
    n as f64
}

pub(crate) fn ratio(part: usize, of: usize) -> f64 {
    to_f64(part) / to_f64(of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn words_are_split_at_spaces_and_punctuation() {
        let of = |text: &str| words(text).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            of("don't <num>% x_1, jane’s (a<b) <num>-<num>"),
            ["don't", "<num>", "x_1", "jane", "a", "b", "<num>", "<num>"]
        );
        assert_eq!(of("हिन्दी में"), ["हिन्दी", "में"]);
        assert_eq!(of("'' — <"), [""; 0]);
    }

    #[test]
    fn spaces_are_found_at_every_position_among_all_bytes() {
        for other in (0..=u8::MAX).filter(|byte| *byte != b' ') {
            for at in 0..64 {
                let mut block = [other; 64];
                block[at] = b' ';
                assert_eq!(spaces(&block), 1 << at, "{other} at {at}");
                block[63 - at] = b' ';
                assert_eq!(spaces(&block), 1 << at | 1 << (63 - at), "{other} at {at}");
            }
        }
        let mut starts = Vec::new();
        push_word_starts("word ".repeat(100).as_bytes(), &mut starts);
        assert_eq!(starts, (1..=100).map(|n| n * 5).collect::<Vec<_>>());
    }

    #[test]
    fn a_short_text_is_one_shingle() {
        assert_eq!(shingles("", 5), [xxh3_64(b"")]);
        assert_eq!(shingles("a b c d", 5), [xxh3_64(b"a b c d")]);
        assert_eq!(shingles("a b c d e", 5), [xxh3_64(b"a b c d e")]);
        assert_eq!(shingles("a b c", 2).len(), 2);
        assert_eq!(shingles("a a a a a a a a", 5).len(), 1);
    }

    proptest! {
        #[test]
        fn jaccard_equals_that_of_sets(a in prop::collection::btree_set(0_u64..60, 0..60), b in prop::collection::btree_set(0_u64..60, 0..60), least in 0.05..0.99_f64) {
            let union = a.union(&b).count();
            let exact = if union == 0 { 0.0 } else { ratio(a.intersection(&b).count(), union) };
            let of = |set: &BTreeSet<u64>| set.iter().copied().collect::<Vec<_>>();
            prop_assert_eq!(jaccard(&of(&a), &of(&b), least), Some(exact).filter(|e| *e >= least));
            prop_assert_eq!(jaccard(&of(&a), &of(&b), 0.0), Some(exact));
        }

        #[test]
        fn shingles_equal_those_of_a_simple_implementation(text in "[ab]{1,2}( [ab]{1,2}){0,12}", length in 1_usize..6) {
            let all: Vec<_> = text.split(' ').collect();
            let plain: BTreeSet<u64> = if all.len() < length { [xxh3_64(text.as_bytes())].into() } else {
                all.windows(length).map(|w| xxh3_64(w.join(" ").as_bytes())).collect()
            };
            prop_assert_eq!(shingles(&text, length), plain.into_iter().collect::<Vec<_>>());
        }
    }
}
