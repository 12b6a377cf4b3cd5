//! What can go wrong.

use std::io;

/// Why a corpus could not be worked on.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// A file of the work directory cannot be written or read again.
    #[error("the work directory (by default {dir}): {0}", dir = std::env::temp_dir().display())]
    Work(#[source] io::Error),
    /// What was asked for cannot be written.
    #[error("the output: {0}")]
    Output(#[source] io::Error),
    /// A setting is out of its range.
    #[error("{name} is {given}: it must be {range}")]
    Setting {
        /// Name of the setting.
        name: &'static str,
        /// As given.
        given: String,
        /// What it may be.
        range: &'static str,
    },
    /// More documents than 32 bits can number.
    #[error("more than 4,294,967,294 documents in one run")]
    TooMany,
}
