//! The rules of C4: Raffel et al., "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer" (2020),
//! 2.2, and the code released with it (`c4_utils.py`); order and details are those of datatrove's `C4QualityFilter`.

use crate::{
    rule::Limit,
    rules::{C4Rules, LineRules},
    settings::C4Settings,
    text::{count_sentences, is_space, lines, ratio, to_f64},
};
use regex::Regex;
use std::sync::LazyLock;

pub(crate) fn limits(settings: &C4Settings) -> Vec<(String, Limit)> {
    crate::rule::named([
        ("lorem_ipsum", Limit::AtMost(0.0)),
        ("curly_bracket", Limit::AtMost(0.0)),
        ("too_few_sentences", Limit::AtLeast(to_f64(settings.min_num_sentences))),
        ("too_long_word", Limit::None),
        ("no_terminal_punc", Limit::None),
        ("too_few_words", Limit::None),
        ("javascript", Limit::None),
        ("policy", Limit::None),
        ("line_kept", Limit::None),
    ])
}

/// What becomes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    LoremIpsum,
    CurlyBracket,
    TooLongWord,
    NoTerminalPunctuation,
    TooFewWords,
    Javascript,
    Policy,
    Kept,
}

const FATES: [Fate; 8] = [
    Fate::LoremIpsum,
    Fate::CurlyBracket,
    Fate::TooLongWord,
    Fate::NoTerminalPunctuation,
    Fate::TooFewWords,
    Fate::Javascript,
    Fate::Policy,
    Fate::Kept,
];

#[expect(clippy::expect_used, reason = "a constant pattern; a test runs it")]
static CITATION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\[\d*]|\[edit]|\[citation needed]").expect("a constant pattern"));

/// The fate of a line by the first rule that concerns it, and the line as it is kept: without white space at its ends and
/// without citations.
pub(crate) fn fate<'a>(
    line: &'a str,
    rules: &C4Rules,
    settings: &C4Settings,
) -> (Fate, std::borrow::Cow<'a, str>) {
    let line = line.trim_matches(is_space);
    let words = || line.split(is_space).filter(|word| !word.is_empty());
    if words().any(|word| word.chars().nth(settings.max_word_length).is_some()) {
        return (Fate::TooLongWord, line.into());
    }
    let enough = settings.min_words_per_line == 0 || words().nth(settings.min_words_per_line - 1).is_some();
    let line = if line.contains('[') { CITATION.replace_all(line, "") } else { line.into() };
    let ended = rules.end_punctuation.iter().any(|end| line.ends_with(end.as_str()));
    if !ended || line.ends_with(&rules.ellipsis) {
        return (Fate::NoTerminalPunctuation, line);
    }
    if !enough {
        return (Fate::TooFewWords, line);
    }
    let lower = line.to_lowercase();
    let fate = match () {
        () if lower.contains(&rules.lorem_ipsum) => Fate::LoremIpsum,
        () if lower.contains(&rules.javascript) => Fate::Javascript,
        () if line.contains(&rules.curly_bracket) => Fate::CurlyBracket,
        () if rules.policies.iter().any(|phrase| lower.contains(phrase.as_str())) => Fate::Policy,
        () => Fate::Kept,
    };
    (fate, line)
}

/// Values, and the places of `lorem_ipsum` and `curly_bracket` among them in the order of the text.
///
/// `lorem_ipsum` and `curly_bracket` count lines; one is enough to fail. `too_few_sentences` counts the sentences of the lines
/// that are kept. The others are shares of the lines, told alone: what C4 would remove of the text, and keep.
pub(crate) fn values(text: &str, rules: &LineRules, settings: &C4Settings) -> (Vec<Option<f64>>, Vec<usize>) {
    let (mut all, mut number, mut order) = (0, 0, Vec::new());
    let mut counts = [0; FATES.len()];
    for line in lines(text) {
        all += 1;
        let (fate, line) = fate(line, &rules.c4, settings);
        let Some(at) = FATES.iter().position(|known| *known == fate) else { continue };
        if let Some(count) = counts.get_mut(at) {
            *count += 1;
        }
        match fate {
            Fate::Kept => number += count_sentences(&line),
            Fate::LoremIpsum | Fate::CurlyBracket if !order.contains(&at) => order.push(at),
            _ => {}
        }
    }
    let [lorem_ipsum, curly_bracket, others @ ..] = counts;
    let mut values = vec![Some(to_f64(lorem_ipsum)), Some(to_f64(curly_bracket)), Some(to_f64(number))];
    values.extend(others.map(|count| Some(ratio(count, all))));
    (values, order)
}
