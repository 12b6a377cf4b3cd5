//! Clock and random numbers of a simulated crawl, over all its processes.

use super::rng::mix;
use crawl_model::Simulation;
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::time::Instant;

/// Start of every simulation: 2026-01-01.
const BEGIN_MS: i64 = 1_767_225_600_000;

/// Time that continues from process to process. Each process has its own runtime, whose paused clock gives
/// the time in it.
pub struct World {
    /// Time of the finished processes.
    before: Mutex<Duration>,
    /// Begin of the process that runs.
    begun: Mutex<Option<Instant>>,
    /// Offset of the wall clock from the time since the start of the simulation.
    shift_ms: AtomicI64,
    random: AtomicU64,
}

impl World {
    pub fn new(seed: u64) -> Arc<Self> {
        let random = AtomicU64::new(mix(seed ^ 0x5eed));
        Arc::new(Self {
            before: Mutex::default(),
            begun: Mutex::default(),
            shift_ms: AtomicI64::new(BEGIN_MS),
            random,
        })
    }

    /// Starts a process, on the runtime of the caller.
    pub fn begin(&self) {
        *self.begun.lock().unwrap() = Some(Instant::now());
    }

    /// The process has ended.
    pub fn end(&self) {
        let now = self.now();
        *self.before.lock().unwrap() = now;
        *self.begun.lock().unwrap() = None;
    }

    /// Monotonic time since the start of the simulation.
    pub fn now(&self) -> Duration {
        let here = self.begun.lock().unwrap().map_or(Duration::ZERO, |begun| begun.elapsed());
        *self.before.lock().unwrap() + here
    }

    /// Time between two processes.
    pub fn pass(&self, time: Duration) {
        *self.before.lock().unwrap() += time;
    }

    /// Sets the wall clock.
    pub fn jump(&self, by_ms: i64) {
        self.shift_ms.fetch_add(by_ms, Relaxed);
    }
}

/// The world from the crawl's view.
pub struct Seen(pub Arc<World>);

impl Simulation for Seen {
    fn now_ms(&self) -> i64 {
        self.0.shift_ms.load(Relaxed) + i64::try_from(self.0.now().as_millis()).unwrap()
    }

    fn instant(&self) -> std::time::Instant {
        Instant::now().into_std()
    }

    fn random(&self) -> u64 {
        mix(self.0.random.fetch_add(0x9e37_79b9_7f4a_7c15, Relaxed))
    }
}
