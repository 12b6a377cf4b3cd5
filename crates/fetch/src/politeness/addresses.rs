//! Many hosts can stand on one address: their requests share a limit there.

use super::host::{Limiter, limiter};
use crawl_model::HostKey;
use rustc_hash::FxHashMap;
use std::{
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// Hosts whose address is remembered; beyond that all are forgotten and learnt again.
const MAX_HOSTS: usize = 200_000;

/// Where hosts stand: written by the client when it looks them up and when it has reached them, read by the gate. All clones
/// are one book.
#[derive(Clone, Debug, Default)]
pub struct AddressBook(Arc<Mutex<FxHashMap<HostKey, IpAddr>>>);

impl AddressBook {
    /// Notes where a host stands.
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

    /// Address of a host; `None` before it was looked up. A host that is named by its address needs no look-up.
    #[must_use]
    pub fn address_of(&self, host: &HostKey) -> Option<IpAddr> {
        let noted = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(host).copied();
        noted.or_else(|| literal(host))
    }
}

/// The address that a host is named by.
fn literal(host: &HostKey) -> Option<IpAddr> {
    let name = host.as_str();
    let with_port = || name.parse().map(|address: SocketAddr| address.ip());
    let bare = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
    bare.parse().or_else(|_| with_port()).ok()
}

/// The limits of addresses: one request a pause, counted from start to start, whichever host it is for.
#[derive(Default)]
pub(super) struct Addresses(FxHashMap<IpAddr, Turn>);

/// The last request to an address.
struct Turn {
    pause: Limiter,
    /// The number of the slot that it was begun with.
    begun_by: u64,
    at: Instant,
}

impl Addresses {
    /// When the address may be asked; `None` for now.
    pub(super) fn ready_at(&self, address: IpAddr) -> Option<Instant> {
        super::host::ready_at(&self.0.get(&address)?.pause)
    }

    /// A request to the address begins, with the slot of this number.
    pub(super) fn begin(&mut self, address: IpAddr, pause: Duration, begun_by: u64, now: Instant) {
        if let Some(pause) = limiter(pause) {
            self.0.insert(address, Turn { pause, begun_by, at: now });
        }
    }

    /// Returns the turn that a slot has taken, unless another one has begun since. It was only taken after the pause before it.
    pub(super) fn give_back(&mut self, address: IpAddr, begun_by: u64) {
        if self.0.get(&address).is_some_and(|turn| turn.begun_by == begun_by) {
            self.0.remove(&address);
        }
    }

    pub(super) fn evict(&mut self, idle: Duration, now: Instant) {
        self.0.retain(|_, turn| now.duration_since(turn.at) < idle);
    }
}
