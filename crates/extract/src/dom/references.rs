//! Character references (HTML standard §13.2.5.72 on).

use html5ever::data::{C1_REPLACEMENTS, NAMED_ENTITIES};
use memchr::memchr;
use std::borrow::Cow;

/// Upper bound of the length of a character name.
const MAX_NAME: usize = 40;

/// Text with its references replaced.
pub(crate) fn in_text(text: &str) -> Cow<'_, str> {
    replace(text, false)
}

/// Resolves the references of an attribute's value. One without a semicolon does not count if the URL
/// continues after it.
pub(super) fn in_attribute(value: &str) -> Cow<'_, str> {
    replace(value, true)
}

fn replace(text: &str, attribute: bool) -> Cow<'_, str> {
    let Some(mut at) = memchr(b'&', text.as_bytes()) else { return Cow::Borrowed(text) };
    let mut out = String::with_capacity(text.len());
    let mut kept = 0;
    loop {
        let rest = &text[at + 1..];
        let found = match rest.as_bytes().first() {
            Some(b'#') => number(rest),
            Some(c) if c.is_ascii_alphanumeric() => name(rest, attribute),
            _ => None,
        };
        if let Some((first, second, len)) = found {
            out.push_str(&text[kept..at]);
            out.push(first);
            out.extend(second);
            kept = at + 1 + len;
        }
        let from = kept.max(at + 1);
        match memchr(b'&', &text.as_bytes()[from..]) {
            Some(next) => at = from + next,
            None => break,
        }
    }
    out.push_str(&text[kept..]);
    Cow::Owned(out)
}

type Found = Option<(char, Option<char>, usize)>;

/// The longest character name at the start of the text: its characters and its length.
fn name(text: &str, attribute: bool) -> Found {
    let bytes = text.as_bytes();
    // Nearly all references have one of these names, and the table is slow.
    let common = [("lt;", '<'), ("gt;", '>'), ("amp;", '&'), ("nbsp;", '\u{a0}'), ("quot;", '"')];
    if let Some((name, c)) = common.into_iter().find(|(name, _)| text.starts_with(name)) {
        return Some((c, None, name.len()));
    }
    let run = bytes.iter().take(MAX_NAME).position(|b| !b.is_ascii_alphanumeric());
    let run = run.unwrap_or(bytes.len().min(MAX_NAME));
    let lookup = |len: usize| {
        let (first, second) = *NAMED_ENTITIES.get(text.get(..len)?)?;
        let first = char::from_u32(first).filter(|c| *c != '\0')?;
        Some((first, char::from_u32(second).filter(|c| *c != '\0'), len))
    };
    if bytes.get(run) == Some(&b';')
        && let Some(found) = lookup(run + 1)
    {
        return Some(found);
    }
    if attribute {
        return if bytes.get(run) == Some(&b'=') { None } else { lookup(run) };
    }
    (1..=run).rev().find_map(lookup)
}

/// Number and length of a reference: from the number sign to the semicolon, if there is one.
fn number(text: &str) -> Found {
    let hex = matches!(text.as_bytes().get(1), Some(b'x' | b'X'));
    let (start, radix) = if hex { (2, 16) } else { (1, 10) };
    let mut value = 0u32;
    let mut len = start;
    while let Some(digit) = text.as_bytes().get(len).and_then(|b| char::from(*b).to_digit(radix)) {
        value = value.saturating_mul(radix).saturating_add(digit);
        len += 1;
    }
    if len == start {
        return None;
    }
    len += usize::from(text.as_bytes().get(len) == Some(&b';'));
    let replaced = match value {
        0 => None,
        0x80..=0x9F => C1_REPLACEMENTS[(value - 0x80) as usize].or_else(|| char::from_u32(value)),
        _ => char::from_u32(value),
    };
    Some((replaced.unwrap_or('\u{fffd}'), None, len))
}
