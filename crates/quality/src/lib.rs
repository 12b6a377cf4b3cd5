//! Repetition and quality of one document.
//!
//! A [`Checker`] takes a text and its language and gives a value for each [`Rule`]. The rules are the ratios
//! of a repetition filter, and those of Gopher, C4 and FineWeb with their published thresholds
//! (`config/rules/quality.toml`). It reports
//! the broken rules and drops nothing. [`Checker::explain`] shows the cause of a failure in the text, and the
//! remedy.
//!
//! # The ratios ([`RuleSet::Text`])
//!
//! The keys are those of the specification of the repetition filter (`quality.text.…`), which gives the first
//! threshold and leaves formulas and the other thresholds open.
//!
//! | rule | value | threshold |
//! |---|---|---|
//! | `text.word_repetition_ratio` | count of the most frequent content word ÷ content words | `max_word_repetition_ratio` = 0.2; for a term `max_term_repetition_ratio` = 0.4 |
//! | `text.char_repetition_ratio` | characters in runs of at least `char_run` = 4 equal characters ÷ characters; white space aside | `max_char_repetition_ratio` = 0.2 |
//! | `text.ngram_repetition` | words in a repeated n-gram of `ngram_words` = 10 words ÷ words (those with a letter or digit, in lower case) | `max_ngram_repetition` = 0.75 |
//!
//! Content words are words with a letter, in lower case, without the stop words of the text's language. Stop
//! words are function words (`config/rules/stop_words.toml`); a language without a list has none. With fewer
//! than `min_content_words` = 5 of them the word ratio is 0, for the reason `too_few_content_words`.
//!
//! A word is a term if at most two fifths of its occurrences stand between known neighbours among content
//! words ([`Reason::Term`]). A term has a higher threshold, which is the specification's remedy for
//! legitimate repetition. A text of fewer than `min_words` = 50 words is short, and these rules do not judge
//! it.
//!
//! # The published rules
//!
//! Words are those of UAX #29 with punctuation marks as words, as in tokenizers. Values and decisions are
//! those of datatrove (the reference of FineWeb), with which `benches/quality_rules.py` compares them on the
//! same words. The functions of the modules describe the values; names are datatrove's reasons.

mod assessment;
mod c4;
mod checker;
mod error;
mod explain;
mod fineweb;
mod gopher_quality;
mod gopher_repetition;
mod grams;
mod limit;
mod repetition;
mod rule;
mod rules;
mod settings;
mod stop_words;
mod text;

pub use assessment::{Assessment, Reason};
pub use checker::Checker;
pub use error::QualityError;
pub use explain::{Cause, Explanation, Finding, Occurrence, RepeatedWord, Verdict};
pub use limit::Limit;
pub use rule::Rule;
pub use rules::{LineRules, Overlay};
pub use settings::{
    C4Thresholds, FinewebThresholds, GopherQualityThresholds, GopherRepetitionThresholds, LanguageThresholds,
    RuleSet, Settings, TextThresholds, Thresholds,
};
pub use text::{lines, sentences, words};
