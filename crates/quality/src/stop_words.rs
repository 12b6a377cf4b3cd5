//! Stop words by language: the lists of stopwords-iso, from the crate `stop-words`.

use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::OnceLock;

/// Lists that were asked for, each made once.
#[derive(Debug, Default)]
pub(crate) struct StopWords(FxHashMap<&'static str, OnceLock<FxHashSet<&'static str>>>);

impl StopWords {
    pub fn new() -> Self {
        Self(stop_words::available_languages().iter().map(|code| (*code, OnceLock::new())).collect())
    }

    /// The stop words of a language (ISO 639-1), in lower case with straight apostrophes; none where there is no list.
    pub fn of(&self, language: &str) -> Option<&FxHashSet<&'static str>> {
        let (code, list) = self.0.get_key_value(listed(language))?;
        let words = || stop_words::lookup(code).unwrap_or_default().iter().copied().collect();
        Some(list.get_or_init(words))
    }
}

/// The language whose list is taken: both written forms of Norwegian share one.
fn listed(language: &str) -> &str {
    match language {
        "nb" | "nn" => "no",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_those_of_languages() {
        let all = StopWords::new();
        assert!(all.of("en").is_some_and(|list| list.contains("the") && list.contains("don't")));
        assert!(all.of("nb").is_some_and(|list| list.contains("og")));
        assert!(all.of("und").is_none() && all.of("").is_none());
    }
}
