//! Backpressure in bytes: a limit on the bodies in memory.

use crawl_model::BodyGuard;
use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst},
};
use tokio::sync::Notify;

/// Byte budget of the bodies that are being read or held.
///
/// A body waits once, before the read, until less than the budget is in use. From then on its bytes are
/// accounted without waiting, so partly read bodies never block each other. After the last admission only the
/// bodies being read grow. So at most `total + reading × max_body` bytes are in use, where `reading` is the
/// number of concurrent reads.
#[derive(Clone, Debug)]
pub struct ByteBudget(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    total: u64,
    used: AtomicU64,
    bodies: AtomicUsize,
    freed: Notify,
}

/// Charge of a body on admission, before its first byte. It is about the size of a compressed page, so that
/// an empty budget does not admit a whole burst.
pub const INITIAL_CHARGE: u64 = 32 * 1024;

impl ByteBudget {
    /// A budget of `total` bytes.
    #[must_use]
    pub fn new(total: u64) -> Self {
        Self(Arc::new(Inner {
            total,
            used: AtomicU64::new(0),
            bodies: AtomicUsize::new(0),
            freed: Notify::new(),
        }))
    }

    /// Waits until less than the budget is in use, then admits a body.
    pub async fn admit(&self) -> Admission {
        loop {
            // created before the check, so that a body freed in between still wakes us
            let freed = self.0.freed.notified();
            if let Some(admission) = self.try_admit() {
                return admission;
            }
            freed.await;
        }
    }

    fn try_admit(&self) -> Option<Admission> {
        let inner = &self.0;
        inner
            .used
            .fetch_update(SeqCst, SeqCst, |used| (used < inner.total).then_some(used + INITIAL_CHARGE))
            .ok()?;
        inner.bodies.fetch_add(1, SeqCst);
        Some(Admission { inner: Arc::clone(inner), charged: INITIAL_CHARGE })
    }

    /// Bytes in use.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.0.used.load(SeqCst)
    }

    /// Bodies admitted and not yet dropped.
    #[must_use]
    pub fn bodies(&self) -> usize {
        self.0.bodies.load(SeqCst)
    }

    /// The budget.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.total
    }
}

/// The share of one body; freed on drop.
#[derive(Debug)]
pub struct Admission {
    inner: Arc<Inner>,
    charged: u64,
}

impl Admission {
    /// Accounts for the `bytes` that the body now holds in memory. Never waits.
    pub fn holds(&mut self, bytes: u64) {
        if bytes > self.charged {
            self.inner.used.fetch_add(bytes - self.charged, SeqCst);
            self.charged = bytes;
        }
    }

    /// Completes the body at `bytes`: returns the excess charge and turns the share into the guard that
    /// travels with the body.
    #[must_use]
    pub fn complete(mut self, bytes: u64) -> BodyGuard {
        self.holds(bytes);
        if self.charged > bytes {
            self.inner.used.fetch_sub(self.charged - bytes, SeqCst);
            self.charged = bytes;
            self.inner.freed.notify_waiters();
        }
        Box::new(self)
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        self.inner.used.fetch_sub(self.charged, SeqCst);
        self.inner.bodies.fetch_sub(1, SeqCst);
        self.inner.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[tokio::test]
    async fn body_waits_only_while_the_budget_is_exhausted() {
        let budget = ByteBudget::new(100_000);
        let mut first = budget.admit().await;
        first.holds(99_999);
        let second = budget.admit().await;
        assert_eq!(budget.used(), 99_999 + INITIAL_CHARGE);
        assert!(budget.admit().now_or_never().is_none(), "the budget is used up");
        let waiting = tokio::spawn({
            let budget = budget.clone();
            async move { budget.admit().await }
        });
        tokio::task::yield_now().await;
        drop(first.complete(99_999));
        let third = waiting.await.unwrap();
        assert_eq!((budget.used(), budget.bodies()), (2 * INITIAL_CHARGE, 2));
        drop((second, third));
        assert_eq!((budget.used(), budget.bodies()), (0, 0));
    }

    #[tokio::test]
    async fn admitted_bodies_never_wait_for_each_other() {
        let budget = ByteBudget::new(1);
        let mut only = budget.admit().await;
        only.holds(50_000_000);
        assert_eq!(budget.used(), 50_000_000);
        let guard = only.complete(40);
        assert_eq!(budget.used(), 40, "what a body held while it was read is given back when it is complete");
        drop(guard);
        assert_eq!(budget.used(), 0);
    }

    #[tokio::test]
    async fn small_body_releases_its_admission_charge() {
        let budget = ByteBudget::new(10);
        let guard = budget.admit().await.complete(7);
        assert_eq!(budget.used(), 7);
        assert!(budget.admit().now_or_never().is_some());
        drop(guard);
    }
}
