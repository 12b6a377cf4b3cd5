//! Function words by language, as data: `config/rules/stop_words.toml`.

use crate::text::{folded, words};
use rustc_hash::FxHashSet;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Lists of stop words by ISO 639-1 code.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "BTreeMap<String, Vec<String>>")]
pub(crate) struct StopWords(BTreeMap<String, FxHashSet<String>>);

impl StopWords {
    /// Stop words of a language (ISO 639-1), in lower case with straight apostrophes; none without a list.
    pub fn of(&self, language: &str) -> Option<&FxHashSet<String>> {
        self.0.get(language_of_list(language))
    }

    /// The languages with a list, by code.
    pub fn languages(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl TryFrom<BTreeMap<String, Vec<String>>> for StopWords {
    type Error = String;

    /// Converts the lists; an entry that no text can contain is an error.
    fn try_from(lists: BTreeMap<String, Vec<String>>) -> Result<Self, String> {
        for (language, list) in &lists {
            if let Some(entry) = list.iter().find(|entry| words(entry).count() != 1) {
                return Err(format!("stop_words.{language}: \"{entry}\" is not one word"));
            }
        }
        let set = |list: Vec<String>| list.iter().map(|word| folded(word).into_owned()).collect();
        Ok(Self(lists.into_iter().map(|(language, list)| (language, set(list))).collect()))
    }
}

/// Language of the list for a language: both written forms of Norwegian share one, and so do Croatian and
/// Bosnian.
fn language_of_list(language: &str) -> &str {
    match language {
        "nb" | "nn" => "no",
        "bs" => "hr",
        other => other,
    }
}
