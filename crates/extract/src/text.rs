//! Helpers for text.

use crate::words;
use std::borrow::Cow;

/// Letters per character of Chinese, Japanese or Korean. A translation into Chinese has about a third of the
/// characters of its original, so one threshold fits both.
const LETTERS_PER_CJK: u32 = 3;

/// Measures of a run of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Measured {
    /// Characters, with each inner run of whitespace as one and none at the ends. Those of U+3000 to U+DFFF
    /// count [`LETTERS_PER_CJK`] times.
    pub(crate) chars: u32,
    /// Words.
    pub(crate) words: u32,
    /// Commas, semicolons and sentence ends, in any script.
    pub(crate) marks: u32,
}

/// Measures a run of text.
pub(crate) fn measure(text: &str) -> Measured {
    let trimmed = trim(text);
    if trimmed.is_empty() {
        return Measured::default();
    }
    if trimmed.is_ascii() {
        return measure_ascii(trimmed.as_bytes());
    }
    let (mut chars, mut marks, mut space, mut may_mark) = (0, 0, false, false);
    for byte in trimmed.bytes() {
        let class = words::CLASSES[byte as usize];
        let is_space = class & words::SPACE != 0;
        // Continuation bytes of a character are not counted.
        chars += u32::from(byte & 0xC0 != 0x80 && !(is_space && space));
        space = is_space;
        marks += u32::from(class & words::MARK != 0);
        may_mark |= class & words::BEGINS_MARK != 0;
        if matches!(byte, 0xE3..=0xED) {
            chars += LETTERS_PER_CJK - 1;
        }
    }
    if may_mark {
        marks += trimmed.chars().filter(|c| is_mark(*c)).count() as u32;
    }
    Measured { chars, words: words::count_words(trimmed), marks }
}

/// Trimmed text; most runs of text end in ASCII whitespace, or consist of it.
fn trim(text: &str) -> &str {
    let trimmed = text.trim_ascii();
    match trimmed.as_bytes() {
        [] => trimmed,
        [only] if only.is_ascii_graphic() => trimmed,
        [first, .., last] if first.is_ascii_graphic() && last.is_ascii_graphic() => trimmed,
        _ => trimmed.trim(),
    }
}

/// Text without white space at its start; most begin with ASCII.
pub(crate) fn trim_start(text: &str) -> &str {
    let trimmed = text.trim_ascii_start();
    match trimmed.bytes().next() {
        Some(first) if first.is_ascii_graphic() => trimmed,
        _ => trimmed.trim_start(),
    }
}

/// Measures ASCII text.
fn measure_ascii(bytes: &[u8]) -> Measured {
    if bytes.len() < MIN_VECTOR { measure_each(bytes) } else { measure_many(bytes) }
}

/// Minimum bytes of a text that vector instructions measure faster.
const MIN_VECTOR: usize = 64;

/// Measures ASCII text byte by byte.
fn measure_each(bytes: &[u8]) -> Measured {
    let mut all = Measured::default();
    let (mut in_word, mut space) = (false, false);
    for byte in bytes {
        let class = words::CLASSES[*byte as usize];
        let is_space = class & words::SPACE != 0;
        all.chars += u32::from(!(is_space && space));
        space = is_space;
        all.marks += u32::from(class & words::MARK != 0);
        let is_word = class & words::LETTER != 0 || class & words::INNER != 0 && in_word;
        all.words += u32::from(is_word && !in_word);
        in_word = is_word;
    }
    all
}

/// Measures ASCII text in passes that compile to vector instructions. With `matches!` they would not.
fn measure_many(bytes: &[u8]) -> Measured {
    let is_space = |b: u8| (b == b' ') | (b == b'\n') | (b == b'\t') | (b == b'\r') | (b == b'\x0c');
    let is_mark = |b: u8| (b == b',') | (b == b'.') | (b == b';') | (b == b'!') | (b == b'?');
    let behind = bytes.get(1..).unwrap_or_default();
    // An inner run of whitespace counts once.
    let repeated = words::count_pairs(bytes, behind, |a, b| is_space(a) & is_space(b));
    Measured {
        chars: bytes.len() as u32 - repeated,
        words: words::ascii_words(bytes, false).0,
        marks: words::count_pairs(bytes, bytes, |byte, _| is_mark(byte)),
    }
}

