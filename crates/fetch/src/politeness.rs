//! When a host may be asked again: the one gate that every request passes, whoever makes it.
//!
//! The pause of a host is a [`governor`] limiter of one request a period. It is set anew when a request ends, so that
//! the pause counts from the end of the last request, not from its start: the gaps that the server sees are never
//! shorter than the delay, however slow it is.

use crate::{error::FetchError, http::Resource};
use crawl_model::HostKey;
use governor::{
    Jitter, Quota, RateLimiter,
    clock::Clock,
    middleware::NoOpMiddleware,
    state::{InMemoryState, NotKeyed},
};
use rustc_hash::FxHashMap;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{Notify, futures::Notified},
    time::{Instant, sleep_until},
};

/// Settings of a [`Gate`].
#[derive(Clone, Debug)]
pub struct PolitenessSettings {
    /// Least pause between two requests to a host.
    pub delay: Duration,
    /// Random addition to each pause, as a share of it (0 for none).
    pub jitter: f64,
    /// Requests to one host at the same time. With more than one the pause lies between their starts.
    pub host_concurrency: usize,
    /// The most that a robots.txt may ask for by `Crawl-delay`.
    pub max_crawl_delay: Duration,
    /// The most that a `Retry-After` may ask for.
    pub max_retry_after: Duration,
    /// A host that answers 429 or 503 gets its pause doubled, up to this.
    pub max_slow_delay: Duration,
    /// Good answers in a row after which a slowed pause is halved again.
    pub forgive_after: u32,
    /// Failed connections in a row after which a host is left alone.
    pub break_after: u32,
    /// How long it is left alone; doubled each time that the next try fails too.
    pub break_for: Duration,
    /// Tries after a break that may fail before the host counts as dead.
    pub break_tries: u32,
}

impl Default for PolitenessSettings {
    fn default() -> Self {
        Self {
            delay: Duration::from_secs(1),
            jitter: 0.1,
            host_concurrency: 1,
            max_crawl_delay: Duration::from_secs(30),
            max_retry_after: Duration::from_secs(300),
            max_slow_delay: Duration::from_secs(60),
            forgive_after: 10,
            break_after: 5,
            break_for: Duration::from_secs(30),
            break_tries: 3,
        }
    }
}

/// The first pause of a host that is slowed down although no delay is set.
const FIRST_SLOW_DELAY: Duration = Duration::from_millis(500);

/// How a request ended, as far as politeness is concerned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotOutcome {
    /// HTTP status, if there was a response.
    pub status: Option<u16>,
    /// `Retry-After`, if it was given.
    pub retry_after: Option<Duration>,
    /// No connection was made.
    pub failed_connect: bool,
}

impl SlotOutcome {
    /// The outcome of a request for a page.
    #[must_use]
    pub fn of(fetched: &crate::Fetched) -> Self {
        use crate::Fetched as F;
        match fetched {
            F::Page(page) => Self { status: Some(page.status), ..Self::default() },
            F::Redirect { status, .. } | F::Skipped { status, .. } => {
                Self { status: Some(*status), ..Self::default() }
            }
            F::Failed { error, status, retry_after, .. } => {
                Self { status: *status, retry_after: *retry_after, failed_connect: error.is_unreachable() }
            }
        }
    }

    /// The outcome of a request for something else.
    #[must_use]
    pub fn of_resource(answer: &Result<Resource, FetchError>) -> Self {
        match answer {
            Ok(answer) => {
                Self { status: Some(answer.status), retry_after: answer.retry_after, failed_connect: false }
            }
            Err(error) => Self { failed_connect: error.is_unreachable(), ..Self::default() },
        }
    }

    const fn asks_for_less(&self) -> bool {
        matches!(self.status, Some(429 | 503))
    }
}

/// Why a host cannot be asked now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotYet {
    /// When to try again; `None` if all its slots are taken and one has to be freed first.
    pub at: Option<Instant>,
    /// The host did not answer again and again, and no longer counts as alive: its URLs can be failed.
    pub dead: bool,
}

/// The clock of the limiters: tokio's, so that a test can stop it.
#[derive(Clone, Copy, Debug, Default)]
struct TokioClock;

impl Clock for TokioClock {
    type Instant = std::time::Instant;

    fn now(&self) -> Self::Instant {
        Instant::now().into_std()
    }
}

type Limiter = RateLimiter<NotKeyed, InMemoryState, TokioClock, NoOpMiddleware<std::time::Instant>>;

