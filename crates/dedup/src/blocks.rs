//! Blocks of a page, with positions and hashes. One pass, linear.

use crate::fence::{Fence, without_parts_of_code};
use crawl_model::{RemovalReason, RemovedSpan};
use memchr::{memchr, memmem};
use sha2::{Digest, Sha256};
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

/// A block of at least the minimum length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSpan {
    /// First byte in the page.
    pub start: usize,
    /// Byte after the last one.
    pub end: usize,
    /// [`hash_block`](crate::fingerprint::hash_block) of it.
    pub hash: u64,
}

/// Blocks of one page of at least the minimum length, in order. Reading them is most of the work, so counting
/// passes them on to cleaning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageBlocks {
    spans: Vec<BlockSpan>,
}

impl PageBlocks {
    /// Reads a page, in linear time.
    #[must_use]
    pub fn of(content: &str, min_block_chars: usize) -> Self {
        Self::with(content, min_block_chars, hash_of_folded)
    }

    /// Reads a page with quick hashes (64 bits of XXH3) of the same folded blocks, which suffice for
    /// counting. Only the few boilerplate blocks get their real hashes later.
    pub(crate) fn quick(content: &str, min_block_chars: usize) -> Self {
        Self::with(content, min_block_chars, xxh3_64)
    }

    fn with(content: &str, min_block_chars: usize, hash: impl Fn(&[u8]) -> u64) -> Self {
        let mut folded = Vec::new();
        let mut spans = Vec::new();
        for range in parts(content) {
            let block = &content[range.clone()];
            if is_long(block, min_block_chars) {
                fold(block, &mut folded);
                spans.push(BlockSpan { start: range.start, end: range.end, hash: hash(&folded) });
            }
        }
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

    /// One span of each hash.
    pub(crate) fn first_of_each(&self) -> Vec<BlockSpan> {
        let mut spans = self.spans.clone();
        spans.sort_unstable_by_key(|span| span.hash);
        spans.dedup_by_key(|span| span.hash);
        spans
    }

    /// Removes the boilerplate of a page and folds runs of three or more line feeds to two; `None` if no
    /// block is removed. `boilerplate` returns the real hash and the number of pages of a boilerplate block
    /// by its hash. `content` is the page that was read.
    pub(crate) fn strip(
        &self,
        content: &str,
        boilerplate: impl Fn(u64) -> Option<Repeated>,
    ) -> Option<(String, Vec<RemovedSpan>)> {
        let removed: Vec<RemovedSpan> = self
            .spans
            .iter()
            .filter_map(|span| {
                let Repeated { hash, pages } = boilerplate(span.hash)?;
                let (start, end) = (span.start as u64, span.end as u64);
                Some(RemovedSpan { start, end, hash, key: None, reason: RemovalReason::Block, pages })
            })
            .collect();
        let removed = without_parts_of_code(content, removed);
        if removed.is_empty() {
            return None;
        }
        let (mut left, mut from) = (String::with_capacity(content.len()), 0);
        for span in &removed {
            left.push_str(&content[from..span.start as usize]);
            from = span.end as usize;
        }
        left.push_str(&content[from..]);
        Some((fold_line_feeds(left), removed))
    }
}

/// A block that is boilerplate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Repeated {
    /// [`hash_block`](crate::fingerprint::hash_block) of it.
    pub(crate) hash: u64,
    /// Pages that have it.
    pub(crate) pages: u64,
}

/// Returns true for whitespace as Python defines it (`str.isspace`, and `\s` of its `re`): Unicode's
/// White_Space and the four separators U+001C to U+001F.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Equivalent of Python's `str.strip`.
pub(crate) fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Equivalent of Python's `str.rstrip`.
pub(crate) fn strip_end(text: &str) -> &str {
    text.trim_end_matches(is_space)
}

/// Returns true if a block has at least `min_chars` characters after trimming.
fn is_long(block: &str, min_chars: usize) -> bool {
    let block = strip(block);
    // a character has one to four bytes
    match block.len() {
        len if len < min_chars => false,
        len if len >= min_chars.saturating_mul(4) => true,
        _ => block.chars().nth(min_chars.saturating_sub(1)).is_some(),
    }
}

