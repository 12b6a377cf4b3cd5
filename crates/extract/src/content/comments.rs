//! Readers' comments below the content, if requested.

use super::prune;
use crate::{page::Page, rules::Roles, selection::Selection, text};

/// Minimum words of comments; fewer are a counter or a link to them.
const MIN_WORDS: u32 = 5;

/// Adds the comments after the start of the chosen part and outside of it, without boilerplate. Their own
/// heading is left out, since it would end the content.
pub(super) fn add(page: &Page<'_>, selection: &mut Selection, mask: &[bool]) {
    let Some(&first) = selection.roots.first() else { return };
    let dom = &page.dom;
    let mut outside = Vec::new();
    let mut id = first;
    while id < dom.end(page.body) {
        // The roots are in document order.
        let next = selection.roots.partition_point(|root| *root <= id);
        let inside = next > 0 && id < dom.end(selection.roots[next - 1]);
        let around = selection.roots.get(next).is_some_and(|root| *root < dom.end(id));
        let comments = page.roles[id as usize].has(Roles::COMMENTS)
            && page.is_visible(id)
            && page.amount(id).words >= MIN_WORDS
            && !around
            && !prune::is_masked(page, id, mask);
        if !comments {
            id += 1;
            continue;
        }
        let end = dom.end(id);
        if !inside {
            outside.push(id);
            selection.drop[id as usize..end as usize].copy_from_slice(&mask[id as usize..end as usize]);
        }
        (id..end).filter(|id| ends_content(page, *id)).for_each(|id| selection.drop[id as usize] = true);
        id = end;
    }
    let mut roots = std::mem::take(&mut selection.roots);
    roots.extend(outside);
    roots.sort_unstable();
    *selection = Selection::new(page, roots, std::mem::take(&mut selection.drop));
}

/// Returns true for a heading that would end the content here.
fn ends_content(page: &Page<'_>, id: u32) -> bool {
    if page.dom.tag(id).heading_level().is_none() {
        return false;
    }
    let heading = text::fold_lower(&page.visible_text(id));
    let heading = heading.trim_matches(|c: char| !c.is_alphabetic());
    page.rules.boilerplate.end_headings.iter().any(|known| known == heading)
}
