//! Politeness: the gate that every request passes.
//!
//! The pause of a host is a [`governor`] limiter of one request per period. It restarts when a request ends,
//! so that the pause counts from the end of the last request. So the gaps between requests are never shorter
//! than the delay, however slow the server is.

mod addresses;
mod host;
mod settings;

pub use host::Answers;
pub use settings::{PolitenessSettings, SlotOutcome};

use crate::AddressBook;
use addresses::Addresses;
use crawl_model::HostKey;
use host::{Host, MAX_JITTER, base_pause, ready_at, record_outcome, requested_pause};
use rustc_hash::FxHashMap;
use std::{
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{Notify, futures::Notified},
    time::{Instant, sleep_until, timeout_at},
};

/// Period for which the failures of an idle host are kept.
const REMEMBER_FAILURES: Duration = Duration::from_secs(3_600);

/// Reason why a host cannot be contacted now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateRefusal {
    /// Time of the next try; `None` if a slot must be freed first.
    pub at: Option<Instant>,
    /// True if the host is dead: it repeatedly does not answer, or its `Retry-After` is longer than a run
    /// waits. Its URLs can be failed.
    pub dead: bool,
    /// The address that makes the host wait, if `at` is not the host's own time.
    pub address: Option<IpAddr>,
    /// True if a request to the host has ended before.
    pub asked: bool,
}

/// Source of the pauses of single hosts; `None` for the pause of the settings.
type DelayOf = Box<dyn Fn(&HostKey) -> Option<Duration> + Send + Sync>;

/// Callback after a `Retry-After` of a host.
type OnRetryAfter = Box<dyn Fn(&Gate) + Send + Sync>;

struct Shared {
    settings: PolitenessSettings,
    book: AddressBook,
    state: Mutex<State>,
    freed: Notify,
    on_retry_after: OnceLock<OnRetryAfter>,
    /// Pauses of single hosts.
    delays: OnceLock<DelayOf>,
}

#[derive(Default)]
struct State {
    hosts: FxHashMap<HostKey, Host>,
    addresses: Addresses,
    /// Number of the last slot.
    slots: u64,
    /// Watched hosts with a freed slot, see [`Gate::try_acquire_watched`].
    released: Vec<HostKey>,
    /// Earliest next request to any host.
    paused_until: Option<Instant>,
}

/// Admits requests host by host. Cheap to clone; all clones are one gate.
#[derive(Clone)]
pub struct Gate(Arc<Shared>);

impl Gate {
    /// Creates a gate without known hosts and without addresses: hosts on one address do not share a limit.
    #[must_use]
    pub fn new(settings: PolitenessSettings) -> Self {
        Self::with_addresses(settings, AddressBook::default())
    }

    /// Creates a gate that limits hosts on one address together. The book must be that of the client that
    /// makes the requests.
    #[must_use]
    pub fn with_addresses(settings: PolitenessSettings, book: AddressBook) -> Self {
        Self(Arc::new(Shared {
            settings,
            book,
            state: Mutex::default(),
            freed: Notify::new(),
            on_retry_after: OnceLock::new(),
            delays: OnceLock::new(),
        }))
    }

    /// Sets the source of pauses of single hosts, in place of that of the settings. Only the first call has an effect.
    pub fn set_delays(&self, delay_of: impl Fn(&HostKey) -> Option<Duration> + Send + Sync + 'static) {
        let _ = self.0.delays.set(Box::new(delay_of));
    }

    /// Sets a callback that runs after each `Retry-After` of a host, before the request counts as ended. Only
    /// the first call has an effect.
    pub fn on_retry_after(&self, keep: impl Fn(&Self) + Send + Sync + 'static) {
        let _ = self.0.on_retry_after.set(Box::new(keep));
    }

    /// Blocks new requests to all hosts for this long.
    pub fn pause(&self, wait: Duration) {
        let until = Instant::now().checked_add(wait);
        let mut state = self.0.lock();
        state.paused_until = state.paused_until.max(until);
    }

    /// Blocks new requests to a host for this long.
    pub fn pause_host(&self, key: &HostKey, wait: Duration) {
        let now = Instant::now();
        let mut state = self.0.lock();
        let host = state.hosts.entry(key.clone()).or_insert_with(|| self.0.new_host(key, now));
        host.not_before = host.not_before.max(now.checked_add(wait));
    }

    /// Acquires a slot at a host, if it may be contacted now.
    ///
    /// # Errors
    /// [`GateRefusal`] gives the time of the next try.
    pub fn try_acquire(&self, key: &HostKey) -> Result<HostSlot, GateRefusal> {
        self.acquire_now(key, false)
    }

