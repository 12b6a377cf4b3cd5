//! Rules by name, with their limits.

use crate::{
    limit::Limit,
    settings::{RuleSet, Settings},
};

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
