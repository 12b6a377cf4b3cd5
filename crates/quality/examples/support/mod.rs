//! Settings and checker with the thresholds of `config/rules/quality.toml`, for examples and benches.

#![allow(clippy::unwrap_used, reason = "examples and benches fail where they stand")]

use crawl_quality::{Checker, LineRules, RuleSet, Settings};

/// The settings.
pub fn settings() -> Settings {
    Settings::of(RuleSet::ALL.to_vec(), false, &LineRules::built_in().unwrap().thresholds)
}

/// A checker with them.
#[allow(dead_code, reason = "not every example wants all sets")]
pub fn checker() -> Checker {
    Checker::new(settings(), LineRules::built_in().unwrap()).unwrap()
}
