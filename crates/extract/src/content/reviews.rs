//! Customers' reviews on the page of a product: by the names of their elements, or by schema.org.

use super::{prune, stamped::PRODUCT_PROSE};
use crate::{dom::Tag, page::Page, rules::Roles};
use html5ever::local_name;

/// Properties of schema.org with the reviews of a product, or their mean, in lower case.
const PROPERTIES: [&str; 3] = ["review", "reviews", "aggregaterating"];

/// Masks the reviews, unless they hold nearly all prose of the page.
pub(super) fn mask(page: &Page<'_>, mask: &mut [bool]) {
    let dom = &page.dom;
    let whole = prune::kept(page, page.body, mask).prose;
    let mut prose = 0;
    let mut id = page.body + 1;
    while id < dom.end(page.body) && !page.budget.is_over() {
        if mask[id as usize] || !page.is_visible(id) {
            id = dom.end(id);
            continue;
        }
        if is_review(page, id) {
            let inside = prune::kept(page, id, mask).prose;
            if whole.saturating_sub(prose + inside) >= PRODUCT_PROSE {
                prose += inside;
                mask[id as usize] = true;
                page.trace.mark(id, "reviews of a product");
                id = dom.end(id);
                continue;
            }
        }
        id += 1;
    }
}

/// Returns true for a part of the page, without its heading, that is named like reviews.
fn is_review(page: &Page<'_>, id: u32) -> bool {
    let dom = &page.dom;
    let tag = dom.tag(id);
    let is_part = (tag.is_block() || matches!(tag, Tag::Span | Tag::Other))
        && !matches!(tag, Tag::Body | Tag::Main | Tag::Article);
    let is_declared = || {
        let property = dom.attr(id, &local_name!("itemprop")).map(str::trim);
        property.is_some_and(|property| PROPERTIES.iter().any(|known| property.eq_ignore_ascii_case(known)))
    };
    is_part
        && (page.roles[id as usize].has(Roles::REVIEWS) || is_declared())
        && !(id..dom.end(id)).any(|down| dom.tag(down) == Tag::H1)
}
