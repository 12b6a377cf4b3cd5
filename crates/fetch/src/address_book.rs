//! Addresses of the hosts that were reached.

use crawl_model::HostKey;
use rustc_hash::FxHashMap;
use std::{
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
};

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
