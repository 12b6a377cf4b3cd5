//! Errors of the stages.

use crate::{exit::WAY_OUT, projects::KeepError};
use crawl_model::StoreError;
use std::{io, time::Duration};

/// Why a stage ended before its input did.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The output cannot be written.
    #[error("{name}: cannot be written; {}", WAY_OUT)]
    Output {
        /// The file.
        name: String,
        /// Why.
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
    /// The project's database cannot be written.
    #[error("{name}: {source}")]
    Project {
        /// The database.
        name: String,
        /// Why.
        source: KeepError,
    },
    /// This machine has not let the run make a request for long.
    #[error(
        "no request could be made for {lasting:?}: {words}; the state is kept, and the same command goes on"
    )]
    Outage {
        /// How long.
        lasting: Duration,
        /// The missing resource, and the way out.
        words: String,
    },
    /// The reader of standard output has gone.
    #[error("the reader of standard output has closed it")]
    ClosedPipe,
    /// The reader of standard output takes nothing, and the run was told to stop.
    #[error("the reader of standard output takes nothing")]
    Abandoned,
    /// A bug.
    #[error("the stage \"{stage}\" panicked: {words}")]
    Panicked {
        /// Which.
        stage: &'static str,
        /// What it said.
        words: String,
    },
    /// The next stage has gone; its own error tells why.
    #[error("the next stage has gone")]
    Downstream,
}
