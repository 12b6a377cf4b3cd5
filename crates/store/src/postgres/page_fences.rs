//! Fences of leased and held pages for statements of the second connection, which must not wait for the first one.
//! The fence of a page has the epoch that its host had when the lease of the page began. So the fence ends with the loss of the
//! host, even if the host comes back.

use super::memory::Memory;
use crate::ledger::HostId;
use crawl_model::LeaseRef;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Host and epoch that the row of the host must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageFence {
    pub(super) host: i32,
    pub(super) epoch: i64,
    token: i64,
}

/// Fences of the pages that this worker has leased or holds, by URL. Clones share them.
#[derive(Clone, Default)]
pub(super) struct PageFences(Arc<Mutex<FxHashMap<i64, PageFence>>>);

impl PageFences {
    /// The fence of a page; `None` if the lease has ended.
    pub(super) fn of(&self, lease: LeaseRef) -> Option<PageFence> {
        self.lock().get(&lease.id.0).filter(|fence| fence.token == lease.token.0).copied()
    }

    pub(super) fn remove(&self, id: i64) {
        self.lock().remove(&id);
    }

    pub(super) fn remove_host(&self, host: HostId) {
        self.lock().retain(|_, fence| i64::from(fence.host) != host);
    }

    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, FxHashMap<i64, PageFence>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory {
    /// Notes the fence of a page whose lease begins, or which is held.
    pub(super) fn fence_page(&self, id: i64, token: i64, host: HostId) {
        if let (Ok(number), Some(epoch)) = (i32::try_from(host), self.epoch(host)) {
            self.fences.lock().insert(id, PageFence { host: number, epoch, token });
        }
    }
}
