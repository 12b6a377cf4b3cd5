//! Cleaning (specification, "Clean + normalize text"): the cleaned text decides if two documents are the
//! same.

mod markup;

use std::{borrow::Cow, mem, ops::Range};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// Replacement of a number.
pub const NUMBER: &str = "<num>";

/// Schemes at the start of a URL, which extends to the next space or closing mark; `www.` begins one as well.
const SCHEMES: [&str; 3] = ["https", "http", "ftp"];

/// Cleans a text: removes HTML, URLs and e-mail addresses, applies Unicode's NFKC and lower case, replaces
/// numbers by [`NUMBER`] and separates words by single spaces.
///
/// Only separate numbers are replaced (`3`, `1,024.5`, the parts of `2024-05-01`), not those in names
/// (`utf8`, `x86_64`). Characters of Chinese and Japanese, which are written without spaces, are separated by
/// spaces, as in BERT's basic tokenizer. Otherwise a whole sentence would be one word, which each changed
/// character would change.
///
/// The result holds no control characters and no white space but U+0020. The time is linear in the text.
#[must_use]
pub fn clean(text: &str) -> String {
    let text = markup::strip(text);
    // only ASCII letters, since most words have no others; other words are taken from the text itself
    let lower = text.to_ascii_lowercase();
    let mut out = String::with_capacity(lower.len() + 8);
    let bytes = lower.as_bytes();
    // unchanged words with single spaces between them, copied in one piece
    let mut run = 0..0;
    let mut from = 0;
    while let Some(rest) = bytes.get(from..) {
        let mut marks = 0;
        let mut length = 0;
        for byte in rest {
            let class = CLASSES[usize::from(*byte)];
            if class & SPACE != 0 {
                break;
            }
            marks |= class;
            length += 1;
        }
        let word = from..from + length;
        from = word.end + 1;
        if length > 0 && !is_unchanged(marks) {
            push_run(&lower, &mut run, &mut out);
            let lower = lower.get(word.clone()).unwrap_or_default();
            push_any(text.get(word).unwrap_or_default(), lower, marks, &mut out);
        } else if length > 0
            && !run.is_empty()
            && run.end + 1 == word.start
            && bytes.get(run.end) == Some(&b' ')
        {
            run.end = word.end;
        } else if length > 0 {
            push_run(&lower, &mut run, &mut out);
            run = word;
        }
        if length == rest.len() {
            break;
        }
    }
    push_run(&lower, &mut run, &mut out);
    out.truncate(out.trim_end_matches(' ').len());
    out
}

/// Returns true if a word only needs lower case.
const fn is_unchanged(marks: u8) -> bool {
    marks & (WIDE | MARKED) == 0 && marks & (DOT | W) != DOT | W
}

/// Writes a run of words and a space, and begins another.
fn push_run(lower: &str, run: &mut Range<usize>, out: &mut String) {
    let words = lower.get(mem::replace(run, 0..0)).unwrap_or_default();
    if !words.is_empty() {
        out.push_str(words);
        out.push(' ');
    }
}

/// White space and control characters of ASCII.
const SPACE: u8 = 1;
/// Marks that require a closer look at a word: digits, and the marks of addresses and URLs.
const MARKED: u8 = 2;
/// No ASCII.
const WIDE: u8 = 4;
/// `.` and `w`: only a word with both can have a `www.`.
const DOT: u8 = 8;
const W: u8 = 16;
/// Marks that end a URL.
const CLOSES: u8 = 32;

static CLASSES: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            0..=b' ' | 0x7f => SPACE,
            b'0'..=b'9' | b'@' | b':' => MARKED,
            b'.' => DOT,
            b'w' => W,
            b')' | b']' | b'>' | b'<' | b'"' | b'\'' | b'}' | b'|' | b'`' => CLOSES,
            0x80.. => WIDE,
            _ => 0,
        };
        byte += 1;
    }
    classes
}

