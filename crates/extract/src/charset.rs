//! Decoding of bytes: byte order mark, HTTP header, the HTML standard's prescan, then a guess.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use std::borrow::Cow;

/// Bytes of the page that are searched for a declaration. The prescan of the HTML standard (§13.2.3.2) ends
/// after 1024. The parser also honours a later meta element (§13.2.3.4), so both are one step here.
const PRESCAN_BYTES: usize = 64 * 1024;
/// Maximum bytes for the guess: enough for a page with late text, bounded in time.
const GUESS_BYTES: usize = 256 * 1024;

/// Source of the charset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// A byte order mark.
    Bom,
    /// `charset` of the `Content-Type` header.
    Header,
    /// `<meta charset>` or `<meta http-equiv>`, found by the prescan, or an XML declaration.
    Meta,
    /// No declaration: the bytes are valid UTF-8, or look like the guessed charset.
    Guess,
}

/// A charset that a page or its header declares.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Declaration {
    /// The header or the page.
    pub source: Source,
    /// The label as it is written, in lower case if it is of the page.
    pub label: String,
    /// Name of the charset in the Encoding Standard; `None` for an unknown label.
    pub charset: Option<&'static str>,
}

/// The charsets that the header and the page declare, as [`decode`] reads them. An unknown label of the page is listed if the page
/// has no known one.
#[must_use]
pub fn declarations(bytes: &[u8], content_type: Option<&str>) -> Vec<Declaration> {
    let header = content_type.and_then(header_label).map(|label| Declaration {
        source: Source::Header,
        label: label.to_owned(),
        charset: Encoding::for_label(label.as_bytes()).map(Encoding::name),
    });
    let mut label = Vec::new();
    let charset = prescan_with(bytes, &mut |found| label = found.to_vec()).map(Encoding::name);
    let page = (!label.is_empty()).then(|| Declaration {
        source: Source::Meta,
        label: String::from_utf8_lossy(&label).into_owned(),
        charset,
    });
    header.into_iter().chain(page).collect()
}

/// Text and how it was decoded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Decoded<'a> {
    /// Text; borrowed if the bytes are valid UTF-8.
    pub text: Cow<'a, str>,
    /// Name of the charset in the Encoding Standard.
    pub charset: &'static str,
    /// Source of the charset.
    pub source: Source,
    /// True if bytes are invalid in the charset; they became U+FFFD.
    pub had_errors: bool,
    /// True if the declared charset does not fit the bytes and was replaced.
    pub overridden: bool,
}

/// Decodes the bytes of a page. `content_type` is the raw header value, if there was one.
///
/// The order is the HTML standard's: byte order mark, transport, prescan, guess. There is one deviation: the
/// bytes override a wrong declaration. That is a legacy charset for valid UTF-8 with a multi-byte sequence,
/// or UTF-8 for a page full of invalid bytes.
#[must_use]
pub fn decode<'a>(bytes: &'a [u8], content_type: Option<&str>) -> Decoded<'a> {
    if let Some((encoding, skip)) = Encoding::for_bom(bytes) {
        let (text, had_errors) = encoding.decode_without_bom_handling(&bytes[skip..]);
        return Decoded {
            text,
            charset: encoding.name(),
            source: Source::Bom,
            had_errors,
            overridden: false,
        };
    }
    let header = content_type.and_then(header_charset);
    let declared = header.map(|e| (e, Source::Header)).or_else(|| Some((prescan(bytes)?, Source::Meta)));
    // Most pages are UTF-8, and checking that decodes them.
    let utf8 = UTF_8.decode_without_bom_handling_and_without_replacement(bytes);
    let valid_utf8 = utf8.is_some();
    let credible = declared.filter(|(encoding, _)| is_credible(encoding, bytes, valid_utf8));
    let (encoding, source, overridden) = match credible {
        Some((encoding, source)) => (encoding, source, false),
        None => {
            let (encoding, source) = undeclared(bytes, valid_utf8, header.is_some());
            (encoding, source, declared.is_some_and(|(other, _)| other != encoding))
        }
    };
    let (text, had_errors) = match utf8 {
        Some(text) if encoding == UTF_8 => (text, false),
        _ => encoding.decode_without_bom_handling(bytes),
    };
    Decoded { text, charset: encoding.name(), source, had_errors, overridden }
}

