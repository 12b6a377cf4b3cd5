//! Lists: marks and spacing of their items.

use super::{
    super::{Gap, inline::is_blank},
    Walk,
};
use crate::dom::Tag;
use html5ever::local_name;
use std::borrow::Cow;

/// A list that is open.
#[derive(Debug)]
pub(super) struct List {
    /// Its element.
    id: u32,
    /// Number of the next item in a numbered list.
    next: Option<i64>,
    /// Character after a number, or bullet: differs from that of the previous list.
    mark: char,
    /// An item has been seen.
    begun: bool,
    /// Pieces in front of the list.
    pieces: usize,
    /// Pieces up to the end of its last item.
    item_end: usize,
    /// Width of the mark of its last item.
    indent: usize,
}

impl Walk<'_> {
    pub(super) fn enter_list(&mut self, id: u32, tag: Tag) {
        if self.is_list_of_sections(id) {
            self.request_gap(Gap::Blank);
            return;
        }
        let number = |name| {
            let value = self.page.dom.attr(id, &name)?;
            value.trim().parse::<i64>().ok().filter(|number| (0..MAX_NUMBER).contains(number))
        };
        let ordered = tag == Tag::Ol;
        let next = ordered.then(|| number(local_name!("start")).unwrap_or(1));
        let gap = if self.lists.is_empty() { Gap::Blank } else { Gap::Line };
        let [usual, other] = if ordered { ['.', ')'] } else { ['-', '*'] };
        // Two lists with the same marks, and nothing between, would be one.
        let follows = self.last_list.is_some_and(|(pieces, depth, mark)| {
            pieces == self.pieces.len() && depth == self.lists.len() && mark == usual
        });
        let mark = if follows { other } else { usual };
        self.continue_item(id);
        let pieces = self.pieces.len();
        self.lists.push(List { id, next, mark, begun: false, pieces, item_end: 0, indent: 0 });
        self.request_gap(gap);
    }

    /// Indents a list directly within a list, as browsers do. It belongs to the item before it.
    fn continue_item(&mut self, id: u32) {
        let Some(list) = self.lists.last() else { return };
        if list.id == self.page.dom.parent(id) && list.item_end > 0 {
            let indent = " ".repeat(list.indent);
            self.prefix(id, indent.clone(), indent);
            if let Some(prefix) = self.prefixes.last_mut().filter(|prefix| prefix.owner == id) {
                prefix.used = true;
            }
        }
    }

    pub(super) fn enter_item(&mut self, id: u32) {
        if self.is_list_of_sections(self.page.dom.parent(id)) {
            self.request_gap(Gap::Blank);
            return;
        }
        let mut marker = Cow::Borrowed("- ");
        if let Some(list) = self.lists.last_mut() {
            // Items follow each other directly, however many blocks the last one had. The first item gets the
            // gap of the list. A number above 1 would continue a paragraph that is in no item.
            if std::mem::replace(&mut list.begun, true) && list.pieces < self.pieces.len() {
                let apart = self.style.markdown && list.item_end < self.pieces.len();
                self.gap = if apart { Gap::Blank } else { Gap::Line };
            }
            if list.mark == '*' {
                marker = "* ".into();
            }
            if let Some(number) = &mut list.next {
                let value = self.page.dom.attr(id, &local_name!("value"));
                let value = value.and_then(|value| value.trim().parse::<i64>().ok());
                if let Some(value) = value.filter(|value| (0..MAX_NUMBER).contains(value)) {
                    *number = value;
                }
                marker = format!("{number}{} ", list.mark).into();
                // Only a list from 1 on ends a paragraph without a blank line.
                if *number != 1 && list.pieces == self.pieces.len() {
                    self.gap = Gap::Blank;
                }
                *number = (*number + 1).min(MAX_NUMBER - 1);
            }
        }
        if let Some(list) = self.lists.last_mut() {
            list.indent = marker.len();
        }
        let rest = match marker {
            Cow::Borrowed(_) => Cow::Borrowed("  "),
            Cow::Owned(ref number) => " ".repeat(number.len()).into(),
        };
        self.prefix(id, marker, rest);
    }

    /// Ends an item, or a list directly within a list.
    pub(super) fn leave_item(&mut self) {
        if let Some(list) = self.lists.last_mut() {
            list.item_end = self.pieces.len();
        }
    }

    /// Ends a list; returns false for an element that is no open list.
    pub(super) fn leave_list(&mut self, id: u32) -> bool {
        if self.lists.last().is_none_or(|list| list.id != id) {
            return false;
        }
        if let Some(list) = self.lists.pop().filter(|list| list.begun) {
            self.last_list = Some((self.pieces.len(), self.lists.len(), list.mark));
        }
        self.leave_item();
        let gap = if self.lists.is_empty() { Gap::Blank } else { Gap::Line };
        self.request_gap(gap);
        true
    }

    /// Returns true for a list that only arranges sections of the page, as in javadoc. Its first item begins
    /// with a heading, and is the only item or holds a `section`.
    fn is_list_of_sections(&self, id: u32) -> bool {
        let dom = &self.page.dom;
        if !self.style.markdown || !matches!(dom.tag(id), Tag::Ul | Tag::Ol) {
            return false;
        }
        let mut items = dom.children(id).take(MAX_LOOKED_AT).filter(|child| dom.tag(*child) == Tag::Li);
        let (Some(item), second) = (items.next(), items.next()) else { return false };
        let mut parts = (item + 1..dom.end(item)).take(MAX_LOOKED_AT);
        let has_section =
            || dom.children(item).take(MAX_LOOKED_AT).any(|child| dom.tag(child) == Tag::Section);
        let is_heading = |part: u32| dom.tag(part).heading_level().is_some();
        let begins =
            |part: &u32| is_heading(*part) || has_own_form(dom.tag(*part)) || !is_blank(dom.text(*part));
        parts.find(begins).is_some_and(is_heading)
            && (second.is_none() || has_section())
            // Within an item of another list a heading would end that list.
            && self.prefixes.iter().all(|prefix| prefix.first == "> ")
    }

    /// Makes a task of the item that begins with a checkbox.
    pub(super) fn checkbox(&mut self, id: u32) {
        let dom = &self.page.dom;
        let is_box =
            dom.attr(id, &local_name!("type")).is_some_and(|kind| kind.eq_ignore_ascii_case("checkbox"));
        if !is_box || !self.inline.text.is_empty() || self.lists.is_empty() {
            return;
        }
        let ticked = dom.attr(id, &local_name!("checked")).is_some();
        if let Some(prefix) =
            self.prefixes.last_mut().filter(|prefix| !prefix.used && dom.tag(prefix.owner) == Tag::Li)
            && !prefix.first.ends_with("] ")
        {
            prefix.first.to_mut().push_str(if ticked { "[x] " } else { "[ ] " });
        }
    }
}

/// Upper bound of list numbers in CommonMark, which have nine digits at most.
const MAX_NUMBER: i64 = 1_000_000_000;

/// Nodes at the start of a list or item that may show that it arranges sections.
const MAX_LOOKED_AT: usize = 12;

/// Returns true for an element whose heading belongs to it, and not to the list around it.
fn has_own_form(tag: Tag) -> bool {
    matches!(
        tag,
        Tag::Blockquote | Tag::Pre | Tag::Table | Tag::Dl | Tag::Details | Tag::Hr | Tag::Img | Tag::Input
    )
}
