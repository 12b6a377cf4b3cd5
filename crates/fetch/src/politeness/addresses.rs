//! Limits per address, shared by the hosts on it.

use super::host::{Limiter, limiter};
use rustc_hash::FxHashMap;
use std::{net::IpAddr, time::Duration};
use tokio::time::Instant;

/// Limits of addresses: one request per pause to any host, counted from start to start.
#[derive(Default)]
pub(super) struct Addresses(FxHashMap<IpAddr, Turn>);

/// The last request to an address.
struct Turn {
    pause: Limiter,
    /// Earliest next request, if it is later than the end of the pause.
    not_before: Option<Instant>,
    /// Number of the slot that began it.
    begun_by: u64,
    at: Instant,
}

impl Addresses {
    /// Time at which the address may be contacted; `None` for now.
    pub(super) fn ready_at(&self, address: IpAddr) -> Option<Instant> {
        let turn = self.0.get(&address)?;
        let later = turn.not_before.filter(|at| *at > Instant::now());
        later.max(super::host::ready_at(&turn.pause))
    }

    /// Begins a request to the address with the slot of this number.
    pub(super) fn begin(&mut self, address: IpAddr, pause: Duration, begun_by: u64, now: Instant) {
        if let Some(pause) = limiter(pause) {
            self.0.insert(address, Turn { pause, not_before: None, begun_by, at: now });
        }
    }

    /// Blocks the address until a time, after a request to it has begun.
    pub(super) fn defer(&mut self, address: IpAddr, until: Instant) {
        if let Some(turn) = self.0.get_mut(&address) {
            turn.not_before = turn.not_before.max(Some(until));
        }
    }

    /// Returns the turn that a slot has taken, unless another one has begun since. A slot takes its turn only
    /// after the last pause.
    pub(super) fn give_back(&mut self, address: IpAddr, begun_by: u64) {
        if self.0.get(&address).is_some_and(|turn| turn.begun_by == begun_by) {
            self.0.remove(&address);
        }
    }

    pub(super) fn evict(&mut self, idle: Duration, now: Instant) {
        self.0.retain(|_, turn| now.duration_since(turn.at) < idle);
    }
}
