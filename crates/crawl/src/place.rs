//! The place of a crawl's state: a directory, or a database that workers share.

use crawl_engine::{
    config::Config,
    exit::Failure,
    session::open_state,
    state::{SharedCrawl, State},
};
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
            Self::Shared(shared) => shared.in_store(failure),
        }
    }
}