/// Ranges that `re.split(r'\n\s*\n', content)` gives. In a run of whitespace the separator extends from the
/// first line feed to the last, since `\s*` is greedy. Whitespace before and after it stays with the parts.
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
pub(crate) fn fold_line_feeds(text: String) -> String {
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

/// Folds line feeds as [`fold_line_feeds`] does, except within fenced code.
pub(crate) fn fold_line_feeds_outside_code(text: String) -> String {
    if memmem::find(text.as_bytes(), b"\n\n\n").is_none() {
        return text;
    }
    let mut folded = String::with_capacity(text.len());
    // trailing line feeds of the output
    let (mut fence, mut feeds) = (Fence::default(), 0);
    for line in text.split_inclusive('\n') {
        let in_code = fence.is_open();
        fence.read(line);
        if line != "\n" {
            feeds = usize::from(line.ends_with('\n'));
            folded.push_str(line);
        } else if in_code || feeds < 2 {
            feeds += 1;
            folded.push('\n');
        }
    }
    folded
}

/// Hash of a block; the buffer is reused.
pub(crate) fn hash_folded(block: &str, folded: &mut Vec<u8>) -> u64 {
    fold(block, folded);
    hash_of_folded(folded)
}

fn hash_of_folded(folded: &[u8]) -> u64 {
    let digest = Sha256::digest(folded);
    let mut head = [0; 8];
    head.copy_from_slice(&digest[..8]);
    u64::from_be_bytes(head)
}

/// `re.sub(r'\s+', ' ', block).strip().lower()` in UTF-8.
pub(crate) fn fold(block: &str, folded: &mut Vec<u8>) {
    folded.clear();
    let block = strip(block);
    let bytes = block.as_bytes();
    folded.reserve(bytes.len() + CHUNK);
    let (mut at, mut after_space, mut most, mut out) = (0, false, CHUNK, [0; CHUNK]);
    while at < bytes.len() {
        let rest = &bytes[at..];
        let len = rest.len().min(most);
        // padded with a character that is neither a space nor outside ASCII
        let mut filled = [b'.'; CHUNK + 1];
        let chunk = rest.first_chunk().filter(|_| len == CHUNK).unwrap_or_else(|| {
            filled[..len].copy_from_slice(&rest[..len]);
            &filled
        });
        match fold_chunk(chunk, &mut out) {
            Chunk::Single if !(after_space && out[0] == b' ') => {
                // a whole array takes two instructions to copy
                folded.extend_from_slice(&out);
                folded.truncate(folded.len() - (CHUNK - len));
            }
            Chunk::Single | Chunk::Runs => push_single(&out[..len], after_space, folded),
            Chunk::Other => {
                let ascii = run(&rest[..len], u8::is_ascii);
                if (1..len).contains(&ascii) {
                    most = ascii;
                    continue;
                }
                let end = at + if ascii == 0 { run(rest, |byte| !byte.is_ascii()) } else { len };
                let other = &block[at..end];
                if other.contains('Σ') {
                    // the one letter whose lower case depends on its neighbours
                    *folded = spaced(block).to_lowercase().into_bytes();
                    return;
                }
                after_space = fold_chars(other, after_space, folded);
                (at, most) = (end, CHUNK);
                continue;
            }
        }
        after_space = out[len - 1] == b' ';
        (at, most) = (at + len, CHUNK);
    }
}

/// Bytes folded at a time.
const CHUNK: usize = 32;

/// Class of a chunk.
enum Chunk {
    /// ASCII without two consecutive spaces, including the next byte.
    Single,
    /// ASCII with some.
    Runs,
    /// Other text: not only ASCII, or with invisible characters that are not whitespace.
    Other,
}

/// Folds a chunk of ASCII text to lower case, with a space for each whitespace. It uses minimum and maximum
/// instead of branches, so that the compiler vectorises it. The last byte is lookahead.
fn fold_chunk(chunk: &[u8; CHUNK + 1], out: &mut [u8; CHUNK]) -> Chunk {
    let mut lower = [0; CHUNK];
    for i in 0..CHUNK {
        let upper = chunk[i].wrapping_sub(b'A') < 26;
        lower[i] = chunk[i].max(b' ') | (u8::from(upper) << 5);
    }
    *out = lower;
    // two bytes are both whitespace if the greater one is
    let mut pair = u8::MAX;
    for i in 0..CHUNK {
        pair = pair.min(chunk[i].max(chunk[i + 1]));
    }
    // 18 control characters follow the last whitespace (14). Relative to the first whitespace (9), lower
    // bytes wrap around above ASCII, as do bytes outside ASCII.
    let (mut least, mut greatest) = (u8::MAX, 0);
    for byte in &chunk[..CHUNK] {
        least = least.min(byte.wrapping_sub(b'\r' + 1));
        greatest = greatest.max(byte.wrapping_sub(b'\t'));
    }
    match (least >= 18 && greatest < 0x80 - b'\t', pair > b' ') {
        (true, true) => Chunk::Single,
        (true, false) => Chunk::Runs,
        (false, _) => Chunk::Other,
    }
}

/// Bytes that a text begins with.
fn run(text: &[u8], are: impl Fn(&u8) -> bool) -> usize {
    text.iter().take_while(|byte| are(byte)).count()
}

/// Appends text with each whitespace as a space and each run of spaces as one.
fn push_single(text: &[u8], mut after_space: bool, folded: &mut Vec<u8>) {
    folded.extend(text.iter().filter(|&&byte| {
        let space = byte == b' ';
        !(std::mem::replace(&mut after_space, space) && space)
    }));
}

/// Folds any text character by character; returns true if it ends in a space.
fn fold_chars(text: &str, mut after_space: bool, folded: &mut Vec<u8>) -> bool {
    for c in text.chars() {
        let space = is_space(c);
        if !space && c.is_ascii() {
            folded.push(c.to_ascii_lowercase() as u8);
        } else if !space {
            push_lower(c, folded);
        } else if !after_space {
            folded.push(b' ');
        }
        after_space = space;
    }
    after_space
}

fn push_lower(c: char, folded: &mut Vec<u8>) {
    for lower in c.to_lowercase() {
        folded.extend_from_slice(lower.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

/// Text with each run of whitespace as one space.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn split(content: &str) -> Vec<&str> {
        parts(content).map(|range| &content[range]).collect()
    }

    /// Expected values from Python's `re.split(r'\n\s*\n', …)`.
    #[test]
    fn blocks_split_like_python_re_split() {
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
    fn whitespace_and_case_fold_like_python() {
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
    fn block_length_counts_characters_without_outer_whitespace() {
        assert!(is_long("ééééé", 5) && !is_long("ééééé", 6));
        assert!(!is_long("  abcd  ", 5) && is_long("  ab cd  ", 5));
    }

    #[test]
    fn blank_lines_are_collapsed() {
        assert_eq!(fold_line_feeds("a\n\n\n\nb\n\nc\nd\n\n\n".into()), "a\n\nb\n\nc\nd\n\n");
    }

    #[test]
    fn blank_lines_in_code_stay() {
        let folded = |text: &str| fold_line_feeds_outside_code(text.into());
        for text in ["a\n\n\n\nb\n\nc\nd\n\n\n", "\n\n\n\na", "\n\n\n", "a\n\n\nb\n", "a\n \n\n\n\nb"] {
            assert_eq!(folded(text), fold_line_feeds(text.into()), "{text:?}");
        }
        let code = "```py\ndef a():\n\n\ndef b():\n```\n\nend";
        assert_eq!(folded(&format!("start\n\n\n{code}\n\n\n\nmore")), format!("start\n\n{code}\n\nmore"));
        let longer = "~~~~\na\n\n\n\n~~~\n\n\n~~~~";
        assert_eq!(folded(&format!("{longer}\n\n\nb")), format!("{longer}\n\nb"));
        let open = "```\na\n\n\nb";
        assert_eq!(folded(open), open, "code that nothing ends");
    }
}
