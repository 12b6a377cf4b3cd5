//! Tables that arrange a page: their cells are boxes as `div` elements are elsewhere.

use crate::{dom::Tag, page::Page, render::is_data_table};

/// Such tables and their cells, in order.
#[derive(Debug)]
pub(crate) struct LayoutParts(Vec<u32>);

impl LayoutParts {
    /// Finds the parts in one pass. The nearest table decides about a cell.
    fn of(page: &Page<'_>) -> Self {
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
        Self(parts)
    }
}

/// Returns true for a table or a cell that only arranges the page.
pub(super) fn is_part(page: &Page<'_>, id: u32) -> bool {
    let is_tag = matches!(page.dom.tag(id), Tag::Table | Tag::Td);
    is_tag && page.layout.get_or_init(|| LayoutParts::of(page)).0.binary_search(&id).is_ok()
}
