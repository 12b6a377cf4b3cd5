//! Imprint of a site, recognised by its copyright sign: the owner of the page and its terms of use. On a page
//! of short paragraphs it would score as the best prose.

use crate::{
    dom::{NONE, Tag},
    page::{Amount, Page},
};
use memchr::memmem;
use std::ops::Range;

/// Maximum characters of a box with an imprint.
const MAX_BOX: u32 = 2000;
/// Maximum bytes of an imprint.
const MAX_TEXT: usize = 2000;
/// Maximum boxes of a page; each changes the amounts that are left.
const MAX_FOUND: usize = 50;
/// Minimum share of the page's text or prose before an imprint.
const MIN_SHARE_BEFORE: f32 = 0.6;
/// Minimum share of the page's prose in an element that holds the text.
const MIN_PROSE_SHARE: f32 = 0.5;

/// Masks the boxes that begin with an imprint after an article; returns them.
pub(super) fn mask(page: &Page<'_>, mask: &mut [bool]) -> Vec<u32> {
    let dom = &page.dom;
    let sign = memmem::Finder::new("©");
    let (mut found, mut left) = (Vec::new(), None);
    let mut id = page.body + 1;
    while id < dom.end(page.body) && found.len() < MAX_FOUND && !page.budget.is_over() {
        if mask[id as usize] || !page.is_visible(id) {
            id = dom.end(id);
            continue;
        }
        let text = if dom.tag(id) == Tag::Text { dom.text(id) } else { "" };
        if (1..=MAX_TEXT).contains(&text.len())
            && sign.find(text.as_bytes()).is_some()
            && let Some(imprint) = enclosing_box(page, left.get_or_insert_with(|| Left::of(page, mask)), id)
        {
            mask[imprint as usize] = true;
            left = None;
            page.trace.mark(imprint, "an imprint behind the article");
            found.push(imprint);
            id = dom.end(imprint).max(id + 1);
            continue;
        }
        id += 1;
    }
    found
}

/// The largest box that begins with the block around this text, if it follows the article.
fn enclosing_box(page: &Page<'_>, left: &Left, text: u32) -> Option<u32> {
    let dom = &page.dom;
    let block = dom.ancestors(text).find(|up| dom.tag(*up).is_block())?;
    let whole = left.of_nodes(page, page.within_body());
    let before = whole.minus(left.of_nodes(page, text..dom.end(page.body)));
    let is_late = |before: u32, whole: u32| before as f32 >= whole as f32 * MIN_SHARE_BEFORE;
    let is_small = |id: u32| {
        let holds_heading = page.heading.is_some_and(|heading| (id..dom.end(id)).contains(&heading));
        id > page.body
            && page.amount(id).chars <= MAX_BOX
            && !matches!(dom.tag(id), Tag::Main | Tag::Article | Tag::H1)
            && !holds_heading
    };
    if !is_small(block) || !is_late(before.chars, whole.chars) && !is_late(before.prose, whole.prose) {
        return None;
    }
    let mut found = block;
    let mut up = dom.parent(block);
    while up != NONE && is_small(up) && page.amount_in(up..block).chars == 0 {
        found = up;
        up = dom.parent(up);
    }
    // A paragraph next to those of the text is the text's own note on its rights.
    let beside_text = || {
        let parent = dom.parent(found);
        let beside = left.of_nodes(page, parent..dom.end(parent));
        beside.prose as f32 > whole.prose as f32 * MIN_PROSE_SHARE
    };
    (dom.tag(found) != Tag::P || !beside_text()).then_some(found)
}

/// Masked elements of a page, none within another, each with the text of all up to it. A page of pictures has a sign
/// below each, so the text that is left is not counted anew for each.
struct Left(Vec<(u32, Amount)>);

impl Left {
    fn of(page: &Page<'_>, mask: &[bool]) -> Self {
        let (mut masked, mut sum) = (Vec::new(), Amount::default());
        let mut id = page.body;
        while id < page.dom.end(page.body) {
            if mask[id as usize] {
                sum.add(page.amount(id));
                masked.push((id, sum));
                id = page.dom.end(id);
            } else {
                id += 1;
            }
        }
        Self(masked)
    }

    /// Text of nodes without masked ones. The first node is not within a masked element.
    fn of_nodes(&self, page: &Page<'_>, nodes: Range<u32>) -> Amount {
        let up_to = |node: u32| {
            let behind = self.0.partition_point(|(id, _)| *id < node);
            behind.checked_sub(1).map_or_else(Amount::default, |last| self.0[last].1)
        };
        let masked = up_to(nodes.end).minus(up_to(nodes.start));
        page.amount_in(nodes).minus(masked)
    }
}
