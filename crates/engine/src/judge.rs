//! The rules of quality with the settings of a run, for a crawl and for `crawl quality`.

use crate::{config::QualitySection, exit::Failure};
use crawl_model::{LanguageSource, Quality, declared_language};
use crawl_quality::{Assessment, Checker, LineRules, QualityError};
use std::path::Path;

/// Judges texts in their languages.
#[derive(Debug)]
pub struct Judge {
    checker: Checker,
    /// The language of all texts; else each text has its own.
    language: Option<String>,
    /// Fewest letters of a text whose language is identified.
    min_letters: usize,
    /// Lowest confidence at which an identified language is used.
    min_confidence: f64,
}

impl Judge {
    /// Takes the settings of a run.
    ///
    /// # Errors
    /// When one of them is out of its range, or the rules of the user's own cannot be read.
    pub fn new(section: &QualitySection) -> Result<Self, Failure> {
        let rules = match section.rules.as_str() {
            "" => LineRules::built_in()?,
            path => {
                let text = std::fs::read_to_string(path).map_err(|e| Failure::input(Path::new(path), &e))?;
                LineRules::with(&text).map_err(|problem| Failure::usage(format!("{path}: {problem}")))?
            }
        };
        let min_confidence = section.min_language_confidence;
        if !(0.0..=1.0).contains(&min_confidence) {
            return Err(Failure::usage(format!(
                "quality.min_language_confidence is {min_confidence}: it must be 0 to 1"
            )));
        }
        Ok(Self {
            checker: Checker::new(section.settings(), rules)?,
            language: language("quality.language", &section.language, "auto")?.map(str::to_owned),
            min_letters: section.min_language_letters,
            min_confidence,
        })
    }

    /// The rules and thresholds.
    #[must_use]
    pub fn checker(&self) -> &Checker {
        &self.checker
    }

    /// A text under all rules. `declared` is the language that its record or page declares, as a tag; empty for none.
    #[must_use]
    pub fn assess(&self, text: &str, declared: &str) -> Assessment {
        let (code, source) = self.language(text, declared);
        let mut assessment = self.checker.assess(text, code);
        assessment.language_source = source;
        assessment
    }

    /// Returns the quality of a text for its record.
    #[must_use]
    pub fn quality(&self, text: &str, declared: &str) -> Quality {
        self.checker.quality(&self.assess(text, declared))
    }

    /// Returns the language of a text: that of the setting, else the declared one, else the identified one.
    /// Identification needs a text that is long enough and a result that is sure.
    fn language(&self, text: &str, declared: &str) -> (&str, LanguageSource) {
        if let Some(code) = &self.language {
            return (code, LanguageSource::Setting);
        }
        if let Some(code) = declared_language(declared) {
            return (code, LanguageSource::Declared);
        }
        let enough = self
            .min_letters
            .checked_sub(1)
            .is_none_or(|before| text.chars().filter(|c| c.is_alphabetic()).nth(before).is_some());
        let found = enough.then(|| crawl_corpus::detect(text));
        match found.filter(|found| found.code != "und" && found.confidence >= self.min_confidence) {
            Some(found) => (found.code, LanguageSource::Detected),
            None => ("und", LanguageSource::None),
        }
    }
}

/// The ISO 639-1 code of a language that a setting names; none for the word that leaves it open.
///
/// # Errors
/// When it is no language.
pub fn language(setting: &str, asked: &str, open: &str) -> Result<Option<&'static str>, Failure> {
    if asked.eq_ignore_ascii_case(open) {
        return Ok(None);
    }
    crawl_model::language_code(asked).map(Some).ok_or_else(|| {
        Failure::usage(format!(
            "{setting}: \"{asked}\" is no language: give an ISO 639 code (en), a BCP 47 tag (en-US), a name (english), or {open}"
        ))
    })
}

impl From<QualityError> for Failure {
    fn from(error: QualityError) -> Self {
        Self::usage(error.to_string())
    }
}
