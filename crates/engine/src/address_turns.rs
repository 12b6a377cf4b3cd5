//! Turns at addresses among the workers of a crawl. The store gives each request to an address its time.
//!
//! A worker keeps the pause of an address for its own hosts. Its gate admits one host at a time. The store then
//! assigns the time of the request, at which no other worker uses the address.

use crate::async_store::AsyncStore;
use crawl_fetch::{AddressTurns, FetchError, Gate, LocalResource, Turn};
use crawl_model::StoreError;
use std::{
    net::IpAddr,
    sync::{
        Weak,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::time::{Instant, sleep_until};

/// Longest first delay of a request that the next turn allows for.
const LONGEST_MARGIN: Duration = Duration::from_millis(100);

/// Turns that a request takes if it is late for each of them.
const TRIES: usize = 5;

/// Turns that the store of a run gives, each after the pause of the gate.
pub struct SharedTurns {
    // the client may outlive the run, and must not keep its storage thread
    storage: Weak<AsyncStore>,
    gate: Gate,
    margins: Margins,
}

/// Margin that the next turn allows for, in microseconds. A loaded machine is late for many turns in a row, and its requests are late
/// too after their turn has begun.
struct Margins(AtomicU64);

impl Margins {
    /// The margin of the next turn, at most a pause.
    fn next(&self, pause: Duration) -> Duration {
        (pause / 10).min(LONGEST_MARGIN).max(Duration::from_micros(self.0.load(Relaxed))).min(pause)
    }

    /// Notes by how much a turn was late, at most a pause. Forgets an eighth of earlier ones.
    fn note(&self, late: Duration, pause: Duration) {
        let twice = u64::try_from((late.min(pause) * 2).as_micros()).unwrap_or(u64::MAX);
        let before = self.0.load(Relaxed);
        self.0.store(twice.max(before - before / 8), Relaxed);
    }
}

impl SharedTurns {
    pub const fn new(storage: Weak<AsyncStore>, gate: Gate) -> Self {
        Self { storage, gate, margins: Margins(AtomicU64::new(0)) }
    }

    async fn turn(&self, address: IpAddr) -> Result<(), FetchError> {
        let pause = self.gate.address_pause();
        for _ in 0..TRIES {
            let margin = self.margins.next(pause);
            let storage = self.storage.upgrade().ok_or_else(|| unavailable(&"the run has ended"))?;
            let ask = move |store: &dyn crawl_model::Store| -> Result<_, StoreError> {
                let requested_at = Instant::now();
                let wait = store.take_turn(address, pause + margin)?;
                Ok((requested_at + wait, Instant::now() + wait))
            };
            // the turn begins between these times
            let (earliest, latest) = storage.call(ask).await.map_err(|error| unavailable(&error))?;
            drop(storage);
            self.gate.defer_address(address, latest + pause);
            sleep_until(latest).await;
            let late = Instant::now().saturating_duration_since(earliest);
            self.margins.note(late, pause);
            // later than that, the next turn may begin too early after this request
            if late <= margin {
                break;
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_turns_widen_the_margin_for_a_while() {
        let (margins, pause) = (Margins(AtomicU64::new(0)), Duration::from_millis(300));
        assert_eq!(margins.next(pause), Duration::from_millis(30));
        margins.note(Duration::from_millis(70), pause);
        assert_eq!(margins.next(pause), Duration::from_millis(140));
        margins.note(Duration::from_millis(1), pause);
        assert_eq!(margins.next(pause), Duration::from_micros(122_500));
        (0..20).for_each(|_| margins.note(Duration::ZERO, pause));
        assert_eq!(margins.next(pause), Duration::from_millis(30));
        margins.note(Duration::from_mins(9), pause);
        assert_eq!(margins.next(pause), pause, "at most a pause");
        (0..24).for_each(|_| margins.note(Duration::ZERO, pause));
        assert_eq!(margins.next(pause), Duration::from_millis(30), "for so many turns");
    }
}
