//! Quality rules with the settings of a run, for a crawl and for `crawl quality`.

use crate::{config::Config, exit::Failure};
use crawl_model::{LanguageSource, Quality, declared_language};
use crawl_quality::{Assessment, Checker, LanguageThresholds, LineRules, Overlay, QualityError, Thresholds};
use std::path::{Path, PathBuf};

/// Files of a directory of rules that the rules of quality are read from.
const FILES: [&str; 2] = ["quality.toml", "stop_words.toml"];

/// Judges texts in their languages.
#[derive(Debug)]
pub struct QualityJudge {
    checker: Checker,
    thresholds: Thresholds,
    /// The language of all texts; else each text has its own.
    language: Option<String>,
}

/// Loads the rules of quality: the built-in ones, those of a directory over them, and those of a file over both. An
/// empty name means none.
///
/// # Errors
/// When a file cannot be read, or has a fault, which is named with its line and key.
pub fn rules(dir: &str, file: &str) -> Result<LineRules, Failure> {
    let mut overlays = Vec::new();
    let in_dir = FILES.iter().filter(|_| !dir.is_empty()).map(|name| Path::new(dir).join(name));
    let own = Some(file).filter(|file| !file.is_empty()).map(PathBuf::from);
    for path in in_dir.filter(|path| path.exists()).chain(own) {
        let text = std::fs::read_to_string(&path).map_err(|e| Failure::input(&path, &e))?;
        overlays.push(Overlay { name: path.display().to_string(), text });
    }
    Ok(LineRules::load(&overlays)?)
}

impl QualityJudge {
    /// Takes the settings of a run.
    ///
    /// # Errors
    /// When the rules of the user's own cannot be read or have a fault, or the language is none.
    pub fn new(config: &Config) -> Result<Self, Failure> {
        let section = &config.quality;
        let rules = rules(&config.extract.rules, &section.rules)?;
        let thresholds = rules.thresholds.clone();
        Ok(Self {
            checker: Checker::new(section.settings(&thresholds), rules)?,
            thresholds,
            language: language("quality.language", &section.language, "auto")?.map(str::to_owned),
        })
    }

    /// Effective thresholds.
    #[must_use]
    pub fn thresholds(&self) -> &Thresholds {
        &self.thresholds
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
        let LanguageThresholds { min_letters, min_confidence } = self.thresholds.language;
        let enough = min_letters
            .checked_sub(1)
            .is_none_or(|before| text.chars().filter(|c| c.is_alphabetic()).nth(before).is_some());
        let found = enough.then(|| crawl_corpus::detect(text));
        match found.filter(|found| found.code != "und" && found.confidence >= min_confidence) {
            Some(found) => (found.code, LanguageSource::Detected),
            None => ("und", LanguageSource::None),
        }
    }
}

/// The ISO 639-1 code of a language that a setting names; none for the word that leaves it open.
///
/// # Errors
/// When it is no language.
pub fn language(setting: &str, value: &str, open: &str) -> Result<Option<&'static str>, Failure> {
    if value.eq_ignore_ascii_case(open) {
        return Ok(None);
    }
    crawl_model::language_code(value).map(Some).ok_or_else(|| {
        Failure::usage(format!(
            "{setting}: \"{value}\" is no language: give an ISO 639 code (en), a BCP 47 tag (en-US), a name (english), or {open}"
        ))
    })
}

impl From<QualityError> for Failure {
    fn from(error: QualityError) -> Self {
        Self::usage(error.to_string())
    }
}
