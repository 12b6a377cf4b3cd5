//! Errors of rules and settings.

/// Reason why documents cannot be assessed.
#[derive(Debug, thiserror::Error)]
pub enum QualityError {
    /// The rules (`config/rules/quality.toml`, or others in its place) cannot be read.
    #[error("rules of quality: {0}")]
    Rules(String),
    /// A setting is out of its range.
    #[error("quality.{key} is {given}: it must be {range}")]
    Setting {
        /// Key below `quality`, with its section.
        key: String,
        /// Given value.
        given: String,
        /// Allowed range.
        range: &'static str,
    },
}
