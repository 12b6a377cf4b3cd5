//! URLs that were read ahead of their lease: one query serves many leases.
//!
//! Only the owner of a host changes its queue. So the first URLs of a queue stay the first ones until the owner adds
//! or changes a URL before the last of them. [`ReadAhead::forget_before`] and [`ReadAhead::forget`] note such changes.

use crate::ledger::HostId;
use crawl_model::{CrawlRequest, Lane, UrlKey};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// URLs that one query reads, if it may read ahead.
const MAX_READ_AHEAD: usize = 64;

/// Most URLs in memory.
const MOST: usize = 4_096;

/// A URL without a lease, as its lease will need it.
pub(super) struct ReadyUrl {
    /// With a token of no lease.
    pub(super) request: CrawlRequest,
    pub(super) key: UrlKey,
    /// Bytes of the URL while it is pending.
    pub(super) bytes: u64,
}

impl ReadyUrl {
    fn place(&self) -> (u32, i64) {
        (self.request.depth, self.request.id.0)
    }
}

/// The first URLs of a queue, in its order.
struct Head {
    /// True if they are those of the least depth of the host.
    by_level: bool,
    urls: VecDeque<ReadyUrl>,
}

/// The first URLs of the queues of this worker's hosts.
#[derive(Default)]
pub(super) struct ReadAhead {
    heads: FxHashMap<HostId, [Option<Head>; 2]>,
    urls: usize,
}

impl ReadAhead {
    /// Number of URLs that a query reads of which `wanted` are leased at once.
    pub(super) fn limit(&self, wanted: usize) -> usize {
        if self.urls + MAX_READ_AHEAD > MOST { wanted } else { wanted.max(MAX_READ_AHEAD) }
    }

    /// Takes up to `most` URLs of a queue.
    pub(super) fn take(&mut self, host: HostId, lane: Lane, by_level: bool, most: usize) -> Vec<ReadyUrl> {
        let Some(head) = self.heads.get_mut(&host).and_then(|heads| heads[lane as usize].as_mut()) else {
            return Vec::new();
        };
        if head.by_level != by_level {
            self.forget(host);
            return Vec::new();
        }
        let most = most.min(head.urls.len());
        let taken = head.urls.drain(..most).collect();
        self.urls -= most;
        if head.urls.is_empty() {
            self.drop_head(host, lane);
        }
        taken
    }

    /// Keeps the first URLs of a queue of which none are kept.
    pub(super) fn keep(&mut self, host: HostId, lane: Lane, by_level: bool, urls: VecDeque<ReadyUrl>) {
        self.drop_head(host, lane);
        if !urls.is_empty() {
            self.urls += urls.len();
            self.heads.entry(host).or_default()[lane as usize] = Some(Head { by_level, urls });
        }
    }

    /// Drops the URLs of a host if a URL with this depth and number would come before the last of them.
    pub(super) fn forget_before(&mut self, host: HostId, depth: u32, id: i64) {
        let Some(heads) = self.heads.get(&host) else { return };
        let last = |head: &Head| head.urls.back().is_some_and(|url| (depth, id) < url.place());
        if heads.iter().flatten().any(last) {
            self.forget(host);
        }
    }

    /// Forgets the URLs of a host.
    pub(super) fn forget(&mut self, host: HostId) {
        for lane in Lane::ALL {
            self.drop_head(host, lane);
        }
    }

    fn drop_head(&mut self, host: HostId, lane: Lane) {
        let Some(heads) = self.heads.get_mut(&host) else { return };
        self.urls -= heads[lane as usize].take().map_or(0, |head| head.urls.len());
        if heads.iter().all(Option::is_none) {
            self.heads.remove(&host);
        }
    }
}
