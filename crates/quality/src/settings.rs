//! Enabled rules and their thresholds.

use crate::QualityError;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A set of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleSet {
    /// Ratios of a repetition filter: words, characters, n-grams.
    Text,
    /// Repetition rules of Gopher (Rae et al. 2021, table A1).
    GopherRepetition,
    /// Quality rules of Gopher (Rae et al. 2021, A.1.1).
    GopherQuality,
    /// Rules of C4 (Raffel et al. 2020, 2.2).
    C4,
    /// Rules that FineWeb adds to them (Penedo et al. 2024, 3.6).
    Fineweb,
}

impl RuleSet {
    /// All sets, in the order of the output.
    pub const ALL: [Self; 5] =
        [Self::Text, Self::GopherRepetition, Self::GopherQuality, Self::C4, Self::Fineweb];

    /// Name in the settings and as prefix of rule names.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::GopherRepetition => "gopher_repetition",
            Self::GopherQuality => "gopher_quality",
            Self::C4 => "c4",
            Self::Fineweb => "fineweb",
        }
    }
}

impl fmt::Display for RuleSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for RuleSet {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|set| set.name() == name)
            .ok_or_else(|| format!("\"{name}\" is none of {}", Self::ALL.map(RuleSet::name).join(", ")))
    }
}

/// Enabled sets and their thresholds. Defaults are in `config`, not here.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Enabled sets.
    pub sets: Vec<RuleSet>,
    /// Leaves lines of boilerplate out before the ratios of [`RuleSet::Text`] are computed.
    pub remove_boilerplate: bool,
    /// Thresholds of [`RuleSet::Text`].
    pub text: TextThresholds,
    /// Thresholds of [`RuleSet::GopherRepetition`].
    pub gopher_repetition: GopherRepetitionThresholds,
    /// Thresholds of [`RuleSet::GopherQuality`].
    pub gopher_quality: GopherQualityThresholds,
    /// Thresholds of [`RuleSet::C4`].
    pub c4: C4Thresholds,
    /// Thresholds of [`RuleSet::Fineweb`].
    pub fineweb: FinewebThresholds,
}

/// Thresholds of all sets and of the identification of languages, from `config/rules/quality.toml`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Thresholds {
    /// Certainty of an identified language.
    pub language: LanguageThresholds,
    /// Thresholds of [`RuleSet::Text`].
    pub text: TextThresholds,
    /// Thresholds of [`RuleSet::GopherRepetition`].
    pub gopher_repetition: GopherRepetitionThresholds,
    /// Thresholds of [`RuleSet::GopherQuality`].
    pub gopher_quality: GopherQualityThresholds,
    /// Thresholds of [`RuleSet::C4`].
    pub c4: C4Thresholds,
    /// Thresholds of [`RuleSet::Fineweb`].
    pub fineweb: FinewebThresholds,
}

/// Thresholds of using an identified language.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LanguageThresholds {
    /// Minimum letters of a text whose language is identified.
    pub min_letters: usize,
    /// Minimum confidence of an identified language, 0 to 1.
    pub min_confidence: f64,
}

/// Thresholds of the ratios, under the keys of the specification of the repetition filter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextThresholds {
    /// Maximum share of one word among the content words.
    pub max_word_repetition_ratio: f64,
    /// Maximum share of a term, which has ever different neighbours.
    pub max_term_repetition_ratio: f64,
    /// Maximum share of the characters in runs of one character.
    pub max_char_repetition_ratio: f64,
    /// Maximum share of the words in repeated n-grams.
    pub max_ngram_repetition: f64,
    /// Words of such an n-gram.
    pub ngram_words: usize,
    /// Characters that are a run.
    pub char_run: usize,
    /// Minimum content words; with fewer the word ratio is 0.
    pub min_content_words: usize,
    /// Minimum words; with fewer the text is short and its ratios are not judged.
    pub min_words: usize,
}

/// Thresholds of Gopher's repetition rules, with datatrove's names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GopherRepetitionThresholds {
    /// Maximum share of repeated lines.
    pub dup_line_frac: f64,
    /// Maximum share of repeated paragraphs.
    pub dup_para_frac: f64,
    /// Maximum share of the characters in such lines.
    pub dup_line_char_frac: f64,
    /// Maximum share of the characters in such paragraphs.
    pub dup_para_char_frac: f64,
    /// n, and maximum share of the characters in the most frequent n-gram.
    pub top_n_grams: Vec<(usize, f64)>,
    /// n, and maximum share of the characters in repeated n-grams.
    pub dup_n_grams: Vec<(usize, f64)>,
}

/// Thresholds of Gopher's quality rules, with datatrove's names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "explained where their defaults stand, in config/rules/quality.toml")]
pub struct GopherQualityThresholds {
    pub min_doc_words: usize,
    pub max_doc_words: usize,
    pub min_avg_word_length: f64,
    pub max_avg_word_length: f64,
    pub max_symbol_word_ratio: f64,
    pub max_bullet_lines_ratio: f64,
    pub max_ellipsis_lines_ratio: f64,
    /// Minimum share of the words with a letter; the name is datatrove's.
    pub max_non_alpha_words_ratio: f64,
    pub min_stop_words: usize,
}

