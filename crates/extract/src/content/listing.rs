//! Share of a page that lists other pages.

use super::{prune, teasers};
use crate::{dom::Tag, page::Page};
use rustc_hash::FxHashSet;

/// Maximum nodes of a teaser.
const MAX_NODES: u32 = 300;
/// Fewer boxes are no list.
const MIN_BOXES: usize = 5;

/// Share of the words outside of boilerplate in boxes that lead to other pages, 0 to 1.
pub(super) fn share(page: &Page<'_>, mask: &[bool]) -> f32 {
    let whole = prune::kept(page, page.body, mask).words;
    if whole == 0 {
        return 0.0;
    }
    let words = |ids: &[u32]| ids.iter().map(|id| page.amount(*id).words).sum::<u32>();
    let cards = teasers::cards(page, mask);
    let headed = if cards.len() >= MIN_BOXES { words(&cards) } else { 0 };
    headed.max(words(&repeated(page, mask))) as f32 / whole as f32
}

/// Sibling boxes, each with a heading and a link to another page of the host, all with different targets.
fn repeated(page: &Page<'_>, mask: &[bool]) -> Vec<u32> {
    let dom = &page.dom;
    let (mut boxes, mut last): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
    let mut parents = FxHashSet::default();
    let mut id = page.body;
    while id < dom.end(page.body) && !page.budget.is_over() {
        if mask[id as usize] || !page.is_visible(id) {
            id = dom.end(id);
            continue;
        }
        let parent = dom.parent(id);
        if is_box(dom.tag(id)) && parents.insert(parent) {
            last.clear();
            last.extend(dom.children(parent).filter(|child| {
                is_box(dom.tag(*child)) && !mask[*child as usize] && page.is_visible(*child)
            }));
            let mut seen = FxHashSet::default();
            last.retain(|child| leads_away(page, *child, &mut seen));
            if last.len() >= MIN_BOXES {
                boxes.append(&mut last);
                id = dom.end(parent);
                continue;
            }
        }
        id += 1;
    }
    boxes
}

const fn is_box(tag: Tag) -> bool {
    matches!(tag, Tag::Article | Tag::Li | Tag::Div | Tag::CustomBlock | Tag::Section)
}

/// Returns true for a short box with one heading and a link to a page of the host that no earlier box links
/// to.
fn leads_away(page: &Page<'_>, id: u32, seen: &mut FxHashSet<String>) -> bool {
    let dom = &page.dom;
    let amount = page.amount(id);
    if amount.links == 0 || amount.words > teasers::MAX_WORDS || dom.end(id) - id > MAX_NODES {
        return false;
    }
    let headings = (id..dom.end(id)).filter(|node| dom.tag(*node).heading_level().is_some()).count();
    headings == 1
        && (id..dom.end(id)).any(|node| teasers::target(page, node).is_some_and(|url| seen.insert(url)))
}
