//! What is known of one host, and how long it is left alone.

use super::settings::{PolitenessSettings, SlotOutcome};
use governor::{
    Quota, RateLimiter,
    clock::Clock,
    middleware::NoOpMiddleware,
    state::{InMemoryState, NotKeyed},
};
use rustc_hash::FxHashSet;
use std::time::Duration;
use tokio::time::Instant;

/// The first pause of a host that is slowed down although no delay is set.
const FIRST_SLOW_DELAY: Duration = Duration::from_millis(250);
/// Refused URLs of one host that are remembered.
const MOST_REFUSED: usize = 1_000;
/// A pause below this is as good as none.
const FORGIVEN: Duration = Duration::from_millis(100);

/// More than this many pauses are never added to one.
pub(super) const MAX_JITTER: f64 = 10.0;

/// The clock of the limiters: tokio's, so that a test can stop it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TokioClock;

impl Clock for TokioClock {
    type Instant = std::time::Instant;

    fn now(&self) -> Self::Instant {
        Instant::now().into_std()
    }
}

pub(super) type Limiter =
    RateLimiter<NotKeyed, InMemoryState, TokioClock, NoOpMiddleware<std::time::Instant>>;

/// What a host has asked for by `Retry-After`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    pub(super) until: Instant,
    /// It is more than a run waits for.
    pub(super) left: bool,
}

/// What is known of a host. Dropped when idle, unless it says more than a fresh one would.
pub(super) struct Host {
    /// One request a pause; `None` where nothing has to be waited for.
    pub(super) limiter: Option<Limiter>,
    /// The number of the slot that began the pause with its request; 0 for a pause after an answer.
    pub(super) begun_by: u64,
    /// Slots up to this number were given before the Crawl-delay was known.
    pub(super) outdated: u64,
    pub(super) in_flight: usize,
    /// A request to it has ended.
    pub(super) asked: bool,
    /// It was refused to a caller that is to hear when one of its slots is freed.
    pub(super) watched: bool,
    /// What robots.txt asks for, as far as we let it.
    pub(super) crawl_delay: Duration,
    /// Pause that 429 and 503 brought; zero for none.
    pub(super) slow_delay: Duration,
    /// When it was last made longer.
    pub(super) slowed_at: Option<Instant>,
    /// The last answer was 429 or 503.
    pub(super) asked_for_less: bool,
    /// URLs that were refused while the host is slowed down, as hashes.
    pub(super) refused: FxHashSet<u64>,
    /// Not before this: `Retry-After`, or the break of a host that does not answer.
    pub(super) not_before: Option<Instant>,
    /// What its last `Retry-After` asked for, if that is not over.
    pub(super) told: Option<Told>,
    /// Requests without any answer in a row.
    pub(super) failures: u32,
    pub(super) last_used: Instant,
}

impl Host {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            limiter: None,
            begun_by: 0,
            outdated: 0,
            in_flight: 0,
            asked: false,
            watched: false,
            crawl_delay: Duration::ZERO,
            slow_delay: Duration::ZERO,
            slowed_at: None,
            asked_for_less: false,
            refused: FxHashSet::default(),
            not_before: None,
            told: None,
            failures: 0,
            last_used: now,
        }
    }

    /// Leaves it alone for so long, because it says so.
    pub(super) fn tell(&mut self, wait: Duration, settings: &PolitenessSettings, now: Instant) {
        let Some(until) = now.checked_add(wait) else { return };
        self.not_before = Some(self.not_before.map_or(until, |at| at.max(until)));
        let told = Told { until, left: wait > settings.max_retry_after };
        self.told = Some(self.told.filter(|before| before.until > until).unwrap_or(told));
    }

    /// How much longer it is left for this run, as it asks for more than a run waits for.
    pub(super) fn left(&self, now: Instant) -> Option<Duration> {
        self.told.filter(|told| told.left && told.until > now).map(|told| told.until - now)
    }

    /// Returns true if the host is not asked again in this run: it never answers, or asks for a longer pause than is kept.
    pub(super) fn is_given_up(&self, settings: &PolitenessSettings, now: Instant) -> bool {
        let is_silent = self.failures >= settings.break_after.saturating_add(settings.break_tries);
        is_silent || self.left(now).is_some()
    }

    /// Begins a pause, with the request of slot `begun_by` or, for 0, after an answer.
    pub(super) fn begin_pause(&mut self, settings: &PolitenessSettings, begun_by: u64) {
        self.limiter = limiter(pause(self, settings));
        self.begun_by = begun_by;
    }
}

