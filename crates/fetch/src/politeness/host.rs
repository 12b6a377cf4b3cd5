//! State of one host, and its pause between requests.

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

/// First pause of a throttled host if no delay is set.
const FIRST_SLOW_DELAY: Duration = Duration::from_millis(250);
/// Maximum refused URLs of one host that are remembered.
const MOST_REFUSED: usize = 1_000;
/// Pauses below this count as none.
const NEGLIGIBLE_PAUSE: Duration = Duration::from_millis(100);

/// Maximum random share that is added to a pause.
pub(super) const MAX_JITTER: f64 = 10.0;

/// Clock of the limiters: tokio's, so that a test can stop it.
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

/// A `Retry-After` of a host.
#[derive(Clone, Copy, Debug)]
pub(super) struct RetryAfterDeadline {
    pub(super) until: Instant,
    /// True if it is longer than a run waits.
    pub(super) blocks_run: bool,
}

/// Requests that a host has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answers {
    /// None yet.
    None,
    /// Only requests for robots.txt and opt-out files.
    Files,
    /// A request for a page.
    Pages,
}

impl Answers {
    pub(super) const fn of(outcome: SlotOutcome) -> Self {
        match outcome {
            SlotOutcome { status: None, .. } => Self::None,
            // only requests for pages name their URL
            SlotOutcome { url: None, .. } => Self::Files,
            SlotOutcome { url: Some(_), .. } => Self::Pages,
        }
    }
}

/// State of a host. Dropped when idle, unless it differs from a fresh one.
pub(super) struct Host {
    /// One request per pause; `None` if there is no wait.
    pub(super) limiter: Option<Limiter>,
    /// Number of the slot whose request began the pause; 0 for a pause after an answer.
    pub(super) begun_by: u64,
    /// Slots up to this number were given before the Crawl-delay was known.
    pub(super) outdated: u64,
    pub(super) in_flight: usize,
    /// True if a request to the host has ended.
    pub(super) asked: bool,
    /// Its answers so far.
    pub(super) answers: Answers,
    /// Number of its answers so far.
    pub(super) answered: u32,
    /// True if a caller that was refused waits for a free slot.
    pub(super) watched: bool,
    /// Pause in place of that of the settings.
    pub(super) delay: Option<Duration>,
    /// Crawl-delay of robots.txt, up to the maximum.
    pub(super) crawl_delay: Duration,
    /// Pause after 429 and 503; zero for none.
    pub(super) slow_delay: Duration,
    /// Time at which `slow_delay` last grew.
    pub(super) slowed_at: Option<Instant>,
    /// True if the last answer was 429 or 503.
    pub(super) was_throttled: bool,
    /// Hashes of the URLs refused while the host is throttled.
    pub(super) refused: FxHashSet<u64>,
    /// Earliest next request: after `Retry-After`, or after the break of a silent host.
    pub(super) not_before: Option<Instant>,
    /// Its last `Retry-After`, until it expires.
    pub(super) retry_after: Option<RetryAfterDeadline>,
    /// Consecutive requests without any answer.
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
            answers: Answers::None,
            answered: 0,
            watched: false,
            delay: None,
            crawl_delay: Duration::ZERO,
            slow_delay: Duration::ZERO,
            slowed_at: None,
            was_throttled: false,
            refused: FxHashSet::default(),
            not_before: None,
            retry_after: None,
            failures: 0,
            last_used: now,
        }
    }

    /// Pauses the host for a `Retry-After`.
    pub(super) fn set_retry_after(&mut self, wait: Duration, settings: &PolitenessSettings, now: Instant) {
        let Some(until) = now.checked_add(wait) else { return };
        self.not_before = Some(self.not_before.map_or(until, |at| at.max(until)));
        let deadline = RetryAfterDeadline { until, blocks_run: wait > settings.max_retry_after };
        self.retry_after = Some(self.retry_after.filter(|before| before.until > until).unwrap_or(deadline));
    }

    /// Remaining time of a `Retry-After` that is longer than a run waits.
    pub(super) fn blocked_until(&self, now: Instant) -> Option<Instant> {
        self.retry_after
            .filter(|deadline| deadline.blocks_run && deadline.until > now)
            .map(|deadline| deadline.until)
    }

    /// Returns true if this run no longer contacts the host: it never answers, or its `Retry-After` is too
    /// long.
    pub(super) fn is_given_up(&self, settings: &PolitenessSettings, now: Instant) -> bool {
        let is_silent = self.failures >= settings.break_after.saturating_add(settings.break_tries);
        is_silent || self.blocked_until(now).is_some()
    }

    /// Begins a pause, with the request of slot `begun_by` or, for 0, after an answer.
    pub(super) fn begin_pause(&mut self, settings: &PolitenessSettings, begun_by: u64) {
        self.limiter = limiter(pause(self, settings));
        self.begun_by = begun_by;
    }
}