/// Returns true for commas and sentence ends outside of ASCII: Chinese and Japanese, Arabic, Devanagari,
/// Greek, Armenian, Ethiopic.
pub(crate) const fn is_mark(c: char) -> bool {
    matches!(
        c,
        '，' | '、'
            | '。'
            | '；'
            | '！'
            | '？'
            | '．'
            | '،'
            | '؛'
            | '؟'
            | '۔'
            | '।'
            | '॥'
            | '·'
            | '։'
            | '።'
            | '၊'
            | '။'
            | '។'
    )
}

/// Text with whitespace folded to single spaces, trimmed.
pub(crate) fn fold(text: &str) -> String {
    fold_ascii(text, |byte| byte).unwrap_or_else(|| {
        let mut out = String::with_capacity(text.len());
        for word in text.split_whitespace() {
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(word);
        }
        out
    })
}

/// Folded text in lower case, for comparisons and hashes.
pub(crate) fn fold_lower(text: &str) -> String {
    fold_ascii(text, |byte| byte.to_ascii_lowercase()).unwrap_or_else(|| {
        if text.contains(SIGMA) {
            return fold(text).to_lowercase();
        }
        let mut out = String::with_capacity(text.len());
        // True at the start, and behind a space.
        let mut spaced = true;
        let mut push = |c: char| {
            if c != ' ' || !spaced {
                out.push(c);
            }
            spaced = c == ' ';
        };
        for c in text.chars() {
            match c {
                // most characters of any text with a sign beyond ASCII
                'a'..='z' => push(c),
                c => for_each_lower(c, &mut push),
            }
        }
        out.truncate(out.trim_end_matches(' ').len());
        out
    })
}

/// Adds the [`fold_lower`] of a text to others, after a space.
pub(crate) fn push_fold_lower(text: &str, out: &mut String) {
    let spaced = has_single_spaces(text.as_bytes()) && text.is_ascii();
    let folded = if spaced { Cow::Borrowed(text.trim_matches(' ')) } else { fold_lower(text).into() };
    if folded.is_empty() {
        return;
    }
    if !out.is_empty() {
        out.push(' ');
    }
    let start = out.len();
    out.push_str(&folded);
    if spaced {
        out[start..].make_ascii_lowercase();
    }
}

/// The capital whose small letter depends on the letters around it.
pub(crate) const SIGMA: char = 'Σ';

/// Passes the small letters of a character other than [`SIGMA`], and a space for each kind of whitespace.
pub(crate) fn for_each_lower(c: char, mut push: impl FnMut(char)) {
    match c {
        ' ' | '\t'..='\r' => push(' '),
        '\0'..='\x7f' => push(c.to_ascii_lowercase()),
        _ if is_unchanged(c) => push(c),
        _ if c.is_whitespace() => push(' '),
        _ => c.to_lowercase().for_each(push),
    }
}

/// Returns true for common characters beyond ASCII without case that are neither numeric nor whitespace. The
/// standard library would search its tables for each.
pub(crate) const fn is_unchanged(c: char) -> bool {
    matches!(c, '\u{2010}'..='\u{2027}' | '\u{3001}'..='\u{3004}' | '\u{3008}'..='\u{3011}' | '\u{3041}'..='\u{3096}'
        | '\u{30a1}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}')
}

/// Folds ASCII text. `None` for other text.
fn fold_ascii(text: &str, change: impl Fn(u8) -> u8) -> Option<String> {
    if !text.is_ascii() {
        return None;
    }
    let bytes = text.as_bytes();
    if has_single_spaces(bytes) {
        let folded = bytes.strip_prefix(b" ").unwrap_or(bytes);
        let folded = folded.strip_suffix(b" ").unwrap_or(folded);
        return String::from_utf8(folded.iter().map(|byte| change(*byte)).collect()).ok();
    }
    let mut out = Vec::with_capacity(text.len());
    let mut space = true;
    for byte in text.bytes() {
        let is_space = matches!(byte, b' ' | b'\t'..=b'\r');
        if !is_space {
            out.push(change(byte));
        } else if !space {
            out.push(b' ');
        }
        space = is_space;
    }
    if space {
        out.pop();
    }
    String::from_utf8(out).ok()
}

