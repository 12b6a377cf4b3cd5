//! The rules of quality with the settings of a run, for a crawl and for `crawl quality`.

use crate::{config::QualitySection, exit::Failure};
use crawl_model::Quality;
use crawl_quality::{Assessment, Checker, LineRules, QualityError};

/// Judges texts in their languages.
#[derive(Debug)]
pub struct Judge {
    checker: Checker,
    /// The language of all texts; else it is identified.
    language: Option<String>,
}

impl Judge {
    /// With the settings of a run.
    ///
    /// # Errors
    /// When one of them is out of its range, or the rules of the user's own cannot be read.
    pub fn new(section: &QualitySection) -> Result<Self, Failure> {
        let rules = match section.rules.as_str() {
            "" => LineRules::built_in()?,
            path => std::fs::read_to_string(path)
                .map_err(|e| e.to_string())
                .and_then(|text| LineRules::with(&text).map_err(|e| e.to_string()))
                .map_err(|problem| Failure::usage(format!("{path}: {problem}")))?,
        };
        let checker = Checker::new(section.settings(), rules)?;
        Ok(Self { checker, language: Some(section.language.clone()).filter(|code| code != "auto") })
    }

    /// The rules and thresholds.
    #[must_use]
    pub fn checker(&self) -> &Checker {
        &self.checker
    }

    /// A text under all rules.
    #[must_use]
    pub fn assess(&self, text: &str) -> Assessment {
        let language = match &self.language {
            Some(code) => code.as_str(),
            None => crawl_corpus::detect(text).code,
        };
        self.checker.assess(text, language)
    }

    /// What a record says of a text.
    #[must_use]
    pub fn quality(&self, text: &str) -> Quality {
        self.checker.quality(&self.assess(text))
    }
}

impl From<QualityError> for Failure {
    fn from(error: QualityError) -> Self {
        Self::usage(error.to_string())
    }
}