    /// Acquires a slot as [`Gate::try_acquire`] does. [`Gate::take_released`] returns a refused host after
    /// one of its slots is freed.
    ///
    /// # Errors
    /// [`GateRefusal`] gives the time of the next try.
    pub fn try_acquire_watched(&self, key: &HostKey) -> Result<HostSlot, GateRefusal> {
        self.acquire_now(key, true)
    }

    /// Hosts that [`Gate::try_acquire_watched`] refused and that have freed a slot since.
    #[must_use]
    pub fn take_released(&self) -> Vec<HostKey> {
        std::mem::take(&mut self.0.lock().released)
    }

    fn acquire_now(&self, key: &HostKey, watched: bool) -> Result<HostSlot, GateRefusal> {
        let now = Instant::now();
        let settings = &self.0.settings;
        let address_pause = settings.address_pause();
        let address = if address_pause.is_zero() { None } else { self.0.book.address_of(key) };
        let mut state = self.0.lock();
        let State { hosts, addresses, slots: given, paused_until, .. } = &mut *state;
        let host = match hosts.get_mut(key) {
            Some(host) => host,
            None => hosts.entry(key.clone()).or_insert_with(|| self.0.new_host(key, now)),
        };
        let dead = host.is_given_up(settings, now);
        // after a break one request tests the host
        let slots = if host.failures >= settings.break_after { 1 } else { settings.host_concurrency.max(1) };
        let watch = watched && host.in_flight > 0;
        let asked = host.asked;
        if host.in_flight >= slots {
            host.watched |= watch;
            return Err(GateRefusal { at: None, dead, address: None, asked });
        }
        let blocked_until = host.not_before.max(*paused_until).filter(|&at| at > now);
        let later = blocked_until.or_else(|| host.limiter.as_ref().and_then(ready_at));
        if later.is_some() {
            host.watched |= watch;
            return Err(GateRefusal { at: later, dead, address: None, asked });
        }
        // its pause is over, even if the address makes it wait
        host.limiter = None;
        if let Some(later) = address.and_then(|address| addresses.ready_at(address)) {
            return Err(GateRefusal { at: Some(later), dead, address, asked });
        }
        host.not_before = None;
        host.in_flight += 1;
        host.last_used = now;
        *given += 1;
        if settings.host_concurrency > 1 {
            host.begin_pause(settings, *given);
        }
        if let Some(address) = address {
            addresses.begin(address, address_pause, *given, now);
        }
        Ok(HostSlot {
            shared: Arc::clone(&self.0),
            key: Some(key.clone()),
            number: *given,
            address,
            started: now,
        })
    }

    /// Returns true if the address of a host must be resolved before a request, since hosts share a limit
    /// there.
    #[must_use]
    pub fn needs_address(&self, key: &HostKey) -> bool {
        !self.0.settings.address_pause().is_zero() && self.0.book.address_of(key).is_none()
    }

    /// Blocks an address until a time, for a request that begins later than its slot.
    pub fn defer_address(&self, address: IpAddr, until: Instant) {
        self.0.lock().addresses.defer(address, until);
    }

    /// Minimum pause between two requests to one address.
    #[must_use]
    pub fn address_pause(&self) -> Duration {
        self.0.settings.address_pause()
    }

    /// Takes a turn at the address for a slot that was given before the address was known. Returns true on
    /// success; if false, give the slot back and retry later.
    #[must_use]
    pub fn begin_at_address(&self, slot: &mut HostSlot) -> bool {
        let pause = self.0.settings.address_pause();
        let Some(key) = &slot.key else { return true };
        let Some(address) = self.0.book.address_of(key).filter(|_| !pause.is_zero()) else { return true };
        let mut state = self.0.lock();
        if state.addresses.ready_at(address).is_some() {
            return false;
        }
        state.addresses.begin(address, pause, slot.number, Instant::now());
        slot.address = Some(address);
        true
    }

    /// Waits for a slot at a host.
    pub async fn acquire(&self, key: &HostKey) -> HostSlot {
        loop {
            let freed = self.next_free_slot();
            match self.try_acquire(key) {
                Ok(slot) => return slot,
                Err(GateRefusal { at: Some(at), .. }) => sleep_until(at).await,
                Err(GateRefusal { at: None, .. }) => freed.await,
            }
        }
    }

