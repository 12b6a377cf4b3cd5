//! Stemmers, lemmas, the tokenizer, cleaning and language identification on random words of forty scripts.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test that uses them")]

#[path = "../../../tests/support/scripts.rs"]
mod scripts;

use crawl_corpus::{Lemmatizer, clean, detect, jaccard, shingles, words};
use scripts::{Draw, SCRIPTS};
use std::panic::catch_unwind;

/// A dictionary, every stemmer, and a language without either.
const LANGUAGES: [&str; 20] = [
    "en", "ar", "da", "nl", "fi", "fr", "de", "el", "hu", "it", "nb", "no", "pt", "ro", "ru", "es", "sv",
    "ta", "tr", "zh",
];

#[test]
fn lemmatizers_accept_words_of_any_script() {
    let lemmatizers = LANGUAGES.map(|code| (code, Lemmatizer::new(code)));
    for script in &SCRIPTS {
        let mut draw = Draw(13);
        for _ in 0..600 {
            let word = script.word(&mut draw);
            for (code, lemmatizer) in &lemmatizers {
                let lemmas = catch_unwind(|| lemmatizer.lemmas(&word, usize::MAX));
                let lemmas = lemmas.unwrap_or_else(|_| panic!("{code} fails on {word:?} ({})", script.name));
                assert_eq!(lemmas.is_empty(), words(&word).next().is_none(), "{code}: {word:?}");
                assert!(
                    lemmas.split(' ').count() <= words(&word).count().max(1),
                    "{code}: {word:?} is {lemmas:?}"
                );
            }
        }
    }
}

/// Suffixes that a stemmer knows, in all orders of three: stemmers fail on these, not on random letters.
#[test]
fn stemmers_accept_suffixes_in_any_order() {
    let endings = [
        ("el", "ισα ιζα ουσα ωντασ ησασ ιστικ αμε ηθηκε ουμε οντουσαν ιεστε αδεσ εων ματ"),
        ("de", "en ern e er es et st est heit keit ung isch ig lich end nis"),
        ("fr", "ement ité ances ations eux ifs issantes erions îmes é"),
        ("nl", "heden en ing baar lijk ig end s e isch"),
        ("ru", "ейшее остями аяся ившись ённый ами ся ье"),
        ("tr", "lar ların dan mış siniz casına yken ler im"),
        ("hu", "okat eként jaitok ban ért val unk ek á"),
        ("fi", "issa sta mme nsa kaan tten ihin ia t"),
        ("ar", "ات ون ين ها كم نا تما ست وال"),
        ("ta", "கள் களை உடைய இல் ஆக ஏன் ின் வில்லை"),
        ("ro", "ului elor ească aţiune ibil ând iseră ii"),
        ("es", "amientos ándolo adores idad mente aríamos yendo"),
    ];
    for (code, known) in endings {
        let lemmatizer = Lemmatizer::new(code);
        let parts: Vec<&str> = [""].into_iter().chain(known.split(' ')).collect();
        for a in &parts {
            for b in &parts {
                for c in &parts {
                    let word = format!("{a}{b}{c}");
                    let done = catch_unwind(|| lemmatizer.lemmas(&word, usize::MAX));
                    assert!(done.is_ok(), "{code} fails on {word:?}");
                }
            }
        }
    }
}

#[test]
fn texts_of_any_script_are_cleaned_cut_and_identified() {
    for script in &SCRIPTS {
        let mut draw = Draw(40);
        for n in 0..12 {
            let mut text = script.text(1 + n * 20, &mut draw);
            // another script in the middle of a sentence
            text += &SCRIPTS[draw.below(SCRIPTS.len())].text(3, &mut draw);
            let cleaned = clean(&text);
            assert!(
                !cleaned.contains("  ") && !cleaned.contains(char::is_control),
                "{}: {cleaned:?}",
                script.name
            );
            assert!(words(&cleaned).all(|word| !word.is_empty() && cleaned.contains(word)), "{cleaned:?}");
            let language = detect(&cleaned);
            assert!((0.0..=1.0).contains(&language.confidence), "{}: {language:?}", script.name);
            assert!((2..=3).contains(&language.code.len()), "{}: {language:?}", script.name);
            let set = shingles(&cleaned, 5);
            assert_eq!(jaccard(&set, &set, 0.85), Some(1.0));
        }
    }
}
