//! Charge of one visit to the credit of a URL pattern.

use crawl_fetch::{Trap, Traps};
use std::sync::{Mutex, PoisonError};
use url::Url;

/// Charge that is refunded on drop unless it is committed, so that a cancelled or requeued visit costs nothing.
pub(super) struct FetchCharge<'a> {
    traps: &'a Traps,
    /// URL that was charged.
    charged: Mutex<Option<Url>>,
}

impl<'a> FetchCharge<'a> {
    /// Creates a charge of nothing.
    pub(super) const fn new(traps: &'a Traps) -> Self {
        Self { traps, charged: Mutex::new(None) }
    }

    /// Charges the pattern of a URL for one fetch.
    ///
    /// # Errors
    /// If the pattern has no credit left.
    pub(super) fn charge(&self, url: &Url) -> Result<(), Trap> {
        self.traps.charge_fetch(url)?;
        *self.charged.lock().unwrap_or_else(PoisonError::into_inner) = Some(url.clone());
        Ok(())
    }

    /// Makes the charge final, after the visit has ended.
    pub(super) fn commit(&self) {
        self.take();
    }

    /// Refunds the charge, once.
    pub(super) fn refund(&self) {
        if let Some(url) = self.take() {
            self.traps.refund_fetch(&url);
        }
    }

    fn take(&self) -> Option<Url> {
        self.charged.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for FetchCharge<'_> {
    fn drop(&mut self) {
        self.refund();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crawl_fetch::TrapSettings;
    use std::future::pending;

    #[tokio::test]
    async fn cancelled_visit_is_free_and_ended_one_pays_once() {
        let traps = Traps::new(TrapSettings { template_credit: Some(1), ..TrapSettings::default() }, 2026);
        let url = Url::parse("http://a.test/list/1").unwrap();
        for _ in 0..3 {
            let charge = FetchCharge::new(&traps);
            let visit = async {
                charge.charge(&url).unwrap();
                pending::<()>().await;
            };
            tokio::select! {
                biased;
                () = visit => {}
                () = async {} => {}
            }
        }
        let charge = FetchCharge::new(&traps);
        charge.charge(&url).unwrap();
        charge.refund();
        charge.charge(&url).unwrap();
        charge.commit();
        drop(charge);
        assert!(FetchCharge::new(&traps).charge(&url).is_err());
    }
}
