//! Hashes of lines and words, digits masked.

use crate::blocks::fold;
use memchr::memmem;
use std::ops::RangeInclusive;
use xxhash_rust::xxh3::xxh3_64;

/// Maximum words and bytes of a block that is compared by words.
const MAX_WORDS: usize = 60;
const MAX_BYTES: usize = 1_200;

/// Minimum words of a line whose digits are content: pages may differ in nothing else.
const MASKED_WORDS: usize = 12;

/// Letters of Han, kana and Hangul per word: most Chinese and Japanese words have two.
const LETTERS_PER_WORD: usize = 2;
/// First bytes in UTF-8 of U+3000 to U+DFFF, which hold kana, Han and Hangul.
const EAST_ASIAN_LEADS: RangeInclusive<u8> = 0xe3..=0xed;

/// Combines two hashes; the order counts. It folds the 128 bits of a product.
pub(super) const fn mix(a: u64, b: u64) -> u64 {
    let product = (a ^ 0x9e37_79b9_7f4a_7c15) as u128 * (b.rotate_left(32) ^ 0xd6e8_feb8_6659_fd93) as u128;
    (product as u64) ^ (product >> 64) as u64
}

/// Buffers reused from line to line.
#[derive(Default)]
pub(super) struct WordBuffers {
    folded: Vec<u8>,
    shown: String,
}

/// A line as it is counted.
pub(super) struct LineKey {
    /// Hash of the line in lower case, without link targets and heading marks; in a short line each run of
    /// digits is `0`.
    pub(super) key: u64,
    pub(super) words: u32,
    /// Visible characters, and those of them inside links.
    pub(super) shown: usize,
    pub(super) linked: usize,
}

/// Returns true if a text may have a link.
pub(super) fn has_link(text: &str) -> bool {
    let text = text.as_bytes();
    memchr::memchr_iter(b']', text).any(|at| text.get(at + 1) == Some(&b'('))
}

/// Reads a line; `links` is [`has_link`] of the line, or of a text that contains it.
pub(super) fn line_key(line: &str, links: bool, buffers: &mut WordBuffers) -> LineKey {
    let line = line.trim_start_matches('#');
    let (mut shown, mut linked) = (chars(line), 0);
    if links && has_link(line) {
        linked = without_targets(line, &mut buffers.shown);
        shown = chars(&buffers.shown);
        fold(&buffers.shown, &mut buffers.folded);
    } else {
        fold(line, &mut buffers.folded);
    }
    let spaces = spaces(&buffers.folded);
    if spaces < MASKED_WORDS {
        mask(&mut buffers.folded);
    }
    let words = if buffers.folded.is_empty() {
        0
    } else {
        spaces + 1 + east_asian_letters(&buffers.folded) / LETTERS_PER_WORD
    };
    LineKey { key: xxh3_64(&buffers.folded), words: words.try_into().unwrap_or(u32::MAX), shown, linked }
}

/// Counts in bytes, a few at a time, so that the compiler vectorises the loop.
fn spaces(folded: &[u8]) -> usize {
    let of = |bytes: &[u8]| usize::from(bytes.iter().map(|&byte| u8::from(byte == b' ')).sum::<u8>());
    folded.chunks(usize::from(u8::MAX)).map(of).sum()
}

/// Counts letters of Han, kana and Hangul, with their punctuation.
fn east_asian_letters(folded: &[u8]) -> usize {
    if folded.is_ascii() {
        return 0;
    }
    folded.iter().filter(|byte| EAST_ASIAN_LEADS.contains(byte)).count()
}

fn chars(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().count() }
}

/// Writes `[text](target)` as `text`; returns the characters of the texts.
fn without_targets(line: &str, shown: &mut String) -> usize {
    shown.clear();
    let (mut rest, mut linked) = (line, 0);
    while let Some(at) = memmem::find(rest.as_bytes(), b"](") {
        let text = &rest[..at];
        match text.rfind('[') {
            Some(open) => {
                linked += chars(&text[open + 1..]);
                shown.push_str(&text[..open]);
                shown.push_str(&text[open + 1..]);
            }
            None => shown.push_str(text),
        }
        let target = &rest[at + 2..];
        rest = target.find(')').map_or("", |end| &target[end + 1..]);
    }
    shown.push_str(rest);
    linked
}

