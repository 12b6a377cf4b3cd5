//! Unwritten parts of a note: its own number, and backlinks to its references.

use super::{MAX_BACKLINK_ANCESTORS, MAX_MARKER, Notes, marker_of, names_of};
use crate::{
    dom::{Dom, Tag},
    page::Page,
};
use html5ever::local_name;
use rustc_hash::FxHashSet;

impl Notes {
    /// Skips the note's own number at its start, as an element or as text.
    pub(super) fn skip_number(&mut self, page: &Page<'_>, body: u32, marker: &str) {
        let dom = &page.dom;
        let Some(first) = (body..dom.end(body)).find(|node| !dom.text(*node).trim().is_empty()) else {
            return;
        };
        let written = dom.text(first);
        let start = written.len()
            - written.trim_start_matches(|c: char| c.is_whitespace() || c == '[' || c == '(').len();
        let Some(rest) = written[start..].strip_prefix(marker) else { return };
        let after =
            rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '.' | ')' | ']' | ':'));
        let alone = after.is_empty();
        let element = dom.parent(first);
        if alone && element != body && !dom.tag(element).is_block() {
            let mut outer = element;
            while dom.parent(outer) != body
                && !dom.tag(dom.parent(outer)).is_block()
                && marker_of(&dom.raw_text(dom.parent(outer))) == marker
            {
                outer = dom.parent(outer);
            }
            self.skipped.insert(outer);
            // The dot or bracket that ends the number.
            let next = dom.end(outer);
            if next < dom.end(body) && dom.text(next).starts_with(['.', ')', ']', ':']) {
                let text = dom.text(next);
                self.numbers.insert(next, text.len() - text[1..].trim_start().len());
            }
        } else if !alone && after.len() < rest.len() {
            self.numbers.insert(first, written.len() - after.len());
        }
    }

    /// Skips links of a note to its references, with surrounding elements that have no other text.
    pub(super) fn skip_back(&mut self, page: &Page<'_>, body: u32, references: &[u32]) {
        let dom = &page.dom;
        let mut names: FxHashSet<&str> = FxHashSet::default();
        for &reference in references {
            let around = dom
                .ancestors(reference)
                .take(MAX_BACKLINK_ANCESTORS)
                .take_while(|up| !dom.tag(*up).is_block());
            let before = reference.checked_sub(1).into_iter().chain(reference.checked_sub(2));
            let inside = reference..dom.end(reference);
            for node in inside.chain(around).chain(before).filter(|node| dom.tag(*node) != Tag::Text) {
                names.extend(names_of(dom, node));
            }
        }
        for link in (body..dom.end(body)).filter(|node| dom.tag(*node) == Tag::A) {
            let Some(href) = dom.attr(link, &local_name!("href")) else { continue };
            let Some((_, name)) = href.rsplit_once('#') else { continue };
            let text = dom.raw_text(link);
            let arrow = text.contains(['↩', '↑', '⤴', '^', '⬆', '↵', '⏎', '↖'])
                && !text.contains(char::is_alphabetic);
            if names.contains(name) || arrow || name.contains("ref") && marker_of(&text).len() <= MAX_MARKER {
                let mut outer = link;
                while dom.parent(outer) != body
                    && !dom.tag(dom.parent(outer)).is_block()
                    && has_no_other_text(dom, dom.parent(outer))
                {
                    outer = dom.parent(outer);
                }
                self.skipped.insert(outer);
            }
        }
    }
}

/// Returns true if an element holds only signs and links of up to [`MAX_MARKER`] characters.
fn has_no_other_text(dom: &Dom, id: u32) -> bool {
    let mut node = id;
    while node < dom.end(id) {
        if dom.tag(node) == Tag::A && marker_of(&dom.raw_text(node)).chars().count() <= MAX_MARKER {
            node = dom.end(node);
            continue;
        }
        if dom.text(node).contains(char::is_alphanumeric) {
            return false;
        }
        node += 1;
    }
    true
}
