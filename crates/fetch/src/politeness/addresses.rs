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
pub(super) struct Addresses(FxHashMap<IpAddr, (Limiter, Instant)>);

impl Addresses {
    /// When the address may be asked; `None` for now.
    pub(super) fn ready_at(&self, address: IpAddr) -> Option<Instant> {
        super::host::ready_at(&self.0.get(&address)?.0)
    }

    /// A request to the address begins.
    pub(super) fn begin(&mut self, address: IpAddr, pause: Duration, now: Instant) {
        if let Some(limiter) = limiter(pause) {
            self.0.insert(address, (limiter, now));
        }
    }

    pub(super) fn evict(&mut self, idle: Duration, now: Instant) {
        self.0.retain(|_, (_, last_used)| now.duration_since(*last_used) < idle);
    }
}
