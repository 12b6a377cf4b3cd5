//! The DOM heuristic: priority selectors, paragraph density, the whole body (heuristics reference §5).

use super::{Chosen, Selection, prune};
use crate::{dom::Tag, page::Page};
use crawl_model::Extractor;

/// Never fails: at the end there is the body.
pub(super) fn choose(page: &Page<'_>, mask: &[bool]) -> Chosen {
    let chosen = priority(page, mask)
        .or_else(|| density(page, mask))
        .unwrap_or_else(|| body(page, mask, "no element has ten words of paragraphs"));
    page.trace.candidate(page, "dom heuristic", &chosen.selection);
    chosen
}

/// Step 1: the first selector with a match of ten words.
fn priority(page: &Page<'_>, mask: &[bool]) -> Option<Chosen> {
    let least = page.rules.extraction.words.dom;
    let mut matches = page.priority.clone();
    matches.sort_unstable();
    matches.into_iter().find_map(|(rank, id)| {
        // A selection costs a pass over the page; most of what is too small is so with its boilerplate.
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

/// Step 2: the container whose words stand in paragraphs, if it holds most of the body; else the body.
fn density(page: &Page<'_>, mask: &[bool]) -> Option<Chosen> {
    let dom = &page.dom;
    let rules = &page.rules.extraction;
    let mut paragraphs = vec![0u32; dom.len() as usize + 1];
    let mut sum = 0;
    let mut end = 0;
    for id in 0..dom.len() {
        if dom.tag(id) == Tag::P && id >= end && page.is_visible(id) {
            sum += page.amount(id).words;
            end = dom.end(id);
        }
        paragraphs[id as usize + 1] = sum;
    }
    let mut best: Option<(f32, u32)> = None;
    for id in page.body..dom.end(page.body) {
        if !matches!(dom.tag(id), Tag::Div | Tag::Section) || !page.is_visible(id) || mask[id as usize] {
            continue;
        }
        let in_paragraphs = paragraphs[dom.end(id) as usize] - paragraphs[id as usize];
        let words = page.amount(id).words;
        let score = in_paragraphs as f32 * (in_paragraphs as f32 / words.max(1) as f32);
        if in_paragraphs >= rules.words.dom && best.is_none_or(|(s, _)| score > s) {
            best = Some((score, id));
        }
    }
    let (_, top) = best?;
    let whole = page.amount(page.body).words.max(1);
    let share = page.amount(top).words as f32 / whole as f32;
    if share >= rules.choice.body_share {
        let selection = Selection::new(page, vec![top], mask.to_vec());
        let reason = format!("one element holds {:.0} % of the words", share * 100.0);
        return Some(Chosen::new(selection, Extractor::DomDensity, reason));
    }
    let selection = Selection::new(page, vec![page.body], mask.to_vec());
    let reason = format!("the densest element holds only {:.0} % of the words", share * 100.0);
    Some(Chosen::new(selection, Extractor::BodyFallback, reason))
}

/// Step 3: the body less its boilerplate.
fn body(page: &Page<'_>, mask: &[bool], reason: &str) -> Chosen {
    let selection = Selection::new(page, vec![page.body], mask.to_vec());
    Chosen::new(selection, Extractor::BodyFallback, reason.to_owned())
}
