//! Time until which this process may send requests to its leased hosts.

use crate::instant;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

/// Lease of all hosts of this process, measured by the monotonic clock. The store extends it; requests hold a
/// [`LeasePermit`] of it.
#[derive(Debug)]
pub struct LeaseClock(Mutex<Term>);

/// Period without a gap in the lease.
#[derive(Debug)]
struct Term {
    number: u64,
    until: Instant,
}

impl LeaseClock {
    /// Begins a lease that ends at a time.
    #[must_use]
    pub fn new(until: Instant) -> Self {
        Self(Mutex::new(Term { number: 0, until }))
    }

    /// Extends the lease. After its end a new term begins, so that earlier permits stay invalid.
    pub fn extend(&self, until: Instant) {
        let mut term = self.term();
        if instant() >= term.until {
            term.number += 1;
        }
        term.until = until;
    }

    /// Ends the lease.
    pub fn end(&self) {
        let mut term = self.term();
        term.number += 1;
        term.until = instant();
    }

    /// Returns true if the lease is not over.
    #[must_use]
    pub fn is_on(&self) -> bool {
        instant() < self.term().until
    }

    fn term(&self) -> MutexGuard<'_, Term> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Permit to send requests to leased hosts. A gap in the lease ends it for good, since another process may have sent
/// requests meanwhile.
#[derive(Clone, Debug, Default)]
pub struct LeasePermit(Option<(Arc<LeaseClock>, u64)>);

impl LeasePermit {
    /// A permit of the present lease.
    #[must_use]
    pub fn of(clock: &Arc<LeaseClock>) -> Self {
        let number = clock.term().number;
        Self(Some((Arc::clone(clock), number)))
    }

    /// Returns true if a request may begin now.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.0.as_ref().is_none_or(|(clock, number)| {
            let term = clock.term();
            term.number == *number && instant() < term.until
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Simulation, simulate};
    use std::{cell::Cell, rc::Rc, time::Duration};

    struct Clock(Cell<Instant>);

    impl Simulation for Clock {
        fn now_ms(&self) -> i64 {
            0
        }
        fn instant(&self) -> Instant {
            self.0.get()
        }
        fn random(&self) -> u64 {
            0
        }
    }

    #[test]
    fn permit_is_valid_while_renewed_without_a_gap() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let time = Rc::new(Clock(Cell::new(begin)));
        let _simulated = simulate(Rc::clone(&time) as Rc<dyn Simulation>);
        let clock = Arc::new(LeaseClock::new(at(45)));
        let permit = LeasePermit::of(&clock);
        time.0.set(at(44));
        clock.extend(at(89));
        time.0.set(at(88));
        assert!(permit.is_valid());
        time.0.set(at(89));
        assert!(!permit.is_valid());
        clock.extend(at(134));
        assert!(!permit.is_valid(), "the lease was over for a moment");
        let permit = LeasePermit::of(&clock);
        assert!(permit.is_valid());
        clock.end();
        assert!(!permit.is_valid() && !clock.is_on());
        assert!(LeasePermit::default().is_valid(), "the hosts of one process have no lease");
    }
}