    /// Waits for a slot at a host for at most `max_wait`, or one pause of the host if that is longer. Returns at once
    /// if the wait is known to be longer or the host is dead.
    ///
    /// # Errors
    /// The last [`GateRefusal`] when the wait ended.
    pub async fn acquire_within(&self, key: &HostKey, max_wait: Duration) -> Result<HostSlot, GateRefusal> {
        let pause = self.delay(key).mul_f64(1.0 + self.0.settings.jitter.clamp(0.0, MAX_JITTER));
        let deadline = Instant::now() + max_wait.max(pause);
        loop {
            let freed = self.next_free_slot();
            let not_yet = match self.try_acquire(key) {
                Ok(slot) => return Ok(slot),
                Err(not_yet) => not_yet,
            };
            if not_yet.dead || not_yet.at.is_some_and(|at| at > deadline) {
                return Err(not_yet);
            }
            match not_yet.at {
                Some(at) => sleep_until(at).await,
                None => timeout_at(deadline, freed).await.map_err(|_| not_yet)?,
            }
        }
    }

    /// Completes when the next slot of any host is freed. Create it before [`Gate::try_acquire`], so that it
    /// covers slots freed in between.
    pub fn next_free_slot(&self) -> Notified<'_> {
        self.0.freed.notified()
    }

    /// Sets the Crawl-delay of a host's robots.txt, up to `max_crawl_delay`. Returns true if it was reduced.
    pub fn set_crawl_delay(&self, key: &HostKey, delay: Duration) -> bool {
        let now = Instant::now();
        let settings = &self.0.settings;
        let mut state = self.0.lock();
        let State { hosts, slots, .. } = &mut *state;
        let host = hosts.entry(key.clone()).or_insert_with(|| self.0.new_host(key, now));
        let wanted = delay.min(settings.max_crawl_delay);
        if host.crawl_delay != wanted {
            host.crawl_delay = wanted;
            // The request for robots.txt may have ended: the pause after it takes the longer delay too. With
            // several requests at a time, the one in flight began its pause with the old delay. A slot that
            // is given back ends the pause only if the host has had no request.
            let begun_by = if host.in_flight == 0 || host.asked { 0 } else { host.begun_by };
            if wanted > host.delay.unwrap_or(settings.delay)
                && (host.in_flight == 0 || settings.host_concurrency > 1)
            {
                host.begin_pause(settings, begun_by);
                host.outdated = *slots;
            }
        }
        delay > wanted
    }

    /// Current pause between two requests to a host, without jitter.
    #[must_use]
    pub fn delay(&self, key: &HostKey) -> Duration {
        let state = self.0.lock();
        let own = || self.0.delay_of(key).unwrap_or(self.0.settings.delay);
        state.hosts.get(key).map_or_else(own, |host| base_pause(host, &self.0.settings))
    }

    /// Pause between two requests to a host by the settings and its robots.txt, without the reaction to 429 and 503.
    #[must_use]
    pub fn requested_delay(&self, key: &HostKey) -> Duration {
        let state = self.0.lock();
        let own = || self.0.delay_of(key).unwrap_or(self.0.settings.delay);
        state.hosts.get(key).map_or_else(own, |host| requested_pause(host, &self.0.settings))
    }

    /// Answers of a host so far, and its requests in flight. [`Gate::evict_idle`] forgets the answers.
    #[must_use]
    pub fn answers(&self, key: &HostKey) -> (Answers, usize) {
        let state = self.0.lock();
        state.hosts.get(key).map_or((Answers::None, 0), |host| (host.answers, host.in_flight))
    }

    /// Number of a host's answers so far. [`Gate::evict_idle`] forgets it.
    #[must_use]
    pub fn answered(&self, key: &HostKey) -> u32 {
        self.0.lock().hosts.get(key).map_or(0, |host| host.answered)
    }

    /// Deadline of a host's `Retry-After`, if it exceeds `max_retry_after` and blocks the host for this run.
    #[must_use]
    pub fn blocked_until(&self, key: &HostKey) -> Option<Instant> {
        self.0.lock().hosts.get(key).and_then(|host| host.blocked_until(Instant::now()))
    }

    /// Returns true if this run no longer contacts a host.
    #[must_use]
    pub fn is_given_up(&self, key: &HostKey) -> bool {
        let state = self.0.lock();
        state.hosts.get(key).is_some_and(|host| host.is_given_up(&self.0.settings, Instant::now()))
    }

    /// Hosts with the deadlines of their `Retry-After`, for the next run.
    #[must_use]
    pub fn retry_after_deadlines(&self) -> Vec<(HostKey, Instant)> {
        let now = Instant::now();
        let state = self.0.lock();
        let deadlines = state.hosts.iter().filter_map(|(key, host)| Some((key, host.retry_after?.until)));
        deadlines.filter(|(_, until)| *until > now).map(|(key, until)| (key.clone(), until)).collect()
    }

    /// Restores the `Retry-After` of an earlier run for a host.
    pub fn set_retry_after(&self, key: &HostKey, wait: Duration) {
        let now = Instant::now();
        let mut state = self.0.lock();
        let host = state.hosts.entry(key.clone()).or_insert_with(|| self.0.new_host(key, now));
        host.set_retry_after(wait, &self.0.settings, now);
    }

    /// Hosts that are remembered.
    #[must_use]
    pub fn hosts(&self) -> usize {
        self.0.lock().hosts.len()
    }

    /// Evicts hosts that have been idle for `idle` and whose state no longer matters.
    pub fn evict_idle(&self, idle: Duration) {
        let now = Instant::now();
        let mut state = self.0.lock();
        state.addresses.evict(idle, now);
        state.hosts.retain(|_, host| {
            let unused = now.duration_since(host.last_used);
            host.in_flight > 0
                || host.not_before.is_some_and(|at| at > now)
                || unused < idle.max(base_pause(host, &self.0.settings))
                || (host.failures > 0 && unused < REMEMBER_FAILURES)
        });
    }
}

