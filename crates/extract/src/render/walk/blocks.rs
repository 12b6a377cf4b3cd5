//! Completion of blocks to pieces.

use super::{
    super::markdown::{self, BlockContext},
    Gap, Kind, Piece, Walk,
};
use crate::options::LinkStyle;

impl Walk<'_> {
    /// Ends the current block.
    pub(super) fn flush(&mut self, kind: Kind) {
        if self.table.is_some() {
            return;
        }
        let spans = self.inline.end_block();
        let mut text = std::mem::take(&mut self.inline.text);
        if text.trim_matches([' ', '\n']).is_empty() {
            return;
        }
        let in_item = self.prefixes.last().is_some_and(|prefix| prefix.first != "> ")
            || self.term.is_some()
            || self.style.markdown && self.definitions > 0;
        let first = self.prefixes.last().is_some_and(|prefix| !prefix.used && prefix.first != "> ");
        let level = match kind {
            Kind::Heading(level)
                if !self.style.markdown || !self.prefixes.iter().any(|p| p.first != "> ") =>
            {
                Some(level)
            }
            _ => None,
        };
        if self.style.markdown {
            let bold = self.term.is_some() || level.is_none() && matches!(kind, Kind::Heading(_));
            let place = BlockContext {
                heading: level.is_some(),
                cell: false,
                item: first,
                bold,
                numbers: self.style.links == LinkStyle::Reference,
            };
            text = markdown::write(&text, &spans, place);
            if let Some(level) = level {
                text.insert_str(0, &format!("{} ", "#".repeat(level as usize)));
            }
        } else {
            text = trimmed(text);
        }
        let kind = if kind == Kind::Paragraph && in_item { Kind::Item } else { kind };
        self.put(kind, text);
        if matches!(kind, Kind::Heading(_)) {
            self.gap = Gap::Blank;
        }
    }

    /// Text with its line prefixes.
    fn with_marks(&mut self, text: &str) -> String {
        let mut lines = String::with_capacity(text.len() + 8);
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                lines.push('\n');
            }
            let start = lines.len();
            for prefix in &mut self.prefixes {
                lines.push_str(if prefix.used { &prefix.rest } else { &prefix.first });
                prefix.used = true;
            }
            if line.is_empty() {
                let len = lines[start..].trim_end().len();
                lines.truncate(start + len);
            }
            lines.push_str(line);
        }
        lines
    }

    /// Adds a piece with its line prefixes.
    pub(super) fn put(&mut self, kind: Kind, text: String) {
        let blank: String = self
            .prefixes
            .iter()
            .filter(|p| p.used)
            .map(|p| p.rest.as_str())
            .collect::<String>()
            .trim_end()
            .to_owned();
        // Without a blank line, a block that begins no item would continue the paragraph above.
        let begins = self.prefixes.last().is_some_and(|prefix| !prefix.used && prefix.first != "> ");
        if self.style.markdown && !begins {
            self.gap = Gap::Blank;
        }
        // Most blocks are in no list or quote; copying a large one would be slow.
        let text =
            if self.prefixes.is_empty() { text } else { self.callout_lines(kind) + &self.with_marks(&text) };
        let inline = self.inline.take();
        let gap = std::mem::replace(&mut self.gap, Gap::Line);
        self.pieces.push(Piece {
            kind,
            text,
            gap,
            blank,
            chars: inline.chars,
            link_chars: inline.link_chars,
            nodes: inline.nodes,
        });
    }
}

/// Trimmed text in its own memory.
fn trimmed(mut text: String) -> String {
    text.truncate(text.trim_end_matches([' ', '\n']).len());
    let start = text.len() - text.trim_start_matches([' ', '\n']).len();
    text.drain(..start);
    text
}
