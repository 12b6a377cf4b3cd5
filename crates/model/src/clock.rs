//! The clock and the random numbers of a run. A simulation replaces both for its thread.

use std::{
    cell::RefCell,
    hash::{BuildHasher, RandomState},
    rc::Rc,
    time::{Duration, Instant, SystemTime},
};

/// Time and chance of a simulation.
pub trait Simulation {
    /// Milliseconds since the Unix epoch, by a clock that may be set.
    fn now_ms(&self) -> i64;

    /// A moment of a clock that is never set.
    fn instant(&self) -> Instant;

    /// The next random number.
    fn random(&self) -> u64;
}

thread_local! {
    static SIMULATION: RefCell<Option<Rc<dyn Simulation>>> = const { RefCell::new(None) };
}

/// Ends a simulation when it is dropped.
#[derive(Debug)]
pub struct SimulationGuard(());

impl Drop for SimulationGuard {
    fn drop(&mut self) {
        SIMULATION.set(None);
    }
}

/// Replaces the clock and the random numbers of this thread until the guard is dropped. Other threads keep theirs.
#[must_use]
pub fn simulate(simulation: Rc<dyn Simulation>) -> SimulationGuard {
    SIMULATION.set(Some(simulation));
    SimulationGuard(())
}

fn simulated<T>(read: impl FnOnce(&dyn Simulation) -> T) -> Option<T> {
    SIMULATION.with_borrow(|simulation| simulation.as_deref().map(read))
}

/// Milliseconds since the Unix epoch.
#[must_use]
pub fn now_ms() -> i64 {
    simulated(|simulation| simulation.now_ms()).unwrap_or_else(|| {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

/// The same moment as [`now_ms`] as a system time.
#[must_use]
pub fn system_time() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(now_ms()).unwrap_or(0))
}

/// A moment of a clock that is never set.
#[must_use]
pub fn instant() -> Instant {
    simulated(|simulation| simulation.instant()).unwrap_or_else(Instant::now)
}

/// An unpredictable number. The keys of each hasher are random.
#[must_use]
pub fn random() -> u64 {
    simulated(|simulation| simulation.random()).unwrap_or_else(|| RandomState::new().hash_one(0_u8))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(Instant);

    impl Simulation for Fixed {
        fn now_ms(&self) -> i64 {
            4_102_444_800_000
        }

        fn instant(&self) -> Instant {
            self.0
        }

        fn random(&self) -> u64 {
            7
        }
    }

    #[test]
    fn a_simulation_holds_for_its_thread_until_its_guard_is_dropped() {
        let moment = Instant::now();
        let guard = simulate(Rc::new(Fixed(moment)));
        assert_eq!((now_ms(), instant(), random()), (4_102_444_800_000, moment, 7));
        let elsewhere = std::thread::scope(|scope| scope.spawn(|| (now_ms(), random())).join().unwrap());
        assert!(elsewhere.0 != 4_102_444_800_000 && elsewhere.1 != 7);
        drop(guard);
        assert_ne!(now_ms(), 4_102_444_800_000);
        assert_ne!(random(), random());
    }
}
