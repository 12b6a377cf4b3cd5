//! Text of the chosen content that the page's style sheets hide.
//!
//! The sheets are read after the choice of the content: they apply to its elements alone. They hide a small
//! part of it, or any part if the page runs no script.

use super::prune;
use crate::{
    dom::{Dom, Tag},
    page::{Controlled, HiddenReason, Page},
    selection::Selection,
    visibility::{self, Seen},
};
use std::ops::Range;

/// Nodes that are hidden in one way, with their words.
#[derive(Default)]
struct Hidden {
    words: u32,
    nodes: Vec<Range<u32>>,
}

/// Drops text that the page's style sheets hide from a selection. Much hidden text stays if the page runs
/// scripts, which may show it; returns its words.
pub(crate) fn hide(page: &mut Page<'_>, selection: &mut Selection) -> u32 {
    let part = part(page, selection);
    let rules = &page.rules.extraction.visibility;
    let seen = visibility::find_in(&page.dom, &part, rules, page.budget);
    if seen.is_empty() {
        return 0;
    }
    let controlled = Controlled::default();
    let (mut closed, mut unreadable) = (Hidden::default(), Hidden::default());
    for id in part {
        match seen[id as usize] {
            Seen::Never => unreadable.add(page, selection, id..page.dom.end(id)),
            Seen::NoText => texts_of(&page.dom, id).for_each(|text| unreadable.add(page, selection, text)),
            Seen::Closed if !page.is_opened_by_a_click(id, &controlled) => {
                closed.add(page, selection, id..page.dom.end(id));
            }
            _ => {}
        }
    }
    let (mut is_changed, mut kept) = (false, 0);
    for (hidden, why) in [(closed, HiddenReason::Hidden), (unreadable, HiddenReason::Unreadable)] {
        let is_small = rules.may_be_hidden(hidden.words, selection.words);
        if !is_small && !visibility::is_static(&page.dom) {
            kept += hidden.words;
        } else if !hidden.nodes.is_empty() {
            page.leave_out(&hidden.nodes, why);
            is_changed = true;
        }
    }
    if is_changed {
        page.recompute_sums();
        let empty = Selection { roots: Vec::new(), drop: Vec::new(), words: 0 };
        let Selection { roots, drop, .. } = std::mem::replace(selection, empty);
        *selection = Selection::new(page, roots, drop);
    }
    kept
}

impl Hidden {
    fn add(&mut self, page: &Page<'_>, selection: &Selection, nodes: Range<u32>) {
        self.words += prune::kept_in(page, nodes.clone(), &selection.drop).words;
        self.nodes.push(nodes);
    }
}

/// Elements of a selection that have text, and their ancestors, in document order.
fn part(page: &Page<'_>, selection: &Selection) -> Vec<u32> {
    let dom = &page.dom;
    let mut part: Vec<u32> = Vec::new();
    for root in &selection.roots {
        let last = part.last().copied().unwrap_or(0);
        let around: Vec<u32> = dom.ancestors(*root).take_while(|up| *up > last).collect();
        part.extend(around.into_iter().rev());
        let mut id = *root;
        while id < dom.end(*root) {
            if dom.tag(id) == Tag::Text {
                id += 1;
            } else if selection.drop[id as usize] || !page.is_visible(id) || page.amount(id).chars == 0 {
                id = dom.end(id);
            } else {
                part.push(id);
                id += 1;
            }
        }
    }
    part
}

fn texts_of(dom: &Dom, id: u32) -> impl Iterator<Item = Range<u32>> {
    dom.children(id).filter(|child| dom.tag(*child) == Tag::Text).map(|text| text..text + 1)
}
