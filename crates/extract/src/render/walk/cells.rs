//! Data tables: their text becomes cells.

use super::{
    super::{
        Gap, Kind,
        markdown::{self, BlockContext},
    },
    Walk,
};
use crate::{dom::Tag, options::LinkStyle, text};

impl Walk<'_> {
    pub(super) fn leave_cell(&mut self, id: u32, tag: Tag) {
        let Some((owner, table)) = &mut self.table else { return };
        match tag {
            Tag::Tr => table.end_row(),
            Tag::Table if *owner == id => {
                let Some((_, table)) = self.table.take() else { return };
                self.inline.text.clear();
                self.inline.spans.clear();
                if !table.is_empty() && self.style.tables {
                    let text = table.write(self.style.markdown);
                    self.put(Kind::Table, text);
                }
                self.inline.take();
                self.request_gap(Gap::Blank);
            }
            Tag::Td | Tag::Th => {
                let text = self.line(true);
                if let Some((_, table)) = &mut self.table {
                    table.push(self.page, id, text);
                }
            }
            _ => {
                // A caption precedes its table.
                let text = self.line(false);
                let nodes = std::mem::take(&mut self.inline.nodes);
                if !text.is_empty() {
                    self.put(Kind::Paragraph, text);
                    if let Some(piece) = self.pieces.last_mut() {
                        piece.nodes = nodes;
                    }
                    self.request_gap(Gap::Blank);
                }
                self.inline.take();
            }
        }
    }

    /// Text since the last cell, as one line: a cell, or a paragraph.
    fn line(&mut self, cell: bool) -> String {
        let spans = self.inline.end_block();
        let text = std::mem::take(&mut self.inline.text);
        if !self.style.markdown {
            return text::fold(&text);
        }
        let numbers = self.style.links == LinkStyle::Reference;
        let line = markdown::write(&text, &spans, BlockContext { cell, numbers, ..BlockContext::default() });
        self.reuse(text);
        text::fold(&line)
    }
}
