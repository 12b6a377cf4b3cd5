//! Numbers of URLs by state.

use serde::{Deserialize, Serialize};

/// A limit of a run that several processes share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quota {
    /// Records, with the pages that may still become one.
    Records,
    /// Bytes over the wire.
    Bytes,
}

/// The frontier in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrontierCounts {
    /// Waiting to be fetched in this round.
    pub pending: u64,
    /// Out with a worker.
    pub leased: u64,
    /// Fetched, waiting for the host's fingerprint.
    pub held: u64,
    /// Ended as a record.
    pub records: u64,
    /// Ended as a failure.
    pub failed: u64,
    /// Skipped.
    pub skipped: u64,
    /// Ended as a redirect.
    pub redirected: u64,
    /// Pages whose content has not changed since an earlier round.
    pub unchanged: u64,
    /// Pages of an earlier round that no longer exist.
    pub gone: u64,
    /// Hosts with a URL in this round.
    pub hosts: u64,
}
