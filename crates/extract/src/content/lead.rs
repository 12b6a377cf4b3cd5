//! Text between the heading of the page and the container of its text.
//!
//! It is the lead of an article, often in larger type (standfirst, lede, Vorspann, chapeau), or prose.

use super::{layout, prune};
use crate::{dom::Tag, page::Page, rules::Roles, selection::Selection, sentence, text};
use std::ops::RangeInclusive;

/// Range of a lead in characters: a shorter line repeats the title, a longer one is no lead.
const LENGTH: RangeInclusive<u32> = 130..=900;
/// Maximum share of links in a lead.
const MAX_LINKS: f32 = 0.4;
/// Minimum bytes of the page's description at the start of a matching paragraph.
const MIN_COMMON_BYTES: usize = 50;
/// Maximum words between heading and container; more are another part of the page.
const MAX_BETWEEN: u32 = 400;
/// Minimum words of a paragraph of prose. A shorter one is a teaser, a disclosure or a caption.
const MIN_WORDS: u32 = 25;
/// Maximum share of links in such a paragraph.
const MAX_PROSE_LINKS: f32 = 0.25;

/// Adds the paragraphs of prose between the heading of the page and its text, whose first root is `first`.
///
/// They are in boxes of their own, such as the introduction over the sections of a page. A heading other than
/// the title may be the name of the site. Then a text with a heading of level one gets no prose, and neither
/// does one below many words. Text under a further heading is other content.
pub(super) fn add_prose(
    page: &Page<'_>,
    selection: &mut Selection,
    mask: &[bool],
    first: Option<u32>,
    title: Option<&str>,
) {
    let dom = &page.dom;
    let Some((heading, first)) = heading_above(page, first) else { return };
    let from = dom.end(heading);
    let is_title = is_title(page, heading, title);
    let has_heading = || (first..dom.end(first)).any(|id| dom.tag(id) == Tag::H1 && is_heading(page, id));
    if !is_title && (page.amount_in(from..first).words > MAX_BETWEEN || has_heading()) {
        return;
    }
    let mut found = Vec::new();
    let mut id = from;
    while id < first && !page.budget.is_over() {
        let is_out = mask[id as usize] || !page.is_visible(id) || page.roles[id as usize].has(Roles::REVIEWS);
        if is_out || is_prose(page, id) {
            if !is_out {
                found.push(id);
            }
            id = dom.end(id);
        } else if !is_title && is_heading(page, id) {
            break;
        } else {
            id += 1;
        }
    }
    // The other roots are behind.
    let leads = &selection.roots[..selection.roots.partition_point(|root| *root < first)];
    let is_free = |id: u32| {
        let holds = |outer: u32, inner: u32| outer <= inner && inner < dom.end(outer);
        dom.end(id) <= first
            && !prune::is_masked(page, id, mask)
            && !leads.iter().any(|lead| holds(*lead, id) || holds(id, *lead))
    };
    found.retain(|id| is_free(*id));
    if found.is_empty() {
        return;
    }
    selection.words += found.iter().map(|id| prune::kept(page, *id, &selection.drop).words).sum::<u32>();
    selection.roots.extend(found);
    selection.roots.sort_unstable();
}

/// Adds the heading with the title if it stands above the text, in another cell of a table that arranges the page.
/// The first root of the text is `first`. Cells are boxes, so the container of the text is its cell.
pub(super) fn add_heading(
    page: &Page<'_>,
    selection: &mut Selection,
    mask: &[bool],
    first: Option<u32>,
    title: Option<&str>,
) {
    let dom = &page.dom;
    let Some((heading, first)) = heading_above(page, first) else { return };
    let mut tables = dom.ancestors(heading).filter(|up| dom.tag(*up) == Tag::Table);
    if dom.tag(heading).heading_level().is_some()
        && tables.any(|table| first < dom.end(table) && layout::is_part(page, table))
        && page.amount_in(dom.end(heading)..first).words <= MAX_BETWEEN
        && is_title(page, heading, title)
        && !prune::is_masked(page, heading, mask)
        && !selection.roots.contains(&heading)
    {
        selection.words += page.amount(heading).words;
        selection.roots.push(heading);
        selection.roots.sort_unstable();
    }
}

