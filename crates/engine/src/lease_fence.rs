//! Fence between leases that run out while a run is on and pages that are being written. A record whose lease has run out
//! would be written twice: once of the late page, and once of the URL that is fetched again.

use crawl_model::StoreError;
use std::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Release},
};
use tokio::sync::{Mutex, MutexGuard};

/// Fence between expiring leases and pages that are being written.
#[derive(Default)]
pub struct LeaseFence {
    /// Lock of the leases while they are settled, or expired.
    leases: Mutex<()>,
    expired: AtomicBool,
}

impl LeaseFence {
    /// Keeps leases from running out until the guard is dropped.
    pub async fn hold(&self) -> MutexGuard<'_, ()> {
        self.leases.lock().await
    }

    /// Returns true if a lease has run out in this run, so that a page may be late.
    pub fn has_expired(&self) -> bool {
        self.expired.load(Acquire)
    }

    /// Takes back leases by `expire`, which returns their number; `None` while leases are being settled.
    ///
    /// # Errors
    /// Those of `expire`.
    pub fn try_expire(
        &self,
        expire: impl FnOnce() -> Result<usize, StoreError>,
    ) -> Result<Option<usize>, StoreError> {
        let Ok(_leases) = self.leases.try_lock() else { return Ok(None) };
        let expired = expire()?;
        if expired > 0 {
            self.expired.store(true, Release);
        }
        Ok(Some(expired))
    }
}