/// Cleans and writes a word between white space of ASCII that does not stay unchanged. `lower` is the word
/// with ASCII letters in lower case.
fn push_any(word: &str, lower: &str, marks: u8, out: &mut String) {
    if marks & WIDE != 0 {
        // a space never takes part in normalisation, so a word is normalised as in its text
        let lower = normalized(word).to_lowercase();
        for word in lower.split(is_space).filter(|word| !word.is_empty()) {
            push_word(word, out);
        }
    } else {
        push_word(lower, out);
    }
}

/// Returns true for white space and control characters, which Python's `split` and other readers treat as
/// white space.
fn is_space(c: char) -> bool {
    c.is_whitespace() || c.is_control() || c == '\u{feff}'
}

fn normalized(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_normal) || is_nfkc_quick(text.chars()) == IsNormalized::Yes {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.nfkc().collect())
}

/// Returns true for frequent letters and marks that NFKC leaves unchanged in any text. The tables for all
/// characters are slow to search.
const fn is_normal(c: char) -> bool {
    matches!(c, '\0'..='\x7f'
        // Latin
        | '\u{c0}'..='\u{131}' | '\u{134}'..='\u{13e}' | '\u{141}'..='\u{148}' | '\u{14a}'..='\u{17e}'
        // Cyrillic
        | '\u{400}'..='\u{482}'
        // dashes and quotation marks
        | '\u{2013}'..='\u{2014}' | '\u{2018}'..='\u{201e}'
        // kana, Han and Hangul, with their comma and full stop
        | '\u{3001}'..='\u{3002}' | '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fe}'
        | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}')
}

/// Writes a cleaned word and a space; a URL or an address is dropped.
fn push_word(word: &str, out: &mut String) {
    let start = out.len();
    match url_in(word) {
        Some((from, to)) => {
            push_marked(word.get(..from).unwrap_or_default(), out);
            push_marked(word.get(to..).unwrap_or_default(), out);
        }
        None if is_address(word) => {}
        None => push_marked(word, out),
    }
    if out.len() > start && !out.ends_with(' ') {
        out.push(' ');
    }
}

/// Range of a URL in a word: from its scheme to a closing mark (`)` of a Markdown link) or the word's end.
fn url_in(word: &str) -> Option<(usize, usize)> {
    let bytes = word.as_bytes();
    let scheme = memchr::memchr_iter(b':', bytes).find_map(|at| {
        let length = scheme_length(bytes.get(..at)?, bytes.get(at..)?)?;
        Some(at - length)
    });
    let before = bytes.get(..scheme.unwrap_or(bytes.len()))?;
    let www = || {
        memchr::memchr_iter(b'.', before).find(|at| before.get(..*at).is_some_and(|b| b.ends_with(b"www")))
    };
    let from = www().map(|at| at - 3).or(scheme)?;
    let after = bytes.get(from..)?;
    let end = after.iter().position(|b| CLASSES[usize::from(*b)] & CLOSES != 0).unwrap_or(after.len());
    Some((from, from + end))
}

/// Bytes of the longest of [`SCHEMES`] before a `://`.
fn scheme_length(before: &[u8], from: &[u8]) -> Option<usize> {
    if !from.starts_with(b"://") {
        return None;
    }
    SCHEMES.iter().find(|scheme| before.ends_with(scheme.as_bytes())).map(|scheme| scheme.len())
}

/// `name@host.tld`, with punctuation around it.
fn is_address(word: &str) -> bool {
    let Some((name, host)) = word.split_once('@') else { return false };
    let host = host.trim_end_matches(|c: char| !c.is_alphanumeric());
    let name = name.trim_start_matches(|c: char| !c.is_alphanumeric()).trim_start_matches("mailto:");
    !name.is_empty()
        && host.contains('.')
        && !host.starts_with('.')
        && name.chars().all(|c| c.is_alphanumeric() || "._%+-".contains(c))
        && host.chars().all(|c| c.is_alphanumeric() || ".-".contains(c))
}

fn is_of_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// Chinese characters and Japanese syllables.
fn stands_alone(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3134f}')
}

