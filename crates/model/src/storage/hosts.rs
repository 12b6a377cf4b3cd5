//! Hosts in the frontier, and limits on their pending URLs.

use crate::{HostKey, UrlKey};

/// Result of [`Frontier::enqueue`](super::Frontier::enqueue).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Enqueued {
    /// URLs that were new in this round.
    pub new: usize,
    /// URLs that were known.
    pub known: usize,
    /// URLs that were refused, by host.
    pub refused: Vec<Refused>,
}

/// URLs of a host that one call of [`Frontier::enqueue`](super::Frontier::enqueue) refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The host.
    pub host: HostKey,
    /// The bound that the first refused URL met.
    pub bound: HostBound,
    /// The first URL.
    pub first: String,
    /// Keys of all refused URLs.
    pub keys: Vec<UrlKey>,
}

/// Bounds on the URLs of one host; `None` for no bound. Beyond them, new URLs from pages and sitemaps are
/// refused; URLs of earlier rounds are not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostBounds {
    /// Pending URLs.
    pub urls: Option<u64>,
    /// Bound on the approximate bytes of pending URLs in the state.
    pub bytes: Option<u64>,
}

/// A bound of [`HostBounds`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostBound {
    /// [`HostBounds::urls`].
    Urls,
    /// [`HostBounds::bytes`].
    Bytes,
}

/// A host with held pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostLoad {
    /// The host.
    pub host: HostKey,
    /// Its held pages.
    pub pending: usize,
}

/// A host with URLs to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyHost {
    /// The host.
    pub host: HostKey,
    /// Its pending URLs that are due.
    pub pending: usize,
    /// True if the host has had only a few leases, which places it before hosts without leases.
    pub begun: bool,
}
