//! Quality rules of Gopher: Rae et al. (2021), A.1.1. Details that the paper leaves open follow datatrove's
//! `GopherQualityFilter`, whose reasons are the names here without their `gopher_`.

use crate::{
    limit::Limit,
    rules::LineRules,
    settings::GopherQualityThresholds,
    text::{chars, has_letter, is_space, lines, ratio},
};
use rustc_hash::FxHashSet;

pub(crate) fn limits(settings: &GopherQualityThresholds) -> Vec<(String, Limit)> {
    let number = crate::text::to_f64;
    crate::limit::named([
        ("short_doc", Limit::AtLeast(number(settings.min_doc_words))),
        ("long_doc", Limit::AtMost(number(settings.max_doc_words))),
        ("below_avg_threshold", Limit::AtLeast(settings.min_avg_word_length)),
        ("above_avg_threshold", Limit::AtMost(settings.max_avg_word_length)),
        ("too_many_hashes", Limit::AtMost(settings.max_symbol_word_ratio)),
        ("too_many_ellipsis", Limit::AtMost(settings.max_symbol_word_ratio)),
        ("too_many_bullets", Limit::AtMost(settings.max_bullet_lines_ratio)),
        ("too_many_end_ellipsis", Limit::AtMost(settings.max_ellipsis_lines_ratio)),
        ("below_alpha_threshold", Limit::AtLeast(settings.max_non_alpha_words_ratio)),
        ("enough_stop_words", Limit::AtLeast(number(settings.min_stop_words))),
    ])
}

/// Values of the rules:
///
/// - `short_doc`, `long_doc`: words that are no symbols.
/// - `below_avg_threshold`, `above_avg_threshold`: their mean length in characters.
/// - `too_many_hashes`, `too_many_ellipsis`: hash signs and ellipses per word (symbols are words here).
/// - `too_many_bullets`, `too_many_end_ellipsis`: share of the lines that begin with a bullet, that end with
///   an ellipsis.
/// - `below_alpha_threshold`: share of the words, including symbols, that have a letter.
/// - `enough_stop_words`: number of distinct `stop_words` in the text, in the list's form; no value without a
///   list.
pub(crate) fn values(
    text: &str,
    words: &[&str],
    rules: &LineRules,
    stop_words: Option<&FxHashSet<&str>>,
) -> Vec<Option<f64>> {
    let (mut real, mut real_chars, mut with_letter) = (0, 0, 0);
    for word in words {
        if word.chars().any(|c| !rules.is_symbol(c)) {
            real += 1;
            real_chars += chars(word);
        }
        with_letter += usize::from(has_letter(word));
    }
    let mean = (real > 0).then(|| ratio(real_chars, real));
    let times = |what: &str| text.matches(what).count();
    let gopher = &rules.gopher;
    let ellipses: usize = gopher.ellipses.iter().map(|ellipsis| times(ellipsis)).sum();
    let (mut all, mut bullets, mut cut_off) = (0, 0, 0);
    for line in lines(text) {
        all += 1;
        let starts = |bullet: &String| line.trim_start_matches(is_space).starts_with(bullet.as_str());
        bullets += usize::from(gopher.bullets.iter().any(starts));
        let ends = |ellipsis: &String| line.trim_end_matches(is_space).ends_with(ellipsis.as_str());
        cut_off += usize::from(gopher.ellipses.iter().any(ends));
    }
    let known = stop_words.map(|known| {
        let found: FxHashSet<&str> = words.iter().copied().filter(|word| known.contains(word)).collect();
        crate::text::to_f64(found.len())
    });
    let count = words.len();
    vec![
        Some(crate::text::to_f64(real)),
        Some(crate::text::to_f64(real)),
        mean,
        mean,
        Some(ratio(times(&gopher.hash), count)),
        Some(ratio(ellipses, count)),
        Some(ratio(bullets, all)),
        Some(ratio(cut_off, all)),
        Some(ratio(with_letter, count)),
        known,
    ]
}