/// Writes a word with its numbers marked and its ideographs separated.
fn push_marked(word: &str, out: &mut String) {
    if word.bytes().all(|b| b.is_ascii() && !b.is_ascii_digit()) {
        out.push_str(word);
        return;
    }
    let mut rest = word;
    let mut before = None;
    while let Some(c) = rest.chars().next() {
        if c.is_numeric() && !stands_alone(c) {
            let end = number_end(rest);
            let (number, after) = rest.split_at(end);
            let in_name = before.is_some_and(is_of_name) || after.chars().next().is_some_and(is_of_name);
            out.push_str(if in_name { number } else { NUMBER });
            // after a number in a name, the next characters belong to that name
            before = if in_name { Some('_') } else { number.chars().next_back() };
            rest = after;
            continue;
        }
        if stands_alone(c) {
            if !out.is_empty() && !out.ends_with(' ') {
                out.push(' ');
            }
            out.push(c);
            out.push(' ');
            before = None;
        } else {
            out.push(c);
            before = Some(c);
        }
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
    }
}

/// Bytes of the number at the start of a text: digits, and single `.`, `,` or `:` between digits.
fn number_end(text: &str) -> usize {
    let mut end = 0;
    let mut mark = None;
    for (at, c) in text.char_indices() {
        if c.is_numeric() && !stands_alone(c) {
            end = at + c.len_utf8();
            mark = None;
        } else if mark.is_none() && matches!(c, '.' | ',' | ':') {
            mark = Some(c);
        } else {
            break;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn clean_removes_markup_and_normalizes_text() {
        for (given, want) in [
            ("  The   Quick\n\tFox ", "the quick fox"),
            ("<p class=\"x\">One</p><br/>two &amp; three", "one two & three"),
            ("a < b and List<String> stays", "a < b and list<string> stays"),
            ("<script>var x = '<b>';</script>text<!-- note <i> -->s", "text s"),
            ("see https://example.org/a?b=c. now", "see now"),
            ("see [here](https://example.org/x), and www.example.org", "see [here](), and"),
            ("write to Jane.Doe+x@mail.example.org, please", "write to please"),
            ("@Override foo@ a@b", "@override foo@ a@b"),
            ("In 2024-05-01 were 1,024.5 of 3.", "in <num>-<num>-<num> were <num> of <num>."),
            ("utf8 x86_64 v1.2 1.2.3-rc1 50% 10kg", "utf8 x86_64 v1.2 <num>-rc1 <num>% 10kg"),
            ("ﬁne Ｆｕｌｌ", "fine full"),
            ("東京 Tower", "東 京 tower"),
            ("a\u{1f}b\u{85}c\u{a0}d\u{0}e", "a b c d e"),
            ("", ""),
            (" https://example.org ", ""),
        ] {
            assert_eq!(clean(given), want, "{given:?}");
        }
    }

    #[test]
    fn normal_characters_are_nfkc_starters() {
        for c in ('\0'..=char::MAX).filter(|c| is_normal(*c)) {
            assert_eq!(is_nfkc_quick([c].into_iter()), IsNormalized::Yes, "{c:?}");
            assert_eq!(unicode_normalization::char::canonical_combining_class(c), 0, "{c:?}");
        }
        assert!(is_normal('é') && is_normal('語') && !is_normal('ﬁ') && !is_normal('\u{301}'));
    }

    /// Cleans the whole text step by step, without shortcuts.
    fn clean_step_by_step(text: &str) -> String {
        let lower = markup::strip(text).nfkc().collect::<String>().to_lowercase();
        let mut out = String::new();
        lower.split(is_space).filter(|word| !word.is_empty()).for_each(|word| push_word(word, &mut out));
        out.trim_end_matches(' ').to_owned()
    }

    proptest! {
        #[test]
        fn cleaned_text_is_words_between_single_spaces(text in "\\PC{0,60}|[a-zA0-9<>&;:/@. \\n一\u{85}İΣ´]{0,80}|( ?(www[.]|http://|ftp://|[xΣé.(@3)\u{301}]{1,3})){0,9}") {
            let cleaned = clean(&text);
            prop_assert_eq!(&cleaned, &clean_step_by_step(&text));
            prop_assert!(!cleaned.contains(|c: char| c != ' ' && is_space(c)), "{cleaned:?}");
            prop_assert!(!cleaned.contains("  ") && !cleaned.starts_with(' ') && !cleaned.ends_with(' '), "{cleaned:?}");
        }
    }
}
