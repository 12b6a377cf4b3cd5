//! Rules as data: `config/rules/quality.toml` and `config/rules/stop_words.toml`.

use crate::{
    QualityError,
    settings::{
        C4Thresholds, FinewebThresholds, GopherQualityThresholds, GopherRepetitionThresholds,
        LanguageThresholds, TextThresholds, Thresholds,
    },
    stop_words::StopWords,
};
use rustc_hash::FxHashSet;
use serde::Deserialize;
use toml::{Table, Value, de::DeTable};

const TEXT: &str = include_str!("../../../config/rules/quality.toml");

const STOP_WORDS: &str = include_str!("../../../config/rules/stop_words.toml");

/// Phrases and characters that the rules search for, and thresholds.
#[derive(Clone, Debug)]
pub struct LineRules {
    punctuation: Characters,
    terminal_punctuation: Characters,
    pub(crate) gopher: GopherRules,
    pub(crate) c4: C4Rules,
    pub(crate) boilerplate: BoilerplateRules,
    pub(crate) stop_words: StopWords,
    /// Thresholds of all sets.
    pub thresholds: Thresholds,
}

/// The rules as their files have them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesFile {
    punctuation: Characters,
    terminal_punctuation: Characters,
    gopher: GopherRules,
    c4: C4Rules,
    boilerplate: BoilerplateRules,
    stop_words: StopWords,
    language: LanguageThresholds,
    text: TextThresholds,
    gopher_repetition: GopherRepetitionThresholds,
    gopher_quality: GopherQualityThresholds,
    fineweb: FinewebThresholds,
}

/// A file of rules that is laid over the built-in ones.
#[derive(Clone, Debug)]
pub struct Overlay {
    /// Name in messages.
    pub name: String,
    /// TOML in the form of `config/rules/quality.toml`, with only the differences. It may have the section
    /// `stop_words` of `config/rules/stop_words.toml` too.
    pub text: String,
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
    min_num_sentences: usize,
    min_words_per_line: usize,
    max_word_length: usize,
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

    /// Merges one overlay without a name into the built-in rules.
    ///
    /// # Errors
    /// As [`LineRules::load`].
    pub fn with(overlay: &str) -> Result<Self, QualityError> {
        Self::load(&[Overlay { name: "rules of quality".to_owned(), text: overlay.to_owned() }])
    }

    /// Merges overlays into the built-in rules, one after the other. A key replaces the one below it; in a
    /// list `"..."` inserts the entries below it.
    ///
    /// # Errors
    /// Names file, line and key of the first fault; unknown keys are faults, and so are thresholds out of their
    /// ranges.
    pub fn load(overlays: &[Overlay]) -> Result<Self, QualityError> {
        let broken = |e: toml::de::Error| QualityError::Rules(e.to_string());
        let mut table: Table = TEXT.parse().map_err(broken)?;
        merge(&mut table, STOP_WORDS.parse().map_err(broken)?);
        for overlay in overlays {
            let own = overlay.text.parse().map_err(|e: toml::de::Error| {
                let at = e.span().map(|span| line_at(&overlay.text, span.start));
                QualityError::Rules(format!("{}: {}", overlay.place(at), e.message()))
            })?;
            merge(&mut table, own);
        }
        let file: RulesFile = serde_path_to_error::deserialize(Value::Table(table)).map_err(|e| {
            let key = e.path().to_string();
            let problem = format!("{key}: {}", e.inner().message());
            QualityError::Rules(with_place(overlays, &key, problem))
        })?;
        let rules = Self::of(file);
        rules.thresholds.check().map_err(|error| match &error {
            QualityError::Setting { key, .. } => {
                QualityError::Rules(with_place(overlays, key, error.to_string()))
            }
            QualityError::Rules(_) => error,
        })?;
        Ok(rules)
    }

    fn of(file: RulesFile) -> Self {
        let RulesFile { punctuation, terminal_punctuation, gopher, c4, boilerplate, stop_words, .. } = file;
        let RulesFile { language, text, gopher_repetition, gopher_quality, fineweb, .. } = file;
        let C4Rules { min_num_sentences, min_words_per_line, max_word_length, .. } = c4;
        let of_c4 = C4Thresholds { min_num_sentences, min_words_per_line, max_word_length };
        let thresholds = Thresholds { language, text, gopher_repetition, gopher_quality, c4: of_c4, fineweb };
        Self { punctuation, terminal_punctuation, gopher, c4, boilerplate, stop_words, thresholds }
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

impl Overlay {
    /// Name of the file, with a line if one is known.
    fn place(&self, line: Option<usize>) -> String {
        line.map_or_else(|| self.name.clone(), |line| format!("{}:{line}", self.name))
    }

    /// Line of a key, such as `text.min_words`; `None` if the file does not set it.
    fn line_of(&self, key: &str) -> Option<usize> {
        let document = DeTable::parse(&self.text).ok()?;
        let (mut table, mut at) = (document.get_ref(), None);
        for name in key.split('.') {
            let name = name.split('[').next().unwrap_or(name);
            let (key, value) = table.iter().find(|(key, _)| key.get_ref().as_ref() == name)?;
            at = Some(key.span().start);
            let Some(inner) = value.get_ref().as_table() else { break };
            table = inner;
        }
        at.map(|at| line_at(&self.text, at))
    }
}

/// Number of the line of a byte.
fn line_at(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

/// A problem behind the file and line that set the key: the last overlay that does.
fn with_place(overlays: &[Overlay], key: &str, problem: String) -> String {
    let set = overlays.iter().rev().find_map(|overlay| Some(overlay.place(Some(overlay.line_of(key)?))));
    match set.or_else(|| overlays.last().map(|overlay| overlay.name.clone())) {
        Some(place) => format!("{place}: {problem}"),
        None => problem,
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
    fn built_in_rules_parse() {
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
    fn user_rules_extend_the_built_in_rules() {
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
    fn rule_errors_name_file_line_and_key() {
        let overlay = |name: &str, text: &str| Overlay { name: name.to_owned(), text: text.to_owned() };
        let below = overlay("below.toml", "[text]\nmin_words = 7\n");
        let fault = |text: &str| {
            LineRules::load(&[below.clone(), overlay("own.toml", text)]).unwrap_err().to_string()
        };
        let error = fault("\n[text]\nmin_wrods = 7\n");
        assert!(error.starts_with("own.toml:3: text.min_wrods: unknown field `min_wrods`"), "{error}");
        let error = fault("[text]\nmin_words = \"few\"\n");
        assert!(error.starts_with("own.toml:2: text.min_words: invalid type"), "{error}");
        let error = fault("[text]\n\nmax_word_repetition_ratio = 3\n");
        assert_eq!(error, "own.toml:3: quality.text.max_word_repetition_ratio is 3: it must be 0 to 1");
        let error = fault("[language]\nmin_confidence = 1.5\n");
        assert_eq!(error, "own.toml:2: quality.language.min_confidence is 1.5: it must be 0 to 1");
        let error = fault("[text]\nmin_words = \n");
        assert!(error.starts_with("own.toml:2: "), "{error}");
        let rules =
            LineRules::load(&[below.clone(), overlay("own.toml", "[c4]\nmin_num_sentences = 2\n")]).unwrap();
        assert_eq!((rules.thresholds.text.min_words, rules.thresholds.c4.min_num_sentences), (7, 2));
        assert_eq!(rules.thresholds.text.max_word_repetition_ratio, 0.2, "what no file names stays");
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
