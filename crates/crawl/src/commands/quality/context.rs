//! Parts of a text with what stands around them, on one line.

use std::ops::Range;

/// Characters shown before and behind a part, and of the part itself.
const AROUND: usize = 32;
const PART: usize = 100;

/// A part in brackets, with the words around it; `…` where something was left out.
pub(super) fn around(text: &str, bytes: &Range<usize>) -> String {
    let before = text.get(..bytes.start).unwrap_or_default();
    let after = text.get(bytes.end..).unwrap_or_default();
    let start = before.char_indices().rev().nth(AROUND).map(|(at, c)| at + c.len_utf8());
    let end = after.char_indices().nth(AROUND).map(|(at, _)| at);
    format!(
        "{}{}[{}]{}{}",
        if start.is_some() { "…" } else { "" },
        flat(before.get(start.unwrap_or(0)..).unwrap_or_default()),
        part(text, bytes),
        flat(end.map_or(after, |end| after.get(..end).unwrap_or_default())),
        if end.is_some() { "…" } else { "" },
    )
}

/// A part alone, cut off where it is long.
pub(super) fn part(text: &str, bytes: &Range<usize>) -> String {
    let part = text.get(bytes.clone()).unwrap_or_default();
    match part.char_indices().nth(PART) {
        Some((at, _)) => flat(part.get(..at).unwrap_or_default()) + "…",
        None => flat(part),
    }
}

/// White space and controls as spaces: a terminal shows them as it likes.
pub(super) fn flat(text: &str) -> String {
    text.chars().map(|c| if c.is_whitespace() || c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stand_in_their_context() {
        let text = "At the pier\nthe stain was seen by everybody who came with the ferry that day.";
        let at = text.find("stain").unwrap();
        assert_eq!(around(text, &(at..at + 5)), "At the pier the [stain] was seen by everybody who came …");
        assert_eq!(around("äöü", &(2..4)), "ä[ö]ü");
        assert_eq!(part(&"x".repeat(101), &(0..101)), format!("{}…", "x".repeat(100)));
        assert_eq!(part("a\u{1b}[31m", &(0..6)), "a [31m");
    }
}
