//! The section `quality`. Its thresholds are rules: `config/rules/quality.toml`.

use crawl_quality::{RuleSet, Settings, Thresholds};
use serde::Deserialize;

/// Settings of the quality rules, and the treatment of pages that fail them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
#[expect(missing_docs, reason = "see config/crawl.toml")]
pub struct QualitySection {
    pub enabled: bool,
    pub sets: Vec<RuleSet>,
    pub drop: Vec<RuleSet>,
    pub language: String,
    pub remove_boilerplate: bool,
    pub rules: String,
}

impl QualitySection {
    /// Converts the section for the quality crate.
    #[must_use]
    pub fn settings(&self, thresholds: &Thresholds) -> Settings {
        Settings::of(self.sets.clone(), self.remove_boilerplate, thresholds)
    }
}
