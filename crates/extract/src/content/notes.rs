//! Notes of a text in `aside`: footnotes and callouts. Other elements of this name stand beside the text.

use super::prune::in_content;
use crate::{dom::Tag, page::Page, text};
use html5ever::local_name;

/// Returns true for a footnote or a callout of the text.
///
/// A callout counts in the main content only, since boxes of a frame have such names too. A box with a form, or with
/// a heading that ends the content ("Related articles"), is none.
pub(super) fn is_note(page: &Page<'_>, id: u32) -> bool {
    page.dom.tag(id) == Tag::Aside && page.notes.get_or_init(|| find(page)).binary_search(&id).is_ok()
}

/// All notes, in order. They are found at once, since boxes named so may nest, and each would be read whole.
fn find(page: &Page<'_>) -> Vec<u32> {
    let dom = &page.dom;
    let mut found: Vec<u32> =
        dom.find_all(page.within_body(), Tag::Aside).filter(|id| is_named(page, *id)).collect();
    if !found.is_empty() {
        let away: Vec<u32> = page.within_body().filter(|id| leads_away(page, *id)).collect();
        let first_from = |id: u32| away.get(away.partition_point(|away| *away < id));
        found.retain(|id| first_from(*id).is_none_or(|away| *away >= dom.end(*id)));
    }
    found
}

/// Returns true for an `aside` with a role or a class of a note.
fn is_named(page: &Page<'_>, id: u32) -> bool {
    let rules = &page.rules.extraction.markdown;
    let has = |attribute, names: &[String]| {
        let values = page.dom.attr(id, &attribute).unwrap_or_default();
        values.split_ascii_whitespace().any(|value| names.iter().any(|name| name == value))
    };
    has(local_name!("role"), &rules.note_roles)
        || has(local_name!("class"), &rules.note_boxes)
        || has(local_name!("class"), &rules.note_callouts) && is_in_main(page, id)
}

/// Returns true for a form, and for a heading that ends the content.
fn leads_away(page: &Page<'_>, id: u32) -> bool {
    let tag = page.dom.tag(id);
    if tag.heading_level().is_none() || page.chars(id) > MAX_HEADING {
        return tag == Tag::Form;
    }
    let line = text::fold_lower(&page.visible_text(id));
    page.rules.boilerplate.ends_content(line.trim_matches(|c: char| !c.is_alphanumeric()))
}

/// Maximum characters of a heading that ends the content.
const MAX_HEADING: u32 = 120;

fn is_in_main(page: &Page<'_>, id: u32) -> bool {
    let is_main = |up: u32| page.dom.attr(up, &local_name!("role")) == Some("main");
    in_content(page, id) || page.dom.ancestors(id).any(is_main)
}
