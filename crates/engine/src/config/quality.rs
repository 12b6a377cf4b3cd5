//! The section `quality` and the sections in it.

use crawl_quality::{
    C4Settings, FinewebSettings, GopherQualitySettings, GopherRepetitionSettings, RuleSet, Settings,
    TextSettings,
};
use serde::Deserialize;

/// Settings of the quality rules, and the treatment of pages that fail them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "see config/crawl.toml")]
pub struct QualitySection {
    pub enabled: bool,
    pub sets: Vec<RuleSet>,
    pub drop: Vec<RuleSet>,
    pub language: String,
    pub min_language_letters: usize,
    pub min_language_confidence: f64,
    pub rules: String,
    pub max_record: bytesize::ByteSize,
    pub text: TextSettings,
    pub gopher_repetition: GopherRepetitionSettings,
    pub gopher_quality: GopherQualitySettings,
    pub c4: C4Settings,
    pub fineweb: FinewebSettings,
}

impl QualitySection {
    /// Converts the section for the quality crate, which checks the ranges.
    #[must_use]
    pub fn settings(&self) -> Settings {
        Settings {
            sets: self.sets.clone(),
            text: self.text.clone(),
            gopher_repetition: self.gopher_repetition.clone(),
            gopher_quality: self.gopher_quality.clone(),
            c4: self.c4.clone(),
            fineweb: self.fineweb.clone(),
        }
    }
}
