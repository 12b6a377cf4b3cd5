//! Images, videos, sounds and players: the URLs that a reader would load, and their descriptions on the page.

use crate::{
    dom::{NONE, Tag},
    page::{HiddenReason, Page},
    rules::Roles,
    selection::Selection,
    style, text,
    visibility::fades_in,
};
use crawl_model::{Media, MediaKind};
use html5ever::local_name;
use rustc_hash::FxHashSet;

/// More media are not listed.
const MAX_MEDIA: usize = 200;
/// Maximum sources of one picture or video.
const MAX_SOURCES: usize = 20;
/// Maximum side of an icon (pixels, as declared).
const MAX_ICON: u32 = 32;
/// Ancestors of an image that are searched for its figure.
const FIGURE_WITHIN: usize = 6;
/// Ancestors of an image that are searched for its link.
const LINK_WITHIN: usize = 3;
/// Maximum characters around an image within its frame.
const MAX_AROUND: u32 = 60;
/// Maximum bytes of an alternative text or caption.
const MAX_TEXT: usize = 2_000;
/// Maximum bytes of a file's URL.
const MAX_ADDRESS: usize = 4_096;
/// Maximum declared side in pixels; larger values are other units.
const MAX_SIDE: u32 = 100_000;
/// Endings of the paths of images.
const ENDINGS: [&str; 7] = [".jpg", ".jpeg", ".png", ".webp", ".gif", ".avif", ".svg"];

/// Media of a selection, each URL once. Icons, the site's logo, avatars, tracking pixels and frames of
/// unknown players are excluded.
pub(crate) fn collect(page: &Page<'_>, selection: &Selection) -> Vec<Media> {
    let dom = &page.dom;
    let mut found: Vec<Media> = Vec::new();
    let mut seen: FxHashSet<String> = FxHashSet::default();
    for &root in &selection.roots {
        let mut id = root;
        while id < dom.end(root) && found.len() < MAX_MEDIA && !page.budget.is_over() {
            let tag = dom.tag(id);
            let dropped = selection.drop[id as usize];
            let media = match tag {
                Tag::Img
                    if dropped || page.gone[id as usize] == HiddenReason::No || in_noscript(page, id) =>
                {
                    image(page, id)
                }
                tag if tag.is_player() && !dropped => player(page, id),
                _ => None,
            };
            if let Some(mut media) = media.filter(|media| media.src.len() <= MAX_ADDRESS)
                && seen.insert(media.src.clone())
            {
                media.caption = caption(page, id);
                found.push(media);
            }
            let hidden =
                page.gone[id as usize] != HiddenReason::No && tag != Tag::Noscript && !in_noscript(page, id);
            let skipped = dropped || hidden || tag.is_player();
            id = if skipped { dom.end(id) } else { id + 1 };
        }
    }
    found
}

/// Returns true for a fallback of an image that a script loads.
fn in_noscript(page: &Page<'_>, id: u32) -> bool {
    page.dom.ancestors(id).take(FIGURE_WITHIN).any(|up| page.dom.tag(up) == Tag::Noscript)
}

fn is_icon(media: &Media) -> bool {
    let small = |side: Option<u32>| side.is_some_and(|side| side <= MAX_ICON);
    media.kind == MediaKind::Image && small(media.width) && small(media.height)
}

/// Image of an `img` element, unless it is a tracking pixel or belongs to the frame of the page.
pub(crate) fn image(page: &Page<'_>, id: u32) -> Option<Media> {
    let (width, height) = dimensions(page, id);
    if width.is_some_and(|width| width <= 1)
        || height.is_some_and(|height| height <= 1)
        || is_hidden_beacon(page, id)
    {
        return None;
    }
    let src = linked_file(page, id).or_else(|| image_address(page, id))?;
    let alt = said(page.dom.attr(id, &local_name!("alt")));
    let image = Media { kind: MediaKind::Image, src, alt, caption: None, width, height, poster: None };
    let is_frame = is_icon(&image) || is_avatar(page, id, &image.src) || is_logo(page, id);
    (!is_frame).then_some(image)
}

