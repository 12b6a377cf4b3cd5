//! Tables that arrange a page: their cells are boxes as `div` elements are elsewhere.

use crate::{dom::Tag, page::Page, render::is_data_table};

/// Finds such tables and their cells in one pass, in order. The nearest table decides about a cell.
fn parts(page: &Page<'_>) -> Vec<u32> {
    let dom = &page.dom;
    let (mut parts, mut tables) = (Vec::new(), Vec::<(u32, bool)>::new());
    for id in page.within_body() {
        while tables.last().is_some_and(|(end, _)| *end <= id) {
            tables.pop();
        }
        let tag = dom.tag(id);
        if tag == Tag::Table {
            tables.push((dom.end(id), !is_data_table(page, id)));
        }
        let is_part = matches!(tag, Tag::Table | Tag::Td);
        if is_part && tables.last().is_some_and(|(_, is_layout)| *is_layout) {
            parts.push(id);
        }
    }
    parts
}

/// Returns true for a table or a cell that only arranges the page.
pub(super) fn is_part(page: &Page<'_>, id: u32) -> bool {
    let is_tag = matches!(page.dom.tag(id), Tag::Table | Tag::Td);
    is_tag && page.layout.get_or_init(|| parts(page)).binary_search(&id).is_ok()
}
