//! Elements with the beginning of a page's text, although their tag or name is typical of a page frame.

use crate::page::Page;

/// Minimum characters of prose in a header that is a part of the text; a slogan is shorter.
const MIN_HEADER_PROSE: u32 = 80;
/// Maximum share of links in such a header.
const MAX_HEADER_LINKS: f32 = 0.3;
/// Maximum prose of the page, as a multiple of the prose of the header. Notices and descriptions of a site have less.
const MAX_PAGE_PROSE: u32 = 3;

/// Returns true for a header with a heading and a third of the page's prose, and without menus. The page has no
/// title outside of it. A page that is little more than its opening part has its whole text there.
pub(super) fn introduces(page: &Page<'_>, id: u32) -> bool {
    let amount = page.amount(id);
    let has_heading = || (id..page.dom.end(id)).any(|down| page.dom.tag(down).heading_level().is_some());
    amount.prose >= MIN_HEADER_PROSE
        && amount.prose * MAX_PAGE_PROSE >= page.amount(page.body).prose
        && amount.link_density() < MAX_HEADER_LINKS
        && page.heading.is_none_or(|heading| (id..page.dom.end(id)).contains(&heading))
        && has_heading()
}

/// Returns true for an element around the page's heading that has more words than the page before it. Styles
/// that push a footer down name the wrapper of the whole page after it.
pub(super) fn wraps_heading(page: &Page<'_>, id: u32) -> bool {
    page.heading.is_some_and(|heading| (id..page.dom.end(id)).contains(&heading))
        && page.amount(id).words > page.amount_in(page.body..id).words
}
