//! Documentation of unknown programs: recognised by its URL or data, and taken whole.
//!
//! Boilerplate of an article is content of a reference. Lists of links belong to the subject, sections called
//! "Discussion" or "See also" are part of the page, and code has no prose.

use super::{Chosen, platform, trafilatura};
use crate::{explain, page::Page, polish::Polish, selection::Selection};
use crawl_model::PageMetadata;

/// Minimum share of the words in an element that holds the text.
const MIN_TEXT_SHARE: f32 = 0.9;

/// Container of a documentation page without boilerplate by name; `None` for other pages or without one.
pub(super) fn candidate(page: &Page<'_>, metadata: &PageMetadata, mask: &[bool]) -> Option<Chosen> {
    let rules = &page.rules.platforms;
    let by_type = metadata.json_ld_types.iter().any(|t| rules.documentation_types.contains(t));
    if !by_type && !platform::address_has(page, &['/', '.'], &rules.documentation_words) {
        return None;
    }
    let root = trafilatura::container(page, mask).unwrap_or_else(|| main_element(page, mask));
    let selection = Selection::new(page, vec![root], mask.to_vec());
    explain::candidate(page, "documentation", &selection);
    let called = if by_type { "data" } else { "address" };
    let reason = format!("documentation by its {called}, {} words", selection.words);
    let enough = selection.words >= page.rules.extraction.words.readability;
    enough.then(|| Chosen::by_platform(selection, reason, Polish::Edges))
}

/// The smallest element around nearly all text outside of boilerplate by name.
fn main_element(page: &Page<'_>, mask: &[bool]) -> u32 {
    let dom = &page.dom;
    // Cumulative words of boilerplate by node.
    let mut left_out = vec![0u32; dom.len() as usize + 1];
    let (mut sum, mut end) = (0, 0);
    for id in 0..dom.len() {
        if id >= end && mask[id as usize] {
            sum += page.amount(id).words;
            end = dom.end(id);
        }
        left_out[id as usize + 1] = sum;
    }
    let words = |id: u32| {
        let inside = left_out[dom.end(id) as usize] - left_out[id as usize];
        page.amount(id).words.saturating_sub(inside) as f32
    };
    let least = words(page.body) * MIN_TEXT_SHARE;
    let mut at = page.body;
    while let Some(child) = dom.children(at).find(|child| !mask[*child as usize] && words(*child) >= least) {
        at = child;
    }
    at
}
