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

    /// Settings of the current round, which all its workers share; `None` for a state of one process, and before a
    /// worker has stored settings.
    ///
    /// # Errors
    /// When storage fails.
    fn settings_of_round(&self) -> Result<Option<BTreeMap<String, String>>, StoreError> {
        Ok(None)
    }

    /// Settings of the round that this worker begins next, stored in the transaction that begins it. If another worker begins
    /// the round first, they are dropped. A state of one process stores none.
    ///
    /// # Errors
    /// When storage fails.
    fn propose(&self, _settings: RoundSettings) -> Result<(), StoreError> {
        Ok(())
    }

    /// Compares settings with those of the current round, and joins the round if they are the same. They replace those of a
    /// first round without a visited URL that no other worker has joined. A state of one process agrees with all settings.
    ///
    /// # Errors
    /// When storage fails.
    fn agree(&self, _settings: &RoundSettings) -> Result<Agreement, StoreError> {
        Ok(Agreement::Same)
    }

    /// Differences of settings to those of the current round, for which [`agree`](Self::agree) would refuse a worker. Changes
    /// nothing.
    ///
    /// # Errors
    /// When storage fails.
    fn compare(&self, _settings: &RoundSettings) -> Result<Vec<SettingDifference>, StoreError> {
        Ok(Vec::new())
    }

    /// This worker of a crawl that several share; `None` for a state of one process, and for a reader.
    ///
    /// # Errors
    /// When storage fails.
    fn worker(&self) -> Result<Option<WorkerStart>, StoreError> {
        Ok(None)
    }

    /// Adds a file of the output that this worker begins to write.
    ///
    /// # Errors
    /// When storage fails.
    fn add_part(&self, _part: &OutputPart) -> Result<(), StoreError> {
        Ok(())
    }

    /// Marks a file of this worker as complete, with its length. A file without records is removed from the parts.
    ///
    /// # Errors
    /// When storage fails.
    fn end_part(&self, _path: &str, _bytes: u64) -> Result<(), StoreError> {
        Ok(())
    }

    /// The parts of the output of all workers; none for a state of one process.
    ///
    /// # Errors
    /// When storage fails.
    fn parts(&self) -> Result<Vec<OutputPart>, StoreError> {
        Ok(Vec::new())
    }

    /// All output files: parts, and single files of a worker that writes no parts. None for a state of one process.
    ///
    /// # Errors
    /// When storage fails.
    fn outputs(&self) -> Result<Vec<OutputPart>, StoreError> {
        self.parts()
    }

    /// All workers by name; none for a state of one process.
    ///
    /// # Errors
    /// When storage fails.
    fn workers(&self) -> Result<Vec<WorkerState>, StoreError> {
        Ok(Vec::new())
    }

    /// Releases the hosts of this worker at once. Every later call fails. Does nothing for a state of one process.
    ///
    /// # Errors
    /// When storage fails.
    fn give_back(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Discards uncommitted changes, like a killed process. Every later call fails with `why`.
    fn abandon(&self, why: &StoreError);
}

/// Prefix of the keys of [`RoundSettings`] that name files of rules.
pub const RULES_KEYS: &str = "rules:";

/// Suffix of such a key for the built-in rules.
pub const RULES_OF_PROGRAM: &str = "of the program";

/// Suffix of such a key for the version of the program.
pub const VERSION_OF_PROGRAM: &str = "version";

/// Settings that all workers of a round share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundSettings {
    /// Values by key. Checksums of the rules have keys that begin with [`RULES_KEYS`].
    pub settings: BTreeMap<String, String>,
    /// Version of the rules, for a round of a program that stored no checksums.
    pub rules: RulesVersion,
    /// Names and values of notes that are stored with the settings.
    pub notes: Vec<(String, String)>,
}

/// Result of [`Upkeep::agree`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// The round has these settings, or adopts them now.
    Same,
    /// Settings that differ, by key.
    Differs(Vec<SettingDifference>),
}

/// A setting that differs from that of the round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingDifference {
    /// The setting, a file of rules, or `rules` for their version.
    pub key: String,
    /// Value of this worker; `None` without one.
    pub own: Option<String>,
    /// Value of the round; `None` without one.
    pub of_round: Option<String>,
}

impl SettingDifference {
    /// Returns true for the version of the program and its built-in rules, which change with an upgrade.
    #[must_use]
    pub fn is_of_program(&self) -> bool {
        let end = self.key.strip_prefix(RULES_KEYS);
        // earlier versions stored one number for all rules
        self.key == "rules" || end.is_some_and(|end| [RULES_OF_PROGRAM, VERSION_OF_PROGRAM].contains(&end))
    }
}

/// A start of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerStart {
    /// Name of the worker.
    pub name: String,
    /// Number of the start, from 1.
    pub epoch: i64,
}

/// A worker of a crawl.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerState {
    /// Name of the worker.
    pub name: String,
    /// Number of its starts.
    pub starts: i64,
    /// Time of its last start, in milliseconds since the Unix epoch.
    pub since_ms: i64,
    /// Milliseconds until the end of its lease; negative after that.
    pub lease_ms: i64,
    /// Hosts that it owns.
    pub hosts: u64,
    /// Records that it settled in this round.
    pub records: i64,
    /// Failures that it settled in this round.
    pub failed: i64,
    /// URLs that it settled in this round, with any outcome.
    pub settled: i64,
    /// True if the worker contributed to the counts of this round. Contributions may be negative, so their sum may be
    /// zero.
    #[serde(skip)]
    pub has_counts: bool,
}

impl WorkerState {
    /// Returns true if the worker has a lease or hosts, or has added, held or settled a URL of this round.
    #[must_use]
    pub const fn is_of_round(&self) -> bool {
        self.lease_ms > 0 || self.hosts > 0 || self.has_counts
    }
}

/// A file of the output of one worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OutputPart {
    /// Path on the machine of the worker.
    pub path: String,
    /// Settled bytes: any bytes after them do not belong to the output.
    pub bytes: u64,
    /// True if its worker has ended it. Formats with an index at their end are readable from then on.
    pub is_complete: bool,
    /// Name of the worker.
    pub worker: String,
    /// Start of the worker that began the file.
    pub epoch: i64,
    /// Number of the file in this start.
    pub seq: u32,
    /// Round of its records.
    pub round: u32,
    /// Name of its mark.
    #[serde(skip)]
    pub mark: String,
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
    /// Number of all unsettled URLs.
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
