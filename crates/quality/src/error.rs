//! Errors of rules and settings.

/// Reason why documents cannot be assessed.
#[derive(Debug, thiserror::Error)]
pub enum QualityError {
    /// The rules (`config/rules/quality.toml`, or a file over it) cannot be read.
    #[error("{0}")]
    Rules(String),
    /// A threshold is out of its range.
    #[error("quality.{key} is {given}: it must be {range}")]
    Setting {
        /// Key of `quality.toml`, with its section.
        key: String,
        /// Given value.
        given: String,
        /// Allowed range.
        range: &'static str,
    },
}
