//! Passages of a text with their context, on one line.

use std::ops::Range;

/// Characters shown before and behind a part, and of the part itself.
const WRITE_WRAPPER: usize = 32;
const PART: usize = 100;

/// Lines of a sample from the beginning and the end of a text, and characters of each.
const SAMPLE_HEAD: usize = 4;
const SAMPLE_TAIL: usize = 2;
const SAMPLE_LINE: usize = 240;

/// A part in brackets, with the words around it; `…` where something was left out.
pub(super) fn around(text: &str, bytes: &Range<usize>) -> String {
    let before = text.get(..bytes.start).unwrap_or_default();
    let after = text.get(bytes.end..).unwrap_or_default();
    let start = before.char_indices().rev().nth(WRITE_WRAPPER).map(|(at, c)| at + c.len_utf8());
    let end = after.char_indices().nth(WRITE_WRAPPER).map(|(at, _)| at);
    format!(
        "{}{}[{}]{}{}",
        if start.is_some() { "…" } else { "" },
        flat(before.get(start.unwrap_or(0)..).unwrap_or_default()),
        part(text, bytes),
        flat(end.map_or(after, |end| after.get(..end).unwrap_or_default())),
        if end.is_some() { "…" } else { "" },
    )
}

/// A part without context, shortened if it is long.
pub(super) fn part(text: &str, bytes: &Range<usize>) -> String {
    let part = text.get(bytes.clone()).unwrap_or_default();
    match part.char_indices().nth(PART) {
        Some((at, _)) => flat(part.get(..at).unwrap_or_default()) + "…",
        None => flat(part),
    }
}

/// A sample of a text: its first and last lines. They show its beginning, its subject, and the page frame
/// left at its ends. Long lines are cut off.
pub(super) fn sample(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let cut = |line: &&str| match line.char_indices().nth(SAMPLE_LINE) {
        Some((at, _)) => flat(line.get(..at).unwrap_or_default()) + "…",
        None => flat(line),
    };
    if lines.len() <= SAMPLE_HEAD + SAMPLE_TAIL {
        return lines.iter().map(cut).collect();
    }
    let head = lines.iter().take(SAMPLE_HEAD).map(cut);
    let tail = lines.iter().skip(lines.len() - SAMPLE_TAIL).map(cut);
    let left_out = format!("… {} more lines", lines.len() - SAMPLE_HEAD - SAMPLE_TAIL);
    head.chain([left_out]).chain(tail).collect()
}

/// White space and controls as spaces: a terminal shows them as it likes.
pub(super) fn flat(text: &str) -> String {
    text.chars().map(|c| if c.is_whitespace() || c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_are_shown_with_their_context() {
        let text = "At the pier\nthe stain was seen by everybody who came with the ferry that day.";
        let at = text.find("stain").unwrap();
        assert_eq!(around(text, &(at..at + 5)), "At the pier the [stain] was seen by everybody who came …");
        assert_eq!(around("äöü", &(2..4)), "ä[ö]ü");
        assert_eq!(part(&"x".repeat(101), &(0..101)), format!("{}…", "x".repeat(100)));
        assert_eq!(part("a\u{1b}[31m", &(0..6)), "a [31m");
    }

    #[test]
    fn a_sample_has_the_first_and_the_last_lines() {
        assert_eq!(sample("one\n\ntwo"), ["one", "two"]);
        let text: String = (1..=9).map(|n| format!("line {n}\n \n")).collect();
        assert_eq!(
            sample(&text),
            ["line 1", "line 2", "line 3", "line 4", "… 3 more lines", "line 8", "line 9"]
        );
        assert_eq!(sample(&"é".repeat(300)), ["é".repeat(240) + "…"]);
        assert_eq!(sample(""), [""; 0]);
    }
}
