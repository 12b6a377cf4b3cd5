//! Any text: no panic, shares between 0 and 1, linear time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test that uses them")]

mod support;

use cpu_time::ThreadTime;
use crawl_quality::{Checker, Limit};
use proptest::prelude::*;
use std::{sync::LazyLock, time::Duration};
use support::checker;

static CHECKER: LazyLock<Checker> = LazyLock::new(|| checker(|s| s.text.min_words = 0));

/// Rules whose values are no shares.
fn is_count(rule: &str) -> bool {
    let counts = [
        "short_doc",
        "long_doc",
        "avg_threshold",
        "enough_stop_words",
        "too_few_sentences",
        "lorem",
        "curly",
    ];
    // the most frequent n-gram is counted with overlaps, as in datatrove: "........" exceeds itself
    let rates = ["gopher_repetition.top_", "too_many_hashes", "too_many_ellipsis", "list_ratio"];
    counts.iter().chain(&rates).any(|part| rule.contains(part))
}

fn score(text: &str, language: &str) {
    let assessment = CHECKER.assess(text, language);
    for (rule, value) in CHECKER.rules().iter().zip(&assessment.values) {
        let Some(value) = value else { continue };
        assert!(value.is_finite() && *value >= 0.0, "{}: {value}", rule.name);
        assert!(is_count(&rule.name) || *value <= 1.0 + 1e-9, "{}: {value} in {text:?}", rule.name);
        assert!(
            rule.limit != Limit::None || !assessment.failed.iter().any(|at| CHECKER.rules()[*at] == *rule)
        );
    }
    let explanation = CHECKER.explain(text, &assessment);
    assert_eq!(explanation.findings.len(), assessment.failed.len());
    for place in explanation.findings.iter().flat_map(|finding| &finding.places) {
        assert!(text.get(place.bytes.clone()).is_some_and(|part| !part.is_empty() || text.contains("\n")));
    }
    for word in &explanation.words {
        for place in &word.places {
            assert!(text.get(place.clone()).is_some());
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_assessed(text in "\\PC{0,200}", language in "[a-z]{0,3}") {
        score(&text, &language);
    }

    #[test]
    fn repetitive_texts_are_assessed(
        parts in prop::collection::vec(prop::sample::select(vec![
            "the ", "stain ", "stain", "-", "…", "...", "\n", "\n\n", "\r\n", "# ", "• ", "{", "lorem ipsum.", "Cookie", "é", "海", "\u{1f}",
            "\u{2028}", "\u{301}", "[1]", "A sentence ends here. ", "10 ", "🙂", " ", "\t",
        ]), 0..120),
    ) {
        score(&parts.concat(), "en");
    }
}

/// Minimum CPU time of this thread, since other processes on the machine hardly affect it.
fn cost(text: &str) -> Duration {
    let once = || {
        let start = ThreadTime::now();
        let assessment = CHECKER.assess(text, "en");
        assert_eq!(assessment.values.len(), CHECKER.rules().len());
        start.elapsed()
    };
    (0..3).map(|_| once()).min().unwrap()
}

type Kind = (&'static str, fn(usize) -> String);

const KINDS: [Kind; 8] = [
    ("one word", |n| "word ".repeat(n / 5)),
    ("one letter without a space", |n| "a".repeat(n)),
    ("line feeds", |n| "\n".repeat(n)),
    ("different words", |n| (0..n / 8).map(|i| format!("w{i:06} ")).collect()),
    ("the same line", |n| "A line that is said again.\n".repeat(n / 27)),
    ("different lines", |n| (0..n / 16).map(|i| format!("line {i:09}.\n")).collect()),
    ("marks", |n| "...!?[{".repeat(n / 7)),
    ("a letter and marks that combine with it", |n| format!("a{}", "\u{301}".repeat(n / 2))),
];

#[test]
fn assessment_time_grows_linearly() {
    for (name, text) in KINDS {
        let (small, large) = (text(20_000), text(160_000));
        let (short, long) = (cost(&small).max(Duration::from_millis(2)), cost(&large));
        // eight times the text, and twice that for caches that are too small for it
        assert!(long < short * 16, "{name}: {short:?} for 20 kB, {long:?} for 160 kB");
    }
}
