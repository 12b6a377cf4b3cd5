//! The blocks of a page: where they stand and their hashes. One pass, linear.

use crawl_model::{RemovalReason, RemovedSpan};
use memchr::{memchr, memmem};
use sha2::{Digest, Sha256};
use std::ops::Range;

/// A block that is long enough to be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSpan {
    /// First byte in the page.
    pub start: usize,
    /// Byte after the last one.
    pub end: usize,
    /// [`hash_block`](crate::fingerprint::hash_block) of it.
    pub hash: u64,
}

/// The blocks of one page that are long enough to be judged, in order. Reading them is most of the work, so it is done
/// once a page and handed on from counting to cleaning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageBlocks {
    spans: Vec<BlockSpan>,
}

impl PageBlocks {
    /// Reads a page. Linear in its length.
    #[must_use]
    pub fn of(content: &str, min_block_chars: usize) -> Self {
        let mut folded = Vec::new();
        let long = |range: &Range<usize>| is_long(&content[range.clone()], min_block_chars);
        let spans = parts(content)
            .filter(long)
            .map(|range| BlockSpan {
                start: range.start,
                end: range.end,
                hash: hash_folded(&content[range], &mut folded),
            })
            .collect();
        Self { spans }
    }

    /// The blocks in order.
    #[must_use]
    pub fn spans(&self) -> &[BlockSpan] {
        &self.spans
    }

    /// The hashes, each once, ascending.
    #[must_use]
    pub fn distinct(&self) -> Vec<u64> {
        let mut hashes: Vec<u64> = self.spans.iter().map(|span| span.hash).collect();
        hashes.sort_unstable();
        hashes.dedup();
        hashes
    }

    /// The page without its boilerplate, runs of three line feeds and more cut to two; with what was removed. `boilerplate`
    /// says of a hash on how many pages it stands, if it is boilerplate. `content` is the page that was read.
    pub(crate) fn strip(
        &self,
        content: &str,
        boilerplate: impl Fn(u64) -> Option<u64>,
    ) -> (String, Vec<RemovedSpan>) {
        let mut left = String::with_capacity(content.len());
        let (mut removed, mut from) = (Vec::new(), 0);
        for span in &self.spans {
            let Some(pages) = boilerplate(span.hash) else { continue };
            left.push_str(&content[from..span.start]);
            from = span.end;
            removed.push(RemovedSpan {
                start: span.start as u64,
                end: span.end as u64,
                hash: span.hash,
                reason: RemovalReason::Block,
                pages,
            });
        }
        left.push_str(&content[from..]);
        (fold_line_feeds(left), removed)
    }
}

/// Whitespace as Python has it (`str.isspace`, and `\s` of its `re`): Unicode's White_Space and the four
/// separators U+001C to U+001F.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// As Python's `str.strip`.
pub(crate) fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// As Python's `str.rstrip`.
pub(crate) fn strip_end(text: &str) -> &str {
    text.trim_end_matches(is_space)
}

/// Whether a block has so many characters without the whitespace around it.
fn is_long(block: &str, min_chars: usize) -> bool {
    // a character has at most four bytes, and at least one
    block.len() >= min_chars && strip(block).chars().nth(min_chars.saturating_sub(1)).is_some()
}

/// What `re.split(r'\n\s*\n', content)` gives, as ranges. In a run of whitespace the separator reaches from the first
/// line feed to the last one, since `\s*` takes as much as it can; whitespace before and after it stays with the
/// parts.
pub(crate) fn parts(content: &str) -> impl Iterator<Item = Range<usize>> {
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let start = next?;
        let separator = separator(content, start);
        next = separator.as_ref().map(|separator| separator.end);
        Some(start..separator.map_or(content.len(), |separator| separator.start))
    })
}

/// The first `\n\s*\n` at or after a byte.
fn separator(content: &str, mut at: usize) -> Option<Range<usize>> {
    loop {
        let first = at + memchr(b'\n', &content.as_bytes()[at..])?;
        let (mut last, mut end) = (first, content.len());
        for (i, c) in content[first + 1..].char_indices() {
            if !is_space(c) {
                end = first + 1 + i;
                break;
            }
            if c == '\n' {
                last = first + 1 + i;
            }
        }
        if last > first {
            return Some(first..last + 1);
        }
        at = end;
    }
}

/// `re.sub(r'\n{3,}', '\n\n', text)`.
fn fold_line_feeds(text: String) -> String {
    let Some(mut next) = memmem::find(text.as_bytes(), b"\n\n\n") else { return text };
    let mut folded = String::with_capacity(text.len());
    let mut rest = text.as_str();
    loop {
        folded.push_str(&rest[..next + 2]);
        rest = rest[next + 2..].trim_start_matches('\n');
        match memmem::find(rest.as_bytes(), b"\n\n\n") {
            Some(at) => next = at,
            None => break,
        }
    }
    folded.push_str(rest);
    folded
}

/// The hash of a block, by way of a buffer that is used again.
pub(crate) fn hash_folded(block: &str, folded: &mut Vec<u8>) -> u64 {
    fold(block, folded);
    let digest = Sha256::digest(folded.as_slice());
    let mut head = [0; 8];
    head.copy_from_slice(&digest[..8]);
    u64::from_be_bytes(head)
}

