//! Limits per address, shared by the hosts on it.

use super::host::{Limiter, limiter};
use crawl_model::HostKey;
use rustc_hash::FxHashMap;
use std::{
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// Maximum hosts with a known address; beyond it all are dropped and learned again.
const MAX_HOSTS: usize = 200_000;

/// Addresses of hosts. The client writes them after resolution and after a connection; the gate reads them.
/// All clones share one book.
#[derive(Clone, Debug, Default)]
pub struct AddressBook(Arc<Mutex<FxHashMap<HostKey, IpAddr>>>);

impl AddressBook {
    /// Stores the address of a host.
    pub fn note(&self, host: &HostKey, address: IpAddr) {
        let mut book = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if book.get(host) == Some(&address) {
            return;
        }
        if book.len() >= MAX_HOSTS {
            book.clear();
        }
        book.insert(host.clone(), address);
    }

    /// Address of a host; `None` before its resolution. A literal address needs none.
    #[must_use]
    pub fn address_of(&self, host: &HostKey) -> Option<IpAddr> {
        let noted = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(host).copied();
        noted.or_else(|| literal(host))
    }
}

/// The literal address of a host.
fn literal(host: &HostKey) -> Option<IpAddr> {
    let name = host.as_str();
    let with_port = || name.parse().map(|address: SocketAddr| address.ip());
    let bare = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
    bare.parse().or_else(|_| with_port()).ok()
}

/// Limits of addresses: one request per pause to any host, counted from start to start.
#[derive(Default)]
pub(super) struct Addresses(FxHashMap<IpAddr, Turn>);

/// The last request to an address.
struct Turn {
    pause: Limiter,
    /// Number of the slot that began it.
    begun_by: u64,
    at: Instant,
}

impl Addresses {
    /// Time at which the address may be contacted; `None` for now.
    pub(super) fn ready_at(&self, address: IpAddr) -> Option<Instant> {
        super::host::ready_at(&self.0.get(&address)?.pause)
    }

    /// Begins a request to the address with the slot of this number.
    pub(super) fn begin(&mut self, address: IpAddr, pause: Duration, begun_by: u64, now: Instant) {
        if let Some(pause) = limiter(pause) {
            self.0.insert(address, Turn { pause, begun_by, at: now });
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
