//! Empty elements of XHTML: `<title/>`, `<script src="a.js"/>`, `<a id="b"/>`.
//!
//! Browsers read a page of an XML type by the rules of XML, where such a tag is a whole element. HTML ignores the
//! slash, so a title or a script would hold the rest of the page.

use crate::plain::essence;
use memchr::{memchr, memmem};
use std::borrow::Cow;

/// Elements that end in HTML too: elements that are always empty, and elements for which HTML honours the slash.
const ENDED: [&str; 17] = [
    "area", "base", "basefont", "br", "col", "embed", "frame", "hr", "img", "input", "link", "math", "meta",
    "param", "source", "svg", "wbr",
];

/// Elements whose inside stays: texts that may hold an unescaped `<`, and elements of which HTML reads the slash.
/// The latter may be nested.
const KEPT: [(&str, bool); 4] = [("script", false), ("style", false), ("svg", true), ("math", true)];

/// The page with an end tag after each empty element, if its media type is XML.
pub(crate) fn with_end_tags<'a>(page: &'a str, content_type: Option<&str>) -> Cow<'a, str> {
    let is_xml = content_type.map(essence).is_some_and(|kind| {
        matches!(kind.as_str(), "application/xhtml+xml" | "application/xml" | "text/xml")
    });
    if !is_xml || memmem::find(page.as_bytes(), b"/>").is_none() {
        return Cow::Borrowed(page);
    }
    let mut out = String::with_capacity(page.len() + page.len() / 16);
    let (mut done, mut at) = (0, 0);
    while let Some(tag) = next_tag(page, at) {
        at = tag.end;
        if tag.is_empty && !ENDED.iter().any(|name| name.eq_ignore_ascii_case(tag.name)) {
            out.push_str(&page[done..at]);
            out.extend(["</", tag.name, ">"]);
            done = at;
        } else if let Some((name, nests)) = KEPT.iter().find(|(name, _)| !tag.is_empty && *name == tag.name) {
            let Some(end) = end_tag(page.as_bytes(), at, name, *nests) else { break };
            at = end;
        }
    }
    out.push_str(&page[done..]);
    Cow::Owned(out)
}

/// A start tag.
struct Tag<'a> {
    name: &'a str,
    /// Position behind it.
    end: usize,
    is_empty: bool,
}

/// The first start tag at or behind a position. `None` if none is complete.
fn next_tag(page: &str, from: usize) -> Option<Tag<'_>> {
    let bytes = page.as_bytes();
    let mut at = from;
    loop {
        at += memchr(b'<', &bytes[at..])?;
        let rest = &bytes[at..];
        let skipped = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")];
        if let Some((start, end)) = skipped.iter().find(|(start, _)| rest.starts_with(start.as_bytes())) {
            at += start.len() + memmem::find(&rest[start.len()..], end.as_bytes())? + end.len();
            continue;
        }
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':' | b'.');
        let length = rest[1..].iter().take_while(|byte| is_name(byte)).count();
        if length == 0 || !rest[1].is_ascii_alphabetic() {
            at += 1;
            continue;
        }
        let end = at + end_of_tag(rest)?;
        return Some(Tag { name: &page[at + 1..=at + length], end, is_empty: bytes[end - 2] == b'/' });
    }
}

/// Position of the end tag of an element that is open; others of its name may be inside.
fn end_tag(page: &[u8], from: usize, name: &str, nests: bool) -> Option<usize> {
    let (mut at, mut depth) = (from, 1u32);
    loop {
        at += memchr(b'<', &page[at..])?;
        let tag = &page[at + 1..];
        if tag.strip_prefix(b"/").is_some_and(|tag| tag.starts_with(name.as_bytes())) {
            depth -= 1;
            if depth == 0 {
                return Some(at);
            }
        } else if nests && tag.starts_with(name.as_bytes()) {
            let end = at + end_of_tag(&page[at..])?;
            depth += u32::from(page[end - 2] != b'/');
        }
        at += 1;
    }
}

/// Position behind the tag at the start; a `>` in an attribute's value does not end it.
fn end_of_tag(tag: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += memchr::memchr3(b'>', b'"', b'\'', &tag[at..])?;
        let byte = tag[at];
        at += 1;
        if byte == b'>' {
            return Some(at);
        }
        at += memchr(byte, &tag[at..])? + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_elements_of_xml_get_end_tags() {
        let xml = Some("application/xhtml+xml; charset=utf-8");
        for (page, expected) in [
            ("<title/><p>a</p>", "<title/></title><p>a</p>"),
            ("<script src='a>b' />x<br/>y", "<script src='a>b' /></script>x<br/>y"),
            ("<a id=\"x/>\"/>b<svg:g/>", "<a id=\"x/>\"/></a>b<svg:g/></svg:g>"),
            (
                "<!-- <p/> --><![CDATA[<p/>]]><?x <p/>?><p/>",
                "<!-- <p/> --><![CDATA[<p/>]]><?x <p/>?><p/></p>",
            ),
            ("<script>a<b/>'</script><i/>", "<script>a<b/>'</script><i/></i>"),
            ("a < b/> <1/></p/><p/>é<p/", "a < b/> <1/></p/><p/></p>é<p/"),
            ("<p/><p title='", "<p/></p><p title='"),
            ("<p/><script>", "<p/></p><script>"),
            (
                "<svg><g><g/></g><svg/><svg><g/></svg><g/></svg><i/>",
                "<svg><g><g/></g><svg/><svg><g/></svg><g/></svg><i/></i>",
            ),
            (
                "<math><mrow><mrow/>x</mrow></math><svg/><BR/>",
                "<math><mrow><mrow/>x</mrow></math><svg/><BR/>",
            ),
            ("<i/><svg><g/>", "<i/></i><svg><g/>"),
        ] {
            assert_eq!(with_end_tags(page, xml), expected, "{page}");
            assert_eq!(with_end_tags(page, Some("text/html")), page);
            assert_eq!(with_end_tags(page, None), page);
        }
    }
}
