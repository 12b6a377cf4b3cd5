//! Custom elements that hold blocks. Components of frameworks stand where other pages have a `div`.

use crate::dom::{NONE, Node, Tag};

/// Makes a block of each unknown element around a block, innermost first.
pub(super) fn make_blocks(tags: &mut [Tag], nodes: &[Node], parent: u32) {
    let mut at = parent;
    while at != NONE && tags[at as usize] == Tag::Other {
        tags[at as usize] = Tag::CustomBlock;
        at = nodes[at as usize].parent;
    }
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
    fn custom_element_with_text_is_inline() {
        let html =
            "<p>Seen <time-ago>two days ago</time-ago> <x-tip><template><p>Hint</p></template></x-tip></p>";
        assert_eq!(tag_of(html, "time-ago"), Tag::Other);
        assert_eq!(tag_of(html, "x-tip"), Tag::Other);
    }
}
