//! Tables of code: each row has the number of a line and the line (GitHub, Gitea, SyntaxHighlighter).

use super::code;
use crate::{dom::Tag, page::Page};

/// Returns true for a table of code: each row has one cell of code after cells with line numbers. The classes of the
/// numbers distinguish it from a table of data.
pub(super) fn is_code(page: &Page<'_>, id: u32) -> bool {
    let dom = &page.dom;
    let mut rows = 0;
    let mut node = id + 1;
    while node < dom.end(id) {
        match dom.tag(node) {
            Tag::Tr if !is_code_row(page, node) => return false,
            Tag::Tr => {
                rows += 1;
                node = dom.end(node);
            }
            Tag::Caption | Tag::Table => return false,
            _ => node += 1,
        }
    }
    rows > 0
}

/// Returns true for a row of line numbers and one cell of code. A `pre` in the cell is the code itself.
fn is_code_row(page: &Page<'_>, row: u32) -> bool {
    let dom = &page.dom;
    let cells = || dom.children(row).filter(|cell| matches!(dom.tag(*cell), Tag::Td | Tag::Th));
    let numbers = cells().take_while(|cell| code::is_line_number(page, *cell)).count();
    let mut rest = cells().skip(numbers);
    let (Some(line), None) = (rest.next().filter(|_| numbers > 0), rest.next()) else { return false };
    !(line + 1..dom.end(line)).any(|node| matches!(dom.tag(node), Tag::Pre | Tag::Table | Tag::P))
}

/// Returns true for a text between the cells or rows of a table, which is never shown.
pub(super) fn is_between_cells(page: &Page<'_>, text: u32) -> bool {
    matches!(page.dom.tag(page.dom.parent(text)), Tag::Table | Tag::Tbody | Tag::Thead | Tag::Tr)
}
