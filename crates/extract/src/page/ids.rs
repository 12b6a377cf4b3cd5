//! Ids that name a topic of the text and no part of the page.

use super::amounts::MIN_PROSE;
use crate::dom::{Dom, Tag};
use html5ever::local_name;

/// Returns true for an id of many words, derived from its heading ("sharing-with-a-friend"): it names no part
/// of the page.
pub(super) fn is_slug(id: &str) -> bool {
    id.split(['-', '_'])
        .filter(|word| word.bytes().all(|b| b.is_ascii_alphabetic()))
        .nth(SLUG_WORDS - 1)
        .is_some()
}

/// Returns true if an id is an anchor: of a heading or section with the same words, or of a paragraph of
/// prose. A section with input fields is a form, whatever its heading.
pub(super) fn names_topic(dom: &Dom, id: u32, own_id: &str) -> bool {
    let is_heading = |node: u32| dom.tag(node).heading_level().is_some();
    let inside = || id + 1..dom.end(id);
    let heading = match dom.tag(id) {
        Tag::P => return dom.raw_text(id).trim().len() >= MIN_PROSE as usize,
        Tag::Section | Tag::Div | Tag::CustomBlock | Tag::Article => {
            inside().take(HEADING_WITHIN).find(|node| is_heading(*node))
        }
        _ => Some(id).filter(|node| is_heading(*node)),
    };
    let Some(heading) = heading else { return false };
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    };
    if words(own_id) != words(&dom.raw_text(heading)) {
        return false;
    }
    let is_field = |tag| matches!(tag, Tag::Form | Tag::Input | Tag::Textarea | Tag::Button | Tag::Select);
    let is_named = |node: u32| {
        let class = dom.attr(node, &local_name!("class"));
        class.is_some_and(|class| class.contains(own_id))
    };
    !inside().any(|node| is_field(dom.tag(node)) || dom.tag(node) != Tag::Text && is_named(node))
}

/// Nodes at the start of a section within which its heading begins.
const HEADING_WITHIN: usize = 6;

/// Minimum words of a slug.
const SLUG_WORDS: usize = 5;
