//! Fence between leases that run out while a run is on and pages that are being written. A record whose lease has run out
//! would stand twice: once of the late page, and once of the URL that is fetched again.

use crawl_model::StoreError;
use std::sync::{
    Mutex, MutexGuard, PoisonError, TryLockError,
    atomic::{
        AtomicBool,
        Ordering::{Acquire, Release},
    },
};

/// See the module.
#[derive(Default)]
pub struct LeaseFence {
    /// Held while leases are settled, or expired.
    leases: Mutex<()>,
    expired: AtomicBool,
}

impl LeaseFence {
    /// Keeps leases from running out until the guard is dropped.
    pub fn hold(&self) -> MutexGuard<'_, ()> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
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
        let _leases = match self.leases.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(guard)) => guard.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(None),
        };
        let expired = expire()?;
        if expired > 0 {
            self.expired.store(true, Release);
        }
        Ok(Some(expired))
    }
}
