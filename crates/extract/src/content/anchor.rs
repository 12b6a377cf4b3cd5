//! Elements that hold the content by their meaning (html-cleaner-impact, step 3): text outside of one is left
//! out.

use super::prune;
use crate::{dom::Tag, page::Page};

/// Masks the text outside of the page's anchor. The heading of the page and paragraphs between it and the
/// anchor stay, since they are the lead. If no anchor holds most of the prose, the mask does not change, so
/// that a name alone excludes no text.
pub(super) fn mask(page: &Page<'_>, mask: &mut [bool]) {
    let Some(anchor) = find(page, mask) else { return };
    let dom = &page.dom;
    let end = dom.end(anchor);
    let holds = |id: u32, inner: u32| id <= inner && inner < dom.end(id);
    let mut id = page.body + 1;
    while id < dom.end(page.body) && !page.budget.is_over() {
        if id == anchor {
            id = end;
        } else if holds(id, anchor) || dom.tag(id) == Tag::Text && page.amount(id).words == 0 {
            id += 1;
        } else if page.heading.is_some_and(|heading| holds(id, heading)) {
            id = if page.heading == Some(id) { dom.end(id) } else { id + 1 };
        } else if is_lead(page, id, anchor) {
            id = dom.end(id);
        } else {
            if !mask[id as usize] && page.amount(id).words > 0 {
                page.trace.mark(id, "outside of the element that holds the content");
            }
            mask[id as usize] = true;
            id = dom.end(id);
        }
    }
}

/// Returns true for a paragraph of prose between the heading of the page and the anchor.
fn is_lead(page: &Page<'_>, id: u32, anchor: u32) -> bool {
    let between = page.heading.is_some_and(|heading| page.dom.end(heading) <= id && id < anchor);
    between && page.dom.tag(id) == Tag::P && page.amount(id).prose > 0
}

/// The first anchor, best first, that holds most of the prose outside of boilerplate.
fn find(page: &Page<'_>, mask: &[bool]) -> Option<u32> {
    let rules = &page.rules.extraction.choice;
    let mut anchors = page.anchors.clone();
    anchors.sort_unstable();
    anchors.retain(|(_, id)| {
        *id > page.body
            && page.is_visible(*id)
            && page.amount(*id).words >= rules.anchor_words
            && !prune::is_masked(page, *id, mask)
    });
    if anchors.is_empty() {
        return None;
    }
    let whole = prune::kept(page, page.body, mask).prose;
    let least = whole as f32 * rules.anchor_share;
    // Each costs a pass over its nodes.
    anchors.truncate(MAX_ANCHORS);
    let holds = |id: &u32| {
        let kept = prune::kept(page, *id, mask);
        kept.words >= rules.anchor_words && kept.prose > 0 && kept.prose as f32 >= least
    };
    anchors.into_iter().map(|(_, id)| id).find(holds)
}

/// Maximum anchors of a page that are examined.
const MAX_ANCHORS: usize = 32;
