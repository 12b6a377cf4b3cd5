//! Inspection and maintenance of states: the trait that commands of an operator need, and its reports.

use crawl_model::{HostBound, HostBounds, HostKey, KnownUrl, RequestId, RulesVersion, StoreError, UrlKey};
use serde::Serialize;
use std::{collections::BTreeMap, path::PathBuf};

/// Maintenance and inspection of the state of a crawl, beside the [`Store`](crawl_model::Store) that the engine needs.
pub trait Upkeep {
    /// Hosts with unsettled URLs in this round, in descending order of their number.
    ///
    /// # Errors
    /// When storage fails.
    fn hosts(&self) -> Result<Vec<HostCounts>, StoreError>;

    /// The bound that a host has reached, if any.
    ///
    /// # Errors
    /// When storage fails.
    fn full_by(&self, host: &HostKey, bounds: HostBounds) -> Result<Option<HostBound>, StoreError>;

    /// Known URLs after the given number, in ascending order; at most `limit`.
    ///
    /// # Errors
    /// When storage fails.
    fn known_next(&self, after: RequestId, limit: usize) -> Result<Vec<KnownUrl>, StoreError>;

    /// Requeues URLs that failed in this round. Returns their number.
    ///
    /// # Errors
    /// When storage fails.
    fn reopen_failed(&self, urls: &[UrlKey]) -> Result<usize, StoreError>;

    /// Size of the state on disk.
    ///
    /// # Errors
    /// When storage fails.
    fn size(&self) -> Result<StoreSize, StoreError>;

    /// Returns unused space to the file system.
    ///
    /// # Errors
    /// When storage fails.
    fn compact(&self) -> Result<(), StoreError>;

    /// Adds unknown URLs of an output as written records. Returns the number added.
    ///
    /// # Errors
    /// When storage fails.
    fn adopt_written(&self, urls: &[String]) -> Result<u64, StoreError>;

    /// Names and lengths of the written outputs.
    ///
    /// # Errors
    /// When storage fails.
    fn output_marks(&self) -> Result<Vec<(String, u64)>, StoreError>;

    /// Compares settings and version of the rules with those of the other workers of the crawl. The first worker stores
    /// its own. So does a worker that `replaces` them while it is alone. A state of one process agrees with all settings.
    ///
    /// # Errors
    /// When storage fails.
    fn agree(
        &self,
        _settings: &BTreeMap<String, String>,
        _rules: RulesVersion,
        _replaces: bool,
    ) -> Result<Agreement, StoreError> {
        Ok(Agreement::Same)
    }

    /// Discards uncommitted changes, like a killed process. Every later call fails with `why`.
    fn abandon(&self, why: &StoreError);
}

/// Result of [`Upkeep::agree`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// The crawl has these settings, or has them from now on.
    Same,
    /// Names of the settings that differ; `rules` for the version of the rules.
    Differs(Vec<String>),
}

/// Number of a host's URLs by state, in the current round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostCounts {
    /// The host.
    pub host: HostKey,
    /// Pending and due.
    pub queued: u64,
    /// URLs scheduled for a later fetch.
    pub waiting: u64,
    /// Being fetched.
    pub leased: u64,
    /// Fetched, held until the fingerprint of the host settles.
    pub held: u64,
}

impl HostCounts {
    /// All of them.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.queued + self.waiting + self.leased + self.held
    }
}

/// Size of a state, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreSize {
    /// The database, without its log.
    pub file: u64,
    /// Unused part, which [`Upkeep::compact`] returns to the disk.
    pub free: u64,
}

/// Result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CheckReport {
    /// Checked parts, each with its rows or bytes.
    pub looked_at: Vec<(String, u64)>,
    /// Faults, one per line; empty for an intact state.
    pub findings: Vec<String>,
}

/// Result of a repair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepairReport {
    /// Path of the damaged database.
    pub damaged: PathBuf,
    /// Rows of each table.
    pub tables: Vec<TableReport>,
    /// URLs whose row was lost. Seeds or links find them again.
    pub lost_urls: u64,
    /// URLs that are fetched again in this round, since their held page or lease was lost.
    pub fetched_again: u64,
}

/// Kept and lost rows of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableReport {
    /// The table.
    pub name: String,
    /// Rows in the new database.
    pub kept: u64,
    /// Lost rows; `None` if their number is unknown.
    pub lost: Option<u64>,
}
