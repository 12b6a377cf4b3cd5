//! Messages between the stages.

use crate::{finished::Share, slow_lane::SlowPermit};
use crawl_fetch::HostSlot;
use crawl_model::{CrawlRequest, ExtractedPage, FetchedPage, HostKey};
use tokio::sync::OwnedSemaphorePermit;

/// A lease with the host's permission for one request.
pub struct Job {
    /// Request to fetch.
    pub request: CrawlRequest,
    /// The host's slot, given back after the answer; `None` for a host that has been given up.
    pub slot: Option<HostSlot>,
    /// Permit of the job's lane; dropped when the page has reached the next stage.
    pub permit: OwnedSemaphorePermit,
    /// Permit for a host that is known to be slow, or that has not answered a request for a page.
    pub slow: Option<SlowPermit>,
}

/// Input of the extraction stage.
pub enum ExtractJob {
    /// A page to be parsed.
    Page(Box<FetchedPage>),
    /// Result of an earlier strategy, used because the last strategy brought nothing.
    Earlier(Box<ExtractedPage>),
}

/// Message to a shard.
pub enum ShardMessage {
    /// A page of a host.
    Page(Box<ExtractedPage>, Share),
    /// The host has no pending or leased URL any more: its fingerprint can settle.
    Drained(HostKey),
    /// Another process has taken over the host: the shard drops its state of it.
    HandedOver(HostKey),
}

/// The shard that owns a host.
#[must_use]
pub fn shard_of(host: &HostKey, shards: usize) -> usize {
    use std::hash::{Hash, Hasher};
    let mut hasher = rustc_hash::FxHasher::default();
    host.hash(&mut hasher);
    // the high bits are the well-mixed ones
    usize::try_from(hasher.finish() >> 32).unwrap_or(0) % shards
}
