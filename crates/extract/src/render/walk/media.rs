//! Images and media: their URLs and fallbacks.

use super::{
    super::markdown::{self, BlockContext},
    Gap, Kind, Walk, links,
};
use crate::{dom::Tag, media, text};
use html5ever::local_name;

/// Maximum bytes of an emoji's alternative text.
const MAX_EMOJI: usize = 40;

impl Walk<'_> {
    pub(super) fn image(&mut self, id: u32) {
        let Some(url) = media::image(self.page, id)
            .map(|found| found.src)
            .filter(|url| self.last_image.as_ref() != Some(url))
        else {
            return;
        };
        let alt = text::fold(self.page.dom.attr(id, &local_name!("alt")).unwrap_or_default());
        self.inline.space();
        self.inline.push_raw(&markdown_image(&alt, &url));
        self.last_image = Some(url);
    }

    /// Writes an image that is a character of the text; returns false for another image.
    pub(super) fn emoji(&mut self, id: u32) -> bool {
        let alt = self.page.dom.attr(id, &local_name!("alt")).unwrap_or_default().trim();
        let is_emoji = |c: char| !c.is_ascii() && !c.is_alphanumeric() && !c.is_whitespace();
        if alt.is_empty() || alt.len() > MAX_EMOJI || !alt.chars().all(is_emoji) {
            return false;
        }
        self.inline.push(alt, false);
        true
    }

    /// Writes fallbacks of images that a script loads, unless these were written already.
    pub(super) fn noscript(&mut self, id: u32) {
        let dom = &self.page.dom;
        let images = (id..dom.end(id)).filter(|node| dom.tag(*node) == Tag::Img);
        images.take(MAX_NOSCRIPT).for_each(|node| self.image(node));
    }

    /// Writes a video, a sound or a player in a frame on its own line.
    pub(super) fn media(&mut self, id: u32) {
        let Some(media) = media::player(self.page, id) else { return };
        self.write_block(&markdown_image(media.alt.as_deref().unwrap_or_default(), &media.src));
    }

    /// Writes a block that is Markdown already.
    pub(super) fn write_block(&mut self, markdown: &str) {
        if self.table.is_some() {
            self.inline.space();
            self.inline.push_raw(&markdown.replace('\n', " "));
            return;
        }
        self.flush(Kind::Paragraph);
        self.request_gap(Gap::Blank);
        self.put(Kind::Paragraph, markdown.to_owned());
        self.request_gap(Gap::Blank);
    }
}

/// Maximum images in one element; more are a gallery for scripts.
const MAX_NOSCRIPT: usize = 4;

/// An image of Markdown.
fn markdown_image(alt: &str, url: &str) -> String {
    let alt = markdown::write_label(alt, BlockContext::default());
    format!("![{alt}]({})", links::destination(url))
}
