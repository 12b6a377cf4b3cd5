//! Errors of outputs.

use crawl_model::StoreError;
use std::io;

/// Advice for an output or a state that cannot be written.
pub const WRITE_ADVICE: &str = "free disk space, or remove the file or folder that blocks the path, then run the same command again to resume";

/// Reasons for which an output cannot be opened or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The output cannot be written.
    #[error("{name}: cannot be written; {WRITE_ADVICE}")]
    Write {
        /// The file.
        name: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The output holds something that cannot be read, or lacks what was written.
    #[error("{name}: {what}")]
    Damaged {
        /// The file.
        name: String,
        /// The damage, and the way out.
        what: String,
    },
    /// Another process writes the output.
    #[error("{name}: {holder} writes it; wait for it to end, or name another file")]
    Busy {
        /// The file.
        name: String,
        /// The process.
        holder: String,
    },
    /// The reader of standard output has gone.
    #[error("the reader of standard output has closed it")]
    ClosedPipe,
    /// The reader of standard output takes nothing, and the run was told to stop.
    #[error("the reader of standard output takes nothing")]
    Abandoned,
    /// The length of the output cannot be stored, or a record cannot be written as JSON, which is a bug.
    #[error(transparent)]
    Store(#[from] StoreError),
}
