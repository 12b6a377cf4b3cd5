//! Assessment of a document by the rules.

use crawl_model::LanguageSource;

/// Reason for treating the word ratio differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// There are too few content words: the ratio is 0.
    TooFewContentWords,
    /// The word is a term: the higher limit applies.
    Term,
}

impl Reason {
    /// The name, as in a record.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TooFewContentWords => "too_few_content_words",
            Self::Term => "term",
        }
    }
}

/// Assessment of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessment {
    /// Language of the stop words (ISO 639-1, or `und`).
    pub language: String,
    /// Source of that language: `Setting` unless the caller sets it.
    pub language_source: LanguageSource,
    /// Words with a letter, of which the stop words are `words - content_words`.
    pub words: usize,
    /// Words with a letter that are no stop words.
    pub content_words: usize,
    /// True if the text is too short for [`RuleSet::Text`](crate::RuleSet::Text), whose values are then not judged.
    pub short: bool,
    /// About the word ratio.
    pub reason: Option<Reason>,
    /// Value for each rule of the [`Checker`](crate::Checker), in its order; none if it does not apply.
    pub values: Vec<Option<f64>>,
    /// Broken rules, as positions among those of the checker: set by set in their order, and within C4 in
    /// that of the text.
    pub failed: Vec<usize>,
}
