//! Parameters of the specifications and their defaults in `config/crawl.toml` and `config/rules`.

use super::root;
use std::fs;
use toml::Value;

fn read(file: &str) -> toml::Table {
    fs::read_to_string(root().join(file)).unwrap().parse().unwrap()
}

/// The value of a dotted key.
fn value(table: &toml::Table, key: &str) -> Value {
    let mut at = Value::Table(table.clone());
    for part in key.split('.') {
        at = at.get(part).unwrap_or_else(|| panic!("there is no {key}")).clone();
    }
    at
}

fn assert_defaults(file: &str, expected: &[(&str, Value)]) {
    let table = read(file);
    for (key, default) in expected {
        assert_eq!(value(&table, key), *default, "{file}: {key}");
    }
}

#[test]
fn domain_boilerplate_has_its_defaults() {
    assert_defaults(
        "config/crawl.toml",
        &[
            ("dedup.threshold_pct", 0.7.into()),
            ("dedup.min_pages", 5.into()),
            ("dedup.min_block_chars", 50.into()),
            // on by default, and by position: docs/design/deviations.md
            ("dedup.enabled", true.into()),
            ("dedup.mode", "site".into()),
        ],
    );
}

#[test]
fn duplicates_have_their_defaults() {
    assert_defaults(
        "config/crawl.toml",
        &[
            ("duplicates.shingle_words", 5.into()),
            ("duplicates.permutations", 128.into()),
            ("duplicates.jaccard", 0.85.into()),
            ("duplicates.cosine", 0.92.into()),
            ("duplicates.vocabulary", 50_000.into()),
            ("duplicates.min_df", 3.into()),
            ("duplicates.ngrams", Value::Array(vec![1.into(), 2.into()])),
            ("duplicates.max_lemma_chars", 300_000.into()),
            ("duplicates.language", "all".into()),
        ],
    );
}

#[test]
fn repetition_has_its_defaults() {
    assert_defaults(
        "config/rules/quality.toml",
        &[
            ("text.max_word_repetition_ratio", 0.2.into()),
            ("text.max_char_repetition_ratio", 0.2.into()),
            ("text.max_ngram_repetition", 0.75.into()),
            ("text.min_content_words", 5.into()),
            ("text.min_words", 50.into()),
        ],
    );
}

#[test]
fn extraction_has_the_specified_thresholds() {
    assert_defaults(
        "config/rules/extraction.toml",
        &[
            ("words.readability", 50.into()),
            ("words.trafilatura", 30.into()),
            ("words.dom", 10.into()),
            ("choice.trafilatura_ratio", 1.4.into()),
            ("choice.body_share", 0.55.into()),
        ],
    );
    assert_defaults(
        "config/rules/frameworks.toml",
        &[("thresholds.spa_words", 200.into()), ("thresholds.thin_words", 10.into())],
    );
}

/// Lists of the cleaner to which a user adds entries.
#[test]
fn names_of_boilerplate_are_lists_of_the_rules() {
    let rules = read("config/rules/boilerplate.toml");
    let all: Vec<String> = rules
        .values()
        .filter_map(Value::as_array)
        .flatten()
        .filter_map(|entry| entry.as_str().map(str::to_owned))
        .collect();
    for name in
        ["navbar", "navigation", "nav", "footer", "sidebar", "widget", "modal", "popup", "ads", "comments"]
    {
        assert!(all.iter().any(|entry| entry == name), "{name}");
    }
    let consent = read("config/rules/consent.toml");
    let selectors = value(&consent, "generic.selectors");
    assert!(selectors.as_array().unwrap().contains(&".cookie-banner".into()));
}
