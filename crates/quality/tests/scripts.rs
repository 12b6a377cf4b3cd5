//! The tokenizers and all rules on random words of forty scripts.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test that uses them")]

#[path = "../../../tests/support/scripts.rs"]
mod scripts;
mod support;

use crawl_quality::{lines, sentences, words};
use scripts::{Draw, SCRIPTS};

#[test]
fn texts_of_any_script_are_split_and_assessed() {
    let checker = support::checker(|_| ());
    for script in &SCRIPTS {
        let mut draw = Draw(7);
        for n in 0..6 {
            let text = script.text(1 + n * 40, &mut draw);
            for (at, word) in words(&text) {
                assert!(!word.is_empty() && text[at..].starts_with(word), "{}: {word:?}", script.name);
            }
            for line in lines(&text) {
                assert!(sentences(line).all(|sentence| line.contains(sentence)), "{}: {line:?}", script.name);
            }
            for language in ["en", "de", "zh", "und"] {
                let found = checker.quality(&checker.assess(&text, language));
                assert!(found.scores.values().all(|score| score.is_finite()), "{}: {found:?}", script.name);
            }
        }
    }
}
