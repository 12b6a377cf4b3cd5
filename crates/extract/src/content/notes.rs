//! Notes of a text in `aside`: footnotes and callouts. Other elements of this name stand beside the text.

use super::prune::in_content;
use crate::{dom::Tag, page::Page, text};
use html5ever::local_name;

/// Returns true for a footnote or a callout of the text.
///
/// A callout counts in the main content only, since boxes of a frame have such names too. A box with a form, or with
/// a heading that ends the content ("Related articles"), is none.
pub(super) fn is_note(page: &Page<'_>, id: u32) -> bool {
    let dom = &page.dom;
    let rules = &page.rules.extraction.markdown;
    if dom.tag(id) != Tag::Aside {
        return false;
    }
    let has = |attribute, names: &[String]| {
        let values = dom.attr(id, &attribute).unwrap_or_default();
        values.split_ascii_whitespace().any(|value| names.iter().any(|name| name == value))
    };
    let is_named = has(local_name!("role"), &rules.note_roles)
        || has(local_name!("class"), &rules.note_boxes)
        || has(local_name!("class"), &rules.note_callouts) && is_in_main(page, id);
    is_named && !leads_away(page, id)
}

/// Returns true for a box with a form, or with a heading that ends the content.
fn leads_away(page: &Page<'_>, id: u32) -> bool {
    (id..page.dom.end(id)).any(|down| match page.dom.tag(down) {
        Tag::Form => true,
        tag if tag.heading_level().is_some() => {
            let line = text::fold_lower(&page.visible_text(down));
            page.rules.boilerplate.ends_content(line.trim_matches(|c: char| !c.is_alphanumeric()))
        }
        _ => false,
    })
}

fn is_in_main(page: &Page<'_>, id: u32) -> bool {
    let is_main = |up: u32| page.dom.attr(up, &local_name!("role")) == Some("main");
    in_content(page, id) || page.dom.ancestors(id).any(is_main)
}