/// Charset of a page without a credible declaration, or with a wrong header. Servers send one header for all their
/// pages, so the page's own declaration may be right then.
fn undeclared(bytes: &[u8], valid_utf8: bool, has_wrong_header: bool) -> (&'static Encoding, Source) {
    if let Some(encoding) = utf16_without_bom(bytes) {
        return (encoding, Source::Guess);
    }
    // Templates name windows-1252 without thought, and any bytes are credible as that: the guess decides.
    let own = || {
        let encoding = prescan(bytes).filter(|encoding| is_credible(encoding, bytes, valid_utf8))?;
        (encoding != WINDOWS_1252 || guess(bytes) == WINDOWS_1252).then_some(encoding)
    };
    match has_wrong_header.then(own).flatten() {
        Some(encoding) => (encoding, Source::Meta),
        // ISO-2022-JP, of which escapes are the only sign
        None if bytes.is_ascii() && memchr::memchr(ESCAPE, bytes).is_some() => (guess(bytes), Source::Guess),
        // undeclared ASCII: the standard's fallback gives the same text
        None if bytes.is_ascii() => (WINDOWS_1252, Source::Guess),
        None if valid_utf8 => (UTF_8, Source::Guess),
        None => (guess(bytes), Source::Guess),
    }
}

/// First byte of the sequences by which ISO-2022-JP changes its character set.
const ESCAPE: u8 = 0x1b;

/// UTF-16 whose markup shows the byte order: one byte of each of its first units is 0, the other is not. The
/// standard knows such a page by an XML declaration only; read as any other charset it has no tags.
fn utf16_without_bom(bytes: &[u8]) -> Option<&'static Encoding> {
    let units = bytes.first_chunk::<UTF16_HEAD>()?.as_chunks::<2>().0;
    if units.iter().all(|[low, high]| *low != 0 && *high == 0) {
        Some(UTF_16LE)
    } else if units.iter().all(|[high, low]| *low != 0 && *high == 0) {
        Some(UTF_16BE)
    } else {
        None
    }
}

/// Bytes by which UTF-16 is known; as many as `<!doctype html>` or `<html><head>` have.
const UTF16_HEAD: usize = 24;

/// Returns true if a declared charset is credible.
fn is_credible(encoding: &'static Encoding, bytes: &[u8], valid_utf8: bool) -> bool {
    if let Some(seen) = utf16_without_bom(bytes) {
        return encoding == seen;
    }
    if encoding == UTF_8 {
        return valid_utf8 || invalid_share_is_small(bytes);
    }
    if encoding == UTF_16LE || encoding == UTF_16BE {
        // Declared in a header, but written in single bytes: UTF-16 would have zero bytes.
        return bytes.iter().take(PRESCAN_BYTES).any(|b| *b == 0);
    }
    // ISO-2022-JP consists of ASCII bytes, so valid UTF-8 says nothing about it.
    !valid_utf8 || bytes.is_ascii() || !encoding.is_ascii_compatible()
}

/// Returns true for at most one invalid sequence in two hundred non-ASCII bytes: damaged UTF-8, not another
/// charset.
fn invalid_share_is_small(bytes: &[u8]) -> bool {
    let high = bytes.iter().filter(|b| **b >= 0x80).count();
    let invalid = bytes.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count();
    invalid * 200 <= high || invalid <= 2 && high > 20
}

fn guess(bytes: &[u8]) -> &'static Encoding {
    let mut detector = chardetng::EncodingDetector::new(chardetng::Iso2022JpDetection::Allow);
    let head = &bytes[..bytes.len().min(GUESS_BYTES)];
    detector.feed(head, true);
    detector.guess(None, chardetng::Utf8Detection::Allow)
}

/// The first charset parameter of a `Content-Type` value with a known label.
fn header_charset(value: &str) -> Option<&'static Encoding> {
    header_labels(value).find_map(|label| Encoding::for_label(label.as_bytes()))
}

