//! Tables: which of them hold data, and how they are written.

use crate::{dom::Tag, page::Page};
use html5ever::local_name;

/// Rows of a table that is being read.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) rows: Vec<Vec<String>>,
}

/// A cell longer than this is a column of a layout, not of data (characters).
const MAX_CELL: u32 = 400;

/// Rows of tables that are wider than this are not filled up with empty cells (which Markdown does not ask for): a
/// thousand short rows below one of a thousand cells would be a million.
const MAX_FILLED: usize = 100;

/// Whether a table holds data. Layout tables hold one row or column, other tables, headings or long texts.
pub(super) fn is_data(page: &Page<'_>, id: u32) -> bool {
    let dom = &page.dom;
    if dom.attr(id, &local_name!("role")).is_some_and(|role| matches!(role, "presentation" | "none")) {
        return false;
    }
    let (mut rows, mut cells, mut most, mut heads, mut longest) = (0u32, 0u32, 0u32, 0u32, 0u32);
    let mut in_row = 0;
    for node in id + 1..dom.end(id) {
        match dom.tag(node) {
            Tag::Tr => {
                rows += 1;
                most = most.max(in_row);
                in_row = 0;
            }
            tag @ (Tag::Td | Tag::Th) => {
                cells += 1;
                in_row += 1;
                heads += u32::from(tag == Tag::Th);
                longest = longest.max(page.amount(node).chars);
            }
            Tag::Table
            | Tag::H1
            | Tag::H2
            | Tag::H3
            | Tag::Pre
            | Tag::Form
            | Tag::Article
            | Tag::Blockquote => {
                return false;
            }
            _ => {}
        }
    }
    most = most.max(in_row);
    rows > 1 && most > 1 && cells > 2 && (longest <= MAX_CELL || heads > 0 && longest <= 4 * MAX_CELL)
}

impl Table {
    /// As a table of Markdown, or as lines with cells parted by tabs.
    pub(super) fn write(&self, markdown: bool) -> String {
        let width = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut out = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            if index > 0 {
                out.push('\n');
            }
            if markdown {
                out.push('|');
                for column in 0..if width <= MAX_FILLED || index == 0 { width } else { row.len() } {
                    let cell = row.get(column).map_or("", String::as_str);
                    out.push(' ');
                    out.push_str(&cell.replace('|', "\\|"));
                    out.push_str(if cell.is_empty() { "|" } else { " |" });
                }
                if index == 0 {
                    out.push('\n');
                    out.push('|');
                    (0..width).for_each(|_| out.push_str(" --- |"));
                }
            } else {
                out.push_str(row.join("\t").trim_end());
            }
        }
        out
    }
}
