//! Charge of a URL pattern's account for one visit.

use crawl_fetch::{Trap, Traps};
use std::sync::{Mutex, PoisonError};
use url::Url;

/// Charge that is paid back on drop unless it is committed, so that a visit that is cancelled or given back costs nothing.
pub(super) struct Payment<'a> {
    traps: &'a Traps,
    /// URL that was charged.
    charged: Mutex<Option<Url>>,
}

impl<'a> Payment<'a> {
    /// Creates a payment without a charge.
    pub(super) const fn new(traps: &'a Traps) -> Self {
        Self { traps, charged: Mutex::new(None) }
    }

    /// Charges the pattern of a URL for one fetch.
    ///
    /// # Errors
    /// If the pattern has no credit left.
    pub(super) fn charge(&self, url: &Url) -> Result<(), Trap> {
        self.traps.begin(url)?;
        *self.charged.lock().unwrap_or_else(PoisonError::into_inner) = Some(url.clone());
        Ok(())
    }

    /// Keeps the charge: the visit has an end.
    pub(super) fn commit(&self) {
        self.take();
    }

    /// Returns the charge to the account, once.
    pub(super) fn pay_back(&self) {
        if let Some(url) = self.take() {
            self.traps.pay_back(&url);
        }
    }

    fn take(&self) -> Option<Url> {
        self.charged.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Payment<'_> {
    fn drop(&mut self) {
        self.pay_back();
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
            let payment = Payment::new(&traps);
            let visit = async {
                payment.charge(&url).unwrap();
                pending::<()>().await;
            };
            tokio::select! {
                biased;
                () = visit => {}
                () = async {} => {}
            }
        }
        let payment = Payment::new(&traps);
        payment.charge(&url).unwrap();
        payment.pay_back();
        payment.charge(&url).unwrap();
        payment.commit();
        drop(payment);
        assert!(Payment::new(&traps).charge(&url).is_err());
    }
}
