//! Text that stands in a box without an element of its own, as old pages and editors write paragraphs.

use crate::{
    dom::{NONE, Tag},
    page::Page,
};
use std::ops::Range;

/// Runs of inline content directly within a box, between blocks and empty lines (two `br`). Empty for an element
/// that is no box.
pub(super) fn runs(page: &Page<'_>, id: u32) -> Vec<Range<u32>> {
    let dom = &page.dom;
    let is_box = matches!(
        dom.tag(id),
        Tag::Div | Tag::CustomBlock | Tag::Section | Tag::Article | Tag::Main | Tag::Dd | Tag::Td
    );
    let mut runs = Vec::new();
    let (mut start, mut end, mut breaks) = (NONE, NONE, 0);
    for child in dom.children(id).take_while(|_| is_box) {
        let tag = dom.tag(child);
        if tag == Tag::Br {
            breaks += 1;
        }
        if tag.is_block() || tag == Tag::Br && breaks > 1 {
            if start != NONE {
                runs.push(start..end);
            }
            start = NONE;
        } else if page.amount(child).chars > 0 {
            breaks = 0;
            start = if start == NONE { child } else { start };
            end = dom.end(child);
        }
    }
    if start != NONE {
        runs.push(start..end);
    }
    runs
}
