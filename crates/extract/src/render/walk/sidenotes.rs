//! Notes within a paragraph, which a style sets beside it or a script opens.

use super::{
    Gap, Kind, Walk,
    notes::{MAX_MARKER, marker_of},
};
use crate::{
    dom::{NONE, Tag},
    page::{HiddenReason, Page},
    selection::Selection,
};
use html5ever::local_name;

/// Maximum levels from a note's element to that of its text, with one child each.
const MAX_LEVELS: usize = 4;
/// More nodes are not one note.
const MAX_NODES: u32 = 500;
/// Maximum notes of this kind that are moved.
const MAX_NOTES: usize = 1_000;

impl Walk<'_> {
    /// Returns true if a reader sees a node, or opens it as a note.
    pub(super) fn is_shown(&self, id: u32) -> bool {
        self.page.is_visible(id)
            || self.opened.contains(&id) && self.page.gone[id as usize] == HiddenReason::Hidden
    }

    /// Writes the notes outside of the selection or within a paragraph.
    pub(super) fn notes_apart(&mut self) {
        let kept = vec![false; if self.notes.apart.is_empty() { 0 } else { self.page.dom.len() as usize }];
        for body in std::mem::take(&mut self.notes.apart) {
            self.request_gap(Gap::Blank);
            if !self.page.dom.tag(body).is_block()
                && let Some(label) = self.notes.bodies.get(&body)
            {
                let first = format!("[^{label}]: ");
                self.prefix(body, first, "    ");
            }
            self.opened = body..self.page.dom.end(body);
            self.root(body, &kept);
            self.flush(Kind::Paragraph);
            self.prefixes.clear();
            self.lists.clear();
            self.request_gap(Gap::Blank);
        }
    }

    /// Writes a reference to a note; returns false for an element that is neither a reference nor a backlink.
    pub(super) fn write_note_reference(&mut self, id: u32) -> bool {
        if self.notes.references.is_empty() || self.pre_end > id {
            return false;
        }
        if let Some(label) = self.notes.references.get(&id) {
            let reference = format!("[^{label}]");
            self.inline.push_raw(&reference);
            let texts = (id..self.page.dom.end(id)).filter(|node| self.page.dom.tag(*node) == Tag::Text);
            self.inline.nodes.extend(texts);
            return true;
        }
        self.notes.skipped.contains(&id)
    }
}

/// Elements of notes within paragraphs, each with the element of its text.
pub(super) fn find(page: &Page<'_>, selection: &Selection) -> Vec<(u32, u32)> {
    let dom = &page.dom;
    let mut found = Vec::new();
    for &root in &selection.roots {
        let mut id = root;
        while id < dom.end(root) && found.len() < MAX_NOTES && !page.budget.is_over() {
            if selection.drop[id as usize] || !page.is_visible(id) || dom.tag(id) == Tag::Pre {
                id = dom.end(id);
            } else if let Some(body) = note(page, id) {
                found.push((id, body));
                id = dom.end(id);
            } else {
                id += 1;
            }
        }
    }
    found
}

/// Element of a note's text, if an element is a note: named as one, after text of its paragraph, and with
/// words.
fn note(page: &Page<'_>, id: u32) -> Option<u32> {
    let dom = &page.dom;
    if !matches!(dom.tag(id), Tag::Span | Tag::Small | Tag::Other) || !is_named(page, id) {
        return None;
    }
    let mut block = dom.parent(id);
    while block != NONE && !dom.tag(block).is_block() {
        block = dom.parent(block);
    }
    let is_text = |node: u32| !dom.text(node).trim().is_empty();
    if block == NONE
        || dom.end(id) - id > MAX_NODES
        || !(block..id).rev().take(MAX_NODES as usize).any(is_text)
    {
        return None;
    }
    let mut body = id;
    for _ in 0..MAX_LEVELS {
        let Some(inner) = only_child(page, body) else { break };
        body = inner;
    }
    let text = dom.raw_text(body);
    let says = text.trim().chars().count() > MAX_MARKER && text.contains(char::is_alphabetic);
    let is_block = |node: u32| dom.tag(node).is_block() && page.gone[node as usize] != HiddenReason::Silent;
    (says && !(id..dom.end(id)).any(is_block)).then_some(body)
}

/// The only child that is named as a note and has the words; besides it there is at most a number.
fn only_child(page: &Page<'_>, id: u32) -> Option<u32> {
    let dom = &page.dom;
    let mut child = None;
    for node in dom.children(id) {
        let text = dom.raw_text(node);
        if marker_of(&text).chars().count() <= MAX_MARKER {
            continue;
        }
        if child.is_some() || dom.tag(node) == Tag::Text || !is_named(page, node) {
            return None;
        }
        child = Some(node);
    }
    child
}

fn is_named(page: &Page<'_>, id: u32) -> bool {
    let names = &page.rules.extraction.markdown.sidenotes;
    page.dom.attr(id, &local_name!("class")).is_some_and(|class| {
        class.split_ascii_whitespace().any(|class| names.iter().any(|name| name.eq_ignore_ascii_case(class)))
    })
}
