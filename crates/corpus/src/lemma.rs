//! Base forms of words: a dictionary for English, Snowball's stemmers for 17 other languages, the word itself
//! elsewhere.

mod english;

use crate::words::{is_combining, words};
use frostem::{Algorithm, Stemmer};

/// Maximum characters of a word; longer ones are machine-made names and stay unchanged.
const MAX_WORD_CHARS: usize = 48;

/// Reduces words of one language to their base forms.
///
/// Unlike spaCy's pipeline, which the specification names, it does not tag parts of speech. So a word has one
/// base form in any sentence (`left` is always `leave`). For English, dictionary and suffix rules are those
/// of spaCy's rule-based lemmatiser (WordNet 3.0). Other languages get stems (`häuser` → `haus`, but also
/// `universität` → `universitat`), which suffice for comparisons but are no dictionary words.
pub struct Lemmatizer(Kind);

enum Kind {
    English,
    Stems(Stemmer),
    AsWritten,
}

impl std::fmt::Debug for Lemmatizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.0 {
            Kind::English => "Lemmatizer(English)",
            Kind::Stems(_) => "Lemmatizer(Stems)",
            Kind::AsWritten => "Lemmatizer(AsWritten)",
        })
    }
}

impl Lemmatizer {
    /// Creates the lemmatizer of a language (ISO 639-1); words of unknown languages stay unchanged.
    #[must_use]
    pub fn new(language: &str) -> Self {
        if language == "en" {
            return Self(Kind::English);
        }
        let of = STEMMERS.iter().find(|(code, _)| *code == language);
        Self(of.map_or(Kind::AsWritten, |(_, algorithm)| Kind::Stems(Stemmer::new(*algorithm))))
    }

    /// Base forms of all words of a cleaned text, in order, separated by single spaces. Only the first
    /// `max_chars` characters are read.
    #[must_use]
    pub fn lemmas(&self, cleaned: &str, max_chars: usize) -> String {
        let text =
            cleaned.char_indices().nth(max_chars).and_then(|(at, _)| cleaned.get(..at)).unwrap_or(cleaned);
        let mut out = String::with_capacity(text.len());
        for word in words(text) {
            if !out.is_empty() {
                out.push(' ');
            }
            self.push(word, &mut out);
        }
        out
    }

    fn push(&self, word: &str, out: &mut String) {
        match &self.0 {
            Kind::English => out.push_str(english::lemma(word)),
            Kind::Stems(stemmer) if is_plain(word) => {
                let stem = stemmer.stem(word);
                out.push_str(if stem.is_empty() { word } else { &stem });
            }
            Kind::Stems(_) | Kind::AsWritten => out.push_str(word),
        }
    }
}

fn is_plain(word: &str) -> bool {
    word.chars().all(|c| c.is_alphabetic() || is_combining(c)) && word.chars().nth(MAX_WORD_CHARS).is_none()
}

/// Stemmers by language; English has a dictionary instead.
const STEMMERS: [(&str, Algorithm); 18] = [
    ("ar", Algorithm::Arabic),
    ("da", Algorithm::Danish),
    ("nl", Algorithm::Dutch),
    ("fi", Algorithm::Finnish),
    ("fr", Algorithm::French),
    ("de", Algorithm::German),
    ("el", Algorithm::Greek),
    ("hu", Algorithm::Hungarian),
    ("it", Algorithm::Italian),
    ("nb", Algorithm::Norwegian),
    ("no", Algorithm::Norwegian),
    ("pt", Algorithm::Portuguese),
    ("ro", Algorithm::Romanian),
    ("ru", Algorithm::Russian),
    ("es", Algorithm::Spanish),
    ("sv", Algorithm::Swedish),
    ("ta", Algorithm::Tamil),
    ("tr", Algorithm::Turkish),
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lemmas_use_the_method_of_each_language() {
        let lemmas = |language: &str, text: &str| Lemmatizer::new(language).lemmas(text, usize::MAX);
        assert_eq!(
            lemmas("en", "the children's boxes were running, <num> times."),
            "the child box be run <num> time"
        );
        assert_eq!(lemmas("de", "die häuser der städte"), "die haus der stadt");
        assert_eq!(lemmas("xx", "die häuser der städte"), "die häuser der städte");
        assert_eq!(Lemmatizer::new("en").lemmas("größere houses", 11), "größere hou");
        assert_eq!(lemmas("en", ""), "");
    }

    /// Differences between Snowball of 2026 and that of 2018 in the former crate, with reasons.
    #[test]
    fn stems_follow_snowball_of_2026() {
        let changed = [
            // an endless loop and a slice beyond the word before
            ("el", "ισαισα", "ισα"),
            // Dutch follows Kraaij and Pohlmann instead of Porter: forms of one word have one stem
            ("nl", "lopen gelopen loop", "loop loop loop"),
            ("nl", "huizen huis", "huis huis"),
            ("nl", "vissen vis", "vis vis"),
            // German removes -et and -eln, and treats ae, oe, ue as umlauts
            ("de", "abgebildet abgebildete", "abgebild abgebild"),
            ("de", "behandeln behandelt", "behandel behandelt"),
            ("de", "haeuser häuser haus", "haus haus haus"),
            // Russian takes ё for е
            ("ru", "определённый определенный", "определен определен"),
            // suffixes were removed from words without them
            ("fr", "mauvais mauvaise", "mauvais mauvais"),
            ("da", "graphh", "graphh"),
        ];
        for (language, text, stems) in changed {
            assert_eq!(Lemmatizer::new(language).lemmas(text, usize::MAX), stems, "{language}: {text}");
        }
        let unchanged = [
            ("fi", "taloissa kirjastot satamassa", "talo kirjasto satam"),
            ("hu", "házakban gyermekek", "ház gyermek"),
            ("it", "bambini bellissime camminando", "bambin bellissim cammin"),
            ("es", "islas niños rápidamente", "islas niñ rapid"),
            ("pt", "navios crianças rapidamente", "navi crianc rapid"),
            ("ro", "copiii casele porturile", "copii cas portur"),
            ("sv", "hamnarna båtarna", "hamn båt"),
            ("no", "husene havnene", "hus havn"),
            ("tr", "evlerde kitaplar", "ev kitap"),
            ("ar", "المدارس السفن", "مدارس سفن"),
            ("ta", "மரங்கள்", "மரங்"),
        ];
        for (language, text, stems) in unchanged {
            assert_eq!(Lemmatizer::new(language).lemmas(text, usize::MAX), stems, "{language}: {text}");
        }
    }

    proptest! {
        #[test]
        fn stemmers_accept_any_word(word in "\\p{L}{1,20}|[a-zäöüßéèêçñåøæığşİ]{1,30}|[ء-ي]{1,12}|[α-ώ]{1,12}|[а-я]{1,14}|[஀-௿]{1,12}") {
            for (code, _) in STEMMERS {
                let lemmas = Lemmatizer::new(code).lemmas(&word, usize::MAX);
                prop_assert_eq!(lemmas.is_empty(), words(&word).next().is_none());
            }
        }
    }
}