/// What is known of a host. Dropped when idle, unless it says more than a fresh one would.
struct Host {
    /// One request a pause; `None` where nothing has to be waited for.
    limiter: Option<Limiter>,
    in_flight: usize,
    /// What robots.txt asks for, as far as we let it.
    crawl_delay: Duration,
    /// Pause that 429 and 503 brought; zero for none.
    slow_delay: Duration,
    /// Good answers since it was last changed.
    good: u32,
    /// Not before this: `Retry-After`, or the break of a host that does not answer.
    not_before: Option<Instant>,
    /// Failed connections in a row.
    failures: u32,
    last_used: Instant,
}

impl Host {
    fn new(now: Instant) -> Self {
        Self {
            limiter: None,
            in_flight: 0,
            crawl_delay: Duration::ZERO,
            slow_delay: Duration::ZERO,
            good: 0,
            not_before: None,
            failures: 0,
            last_used: now,
        }
    }
}

struct Shared {
    settings: PolitenessSettings,
    hosts: Mutex<FxHashMap<HostKey, Host>>,
    freed: Notify,
}

/// Lets requests through, host by host. Cheap to clone; all clones are one gate.
#[derive(Clone)]
pub struct Gate(Arc<Shared>);

impl Gate {
    /// A gate at which no host is known yet.
    #[must_use]
    pub fn new(settings: PolitenessSettings) -> Self {
        Self(Arc::new(Shared { settings, hosts: Mutex::default(), freed: Notify::new() }))
    }

    /// A slot at a host, if it may be asked now.
    ///
    /// # Errors
    /// [`NotYet`] says when to come again.
    pub fn try_acquire(&self, key: &HostKey) -> Result<HostSlot, NotYet> {
        let now = Instant::now();
        let settings = &self.0.settings;
        let mut hosts = self.0.lock();
        let host = match hosts.get_mut(key) {
            Some(host) => host,
            None => hosts.entry(key.clone()).or_insert_with(|| Host::new(now)),
        };
        let dead = host.failures >= settings.break_after.saturating_add(settings.break_tries);
        // after a break one request finds out whether the host is back
        let slots = if host.failures >= settings.break_after { 1 } else { settings.host_concurrency.max(1) };
        if host.in_flight >= slots {
            return Err(NotYet { at: None, dead });
        }
        if let Some(at) = host.not_before.filter(|&at| at > now) {
            return Err(NotYet { at: Some(at), dead });
        }
        if let Some(limiter) = &host.limiter
            && let Err(until) = limiter.check()
        {
            return Err(NotYet { at: Some(Instant::from_std(until.earliest_possible())), dead });
        }
        host.not_before = None;
        host.in_flight += 1;
        host.last_used = now;
        if settings.host_concurrency > 1 {
            host.limiter = limiter(pause(host, settings));
        }
        Ok(HostSlot { shared: Arc::clone(&self.0), key: Some(key.clone()) })
    }

    /// Waits for a slot at a host.
    pub async fn acquire(&self, key: &HostKey) -> HostSlot {
        loop {
            let freed = self.freed();
            match self.try_acquire(key) {
                Ok(slot) => return slot,
                Err(NotYet { at: Some(at), .. }) => sleep_until(at).await,
                Err(NotYet { at: None, .. }) => freed.await,
            }
        }
    }

