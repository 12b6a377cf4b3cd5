//! Brackets in titles: "Answers (GNU M4 macro processor)".

use super::headings::{Heading, words};

/// Returns true if the text opens as many brackets as it closes. A separator within brackets separates nothing.
pub(super) fn is_closed(text: &str) -> bool {
    text.matches('(').count() == text.matches(')').count()
}

/// The page's first heading of the highest level, if it ends with the part of a title in front of the bracket
/// at its end. Generators of manuals put the name of the manual into the bracket.
pub(super) fn heading<'a>(seen: &'a [Heading], title: &str) -> Option<&'a Heading> {
    let name: Vec<String> = words(before(title)?).collect();
    // A lower heading with the name belongs to a section: a constructor has the name of its class.
    let first = seen.iter().min_by_key(|heading| (heading.level, heading.id))?;
    let heading: Vec<String> = words(&first.text).collect();
    let front = heading.strip_suffix(name.as_slice()).filter(|_| !name.is_empty())?;
    // The number of a section, or the kind of a page ("Class").
    let is_number = |word: &String| word.bytes().all(|b| b.is_ascii_digit());
    (front.len() <= 1 || front.iter().all(is_number)).then_some(first)
}

/// The text before the bracket that ends a title, which may hold others.
fn before(title: &str) -> Option<&str> {
    let title = title.trim();
    let mut depth = 0;
    for (at, c) in title.char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (c == '(').then(|| title[..at].trim());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_is_cut_before_the_last_bracket() {
        assert_eq!(before("Bugs (Octave (version 7))"), Some("Bugs"));
        assert_eq!(before("printf(3) manual (GNU)"), Some("printf(3) manual"));
        assert_eq!(before("Bugs (old) and more"), None);
        assert_eq!(before("Bugs)"), None);
    }
}
