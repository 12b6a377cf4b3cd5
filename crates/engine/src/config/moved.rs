//! Keys of earlier versions and their present places. A file, variable or flag that sets one is an error, which
//! names the present place.

use NewPlace::{Constant, Key, Quality};

/// Place of the value of a former key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NewPlace {
    /// Another key of the settings.
    Key(&'static str),
    /// A key of the rules of quality, `config/rules/quality.toml`.
    Quality(&'static str),
    /// A constant of the program, with this value.
    Constant(&'static str),
}

/// Every key that was moved or removed, section by section.
pub(super) const MOVED: &[(&str, NewPlace)] = &[
    ("crawl.soft404_sections", Constant("8")),
    ("fetch.host_concurrency", Key("politeness.host_concurrency")),
    ("fetch.delay", Key("politeness.delay")),
    ("fetch.max_crawl_delay", Key("politeness.max_crawl_delay")),
    ("fetch.address_share", Key("politeness.address_share")),
    ("fetch.min_rate", Constant("256 B")),
    ("fetch.max_sitemap", Constant("50 MiB")),
    ("fetch.max_redirects", Constant("10")),
    ("fetch.keep_alive", Constant("30s")),
    ("fetch.keep_alive_per_host", Constant("16, and at most politeness.host_concurrency")),
    ("strategies.trial_pages", Constant("4")),
    ("strategies.reexamine_pages", Constant("200")),
    ("chrome.consent", Constant("2s")),
    ("chrome.scroll", Constant("4s")),
    ("chrome.scrolls", Constant("12")),
    ("chrome.block_media", Constant("true")),
    ("chrome.block_fonts", Constant("true")),
    ("chrome.recycle_pages", Constant("500")),
    ("politeness.forgiveness", Constant("0.2")),
    ("politeness.break_after", Constant("5")),
    ("traps.path_segments", Constant("24")),
    ("traps.segment_repeats", Constant("3")),
    ("traps.parameters", Constant("12")),
    ("traps.new_page_credit", Constant("20")),
    ("traps.duplicate_cost", Constant("10")),
    ("extract.deadline", Constant("5s")),
    ("near_duplicates.permutations", Constant("64")),
    ("near_duplicates.bands", Constant("0, which finds a number for near_duplicates.jaccard")),
    ("near_duplicates.min_shingles", Constant("20")),
    ("duplicates.pairs_per_group", Constant("10000")),
    ("duplicates.max_record", Constant("8 MiB")),
    ("quality.max_record", Constant("8 MiB")),
    ("quality.min_language_letters", Quality("language.min_letters")),
    ("quality.min_language_confidence", Quality("language.min_confidence")),
    ("quality.text.remove_boilerplate", Key("quality.remove_boilerplate")),
    ("quality.text.max_word_repetition_ratio", Quality("text.max_word_repetition_ratio")),
    ("quality.text.max_term_repetition_ratio", Quality("text.max_term_repetition_ratio")),
    ("quality.text.max_char_repetition_ratio", Quality("text.max_char_repetition_ratio")),
    ("quality.text.char_run", Quality("text.char_run")),
    ("quality.text.max_ngram_repetition", Quality("text.max_ngram_repetition")),
    ("quality.text.ngram_words", Quality("text.ngram_words")),
    ("quality.text.min_content_words", Quality("text.min_content_words")),
    ("quality.text.min_words", Quality("text.min_words")),
    ("quality.gopher_repetition.dup_line_frac", Quality("gopher_repetition.dup_line_frac")),
    ("quality.gopher_repetition.dup_para_frac", Quality("gopher_repetition.dup_para_frac")),
    ("quality.gopher_repetition.dup_line_char_frac", Quality("gopher_repetition.dup_line_char_frac")),
    ("quality.gopher_repetition.dup_para_char_frac", Quality("gopher_repetition.dup_para_char_frac")),
    ("quality.gopher_repetition.top_n_grams", Quality("gopher_repetition.top_n_grams")),
    ("quality.gopher_repetition.dup_n_grams", Quality("gopher_repetition.dup_n_grams")),
    ("quality.gopher_quality.min_doc_words", Quality("gopher_quality.min_doc_words")),
    ("quality.gopher_quality.max_doc_words", Quality("gopher_quality.max_doc_words")),
    ("quality.gopher_quality.min_avg_word_length", Quality("gopher_quality.min_avg_word_length")),
    ("quality.gopher_quality.max_avg_word_length", Quality("gopher_quality.max_avg_word_length")),
    ("quality.gopher_quality.max_symbol_word_ratio", Quality("gopher_quality.max_symbol_word_ratio")),
    ("quality.gopher_quality.max_bullet_lines_ratio", Quality("gopher_quality.max_bullet_lines_ratio")),
    ("quality.gopher_quality.max_ellipsis_lines_ratio", Quality("gopher_quality.max_ellipsis_lines_ratio")),
    ("quality.gopher_quality.max_non_alpha_words_ratio", Quality("gopher_quality.max_non_alpha_words_ratio")),
    ("quality.gopher_quality.min_stop_words", Quality("gopher_quality.min_stop_words")),
    ("quality.c4.min_num_sentences", Quality("c4.min_num_sentences")),
    ("quality.c4.min_words_per_line", Quality("c4.min_words_per_line")),
    ("quality.c4.max_word_length", Quality("c4.max_word_length")),
    ("quality.fineweb.line_punct_thr", Quality("fineweb.line_punct_thr")),
    ("quality.fineweb.short_line_thr", Quality("fineweb.short_line_thr")),
    ("quality.fineweb.short_line_length", Quality("fineweb.short_line_length")),
    ("quality.fineweb.char_duplicates_ratio", Quality("fineweb.char_duplicates_ratio")),
    ("quality.fineweb.new_line_ratio", Quality("fineweb.new_line_ratio")),
    ("serve.max_body", Constant("256 KiB")),
    ("channels.fetched", Constant("8")),
    ("channels.extracted", Constant("16")),
    ("channels.cleaned", Constant("64")),
];

/// Returns true if an earlier version had this key, such as `fetch.delay`.
#[must_use]
pub fn is_former_key(key: &str) -> bool {
    place_of(key).is_some()
}

/// Returns the present place of a former key.
pub(super) fn place_of(key: &str) -> Option<NewPlace> {
    MOVED.iter().find(|(former, _)| *former == key).map(|(_, now)| *now)
}

/// Returns the former key that a variable of the environment set.
pub(super) fn key_of_variable(name: &str) -> Option<(&'static str, NewPlace)> {
    MOVED.iter().find(|(former, _)| super::variable_of(former) == name).copied()
}

/// Returns true if all keys of a section were moved or removed, and the section with them.
pub(super) fn is_section(section: &str) -> bool {
    let has_key =
        |(key, _): &(&str, NewPlace)| key.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'));
    MOVED.iter().any(has_key)
}

impl NewPlace {
    /// Description for a message about a file or a flag.
    pub(super) fn problem(self) -> String {
        match self {
            Key(key) => format!("moved to {key}"),
            Quality(key) => format!(
                "moved to the rules: set {key} in quality.toml of the directory of extract.rules (--rules), or in the \
                 file of quality.rules"
            ),
            Constant(value) => format!("removed: the value is always {value}"),
        }
    }

    /// Description for a message about a variable.
    pub(super) fn problem_of_variable(self) -> String {
        match self {
            Key(key) => format!("moved to {}", super::variable_of(key)),
            other => other.problem(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{DEFAULTS, Override, load, section_of, tests::with_file};
    use std::{collections::BTreeSet, iter};
    use toml::Table;

    #[test]
    fn moved_keys_name_their_new_place() {
        for (key, now) in MOVED {
            let (section, name) = key.rsplit_once('.').unwrap();
            let expected = format!("{key}: {}", now.problem());
            assert_eq!(
                with_file(&format!("\n[{section}]\n{name} = 1\n")).unwrap_err(),
                format!("FILE:3: {expected}")
            );
            let variable = super::super::variable_of(key);
            let error = load(None, iter::once((variable.clone(), "1".to_owned())), vec![]).unwrap_err();
            assert_eq!(error.to_string(), format!("environment: {variable}: {}", now.problem_of_variable()));
            let flag = Override { flag: "--flag", key, value: 1.into() };
            let error = load(None, iter::empty(), vec![flag]).unwrap_err();
            assert_eq!(error.to_string(), format!("--flag: {expected}"));
        }
    }

    #[test]
    fn moved_keys_are_gone_and_their_new_keys_exist() {
        let defaults: Table = DEFAULTS.parse().unwrap();
        let rules: Table = include_str!("../../../../config/rules/quality.toml").parse().unwrap();
        let has = |table: &Table, key: &str| {
            let (section, name) = key.rsplit_once('.').unwrap();
            section_of(table, section).is_some_and(|section| section.contains_key(name))
        };
        for (key, now) in MOVED {
            assert!(!has(&defaults, key), "{key} is a setting");
            match now {
                Key(key) => assert!(has(&defaults, key), "{key}"),
                Quality(key) => assert!(has(&rules, key), "{key}"),
                Constant(value) => assert!(!value.is_empty()),
            }
        }
        assert_eq!(MOVED.iter().map(|(key, _)| key).collect::<BTreeSet<_>>().len(), MOVED.len());
    }

    #[test]
    fn removed_sections_are_errors_even_when_empty() {
        assert_eq!(with_file("[channels]\n").unwrap_err(), "FILE:1: channels: the section was removed");
        assert_eq!(
            with_file("[quality.text]\n").unwrap_err(),
            "FILE:1: quality.text: the section was removed"
        );
        let error = with_file("[channels]\nfetchd = 1\n").unwrap_err();
        assert_eq!(error, "FILE:2: channels.fetchd: unknown key");
        let error = with_file("quality.text = 7\n").unwrap_err();
        assert_eq!(error, "FILE:1: quality.text: the section was removed");
    }
}
