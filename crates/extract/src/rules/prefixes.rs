//! Words with which a text begins in any case.

use serde::Deserialize;

/// Lower-case words by their first bytes, since most texts begin with none of them.
#[derive(Debug, Deserialize)]
#[serde(from = "Vec<String>")]
pub(crate) struct Prefixes {
    words: Vec<String>,
    /// Positions of the words that may begin a text, by the first byte of the text.
    by_byte: Vec<Vec<u32>>,
}

impl Default for Prefixes {
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

impl From<Vec<String>> for Prefixes {
    fn from(words: Vec<String>) -> Self {
        let may_begin = |word: &str, byte: u8| match word.bytes().next() {
            // Capitals of other scripts may differ in this byte.
            Some(first) => first.eq_ignore_ascii_case(&byte) || !first.is_ascii() && !byte.is_ascii(),
            None => true,
        };
        let of = |byte: u8| {
            let all = (0..).zip(&words);
            all.filter(|(_, word)| may_begin(word, byte)).map(|(at, _)| at).collect()
        };
        let by_byte = (0..=u8::MAX).map(of).collect();
        Self { words, by_byte }
    }
}

impl Prefixes {
    /// All words, in their order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(String::as_str)
    }

    /// Words that may begin a text by its first byte, in their order.
    pub(crate) fn candidates(&self, text: &str) -> impl Iterator<Item = &str> {
        let first = text.bytes().next().unwrap_or_default();
        self.by_byte[usize::from(first)].iter().map(|at| self.words[*at as usize].as_str())
    }

    /// Words that begin a text, in their order, each with the rest of the text.
    pub(crate) fn matches<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.candidates(text).filter_map(|word| Some((word, behind(text, word)?)))
    }

    /// Returns true if a word begins the text, in any case.
    pub(crate) fn begin(&self, text: &str) -> bool {
        self.matches(text).next().is_some()
    }

    /// Returns true if a word may begin the text by its first byte.
    pub(crate) fn may_begin(&self, text: &str) -> bool {
        self.candidates(text).next().is_some()
    }

    /// Returns true if a word begins the text, which is in lower case.
    pub(crate) fn begin_lower(&self, text: &str) -> bool {
        self.rest_of_lower(text).is_some()
    }

    /// Text after the first word that begins it; the text is in lower case.
    pub(crate) fn rest_of_lower<'a>(&self, text: &'a str) -> Option<&'a str> {
        self.candidates(text).find_map(|word| text.strip_prefix(word))
    }
}

/// Text after a lower-case word with which it begins in any case.
#[inline]
pub(crate) fn behind<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    // Most texts with the same first byte differ in the second.
    if let ([_, own, ..], [_, second, ..]) = (text.as_bytes(), word.as_bytes())
        && own.is_ascii()
        && !own.eq_ignore_ascii_case(second)
    {
        return None;
    }
    let head = text.get(..word.len())?;
    // A text in another script needs a copy.
    let is_word = head.eq_ignore_ascii_case(word)
        || !head.is_ascii() && !word.is_ascii() && head.to_lowercase() == word;
    is_word.then(|| &text[word.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_match_in_any_case() {
        let words = Prefixes::from(
            ["by ", "Von".to_lowercase().as_str(), "автор", "by:"].map(str::to_owned).to_vec(),
        );
        let rest = |text| words.matches(text).map(|(_, rest)| rest.to_owned()).collect::<Vec<_>>();
        assert_eq!(rest("BY Ada"), ["Ada"]);
        assert_eq!(rest("Автор: Ада"), [": Ада"]);
        assert!(rest("").is_empty() && rest("b").is_empty() && rest("é").is_empty());
        assert!(words.may_begin("vino") && !words.may_begin("wine") && words.may_begin("été"));
        assert!(words.begin_lower("von ada") && !words.begin_lower("VON ada"));
        assert_eq!(words.rest_of_lower("by: ada"), Some(" ada"));
    }
}