/// The label that [`header_charset`] uses; without a known one the first.
fn header_label(value: &str) -> Option<&str> {
    let is_known = |label: &&str| Encoding::for_label(label.as_bytes()).is_some();
    header_labels(value).find(is_known).or_else(|| header_labels(value).next())
}

fn header_labels(value: &str) -> impl Iterator<Item = &str> {
    value.split(';').skip(1).filter_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let is_charset = name.trim().eq_ignore_ascii_case("charset");
        is_charset.then(|| value.trim().trim_matches(['"', '\'']).trim())
    })
}

/// The HTML standard's prescan of a byte stream (§13.2.3.2), with the XML declaration that browsers honour.
fn prescan(bytes: &[u8]) -> Option<&'static Encoding> {
    prescan_with(bytes, &mut |_| ())
}

/// The prescan, which calls `note` with each label that it reads. The last one is that of the result, if there is a result.
fn prescan_with(bytes: &[u8], note: &mut dyn FnMut(&[u8])) -> Option<&'static Encoding> {
    let bytes = &bytes[..bytes.len().min(PRESCAN_BYTES)];
    let xml = xml_label(bytes);
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        if rest.starts_with(b"<!--") {
            // `<!-->` is a whole comment: the two dashes may be shared.
            at = memchr::memmem::find(&bytes[at + 2..], b"-->").map_or(bytes.len(), |end| at + 2 + end + 3);
        } else if starts_tag(rest, b"meta") {
            let (found, end) = meta(bytes, at + 5, note);
            if found.is_some() {
                return found;
            }
            at = end;
        } else if rest[0] == b'<' && rest.get(1).is_some_and(|c| c.is_ascii_alphabetic() || *c == b'/') {
            let mut cursor = at + 1 + usize::from(rest[1] == b'/');
            if bytes.get(cursor).is_some_and(u8::is_ascii_alphabetic) {
                while cursor < bytes.len() && !is_space(bytes[cursor]) && bytes[cursor] != b'>' {
                    cursor += 1;
                }
                while attribute(bytes, &mut cursor).is_some() {}
                at = cursor + 1;
            } else {
                at = memchr::memchr(b'>', rest).map_or(bytes.len(), |end| at + end + 1);
            }
        } else if rest[0] == b'<' && rest.get(1).is_some_and(|c| matches!(c, b'!' | b'?')) {
            at = memchr::memchr(b'>', rest).map_or(bytes.len(), |end| at + end + 1);
        } else {
            at = memchr::memchr(b'<', &bytes[at + 1..]).map_or(bytes.len(), |next| at + 1 + next);
        }
    }
    let label = xml?;
    let encoding = Encoding::for_label(label).map(for_meta)?;
    note(label);
    Some(encoding)
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ')
}

fn starts_tag(rest: &[u8], name: &[u8]) -> bool {
    rest.len() > name.len() + 1
        && rest[0] == b'<'
        && rest[1..=name.len()].eq_ignore_ascii_case(name)
        && (is_space(rest[name.len() + 1]) || rest[name.len() + 1] == b'/')
}

/// Declaration of one `meta` element, and the element's end. `note` is called with its label.
fn meta(bytes: &[u8], start: usize, note: &mut dyn FnMut(&[u8])) -> (Option<&'static Encoding>, usize) {
    let mut at = start;
    let (mut got_pragma, mut need_pragma, mut label) = (false, None, None);
    // Of a repeated attribute the first one counts; these are the ones that matter.
    const NAMES: [&[u8]; 3] = [b"http-equiv", b"content", b"charset"];
    let mut seen = [false; NAMES.len()];
    while let Some((name, value)) = attribute(bytes, &mut at) {
        let Some(which) = NAMES.iter().position(|known| *known == name) else { continue };
        if std::mem::replace(&mut seen[which], true) {
            continue;
        }
        match name.as_slice() {
            b"http-equiv" if value == b"content-type" => got_pragma = true,
            b"content" if label.is_none() => {
                if let Some(found) = content_label(&value) {
                    label = Some(found.to_vec());
                    need_pragma = Some(true);
                }
            }
            b"charset" => {
                label = Some(value);
                need_pragma = Some(false);
            }
            _ => {}
        }
    }
    let label = label.filter(|_| need_pragma == Some(false) || got_pragma);
    let found = label.and_then(|label| {
        note(&label);
        Encoding::for_label(&label).map(for_meta)
    });
    (found, at + 1)
}

