//! Repetition and quality of one document.
//!
//! A [`Checker`] takes a text and its language and gives a value for each [`Rule`]: the ratios of a repetition filter, the
//! rules of Gopher, C4 and FineWeb with their published thresholds. It says which rules the text does not keep to, and
//! drops nothing: that is for others. [`Checker::explain`] shows in the text what a failure comes from, and what can be done.
//!
//! # The ratios ([`RuleSet::Text`])
//!
//! The keys are those of the specification of the repetition filter (`quality.text.…`), which gives the first threshold and
//! leaves formulas and the other thresholds open.
//!
//! | rule | value | threshold |
//! |---|---|---|
//! | `text.word_repetition_ratio` | times of the most frequent content word ÷ content words | `max_word_repetition_ratio` = 0.2; for a term `max_term_repetition_ratio` = 0.4 |
//! | `text.char_repetition_ratio` | characters in runs of `char_run` = 4 equal characters and more ÷ characters; white space aside | `max_char_repetition_ratio` = 0.2 |
//! | `text.ngram_repetition` | words that stand in an n-gram of `ngram_words` = 10 words that stood before ÷ words (those with a letter or digit, in lower case) | `max_ngram_repetition` = 0.75 |
//!
//! Content words are words with a letter, in lower case, that are no stop words of the text's language (function
//! words, `config/rules/stop_words.toml`; a language without a list has none). With fewer than `min_content_words` = 5 of them the word ratio is 0, for the
//! reason `too_few_content_words`. A word is a term if at most two fifths of its occurrences stand between content words that
//! it has stood beside before ([`Reason::Term`]): the remedy of the specification for legitimate repetition, a higher threshold, applied
//! where it fits. A text of fewer than `min_words` = 50 words is short and not judged by these rules.
//!
//! # The published rules
//!
//! Words are those of UAX #29 with marks of punctuation as words, as tokenizers have them. Values and decisions are those of
//! datatrove (the reference of FineWeb), which `benches/quality_rules.py` compares on the same words. The values are
//! described at the modules' functions; names are datatrove's reasons.

mod c4;
mod checker;
mod error;
mod explain;
mod fineweb;
mod gopher_quality;
mod gopher_repetition;
mod grams;
mod repetition;
mod rule;
mod rules;
mod settings;
mod stop_words;
mod text;

pub use checker::Checker;
pub use error::QualityError;
pub use explain::{Cause, Explanation, Finding, Place, RepeatedWord, Verdict};
pub use rule::{Assessment, Limit, Reason, Rule};
pub use rules::LineRules;
pub use settings::{
    C4Settings, FinewebSettings, GopherQualitySettings, GopherRepetitionSettings, RuleSet, Settings,
    TextSettings,
};
pub use text::{lines, sentences, words};
