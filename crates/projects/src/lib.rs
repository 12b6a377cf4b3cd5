//! Projects: pages that are kept beyond a run, and the boilerplate of their domains. All operations of the command
//! line, REST and MCP are here; those three only translate.

mod analysis;
pub mod cleaning;
mod database;
mod error;
mod name;
mod projects;
mod types;
mod writer;

pub use analysis::{Analysis, Progress};
pub use database::{DatabaseError, check, database, default_database, open};
pub use error::ProjectError;
pub use name::{NAME_PATTERN, check_name};
pub use projects::{AnalysisSettings, Projects};
pub use types::*;
pub use writer::{DEFAULT_PROJECT, ProjectWriter, SaveError, source_of};