/// Returns true for a tracking pixel. Its own style shrinks it to a pixel, or hides it without an alternative text
/// and without a URL for a script. An image that fades in is no beacon.
fn is_hidden_beacon(page: &Page<'_>, id: u32) -> bool {
    let dom = &page.dom;
    let Some(style) = dom.attr(id, &local_name!("style")) else { return false };
    let is_pixel = |side| {
        let length = style::value(style, side).map(|value| value.trim_end_matches("px"));
        length.and_then(|length| length.parse::<f32>().ok()).is_some_and(|length| length <= 1.0)
    };
    let is = |property, value: &str| {
        style::value(style, property).is_some_and(|own| own.eq_ignore_ascii_case(value))
    };
    let is_clear = || is("opacity", "0") && !fades_in(dom, id);
    let is_hidden = || is("display", "none") || is("visibility", "hidden") || is_clear();
    let has_text = || dom.attr(id, &local_name!("alt")).is_some_and(|alt| !alt.trim().is_empty());
    let is_lazy = || dom.attrs(id).any(|(name, _)| name.starts_with("data-"));
    is_pixel("width") || is_pixel("height") || is_hidden() && !has_text() && !is_lazy()
}

/// Returns true for an avatar, by a class of the image or a close ancestor, or by a folder or host of its
/// URL.
fn is_avatar(page: &Page<'_>, id: u32, src: &str) -> bool {
    let dom = &page.dom;
    let names = &page.rules.extraction.markdown.avatars;
    let is_name = |word: &str| names.iter().any(|name| word.eq_ignore_ascii_case(name));
    let has_name = |text: &str| text.split(|c: char| !c.is_alphanumeric()).any(is_name);
    let around = dom.ancestors(id).take(LINK_WITHIN).take_while(|up| page.amount(*up).chars <= MAX_AROUND);
    let mut elements = std::iter::once(id).chain(around);
    let address = src.rsplit_once('/').map_or("", |(folders, _)| folders);
    elements.any(|up| dom.attr(up, &local_name!("class")).is_some_and(has_name))
        || address.split(['/', '.']).any(is_name)
}

/// Returns true for an image in a link to the start page of the site.
fn is_logo(page: &Page<'_>, id: u32) -> bool {
    let dom = &page.dom;
    let Some(own) = page.url else { return false };
    let link = dom.ancestors(id).take(LINK_WITHIN).find(|up| dom.tag(*up) == Tag::A);
    let target = link.and_then(|link| page.resolve(dom.attr(link, &local_name!("href"))?));
    target.and_then(|target| url::Url::parse(&target).ok()).is_some_and(|target| {
        target.host_str() == own.host_str() && target.path() == "/" && target.query().is_none()
    })
}

/// Larger file that a click on an image opens.
fn linked_file(page: &Page<'_>, id: u32) -> Option<String> {
    let dom = &page.dom;
    let link = dom.ancestors(id).take(LINK_WITHIN).find(|up| dom.tag(*up) == Tag::A)?;
    let href = dom.attr(link, &local_name!("href"))?;
    let path = href.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    let name = path.rsplit('/').next().unwrap_or_default();
    // Wikis name the page about a file like the file.
    let is_file = ENDINGS.iter().any(|end| name.ends_with(end)) && !name.contains([':', '%', '=']);
    if is_file { page.resolve(href) } else { None }
}

