//! CSV cells that spreadsheets do not evaluate as formulas (OWASP, CSV injection).

use std::borrow::Cow;

/// Characters that begin a formula; the last four are their full-width forms.
const STARTS: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];
/// Bytes of the longest of them.
const START_BYTES: usize = 3;

/// Guards a cell by an apostrophe before a formula, also after leading apostrophes. Reading removes one
/// apostrophe.
#[must_use]
pub fn guard_cell(text: &str) -> Cow<'_, str> {
    if begins_formula(text) { Cow::Owned(format!("'{text}")) } else { Cow::Borrowed(text) }
}

/// Removes the guard of [`guard_cell`] from a cell.
pub(crate) fn without_guard(mut cell: Vec<u8>) -> Vec<u8> {
    if let Some(rest) = cell.strip_prefix(b"'") {
        let quotes = rest.iter().take_while(|byte| **byte == b'\'').count();
        let start = &rest[quotes..rest.len().min(quotes + START_BYTES)];
        if begins_formula(&String::from_utf8_lossy(start)) {
            cell.remove(0);
        }
    }
    cell
}

fn begins_formula(text: &str) -> bool {
    text.trim_start_matches('\'').starts_with(STARTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formula_cells_are_quoted_and_unquoted_without_loss() {
        for text in ["=1+1", "+1", "-1", "- an item", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "'=1", "''-"]
        {
            assert_eq!(guard_cell(text), format!("'{text}"));
            assert_eq!(without_guard(guard_cell(text).as_bytes().to_vec()), text.as_bytes());
        }
        for text in ["", "a=1", "1", "'", "'quoted'", "é", "''"] {
            assert_eq!(guard_cell(text), text);
            assert_eq!(without_guard(text.as_bytes().to_vec()), text.as_bytes());
        }
        assert_eq!(without_guard(b"'\xff\xfe".to_vec()), b"'\xff\xfe");
    }
}
