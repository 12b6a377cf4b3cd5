//! Tables: recognition of data tables, and their output.

use crate::{dom::Tag, page::Page};
use html5ever::local_name;

/// Rows of a table that is being read.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
    /// Remaining rows that a cell above spans, by column.
    spans: Vec<u32>,
    /// Parent of the last row, at whose end spans end.
    group: u32,
    /// A row was ended.
    ended: bool,
    /// True if the first row is in a head, even an empty one.
    head: bool,
    /// True if a cell of the body is a header.
    body_heads: bool,
}

/// Maximum span of a cell, in rows or columns.
const MAX_SPAN: u32 = 50;
/// Maximum column of a cell that spans rows, since its row would need filling up to it.
const MAX_COLUMN: usize = 50;

impl Table {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.iter().all(|row| row.iter().all(String::is_empty))
    }

    /// Ends a row.
    pub(super) fn end_row(&mut self) {
        let done = if self.ended { 0 } else { self.rows.last().map_or(0, Vec::len) };
        self.spans.iter_mut().skip(done).for_each(|left| *left = left.saturating_sub(1));
        self.ended = true;
    }

    /// Adds a cell. Positions that an earlier cell spans are empty.
    pub(super) fn push(&mut self, page: &Page<'_>, id: u32, text: String) {
        let span = |name, of_zero: u32| {
            let value = page.dom.attr(id, name).and_then(|value| value.trim().parse::<u32>().ok());
            value.map_or(1, |value| if value == 0 { of_zero } else { value.min(MAX_SPAN) })
        };
        if self.rows.is_empty() || std::mem::take(&mut self.ended) {
            let head = page.dom.ancestors(id).take(2).any(|up| page.dom.tag(up) == Tag::Thead);
            self.head |= head && self.rows.is_empty();
            self.body_heads |= !head && page.dom.tag(id) == Tag::Th;
            let group = page.dom.parent(page.dom.parent(id));
            if std::mem::replace(&mut self.group, group) != group {
                self.spans.clear();
            }
            self.rows.push(Vec::new());
        }
        let Some(row) = self.rows.last_mut() else { return };
        while let Some(left) = self.spans.get_mut(row.len()).filter(|left| **left > 0) {
            *left -= 1;
            row.push(String::new());
        }
        let (rows, columns) = (span(&local_name!("rowspan"), MAX_SPAN), span(&local_name!("colspan"), 1));
        let mut text = Some(text);
        for _ in 0..columns {
            let column = row.len();
            if rows > 1 && column < MAX_COLUMN {
                if self.spans.len() <= column {
                    self.spans.resize(column + 1, 0);
                }
                self.spans[column] = rows - 1;
            }
            row.push(text.take().unwrap_or_default());
        }
    }
}

/// Maximum characters of a data cell; a longer one is a column of a layout.
const MAX_CELL: u32 = 400;

/// Maximum width of a table whose rows are filled with empty cells, which Markdown does not require. A
/// thousand short rows below one of a thousand cells would make a million.
const MAX_FILLED: usize = 100;

/// Returns true for a data table. Layout tables hold one row or column, other tables, headings or long texts.
pub(crate) fn is_data(page: &Page<'_>, id: u32) -> bool {
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
    // Header cells make a table of one column or one row a data table.
    let shaped = rows > 1 && most > 1 && cells > 2 || heads > 0 && cells > 0 && (rows > 1 || heads == cells);
    shaped && (longest <= MAX_CELL || heads > 0 && longest <= 4 * MAX_CELL)
}

impl Table {
    /// Writes a Markdown table, or lines with cells separated by tabs.
    pub(super) fn write(&self, markdown: bool) -> String {
        let width = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut out = String::new();
        let is_kept = |(at, row): &(usize, &Vec<String>)| {
            markdown && self.head && !self.body_heads && *at == 0 || !row.iter().all(String::is_empty)
        };
        let rows = self.rows.iter().enumerate().filter(is_kept).map(|(_, row)| row);
        for (index, row) in rows.enumerate() {
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