    /// Ends when the next slot is freed, at whatever host. Make it before [`Gate::try_acquire`], so that a slot freed
    /// in between still ends it.
    pub fn freed(&self) -> Notified<'_> {
        self.0.freed.notified()
    }

    /// What a host's robots.txt asks for; cut at `max_crawl_delay`. Returns whether it was cut.
    pub fn set_crawl_delay(&self, key: &HostKey, delay: Duration) -> bool {
        let now = Instant::now();
        let most = self.0.settings.max_crawl_delay;
        let mut hosts = self.0.lock();
        let host = hosts.entry(key.clone()).or_insert_with(|| Host::new(now));
        host.crawl_delay = delay.min(most);
        // the request that brought robots.txt has ended already: its pause is the longer one, too
        if host.in_flight == 0 && host.crawl_delay > self.0.settings.delay {
            host.limiter = limiter(pause(host, &self.0.settings));
        }
        delay > most
    }

    /// The pause between two requests to a host as it stands, without jitter.
    #[must_use]
    pub fn delay(&self, key: &HostKey) -> Duration {
        let hosts = self.0.lock();
        hosts.get(key).map_or(self.0.settings.delay, |host| base_pause(host, &self.0.settings))
    }

    /// Whether a host has failed so often that its URLs can be failed.
    #[must_use]
    pub fn is_dead(&self, key: &HostKey) -> bool {
        let limit = self.0.settings.break_after.saturating_add(self.0.settings.break_tries);
        self.0.lock().get(key).is_some_and(|host| host.failures >= limit)
    }

    /// Hosts that are remembered.
    #[must_use]
    pub fn hosts(&self) -> usize {
        self.0.lock().len()
    }

    /// Forgets hosts that have not been asked for `idle` and of which nothing is known that still matters.
    pub fn evict_idle(&self, idle: Duration) {
        let now = Instant::now();
        self.0.lock().retain(|_, host| {
            host.in_flight > 0
                || host.failures > 0
                || host.not_before.is_some_and(|at| at > now)
                || now.duration_since(host.last_used) < idle.max(base_pause(host, &self.0.settings))
        });
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, FxHashMap<HostKey, Host>> {
        // a panic elsewhere leaves counts at worst one off; the crawl ends by its own means
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finish(&self, key: &HostKey, outcome: SlotOutcome) {
        let now = Instant::now();
        if let Some(host) = self.lock().get_mut(key) {
            host.in_flight = host.in_flight.saturating_sub(1);
            host.last_used = now;
            learn(host, outcome, &self.settings, now);
            if self.settings.host_concurrency <= 1 || outcome.asks_for_less() {
                host.limiter = limiter(pause(host, &self.settings));
            }
        }
        self.freed.notify_waiters();
    }
}

/// What an answer changes about a host.
fn learn(host: &mut Host, outcome: SlotOutcome, settings: &PolitenessSettings, now: Instant) {
    if let Some(wait) = outcome.retry_after.filter(|_| outcome.status.is_some_and(|s| s >= 300)) {
        let until = now + wait.min(settings.max_retry_after);
        host.not_before = Some(host.not_before.map_or(until, |at| at.max(until)));
    }
    if outcome.asks_for_less() {
        let pause = base_pause(host, settings).max(FIRST_SLOW_DELAY);
        host.slow_delay = (pause * 2).min(settings.max_slow_delay);
        host.good = 0;
    } else if outcome.status.is_some_and(|s| s < 500) && !host.slow_delay.is_zero() {
        host.good += 1;
        if host.good >= settings.forgive_after {
            host.good = 0;
            host.slow_delay /= 2;
            if host.slow_delay <= settings.delay.max(FIRST_SLOW_DELAY / 2) {
                host.slow_delay = Duration::ZERO;
            }
        }
    }
    if outcome.failed_connect {
        host.failures = host.failures.saturating_add(1);
        if let Some(again) = host.failures.checked_sub(settings.break_after) {
            let rest = settings.break_for.saturating_mul(1 << again.min(8));
            host.not_before = Some(now + rest);
        }
    } else if outcome.status.is_some() {
        host.failures = 0;
    }
}

/// The pause of a host without jitter.
fn base_pause(host: &Host, settings: &PolitenessSettings) -> Duration {
    settings.delay.max(host.crawl_delay).max(host.slow_delay)
}

fn pause(host: &Host, settings: &PolitenessSettings) -> Duration {
    let base = base_pause(host, settings);
    if settings.jitter > 0.0 && !base.is_zero() {
        Jitter::up_to(base.mul_f64(settings.jitter.min(10.0))) + base
    } else {
        base
    }
}

/// A limiter whose only request has just been made: the next one may go when the pause is over.
fn limiter(pause: Duration) -> Option<Limiter> {
    let limiter = RateLimiter::direct_with_clock(Quota::with_period(pause)?, TokioClock);
    // the first request of a fresh limiter always passes
    let _ = limiter.check();
    Some(limiter)
}

/// The right to one request to a host. Dropping it is the same as finishing it with nothing to tell.
#[must_use = "dropping a slot ends the request it stands for"]
pub struct HostSlot {
    shared: Arc<Shared>,
    /// `None` once finished.
    key: Option<HostKey>,
}

impl HostSlot {
    /// Ends the request; the pause counts from here.
    pub fn finish(mut self, outcome: SlotOutcome) {
        if let Some(key) = self.key.take() {
            self.shared.finish(&key, outcome);
        }
    }
}

impl HostSlot {
    /// Gives the slot back: no request was made, and the host need not be left alone for it.
    pub fn give_back(mut self) {
        if let Some(key) = self.key.take() {
            if let Some(host) = self.shared.lock().get_mut(&key) {
                host.in_flight = host.in_flight.saturating_sub(1);
                // the pause was over when the slot was given
                host.limiter = None;
            }
            self.shared.freed.notify_waiters();
        }
    }
}

impl Drop for HostSlot {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            self.shared.finish(&key, SlotOutcome::default());
        }
    }
}

#[cfg(test)]
#[path = "politeness_tests.rs"]
mod tests;
