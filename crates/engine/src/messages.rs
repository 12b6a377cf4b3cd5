//! Messages between the stages.

use crate::{finished::Share, slow_lane::SlowPermit};
use crawl_fetch::HostSlot;
use crawl_model::{CrawlRequest, ExtractedPage, FetchedPage, HostKey};
use tokio::sync::OwnedSemaphorePermit;

/// A lease with the host's permission for one request.
pub struct Job {
    /// Request to fetch.
    pub request: CrawlRequest,
    /// The host's slot, given back when the answer has come; `None` for a host that has been given up.
    pub slot: Option<HostSlot>,
    /// One of the places of the job's lane; given back when the page has been handed on.
    pub place: OwnedSemaphorePermit,
    /// A place of the slow lane, for a host that is known to be slow.
    pub slow: Option<SlowPermit>,
}

/// Input of the extraction stage.
pub enum Arrival {
    /// A page to be parsed.
    Page(Box<FetchedPage>),
    /// A page of an earlier strategy, which is written since another one brought nothing.
    Kept(Box<ExtractedPage>),
}

/// Message to a shard.
pub enum ShardMessage {
    /// A page of a host.
    Page(Box<ExtractedPage>, Share),
    /// The host has no pending or leased URL any more: its fingerprint can settle.
    Drained(HostKey),
    /// Another process has the host: what is known of it here is no longer true.
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
