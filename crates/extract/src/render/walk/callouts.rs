//! Callouts: boxes of a kind (a note, a warning), as quotations that begin with the kind.

use super::{super::Kind, Gap, Walk};
use crate::dom::Tag;
use html5ever::local_name;

/// Longest name of a kind in an attribute, in bytes.
const MAX_KIND: usize = 20;

impl Walk<'_> {
    /// Opens a callout; returns false for another element.
    pub(super) fn enter_callout(&mut self, id: u32, tag: Tag) -> bool {
        let is_box = matches!(tag, Tag::Div | Tag::Aside | Tag::Section | Tag::Details | Tag::Blockquote);
        if !is_box || !self.style.markdown {
            return false;
        }
        let Some(kind) = self.callout(id) else { return false };
        self.request_gap(Gap::Blank);
        self.prefix(id, "> ", "> ");
        if let Some(prefix) = self.prefixes.last_mut().filter(|prefix| prefix.owner == id) {
            prefix.callout = Some(kind);
        }
        true
    }

    /// Kind of a callout: one class names the box, and the same or another one the kind (`admonition note`,
    /// `alert alert-info`).
    fn callout(&self, id: u32) -> Option<String> {
        let attribute = self.page.dom.attrs(id).find(|(name, _)| &***name == "data-callout");
        if let Some((_, kind)) = attribute {
            let plain = kind.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
            return (plain && (1..=MAX_KIND).contains(&kind.len())).then(|| kind.to_ascii_lowercase());
        }
        let rules = &self.page.rules.extraction.markdown;
        let classes = self.page.dom.attr(id, &local_name!("class"))?;
        let own = || {
            classes.split_ascii_whitespace().filter(|class| rules.callouts.iter().any(|name| name == class))
        };
        own().next()?;
        let kind = classes.split_ascii_whitespace().find_map(|class| {
            let name = own().find_map(|name| class.strip_prefix(name)?.strip_prefix('-')).unwrap_or(class);
            let name = name.trim_start_matches('-');
            rules.callout_kinds.iter().find(|kind| *kind == name)
        })?;
        Some(kind.clone())
    }

    /// First lines of the callouts that a piece begins, with their prefixes.
    pub(super) fn callout_lines(&mut self, kind: Kind) -> String {
        let mut lines = String::new();
        while let Some(at) = self.prefixes.iter().position(|prefix| prefix.callout.is_some()) {
            for prefix in &mut self.prefixes[..=at] {
                lines.push_str(if prefix.used { &prefix.rest } else { &prefix.first });
                prefix.used = true;
            }
            let name = self.prefixes[at].callout.take().unwrap_or_default();
            lines.push_str(&format!("[!{name}]\n"));
            let last = self.prefixes.iter().all(|prefix| prefix.callout.is_none());
            if last && kind != Kind::Paragraph {
                // A table, or a list that does not begin with 1, would continue the line.
                let rest: String = self.prefixes[..=at].iter().map(|prefix| &*prefix.rest).collect();
                lines.push_str(rest.trim_end());
                lines.push('\n');
            }
        }
        lines
    }
}
