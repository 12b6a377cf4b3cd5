//! Captions of pictures, which go with their pictures on an article's page.

use crate::{dom::Tag, page::Page, rules::Roles, selection::kept};

/// Maximum characters of a caption; a longer one is content.
const MAX_CAPTION: u32 = 800;

/// Masks captions of pictures. On an article's page the text below a picture is no part of the article: it
/// describes the missing picture and names its author.
pub(super) fn mask(page: &Page<'_>, mask: &mut [bool]) {
    let dom = &page.dom;
    let (mut captions, mut seen) = (Vec::new(), None);
    let mut chars = 0;
    let mut id = page.body + 1;
    while id < dom.end(page.body) {
        if mask[id as usize] || !page.is_visible(id) {
            id = dom.end(id);
            continue;
        }
        let tag = dom.tag(id);
        let named = page.roles[id as usize].has(Roles::CAPTION)
            && matches!(
                tag,
                Tag::Div
                    | Tag::CustomBlock
                    | Tag::P
                    | Tag::Span
                    | Tag::Dd
                    | Tag::Li
                    | Tag::Small
                    | Tag::Em
                    | Tag::Section
            );
        if (tag == Tag::Figcaption || named) && is_caption(page, id, &mut seen) {
            chars += page.amount(id).chars;
            captions.push(id);
            id = dom.end(id);
        } else {
            id += 1;
        }
    }
    if captions.is_empty() {
        return;
    }
    let whole = kept(page, page.body, mask).chars;
    if chars as f32 <= whole as f32 * page.rules.extraction.prune.caption_share {
        for id in captions {
            mask[id as usize] = true;
            page.trace.mark(id, "a caption of a picture");
        }
    }
}

/// Returns true for a short caption that neither holds nor describes a table, a listing or a quotation.
/// `seen` caches the content of the figure, which may have many captions.
fn is_caption(page: &Page<'_>, id: u32, seen: &mut Option<(u32, bool)>) -> bool {
    let dom = &page.dom;
    if !(1..=MAX_CAPTION).contains(&page.amount(id).chars) {
        return false;
    }
    let above = || dom.ancestors(id).take(4);
    if above().any(|up| matches!(dom.tag(up), Tag::Table | Tag::Pre)) {
        return false;
    }
    let figure = above().find(|up| dom.tag(*up) == Tag::Figure).unwrap_or(id);
    if let Some((_, pictures)) = seen.filter(|(last, _)| *last == figure) {
        return pictures;
    }
    let other = |node: u32| {
        matches!(dom.tag(node), Tag::Table | Tag::Pre | Tag::Blockquote)
            || dom.tag(node).heading_level().is_some()
    };
    let pictures = !(figure..dom.end(figure)).any(other);
    *seen = Some((figure, pictures));
    pictures
}
