//! HTML in a text that should have none.

use std::borrow::Cow;

/// Elements of HTML, sorted. A `<` before any other name is text: `List<String>`, `a < b`, `<num>`.
const ELEMENTS: [&str; 96] = [
    "a",
    "abbr",
    "address",
    "article",
    "aside",
    "audio",
    "b",
    "base",
    "bdi",
    "bdo",
    "blockquote",
    "body",
    "br",
    "button",
    "canvas",
    "caption",
    "center",
    "cite",
    "code",
    "col",
    "colgroup",
    "dd",
    "del",
    "details",
    "dfn",
    "dialog",
    "div",
    "dl",
    "dt",
    "em",
    "embed",
    "fieldset",
    "figcaption",
    "figure",
    "font",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hr",
    "html",
    "i",
    "iframe",
    "img",
    "input",
    "ins",
    "kbd",
    "label",
    "legend",
    "li",
    "link",
    "main",
    "mark",
    "meta",
    "nav",
    "noscript",
    "ol",
    "option",
    "p",
    "picture",
    "pre",
    "q",
    "s",
    "samp",
    "script",
    "section",
    "select",
    "small",
    "source",
    "span",
    "strong",
    "style",
    "sub",
    "summary",
    "sup",
    "svg",
    "table",
    "tbody",
    "td",
    "template",
    "textarea",
    "tfoot",
    "th",
    "thead",
    "time",
    "title",
    "tr",
    "u",
    "ul",
    "video",
];

/// Elements whose content is no text.
const WITHOUT_TEXT: [&str; 2] = ["script", "style"];

/// Maximum length of a tag; a longer unclosed `<` is text.
const MAX_TAG: usize = 4096;

/// Named references that are common in text; others stay unchanged.
const REFERENCES: [(&str, char); 9] = [
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("nbsp", ' '),
    ("ndash", '–'),
    ("mdash", '—'),
    ("hellip", '…'),
];

/// Replaces tags, comments, scripts and styles by a space each, and character references by their characters.
pub(super) fn strip(text: &str) -> Cow<'_, str> {
    if memchr::memchr2(b'<', b'&', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr2(b'<', b'&', rest.as_bytes()) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        if let Some(end) = markup_end(from) {
            out.push(' ');
            rest = from.get(end..).unwrap_or_default();
        } else if let Some((c, end)) = reference(from) {
            out.push(c);
            rest = from.get(end..).unwrap_or_default();
        } else {
            // both marks are one byte long
            out.push_str(from.get(..1).unwrap_or_default());
            rest = from.get(1..).unwrap_or_default();
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Bytes of the tag, comment, script or style at the start of a text.
fn markup_end(text: &str) -> Option<usize> {
    let after = text.strip_prefix('<')?;
    if let Some(comment) = after.strip_prefix("!--") {
        return comment.find("-->").map(|end| 1 + 3 + end + 3);
    }
    let name_at = usize::from(after.starts_with('/'));
    let named = after.get(name_at..)?;
    let length = named.bytes().take_while(u8::is_ascii_alphanumeric).take(16).count();
    let name = named.get(..length)?.to_ascii_lowercase();
    let is_doctype = after.get(..9).is_some_and(|d| d.eq_ignore_ascii_case("!doctype "));
    if !is_doctype && ELEMENTS.binary_search(&name.as_str()).is_err() {
        return None;
    }
    if !is_doctype
        && !matches!(named.as_bytes().get(length), Some(b'>' | b'/' | b' ' | b'\t' | b'\n' | b'\r'))
    {
        return None;
    }
    let close = after.bytes().take(MAX_TAG).position(|b| b == b'>')?;
    let end = 1 + close + 1;
    if name_at == 0 && WITHOUT_TEXT.contains(&name.as_str()) {
        return Some(end + raw_text_end(text.get(end..)?, &name));
    }
    Some(end)
}

/// Bytes up to the end of the closing tag of a script or style; the whole text if none closes it.
fn raw_text_end(text: &str, name: &str) -> usize {
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|t| t.find("</")) {
        let tag = from + at + 2;
        if text.get(tag..tag + name.len()).is_some_and(|n| n.eq_ignore_ascii_case(name)) {
            return text.get(tag..).and_then(|t| t.find('>')).map_or(text.len(), |close| tag + close + 1);
        }
        from = tag;
    }
    text.len()
}

/// Character of a reference at the start of a text, and the bytes of the reference.
fn reference(text: &str) -> Option<(char, usize)> {
    let body = text.strip_prefix('&')?;
    let end = body.bytes().take(10).position(|b| b == b';')?;
    let name = body.get(..end)?;
    let c = match name.strip_prefix('#') {
        Some(number) => {
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)?
        }
        None => REFERENCES.iter().find(|(n, _)| *n == name)?.1,
    };
    Some((c, 1 + end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_sorted() {
        assert!(ELEMENTS.is_sorted());
    }

    #[test]
    fn tags_are_removed_and_text_stays() {
        for (given, want) in [
            ("no markup", "no markup"),
            ("<DIV>x</DIV >", " x "),
            ("<pre", "<pre"),
            ("<b", "<b"),
            ("x<!-- open", "x<!-- open"),
            ("<style>p{}</style\n>y", " y"),
            ("<script>never closed", " "),
            ("&#65;&#x42;&lt;&unknown;&#xd800;&", "AB<&unknown;&#xd800;&"),
            ("<!DOCTYPE html>z", " z"),
            ("é<é>", "é<é>"),
        ] {
            assert_eq!(strip(given), want, "{given:?}");
        }
    }
}
