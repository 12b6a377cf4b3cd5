//! A checker with the thresholds of the built-in rules and all sets.

#![allow(dead_code, reason = "each file of tests uses some of it")]

use crawl_quality::{Assessment, Checker, LineRules, RuleSet, Settings};

/// All sets with the thresholds of `config/rules/quality.toml`.
pub fn defaults() -> Settings {
    Settings::of(RuleSet::ALL.to_vec(), false, &LineRules::built_in().unwrap().thresholds)
}

/// A checker with changed defaults.
pub fn checker(change: impl FnOnce(&mut Settings)) -> Checker {
    let mut settings = defaults();
    change(&mut settings);
    Checker::new(settings, LineRules::built_in().unwrap()).unwrap()
}

/// The value of a rule.
pub fn value(checker: &Checker, assessment: &Assessment, rule: &str) -> Option<f64> {
    let at = checker.rules().iter().position(|r| r.name == rule).unwrap_or_else(|| panic!("no rule {rule}"));
    assessment.values[at]
}

/// Names of the rules that a text breaks.
pub fn failed(checker: &Checker, assessment: &Assessment) -> Vec<String> {
    checker.quality(assessment).failed
}