/// `re.sub(r'\s+', ' ', block).strip().lower()` in UTF-8.
pub(crate) fn fold(block: &str, folded: &mut Vec<u8>) {
    folded.clear();
    let block = strip(block);
    if block.contains('Σ') {
        // the one letter whose lower case depends on its neighbours
        folded.extend_from_slice(spaced(block).to_lowercase().as_bytes());
        return;
    }
    let (mut rest, mut after_space) = (block, false);
    while !rest.is_empty() {
        let ascii = rest.bytes().position(|byte| !byte.is_ascii()).unwrap_or(rest.len());
        after_space = fold_ascii(&rest.as_bytes()[..ascii], after_space, folded);
        rest = &rest[ascii..];
        let other = rest.chars().take_while(|c| !c.is_ascii()).map(char::len_utf8).sum();
        for c in rest[..other].chars() {
            let space = is_space(c);
            if !space {
                push_lower(c, folded);
            } else if !after_space {
                folded.push(b' ');
            }
            after_space = space;
        }
        rest = &rest[other..];
    }
}

fn push_lower(c: char, folded: &mut Vec<u8>) {
    for lower in c.to_lowercase() {
        folded.extend_from_slice(lower.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

/// A text with each run of whitespace as one space.
fn spaced(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let c = if is_space(c) { ' ' } else { c };
        if c != ' ' || !out.ends_with(' ') {
            out.push(c);
        }
    }
    out
}

/// The lower case of every ASCII character, a space for every kind of whitespace.
const LOWER: [u8; 128] = {
    let mut table = [0; 128];
    let mut byte = 0;
    while byte < 128 {
        table[byte as usize] = match byte {
            b'\t'..=b'\r' | 0x1c..=0x1f => b' ',
            _ => byte.to_ascii_lowercase(),
        };
        byte += 1;
    }
    table
};

/// Appends ASCII text; returns whether it ends in a space. Every byte is written, and the place for the next one moves on
/// unless it was one more space: no branch to guess.
fn fold_ascii(text: &[u8], mut after_space: bool, folded: &mut Vec<u8>) -> bool {
    let start = folded.len();
    folded.resize(start + text.len(), 0);
    let (out, mut len) = (&mut folded[start..], 0);
    for &byte in text {
        let lower = LOWER[usize::from(byte & 0x7f)];
        let space = lower == b' ';
        out[len] = lower;
        len += usize::from(!(space && after_space));
        after_space = space;
    }
    folded.truncate(start + len);
    after_space
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(content: &str) -> Vec<&str> {
        parts(content).map(|range| &content[range]).collect()
    }

    /// Expected values from Python's `re.split(r'\n\s*\n', …)`.
    #[test]
    fn splits_as_python_does() {
        assert_eq!(split(""), [""]);
        assert_eq!(split("a"), ["a"]);
        assert_eq!(split("a\nb"), ["a\nb"]);
        assert_eq!(split("a\n\nb"), ["a", "b"]);
        assert_eq!(split("a\n \t\nb"), ["a", "b"]);
        assert_eq!(split("a\n\n\n\nb"), ["a", "b"]);
        assert_eq!(split("a  \n x \n\n  b"), ["a  \n x ", "  b"]);
        assert_eq!(split("\n\na\n\n"), ["", "a", ""]);
        assert_eq!(split("\n"), ["\n"]);
        assert_eq!(split("\n\n"), ["", ""]);
        assert_eq!(split(" \n \n "), [" ", " "]);
        assert_eq!(split("a\r\n\r\nb"), ["a\r", "b"]);
        assert_eq!(split("a\n\u{a0}\u{3000}\nb"), ["a", "b"]);
        assert_eq!(split("a\n\u{1c}\nb"), ["a", "b"], "a separator that Unicode does not call whitespace");
        assert_eq!(split("a\n\u{200b}\nb"), ["a\n\u{200b}\nb"], "no whitespace in either");
        assert_eq!(split("é\n\né\n\n\u{2028}é"), ["é", "é", "\u{2028}é"]);
    }

    /// Expected values from Python's `re.sub(r'\s+', ' ', …).strip().lower()`.
    #[test]
    fn folds_as_python_does() {
        let folded = |text: &str| {
            let mut out = b"left over".to_vec();
            fold(text, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(folded("  A \t\n B\u{a0}\u{1f}C "), "a b c");
        assert_eq!(folded("ÀÉ İ ẞ Ǆ"), "àé i\u{307} ß ǆ");
        assert_eq!(folded("ΣΟΦΟΣ ΣΑΣ.\nΣ"), "σοφος σας. σ");
        assert_eq!(folded(" \n "), "");
        assert_eq!(folded("a \u{a0} É\u{2003}\u{2003}\nB\u{2028}"), "a é b", "runs of mixed whitespace");
        assert_eq!(folded("\tONE \n\x1c\x0b two  \x00\x7fThree\n"), "one two \0\x7fthree");
    }

    #[test]
    fn long_is_counted_in_characters_without_outer_whitespace() {
        assert!(is_long("ééééé", 5) && !is_long("ééééé", 6));
        assert!(!is_long("  abcd  ", 5) && is_long("  ab cd  ", 5));
    }

    #[test]
    fn line_feeds_are_folded_in_one_pass() {
        assert_eq!(fold_line_feeds("a\n\n\n\nb\n\nc\nd\n\n\n".into()), "a\n\nb\n\nc\nd\n\n");
    }
}
