//! Pages that are plain text.

use crate::invisible;

/// Whether bytes are plain text: declared so, or undeclared and without a single tag.
pub(crate) fn is_plain(content_type: Option<&str>, text: &str) -> bool {
    match content_type.map(essence).as_deref() {
        Some("text/plain") => !looks_like_html(text),
        Some("text/html" | "application/xhtml+xml") => false,
        _ => !has_tag(text),
    }
}

/// A media type without parameters, in lower case.
pub(crate) fn essence(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The start of the text is a document of HTML, whatever it was declared as.
pub(crate) fn looks_like_html(text: &str) -> bool {
    let head = crate::text::head(text.trim_start(), 1024).to_ascii_lowercase();
    head.starts_with("<!doctype html")
        || head.starts_with("<html")
        || head.starts_with("<head")
        || head.starts_with("<body")
}

/// A letter or slash behind an angle bracket, and a closing bracket somewhere behind it.
fn has_tag(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'<', bytes).any(|at| {
        bytes.get(at + 1).is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, b'/' | b'!' | b'?'))
            && memchr::memchr(b'>', &bytes[at..bytes.len().min(at + 4096)]).is_some()
    })
}

/// Plain text as content: line ends made alike, spaces at their ends cut, at most one blank line in a row.
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
        let line = invisible::without(line);
        out.extend(line.chars().filter(|c| !c.is_control() || *c == '\t'));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognised_and_normalised() {
        assert!(is_plain(Some("text/plain; charset=utf-8"), "a <b> c"));
        assert!(!is_plain(Some("text/plain"), "<!DOCTYPE html><p>x"));
        assert!(is_plain(None, "1 < 2 and 3 > 2"));
        assert!(!is_plain(None, "<p>x</p>"));
        assert_eq!(normalise("a  \r\n\r\n\r\nb\x07\r\nc"), "a\n\nb\nc");
    }
}
