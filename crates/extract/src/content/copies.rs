//! Copies of boxes. Sliders and marquees repeat their boxes for endless motion, and page builders write a
//! part once per screen width. A reader sees such a box once.

use super::prune;
use crate::{dom::Tag, page::Page, text};
use html5ever::local_name;
use rustc_hash::{FxHashMap, FxHashSet};

/// Minimum words of a box; a shorter one is a button or a label, which may occur twice.
const MIN_WORDS: u32 = 3;
/// Minimum words of two boxes whose equal text makes them copies, whatever their classes are.
const MIN_WORDS_ANY_CLASS: u32 = 8;

/// Masks each box with the same text as an earlier sibling.
pub(super) fn mask(page: &Page<'_>, mask: &mut [bool]) {
    let dom = &page.dom;
    let mut copies = Vec::new();
    let mut id = page.body;
    while id < dom.end(page.body) && !page.budget.is_over() {
        if mask[id as usize] || !page.is_visible(id) {
            id = dom.end(id);
            continue;
        }
        if dom.tag(id) != Tag::Text && page.amount(id).words >= 2 * MIN_WORDS {
            find(page, id, mask, &mut copies);
            for copy in copies.drain(..) {
                mask[copy as usize] = true;
                page.trace.mark(copy, "a copy of a box beside it");
            }
        }
        id += 1;
    }
}

/// Finds the copies among the children of an element that only holds boxes. Repeated parts between headings
/// or paragraphs are text.
fn find(page: &Page<'_>, parent: u32, mask: &[bool], copies: &mut Vec<u32>) {
    let dom = &page.dom;
    let says = |id: &u32| !mask[*id as usize] && page.is_visible(*id) && page.amount(*id).words > 0;
    let children = || dom.children(parent).filter(says);
    if children().nth(1).is_none() || !children().all(|child| is_box(page, child)) {
        return;
    }
    // Texts are compared only if their amounts are equal, which is rare.
    let mut seen: FxHashMap<_, (u32, FxHashSet<(&str, String)>)> = FxHashMap::default();
    for id in children() {
        let amount = page.amount(id);
        if amount.words < MIN_WORDS || prune::kept(page, id, mask) != amount {
            continue;
        }
        let class = |id: u32| if amount.words < MIN_WORDS_ANY_CLASS { first_class(page, id) } else { "" };
        let key = |id: u32| (class(id), text::fold(&page.visible_text(id)));
        match seen.get_mut(&(amount.chars, amount.words, amount.marks)) {
            Some((first, texts)) => {
                if texts.is_empty() {
                    texts.insert(key(*first));
                }
                if !texts.insert(key(id)) {
                    copies.push(id);
                }
            }
            None => {
                seen.insert((amount.chars, amount.words, amount.marks), (id, FxHashSet::default()));
            }
        }
    }
}

/// Returns true for an element that frames blocks or pictures. Repeated list items of one line, or captions,
/// may be text.
fn is_box(page: &Page<'_>, id: u32) -> bool {
    let dom = &page.dom;
    let inner = || (id + 1..dom.end(id)).map(|down| dom.tag(down));
    matches!(
        dom.tag(id),
        Tag::Div
            | Tag::CustomBlock
            | Tag::Section
            | Tag::Article
            | Tag::Li
            | Tag::A
            | Tag::Ul
            | Tag::Ol
            | Tag::Aside
            | Tag::Form
    ) && inner().any(|tag| tag.is_block() || tag == Tag::Img)
        && !inner().any(|tag| tag == Tag::Figcaption)
}

fn first_class<'a>(page: &'a Page<'_>, id: u32) -> &'a str {
    let class = page.dom.attr(id, &local_name!("class")).unwrap_or_default();
    class.split_ascii_whitespace().next().unwrap_or_default()
}
