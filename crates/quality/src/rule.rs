//! Rules by name, and the assessment of a document by them.

use crate::settings::{RuleSet, Settings};
use crawl_model::LanguageSource;

/// Limit of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// Upper bound.
    AtMost(f64),
    /// Lower bound.
    AtLeast(f64),
    /// No limit: the value is for information.
    None,
}

impl Limit {
    /// Returns true if a value breaks the limit.
    #[must_use]
    pub fn is_broken_by(self, value: f64) -> bool {
        match self {
            Self::AtMost(most) => value > most,
            Self::AtLeast(least) => value < least,
            Self::None => false,
        }
    }
}

/// A rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The set that it is of.
    pub set: RuleSet,
    /// Set and name: `gopher_repetition.top_2_gram`. Names are datatrove's reasons.
    pub name: String,
    /// Its threshold.
    pub limit: Limit,
}

impl Rule {
    /// Returns true if values are shares (0 to 1, or a little more), not counts or lengths.
    #[must_use]
    pub fn is_share(&self) -> bool {
        let name = self.name.split_once('.').map_or("", |(_, name)| name);
        !matches!(
            name,
            "short_doc"
                | "long_doc"
                | "below_avg_threshold"
                | "above_avg_threshold"
                | "enough_stop_words"
                | "lorem_ipsum"
                | "curly_bracket"
                | "too_few_sentences"
        )
    }
}

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
    /// True if the text is too short for [`RuleSet::Text`], whose values are then not judged.
    pub short: bool,
    /// About the word ratio.
    pub reason: Option<Reason>,
    /// Value for each rule of the [`Checker`](crate::Checker), in its order; none if it does not apply.
    pub values: Vec<Option<f64>>,
    /// Broken rules, as positions among those of the checker: set by set in their order, and within C4 in
    /// that of the text.
    pub failed: Vec<usize>,
}

/// Rules of the enabled sets, in order.
pub(crate) fn rules(settings: &Settings) -> Vec<Rule> {
    RuleSet::ALL
        .into_iter()
        .filter(|set| settings.sets.contains(set))
        .flat_map(|set| {
            let named =
                move |(name, limit): (String, Limit)| Rule { set, name: format!("{set}.{name}"), limit };
            limits(set, settings).into_iter().map(named)
        })
        .collect()
}

fn limits(set: RuleSet, settings: &Settings) -> Vec<(String, Limit)> {
    match set {
        RuleSet::Text => crate::repetition::limits(&settings.text),
        RuleSet::GopherRepetition => crate::gopher_repetition::limits(&settings.gopher_repetition),
        RuleSet::GopherQuality => crate::gopher_quality::limits(&settings.gopher_quality),
        RuleSet::C4 => crate::c4::limits(&settings.c4),
        RuleSet::Fineweb => crate::fineweb::limits(&settings.fineweb),
    }
}

/// Names with their limits.
pub(crate) fn named<const N: usize>(all: [(&str, Limit); N]) -> Vec<(String, Limit)> {
    all.map(|(name, limit)| (name.to_owned(), limit)).into()
}
