//! Text of one block during its construction.

use std::ops::Range;

/// An open inline element, and the start of its text.
#[derive(Clone, Debug)]
pub(super) struct Open {
    pub(super) id: u32,
    pub(super) start: usize,
    /// Mark of the parts that end before the element does: a block ends inside of it.
    pub(super) mark: Option<Mark>,
}

/// Meaning of a range of text in Markdown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Strong,
    Em,
    Del,
    Code,
    Sup,
    Sub,
    /// A link: the output after its text, from the closing bracket on, and its URL.
    Link {
        after: String,
        url: String,
    },
    /// The range is Markdown already: an image, a formula, a footnote reference.
    Raw,
}

/// A range of text with a mark.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) range: Range<usize>,
    pub(super) mark: Mark,
}

/// Bytes for the text of a block at its start; most blocks have less.
const FIRST_BYTES: usize = 128;

/// Text of a block, whitespace folded, and the marks of its parts. The text is the visible one; only
/// [`Mark::Raw`] ranges are written differently.
#[derive(Debug, Default)]
pub(super) struct Inline {
    pub(super) text: String,
    pub(super) open: Vec<Open>,
    /// Spans in the order in which their elements end.
    pub(super) spans: Vec<Span>,
    pub(super) chars: u32,
    pub(super) link_chars: u32,
    pub(super) nodes: Vec<u32>,
    /// True for plain text, in which line-break characters stay.
    pub(super) plain: bool,
}

impl Inline {
    /// Adds the text of a node.
    pub(super) fn push(&mut self, text: &str, in_link: bool) {
        let before = self.text.len();
        let least = if self.text.capacity() == 0 { FIRST_BYTES } else { 0 };
        self.text.reserve(text.len().max(least));
        if is_folded(text) {
            let rest = text.strip_prefix(' ').unwrap_or(text);
            if rest.len() < text.len() {
                self.space();
            }
            self.text.push_str(rest);
        } else {
            self.push_folded(text);
        }
        let added = &self.text[before..];
        let added = if text.is_ascii() { added.len() } else { added.chars().count() } as u32;
        self.chars += added;
        if in_link {
            self.link_chars += added;
        }
    }

    /// Adds text with its whitespace folded. Runs without whitespace are copied whole.
    fn push_folded(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let end = special_at(rest);
            self.text.push_str(&rest[..end]);
            rest = &rest[end..];
            // Most gaps are one space between two words.
            if let [b' ', next, ..] = rest.as_bytes()
                && next.is_ascii_graphic()
            {
                self.space();
                rest = &rest[1..];
                continue;
            }
            let after = rest.trim_start_matches(is_special);
            let gap = &rest[..rest.len() - after.len()];
            if gap.contains(|c| is_space(c) || self.plain && c != SOFT_HYPHEN && is_invisible(c)) {
                self.space();
            } else if self.plain {
                self.text.push_str(gap);
            }
            rest = after;
        }
    }

    /// Adds Markdown unchanged.
    pub(super) fn push_raw(&mut self, markdown: &str) {
        let start = self.text.len();
        self.text.push_str(markdown);
        self.spans.push(Span { range: start..self.text.len(), mark: Mark::Raw });
    }

    /// Adds one space, unless there is one or no text yet.
    pub(super) fn space(&mut self) {
        if !matches!(self.text.as_bytes().last(), None | Some(b' ' | b'\n')) {
            self.text.push(' ');
        }
    }

    /// Removes spaces at the end.
    pub(super) fn trim_end(&mut self) {
        self.text.truncate(self.text.trim_end_matches(' ').len());
    }

    /// Adds a line break within the block; a second one begins a paragraph if `paragraphs`.
    pub(super) fn newline(&mut self, paragraphs: bool) {
        let len = self.text.trim_end_matches(' ').len();
        self.text.truncate(len);
        let enough = if paragraphs { "\n\n" } else { "\n" };
        if !self.text.is_empty() && !self.text.ends_with(enough) {
            self.text.push('\n');
        }
    }

    /// Opens an inline element.
    pub(super) fn open(&mut self, id: u32, mark: Option<Mark>) {
        self.open.push(Open { id, start: self.text.len(), mark });
    }

    /// Closes an inline element; returns the byte range of its trimmed text, if any, and its opening mark.
    pub(super) fn close(&mut self, id: u32) -> Option<(Range<usize>, Option<Mark>)> {
        let at = self.open.iter().rposition(|open| open.id == id)?;
        let open = self.open.swap_remove(at);
        self.open.truncate(at);
        Some((self.trimmed(open.start)?, open.mark))
    }

    /// The trimmed range from a position to the end.
    fn trimmed(&self, start: usize) -> Option<Range<usize>> {
        trimmed(&self.text, start..self.text.len())
    }

    /// Marks a range.
    pub(super) fn mark(&mut self, range: Range<usize>, mark: Mark) {
        self.spans.push(Span { range, mark });
    }

    /// Drops the text after a position.
    pub(super) fn truncate(&mut self, len: usize) {
        self.text.truncate(len);
        // Spans end in the order of the list.
        while self.spans.pop_if(|span| span.range.start >= len).is_some() {}
        for span in self.spans.iter_mut().rev().take_while(|span| span.range.end > len) {
            span.range.end = len;
        }
    }

    /// Starts the next block, in which open elements continue. Open elements mark the written text, and a
    /// link's URL is written in its first block.
    pub(super) fn end_block(&mut self) -> Vec<Span> {
        let empty = is_blank(&self.text);
        let mut seen: Vec<std::mem::Discriminant<Mark>> = Vec::new();
        for at in (0..self.open.len()).rev() {
            let range = self.trimmed(self.open[at].start);
            let open = &mut self.open[at];
            open.start = 0;
            if let (Some(range), Some(mark), false) = (range, &open.mark, empty) {
                let kind = std::mem::discriminant(mark);
                if seen.contains(&kind) {
                    continue;
                }
                seen.push(kind);
                let mark = mark.clone();
                if matches!(mark, Mark::Link { .. }) {
                    open.mark = None;
                }
                self.spans.push(Span { range, mark });
            }
        }
        std::mem::take(&mut self.spans)
    }

    /// Takes everything but the open elements.
    pub(super) fn take(&mut self) -> Self {
        let open = std::mem::take(&mut self.open);
        let plain = self.plain;
        std::mem::replace(self, Self { open, plain, ..Self::default() })
    }
}

