//! A checker with the defaults of the configuration.

#![allow(dead_code, reason = "each file of tests uses some of it")]

use crawl_quality::{Assessment, Checker, LineRules, Settings};
use serde::de::DeserializeOwned;

/// The defaults of `config/crawl.toml`.
pub fn defaults() -> Settings {
    let config: toml::Table = include_str!("../../../../config/crawl.toml").parse().unwrap();
    let quality = &config["quality"];
    Settings {
        sets: read(&quality["sets"]),
        text: read(&quality["text"]),
        gopher_repetition: read(&quality["gopher_repetition"]),
        gopher_quality: read(&quality["gopher_quality"]),
        c4: read(&quality["c4"]),
        fineweb: read(&quality["fineweb"]),
    }
}

fn read<T: DeserializeOwned>(value: &toml::Value) -> T {
    value.clone().try_into().unwrap()
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
