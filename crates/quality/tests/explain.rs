//! Branches of the decision tree, each with a text, and positions in the text.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test that uses them")]

mod support;

use crawl_quality::{Cause, Explanation};
use support::checker;

fn explain(text: &str, language: &str) -> Explanation {
    let checker = checker(|_| ());
    checker.explain(text, &checker.assess(text, language))
}

fn cause(text: &str, language: &str) -> Option<Cause> {
    explain(text, language).verdict.map(|verdict| verdict.cause)
}

fn different(count: usize) -> String {
    let word = |n: usize| n.to_string().bytes().map(|b| char::from(b'q' + b - b'0')).collect::<String>();
    (0..count).map(|n| format!("w{} ", word(n))).collect()
}

#[test]
fn text_within_the_ratios_has_no_verdict() {
    assert_eq!(cause(&different(60), "en"), None);
    assert_eq!(cause("A short text.", "en"), Some(Cause::ShortText));
}

#[test]
fn common_words_of_another_language_are_the_cause() {
    let text = "the harbour and the ferry and the sea, the wind of the day and the light of the house, \
        the boat at the pier, the man with the rope, the bell in the fog, the rain on the roof, the end of the road, \
        the gull over the mast, the tide, the moon";
    // "the" has ever different neighbours, as a term does: with the higher limit it would pass
    let checker = checker(|s| s.text.max_term_repetition_ratio = 0.2);
    let explanation = checker.explain(text, &checker.assess(text, "xx"));
    let verdict = explanation.verdict.unwrap();
    assert_eq!((verdict.cause, verdict.written_in.as_deref()), (Cause::CommonWords, Some("en")));
    assert!(verdict.word_ratio > 0.2, "{verdict:?}");
    assert_eq!(explanation.words[0].word, "the");
    // with its own language the text passes
    assert_eq!(cause(text, "en"), None);
}

#[test]
fn repeated_boilerplate_lines_are_the_cause() {
    let text = format!("{}{}", "Share this\nFollow us\n".repeat(40), different(60));
    let explanation = explain(&text, "en");
    assert_eq!(explanation.verdict.unwrap().cause, Cause::Boilerplate);
    assert_eq!(explanation.boilerplate.len(), 80);
    let (bytes, phrase) = &explanation.boilerplate[1];
    assert_eq!((&text[bytes.clone()], phrase.as_str()), ("Follow us", "follow us"));
}

#[test]
fn technical_terms_and_repeated_passages_are_distinguished() {
    let others = different(60);
    let term: String = others.split(' ').map(|word| format!("stain {word} ")).collect();
    assert_eq!(cause(&term, "en"), Some(Cause::Terms));
    let explanation = explain(&term, "en");
    let word = &explanation.words[0];
    assert!(word.term && !word.stop_word && word.share > 0.4, "{word:?}");
    assert_eq!(&term[word.places[1].clone()], "stain");
    assert_eq!(cause(&"buy stain remover ".repeat(40), "en"), Some(Cause::Passages));
    assert_eq!(cause(&format!("{}{}", "=".repeat(400), different(60)), "en"), Some(Cause::Characters));
}

#[test]
fn failed_rules_give_their_places() {
    let checker = checker(|_| ());
    let text =
        "Bright line.\nA second line that is longer.\nBright line.\nBright line.\nNo mark here …\n- item\n";
    let explanation = checker.explain(text, &checker.assess(text, "en"));
    let places = |rule: &str| -> Vec<&str> {
        let finding = explanation.findings.iter().find(|f| checker.rules()[f.rule].name == rule);
        finding.map_or(Vec::new(), |f| f.places.iter().map(|p| &text[p.bytes.clone()]).collect())
    };
    assert_eq!(places("fineweb.char_dup_ratio"), ["Bright line."]);
    assert_eq!(places("gopher_repetition.top_2_gram"), ["Bright line"]);
    assert!(places("c4.too_few_sentences").contains(&"No mark here …"));
    let finding =
        explanation.findings.iter().find(|f| checker.rules()[f.rule].name == "c4.too_few_sentences").unwrap();
    let first = &finding.places[0];
    assert_eq!((first.note, first.times), (Some("too few words"), 3));
}
