//! Checks of a document by all enabled rules.

use crate::{
    QualityError,
    assessment::{Assessment, Reason},
    c4, fineweb, gopher_quality, gopher_repetition,
    grams::Grams,
    repetition::{self, CHAR, NGRAM, WORD},
    rule::{Rule, rules},
    rules::LineRules,
    settings::{RuleSet, Settings},
};
use crawl_model::{LanguageSource, Quality};
use rustc_hash::FxHashSet;
use std::{
    borrow::Cow,
    hash::{BuildHasher, RandomState},
};

/// Judges documents; made once for many.
#[derive(Debug)]
pub struct Checker {
    pub(crate) settings: Settings,
    pub(crate) line_rules: LineRules,
    rules: Vec<Rule>,
    /// Seed of hashes, unknown to the authors of texts.
    pub(crate) seed: u64,
}

impl Checker {
    /// Creates a checker with thresholds and the rules' word lists.
    ///
    /// # Errors
    /// When a setting is out of its range.
    pub fn new(settings: Settings, line_rules: LineRules) -> Result<Self, QualityError> {
        settings.check()?;
        let seed = RandomState::new().hash_one(0_u8);
        Ok(Self { rules: rules(&settings), settings, line_rules, seed })
    }

    /// Rules of the enabled sets: set by set, in the order of the values.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The settings in force.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Words of Gopher's rule of stop words: the paper's eight for English, else the stop words of the
    /// language; none without a list.
    #[must_use]
    pub fn gopher_stop_words(&self, language: &str) -> Option<FxHashSet<&str>> {
        if language == "en" {
            return Some(self.line_rules.gopher.stop_words.iter().map(String::as_str).collect());
        }
        let list = self.line_rules.stop_words.of(language)?;
        Some(list.iter().map(String::as_str).collect())
    }

