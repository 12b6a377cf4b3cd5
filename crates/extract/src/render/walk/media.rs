//! Images and media: their addresses, and what stands for them.

use super::{
    super::markdown::{self, Place},
    Gap, Kind, Walk, links,
};
use crate::{dom::Tag, text};
use html5ever::local_name;

/// Sources of one picture that are looked at.
const MAX_SOURCES: usize = 20;
/// A longer alternative text is no emoji (bytes).
const MAX_EMOJI: usize = 40;

impl Walk<'_> {
    pub(super) fn image(&mut self, id: u32) {
        let dom = &self.page.dom;
        let side = |name| dom.attr(id, name).map(|side| side.trim().trim_end_matches("px"));
        if [local_name!("width"), local_name!("height")]
            .iter()
            .any(|name| matches!(side(name), Some("0" | "1")))
        {
            // It is there to be asked for, not to be seen.
            return;
        }
        let Some(url) = self.image_address(id).filter(|url| self.last_image.as_ref() != Some(url)) else {
            return;
        };
        let alt = text::fold(dom.attr(id, &local_name!("alt")).unwrap_or_default());
        self.inline.space();
        self.inline.push_raw(&picture(&alt, &url));
        self.last_image = Some(url);
    }

    /// An image that is a character of the text; returns false if it is none.
    pub(super) fn emoji(&mut self, id: u32) -> bool {
        let alt = self.page.dom.attr(id, &local_name!("alt")).unwrap_or_default().trim();
        let is_emoji = |c: char| !c.is_ascii() && !c.is_alphanumeric() && !c.is_whitespace();
        if alt.is_empty() || alt.len() > MAX_EMOJI || !alt.chars().all(is_emoji) {
            return false;
        }
        self.inline.push(alt, false);
        true
    }

    /// The address of the largest candidate, in the element or the sources beside it; of those that a script sets before
    /// the one that stands there until then.
    fn image_address(&self, id: u32) -> Option<String> {
        let dom = &self.page.dom;
        let rules = &self.page.rules.extraction.markdown;
        let attribute = |node: u32, name: &str| {
            let value = dom.attrs(node).find(|(own, _)| &***own == name).map(|(_, value)| value.trim());
            value.filter(|value| !value.is_empty() && !value.starts_with("data:"))
        };
        let picture = Some(dom.parent(id)).filter(|up| dom.tag(*up) == Tag::Picture);
        let sources = picture
            .into_iter()
            .flat_map(|up| dom.children(up).take(MAX_SOURCES))
            .filter(|node| dom.tag(*node) == Tag::Source);
        let sets = std::iter::once(id).chain(sources).flat_map(|node| {
            rules.image_candidates.iter().filter_map(move |name| Some((node, attribute(node, name)?)))
        });
        let mut best: Option<(f32, &str)> = None;
        for (_, set) in sets {
            for (size, url) in candidates(set) {
                if best.is_none_or(|(most, _)| size > most) {
                    best = Some((size, url));
                }
            }
            if best.is_some() {
                break;
            }
        }
        let single = || rules.image_sources.iter().find_map(|name| attribute(id, name));
        let address = best.map(|(_, url)| url).or_else(single)?;
        self.page.resolve(address)
    }

    /// Images that stand in for those that a script loads, unless these were written already.
    pub(super) fn noscript(&mut self, id: u32) {
        let dom = &self.page.dom;
        let images = (id..dom.end(id)).filter(|node| dom.tag(*node) == Tag::Img);
        images.take(MAX_NOSCRIPT).for_each(|node| self.image(node));
    }

    /// A video, a sound or a player in a frame: a line of its own.
    pub(super) fn media(&mut self, id: u32) {
        let dom = &self.page.dom;
        let source = |node: u32| {
            let named =
                |name: &str| dom.attrs(node).find(|(own, _)| &***own == name).map(|(_, value)| value.trim());
            ["data-src", "src"].into_iter().find_map(|name| named(name).filter(|value| !value.is_empty()))
        };
        let inner = || dom.children(id).filter(|node| dom.tag(*node) == Tag::Source).find_map(source);
        let Some(url) = source(id).or_else(inner).and_then(|source| self.page.resolve(source)) else {
            return;
        };
        let url = match dom.tag(id) {
            Tag::Iframe | Tag::Embed => match self.player(&url) {
                Some(page) => page,
                None => return,
            },
            _ => url,
        };
        let title = text::fold(dom.attr(id, &local_name!("title")).unwrap_or_default());
        self.own_line(&picture(&title, &url));
    }

    /// The page of a player's media.
    fn player(&self, url: &str) -> Option<String> {
        self.page.rules.extraction.markdown.players.iter().find_map(|player| {
            let (_, rest) = url.split_once(player.embed.as_str())?;
            let name = rest.split(['?', '&', '#']).next().filter(|name| !name.is_empty())?;
            Some(player.page.replace("{}", name))
        })
    }

    /// Writes a block that is Markdown already.
    pub(super) fn own_line(&mut self, markdown: &str) {
        if self.table.is_some() {
            self.inline.space();
            self.inline.push_raw(&markdown.replace('\n', " "));
            return;
        }
        self.flush(Kind::Paragraph);
        self.want(Gap::Blank);
        self.put(Kind::Paragraph, markdown.to_owned());
        self.want(Gap::Blank);
    }
}

/// More images in one element are a gallery for scripts.
const MAX_NOSCRIPT: usize = 4;

/// An image of Markdown.
fn picture(alt: &str, url: &str) -> String {
    let alt = markdown::write_label(alt, Place::default());
    format!("![{alt}]({})", links::destination(url))
}

/// The candidates of a `srcset`, with their widths or densities. A comma is part of an address unless a gap follows.
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
        let size = rest[..end].trim().trim_end_matches(['w', 'x', 'h']);
        rest = &rest[end..];
        Some((size.parse().unwrap_or(1.0), address))
    })
    .filter(|(_, address)| !address.is_empty() && !address.starts_with("data:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_read_with_their_sizes() {
        let set = "/a,b.png 300w, /c.png 2.5x,/d.png";
        assert_eq!(
            candidates(set).collect::<Vec<_>>(),
            [(300.0, "/a,b.png"), (2.5, "/c.png"), (1.0, "/d.png")]
        );
        assert_eq!(candidates("/one.png, /two.png 2x").count(), 2);
        assert_eq!(candidates(" data:image/gif;base64,R0 1w").count(), 0);
    }
}
