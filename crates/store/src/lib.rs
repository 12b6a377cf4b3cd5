//! The storage traits of [`crawl_model`] on SQLite ([`SqliteStore`], the default), on PostgreSQL for several
//! workers ([`PgStore`]), and in memory ([`MemoryStore`]).
//!
//! One conformance suite (`tests/conformance`) tests all. Their common properties beyond the traits:
//!
//! - Queries for the state of the frontier need no scan: pending, waiting, leased and held URLs are counted per host
//!   (`ledger`).
//! - Hosts take turns: [`hosts_with_pending`](crawl_model::Frontier::hosts_with_pending) returns the host
//!   with the longest wait first. The wait begins with its first pending URL or its last lease, so no host
//!   starves.
//! - A pending URL found again by a shorter path takes the lesser depth, since depth counts links from the
//!   *nearest* seed.
//! - [`settle`](crawl_model::Frontier::settle) replaces a URL's history if `content_hash` is given. Otherwise
//!   it overwrites only set fields, so that a failure or a 304 keeps the history.
//!
//! One process at a time writes a state directory, under a [`StateLock`]: the counters and the cache of known
//! URLs are in that process.
//!
//! Pages that outlive a run are in a separate database of projects ([`SqliteProjects`], [`MemoryProjects`]),
//! which several processes may write.

mod codes;
mod database;
mod engine;
mod file_error;
mod known;
mod ledger;
mod lock;
mod memory;
mod postgres;
pub mod private;
mod sqlite;
pub mod state;
mod store_url;
mod upkeep;
mod visited;

/// Engines of states in directories, by precedence. The last one accepts every path.
const ENGINES: &[&dyn engine::Engine] = &[&sqlite::SqliteEngine];

/// Engines of databases that several workers share. The scheme of a URL selects one.
const DATABASES: &[&dyn database::DatabaseEngine] = &[&postgres::PostgresEngine];

pub use database::{CopyReport, Database, SharedWorker};
pub use engine::StateStore;
pub use lock::{Holder, StateLock};
pub use memory::{MemoryProjects, MemoryStore};
pub use postgres::{PgOptions, PgStore, PgUrl, TlsMode};
pub use sqlite::{SqliteProjects, SqliteStore, StoreOptions};
pub use state::{open, open_projects};
pub use store_url::StoreUrl;
pub use upkeep::{
    Agreement, CheckReport, HostCounts, OutputPart, RULES_KEYS, RULES_OF_PROGRAM, RepairReport,
    RoundSettings, SettingDifference, StoreSize, TableReport, Upkeep, VERSION_OF_PROGRAM, WorkerStart,
    WorkerState,
};