/// A video, a sound, or a known player in a frame or a custom element.
pub(crate) fn player(page: &Page<'_>, id: u32) -> Option<Media> {
    let dom = &page.dom;
    let source = |node: u32| ["data-src", "src"].into_iter().find_map(|name| attribute(page, node, name));
    let inner =
        || dom.children(id).filter(|node| dom.tag(*node) == Tag::Source).take(MAX_SOURCES).find_map(source);
    let url = source(id).or_else(inner).and_then(|url| page.resolve(url));
    let (kind, src) = match dom.tag(id) {
        Tag::Video | Tag::AmpVideo => (MediaKind::Video, url?),
        Tag::Audio | Tag::AmpAudio => (MediaKind::Audio, url?),
        _ => {
            let framed = || url.and_then(|url| player_page(page, &url));
            let address = element_page(page, id).or_else(framed).or_else(|| lazy_player(page, id));
            (MediaKind::Embed, address?)
        }
    };
    let (width, height) = dimensions(page, id);
    let title = dom.attr(id, &local_name!("title")).or_else(|| own_value(page, id, "playlabel"));
    let alt = said(title);
    let poster = attribute(page, id, "poster").and_then(|poster| page.resolve(poster));
    Some(Media { kind, src, alt, caption: None, width, height, poster })
}

/// The page of a player's media.
fn player_page(page: &Page<'_>, url: &str) -> Option<String> {
    page.rules.extraction.markdown.players.iter().find_map(|player| {
        let (_, rest) = url.split_once(player.embed.as_str())?;
        let name = rest.split(['?', '&', '#']).next().filter(|name| !name.is_empty())?;
        Some(player.page.replace("{}", name))
    })
}

/// The page of the media of a custom element, which names them in an attribute.
fn element_page(page: &Page<'_>, id: u32) -> Option<String> {
    let name = page.dom.tag(id).name();
    let player =
        page.rules.extraction.markdown.player_elements.iter().find(|player| player.element == name)?;
    let media = own_value(page, id, &player.attribute)?;
    Some(player.page.replace("{}", media))
}

/// The page of a player that waits for a script, or for the reader's consent, in any attribute for data.
fn lazy_player(page: &Page<'_>, id: u32) -> Option<String> {
    let data =
        page.dom.attrs(id).filter(|(name, value)| name.starts_with("data-") && value.len() <= MAX_ADDRESS);
    data.map(|(_, value)| value.trim()).find_map(|value| player_page(page, &page.resolve(value)?))
}

fn attribute<'a>(page: &'a Page<'_>, id: u32, name: &str) -> Option<&'a str> {
    own_value(page, id, name).filter(|value| !value.starts_with("data:"))
}

fn own_value<'a>(page: &'a Page<'_>, id: u32, name: &str) -> Option<&'a str> {
    let value = page.dom.attrs(id).find(|(own, _)| &***own == name).map(|(_, value)| value.trim());
    value.filter(|value| !value.is_empty())
}

fn said(text: Option<&str>) -> Option<String> {
    text.map(text::fold).filter(|text| !text.is_empty() && text.len() <= MAX_TEXT)
}

/// Declared width and height.
fn dimensions(page: &Page<'_>, id: u32) -> (Option<u32>, Option<u32>) {
    let side = |name| {
        let side = page.dom.attr(id, name)?.trim().trim_end_matches("px").trim_end();
        side.parse().ok().filter(|side| *side <= MAX_SIDE)
    };
    (side(&local_name!("width")), side(&local_name!("height")))
}

/// Text below an image: the caption of its figure, or a following element named caption.
fn caption(page: &Page<'_>, id: u32) -> Option<String> {
    let dom = &page.dom;
    let figure = dom.ancestors(id).take(FIGURE_WITHIN).find(|up| dom.tag(*up) == Tag::Figure);
    let inside = |figure: u32| (figure..dom.end(figure)).find(|node| dom.tag(*node) == Tag::Figcaption);
    let behind = || {
        std::iter::once(id).chain(dom.ancestors(id)).take(3).find_map(|node| {
            let parent = dom.parent(node);
            if parent == NONE {
                return None;
            }
            let mut next = dom.end(node);
            if next < dom.end(parent) && dom.tag(next) == Tag::Text && dom.text(next).trim().is_empty() {
                next += 1;
            }
            (next < dom.end(parent) && page.roles[next as usize].has(Roles::CAPTION)).then_some(next)
        })
    };
    let caption = figure.and_then(inside).or_else(behind)?;
    said(Some(&page.visible_text(caption)))
}