/// Updates a host after an answer to a request that began at `started`.
pub(super) fn record_outcome(
    host: &mut Host,
    outcome: SlotOutcome,
    started: Instant,
    settings: &PolitenessSettings,
    now: Instant,
) {
    if let (Some(wait), Some(status @ 300..)) = (outcome.retry_after, outcome.status) {
        // the `Retry-After` of a redirect delays the next request, but never blocks the host for the run
        let most = if status < 400 { settings.max_retry_after } else { Duration::MAX };
        host.set_retry_after(wait.min(most), settings, now);
    }
    update_throttling(host, outcome, started, settings, now);
    if outcome.unanswered {
        host.failures = host.failures.saturating_add(1);
        if let Some(again) = host.failures.checked_sub(settings.break_after) {
            let rest = settings.break_for.saturating_mul(1 << again.min(8));
            // a request in flight may fail after another one has brought a later Retry-After
            host.not_before = host.not_before.max(now.checked_add(rest));
        }
    } else if outcome.status.is_some() {
        host.failures = 0;
    }
}

/// Throttles a host on 429 and 503, and recovers step by step. A repeated refusal of one URL does not count:
/// that URL has its own backoff, and a throttling host refuses other URLs too. The pause doubles. With
/// `Retry-After`, and after a single 503, it grows by half.
fn update_throttling(
    host: &mut Host,
    outcome: SlotOutcome,
    started: Instant,
    settings: &PolitenessSettings,
    now: Instant,
) {
    let again = std::mem::replace(&mut host.was_throttled, outcome.is_throttled());
    if outcome.is_throttled() {
        if host.refused.len() >= MOST_REFUSED {
            host.refused.clear();
        }
        let repeated = outcome.url.is_some_and(|url| !host.refused.insert(url));
        // requests that were in flight when the host was throttled do not count either
        if !(repeated || host.slowed_at.is_some_and(|at| started < at)) {
            let pause = base_pause(host, settings).max(FIRST_SLOW_DELAY);
            // a single 503 may be the page's own fault
            let mild = outcome.retry_after.is_some() || outcome.status == Some(503) && !again;
            host.slow_delay = pause.mul_f64(if mild { 1.5 } else { 2.0 }).min(settings.max_slow_delay);
            host.slowed_at = Some(now);
        }
    } else if outcome.status.is_some_and(|s| s < 500) && !host.slow_delay.is_zero() {
        host.slow_delay = host.slow_delay.mul_f64((1.0 - settings.forgiveness).clamp(0.0, 1.0));
        if host.slow_delay <= host.delay.unwrap_or(settings.delay).max(NEGLIGIBLE_PAUSE) {
            host.slow_delay = Duration::ZERO;
            host.slowed_at = None;
            host.refused = FxHashSet::default();
        }
    }
}

/// Pause of a host without jitter.
pub(super) fn base_pause(host: &Host, settings: &PolitenessSettings) -> Duration {
    requested_pause(host, settings).max(host.slow_delay)
}

/// Pause of a host by the settings and its robots.txt.
pub(super) fn requested_pause(host: &Host, settings: &PolitenessSettings) -> Duration {
    host.delay.unwrap_or(settings.delay).max(host.crawl_delay)
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

/// Creates a limiter whose only request has just been made: the next one waits for the pause.
pub(super) fn limiter(pause: Duration) -> Option<Limiter> {
    let limiter = RateLimiter::direct_with_clock(Quota::with_period(pause)?, TokioClock);
    // the first request of a fresh limiter always passes
    let _ = limiter.check();
    Some(limiter)
}

/// Time at which a limiter admits the next request; `None` if it has just admitted it.
pub(super) fn ready_at(limiter: &Limiter) -> Option<Instant> {
    limiter.check().err().map(|until| Instant::from_std(until.earliest_possible()))
}
