//! Rules that FineWeb adds: Penedo et al., "The FineWeb Datasets: Decanting the Web for the Finest Text Data
//! at Scale" (2024), 3.6. Details that the paper leaves open follow datatrove's `FineWebQualityFilter`.

use crate::{
    gopher_repetition::duplicates,
    limit::Limit,
    rules::LineRules,
    settings::FinewebThresholds,
    text::{chars, is_space, ratio},
};

pub(crate) fn limits(settings: &FinewebThresholds) -> Vec<(String, Limit)> {
    crate::limit::named([
        ("line_punct_ratio", Limit::AtLeast(settings.line_punct_thr)),
        ("short_line_ratio", Limit::AtMost(settings.short_line_thr)),
        ("char_dup_ratio", Limit::AtMost(settings.char_duplicates_ratio)),
        ("list_ratio", Limit::AtMost(settings.new_line_ratio)),
    ])
}

/// Values for the non-empty lines: the share with final sentence punctuation, and the share of short lines.
/// Then the share of the characters in repeated lines (without line feeds), and line feeds per word. A text
/// without such a line has no values, since datatrove drops it.
pub(crate) fn values(
    text: &str,
    words: usize,
    rules: &LineRules,
    settings: &FinewebThresholds,
) -> Vec<Option<f64>> {
    let lines = || text.split('\n').filter(|line| !line.chars().all(is_space));
    let (mut all, mut ended, mut short) = (0, 0, 0);
    for line in lines() {
        all += 1;
        ended += usize::from(line.chars().next_back().is_some_and(|c| rules.ends_sentence(c)));
        short += usize::from(line.chars().nth(settings.short_line_length).is_none());
    }
    if all == 0 {
        return vec![None; 4];
    }
    let feeds = text.bytes().filter(|byte| *byte == b'\n').count();
    let (_, again) = duplicates(lines());
    vec![
        Some(ratio(ended, all)),
        Some(ratio(short, all)),
        Some(ratio(again, chars(text) - feeds)),
        Some(ratio(feeds, words)),
    ]
}
