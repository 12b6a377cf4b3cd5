//! Custom elements in the role of a `div`, such as components of frameworks.

use crate::dom::{Dom, NONE, Tag};
use html5ever::local_name;

/// Makes a block of each unknown element that holds a visible block, stands in a block, and has no text beside it. In a sentence
/// or a heading it stays inline, since the text before and after it belongs to one line.
pub(super) fn make_blocks(dom: &mut Dom) {
    if dom.custom.is_empty() {
        return;
    }
    let all: Vec<(u32, bool)> = dom.custom.iter().map(|(id, _)| *id).zip(around_blocks(dom)).collect();
    let mut with_text = (NONE, false);
    for (id, is_around) in all {
        let parent = dom.parent(id);
        if !is_around || parent == NONE || !may_hold_blocks(dom.tag(parent)) {
            continue;
        }
        // Siblings stand side by side, mostly.
        if with_text.0 != parent {
            with_text = (parent, has_own_text(dom, parent));
        }
        if !with_text.1 {
            dom.tags[id as usize] = Tag::CustomBlock;
        }
    }
}

/// For each custom element whether a child is a visible block, or such an element.
fn around_blocks(dom: &Dom) -> Vec<bool> {
    let mut around = vec![false; dom.custom.len()];
    for at in (0..dom.custom.len()).rev() {
        let id = dom.custom[at].0;
        // Inner elements come later in the list, so they are already known.
        around[at] =
            dom.children(id).any(|child| match dom.custom.binary_search_by_key(&child, |(node, _)| *node) {
                Ok(inner) => around[inner],
                Err(_) => dom.tag(child).makes_block() && !is_hidden(dom, child),
            });
    }
    around
}

/// Returns true for elements whose children may be blocks of their own.
const fn may_hold_blocks(tag: Tag) -> bool {
    tag.is_block() && tag.heading_level().is_none() && !matches!(tag, Tag::P | Tag::Pre)
}

fn has_own_text(dom: &Dom, id: u32) -> bool {
    dom.children(id).any(|child| dom.tag(child) == Tag::Text && !dom.text(child).trim().is_empty())
}

/// Returns true for an element that its own attributes hide, as the text of a tooltip.
fn is_hidden(dom: &Dom, id: u32) -> bool {
    let is = |name, value: &str| dom.attr(id, &name) == Some(value);
    let style = || dom.attr(id, &local_name!("style")).unwrap_or_default().replace(' ', "");
    dom.attr(id, &local_name!("hidden")).is_some()
        || is(local_name!("aria-hidden"), "true")
        || is(local_name!("role"), "tooltip")
        || style().contains("display:none")
}

#[cfg(test)]
mod tests {
    use crate::dom::{Limits, Tag, parse};

    fn tag_of(html: &str, name: &str) -> Tag {
        let dom = parse(html, &Limits::default()).dom;
        (0..dom.len()).find(|id| dom.name(*id) == name).map_or(Tag::Document, |id| dom.tag(id))
    }

    #[test]
    fn custom_element_around_a_block_is_a_block() {
        let html = "<app-page><app-text><p>Text</p></app-text></app-page>";
        assert_eq!(tag_of(html, "app-text"), Tag::CustomBlock);
        assert_eq!(tag_of(html, "app-page"), Tag::CustomBlock);
    }

    #[test]
    fn custom_element_in_a_sentence_is_inline() {
        for html in [
            "<div>The <x-a>gangway<div>Hint</div></x-a> was closed</div>",
            "<h2><x-a>big<div>q</div></x-a></h2>",
            "<li>One <x-a><p>Hint</p></x-a></li>",
            "<div><x-a>word<div hidden>Hint</div></x-a></div>",
            "<div><x-a>word<p style='display: none'>Hint</p></x-a></div>",
            "<span><x-a><p>Hint</p></x-a></span>",
        ] {
            assert_eq!(tag_of(html, "x-a"), Tag::Other, "{html}");
        }
        assert_eq!(tag_of("<li> <x-a><p>Item</p></x-a></li>", "x-a"), Tag::CustomBlock);
    }

    #[test]
    fn custom_element_with_text_is_inline() {
        let html =
            "<p>Seen <time-ago>two days ago</time-ago> <x-tip><template><p>Hint</p></template></x-tip></p>";
        assert_eq!(tag_of(html, "time-ago"), Tag::Other);
        assert_eq!(tag_of(html, "x-tip"), Tag::Other);
    }
}
