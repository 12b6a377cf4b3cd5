//! The DOM heuristic: priority selectors, paragraph density, the whole body (heuristics reference §5).

use super::{Chosen, PruneSettings, prune};
use crate::{dom::Tag, explain, page::Page, selection::Selection};
use crawl_model::Extractor;

/// Chooses the content; never fails, since the body is the last resort.
pub(super) fn choose(page: &Page<'_>, mask: &[bool], how: PruneSettings) -> Chosen {
    let bare = prune::decomposed(page, mask, how);
    // On some pages §5 removes all text: then only the mask decides.
    let mask = if prune::kept(page, page.body, &bare).words > 0 { &bare } else { mask };
    let chosen = priority(page, mask)
        .or_else(|| density(page, mask))
        .unwrap_or_else(|| body(page, mask, "no element has ten words of paragraphs"));
    explain::candidate(page, "dom heuristic", &chosen.selection);
    chosen
}

/// Step 1: the first selector with a match of ten words.
fn priority(page: &Page<'_>, mask: &[bool]) -> Option<Chosen> {
    let least = page.rules.extraction.words.dom;
    let mut matches = page.priority.clone();
    matches.sort_unstable();
    matches.into_iter().find_map(|(rank, id)| {
        // A selection costs a pass over the page; most elements are too small even with their boilerplate.
        if page.budget.is_over() || page.amount(id).words < least || prune::is_masked(page, id, mask) {
            return None;
        }
        let selection = Selection::new(page, vec![id], mask.to_vec());
        (selection.words >= least).then(|| {
            let selector = &page.rules.extraction.priority_selectors[rank as usize];
            let reason = format!("the selector {selector} has {} words", selection.words);
            Chosen::new(selection, Extractor::PrioritySelector, reason)
        })
    })
}

/// Step 2: the container with the most words in paragraphs, if it holds most of the body; else the body.
/// Masked words do not count.
fn density(page: &Page<'_>, mask: &[bool]) -> Option<Chosen> {
    let dom = &page.dom;
    let rules = &page.rules.extraction;
    let words = Words::of(page, mask);
    let mut best: Option<(f32, u32)> = None;
    for id in page.body..dom.end(page.body) {
        if !matches!(dom.tag(id), Tag::Div | Tag::CustomBlock | Tag::Section)
            || !page.is_visible(id)
            || mask[id as usize]
        {
            continue;
        }
        let (all, in_paragraphs) = words.in_subtree(page, id);
        let score = in_paragraphs as f32 * (in_paragraphs as f32 / all.max(1) as f32);
        if in_paragraphs >= rules.words.dom && best.is_none_or(|(s, _)| score > s) {
            best = Some((score, id));
        }
    }
    let (_, top) = best?;
    let whole = words.in_subtree(page, page.body).0.max(1);
    let share = words.in_subtree(page, top).0 as f32 / whole as f32;
    if share >= rules.choice.body_share {
        let selection = Selection::new(page, vec![top], mask.to_vec());
        let reason = format!("one element holds {:.0} % of the words", share * 100.0);
        return Some(Chosen::new(selection, Extractor::DomDensity, reason));
    }
    let selection = Selection::new(page, vec![page.body], mask.to_vec());
    let reason = format!("the densest element holds only {:.0} % of the words", share * 100.0);
    Some(Chosen::new(selection, Extractor::BodyFallback, reason))
}

/// Cumulative words by node, without masked ones: all words, and those in paragraphs.
struct Words(Vec<(u32, u32)>);

impl Words {
    fn of(page: &Page<'_>, mask: &[bool]) -> Self {
        let dom = &page.dom;
        let mut sums = vec![(0, 0); dom.len() as usize + 1];
        let (mut all, mut in_paragraphs) = (0, 0);
        let (mut masked_end, mut paragraph_end) = (0, 0);
        for id in 0..dom.len() {
            if mask[id as usize] {
                masked_end = masked_end.max(dom.end(id));
            }
            if dom.tag(id) == Tag::P {
                paragraph_end = paragraph_end.max(dom.end(id));
            }
            if dom.tag(id) == Tag::Text && id >= masked_end {
                let words = page.amount(id).words;
                all += words;
                in_paragraphs += if id < paragraph_end { words } else { 0 };
            }
            sums[id as usize + 1] = (all, in_paragraphs);
        }
        Self(sums)
    }

    /// Words of a subtree, and words in its paragraphs.
    fn in_subtree(&self, page: &Page<'_>, id: u32) -> (u32, u32) {
        let (from, to) = (self.0[id as usize], self.0[page.dom.end(id) as usize]);
        (to.0 - from.0, to.1 - from.1)
    }
}

/// Step 3: the body without its boilerplate.
fn body(page: &Page<'_>, mask: &[bool], reason: &str) -> Chosen {
    let selection = Selection::new(page, vec![page.body], mask.to_vec());
    Chosen::new(selection, Extractor::BodyFallback, reason.to_owned())
}
