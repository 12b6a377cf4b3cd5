//! Quality of a text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Result of the quality rules for a text. It does not affect the crawl.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Quality {
    /// Language whose stop words were left out (ISO 639-1, or `und`).
    pub language: String,
    /// Origin of `language`; absent from records of earlier versions.
    #[serde(default)]
    pub language_source: Option<LanguageSource>,
    /// Words with a letter.
    pub words: u32,
    /// Number of words that are not stop words.
    pub content_words: u32,
    /// Reason for ratios without a verdict: `short_text`.
    #[serde(default)]
    pub skipped: Option<String>,
    /// Reason for the verdict on the word ratio: `too_few_content_words`, or `term` if the higher threshold
    /// applies.
    #[serde(default)]
    pub reason: Option<String>,
    /// Names of the rules that the text fails.
    pub failed: Vec<String>,
    /// Rule → value, as JSON text.
    #[serde(with = "crate::json_text")]
    #[schemars(with = "String")]
    pub scores: BTreeMap<String, f64>,
}

/// Source of the language for which the quality of a text was assessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LanguageSource {
    /// The setting `quality.language`.
    Setting,
    /// The record or the page declares it.
    Declared,
    /// Identified from the text.
    Detected,
    /// Neither declared nor identified: the language is `und`.
    None,
}

impl LanguageSource {
    /// Returns the name, as in a record.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Setting => "setting",
            Self::Declared => "declared",
            Self::Detected => "detected",
            Self::None => "none",
        }
    }
}
