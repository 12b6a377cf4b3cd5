//! Small things about text.

use crate::words;

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
    let (mut chars, mut marks, mut space) = (0, 0, false);
    for byte in trimmed.bytes() {
        let class = words::CLASSES[byte as usize];
        let is_space = class & words::SPACE != 0;
        // Continuation bytes of a character are not counted.
        chars += u32::from(byte & 0xC0 != 0x80 && !(is_space && space));
        space = is_space;
        marks += u32::from(class & words::MARK != 0);
        if matches!(byte, 0xE3..=0xED) {
            chars += LETTERS_PER_CJK - 1;
        }
    }
    marks += trimmed.chars().filter(|c| is_mark(*c)).count() as u32;
    Measured { chars, words: words::count_words(trimmed), marks }
}

/// Trimmed text; most runs of text end in ASCII whitespace, or consist of it.
fn trim(text: &str) -> &str {
    let trimmed = text.trim_ascii();
    match trimmed.as_bytes() {
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

/// Measures ASCII text in one pass.
fn measure_ascii(bytes: &[u8]) -> Measured {
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
    fold_ascii(text, |byte| byte.to_ascii_lowercase()).unwrap_or_else(|| fold(text).to_lowercase())
}

/// Folds ASCII text, byte by byte. `None` for other text.
fn fold_ascii(text: &str, change: impl Fn(u8) -> u8) -> Option<String> {
    if !text.is_ascii() {
        return None;
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
    fn measures_what_is_read() {
        let m = measure("  One, two\n\t three. ");
        assert_eq!((m.chars, m.words, m.marks), (15, 3, 2));
        assert_eq!(measure("你好，世界。").marks, 2);
        assert_eq!((measure("你好").chars, measure("été").chars), (6, 3));
        assert_eq!(measure(" \n "), Measured::default());
    }

    #[test]
    fn folds() {
        assert_eq!(fold_lower(" A\u{a0}\n  É "), "a é");
        assert_eq!(head("aé", 2), "a");
    }
}
