//! Rules as data: `config/rules/quality.toml` and `config/rules/stop_words.toml`.

use crate::{QualityError, stop_words::StopWords};
use rustc_hash::FxHashSet;
use serde::Deserialize;
use toml::{Table, Value};

const TEXT: &str = include_str!("../../../config/rules/quality.toml");

const STOP_WORDS: &str = include_str!("../../../config/rules/stop_words.toml");

/// Phrases and characters that the rules search for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineRules {
    punctuation: Characters,
    terminal_punctuation: Characters,
    pub(crate) gopher: GopherRules,
    pub(crate) c4: C4Rules,
    pub(crate) boilerplate: BoilerplateRules,
    pub(crate) stop_words: StopWords,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GopherRules {
    pub stop_words: Vec<String>,
    pub bullets: Vec<String>,
    pub ellipses: Vec<String>,
    pub hash: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct C4Rules {
    pub end_punctuation: Vec<String>,
    pub ellipsis: String,
    pub javascript: String,
    pub lorem_ipsum: String,
    pub curly_bracket: String,
    pub policies: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BoilerplateRules {
    pub max_words: usize,
    pub phrases: Vec<String>,
}

impl LineRules {
    /// Built-in rules.
    ///
    /// # Errors
    /// When the embedded file cannot be read, which a test excludes.
    pub fn built_in() -> Result<Self, QualityError> {
        Self::with("")
    }

    /// Merges an overlay into the built-in rules. Its text has the form of `config/rules/quality.toml` (and
    /// the section `stop_words` of `config/rules/stop_words.toml`), with only the differences. A key replaces
    /// the built-in one; in a list `"..."` inserts the built-in entries.
    ///
    /// # Errors
    /// Names the unreadable part; unknown keys are errors.
    pub fn with(overlay: &str) -> Result<Self, QualityError> {
        let rules = |e: toml::de::Error| QualityError::Rules(e.to_string());
        let mut table: Table = TEXT.parse().map_err(rules)?;
        merge(&mut table, STOP_WORDS.parse().map_err(rules)?);
        merge(&mut table, overlay.parse().map_err(rules)?);
        Value::Table(table).try_into().map_err(rules)
    }

    /// Returns true if a character alone is no word.
    pub(crate) fn is_symbol(&self, c: char) -> bool {
        self.punctuation.has(c) || self.terminal_punctuation.has(c)
    }

    /// Returns true if a character ends a sentence.
    pub(crate) fn ends_sentence(&self, c: char) -> bool {
        self.terminal_punctuation.has(c)
    }
}

/// Merges a table into another one, key by key.
fn merge(built_in: &mut Table, overlay: Table) {
    for (key, value) in overlay {
        match (built_in.get_mut(&key), value) {
            (Some(Value::Table(built_in)), Value::Table(overlay)) => merge(built_in, overlay),
            (Some(Value::Array(built_in)), Value::Array(overlay)) => {
                let known = std::mem::take(built_in);
                let all = |item: Value| if item.as_str() == Some("...") { known.clone() } else { vec![item] };
                *built_in = overlay.into_iter().flat_map(all).collect();
            }
            (_, value) => {
                built_in.insert(key, value);
            }
        }
    }
}

impl BoilerplateRules {
    /// Phrase that marks a line as a page's frame.
    pub(crate) fn phrase_of(&self, line: &str) -> Option<&str> {
        let short = line.split_whitespace().nth(self.max_words).is_none();
        if !short || line.trim().is_empty() {
            return None;
        }
        let line = line.to_lowercase();
        self.phrases.iter().find(|phrase| line.contains(phrase.as_str())).map(String::as_str)
    }
}

/// Characters, written as hex code points and ranges of them.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Vec<String>")]
struct Characters {
    ascii: u128,
    others: FxHashSet<char>,
}

impl Characters {
    fn has(&self, c: char) -> bool {
        if c.is_ascii() { self.ascii >> u32::from(c) & 1 == 1 } else { self.others.contains(&c) }
    }
}

impl TryFrom<Vec<String>> for Characters {
    type Error = String;

    fn try_from(ranges: Vec<String>) -> Result<Self, String> {
        let mut all = Self { ascii: 0, others: FxHashSet::default() };
        for range in ranges {
            let point = |hex: &str| u32::from_str_radix(hex, 16).map_err(|e| format!("\"{range}\": {e}"));
            let (from, to) = range.split_once('-').unwrap_or((&range, &range));
            for c in (point(from)?..=point(to)?).filter_map(char::from_u32) {
                if c.is_ascii() {
                    all.ascii |= 1 << u32::from(c);
                } else {
                    all.others.insert(c);
                }
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_rules_can_be_read() {
        let rules = LineRules::built_in().unwrap();
        for c in ['.', '…', '。', '\u{7f}', '\r', '\0'] {
            assert!(rules.is_symbol(c), "{c:?}");
        }
        for c in ['a', '1', '\t', '\n', '•', 'é'] {
            assert!(!rules.is_symbol(c), "{c:?}");
        }
        assert!(rules.ends_sentence('।') && rules.ends_sentence('?') && !rules.ends_sentence('"'));
        let error = |overlay: &str| LineRules::with(overlay).unwrap_err().to_string();
        assert!(error("[boilerplate]\nmax_word = 3\n").contains("max_word"));
        assert!(error("punctuation = [\"xyz\"]\n").contains("xyz"));
        assert!(error("[stop_words]\nen = [\"new york\"]\n").contains("\"new york\" is not one word"));
    }

    #[test]
    fn rules_of_ones_own_are_laid_over() {
        let rules =
            LineRules::with("[boilerplate]\nphrases = [\"...\", \"print this page\"]\n").unwrap().boilerplate;
        assert_eq!(rules.phrase_of("Print this page"), Some("print this page"));
        assert_eq!(rules.phrase_of("Share this page"), Some("share this"));
        let rules =
            LineRules::with("[boilerplate]\nphrases = [\"print\"]\nmax_words = 2\n").unwrap().boilerplate;
        assert_eq!((rules.phrase_of("Share this"), rules.phrase_of("Print it now")), (None, None));
        let rules =
            LineRules::with("[stop_words]\nen = [\"...\", \"Not\"]\nxx = [\"no\"]\n").unwrap().stop_words;
        let has = |language: &str, word: &str| rules.of(language).is_some_and(|list| list.contains(word));
        assert!(has("en", "not") && has("en", "the") && has("xx", "no") && !has("xx", "the"));
        let error = LineRules::with("[boilerplate]\nphrase = []\n").err().unwrap().to_string();
        assert!(error.contains("phrase"), "{error}");
    }

    #[test]
    fn short_lines_with_a_phrase_are_boilerplate() {
        let rules = LineRules::built_in().unwrap().boilerplate;
        assert_eq!(rules.phrase_of("We use Cookies. OK"), Some("cookie"));
        assert_eq!(rules.phrase_of("Share this page"), Some("share this"));
        let long = "A cookie is a small piece of data that a server sends to a browser, which may store it.";
        assert_eq!(rules.phrase_of(long), None);
        assert_eq!(rules.phrase_of(""), None);
    }
}