/// Returns true for the bytes that a folded text is trimmed of.
const fn is_gap(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n')
}

/// A range of a folded text without spaces and line breaks at its ends, if it has more.
pub(super) fn trimmed(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let inner = text.get(range.clone())?.as_bytes();
    let first = inner.iter().position(|byte| !is_gap(*byte))?;
    let last = inner.iter().rposition(|byte| !is_gap(*byte))?;
    Some(range.start + first..range.start + last + 1)
}

/// Returns true for a folded text of spaces and line breaks.
pub(super) fn is_blank(text: &str) -> bool {
    text.bytes().all(is_gap)
}

/// Returns true for whitespace that HTML folds, for the no-break space, and for separators of lines and paragraphs.
pub(super) const fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0c' | '\u{a0}' | '\u{2028}' | '\u{2029}')
}

/// Returns true for characters that only permit a line break; the joiners of Persian and of emoji are no such
/// characters.
pub(super) const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}')
}

/// Position at which a word may be hyphenated.
const SOFT_HYPHEN: char = '\u{ad}';

const fn is_special(c: char) -> bool {
    is_space(c) || is_invisible(c)
}

/// Returns true for a byte that may begin a special character other than a space. Those outside of ASCII begin
/// U+00A0, U+00AD, U+200B, U+2028, U+2029, U+2060 and U+FEFF.
const fn may_be_special(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\r' | b'\x0c' | 0xC2 | 0xE2 | 0xEF)
}

/// Returns true for a text without special characters but single spaces. May return false for such a text.
fn is_folded(text: &str) -> bool {
    let bytes = text.as_bytes();
    let Some(rest) = bytes.get(1..) else { return true };
    // Without an early exit, the compiler compares many bytes at once.
    let special = bytes.iter().fold(false, |found, byte| found | may_be_special(*byte));
    !special && !bytes.iter().zip(rest).fold(false, |found, (a, b)| found | ((*a == b' ') & (*b == b' ')))
}

/// Position of the first special character, or the length of the text.
fn special_at(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut from = 0;
    let may_begin = |byte: &u8| *byte == b' ' || may_be_special(*byte);
    while let Some(at) = bytes[from..].iter().position(may_begin).map(|at| from + at) {
        if bytes[at].is_ascii() || text[at..].starts_with(is_special) {
            return at;
        }
        from = at + 1;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_text_is_folded_and_marked() {
        let mut inline = Inline::default();
        inline.push(" a\n ", false);
        inline.open(7, Some(Mark::Strong));
        inline.push(" b\u{a0}c ", true);
        let (range, mark) = inline.close(7).unwrap();
        inline.mark(range.clone(), mark.unwrap());
        inline.push(" d", false);
        assert_eq!((inline.text.as_str(), &inline.text[range]), ("a b c d", "b c"));
        assert_eq!((inline.chars, inline.link_chars), (7, 4));
    }

    #[test]
    fn finds_special_characters_by_their_first_byte() {
        for c in ('\0'..='\u{ffff}').filter(|c| is_special(*c)) {
            assert_eq!(special_at(&format!("aé{c}b")), 3, "{c:?}");
        }
        assert_eq!(special_at("\u{a1}\u{2013}\u{ff01}a"), "\u{a1}\u{2013}\u{ff01}a".len());
    }

    #[test]
    fn invisible_characters_are_removed_within_words() {
        let mut inline = Inline::default();
        inline.push("soft\u{ad}hyphen \u{200b} zero\u{200b}width می\u{200c}خواهم", false);
        assert_eq!(inline.text, "softhyphen zerowidth می\u{200c}خواهم");
    }
}
