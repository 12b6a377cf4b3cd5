//! Exit codes, so that cron can tell what happened.

use crate::{
    config::{ConfigError, ConfigErrors},
    context::{Ending, StageError},
};
use crawl_model::StoreError;

/// What a process ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// All done.
    Done = 0,
    /// A bug, or something that nobody foresaw.
    Internal = 1,
    /// Flags, configuration or seeds are unusable.
    Usage = 2,
    /// Output or state cannot be written, or this machine lets the run make no request.
    Storage = 3,
    /// None of the seeds could be fetched.
    NoSeed = 4,
    /// A limit was reached before the frontier was drained.
    Limit = 5,
    /// Another run holds the state directory.
    Held = 6,
    /// SIGINT or SIGTERM; the state is saved.
    Interrupted = 130,
}

impl Exit {
    /// What a run ends with that a stage's error ended.
    #[must_use]
    pub const fn of(error: &StageError) -> Self {
        match error {
            StageError::Output { .. } | StageError::Project { .. } | StageError::Outage { .. } => {
                Self::Storage
            }
            StageError::Store(error) => Self::of_store(error),
            // the reader has what it wanted
            StageError::ClosedPipe => Self::Done,
            _ => Self::Internal,
        }
    }

    const fn of_store(error: &StoreError) -> Self {
        match error {
            StoreError::Full(_) => Self::Storage,
            StoreError::Busy(_) => Self::Held,
            _ => Self::Internal,
        }
    }
}

impl From<Ending> for Exit {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Drained => Self::Done,
            Ending::Limit(_) => Self::Limit,
            Ending::Interrupted => Self::Interrupted,
        }
    }
}

/// An error of the whole program with the code it ends with.
#[derive(Debug)]
pub struct Failure {
    /// The code.
    pub exit: Exit,
    /// What to tell the user.
    pub error: anyhow::Error,
}

impl Failure {
    /// A usage error.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, error: anyhow::Error::msg(message.into()) }
    }

    /// An error of this kind while doing something with a name.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, error: anyhow::Error::msg(message.into()) }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self { exit: Exit::Usage, error: error.into() }
    }
}

impl From<ConfigErrors> for Failure {
    fn from(errors: ConfigErrors) -> Self {
        Self { exit: Exit::Usage, error: errors.into() }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let exit = Exit::of_store(&error);
        let damaged = matches!(error, StoreError::Corrupt(_));
        let error = anyhow::Error::from(error);
        let error = if damaged {
            error.context("the state cannot be used; --fresh starts over without it")
        } else {
            error
        };
        Self { exit, error }
    }
}

impl From<StageError> for Failure {
    fn from(error: StageError) -> Self {
        match error {
            StageError::Store(error) => error.into(),
            error => Self { exit: Exit::of(&error), error: error.into() },
        }
    }
}
