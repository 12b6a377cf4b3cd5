//! Links and pictures: their addresses, in the text or numbered below it.

use super::{MAX_MARKED, Walk};
use crate::{options::LinkStyle, text};
use html5ever::local_name;
use rustc_hash::FxHashMap;

/// Addresses that `[text][n]` refers to.
#[derive(Default)]
pub(super) struct References {
    pub(super) list: Vec<String>,
    /// The number of each: links to one address share it.
    numbers: FxHashMap<String, usize>,
}

impl References {
    fn number(&mut self, url: String) -> usize {
        *self.numbers.entry(url).or_insert_with_key(|url| {
            self.list.push(url.clone());
            self.list.len()
        })
    }
}

impl Walk<'_> {
    pub(super) fn leave_link(&mut self, id: u32) {
        let Some(range) = self.inline.close(id) else { return };
        let Some(href) = self.page.dom.attr(id, &local_name!("href")) else { return };
        // What leads to a place of this page (a footnote's number) is not worth an address, and the mark behind a heading
        // that gives its own (¶, #, §, a chain) is no text.
        if href.trim_start().starts_with('#') {
            if !self.inline.text[range.clone()].contains(char::is_alphanumeric) {
                self.inline.text.truncate(range.start);
            }
            return;
        }
        if !self.style.markdown || self.style.links == LinkStyle::Strip || range.len() > MAX_MARKED {
            return;
        }
        let Some(url) = self.page.resolve(href) else { return };
        let after = if self.style.links == LinkStyle::Reference {
            format!("][{}]", self.references.number(url))
        } else {
            format!("]({url})")
        };
        self.inline.wrap(range, "[", &after);
    }

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
        let source = ["data-src", "data-lazy-src", "src"].iter().find_map(|name| {
            dom.attrs(id).find(|(n, v)| &***n == *name && !v.starts_with("data:")).map(|(_, v)| v)
        });
        let Some(url) = source.and_then(|source| self.page.resolve(source)) else { return };
        let alt = text::fold(dom.attr(id, &local_name!("alt")).unwrap_or_default());
        self.inline.space();
        self.inline.text.push_str(&format!("![{alt}]({url})"));
    }
}
