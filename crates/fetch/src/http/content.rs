//! Filter of bodies: by declared type before the read, by first bytes after it.

use reqwest::header::{CONTENT_DISPOSITION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

/// Reason why a successful response brings no page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SkipKind {
    /// The declared type is not one of text.
    ContentType,
    /// The first bytes belong to another format than the declared or missing type.
    Sniffed,
    /// `Content-Disposition: attachment`.
    Attachment,
    /// 304: the page has not changed.
    NotModified,
    /// 204 or 205, or an empty body.
    NoContent,
}

impl SkipKind {
    /// Stable name for counts and logs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ContentType => "content_type",
            Self::Sniffed => "sniffed_type",
            Self::Attachment => "attachment",
            Self::NotModified => "not_modified",
            Self::NoContent => "no_content",
        }
    }
}

/// Class of a declared type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Declared {
    /// One of ours.
    Accepted,
    /// XML of some kind: a page only if it is XHTML.
    Xml,
    /// No type, or a type without meaning.
    Missing,
}

/// The type without its parameters, in lower case, if the header is valid.
pub(crate) fn essence(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(CONTENT_TYPE)?;
    let text = String::from_utf8_lossy(value.as_bytes());
    let essence = text.split([';', ',']).next().unwrap_or_default().trim().to_ascii_lowercase();
    (!essence.is_empty()).then_some(essence)
}

/// Types that say nothing about the body (MIME Sniffing §7).
const UNKNOWN_TYPES: [&str; 3] = ["unknown/unknown", "application/unknown", "*/*"];

/// Checks a response by its headers alone.
pub(crate) fn gate(headers: &HeaderMap, accepted: &[String]) -> Result<Declared, SkipKind> {
    if let Some(disposition) = headers.get(CONTENT_DISPOSITION) {
        let text = String::from_utf8_lossy(disposition.as_bytes()).trim_start().to_ascii_lowercase();
        if text.starts_with("attachment") {
            return Err(SkipKind::Attachment);
        }
    }
    let Some(essence) = essence(headers) else { return Ok(Declared::Missing) };
    if !essence.contains('/') || UNKNOWN_TYPES.contains(&essence.as_str()) {
        return Ok(Declared::Missing);
    }
    match essence.as_str() {
        _ if !accepted.contains(&essence) => Err(SkipKind::ContentType),
        "application/xml" | "text/xml" => Ok(Declared::Xml),
        _ => Ok(Declared::Accepted),
    }
}

/// Checks a response that a browser shows, by its headers (names in lower case), since the browser does not
/// expose the body.
pub(crate) fn gate_shown(
    headers: &[(String, String)],
    html: &str,
    accepted: &[String],
) -> Result<(), SkipKind> {
    let pairs = headers.iter().filter_map(|(name, value)| {
        Some((HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_str(value).ok()?))
    });
    match gate(&pairs.collect(), accepted)? {
        // the browser shows a tree of tags for XML that is no page
        Declared::Xml if html.contains(XML_VIEWER) => Err(SkipKind::Sniffed),
        _ => Ok(()),
    }
}

/// The id of the element in which Chromium keeps XML that it shows as a tree
/// (third_party/blink/renderer/core/xml).
const XML_VIEWER: &str = "webkit-xml-viewer-source-xml";

/// Bytes that [`sniff`] needs, unless the body is shorter: the number that browsers use (MIME Sniffing §4).
pub(crate) const SNIFF_BYTES: usize = 1445;

/// First bytes and names of formats that servers send as text/html (MIME Sniffing §6, plus archives and
/// documents).
const MAGIC: &[(&[u8], &str)] = &[
    (b"%PDF-", "PDF"),
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"PK\x03\x04", "ZIP (or an office document)"),
    (b"\x1f\x8b", "gzip"),
    (b"Rar!\x1a\x07", "RAR"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"BZh9", "bzip2"),
    (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"RIFF", "RIFF (WebP, WAV, AVI)"),
    (b"OggS", "Ogg"),
    (b"ID3", "MP3"),
    (b"\x1a\x45\xdf\xa3", "Matroska"),
    (b"wOFF", "WOFF"),
    (b"wOF2", "WOFF2"),
    (b"\0\x01\0\0", "TrueType"),
    (b"OTTO", "OpenType"),
    (b"\x7fELF", "ELF"),
    (b"MZ\x90\0", "a Windows program"),
    (b"\xca\xfe\xba\xbe", "a Java class"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old office document"),
    (b"{\\rtf", "RTF"),
    (b"%!PS-Adobe-", "PostScript"),
    (b"\0asm", "WebAssembly"),
    (b"SQLite format 3\0", "SQLite"),
    (b"filedesc://", "an ARC file, of which `warcio recompress` makes a WARC file"),
];

/// Tags with which HTML begins (MIME Sniffing §7.1).
const HTML_TAGS: &[&str] = &[
    "!doctype", "html", "head", "script", "iframe", "h1", "div", "font", "table", "a", "style", "title", "b",
    "body", "br", "p", "!--", "meta", "link", "article", "main", "section",
];

/// Returns true if the first bytes of a body agree with its declared type.
pub(crate) fn sniff(declared: Declared, head: &[u8]) -> bool {
    let head = &head[..head.len().min(SNIFF_BYTES)];
    if known_format(head).is_some() {
        return false;
    }
    match declared {
        Declared::Accepted => true,
        Declared::Xml => is_xhtml(head),
        Declared::Missing => begins_like_html(head) || is_text(head),
    }
}