/// Thresholds of C4's rules, with datatrove's names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct C4Thresholds {
    /// Minimum sentences of the kept lines.
    pub min_num_sentences: usize,
    /// Minimum words of a kept line.
    pub min_words_per_line: usize,
    /// Maximum characters of a word of such a line.
    pub max_word_length: usize,
}

/// Thresholds of FineWeb's rules, with datatrove's names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FinewebThresholds {
    /// Minimum share of the lines that end with sentence punctuation.
    pub line_punct_thr: f64,
    /// Maximum share of short lines.
    pub short_line_thr: f64,
    /// Maximum characters of a short line.
    pub short_line_length: usize,
    /// Maximum share of the characters in repeated lines.
    pub char_duplicates_ratio: f64,
    /// Most line feeds a word.
    pub new_line_ratio: f64,
}

/// Longest n-gram that is counted.
const MAX_NGRAM: usize = 100;

impl Settings {
    /// Combines enabled sets with thresholds.
    #[must_use]
    pub fn of(sets: Vec<RuleSet>, remove_boilerplate: bool, thresholds: &Thresholds) -> Self {
        let Thresholds { text, gopher_repetition, gopher_quality, c4, fineweb, .. } = thresholds.clone();
        Self { sets, remove_boilerplate, text, gopher_repetition, gopher_quality, c4, fineweb }
    }

    /// Checks the ranges: shares are 0 to 1, n-grams have 1 to 100 words, runs at least 2 characters.
    ///
    /// # Errors
    /// Names the first setting that is out of its range.
    pub fn check(&self) -> Result<(), QualityError> {
        let (text, repetition) = (&self.text, &self.gopher_repetition);
        let (quality, fineweb) = (&self.gopher_quality, &self.fineweb);
        for (key, share) in [
            ("text.max_word_repetition_ratio", text.max_word_repetition_ratio),
            ("text.max_term_repetition_ratio", text.max_term_repetition_ratio),
            ("text.max_char_repetition_ratio", text.max_char_repetition_ratio),
            ("text.max_ngram_repetition", text.max_ngram_repetition),
            ("gopher_repetition.dup_line_frac", repetition.dup_line_frac),
            ("gopher_repetition.dup_para_frac", repetition.dup_para_frac),
            ("gopher_repetition.dup_line_char_frac", repetition.dup_line_char_frac),
            ("gopher_repetition.dup_para_char_frac", repetition.dup_para_char_frac),
            ("gopher_quality.max_bullet_lines_ratio", quality.max_bullet_lines_ratio),
            ("gopher_quality.max_ellipsis_lines_ratio", quality.max_ellipsis_lines_ratio),
            ("gopher_quality.max_non_alpha_words_ratio", quality.max_non_alpha_words_ratio),
            ("fineweb.line_punct_thr", fineweb.line_punct_thr),
            ("fineweb.short_line_thr", fineweb.short_line_thr),
            ("fineweb.char_duplicates_ratio", fineweb.char_duplicates_ratio),
        ] {
            within(key, &share, &0.0, &1.0, "0 to 1")?;
        }
        for (key, number) in [
            ("gopher_quality.min_avg_word_length", quality.min_avg_word_length),
            ("gopher_quality.max_avg_word_length", quality.max_avg_word_length),
            ("gopher_quality.max_symbol_word_ratio", quality.max_symbol_word_ratio),
            ("fineweb.new_line_ratio", fineweb.new_line_ratio),
        ] {
            within(key, &number, &0.0, &f64::MAX, "0 or more")?;
        }
        within("text.ngram_words", &text.ngram_words, &1, &MAX_NGRAM, "1 to 100")?;
        within("text.char_run", &text.char_run, &2, &usize::MAX, "2 or more")?;
        for (key, grams) in [
            ("gopher_repetition.top_n_grams", &repetition.top_n_grams),
            ("gopher_repetition.dup_n_grams", &repetition.dup_n_grams),
        ] {
            for (n, share) in grams {
                within(key, n, &1, &MAX_NGRAM, "pairs of 1 to 100 words and a share")?;
                within(key, share, &0.0, &1.0, "pairs of words and a share of 0 to 1")?;
            }
        }
        Ok(())
    }
}

impl Thresholds {
    /// Checks the ranges, those of [`Settings::check`] among them.
    ///
    /// # Errors
    /// Names the first threshold that is out of its range.
    pub fn check(&self) -> Result<(), QualityError> {
        let confidence = self.language.min_confidence;
        within("language.min_confidence", &confidence, &0.0, &1.0, "0 to 1")?;
        Settings::of(Vec::new(), false, self).check()
    }
}

fn within<T: PartialOrd + fmt::Display>(
    key: &str,
    given: &T,
    least: &T,
    most: &T,
    range: &'static str,
) -> Result<(), QualityError> {
    if given >= least && given <= most {
        return Ok(());
    }
    Err(QualityError::Setting { key: key.to_owned(), given: given.to_string(), range })
}
