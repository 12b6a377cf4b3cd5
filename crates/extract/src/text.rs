//! Small things about text.

use crate::words;

/// What a run of text holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Measured {
    /// Characters, each run of whitespace counted as one and runs at the ends not at all.
    pub(crate) chars: u32,
    /// Words.
    pub(crate) words: u32,
    /// Commas, semicolons and ends of sentences, in any script.
    pub(crate) marks: u32,
}

/// Measures a run of text.
pub(crate) fn measure(text: &str) -> Measured {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Measured::default();
    }
    let (mut chars, mut marks, mut space) = (0, 0, false);
    for byte in trimmed.bytes() {
        if byte.is_ascii_whitespace() {
            chars += u32::from(!space);
            space = true;
            continue;
        }
        space = false;
        // Bytes that go on with a character are not counted.
        chars += u32::from(byte & 0xC0 != 0x80);
        marks += u32::from(matches!(byte, b',' | b'.' | b';' | b'!' | b'?'));
    }
    if !trimmed.is_ascii() {
        marks += trimmed.chars().filter(|c| is_mark(*c)).count() as u32;
    }
    Measured { chars, words: words::count_words(trimmed), marks }
}

/// Commas and sentence ends outside of ASCII: Chinese and Japanese, Arabic, Devanagari, Greek, Armenian, Ethiopic.
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

/// Whitespace folded to single spaces, ends trimmed.
pub(crate) fn fold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// Folded and in lower case: what is compared and hashed.
pub(crate) fn fold_lower(text: &str) -> String {
    let folded = fold(text);
    if folded.is_ascii() {
        let mut bytes = folded;
        bytes.make_ascii_lowercase();
        return bytes;
    }
    folded.to_lowercase()
}

/// At most `max` bytes of a text, cut between characters.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_what_is_read() {
        let m = measure("  One, two\n\t three. ");
        assert_eq!((m.chars, m.words, m.marks), (15, 3, 2));
        assert_eq!(measure("你好，世界。").marks, 2);
        assert_eq!(measure(" \n "), Measured::default());
    }

    #[test]
    fn folds() {
        assert_eq!(fold_lower(" A\u{a0}\n  É "), "a é");
        assert_eq!(head("aé", 2), "a");
    }
}