/// Format of a file that is no page, by its first bytes; 16 are enough.
#[must_use]
pub fn known_format(head: &[u8]) -> Option<&'static str> {
    let known = MAGIC.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, name)| *name);
    known.or_else(|| (head.get(4..8) == Some(b"ftyp")).then_some("MP4"))
}

/// Format of a file that is no page: by the first bytes of known formats, else by control characters that
/// text does not contain. NULs alone indicate UTF-16 without a byte order mark.
#[must_use]
pub fn foreign_format(bytes: &[u8]) -> Option<&'static str> {
    let head = &bytes[..bytes.len().min(SNIFF_BYTES)];
    let binary = || {
        let text: Vec<u8> = head.iter().copied().filter(|byte| *byte != 0).collect();
        (!begins_like_html(head) && !is_text(head) && !is_text(&text)).then_some("binary data")
    };
    known_format(head).or_else(binary)
}

fn is_xhtml(head: &[u8]) -> bool {
    let lower = head.to_ascii_lowercase();
    let has = |needle: &[u8]| memchr::memmem::find(&lower, needle).is_some();
    has(b"<html") || has(b"<!doctype html") || has(b"http://www.w3.org/1999/xhtml")
}

fn begins_like_html(head: &[u8]) -> bool {
    let start = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let Some(tag) = start.strip_prefix(b"<") else { return false };
    HTML_TAGS.iter().any(|name| {
        tag.get(..name.len()).is_some_and(|t| t.eq_ignore_ascii_case(name.as_bytes()))
            && (*name == "!--"
                || tag.get(name.len()).is_none_or(|b| matches!(b, b' ' | b'>' | b'\t' | b'\n' | b'\r')))
    })
}

/// Returns true for bytes without binary data (MIME Sniffing §5), or with a byte order mark of UTF-16, whose
/// text holds NULs.
fn is_text(head: &[u8]) -> bool {
    head.starts_with(b"\xff\xfe")
        || head.starts_with(b"\xfe\xff")
        || !head.iter().any(|b| matches!(b, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|&(n, v)| (n.parse().unwrap(), v.parse().unwrap())).collect()
    }

    #[test]
    fn content_gate_checks_the_declared_type() {
        let accepted = ["text/html", "application/xml"].map(String::from);
        let judge = |value| gate(&headers(&[("content-type", value)]), &accepted);
        assert_eq!(judge("Text/HTML; charset=x"), Ok(Declared::Accepted));
        assert_eq!(judge("application/xml"), Ok(Declared::Xml));
        assert_eq!(judge("image/png"), Err(SkipKind::ContentType));
        assert_eq!(judge("application/octet-stream"), Err(SkipKind::ContentType));
        assert_eq!(judge(""), Ok(Declared::Missing));
        assert_eq!(judge("html"), Ok(Declared::Missing));
        assert_eq!(["*/*", "Unknown/unknown"].map(judge), [Ok(Declared::Missing); 2]);
        assert_eq!(gate(&headers(&[]), &accepted), Ok(Declared::Missing));
        let attached =
            headers(&[("content-type", "text/html"), ("content-disposition", "Attachment; filename=a")]);
        assert_eq!(gate(&attached, &accepted), Err(SkipKind::Attachment));
    }

    #[test]
    fn rendered_page_is_judged_by_its_headers() {
        let accepted = ["text/html", "text/xml"].map(String::from);
        let judge = |kind: &str, html| {
            gate_shown(&[("content-type".into(), kind.into()), ("a b".into(), "\n".into())], html, &accepted)
        };
        assert_eq!(judge("text/html; charset=x", "<pre>"), Ok(()));
        assert_eq!(judge("application/json", "<pre>{}</pre>"), Err(SkipKind::ContentType));
        assert_eq!(judge("text/xml", "<html><p>words"), Ok(()));
        let tree = "<html><div id=\"webkit-xml-viewer-source-xml\"><rss>";
        assert_eq!(judge("text/xml", tree), Err(SkipKind::Sniffed));
    }

    #[test]
    fn foreign_formats_are_recognised_by_their_bytes() {
        assert_eq!(foreign_format(b"%PDF-1.7\n"), Some("PDF"));
        assert_eq!(foreign_format(b"\x01\x02\0\x7f"), Some("binary data"));
        for page in [&b"<p>\x01"[..], b"words", b"", b"<\0p\0>\0", b"\xff\xfe<\0p\0", b"\x1b$B$\x22"] {
            assert_eq!(foreign_format(page), None, "{page:?}");
        }
    }

    #[test]
    fn first_bytes_overrule_the_declared_type() {
        assert!(!sniff(Declared::Accepted, b"%PDF-1.7\n"));
        assert!(!sniff(Declared::Accepted, b"\0\0\0\x20ftypisom"));
        assert!(sniff(Declared::Accepted, b"RIF and other words"));
        assert!(sniff(Declared::Xml, b"<?xml version='1.0'?><!DOCTYPE html PUBLIC ''><HTML>"));
        assert!(!sniff(Declared::Xml, b"<?xml version='1.0'?><rss version='2.0'>"));
        assert!(sniff(Declared::Missing, b"  <!DOCTYPE html>\0"));
        assert!(!sniff(Declared::Missing, b"<abbr>\0"));
        assert!(sniff(Declared::Missing, b"just words"));
        assert!(sniff(Declared::Missing, b"\xff\xfe<\0p\0"));
        assert!(!sniff(Declared::Missing, b"\x01\x02"));
    }
}
