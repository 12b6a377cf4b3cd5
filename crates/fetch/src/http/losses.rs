//! Connections that hosts ended without an answer, in a row. Some servers and firewalls negotiate HTTP/2 and then close each
//! connection, but answer over HTTP/1.1.

use crawl_model::HostKey;
use rustc_hash::FxHashMap;
use std::sync::{Mutex, PoisonError};
use url::Url;

/// Lost connections after which HTTP/2 may be the cause: a server that restarts loses one.
const SUSPICIOUS: u32 = 2;
/// Maximum hosts with a count; beyond it all are dropped.
const MAX_HOSTS: usize = 10_000;

/// Counts by host.
#[derive(Default)]
pub(super) struct Losses(Mutex<FxHashMap<HostKey, u32>>);

impl Losses {
    /// Counts a lost connection. Returns true if HTTP/2 may be the cause.
    pub(super) fn add(&self, url: &Url) -> bool {
        let Some(host) = HostKey::of(url) else { return false };
        let mut hosts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() >= MAX_HOSTS && !hosts.contains_key(&host) {
            hosts.clear();
        }
        let lost = hosts.entry(host).or_default();
        *lost += 1;
        *lost >= SUSPICIOUS
    }

    /// Notes an answer of a host.
    pub(super) fn end(&self, url: &Url) {
        let mut hosts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !hosts.is_empty()
            && let Some(host) = HostKey::of(url)
        {
            hosts.remove(&host);
        }
    }
}
