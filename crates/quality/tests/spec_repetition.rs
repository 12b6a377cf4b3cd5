//! The repetition filter: phrases, thresholds and branches of the guide, by their names there.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test that uses them")]

mod support;

use crawl_quality::Cause;
use support::{checker, defaults, value};

/// Distinct words of letters alone, without stop words.
fn words(count: usize) -> String {
    let word = |n: usize| n.to_string().bytes().map(|b| char::from(b'a' + b - b'0')).collect::<String>();
    (0..count).map(|n| format!("zq{} ", word(n))).collect()
}

fn ratio(text: &str) -> f64 {
    let checker = checker(|s| s.text.min_words = 0);
    value(&checker, &checker.assess(text, "en"), "text.word_repetition_ratio").unwrap()
}

/// The guide's 47 stop words.
const COMMON: &str = "the a an and or but in on at to for of with by from as is was are were be been have has had do does \
    did will would should could may might must can this that these those i you he she it we they";

#[test]
fn listed_common_words_are_excluded() {
    let listed: Vec<&str> = COMMON.split_whitespace().collect();
    for word in &listed {
        let text = format!("{}{}", format!("{word} ").repeat(40), words(20));
        assert!((ratio(&text) - 0.05).abs() < 1e-9, "{word}: {}", ratio(&text));
    }
    let upper = format!("{}{}", "THE The ".repeat(20), words(20));
    assert!((ratio(&upper) - 0.05).abs() < 1e-9, "in any case");
}

#[test]
fn specified_keys_have_the_specified_defaults() {
    let text = defaults().text;
    assert_eq!(text.max_word_repetition_ratio, 0.2);
    assert!(text.max_char_repetition_ratio > 0.0 && text.max_ngram_repetition > 0.0);
    assert_eq!(text.min_content_words, 5);
}

#[test]
fn higher_threshold_keeps_justified_repetition() {
    // a quarter of the content words is one, always with the same neighbours
    let text = format!("{}{}", "stain remover ".repeat(25), words(50));
    let fails = |most: f64| {
        let checker = checker(|s| s.text.max_word_repetition_ratio = most);
        !checker.quality(&checker.assess(&text, "en")).failed.is_empty()
            && checker
                .quality(&checker.assess(&text, "en"))
                .failed
                .contains(&"text.word_repetition_ratio".into())
    };
    assert!(fails(0.2) && !fails(0.3) && !fails(0.4));
}

#[test]
fn each_specified_phrase_marks_boilerplate() {
    for phrase in
        ["cookie", "privacy policy", "terms of service", "subscribe", "newsletter", "follow us", "share this"]
    {
        let text = format!("{}\n{}", words(60), format!("Please {} now\n", phrase.to_uppercase()).repeat(60));
        let count = |remove: bool| {
            let checker = checker(|s| s.remove_boilerplate = remove);
            checker.assess(&text, "en").content_words
        };
        assert!(count(false) > 60, "{phrase}");
        assert_eq!(count(true), 60, "{phrase}");
    }
}

const SENTENCES: &str = "the harbour and the ferry and the sea, the wind of the day and the light of the house, \
    the boat at the pier, the man with the rope, the bell in the fog, the rain on the roof, the end of the road, \
    the gull over the mast, the tide, the moon";

/// Cause of the repetition of a text in a language. Terms have no separate threshold.
fn cause(text: &str, language: &str) -> Cause {
    let checker = checker(|s| s.text.max_term_repetition_ratio = 0.2);
    checker.explain(text, &checker.assess(text, language)).verdict.unwrap().cause
}

/// One word between ever different others.
fn term() -> String {
    words(60).split_whitespace().map(|word| format!("stain {word} ")).collect()
}

#[test]
fn each_cause_of_the_decision_tree_is_found() {
    assert_eq!(cause(SENTENCES, "xx"), Cause::CommonWords);
    assert_eq!(cause(&format!("{}\n{}", words(60), "Share this\n".repeat(60)), "en"), Cause::Boilerplate);
    assert_eq!(cause(&term(), "en"), Cause::Terms);
    assert_eq!(cause("A short text. A short text.", "en"), Cause::ShortText);
}

#[test]
fn causes_follow_the_decision_tree_order() {
    // common words come before boilerplate
    let both = format!("{SENTENCES}\n{}", "Share this and the rest of it\n".repeat(2));
    assert_eq!(cause(&both, "xx"), Cause::CommonWords);
    // boilerplate comes before terms: in these lines the word has ever different neighbours
    let others = words(200);
    let others: Vec<&str> = others.split_whitespace().collect();
    let lines: String =
        others[60..].chunks(2).map(|pair| format!("{} share this {}\n", pair[0], pair[1])).collect();
    let framed = format!("{}\n{lines}", others[..60].join(" "));
    assert_eq!(cause(&framed, "en"), Cause::Boilerplate);
}

#[test]
fn prose_stays_below_the_threshold() {
    let text = "The harbour master keeps a lantern at the end of the pier, so that boats which come in late find their way \
        past the rocks. Every morning the fishermen bring crates of mackerel, herring and crab. Children wait for what \
        falls from them. In winter nobody comes before nine. On market days the square is full by seven.";
    assert!(ratio(text) < 0.1, "{}", ratio(text));
    assert!(ratio(&text.repeat(20)) < 0.1, "the ratio does not grow with the text");
}
