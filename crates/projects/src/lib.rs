//! Projects: pages that are kept beyond a run, and what their domains repeat. All that the command line, REST and MCP
//! can do with them stands here; those three only translate.

mod analysis;
pub mod cleaning;
mod database;
mod error;
mod keeper;
mod name;
mod projects;
mod types;

pub use analysis::{Analysis, Progress};
pub use database::{DatabaseError, check, database, default_database, open};
pub use error::ProjectError;
pub use keeper::{DEFAULT_PROJECT, KeepError, Keeper, source_of};
pub use name::{NAME_PATTERN, check_name};
pub use projects::{AnalysisSettings, Projects};
pub use types::*;
