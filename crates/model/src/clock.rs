//! Clock and random numbers of a run. A simulation replaces both for its thread.

use std::{
    cell::RefCell,
    hash::{BuildHasher, RandomState},
    rc::Rc,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

/// Clock and random numbers of a simulation.
pub trait Simulation {
    /// Milliseconds since the Unix epoch, from a clock that may be set.
    fn now_ms(&self) -> i64;

    /// Current time of a monotonic clock.
    fn instant(&self) -> Instant;

    /// The next random number.
    fn random(&self) -> u64;
}

/// Wall clock that never goes back. While the real one is behind, time continues from the highest value read, so that
/// no stored time lies in the future.
#[derive(Debug, Default)]
struct Forward(Option<(i64, Instant)>);

impl Forward {
    fn read(&mut self, wall_ms: i64, moment: Instant) -> i64 {
        if let Some((ms, at)) = self.0 {
            let elapsed = moment.saturating_duration_since(at).as_millis();
            let steady = ms.saturating_add(i64::try_from(elapsed).unwrap_or(i64::MAX));
            if wall_ms < steady {
                return steady;
            }
        }
        self.0 = Some((wall_ms, moment));
        wall_ms
    }
}

/// The wall clock of this process.
static WALL: Mutex<Forward> = Mutex::new(Forward(None));

thread_local! {
    static SIMULATION: RefCell<Option<Rc<dyn Simulation>>> = const { RefCell::new(None) };
    static SIMULATED_WALL: RefCell<Forward> = const { RefCell::new(Forward(None)) };
}

/// Guard that ends a simulation when it is dropped.
#[derive(Debug)]
pub struct SimulationGuard(());

impl Drop for SimulationGuard {
    fn drop(&mut self) {
        SIMULATION.set(None);
    }
}

/// Replaces the clock and the random numbers of this thread until the guard is dropped. Other threads are not
/// affected.
#[must_use]
pub fn simulate(simulation: Rc<dyn Simulation>) -> SimulationGuard {
    SIMULATED_WALL.set(Forward(None));
    SIMULATION.set(Some(simulation));
    SimulationGuard(())
}

fn simulated<T>(read: impl FnOnce(&dyn Simulation) -> T) -> Option<T> {
    SIMULATION.with_borrow(|simulation| simulation.as_deref().map(read))
}

/// Milliseconds since the Unix epoch. The time never goes back while the process runs, even if the clock is
/// set back.
#[must_use]
pub fn now_ms() -> i64 {
    if let Some((wall_ms, moment)) = simulated(|simulation| (simulation.now_ms(), simulation.instant())) {
        return SIMULATED_WALL.with_borrow_mut(|wall| wall.read(wall_ms, moment));
    }
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let wall_ms = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    WALL.lock().unwrap_or_else(PoisonError::into_inner).read(wall_ms, Instant::now())
}

/// The time of [`now_ms`] as a system time.
#[must_use]
pub fn system_time() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(now_ms()).unwrap_or(0))
}

/// Current time of a monotonic clock.
#[must_use]
pub fn instant() -> Instant {
    simulated(|simulation| simulation.instant()).unwrap_or_else(Instant::now)
}

/// An unpredictable number. Derived from the random keys of a hasher.
#[must_use]
pub fn random() -> u64 {
    simulated(|simulation| simulation.random()).unwrap_or_else(|| RandomState::new().hash_one(0_u8))
}

/// Time as RFC 3339 in UTC, with milliseconds; empty if it is out of range.
#[must_use]
pub fn rfc3339(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms).map_or_else(|_| String::new(), |t| format!("{t:.3}"))
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
    fn time_stays_monotonic_when_the_clock_is_set_back() {
        let begin = Instant::now();
        let at = |ms| begin + Duration::from_millis(ms);
        let mut wall = Forward::default();
        assert_eq!(wall.read(10_000_000, at(0)), 10_000_000);
        assert_eq!(wall.read(10_000_500, at(500)), 10_000_500);
        // an hour back
        for ms in 501..=2_000_i64 {
            assert_eq!(wall.read(6_400_000 + ms, at(ms.unsigned_abs())), 10_000_000 + ms);
        }
        // set right again, and ahead
        assert_eq!(wall.read(10_003_000, at(3_000)), 10_003_000);
        assert_eq!(wall.read(20_000_000, at(3_001)), 20_000_000);
    }

    #[test]
    fn simulated_time_applies_to_its_thread_until_dropped() {
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
