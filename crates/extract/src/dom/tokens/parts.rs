//! Parts of a page as tokens use them.

use super::{Scan, is_space, position};
use crate::text::head;
use html5ever::{tendril::StrTendril, tokenizer::TokenSink};
use memchr::{memchr, memmem};
use std::{borrow::Cow, ops::Range};

impl<'a, S: TokenSink> Scan<'a, S> {
    /// A part of the page with its references replaced. Most parts have no such characters and are too short for a
    /// separate search.
    pub(super) fn replaced(
        &self,
        part: &Range<usize>,
        replace: impl Fn(&'a str) -> Cow<'a, str>,
    ) -> Cow<'a, str> {
        if self.reference.get() < part.start {
            let rest = &self.html.as_bytes()[part.start..];
            self.reference.set(memchr(b'&', rest).map_or(self.html.len(), |at| part.start + at));
        }
        let text = &self.html[part.clone()];
        if self.reference.get() < part.end { replace(text) } else { Cow::Borrowed(text) }
    }

    /// A part of the page, which shares the memory of the window. A token holds a short text itself.
    pub(super) fn shared(&mut self, part: &Range<usize>) -> StrTendril {
        if part.len() <= MAX_INLINE || part.len() > MAX_WINDOW {
            return StrTendril::from_slice(&self.html[part.clone()]);
        }
        if !self.window.holds(part) {
            self.window = Window::at(self.html, part.start);
        }
        self.window.part(part)
    }
}

/// Maximum bytes of a text without memory of its own.
const MAX_INLINE: usize = 8;

/// Maximum bytes of a window: a copy of a large page would double its memory. The pages of tests have several windows.
pub(super) const MAX_WINDOW: usize = if cfg!(test) { 32 } else { 1 << 20 };

/// Copy of a part of the page.
#[derive(Default)]
pub(super) struct Window {
    start: usize,
    text: StrTendril,
}

impl Window {
    /// The part of the page from a position on.
    fn at(html: &str, start: usize) -> Self {
        Self { start, text: StrTendril::from_slice(head(&html[start..], MAX_WINDOW)) }
    }

    fn holds(&self, part: &Range<usize>) -> bool {
        part.start >= self.start && part.end <= self.start + self.text.len()
    }

    /// A part of the page that the window holds.
    fn part(&self, part: &Range<usize>) -> StrTendril {
        self.text.subtendril((part.start - self.start) as u32, part.len() as u32)
    }
}

/// Position of the first `<` from `at` on that is not text, or the end.
pub(super) fn markup(bytes: &[u8], mut at: usize) -> usize {
    // Behind a tag there often is another one.
    let next = |at: usize| match bytes.get(at) {
        Some(b'<') => Some(at),
        _ => memchr(b'<', &bytes[at..]).map(|found| at + found),
    };
    while let Some(open) = next(at) {
        match bytes.get(open + 1) {
            Some(b'!' | b'?') => return open,
            Some(b'/') if open + 2 < bytes.len() => return open,
            Some(c) if c.is_ascii_alphabetic() => return open,
            _ => at = open + 1,
        }
    }
    bytes.len()
}

pub(super) fn after_comment(bytes: &[u8], open: usize) -> usize {
    let body = open + 4;
    // `<!-->` and `<!--->` are whole comments.
    if bytes[body..].starts_with(b">") {
        return body + 1;
    }
    if bytes[body..].starts_with(b"->") {
        return body + 2;
    }
    let mut at = body;
    while let Some(found) = memmem::find(&bytes[at..], b"--") {
        let dashes = at + found;
        match bytes[dashes + 2..] {
            [b'>', ..] => return dashes + 3,
            [b'!', b'>', ..] => return dashes + 4,
            _ => at = dashes + 1,
        }
    }
    bytes.len()
}

/// Name of the attribute that begins at `at`, the range of its value, and its end. `None` if the page ends
/// before it.
pub(super) fn attribute(html: &str, at: usize) -> Option<(&str, Range<usize>, usize)> {
    let bytes = html.as_bytes();
    // A leading equals sign belongs to the name.
    let end = position(bytes, at + 1, |b| is_space(b) || matches!(b, b'/' | b'>' | b'='));
    // Not inside of a character: the match is ASCII, or the page's end.
    let name = html.get(at..end)?;
    let equals = position(bytes, end, |b| !is_space(b));
    if *bytes.get(equals)? != b'=' {
        return Some((name, end..end, end));
    }
    let start = position(bytes, equals + 1, |b| !is_space(b));
    match *bytes.get(start)? {
        b'>' => Some((name, start..start, start)),
        quote @ (b'"' | b'\'') => {
            let len = memchr(quote, &bytes[start + 1..])?;
            Some((name, start + 1..start + 1 + len, start + len + 2))
        }
        _ => {
            let end = position(bytes, start, |b| is_space(b) || b == b'>');
            Some((name, start..end, end))
        }
    }
}
