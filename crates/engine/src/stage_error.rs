//! Errors of the stages.

use crawl_model::StoreError;
use crawl_output::OutputError;
use crawl_projects::SaveError;
use std::time::Duration;

/// Reason why a stage ended before its input did.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StageError {
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An output cannot be opened or written.
    #[error(transparent)]
    Output(OutputError),
    /// The project's database cannot be written.
    #[error("{name}: {source}")]
    Project {
        /// The database.
        name: String,
        /// Cause.
        source: SaveError,
    },
    /// Requests have failed on this machine for too long.
    #[error(
        "no request could be made for {lasting:?}: {words}; the state is kept, and the same command continues"
    )]
    Outage {
        /// Time without a request.
        lasting: Duration,
        /// Missing resource and remedy.
        words: String,
    },
    /// A bug.
    #[error("the stage \"{stage}\" panicked: {words}")]
    Panicked {
        /// Name of the stage.
        stage: &'static str,
        /// Message of the panic.
        words: String,
    },
    /// The next stage has ended. Its own error has the reason.
    #[error("the next stage has gone")]
    Downstream,
}

impl From<OutputError> for StageError {
    fn from(error: OutputError) -> Self {
        match error {
            OutputError::Store(error) => Self::Store(error),
            error => Self::Output(error),
        }
    }
}
