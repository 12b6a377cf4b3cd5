//! Turns at addresses among the workers of a crawl. The store gives each request to an address its time.
//!
//! A worker keeps the pause of an address for its own hosts. Its gate admits one host at a time, and the store then gives
//! the time at which no other worker asks the address.

use crate::storage_door::StorageDoor;
use crawl_fetch::{AddressTurns, FetchError, Gate, LocalResource, Turn};
use crawl_model::StoreError;
use std::{net::IpAddr, sync::Weak, time::Duration};
use tokio::time::{Instant, sleep_until};

/// Longest first delay of a request that the next turn allows for.
const LONGEST_MARGIN: Duration = Duration::from_millis(100);

/// Turns that a request takes if it is late for each of them.
const TRIES: usize = 5;

/// Turns that the store of a run gives, each after the pause of the gate.
pub struct SharedTurns {
    // the client may outlive the run, and must not keep its storage thread
    storage: Weak<StorageDoor>,
    gate: Gate,
}

impl SharedTurns {
    pub const fn new(storage: Weak<StorageDoor>, gate: Gate) -> Self {
        Self { storage, gate }
    }

    async fn turn(&self, address: IpAddr) -> Result<(), FetchError> {
        let pause = self.gate.address_pause();
        let mut margin = (pause / 10).min(LONGEST_MARGIN);
        for _ in 0..TRIES {
            let storage = self.storage.upgrade().ok_or_else(|| unavailable(&"the run has ended"))?;
            let ask = move |store: &dyn crawl_model::Store| -> Result<_, StoreError> {
                let asked = Instant::now();
                let wait = store.take_turn(address, pause + margin)?;
                Ok((asked + wait, Instant::now() + wait))
            };
            // the turn begins between these times
            let (earliest, latest) = storage.call(ask).await.map_err(|error| unavailable(&error))?;
            drop(storage);
            self.gate.defer_address(address, latest + pause);
            sleep_until(latest).await;
            let late = Instant::now().saturating_duration_since(earliest);
            if late <= margin {
                break;
            }
            // the next turn may begin too early after this request
            margin = (late * 2).min(pause);
        }
        Ok(())
    }
}

impl AddressTurns for SharedTurns {
    fn take(&self, address: IpAddr) -> Turn<'_> {
        Box::pin(self.turn(address))
    }
}

fn unavailable(reason: &dyn std::fmt::Display) -> FetchError {
    FetchError::Local { resource: LocalResource::Store, reason: reason.to_string() }
}
