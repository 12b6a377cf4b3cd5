//! Pages that are plain text.

use crate::{invisible, render};

/// Returns true for plain text: declared as such, or undeclared and without a tag.
pub(crate) fn is_plain(content_type: Option<&str>, text: &str) -> bool {
    match content_type.map(essence).as_deref() {
        Some(media) if media == "text/plain" || is_markdown_type(media) => !looks_like_html(text),
        Some("text/html" | "application/xhtml+xml") => false,
        _ => !has_tag(text),
    }
}

/// Returns true for the media types of Markdown, without parameters and in lower case.
pub(crate) fn is_markdown_type(media: &str) -> bool {
    matches!(media, "text/markdown" | "text/x-markdown")
}

/// A media type without parameters, in lower case.
pub(crate) fn essence(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Returns true if the text begins like an HTML document, whatever its declared type.
pub(crate) fn looks_like_html(text: &str) -> bool {
    let head = crate::text::head(text.trim_start(), 1024).to_ascii_lowercase();
    head.starts_with("<!doctype html")
        || head.starts_with("<html")
        || head.starts_with("<head")
        || head.starts_with("<body")
}

/// Returns true for a letter or slash after an angle bracket, and a closing bracket later.
fn has_tag(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'<', bytes).any(|at| {
        bytes.get(at + 1).is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, b'/' | b'!' | b'?'))
            && memchr::memchr(b'>', &bytes[at..bytes.len().min(at + 4096)]).is_some()
    })
}

/// Normalises plain text: uniform line ends, no trailing spaces, at most one blank line in a row.
pub(crate) fn normalise(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut blank = 0;
    for line in text.lines() {
        let line = line.trim_end_matches(|c: char| c.is_whitespace() || c.is_control());
        if line.is_empty() {
            blank += 1;
            continue;
        }
        if !out.is_empty() {
            out.push_str(if blank > 0 { "\n\n" } else { "\n" });
        }
        blank = 0;
        out.push_str(&invisible::without(line));
    }
    out
}

/// Converts normalised plain text to Markdown that shows it: marks and tags get a backslash. Lines stay
/// lines, and indented ones keep their indent; code by indent needs no backslash.
pub(crate) fn to_markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for (n, paragraph) in text.split("\n\n").enumerate() {
        if n > 0 {
            out.push_str("\n\n");
        }
        let code: usize =
            paragraph.split_inclusive('\n').take_while(|line| is_indented(line)).map(str::len).sum();
        out.push_str(&paragraph[..code]);
        render::push_plain(&mut out, &paragraph[code..]);
    }
    out
}

/// Returns true for a line that CommonMark reads as code: it begins with four columns of whitespace.
fn is_indented(line: &str) -> bool {
    let spaces = line.bytes().take_while(|byte| *byte == b' ').count();
    spaces > 3 || line[spaces..].starts_with('\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_escaped_as_markdown() {
        for (text, want) in [
            ("a < b, c_d and e > f", "a < b, c_d and e > f"),
            ("x <img src=x onerror=y>\n# z", "x \\<img src=x onerror=y>\n\\# z"),
            ("[a](b)\n\n[c]: d\n~~~", "[a\\](b)\n\n[c\\]: d\n\\~\\~\\~"),
            ("    <b>\n    `c\n<b>", "    <b>\n    `c\n\\<b>"),
            ("a\n    <b>\n\n\t<c>", "a\n    \\<b>\n\n\t<c>"),
        ] {
            assert_eq!(to_markdown(text), want, "{text}");
        }
    }

    #[test]
    fn plain_text_is_recognised_and_normalised() {
        assert!(is_plain(Some("text/plain; charset=utf-8"), "a <b> c"));
        assert!(is_plain(Some("text/markdown; variant=GFM"), "a <b>c</b>"));
        assert!(!is_plain(Some("text/plain"), "<!DOCTYPE html><p>x"));
        assert!(is_plain(None, "1 < 2 and 3 > 2"));
        assert!(!is_plain(None, "<p>x</p>"));
        assert_eq!(normalise("a  \r\n\r\n\r\nb\x07\r\nc"), "a\n\nb\nc");
    }
}
