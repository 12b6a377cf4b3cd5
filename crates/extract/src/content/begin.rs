//! Start of an article: the heading with its title. News pages put lists of other news before it.

use super::prune;
use crate::{dom::Tag, page::Page, text};

/// Minimum characters of a title; a shorter one may be the name of a section.
const MIN_TITLE: usize = 12;
/// Maximum nodes of an element that may consist of the title.
const MAX_NODES: u32 = 50;
/// Minimum characters of prose after the heading of the article.
const MIN_PROSE: u32 = 200;

/// Masks the text before the heading with the title. A heading of level one needs some prose after it;
/// another element needs more prose after it than before it.
pub(super) fn mask(page: &Page<'_>, mask: &mut [bool], title: Option<&str>) {
    let Some(heading) = title.and_then(|title| heading(page, mask, title)) else { return };
    let dom = &page.dom;
    let before = if dom.tag(heading) == Tag::H1 { 0 } else { page.amount_in(page.body..heading).prose };
    if page.amount_in(heading..dom.end(page.body)).prose < MIN_PROSE.max(before) {
        return;
    }
    let mut id = page.body + 1;
    while id < heading {
        if dom.end(id) > heading {
            id += 1;
            continue;
        }
        if !mask[id as usize] && page.amount(id).words > 0 {
            mask[id as usize] = true;
            page.trace.mark(id, "in front of the heading of the article");
        }
        id = dom.end(id);
    }
}

/// Masks further articles after the one with the heading of the page. Sites show the next articles below it.
pub(super) fn mask_next(page: &Page<'_>, mask: &mut [bool]) {
    let dom = &page.dom;
    let Some(heading) = page.heading else { return };
    // an article may hold its header in a nested article
    let articles = dom.ancestors(heading).filter(|up| dom.tag(*up) == Tag::Article);
    let Some(own) = articles.last() else { return };
    let prose = prune::kept(page, own, mask).prose;
    if prose < MIN_PROSE {
        return;
    }
    let mut id = dom.end(own);
    while id < dom.end(page.body) {
        if mask[id as usize] || dom.tag(id) != Tag::Article || !page.is_visible(id) {
            id = if mask[id as usize] { dom.end(id) } else { id + 1 };
            continue;
        }
        mask[id as usize] = true;
        page.trace.mark(id, "another article behind that of the page");
        id = dom.end(id);
    }
}

/// The heading of level one if it equals the title; without one the first other element that holds only the
/// title.
fn heading(page: &Page<'_>, mask: &[bool], title: &str) -> Option<u32> {
    let Some(heading) = page.heading.filter(|heading| page.dom.tag(*heading) == Tag::H1) else {
        return element_with(page, title, |id| mask[id as usize], |_| true);
    };
    let title = long_title(title)?;
    let says_title = text::fold_lower(&page.visible_text(heading)) == title;
    (says_title && !prune::is_masked(page, heading, mask)).then_some(heading)
}

/// Sets the heading of a page without a heading of level one: the element that holds only the title, which a
/// reader takes for it. A lower heading comes first. Another element stands alone in its block, outside of lists
/// and menus, which may be a trail. A start page shows the name of the site.
pub(crate) fn find_heading(page: &mut Page<'_>, title: Option<&str>) {
    let is_start = page.url.is_some_and(|url| url.path() == "/");
    if page.heading.is_none() && !is_start {
        page.heading = title.and_then(|title| title_element(page, title));
    }
}

fn title_element(page: &Page<'_>, title: &str) -> Option<u32> {
    let dom = &page.dom;
    let is_heading = |id: u32| dom.tag(id).heading_level().is_some();
    let is_alone = |id: u32| {
        let block = std::iter::once(id).chain(dom.ancestors(id)).find(|up| dom.tag(*up).is_block());
        block.is_some_and(|block| page.amount(block).chars == page.amount(id).chars)
            && !dom.ancestors(id).any(|up| matches!(dom.tag(up), Tag::Li | Tag::Nav))
    };
    element_with(page, title, |_| false, is_heading)
        .or_else(|| element_with(page, title, |_| false, is_alone))
}

/// The title for comparison, unless it is so short that it may be the name of a section.
fn long_title(title: &str) -> Option<String> {
    let title = text::fold_lower(title);
    (title.chars().count() >= MIN_TITLE).then_some(title)
}

/// The first visible element of a kind, outside of some subtrees, that holds only the title.
fn element_with(
    page: &Page<'_>,
    title: &str,
    is_out: impl Fn(u32) -> bool,
    is_kind: impl Fn(u32) -> bool,
) -> Option<u32> {
    let title = long_title(title)?;
    let dom = &page.dom;
    let says_title = |id: u32| text::fold_lower(&page.visible_text(id)) == title;
    let mut id = page.body + 1;
    while id < dom.end(page.body) && !page.budget.is_over() {
        if is_out(id) || !page.is_visible(id) {
            id = dom.end(id);
            continue;
        }
        let amount = page.amount(id);
        if is_title_element(dom.tag(id))
            && dom.end(id) - id <= MAX_NODES
            && amount.link_chars == 0
            && amount.chars > 0
            && amount.chars as usize <= 2 * title.len()
            && is_kind(id)
            && says_title(id)
        {
            return Some(id);
        }
        id += 1;
    }
    None
}

/// Returns true for elements that hold the title on pages without a heading of level one.
const fn is_title_element(tag: Tag) -> bool {
    tag.heading_level().is_some() || matches!(tag, Tag::P | Tag::Div | Tag::Span | Tag::Td | Tag::Strong)
}
