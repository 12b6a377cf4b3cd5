//! The place of a crawl's state: a directory, or a database that workers share.

use crawl_engine::{
    config::Config,
    exit::Failure,
    session::open_state,
    stage_error::StageError,
    state::{SharedCrawl, State},
};
use crawl_output::OutputError;
use std::path::PathBuf;

/// The place of a crawl's state.
pub enum Place {
    /// A directory.
    Directory(PathBuf),
    /// A database.
    Shared(SharedCrawl),
}

impl Place {
    /// Returns true if other workers may share the crawl.
    pub const fn is_shared(&self) -> bool {
        matches!(self, Self::Shared(_))
    }

    /// Opens the state.
    pub fn open(&mut self, config: &Config, fresh: bool) -> Result<State, Failure> {
        match self {
            Self::Directory(dir) => open_state(config, dir, fresh).map_err(|e| e.in_state(dir)),
            Self::Shared(shared) => shared.open(config),
        }
    }

    /// Adds the remedy to an error of the state.
    pub fn explain(&self, failure: Failure) -> Failure {
        match self {
            Self::Directory(dir) => failure.in_state(dir),
            Self::Shared(shared) => shared.in_store(of_parts(failure)),
        }
    }
}

/// Adds the way out if another worker writes the output.
fn of_parts(mut failure: Failure) -> Failure {
    let is_busy = matches!(
        failure.error.downcast_ref::<StageError>(),
        Some(StageError::Output(OutputError::Busy { .. }))
    );
    if is_busy {
        let words = "each worker needs a file of its own: write a * into the name, as in -o 'out/*.jsonl'";
        failure.error = failure.error.context(words);
    }
    failure
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worker_with_the_output_of_another_is_told_to_name_parts() {
        let of = |error: OutputError| format!("{:#}", of_parts(Failure::from(error)).error);
        let busy = OutputError::Busy { name: "out.jsonl".into(), holder: "process 7".into() };
        let words = of(busy);
        assert!(words.contains("write a * into the name") && words.contains("process 7"), "{words}");
        assert!(!of(OutputError::ClosedPipe).contains('*'));
    }
}
