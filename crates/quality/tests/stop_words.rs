//! Function words by language: keyword-stuffed pages fail, honest ones pass, and the lists are sound.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test that uses them")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use support::{checker, failed, value};

/// The words that the specification of the repetition filter lists.
const SPECIFIED: &str = "the a an and or but in on at to for of with by from as is was are were be been have has had do does did \
    will would should could may might must can this that these those i you he she it we they";

/// Language, a keyword-stuffed page, an honest page.
const PAGES: [(&str, &str, &str); 6] = [
    ("en", include_str!("texts/en.stuffed.txt"), include_str!("texts/en.honest.txt")),
    ("de", include_str!("texts/de.stuffed.txt"), include_str!("texts/de.honest.txt")),
    ("es", include_str!("texts/es.stuffed.txt"), include_str!("texts/es.honest.txt")),
    ("it", include_str!("texts/it.stuffed.txt"), include_str!("texts/it.honest.txt")),
    ("pt", include_str!("texts/pt.stuffed.txt"), include_str!("texts/pt.honest.txt")),
    ("ru", include_str!("texts/ru.stuffed.txt"), include_str!("texts/ru.honest.txt")),
];

fn lists() -> BTreeMap<String, Vec<String>> {
    let file: BTreeMap<String, BTreeMap<String, Vec<String>>> =
        toml::from_str(include_str!("../../../config/rules/stop_words.toml")).unwrap();
    file["stop_words"].clone()
}

#[test]
fn english_stop_words_equal_the_specification() {
    let specified: BTreeSet<&str> = SPECIFIED.split_whitespace().collect();
    let list = &lists()["en"];
    assert_eq!(list.iter().map(String::as_str).collect::<BTreeSet<_>>(), specified);
    assert_eq!(list.len(), 47);
}

#[test]
fn stop_words_are_unique_lower_case_function_words() {
    let documented = include_str!("../../../docs/design/quality-rules.md");
    for (language, list) in lists() {
        let words: BTreeSet<&String> = list.iter().collect();
        assert_eq!(words.len(), list.len(), "{language}: a word stands there twice");
        assert!((20..=110).contains(&list.len()), "{language}: {}", list.len());
        for word in &list {
            assert_eq!(&word.to_lowercase(), word, "{language}");
        }
        let size = format!("{language} {}", list.len());
        assert!(documented.contains(&size), "docs/design/quality-rules.md has no \"{size}\"");
    }
}

#[test]
fn keyword_stuffed_pages_fail_in_each_language() {
    let checker = checker(|_| ());
    for (language, stuffed, _) in PAGES {
        let assessment = checker.assess(stuffed, language);
        let ratio = value(&checker, &assessment, "text.word_repetition_ratio").unwrap();
        assert!(ratio > 0.3, "{language}: {ratio}");
        let failed = failed(&checker, &assessment);
        assert!(failed.contains(&"text.word_repetition_ratio".to_owned()), "{language}: {failed:?}");
    }
}

#[test]
fn ordinary_pages_stay_within_the_ratios() {
    let checker = checker(|_| ());
    for (language, _, honest) in PAGES {
        let assessment = checker.assess(honest, language);
        assert!(!assessment.short, "{language}");
        let failed = failed(&checker, &assessment);
        let of_the_filter: Vec<_> = failed
            .iter()
            .filter(|rule| rule.starts_with("text.") || rule.ends_with("enough_stop_words"))
            .collect();
        assert!(of_the_filter.is_empty(), "{language}: {failed:?}");
        // about a third of prose is function words, so no list is too short for its language
        let share = 1.0 - assessment.content_words as f64 / assessment.words as f64;
        assert!((0.25..0.55).contains(&share), "{language}: {share}");
    }
}

#[test]
fn text_is_recognised_in_its_own_language() {
    // honest pages under another language, at a threshold that their function words break
    let checker =
        checker(|s| (s.text.max_word_repetition_ratio, s.text.max_term_repetition_ratio) = (0.04, 0.04));
    for (language, _, honest) in PAGES {
        let explanation = checker.explain(honest, &checker.assess(honest, "xx"));
        let verdict = explanation.verdict.unwrap_or_else(|| panic!("{language} keeps to the ratios"));
        assert_eq!(verdict.written_in.as_deref(), Some(language), "{verdict:?}");
    }
}