/// The heading of the page and the first root of its text, if the heading ends before the text.
fn heading_above(page: &Page<'_>, first: Option<u32>) -> Option<(u32, u32)> {
    let (heading, first) = (page.heading?, first?);
    (page.dom.end(heading) <= first).then_some((heading, first))
}

/// Returns true if a heading says the title that the page declares.
fn is_title(page: &Page<'_>, heading: u32, title: Option<&str>) -> bool {
    // Without a declared title the heading is taken as one.
    let is_declared = (0..page.body).any(|id| page.dom.tag(id) == Tag::Title);
    let heading = text::fold_lower(&page.visible_text(heading));
    let says = |title: &str| title.contains(&heading) || heading.contains(title);
    is_declared && title.is_some_and(|title| says(&text::fold_lower(title)))
}

/// Returns true for a visible heading with text.
fn is_heading(page: &Page<'_>, id: u32) -> bool {
    page.dom.tag(id).heading_level().is_some() && page.is_visible(id) && page.amount(id).chars > 0
}

/// Returns true for a paragraph of several words and few links that ends as a sentence.
fn is_prose(page: &Page<'_>, id: u32) -> bool {
    let amount = page.amount(id);
    page.dom.tag(id) == Tag::P
        && amount.words >= MIN_WORDS
        && amount.prose > 0
        && amount.link_density() < MAX_PROSE_LINKS
        && !page.dom.ancestors(id).any(|up| page.dom.tag(up) == Tag::Form)
        && sentence::ends_sentence(&page.visible_text(id))
}

/// Adds the lead to the selection.
pub(super) fn add(page: &Page<'_>, selection: &mut Selection, mask: &[bool], description: Option<&str>) {
    let dom = &page.dom;
    let (Some(heading), Some(first)) = (page.heading, selection.roots.first().copied()) else { return };
    let from = dom.end(heading);
    if from >= first || page.amount_in(from..first).words > MAX_BETWEEN {
        return;
    }
    let description = description.map(text::fold_lower);
    let mut leads = Vec::new();
    let mut id = from;
    while id < first {
        if mask[id as usize] || !page.is_visible(id) {
            id = dom.end(id);
            continue;
        }
        if is_lead(page, id, description.as_deref()) {
            leads.push(id);
            id = dom.end(id);
        } else {
            id += 1;
        }
    }
    leads.retain(|id| !prune::is_masked(page, *id, mask) && dom.end(*id) <= first);
    for id in leads.into_iter().rev() {
        selection.words += prune::kept(page, id, &selection.drop).words;
        selection.roots.insert(0, id);
    }
}

/// Returns true for a paragraph that is named a lead, or that the page's own description repeats.
fn is_lead(page: &Page<'_>, id: u32, description: Option<&str>) -> bool {
    let dom = &page.dom;
    let tag = dom.tag(id);
    let amount = page.amount(id);
    let block = matches!(
        tag,
        Tag::P
            | Tag::Div
            | Tag::CustomBlock
            | Tag::Section
            | Tag::H2
            | Tag::H3
            | Tag::H4
            | Tag::Span
            | Tag::Header
    );
    if !block
        || dom.ancestors(id).any(|up| dom.tag(up) == Tag::Form)
        || !LENGTH.contains(&amount.chars)
        || amount.link_density() > MAX_LINKS
    {
        return false;
    }
    let named = || {
        std::iter::once(id)
            .chain(dom.ancestors(id).take(2))
            .any(|up| page.roles[up as usize].has(Roles::LEAD))
    };
    let agrees = || {
        description.is_some_and(|description| {
            let text = text::fold_lower(&page.visible_text(id));
            let start = text::head(&text, MIN_COMMON_BYTES);
            text.len() >= MIN_COMMON_BYTES && description.starts_with(start)
        })
    };
    !(id + 1..dom.end(id)).any(|down| dom.tag(down).is_block() && page.amount(down).chars * 3 > amount.chars)
        && (named() || agrees())
}