impl Shared {
    /// Pause of a host in place of that of the settings.
    fn delay_of(&self, key: &HostKey) -> Option<Duration> {
        self.delays.get().and_then(|delay_of| delay_of(key))
    }

    fn new_host(&self, key: &HostKey, now: Instant) -> Host {
        Host { delay: self.delay_of(key), ..Host::new(now) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // after a panic elsewhere counts are off by one at most
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends a request. Returns true if the host sent a `Retry-After` that extends the known one.
    fn finish(&self, key: &HostKey, outcome: SlotOutcome, started: Instant) -> bool {
        let now = Instant::now();
        let mut is_extended = false;
        self.release(key, |host| {
            let before = host.retry_after.map(|deadline| deadline.until);
            host.last_used = now;
            host.asked = true;
            let answers = Answers::of(outcome);
            host.answers = host.answers.max(answers);
            host.answered = host.answered.saturating_add(u32::from(answers != Answers::None));
            record_outcome(host, outcome, started, &self.settings, now);
            if self.settings.host_concurrency <= 1 || outcome.is_throttled() {
                host.begin_pause(&self.settings, 0);
            }
            is_extended = host.retry_after.map(|deadline| deadline.until) != before;
        });
        is_extended
    }

    /// Frees a slot of a host.
    fn release(&self, key: &HostKey, change: impl FnOnce(&mut Host)) {
        let mut state = self.lock();
        let State { hosts, released, .. } = &mut *state;
        if let Some(host) = hosts.get_mut(key) {
            host.in_flight = host.in_flight.saturating_sub(1);
            change(host);
            if std::mem::take(&mut host.watched) {
                released.push(key.clone());
            }
        }
        drop(state);
        self.freed.notify_waiters();
    }
}

/// Permission for one request to a host. Dropping it finishes it with the default outcome.
#[must_use = "dropping a slot ends the request it stands for"]
pub struct HostSlot {
    shared: Arc<Shared>,
    /// `None` once finished.
    key: Option<HostKey>,
    number: u64,
    /// The address whose turn was taken.
    address: Option<IpAddr>,
    started: Instant,
}

impl HostSlot {
    /// The host of the slot.
    #[must_use]
    pub const fn host(&self) -> Option<&HostKey> {
        self.key.as_ref()
    }

    /// Ends the request; the pause begins here.
    pub fn finish(mut self, outcome: SlotOutcome) {
        if let Some(key) = self.key.take()
            && self.shared.finish(&key, outcome, self.started)
            && let Some(keep) = self.shared.on_retry_after.get()
        {
            keep(&Gate(Arc::clone(&self.shared)));
        }
    }

    /// Returns true if the slot was given before the Crawl-delay was known and others may have been given
    /// too. Give it back and retry.
    #[must_use]
    pub fn is_outdated(&self) -> bool {
        let Some(key) = &self.key else { return false };
        let state = self.shared.lock();
        self.shared.settings.host_concurrency > 1
            && state.hosts.get(key).is_some_and(|host| self.number <= host.outdated)
    }

    /// Gives the slot back without a request: neither the host nor its address need a pause.
    pub fn give_back(mut self) {
        if let Some(key) = self.key.take() {
            let number = self.number;
            if let Some(address) = self.address {
                self.shared.lock().addresses.give_back(address, number);
            }
            self.shared.release(&key, |host| {
                // the pause was over when the slot was given, but another request or an answer may have begun
                // one since
                if host.begun_by == number {
                    host.limiter = None;
                }
            });
        }
    }
}

impl Drop for HostSlot {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            self.shared.finish(&key, SlotOutcome::default(), self.started);
        }
    }
}

#[cfg(test)]
mod tests;
