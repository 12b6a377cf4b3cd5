//! Words in front of the name of an author.

use super::Prefixes;
use serde::Deserialize;

/// Words in front of the name of an author, in lower case.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "Vec<String>")]
pub(crate) struct AuthorWords {
    pub(crate) all: Prefixes,
    /// Labels and phrases, without the space at their end. Prepositions begin other lines as well.
    pub(crate) labels: Prefixes,
}

impl From<Vec<String>> for AuthorWords {
    fn from(words: Vec<String>) -> Self {
        let labels = words.iter().filter(|word| is_label(word));
        let labels: Vec<String> = labels.map(|word| word.trim_end().to_owned()).collect();
        Self { labels: labels.into(), all: words.into() }
    }
}

/// Returns true for a label or a phrase, false for a preposition.
pub(crate) fn is_label(word: &str) -> bool {
    word.ends_with(':') || word.trim_end().contains(' ')
}
