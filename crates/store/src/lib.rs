//! The storage traits of [`crawl_model`] on SQLite ([`SqliteStore`], the default) and in memory ([`MemoryStore`]).
//!
//! Both stand under one conformance suite (`tests/conformance.rs`). What they have in common beyond the traits:
//!
//! - No question about the state of the frontier scans it: what is pending, waiting, leased and held is counted
//!   a host as it changes (`ledger.rs`).
//! - Hosts take turns: [`hosts_with_pending`](crawl_model::Frontier::hosts_with_pending) names first the host that
//!   has waited longest, since its first pending URL came or since it was last leased from. With fewer places
//!   than hosts none is starved.
//! - A URL found again by a shorter path while it is still pending takes the lesser depth, since depth means links
//!   from the *nearest* seed.
//! - [`settle`](crawl_model::Frontier::settle) replaces a URL's history when the content was seen
//!   (`content_hash` is given). Otherwise it overwrites only what is given, so that a failure or a 304 does not
//!   lose what is known.
//!
//! One process writes a state directory at a time, and takes a [`StateLock`] for it: the counters and the cache of
//! known URLs live in that process.
//!
//! Pages that are kept beyond a run live apart, in a database of projects ([`SqliteProjects`], [`MemoryProjects`]), which
//! several processes may write.

mod ledger;
mod lock;
mod memory;
pub mod private;
mod sqlite;

pub use lock::{Holder, StateLock};
pub use memory::{MemoryProjects, MemoryStore};
pub use sqlite::{
    CheckReport, HostPlaces, RepairReport, SqliteProjects, SqliteStore, StoreOptions, StoreSize, TableReport,
};