/// Corrects a charset of a meta element: UTF-16 cannot be true, and x-user-defined means windows-1252 (HTML
/// standard, same section).
fn for_meta(encoding: &'static Encoding) -> &'static Encoding {
    if encoding == UTF_16LE || encoding == UTF_16BE {
        UTF_8
    } else if encoding == encoding_rs::X_USER_DEFINED {
        WINDOWS_1252
    } else {
        encoding
    }
}

/// Label of a charset in a `content` attribute, by the standard's algorithm for extracting an encoding from a meta
/// element.
fn content_label(value: &[u8]) -> Option<&[u8]> {
    let mut from = 0;
    loop {
        let found = from + memchr::memmem::find(&value[from..], b"charset")? + 7;
        let mut at = found;
        while value.get(at).copied().is_some_and(is_space) {
            at += 1;
        }
        if value.get(at) != Some(&b'=') {
            from = found;
            continue;
        }
        at += 1;
        while value.get(at).copied().is_some_and(is_space) {
            at += 1;
        }
        let rest = &value[at.min(value.len())..];
        let label = match rest.first() {
            Some(quote @ (b'"' | b'\'')) => &rest[1..1 + memchr::memchr(*quote, &rest[1..])?],
            Some(_) => {
                let end = rest.iter().position(|c| is_space(*c) || *c == b';').unwrap_or(rest.len());
                &rest[..end]
            }
            None => return None,
        };
        return Some(label);
    }
}

/// The next attribute (name and value in lower case); moves the cursor behind it. `None` at the tag's end.
fn attribute(bytes: &[u8], at: &mut usize) -> Option<(Vec<u8>, Vec<u8>)> {
    while *at < bytes.len() && (is_space(bytes[*at]) || bytes[*at] == b'/') {
        *at += 1;
    }
    if *at >= bytes.len() || bytes[*at] == b'>' {
        return None;
    }
    let start = *at;
    while *at < bytes.len()
        && !(is_space(bytes[*at]) || matches!(bytes[*at], b'/' | b'>') || bytes[*at] == b'=' && *at > start)
    {
        *at += 1;
    }
    let name = bytes[start..*at].to_ascii_lowercase();
    let mut next = *at;
    while next < bytes.len() && is_space(bytes[next]) {
        next += 1;
    }
    if bytes.get(next) != Some(&b'=') {
        return Some((name, Vec::new()));
    }
    next += 1;
    while next < bytes.len() && is_space(bytes[next]) {
        next += 1;
    }
    let (value, end) = match bytes.get(next) {
        Some(&quote @ (b'"' | b'\'')) => {
            let end = memchr::memchr(quote, &bytes[next + 1..]).map_or(bytes.len(), |len| next + 1 + len);
            (&bytes[next + 1..end], end + 1)
        }
        _ => {
            let rest = &bytes[next.min(bytes.len())..];
            let len = rest.iter().position(|c| is_space(*c) || *c == b'>').unwrap_or(rest.len());
            (&rest[..len], next + len)
        }
    };
    *at = end.min(bytes.len());
    Some((name, value.to_ascii_lowercase()))
}

/// `encoding` of an XML declaration at the very start.
fn xml_label(bytes: &[u8]) -> Option<&[u8]> {
    let rest = bytes.strip_prefix(b"<?xml")?;
    let rest = &rest[..memchr::memchr(b'>', rest)?];
    let after = &rest[memchr::memmem::find(rest, b"encoding")? + 8..];
    let after = after.trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let (quote, after) = after.split_first()?;
    Some(&after[..memchr::memchr(*quote, after)?])
}

#[cfg(test)]
mod tests;
