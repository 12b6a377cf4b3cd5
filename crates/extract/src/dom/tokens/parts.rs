//! Parts of a page as tokens use them.

use super::{Scan, is_space, position};
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

    /// A part of the page; without a copy if the page is not large.
    pub(super) fn shared(&self, part: &Range<usize>) -> StrTendril {
        match &self.source {
            Some(source) => source.subtendril(part.start as u32, part.len() as u32),
            None => StrTendril::from_slice(&self.html[part.clone()]),
        }
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
