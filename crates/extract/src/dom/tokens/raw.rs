//! Raw text: contents of scripts, styles, titles and the like, up to the end tag.

use super::{Scan, is_space, names, no_nulls};
use crate::dom::references;
use html5ever::tokenizer::{Tag, TagKind, Token, TokenSink, states::RawKind};
use memchr::{memchr, memchr2};

impl<S: TokenSink> Scan<'_, S> {
    /// Reads the contents of an element without markup, up to its end tag.
    pub(super) fn raw(&mut self, name: &str, kind: RawKind) {
        let rest = &self.html[self.at..];
        // Where scripts run, the contents of a noscript are one text up to its end tag. So an unclosed iframe
        // ends there as well (`<iframe src=… />` of tag managers). It must not swallow the page here.
        let outer = self.noscript && name == "iframe";
        let outer: &[u8] = if outer { b"noscript" } else { name.as_bytes() };
        let end = raw_end(rest.as_bytes(), name.as_bytes(), outer, kind == RawKind::ScriptData);
        let text = &rest[..end];
        let at = self.at;
        match kind {
            RawKind::Rcdata => self.chars(&no_nulls(&references::in_text(text))),
            _ if self.has_nulls => self.chars(&no_nulls(text)),
            _ if end > 0 => self.text(&(at..at + end)),
            _ => {}
        }
        self.at += end;
        let own = rest.get(end + 2..end + 2 + name.len());
        if end < rest.len() && own.is_none_or(|own| !own.eq_ignore_ascii_case(name)) {
            // The tree builder must get the end before other tokens, and the tag around it may not reach it.
            let name = names::in_lower_case(name);
            self.send(Token::TagToken(Tag {
                kind: TagKind::EndTag,
                name,
                self_closing: false,
                attrs: Vec::new(),
                had_duplicate_attributes: false,
            }));
        }
    }
}

/// Start of the end tag of a raw text element, or of an element around it. In a script, not one inside of
/// `<!-- <script>` (§13.2.5.20 on).
fn raw_end(bytes: &[u8], name: &[u8], outer: &[u8], script: bool) -> usize {
    #[derive(PartialEq)]
    enum In {
        Plain,
        Comment,
        Nested,
    }
    // A tag's name with a byte that ends a name.
    let named = |at: usize, name: &[u8]| {
        bytes.get(at..at + name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name))
            && bytes.get(at + name.len()).is_some_and(|b| is_space(*b) || matches!(b, b'/' | b'>'))
    };
    let (mut at, mut state) = (0, In::Plain);
    loop {
        let rest = &bytes[at..];
        let found = if state == In::Plain { memchr(b'<', rest) } else { memchr2(b'<', b'-', rest) };
        let Some(found) = found else { return bytes.len() };
        let here = at + found;
        at = here + 1;
        let rest = &bytes[here..];
        if rest.starts_with(b"</") && (named(here + 2, name) || named(here + 2, outer)) {
            if state != In::Nested {
                return here;
            }
            state = In::Comment;
        } else if state == In::Plain {
            if script && rest.starts_with(b"<!--") {
                state = In::Comment;
                at = here + 2;
            }
        } else if rest.starts_with(b"-->") {
            state = In::Plain;
        } else if state == In::Comment && rest[0] == b'<' && named(here + 1, name) {
            state = In::Nested;
        }
    }
}
