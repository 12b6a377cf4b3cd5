//! Tables of data: their text goes into cells.

use super::{
    super::{Gap, Kind, inline::Inline},
    Walk,
};
use crate::{dom::Tag, text};

impl Walk<'_> {
    pub(super) fn leave_cell(&mut self, id: u32, tag: Tag) {
        let Some((owner, table)) = &mut self.table else { return };
        match tag {
            Tag::Tr => {
                if table.rows.last().is_some_and(|row| row.iter().all(String::is_empty)) {
                    table.rows.pop();
                }
                table.rows.push(Vec::new());
            }
            Tag::Table if *owner == id => {
                let Some((_, mut table)) = self.table.take() else { return };
                table.rows.retain(|row| !row.is_empty());
                self.inline.text.clear();
                if !table.rows.is_empty() && self.style.tables {
                    let text = table.write(self.style.markdown);
                    self.put(Kind::Table, text);
                }
                self.inline = Inline::default();
                self.want(Gap::Blank);
            }
            Tag::Td | Tag::Th => {
                let text = text::fold(&self.inline.text);
                self.inline.text.clear();
                self.inline.marks.clear();
                if table.rows.is_empty() {
                    table.rows.push(Vec::new());
                }
                if let Some(row) = table.rows.last_mut() {
                    row.push(text);
                }
            }
            _ => {
                // A caption stands before its table.
                let text = text::fold(&self.inline.text);
                let nodes = std::mem::take(&mut self.inline.nodes);
                if !text.is_empty() {
                    self.put(Kind::Paragraph, text);
                    if let Some(piece) = self.pieces.last_mut() {
                        piece.nodes = nodes;
                    }
                    self.want(Gap::Blank);
                }
                self.inline = Inline::default();
            }
        }
    }
}
