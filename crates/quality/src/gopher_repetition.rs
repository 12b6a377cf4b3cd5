//! Repetition rules of Gopher: Rae et al., "Scaling Language Models: Methods, Analysis & Insights from
//! Training Gopher" (2021), A.1.1 and table A1. Details that the paper leaves open follow datatrove's
//! `GopherRepetitionFilter`.

use crate::{
    grams::Grams,
    limit::Limit,
    settings::GopherRepetitionThresholds,
    text::{chars, is_space, ratio, split_at_feeds},
};
use std::collections::HashSet;

/// `dup_para_frac`, `dup_para_char_frac`, `dup_line_frac`, `dup_line_char_frac`, `top_N_gram`,
/// `duplicated_N_n_grams`.
pub(crate) fn limits(settings: &GopherRepetitionThresholds) -> Vec<(String, Limit)> {
    let mut all = crate::limit::named([
        ("dup_para_frac", Limit::AtMost(settings.dup_para_frac)),
        ("dup_para_char_frac", Limit::AtMost(settings.dup_para_char_frac)),
        ("dup_line_frac", Limit::AtMost(settings.dup_line_frac)),
        ("dup_line_char_frac", Limit::AtMost(settings.dup_line_char_frac)),
    ]);
    let most = |share: f64| Limit::AtMost(share);
    all.extend(settings.top_n_grams.iter().map(|(n, share)| (format!("top_{n}_gram"), most(*share))));
    all.extend(
        settings.dup_n_grams.iter().map(|(n, share)| (format!("duplicated_{n}_n_grams"), most(*share))),
    );
    all
}

/// Shares of repeated paragraphs and lines, and of the text's characters in them. Shares of the text's
/// characters in the most frequent n-gram (times its count, overlaps included), and in repeated n-grams. All
/// relate to the characters of the whole text.
pub(crate) fn values(text: &str, grams: &Grams, settings: &GopherRepetitionThresholds) -> Vec<Option<f64>> {
    let all = chars(text);
    let (paragraphs, paragraph_chars) = duplicates(split_at_feeds(text.trim_matches(is_space), 2));
    let (lines, line_chars) = duplicates(split_at_feeds(text, 1));
    let mut values =
        vec![Some(paragraphs), Some(ratio(paragraph_chars, all)), Some(lines), Some(ratio(line_chars, all))];
    let top = |n: usize| grams.top(n).map(|top| ratio(top.chars * top.count, all));
    values.extend(settings.top_n_grams.iter().map(|(n, _)| top(*n)));
    values.extend(settings.dup_n_grams.iter().map(|(n, _)| Some(ratio(grams.duplicate_chars(*n), all))));
    values
}

/// Share of repeated parts, and the characters in them.
pub(crate) fn duplicates<'a>(parts: impl Iterator<Item = &'a str>) -> (f64, usize) {
    // the hasher of the standard library, since authors of texts could choose lines that collide under a
    // faster one
    let (mut seen, mut all, mut again, mut characters) = (HashSet::new(), 0, 0, 0);
    for part in parts {
        all += 1;
        if !seen.insert(part) {
            again += 1;
            characters += chars(part);
        }
    }
    (ratio(again, all), characters)
}