/// Replaces each run of ASCII digits by one `0`.
fn mask(folded: &mut Vec<u8>) {
    // all bytes are read, without a branch, so that the compiler vectorises the loop
    if !folded.iter().fold(false, |any, byte| any | byte.is_ascii_digit()) {
        return;
    }
    let mut after_digit = false;
    folded.retain_mut(|byte| {
        let digit = byte.is_ascii_digit();
        let keep = !(digit && after_digit);
        if digit {
            *byte = b'0';
        }
        after_digit = digit;
        keep
    });
}

/// A word of a block.
#[derive(Clone, Copy)]
pub(super) struct Word {
    /// Hash with digits masked.
    pub(super) masked: u64,
    /// Hash of the word in lower case.
    pub(super) plain: u64,
}

/// Words of a block; none if it is too long for a template's line.
pub(super) fn words(block: &str, buffers: &mut WordBuffers) -> Vec<Word> {
    if block.len() > MAX_BYTES {
        return Vec::new();
    }
    if has_link(block) {
        without_targets(block, &mut buffers.shown);
        fold(&buffers.shown, &mut buffers.folded);
    } else {
        fold(block, &mut buffers.folded);
    }
    let mut out = Vec::new();
    let mut masked = Vec::new();
    let mut push = |word: &[u8]| {
        if !word.is_empty() {
            out.push(word_of(word, &mut masked));
        }
        out.len() <= MAX_WORDS
    };
    let few = if buffers.folded.is_ascii() {
        buffers.folded.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').all(&mut push)
    } else {
        let folded = String::from_utf8_lossy(&buffers.folded);
        folded.split(|c: char| !c.is_alphanumeric() && c != '_').all(|word| push(word.as_bytes()))
    };
    if few { out } else { Vec::new() }
}

fn word_of(word: &[u8], masked: &mut Vec<u8>) -> Word {
    let plain = xxh3_64(word);
    if !word.iter().any(u8::is_ascii_digit) {
        return Word { masked: plain, plain };
    }
    masked.clear();
    masked.extend_from_slice(word);
    mask(masked);
    Word { masked: xxh3_64(masked), plain }
}

/// Hash of a title: of its unmasked words.
pub(super) fn title(words: &[Word]) -> u64 {
    words.iter().fold(0, |hash, word| mix(hash, word.plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(line: &str) -> u64 {
        line_key(line, true, &mut WordBuffers::default()).key
    }

    #[test]
    fn dates_and_numbers_in_a_line_are_masked() {
        assert_eq!(key("Updated 2024-05-31 at 9:15"), key("updated  2025-11-02 at 10:07"));
        assert_eq!(key("## Notes"), key("Notes"));
        assert_eq!(key("* [Home](/a/b.html) | [Next](c.html)"), key("* Home | Next"));
        assert_ne!(key("Version a"), key("Version b"));
        let report = |n: u8| {
            format!("High water comes at {n} and stands at the second mark until the boats have left again.")
        };
        assert_ne!(key(&report(5)), key(&report(6)), "a report differs in its figures");
    }

    #[test]
    fn links_are_measured_by_their_visible_text() {
        let line = line_key("[Home](/a) and more](x) [open", true, &mut WordBuffers::default());
        assert_eq!((line.linked, line.shown, line.words), (4, "Home and more [open".len(), 4));
    }

    #[test]
    fn long_blocks_are_not_split_into_words() {
        let buffers = &mut WordBuffers::default();
        assert_eq!(words("One two, 3.", buffers).len(), 3);
        assert!(words(&"word ".repeat(61), buffers).is_empty());
        let (a, b) = (words("Part 3", buffers), words("Part 14", buffers));
        assert_eq!(a[1].masked, b[1].masked);
        assert_ne!(title(&a), title(&b));
    }
}