    /// Lines that C4 keeps of a text, in order: stripped, and without citations.
    #[must_use]
    pub fn c4_lines<'t>(&self, text: &'t str) -> Vec<Cow<'t, str>> {
        crate::lines(text)
            .map(|line| c4::line_verdict(line, &self.line_rules.c4, &self.settings.c4))
            .filter(|(verdict, _)| *verdict == c4::LineVerdict::Kept)
            .map(|(_, line)| line)
            .collect()
    }

    /// Assesses a text by all rules. `language` is its ISO 639-1 code (`en`, `en-gb`), or `und`. A caller
    /// with another source than a setting sets [`Assessment::language_source`].
    ///
    /// Never fails; the time is linear in the text.
    #[must_use]
    pub fn assess(&self, text: &str, language: &str) -> Assessment {
        let language = primary(language);
        let mut out = Assessment {
            language: language.clone().into_owned(),
            language_source: LanguageSource::Setting,
            words: 0,
            content_words: 0,
            short: false,
            reason: None,
            values: Vec::with_capacity(self.rules.len()),
            failed: Vec::new(),
        };
        let words = repetition::slices(text);
        let grams = Grams::of(&words, self.seed);
        let mut order = Vec::new();
        let settings = &self.settings;
        for set in self.sets() {
            let first = out.values.len();
            let values = match set {
                RuleSet::Text => self.text(text, &words, &mut out),
                RuleSet::GopherRepetition => {
                    gopher_repetition::values(text, &grams, &settings.gopher_repetition)
                }
                RuleSet::GopherQuality => {
                    let known = self.gopher_stop_words(&language);
                    gopher_quality::values(text, &words, &self.line_rules, known.as_ref())
                }
                RuleSet::C4 => {
                    let (values, found) = c4::values(text, &self.line_rules, &settings.c4);
                    order.extend(found.iter().map(|at| first + at));
                    values
                }
                RuleSet::Fineweb => fineweb::values(text, words.len(), &self.line_rules, &settings.fineweb),
            };
            out.values.extend(values);
        }
        out.failed = self.failed(&out, &order);
        out
    }

    fn sets(&self) -> impl Iterator<Item = RuleSet> {
        RuleSet::ALL.into_iter().filter(|set| self.settings.sets.contains(set))
    }

    /// Ratios of the text, without its boilerplate if requested.
    fn text(&self, text: &str, words: &[&str], out: &mut Assessment) -> Vec<Option<f64>> {
        let settings = &self.settings.text;
        let cleaned = match self.settings.remove_boilerplate {
            true => repetition::without_boilerplate(text, &self.line_rules.boilerplate),
            false => text.into(),
        };
        let own = matches!(cleaned, Cow::Owned(_)).then(|| repetition::slices(&cleaned));
        let list = self.line_rules.stop_words.of(&out.language);
        let words = repetition::countable_words(own.as_deref().unwrap_or(words), list, self.seed);
        let found = repetition::word_ratio(&words, settings);
        (out.words, out.content_words, out.reason) = (found.words, found.content_words, found.reason);
        out.short = found.words < settings.min_words;
        let mut values = vec![None; 3];
        for (at, value) in [
            (WORD, found.ratio),
            (CHAR, repetition::char_ratio(&cleaned, settings.char_run)),
            (NGRAM, repetition::ngram_ratio(&words, settings, self.seed)),
        ] {
            if let Some(place) = values.get_mut(at) {
                *place = Some(value);
            }
        }
        values
    }

    /// Returns true if a value breaks the rule at a position.
    fn is_broken(&self, out: &Assessment, at: usize) -> bool {
        let (Some(rule), Some(Some(value))) = (self.rules.get(at), out.values.get(at)) else { return false };
        let (value, text) = (*value, &self.settings.text);
        match (rule.set, at) {
            (RuleSet::Text, _) if out.short => false,
            (RuleSet::Text, WORD) if out.reason == Some(Reason::Term) => {
                value > text.max_term_repetition_ratio
            }
            _ => rule.limit.is_broken_by(value),
        }
    }

    /// Positions of the broken rules; those of `order` come first in their set, in that order.
    fn failed(&self, out: &Assessment, order: &[usize]) -> Vec<usize> {
        let mut failed: Vec<usize> = (0..self.rules.len()).filter(|at| self.is_broken(out, *at)).collect();
        let set = |at: usize| self.rules.get(at).map(|rule| rule.set);
        failed
            .sort_by_key(|at| (set(*at), order.iter().position(|other| other == at).unwrap_or(order.len())));
        failed
    }

    /// Returns true if a document fails a rule of one of these sets.
    #[must_use]
    pub fn fails(&self, assessment: &Assessment, sets: &[RuleSet]) -> bool {
        let set = |at: &usize| self.rules.get(*at).map(|rule| rule.set);
        assessment.failed.iter().filter_map(set).any(|set| sets.contains(&set))
    }

    /// Quality of a document for a record: values rounded to six decimal places.
    #[must_use]
    pub fn quality(&self, assessment: &Assessment) -> Quality {
        let name = |at: &usize| self.rules.get(*at).map(|rule| rule.name.clone());
        let scores = self.rules.iter().zip(&assessment.values);
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Quality {
            language: assessment.language.clone(),
            language_source: Some(assessment.language_source),
            words: count(assessment.words),
            content_words: count(assessment.content_words),
            skipped: assessment.short.then(|| "short_text".to_owned()),
            reason: assessment.reason.map(|reason| reason.name().to_owned()),
            failed: assessment.failed.iter().filter_map(name).collect(),
            scores: scores
                .filter_map(|(rule, value)| Some((rule.name.clone(), ((*value)? * 1e6).round() / 1e6)))
                .collect(),
        }
    }
}

/// Language of a tag: `en` of `en-GB`.
fn primary(tag: &str) -> Cow<'_, str> {
    let code = tag.split(['-', '_']).next().unwrap_or_default();
    if code.bytes().all(|b| b.is_ascii_lowercase()) { code.into() } else { code.to_ascii_lowercase().into() }
}
