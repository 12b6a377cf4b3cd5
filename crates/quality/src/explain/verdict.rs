//! Decision tree: the causes of high repetition, and their remedies.

use crate::{Assessment, Checker, Reason, RuleSet, repetition, text::ratio};
use serde::Serialize;

/// Minimum share of a language's stop words in a text of that language: prose has twice as many.
const WRITTEN_IN: f64 = 0.2;

/// Cause of a text's repetition: the branches of the specification's tree, and further ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The text is short and not judged.
    ShortText,
    /// Stop words of another language than the assumed one.
    CommonWords,
    /// Lines of a page's frame.
    Boilerplate,
    /// Words with ever different neighbours.
    Terms,
    /// The same passages again and again.
    Passages,
    /// Runs of one character.
    Characters,
}

/// Cause of a text's ratios.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The branch of the tree.
    pub cause: Cause,
    /// Word ratio; the same with stop words; the same without lines of boilerplate.
    pub word_ratio: f64,
    /// Word ratio with stop words as other words.
    pub with_stop_words: f64,
    /// Without lines of boilerplate.
    pub without_boilerplate: f64,
    /// For [`Cause::CommonWords`], the language of the words.
    pub written_in: Option<String>,
}

impl Checker {
    /// Evaluates the tree; none if the ratios keep to their thresholds.
    pub(super) fn verdict(&self, text: &str, assessment: &Assessment) -> Option<Verdict> {
        let asked = self.settings.sets.contains(&RuleSet::Text);
        let fails = self.fails(assessment, &[RuleSet::Text]);
        if !asked || !(fails || assessment.short) {
            return None;
        }
        let plain = repetition::without_boilerplate(text, &self.line_rules.boilerplate);
        let words = repetition::slices(text);
        let mut verdict = Verdict {
            cause: Cause::Passages,
            word_ratio: self.ratio(&words, &assessment.language),
            with_stop_words: self.ratio(&words, ""),
            without_boilerplate: self.ratio(&repetition::slices(&plain), &assessment.language),
            written_in: None,
        };
        let broken = |rule: usize| assessment.failed.contains(&rule);
        verdict.cause = match () {
            () if assessment.short => Cause::ShortText,
            () if broken(repetition::WORD) && {
                verdict.written_in = self.written_in(&words, assessment);
                verdict.written_in.is_some()
            } =>
            {
                Cause::CommonWords
            }
            () if !self.fails(&self.assess(&plain, &assessment.language), &[RuleSet::Text]) => {
                Cause::Boilerplate
            }
            () if broken(repetition::NGRAM) => Cause::Passages,
            () if broken(repetition::WORD) && assessment.reason == Some(Reason::Term) => Cause::Terms,
            () if broken(repetition::WORD) => Cause::Passages,
            () => Cause::Characters,
        };
        Some(verdict)
    }

    /// Word ratio without the stop words of a language.
    fn ratio(&self, words: &[&str], language: &str) -> f64 {
        let list = self.line_rules.stop_words.of(language);
        let apart = repetition::countable_words(words, list, self.seed);
        repetition::word_ratio(&apart, &self.settings.text).ratio
    }

    /// Language whose stop words make the text fail. The text is written in it instead of the assumed one,
    /// and passes the word ratio without its stop words.
    fn written_in(&self, words: &[&str], assessment: &Assessment) -> Option<String> {
        let lettered = words.iter().filter(|word| crate::text::has_letter(word)).count();
        let share = |language: &str| {
            let list = self.line_rules.stop_words.of(language)?;
            let found = words.iter().filter(|word| list.contains(crate::text::folded(word).as_ref())).count();
            Some(ratio(found, lettered))
        };
        let own = share(&assessment.language).unwrap_or(0.0);
        let best = self
            .line_rules
            .stop_words
            .languages()
            .filter_map(|language| Some((language, share(language)?)))
            .max_by(|a, b| a.1.total_cmp(&b.1))?;
        let (language, most) = best;
        let kept = self.ratio(words, language) <= self.settings.text.max_word_repetition_ratio;
        (language != assessment.language && most > own && most >= WRITTEN_IN && kept)
            .then(|| language.to_owned())
    }
}
