//! Errors of operations on projects.

use crawl_dedup::SettingsError;
use crawl_model::StoreError;

/// Error of an operation on a project.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// The project does not exist.
    #[error("there is no project {0}")]
    NoProject(String),
    /// The project has no such page.
    #[error("the project has no source {0}")]
    NoSource(String),
    /// The name is another project's.
    #[error("there is a project \"{0}\" already")]
    NameTaken(String),
    /// A parameter cannot be used.
    #[error("{field}: {problem}")]
    Invalid {
        /// Its name.
        field: &'static str,
        /// Reason for the refusal.
        problem: String,
    },
    /// The analysis was told to stop.
    #[error("the analysis was stopped; nothing was changed")]
    Stopped,
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<SettingsError> for ProjectError {
    fn from(error: SettingsError) -> Self {
        let SettingsError { name, given, least, most } = error;
        Self::Invalid { field: name, problem: format!("{given} is not from {least} to {most}") }
    }
}