/// What an answer to a request that began at `started` changes about a host.
pub(super) fn learn(
    host: &mut Host,
    outcome: SlotOutcome,
    started: Instant,
    settings: &PolitenessSettings,
    now: Instant,
) {
    if let Some(wait) = outcome.retry_after.filter(|_| outcome.status.is_some_and(|s| s >= 300)) {
        host.tell(wait, settings, now);
    }
    pace(host, outcome, started, settings, now);
    if outcome.unanswered {
        host.failures = host.failures.saturating_add(1);
        if let Some(again) = host.failures.checked_sub(settings.break_after) {
            let rest = settings.break_for.saturating_mul(1 << again.min(8));
            host.not_before = Some(now + rest);
        }
    } else if outcome.status.is_some() {
        host.failures = 0;
    }
}

/// Slows a host down that asks for it, and forgives it little by little. A URL that is refused again says
/// nothing new of its host: its own back-off grows already, and a host that refuses everything refuses other URLs too. Where
/// the host says itself when to come back, that is obeyed, and the pause grows by a half instead of doubling; so it does
/// for a single 503.
fn pace(
    host: &mut Host,
    outcome: SlotOutcome,
    started: Instant,
    settings: &PolitenessSettings,
    now: Instant,
) {
    let again = std::mem::replace(&mut host.asked_for_less, outcome.asks_for_less());
    if outcome.asks_for_less() {
        if host.refused.len() >= MOST_REFUSED {
            host.refused.clear();
        }
        let repeated = outcome.url.is_some_and(|url| !host.refused.insert(url));
        // nor do requests that were under way already when it was slowed down say anything new
        if !(repeated || host.slowed_at.is_some_and(|at| started < at)) {
            let pause = base_pause(host, settings).max(FIRST_SLOW_DELAY);
            // a single 503 may be the page's own trouble
            let mild = outcome.retry_after.is_some() || outcome.status == Some(503) && !again;
            host.slow_delay = pause.mul_f64(if mild { 1.5 } else { 2.0 }).min(settings.max_slow_delay);
            host.slowed_at = Some(now);
        }
    } else if outcome.status.is_some_and(|s| s < 500) && !host.slow_delay.is_zero() {
        host.slow_delay = host.slow_delay.mul_f64((1.0 - settings.forgiveness).clamp(0.0, 1.0));
        if host.slow_delay <= settings.delay.max(FORGIVEN) {
            host.slow_delay = Duration::ZERO;
            host.slowed_at = None;
            host.refused = FxHashSet::default();
        }
    }
}

/// The pause of a host without jitter.
pub(super) fn base_pause(host: &Host, settings: &PolitenessSettings) -> Duration {
    settings.delay.max(host.crawl_delay).max(host.slow_delay)
}

fn pause(host: &Host, settings: &PolitenessSettings) -> Duration {
    let base = base_pause(host, settings);
    if settings.jitter > 0.0 && !base.is_zero() {
        let share = crawl_model::random() as f64 / u64::MAX as f64;
        base.mul_f64(1.0 + settings.jitter.min(MAX_JITTER) * share)
    } else {
        base
    }
}

/// A limiter whose only request has just been made: the next one may go when the pause is over.
pub(super) fn limiter(pause: Duration) -> Option<Limiter> {
    let limiter = RateLimiter::direct_with_clock(Quota::with_period(pause)?, TokioClock);
    // the first request of a fresh limiter always passes
    let _ = limiter.check();
    Some(limiter)
}

/// When a limiter lets the next request pass; `None` for now, and then it has let it pass.
pub(super) fn ready_at(limiter: &Limiter) -> Option<Instant> {
    limiter.check().err().map(|until| Instant::from_std(until.earliest_possible()))
}
