//! Labels that only a style separates, without a space.

use super::Walk;
use crate::dom::Tag;
use html5ever::local_name;

/// Maximum parts of a row of labels.
const MAX_PARTS: usize = 20;

impl Walk<'_> {
    /// Returns true if a text begins a label directly after another one. In a heading, a capital follows a
    /// small letter; in a row of labels a letter and a digit may meet too.
    pub(super) fn joins_labels(&self, id: u32, text: &str) -> bool {
        let (Some(last), Some(first)) = (self.inline.text.chars().next_back(), text.chars().next()) else {
            return false;
        };
        let cases = last.is_lowercase() && first.is_uppercase();
        let digits =
            last.is_alphabetic() && first.is_ascii_digit() || last.is_ascii_digit() && first.is_alphabetic();
        if !cases && !digits {
            return false;
        }
        let dom = &self.page.dom;
        // Text directly after text, or after an element, is no separate element.
        let parent = dom.parent(id);
        if parent + 1 != id || dom.tag(parent).is_block() {
            return false;
        }
        cases && self.heading.is_some() && dom.tag(id - 2) == Tag::Text || self.is_in_row(parent)
    }

    /// Returns true if an inline element belongs to a row of labels: a box of such elements alone, like the
    /// next box.
    fn is_in_row(&self, part: u32) -> bool {
        let dom = &self.page.dom;
        let row = dom.parent(part);
        let Some(parts) = self.parts(row) else { return false };
        if dom.children(row).next() == Some(part) {
            return false;
        }
        let class = |id: u32| dom.attr(id, &local_name!("class"));
        let is_like = |other: u32| {
            other != row
                && dom.tag(other) == dom.tag(row)
                && class(other) == class(row)
                && self.parts(other).as_ref() == Some(&parts)
        };
        // The next row, or the first one after the last.
        let list = dom.parent(row);
        let mut next = dom.end(row);
        if next < dom.end(list) && dom.tag(next) == Tag::Text {
            next = dom.end(next);
        }
        let first = dom.children(list).find(|id| dom.tag(*id) != Tag::Text);
        next < dom.end(list) && is_like(next) || first.is_some_and(is_like)
    }

    /// Tags and classes of the parts of a row. `None` if it holds its own text, blocks, or parts of words.
    fn parts(&self, row: u32) -> Option<Vec<(Tag, Option<&str>)>> {
        let dom = &self.page.dom;
        let mut parts = Vec::new();
        for child in dom.children(row) {
            let tag = dom.tag(child);
            if tag == Tag::Text {
                if !dom.text(child).trim().is_empty() {
                    return None;
                }
                continue;
            }
            let whole =
                matches!(tag, Tag::Span | Tag::B | Tag::Strong | Tag::A | Tag::Em | Tag::I | Tag::Small);
            if !whole || parts.len() == MAX_PARTS {
                return None;
            }
            parts.push((tag, dom.attr(child, &local_name!("class"))));
        }
        (parts.len() > 1).then_some(parts)
    }
}
