//! Completion of blocks to pieces.

use super::{
    super::{
        RULE,
        inline::is_blank,
        markdown::{self, BlockContext},
    },
    Gap, Kind, Piece, Walk,
};
use crate::{dom::Tag, options::LinkStyle};

impl Walk<'_> {
    /// Writes a thematic break; plain text has none.
    pub(super) fn rule(&mut self) {
        self.request_gap(self.block_gap(Tag::Hr));
        let repeated = self.pieces.last().is_none_or(|last| last.text == RULE);
        if self.style.markdown && !repeated && self.table.is_none() {
            // Hyphens or stars after the same mark of an item would form a rule with it.
            let has_mark = |mark: &str| self.prefixes.iter().any(|prefix| prefix.first == mark);
            let in_item = self.prefixes.iter().any(|prefix| prefix.first != "> ");
            let rule = if has_mark("* ") {
                "___"
            } else if in_item {
                "***"
            } else {
                RULE
            };
            self.put(Kind::Paragraph, rule.to_owned());
            self.request_gap(Gap::Blank);
        }
    }

    /// Ends the current block.
    pub(super) fn flush(&mut self, kind: Kind) {
        if self.table.is_some() {
            return;
        }
        let spans = self.inline.end_block();
        let text = std::mem::take(&mut self.inline.text);
        if is_blank(&text) {
            self.reuse(text);
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
        let block_kind = if kind == Kind::Paragraph && in_item { Kind::Item } else { kind };
        if self.style.markdown {
            let bold = self.term.is_some() || level.is_none() && matches!(kind, Kind::Heading(_));
            let place = BlockContext {
                heading: level.is_some(),
                cell: false,
                item: first,
                bold,
                numbers: self.style.links == LinkStyle::Reference,
            };
            let mut markdown = markdown::write(&text, &spans, place);
            if let Some(level) = level {
                markdown.insert_str(0, &HEADING_MARKS[HEADING_MARKS.len() - 1 - usize::from(level)..]);
            }
            self.put(block_kind, markdown);
            self.keep_plain(text);
        } else {
            self.put(block_kind, trimmed(text));
        }
        if matches!(kind, Kind::Heading(_)) {
            self.gap = Gap::Blank;
        }
    }

    /// Keeps the text of the last piece without Markdown, if that differs.
    fn keep_plain(&mut self, text: String) {
        match self.pieces.last_mut().filter(|piece| piece.text != text.trim_matches([' ', '\n'])) {
            Some(piece) => piece.plain = Some(trimmed(text)),
            None => self.reuse(text),
        }
    }

    /// Keeps the memory of a text for the next block.
    pub(super) fn reuse(&mut self, mut text: String) {
        text.clear();
        self.inline.text = text;
    }

    /// Adds a text with its line prefixes.
    fn push_with_marks(&mut self, out: &mut String, text: &str) {
        let marks: usize = self.prefixes.iter().map(|prefix| prefix.first.len()).sum();
        out.reserve(text.len() + marks);
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                out.push('\n');
            }
            let start = out.len();
            for prefix in &mut self.prefixes {
                out.push_str(if prefix.used { &prefix.rest } else { &prefix.first });
                prefix.used = true;
            }
            if line.is_empty() {
                let len = out[start..].trim_end().len();
                out.truncate(start + len);
            }
            out.push_str(line);
        }
    }

    /// Adds a piece with its line prefixes.
    pub(super) fn put(&mut self, kind: Kind, text: String) {
        let used = self.prefixes.iter().filter(|prefix| prefix.used);
        let mut blank = String::new();
        if used.clone().any(|prefix| !prefix.rest.trim_end().is_empty()) {
            used.for_each(|prefix| blank.push_str(&prefix.rest));
            blank.truncate(blank.trim_end().len());
        }
        // Without a blank line, a block that begins no item would continue the paragraph above.
        let begins = self.prefixes.last().is_some_and(|prefix| !prefix.used && prefix.first != "> ");
        if self.style.markdown && !begins {
            self.gap = Gap::Blank;
        }
        // Most blocks are in no list or quote; copying a large one would be slow.
        let text = if self.prefixes.is_empty() {
            text
        } else {
            let mut lines = self.callout_lines(kind);
            self.push_with_marks(&mut lines, &text);
            lines
        };
        let inline = self.inline.take();
        let gap = std::mem::replace(&mut self.gap, Gap::Line);
        self.pieces.push(Piece {
            kind,
            text,
            plain: None,
            gap,
            blank,
            chars: inline.chars,
            link_chars: inline.link_chars,
            nodes: inline.nodes,
        });
    }
}

/// Mark of a heading of level 6, and a space.
const HEADING_MARKS: &str = "###### ";

/// Trimmed text in its own memory.
fn trimmed(mut text: String) -> String {
    text.truncate(text.trim_end_matches([' ', '\n']).len());
    let start = text.len() - text.trim_start_matches([' ', '\n']).len();
    text.drain(..start);
    text
}
