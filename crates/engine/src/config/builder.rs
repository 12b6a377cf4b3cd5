//! Settings of a program, by their keys.

use super::{Config, ConfigErrors, Override, environment, load};
use std::path::PathBuf;
use toml::Value;

/// Place of a setting of the program in messages.
const PROGRAM: &str = "program";

/// Builder of settings. It checks each value as it checks a file, and a later source replaces an earlier one:
/// defaults, file, environment, program.
///
/// ```
/// use crawl_engine::config::Config;
///
/// let config = Config::builder()
///     .with("crawl.limit", 10)
///     .with("politeness.delay", "200ms")
///     .with("crawl.exclude", vec!["/archive/"])
///     .build()?;
/// assert_eq!(config.crawl.limit.0, Some(10));
///
/// let error = Config::builder().with("crawl.limti", 10).build().unwrap_err();
/// assert!(error.to_string().contains("did you mean \"limit\"?"), "{error}");
/// # Ok::<(), crawl_engine::config::ConfigErrors>(())
/// ```
#[derive(Clone, Default)]
pub struct ConfigBuilder {
    file: Option<PathBuf>,
    is_environment_read: bool,
    overrides: Vec<Override>,
}

impl ConfigBuilder {
    /// Reads a settings file, such as `crawl.toml`.
    #[must_use]
    pub fn with_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.file = Some(path.into());
        self
    }

    /// Reads the variables `CRAWL_SECTION_KEY` of the process.
    #[must_use]
    pub const fn with_environment(mut self) -> Self {
        self.is_environment_read = true;
        self
    }

    /// Sets the key `section.key` of `config/crawl.toml` to a value of its type.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        self.overrides.push(Override::new(PROGRAM, key, value));
        self
    }

    /// Merges the sources.
    ///
    /// # Errors
    /// Every unknown or ill-typed key, each with its place.
    pub fn build(self) -> Result<Config, ConfigErrors> {
        let mut variables = Vec::new();
        if self.is_environment_read {
            variables.extend(environment().map_err(ConfigErrors::one)?);
        }
        load(self.file.as_deref(), variables.into_iter(), self.overrides)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_program_sets_values_as_a_file_does() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("crawl.toml");
        std::fs::write(&file, "[crawl]\nlimit = 7\ndepth = 2\n").unwrap();
        let config = Config::builder()
            .with_file(&file)
            .with("crawl.limit", 10)
            .with("politeness.delay", "200ms")
            .with("crawl.exclude", vec!["/archive/"])
            .build()
            .unwrap();
        assert_eq!((config.crawl.limit.0, config.crawl.depth.0), (Some(10), Some(2)));
        assert_eq!(config.politeness.delay, Duration::from_millis(200));
        assert_eq!(config.crawl.exclude[0].as_str(), "/archive/");
    }

    #[test]
    fn an_unknown_key_or_value_is_an_error_that_names_it() {
        let error = |builder: ConfigBuilder| builder.build().unwrap_err().to_string();
        assert_eq!(
            error(Config::builder().with("crawl.limti", 10)),
            "program: crawl.limti: unknown key; did you mean \"limit\"?"
        );
        assert_eq!(
            error(Config::builder().with("crwl.limit", 10)),
            "program: crwl.limit: unknown key; did you mean \"crawl\"?"
        );
        assert_eq!(error(Config::builder().with("limit", 10)), "program: limit: unknown key");
        let zero = error(Config::builder().with("crawl.limit", 0).with("fetch.delay", "1s"));
        let lines: Vec<&str> = zero.lines().collect();
        assert!(lines[0].starts_with("program: crawl.limit: must be at least 1"), "{zero}");
        assert!(lines[1].contains("politeness.delay"), "{zero}");
    }
}