/// Returns true for a text without whitespace of ASCII but single spaces. Without an early exit, the compiler
/// compares many bytes at once.
fn has_single_spaces(bytes: &[u8]) -> bool {
    let is_other = |byte: u8| byte.wrapping_sub(b'\t') <= b'\r' - b'\t';
    let Some(behind) = bytes.get(1..) else { return true };
    !bytes.iter().fold(false, |found, byte| found | is_other(*byte))
        && !bytes.iter().zip(behind).fold(false, |found, (a, b)| found | ((*a == b' ') & (*b == b' ')))
}

/// Prefix of at most `max` bytes, cut between characters.
pub(crate) fn head(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let mut end = max;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Contents of the second brackets of `[text][number]`, link by link; other adjacent brackets are included.
pub(crate) fn reference_numbers(text: &str) -> impl Iterator<Item = &str> {
    text.split("][").skip(1).filter_map(|rest| rest.split(']').next())
}

/// Words of a list attribute, whose case has no meaning.
pub(crate) fn tokens(value: &str) -> impl Iterator<Item = &str> {
    value.split(|c: char| c == ',' || c.is_whitespace()).filter(|token| !token.is_empty())
}

/// Returns true if a list attribute has one of the words, in any case.
pub(crate) fn has_token(value: &str, words: &[&str]) -> bool {
    tokens(value).any(|token| words.iter().any(|word| token.eq_ignore_ascii_case(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_ascii_is_folded_like_any_other() {
        for text in ["", " ", "a", " \t\u{b}\u{c}\r\n", "  One\u{b}two \u{1c}\n\n three ", "a\u{1f} b"] {
            let wide = format!("{text} é");
            assert_eq!(format!("{} é", fold(text)).trim_start(), fold(&wide), "{text:?}");
            assert_eq!(format!("{} é", fold_lower(text)).trim_start(), fold_lower(&wide), "{text:?}");
            assert_eq!(trim(text), text.trim(), "{text:?}");
        }
        for text in ["\u{a0} a\u{3000}", " \u{a0}\n", "é ", " \u{b}a\u{2003} "] {
            assert_eq!(trim(text), text.trim(), "{text:?}");
            assert_eq!(trim_start(text), text.trim_start(), "{text:?}");
        }
    }

    #[test]
    fn bulk_measure_equals_byte_by_byte() {
        let signs = b"aZ09 \n\t_.',;!?-(\x0b\x1c\x7f";
        let mut state = 1_u32;
        for len in 0..600 {
            let text: Vec<u8> = (0..len)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    signs[(state >> 16) as usize % signs.len()]
                })
                .collect();
            assert_eq!(measure_many(&text), measure_each(&text), "{:?}", String::from_utf8_lossy(&text));
        }
    }

    #[test]
    fn marks_of_every_script_are_counted() {
        for c in ('\u{80}'..='\u{ffff}').filter(|c| is_mark(*c)) {
            assert_eq!(measure(&format!("a{c}")).marks, 1, "{c:?}");
        }
    }

    #[test]
    fn measure_counts_characters_words_and_marks() {
        let m = measure("  One, two\n\t three. ");
        assert_eq!((m.chars, m.words, m.marks), (15, 3, 2));
        assert_eq!(measure("你好，世界。").marks, 2);
        assert_eq!((measure("你好").chars, measure("été").chars), (6, 3));
        assert_eq!(measure(" \n "), Measured::default());
    }

    #[test]
    fn one_pass_lower_folding_equals_two_passes() {
        for c in '\0'..='\u{1ffff}' {
            let text = format!("{c}{c} A{c} {c} \u{a0}\tB{c}");
            assert_eq!(fold_lower(&text), fold(&text).to_lowercase(), "{text:?}");
            assert!(!is_unchanged(c) || !c.is_numeric() && c.to_lowercase().eq([c]), "{c:?}");
        }
    }

    #[test]
    fn texts_folded_separately_equal_the_joined_text() {
        let mut out = String::new();
        let texts = ["", " ", "A b ", " C", "\n D  e", "ΟΔΟΣ", " É\u{a0}", "f"];
        texts.iter().for_each(|text| push_fold_lower(text, &mut out));
        assert_eq!(out, fold_lower(&texts.join(" ")));
    }

    #[test]
    fn whitespace_and_case_are_folded() {
        assert_eq!(fold_lower(" A\u{a0}\n  É "), "a é");
        assert_eq!(head("aé", 2), "a");
    }
}
