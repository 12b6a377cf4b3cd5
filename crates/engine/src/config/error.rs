//! Errors in settings, for messages.

use std::{
    borrow::Cow,
    fmt::{self, Display},
};

/// A fault of the settings: source, key, reason, and the key that was perhaps meant.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigError {
    /// File with line, variable or flag.
    pub place: String,
    /// `section.key`.
    pub key: String,
    /// Description of the fault.
    pub problem: String,
    /// The nearest known key.
    pub nearest: Option<String>,
}

impl Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", shortened(&self.key))?;
        }
        f.write_str(&shortened(&self.problem))?;
        match &self.nearest {
            Some(nearest) => write!(f, "; did you mean \"{nearest}\"?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ConfigError {}

/// Characters of a key or a problem in a message: a problem repeats the value that is wrong.
const SHOWN_CHARS: usize = 1_000;

fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
        None => Cow::Borrowed(text),
    }
}

/// The first errors of the settings, one line each, and the number of the others; never empty.
#[derive(Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigErrors {
    /// The first 20 errors.
    pub shown: Vec<ConfigError>,
    /// Number of further errors that are not shown.
    pub more: usize,
}

/// Errors that are shown.
const SHOWN_ERRORS: usize = 20;

impl ConfigErrors {
    /// Adds an error, which is made only if it is shown.
    pub(super) fn add(&mut self, error: impl FnOnce() -> ConfigError) {
        if self.shown.len() < SHOWN_ERRORS {
            self.shown.push(error());
        } else {
            self.more += 1;
        }
    }

    pub(super) fn one(error: ConfigError) -> Self {
        Self { shown: vec![error], more: 0 }
    }
}

impl Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, error) in self.shown.iter().enumerate() {
            let gap = if number == 0 { "" } else { "\n" };
            write!(f, "{gap}{error}")?;
        }
        if self.more > 0 { write!(f, "\n{} more errors in the settings", self.more) } else { Ok(()) }
    }
}

impl std::error::Error for ConfigErrors {}
