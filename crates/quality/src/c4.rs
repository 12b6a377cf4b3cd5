//! The rules of C4: Raffel et al., "Exploring the Limits of Transfer Learning with a Unified Text-to-Text
//! Transformer" (2020), 2.2. The released code (`c4_utils.py`) completes them. Order and details are those of
//! datatrove's `C4QualityFilter`.

use crate::{
    limit::Limit,
    rules::{C4Rules, LineRules},
    settings::C4Thresholds,
    text::{count_sentences, is_space, lines, ratio, to_f64},
};
use regex::Regex;
use std::sync::LazyLock;

pub(crate) fn limits(settings: &C4Thresholds) -> Vec<(String, Limit)> {
    crate::limit::named([
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

/// Result of the rules for a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineVerdict {
    LoremIpsum,
    CurlyBracket,
    TooLongWord,
    NoTerminalPunctuation,
    TooFewWords,
    Javascript,
    Policy,
    Kept,
}

const VERDICTS: [LineVerdict; 8] = [
    LineVerdict::LoremIpsum,
    LineVerdict::CurlyBracket,
    LineVerdict::TooLongWord,
    LineVerdict::NoTerminalPunctuation,
    LineVerdict::TooFewWords,
    LineVerdict::Javascript,
    LineVerdict::Policy,
    LineVerdict::Kept,
];

#[expect(clippy::expect_used, reason = "a constant pattern; a test runs it")]
static CITATION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\[\d*]|\[edit]|\[citation needed]").expect("a constant pattern"));

/// Applies the first rule that concerns a line. Returns its verdict, and the line without outer white space and
/// without citations.
pub(crate) fn line_verdict<'a>(
    line: &'a str,
    rules: &C4Rules,
    settings: &C4Thresholds,
) -> (LineVerdict, std::borrow::Cow<'a, str>) {
    let line = line.trim_matches(is_space);
    let words = || line.split(is_space).filter(|word| !word.is_empty());
    if words().any(|word| word.chars().nth(settings.max_word_length).is_some()) {
        return (LineVerdict::TooLongWord, line.into());
    }
    let enough = settings.min_words_per_line == 0 || words().nth(settings.min_words_per_line - 1).is_some();
    let line = if line.contains('[') { CITATION.replace_all(line, "") } else { line.into() };
    let ended = rules.end_punctuation.iter().any(|end| line.ends_with(end.as_str()));
    if !ended || line.ends_with(&rules.ellipsis) {
        return (LineVerdict::NoTerminalPunctuation, line);
    }
    if !enough {
        return (LineVerdict::TooFewWords, line);
    }
    let lower = line.to_lowercase();
    let verdict = match () {
        () if lower.contains(&rules.lorem_ipsum) => LineVerdict::LoremIpsum,
        () if lower.contains(&rules.javascript) => LineVerdict::Javascript,
        () if line.contains(&rules.curly_bracket) => LineVerdict::CurlyBracket,
        () if rules.policies.iter().any(|phrase| lower.contains(phrase.as_str())) => LineVerdict::Policy,
        () => LineVerdict::Kept,
    };
    (verdict, line)
}

/// Values of the rules, and the positions of `lorem_ipsum` and `curly_bracket` among them in the order of the
/// text.
///
/// `lorem_ipsum` and `curly_bracket` count lines; one is enough to fail. `too_few_sentences` counts the
/// sentences of the kept lines. The others are shares of lines for information only: those that C4 would
/// remove and keep.
pub(crate) fn values(
    text: &str,
    rules: &LineRules,
    settings: &C4Thresholds,
) -> (Vec<Option<f64>>, Vec<usize>) {
    let (mut all, mut number, mut order) = (0, 0, Vec::new());
    let mut counts = [0; VERDICTS.len()];
    for line in lines(text) {
        all += 1;
        let (verdict, line) = line_verdict(line, &rules.c4, settings);
        let Some(at) = VERDICTS.iter().position(|known| *known == verdict) else { continue };
        if let Some(count) = counts.get_mut(at) {
            *count += 1;
        }
        match verdict {
            LineVerdict::Kept => number += count_sentences(&line),
            LineVerdict::LoremIpsum | LineVerdict::CurlyBracket if !order.contains(&at) => order.push(at),
            _ => {}
        }
    }
    let [lorem_ipsum, curly_bracket, others @ ..] = counts;
    let mut values = vec![Some(to_f64(lorem_ipsum)), Some(to_f64(curly_bracket)), Some(to_f64(number))];
    values.extend(others.map(|count| Some(ratio(count, all))));
    (values, order)
}
