//! Marks of Markdown that a line begins with.

/// Marks of a code fence, and the text after them. A fence ends at no fewer marks than it began with
/// (CommonMark §4.5), so that code may contain fences.
pub(super) fn marks(line: &str) -> Option<(&str, &str)> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let behind = line.trim_start_matches(mark);
    let marks = &line[..line.len() - behind.len()];
    (marks.len() >= 3).then(|| (marks, behind.trim()))
}

/// Text behind the mark of a list item, if a line begins with one.
pub(super) fn behind_item(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let marks: &[&str] = if rest.len() < line.len() { &[". ", ") "] } else { &["- ", "* ", "+ "] };
    marks.iter().find_map(|mark| rest.strip_prefix(mark))
}

/// Text behind the marks of all items that begin on a line.
pub(super) fn behind_items(line: &str) -> &str {
    let mut rest = line;
    while let Some(behind) = behind_item(rest) {
        rest = behind.trim_start();
    }
    rest
}
