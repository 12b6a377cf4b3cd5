//! Readability-style candidate: paragraphs give points to their containers; the best container and its
//! siblings of the same kind are the content. After Arc90's readability and Mozilla's Readability.js, as
//! described in heuristics reference §4, with their published weights.

use super::{PruneSettings, lines, prune};
use crate::{
    dom::{NONE, Tag},
    explain,
    page::{Amount, Page},
    render::is_data_table,
    rules::Roles,
    selection::Selection,
};
use html5ever::local_name;
use rustc_hash::FxHashMap;
use std::collections::HashSet;

/// Minimum characters of a paragraph that gives points.
const MIN_PARAGRAPH: u32 = 25;
/// Maximum share of links in a further section of a text.
const SECTION_LINKS: f32 = 0.25;
/// Minimum characters of prose in a further section; a shorter box is a note or a call.
const SECTION_PROSE: u32 = 400;
/// Ancestor levels that get points from a paragraph.
const MAX_ANCESTORS: usize = 5;

/// Kind of text that gives points to a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Points {
    /// Paragraphs.
    Paragraphs,
    /// Paragraphs, and text between blocks and empty lines.
    Lines,
}

/// The best container with its siblings; `None` if no element scores.
pub(super) fn candidate(
    page: &Page<'_>,
    mask: &[bool],
    how: PruneSettings,
    from: Points,
) -> Option<Selection> {
    let scores = score(page, mask, from);
    let (&top, &best) = scores.iter().max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(a.0)))?;
    let top = around_table(page, climb(page, top, best, &scores));
    let best = scores.get(&top).copied().unwrap_or(best);
    let roots = with_siblings(page, top, best, &scores, mask);
    let mut drop = mask.to_vec();
    prune::drop_link_lists(page, &roots, &mut drop, how);
    let selection = Selection::new(page, roots, drop);
    let name = if from == Points::Lines { "readability by lines" } else { "readability" };
    explain::candidate(page, name, &selection);
    page.trace.score(best);
    Some(selection)
}

fn score(page: &Page<'_>, mask: &[bool], from: Points) -> FxHashMap<u32, f32> {
    let dom = &page.dom;
    let mut scores: FxHashMap<u32, f32> = FxHashMap::default();
    let mut id = page.body;
    while id < dom.end(page.body) && !page.budget.is_over() {
        if mask[id as usize] || !page.is_visible(id) {
            id = dom.end(id);
            continue;
        }
        let is_paragraph = is_paragraph(page, id);
        let runs = if from == Points::Lines { lines::runs(page, id) } else { Vec::new() };
        if runs.len() > 1 || !is_paragraph && !runs.is_empty() {
            for run in runs {
                add_points(
                    page,
                    &mut scores,
                    page.amount_in(run),
                    std::iter::once(id).chain(dom.ancestors(id)),
                );
            }
        } else if is_paragraph {
            add_points(page, &mut scores, page.amount(id), dom.ancestors(id));
        }
        id += 1;
    }
    for (id, score) in &mut scores {
        *score *= 1.0 - page.amount(*id).link_density();
    }
    scores
}

/// Adds the points of a paragraph to the elements around it, the innermost first.
fn add_points(
    page: &Page<'_>,
    scores: &mut FxHashMap<u32, f32>,
    amount: Amount,
    around: impl Iterator<Item = u32>,
) {
    if amount.chars < MIN_PARAGRAPH {
        return;
    }
    let points = 1.0 + amount.marks as f32 + (amount.chars as f32 / 100.0).min(3.0);
    let around = around.take_while(|up| *up >= page.body);
    for (level, up) in around.take(MAX_ANCESTORS).enumerate() {
        let share = match level {
            0 => 1.0,
            1 => 2.0,
            n => n as f32 * 3.0,
        };
        *scores.entry(up).or_insert_with(|| initial(page, up)) += points / share;
    }
}

/// Returns true for a paragraph, or a container with its own text.
fn is_paragraph(page: &Page<'_>, id: u32) -> bool {
    let dom = &page.dom;
    match dom.tag(id) {
        Tag::P | Tag::Pre | Tag::Blockquote => true,
        Tag::Div | Tag::CustomBlock | Tag::Section | Tag::Article | Tag::Dd | Tag::Td => {
            !(id + 1..dom.end(id)).any(|down| {
                let tag = dom.tag(down);
                tag.is_block() && tag != Tag::Li
            })
        }
        _ => false,
    }
}

fn initial(page: &Page<'_>, id: u32) -> f32 {
    let tag = match page.dom.tag(id) {
        Tag::Div | Tag::CustomBlock | Tag::Article | Tag::Main => 5.0,
        Tag::Pre | Tag::Td | Tag::Blockquote => 3.0,
        Tag::Address | Tag::Ol | Tag::Ul | Tag::Dl | Tag::Dd | Tag::Dt | Tag::Li | Tag::Form => -3.0,
        Tag::H1 | Tag::H2 | Tag::H3 | Tag::H4 | Tag::H5 | Tag::H6 | Tag::Th => -5.0,
        _ => 0.0,
    };
    let roles = page.roles[id as usize];
    tag + if roles.has(Roles::CONTENT) { 25.0 } else { 0.0 }
}

/// Climbs to a parent that scores nearly as much, and past parents with one child.
fn climb(page: &Page<'_>, top: u32, best: f32, scores: &FxHashMap<u32, f32>) -> u32 {
    let dom = &page.dom;
    let mut top = top;
    let (mut last, least) = (best, best / 3.0);
    let mut at = dom.parent(top);
    while at != NONE && at > page.body {
        let score = scores.get(&at).copied().unwrap_or(0.0);
        if score < least {
            break;
        }
        if score > last {
            top = at;
            break;
        }
        last = score;
        at = dom.parent(at);
    }
    let mut parent = dom.parent(top);
    while parent != NONE && parent > page.body && page.amount(parent).chars == page.amount(top).chars {
        top = parent;
        parent = dom.parent(top);
    }
    top
}

