//! Errors of an analysis.

use std::io;

/// Error of an analysis.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// A file of the work directory cannot be written or read.
    #[error("the work directory (by default {dir}): {0}", dir = std::env::temp_dir().display())]
    Work(io::Error),
    /// An output cannot be written.
    #[error("the output: {0}")]
    Output(io::Error),
    /// A setting is out of its range.
    #[error("{name} is {given}: it must be {range}")]
    Setting {
        /// Name of the setting.
        name: &'static str,
        /// Given value.
        given: String,
        /// Allowed range.
        range: &'static str,
    },
    /// More documents than 32 bits can number.
    #[error("more than 4,294,967,294 documents in one run")]
    TooMany,
}
