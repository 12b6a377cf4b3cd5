//! Characters, words and lines of a text for the rules.

use regex::Regex;
use std::sync::LazyLock;
use unicode_segmentation::UnicodeSegmentation;

/// Returns true for Unicode white space and the separators U+001C to U+001F, which Python (and so datatrove)
/// treats as white space.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Words of a text in order: the parts between Unicode's word boundaries (UAX #29), without white space. A
/// punctuation mark is a word, as in the tokenizers of the published rules; `don't` is one word. Scripts
/// without spaces are split into characters.
pub fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_word_bound_indices().filter(|(_, word)| !word.chars().all(is_space))
}

/// Sentences of a line (UAX #29), without those of white space alone.
pub fn sentences(line: &str) -> impl Iterator<Item = &str> {
    // the crate's search does not accept an empty text
    let bounds = Some(line).filter(|line| !line.is_empty()).map(UnicodeSegmentation::split_sentence_bounds);
    bounds.into_iter().flatten().filter(|sentence| !sentence.chars().all(is_space))
}

/// Number of [`sentences`] of a line.
pub(crate) fn count_sentences(line: &str) -> usize {
    // most lines are one sentence: without an inner end mark no search is needed
    let within = line.trim_end_matches(['.', '?', '!', '"', '\'']);
    let one = line.is_ascii() && !within.bytes().any(|b| matches!(b, b'.' | b'?' | b'!' | b'\n' | b'\r'));
    if one { usize::from(!line.chars().all(is_space)) } else { sentences(line).count() }
}

/// Lines as Python's `str.splitlines` has them.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text).filter(|text| !text.is_empty());
    std::iter::from_fn(move || {
        let text = rest?;
        let Some((at, c)) = text.char_indices().find(|(_, c)| ends_line(*c)) else {
            rest = None;
            return Some(text);
        };
        let (line, after) = text.split_at(at);
        let after = after.get(c.len_utf8()..).unwrap_or_default();
        let after = if c == '\r' { after.strip_prefix('\n').unwrap_or(after) } else { after };
        rest = Some(after).filter(|after| !after.is_empty());
        Some(line)
    })
}

fn ends_line(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Parts between runs of at least `least` line feeds, as Python's `re.split` gives them.
pub(crate) fn split_at_feeds(text: &str, least: usize) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(found) = bytes.get(at..).and_then(|b| b.iter().position(|b| *b == b'\n')) {
            let from = at + found;
            let run = bytes.get(from..).map_or(0, |b| b.iter().take_while(|b| **b == b'\n').count());
            if run >= least {
                rest = text.get(from + run..);
                return text.get(..from);
            }
            at = from + run;
        }
        rest = None;
        Some(text)
    })
}

/// Number of characters (code points).
pub(crate) fn chars(text: &str) -> usize {
    text.chars().count()
}

/// Share as a number; 0 of nothing is 0.
pub(crate) fn ratio(part: usize, of: usize) -> f64 {
    if of == 0 { 0.0 } else { to_f64(part) / to_f64(of) }
}

#[expect(clippy::cast_precision_loss, reason = "counts of characters lie far below 2^53")]
pub(crate) fn to_f64(n: usize) -> f64 {
    n as f64
}

/// A word for comparisons: lower case, one kind of apostrophe.
pub(crate) fn folded(word: &str) -> std::borrow::Cow<'_, str> {
    if word.bytes().all(|b| b.is_ascii_lowercase()) {
        word.into()
    } else {
        word.to_lowercase().replace('’', "'").into()
    }
}

/// Returns true if a word has a letter (general category L, as in Python's `str.isalpha`).
pub(crate) fn has_letter(word: &str) -> bool {
    if word.bytes().any(|b| b.is_ascii_alphabetic()) {
        return true;
    }
    !word.is_ascii() && word.chars().any(is_letter)
}

fn is_letter(c: char) -> bool {
    c.is_alphabetic() && LETTER.is_match(c.encode_utf8(&mut [0; 4]))
}

#[expect(clippy::expect_used, reason = "a constant pattern; a test runs it")]
static LETTER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^\p{L}").expect("a constant pattern"));

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_split_by_unicode_rules() {
        let of = |text| words(text).map(|(_, word)| word).collect::<Vec<_>>();
        assert_eq!(of("Don’t stop, 3.5 %\n…"), ["Don’t", "stop", ",", "3.5", "%", "…"]);
        assert_eq!(of("海と山"), ["海", "と", "山"]);
        assert_eq!(of(" \n\u{1f}\u{a0}"), [""; 0]);
    }

    #[test]
    fn lines_split_like_python() {
        let of = |text| lines(text).collect::<Vec<_>>();
        assert_eq!(of("a\r\nb\rc\n\nd\u{2028}e\u{85}"), ["a", "b", "c", "", "d", "e"]);
        assert_eq!(of(""), [""; 0]);
        assert_eq!(of("\n"), [""]);
        let feeds = |text, n| split_at_feeds(text, n).collect::<Vec<_>>();
        assert_eq!(feeds("a\nb\n\nc\n\n\nd", 2), ["a\nb", "c", "d"]);
        assert_eq!(feeds("\na\n", 1), ["", "a", ""]);
        assert_eq!(feeds("", 1), [""]);
    }

    #[test]
    fn letters_are_recognised_like_python() {
        for (word, has) in [
            ("a1", true),
            ("é", true),
            ("海", true),
            ("12", false),
            ("Ⅷ", false),
            ("ा", false),
            ("ⓐ", false),
            ("ª", true),
        ] {
            assert_eq!(has_letter(word), has, "{word}");
        }
    }

    #[test]
    fn sentences_are_counted() {
        assert_eq!(sentences("One. Two! Is it 3.5? \"Yes.\"").count(), 4);
        assert_eq!((sentences("  ").count(), sentences("").count()), (0, 0));
    }

    proptest! {
        #[test]
        fn sentence_count_equals_the_sentences_found(line in "[aB .?!\"'\n)é]{0,20}") {
            prop_assert_eq!(count_sentences(&line), sentences(&line).count(), "{:?}", line);
        }
    }
}