/// Returns the element around the innermost table that holds the best container, if it is a data table.
///
/// A data table is a part of a text: headings and lists stand beside it. Otherwise the container stays.
fn around_table(page: &Page<'_>, top: u32) -> u32 {
    let dom = &page.dom;
    let table = std::iter::once(top).chain(dom.ancestors(top)).find(|up| dom.tag(*up) == Tag::Table);
    let parent = table.filter(|table| is_data_table(page, *table)).map(|table| dom.parent(table));
    parent.filter(|parent| *parent != NONE && *parent >= page.body).unwrap_or(top)
}

fn with_siblings(
    page: &Page<'_>,
    top: u32,
    best: f32,
    scores: &FxHashMap<u32, f32>,
    mask: &[bool],
) -> Vec<u32> {
    let dom = &page.dom;
    let parent = dom.parent(top);
    if top == page.body || parent == NONE {
        return vec![top];
    }
    let threshold = (best * 0.2).max(10.0);
    // A heading after the container begins another part: later paragraphs do not belong to the container.
    let mut ended = false;
    let mut belongs = |child: u32| {
        if child == top {
            return true;
        }
        if mask[child as usize] || !page.is_visible(child) {
            return false;
        }
        if scores.get(&child).is_some_and(|score| *score >= threshold) {
            return true;
        }
        ended |= child > top && dom.tag(child).heading_level().is_some();
        let amount = page.amount(child);
        let long = amount.chars > 80 && amount.link_density() < 0.25;
        let sentence = amount.chars > 0 && amount.links == 0 && amount.marks > 0;
        !ended && dom.tag(child) == Tag::P && (long || sentence)
    };
    dom.children(parent).filter(|child| belongs(*child)).collect()
}

/// Adds elements between the parts of an article's text that score too little to be chosen.
///
/// They are headings, lists, tables and code, and boxes of prose that begin with the class of a chosen part.
pub(super) fn fill_gaps(page: &Page<'_>, selection: &mut Selection, mask: &[bool], how: PruneSettings) {
    let dom = &page.dom;
    let (Some(&first), Some(&last)) = (selection.roots.first(), selection.roots.last()) else { return };
    if first == last || dom.parent(first) != dom.parent(last) {
        return;
    }
    let class = |id: u32| {
        let classes = dom.attr(id, &local_name!("class")).unwrap_or_default();
        (dom.tag(id), classes.split_ascii_whitespace().next())
    };
    let classes: HashSet<_> = selection.roots.iter().map(|root| class(*root)).collect();
    let is_part = |id: u32| {
        let (amount, tag) = (page.amount(id), dom.tag(id));
        let is_part_by_tag = tag.heading_level().is_some()
            || matches!(tag, Tag::Ul | Tag::Ol | Tag::Dl | Tag::Table | Tag::Pre | Tag::Blockquote)
            || is_boxed_heading(page, id);
        amount.chars > 0
            && amount.link_density() < SECTION_LINKS
            && (is_part_by_tag || amount.prose > 0 && classes.contains(&class(id)))
            && !mask[id as usize]
            && page.is_visible(id)
            && selection.roots.binary_search(&id).is_err()
    };
    let between = dom.children(dom.parent(first)).filter(|id| (first..last).contains(id));
    let parts: Vec<u32> = between.filter(|id| is_part(*id)).collect();
    if parts.is_empty() {
        return;
    }
    extend(page, selection, parts, mask, how);
}

/// Returns true for a box whose only text is a heading.
fn is_boxed_heading(page: &Page<'_>, id: u32) -> bool {
    let dom = &page.dom;
    let heading = (id + 1..dom.end(id)).find(|down| dom.tag(*down).heading_level().is_some());
    heading.is_some_and(|heading| page.amount(heading).chars == page.amount(id).chars)
}

/// Adds roots to a selection.
fn extend(page: &Page<'_>, selection: &mut Selection, more: Vec<u32>, mask: &[bool], how: PruneSettings) {
    let mut roots = selection.roots.clone();
    roots.extend(more);
    roots.sort_unstable();
    let mut drop = mask.to_vec();
    prune::drop_link_lists(page, &roots, &mut drop, how);
    *selection = Selection::new(page, roots, drop);
}

/// Adds the siblings of an article's container that have its tag, its class and enough prose. Page builders
/// write one such box for each section of a text.
pub(super) fn add_sections(page: &Page<'_>, selection: &mut Selection, mask: &[bool], how: PruneSettings) {
    let dom = &page.dom;
    let Some(&top) = selection.roots.iter().max_by_key(|root| page.amount(**root).words) else { return };
    let class = |id: u32| dom.attr(id, &local_name!("class")).unwrap_or_default();
    let own = class(top);
    if top == page.body || own.is_empty() {
        return;
    }
    let is_section = |id: u32| {
        // The page's own sums are checked first.
        let amount = page.amount(id);
        amount.prose >= SECTION_PROSE
            && amount.link_density() < SECTION_LINKS
            && dom.tag(id) == dom.tag(top)
            && !selection.roots.contains(&id)
            && !mask[id as usize]
            && page.is_visible(id)
            && class(id) == own
            && prune::kept(page, id, mask).prose >= SECTION_PROSE
    };
    let sections: Vec<u32> = dom.children(dom.parent(top)).filter(|child| is_section(*child)).collect();
    if sections.is_empty() {
        return;
    }
    extend(page, selection, sections, mask, how);
}
