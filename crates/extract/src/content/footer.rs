//! Footer of a page: a part after the text that may be longer than the text.

use super::{prune, relax};
use crate::{dom::Tag, page::Page, rules::Roles};
use html5ever::local_name;

/// Returns true for a footer by its tag, role or names that ends the page and follows the text below the
/// page's heading. Legal notices and lists of places are longer there than the text. Text of the page ends at
/// the node `text_end` ([`text_end`]).
pub(super) fn is_of_page(page: &Page<'_>, id: u32, text_end: u32) -> bool {
    let dom = &page.dom;
    let Some(heading) = page.heading.filter(|heading| is_named(page, id) && dom.end(*heading) <= id) else {
        return false;
    };
    let limits = &page.rules.extraction;
    let text = page.amount_in(dom.end(heading)..id);
    dom.end(id) >= text_end
        && text.words >= limits.words.readability
        && text.link_density() < limits.prune.link_density
        && !prune::in_content(page, id)
}

fn is_named(page: &Page<'_>, id: u32) -> bool {
    page.dom.tag(id) == Tag::Footer
        || page.roles[id as usize].has(Roles::FOOTER)
        || page.dom.attr(id, &local_name!("role")) == Some("contentinfo")
}

/// The node after which a page has next to no text outside of its frame. Menus, dialogs and side bars may follow a
/// footer.
pub(super) fn text_end(page: &Page<'_>) -> u32 {
    let dom = &page.dom;
    let Some(heading) = page.heading else { return dom.len() };
    let frame = relax::frame(page, page.body);
    let is_frame = |id: u32| frame[id as usize] && !is_named(page, id);
    let mut texts = Vec::new();
    let mut id = heading;
    while id < dom.end(page.body) && !page.budget.is_over() {
        if is_frame(id) {
            id = dom.end(id);
            continue;
        }
        if dom.tag(id) == Tag::Text {
            texts.push(id);
        }
        id += 1;
    }
    let mut words = 0;
    let last = texts.into_iter().rev().find(|text| {
        words += page.amount(*text).words;
        words >= page.rules.extraction.words.dom
    });
    last.map_or(heading, |text| dom.end(text))
}