/// URL of the largest candidate, in the element or its sibling sources. URLs for a script come before their
/// placeholder.
fn image_address(page: &Page<'_>, id: u32) -> Option<String> {
    let dom = &page.dom;
    let rules = &page.rules.extraction.markdown;
    let picture = Some(dom.parent(id)).filter(|up| *up != NONE && dom.tag(*up) == Tag::Picture);
    let sources = picture
        .into_iter()
        .flat_map(|up| dom.children(up).take(MAX_SOURCES))
        .filter(|node| dom.tag(*node) == Tag::Source);
    let sets = std::iter::once(id)
        .chain(sources)
        .flat_map(|node| rules.image_candidates.iter().filter_map(move |name| own_value(page, node, name)))
        // a placeholder may be the first candidate; one of unencoded markup may have spaces and commas
        .filter(|set| !set.starts_with("data:") || set.contains(";base64,"));
    let mut best: Option<(f32, &str)> = None;
    for set in sets {
        for (size, url) in candidates(set) {
            if best.is_none_or(|(most, _)| size > most) {
                best = Some((size, url));
            }
        }
        if best.is_some() {
            break;
        }
    }
    let single = || rules.image_sources.iter().find_map(|name| attribute(page, id, name));
    let address = best.map(|(_, url)| url).or_else(single).or_else(|| own_attribute(page, id))?;
    page.resolve(address)
}

/// URL of an image in an unknown attribute, if the known ones have none.
fn own_attribute<'a>(page: &'a Page<'_>, id: u32) -> Option<&'a str> {
    page.dom.attrs(id).filter(|(name, _)| name.starts_with("data-")).map(|(_, value)| value.trim()).find(
        |value| {
            let path = value.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
            let begins = ["https://", "http://", "/"].iter().any(|start| path.starts_with(start));
            begins && !path.contains(char::is_whitespace) && ENDINGS.iter().any(|end| path.ends_with(end))
        },
    )
}

/// Candidates of a `srcset`, with their widths or densities. A comma is part of a URL unless whitespace
/// follows.
fn candidates(set: &str) -> impl Iterator<Item = (f32, &str)> {
    let mut rest = set;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
        if rest.is_empty() {
            return None;
        }
        let end = rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len());
        let address = &rest[..end];
        rest = &rest[end..];
        if let Some(single) = address.strip_suffix(',') {
            return Some((1.0, single));
        }
        let end = rest.find(',').unwrap_or(rest.len());
        // a height after the width adds nothing
        let size = rest[..end].split_ascii_whitespace().next().unwrap_or_default();
        let size: Option<f32> = size.trim_end_matches(['w', 'x', 'h']).parse().ok();
        rest = &rest[end..];
        Some((size.filter(|size| size.is_finite()).unwrap_or(1.0), address))
    })
    .filter(|(_, address)| !address.is_empty() && !address.starts_with("data:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn srcset_candidates_have_their_sizes() {
        let set = "/a,b.png 300w, /c.png 2.5x,/d.png";
        assert_eq!(
            candidates(set).collect::<Vec<_>>(),
            [(300.0, "/a,b.png"), (2.5, "/c.png"), (1.0, "/d.png")]
        );
        assert_eq!(candidates("/one.png, /two.png 2x").count(), 2);
        let set = "/a.png 100w 50h, /b.png 200w 100h,/c.png NaNx";
        assert_eq!(
            candidates(set).collect::<Vec<_>>(),
            [(100.0, "/a.png"), (200.0, "/b.png"), (1.0, "/c.png")]
        );
        assert_eq!(candidates(" data:image/gif;base64,R0 1w").count(), 0);
    }
}
