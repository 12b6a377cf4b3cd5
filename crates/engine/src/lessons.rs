//! Strategies learned per host and URL pattern. A [`Lesson`] is the knowledge about one pattern.
//!
//! Pages of one pattern usually come from one program. If the first few pages of a pattern all need a browser (or a
//! mobile user agent), the next ones use it at once. At intervals one page gets a plain request first.
//!
//! A static page with its text resets its pattern. The pattern then needs many pages without text before the
//! browser is its first choice again. For a rendered page the original document of the server decides: if it
//! has the text, the page counts as static (`fetch_stage`). If the document was not kept, the page confirms
//! nothing. A pattern that began with shells by chance is therefore checked again soon. It is reset when a
//! rendered page lacks the marks that all its shells have (see [`Marks`]). Failed fetches have no effect.

mod marks;

pub use marks::Marks;

use crate::async_store::AsyncStore;
use crawl_fetch::url_pattern;
use crawl_model::{HostKey, Store, StoreError, Strategy};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::{Notify, futures::Notified};
use url::Url;

/// Maximum number of hosts whose lessons are in memory; the store has all.
const MAX_HOSTS: usize = 1_024;
/// Maximum patterns per host. A further one evicts the least recently used pattern, those without a strategy first.
const MAX_PATTERNS: usize = 128;
/// Additional pages in a row that must need a strategy, for each page of the pattern that had its text.
const PER_COMPLETE: u32 = 16;
/// Maximum count of static pages with their text.
const MAX_COMPLETE: u32 = 4;
/// Factor by which the first recheck comes earlier than the later ones, since four shells in a row may be chance. Two
/// hundred shells still cost only five static fetches.
const FIRST_CHECK_SPEEDUP: u32 = 10;
/// Minimum pages that a strategy improved, before their common marks count as those of the pattern's shells.
const MIN_BETTER_PAGES: u32 = 2;
/// Minimum confidence for trying a strategy first.
const FIRST_CONFIDENCE: f32 = 0.5;
/// Share of the missing confidence that is added by a static page that needs the strategy.
const NEEDED_WEIGHT: f32 = 0.2;
/// Share of the missing confidence that is added by a page that the strategy improved.
const BETTER_WEIGHT: f32 = 0.3;
/// Factor of the confidence for a page that the strategy did not improve.
const UNIMPROVED_FACTOR: f32 = 0.6;
/// Pages in a row that gained nothing by a strategy, after which only one page in `PAGES_PER_ATTEMPT` tries it.
const MAX_USELESS_PAGES: [(Strategy, u32); 2] = [(Strategy::Mobile, 3), (Strategy::Chrome, 16)];
/// Pages for each further attempt with such a strategy.
const PAGES_PER_ATTEMPT: u32 = 10;

/// Knowledge of one URL pattern.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Lesson {
    /// Strategy that its pages needed.
    strategy: Option<Strategy>,
    /// 0 to 1.
    confidence: f32,
    /// Static pages in a row that needed the strategy.
    needed: u32,
    /// Static pages that had their text, counted up to a few.
    complete: u32,
    /// Pages that the strategy improved.
    #[serde(rename = "paid")]
    improved: u32,
    /// Pages in a row that the strategy did not improve.
    #[serde(rename = "missed")]
    unimproved: u32,
    /// Pages since the last static fetch, or since the last attempt with the strategy.
    since: u32,
    /// Rechecks since the strategy comes first.
    #[serde(rename = "looks")]
    rechecks: u32,
    /// Marks that all improved pages have.
    marks: Marks,
    /// Static pages in flight.
    #[serde(skip)]
    in_flight: u32,
    /// Time of its last use, on a logical clock.
    #[serde(skip)]
    used: u64,
}

impl Lesson {
    fn is_first(&self, strategy: Strategy, trial: u32) -> bool {
        // a render takes seconds, so a browser is assumed to help before its first result
        let may_help = strategy == Strategy::Chrome || self.improved > 0;
        let enough = trial + PER_COMPLETE * self.complete;
        self.strategy == Some(strategy)
            && may_help
            && self.needed >= enough
            && self.confidence >= FIRST_CONFIDENCE
    }

    fn first(&self, trial: u32) -> Option<Strategy> {
        self.strategy.filter(|&strategy| self.is_first(strategy, trial))
    }

    /// Returns true if this page gets a plain request first, to recheck the lesson.
    const fn starts_recheck(&mut self, reexamine: u32) -> bool {
        let first = reexamine.div_ceil(FIRST_CHECK_SPEEDUP);
        self.since = self.since.saturating_add(1);
        if self.since <= (if self.rechecks == 0 { first } else { reexamine }) {
            return false;
        }
        self.since = 0;
        self.rechecks = self.rechecks.saturating_add(1);
        true
    }

    fn learn_static_page(&mut self, wanted: Option<Strategy>) {
        let (complete, in_flight, used) = (self.complete, self.in_flight, self.used);
        match wanted {
            Some(_) if wanted == self.strategy => self.need(),
            Some(_) => {
                *self = Self { strategy: wanted, complete, in_flight, used, ..Self::default() };
                self.need();
            }
            None => {
                let complete = (complete + 1).min(MAX_COMPLETE);
                *self = Self { complete, in_flight, used, ..Self::default() };
            }
        }
    }

    fn need(&mut self) {
        self.needed = self.needed.saturating_add(1);
        self.confidence += (1.0 - self.confidence) * NEEDED_WEIGHT;
    }

    fn learn_outcome(&mut self, gain: Gain) {
        match gain {
            Gain::Yes(marks) => {
                self.improved = self.improved.saturating_add(1);
                self.unimproved = 0;
                self.confidence += (1.0 - self.confidence) * BETTER_WEIGHT;
                self.marks = self.marks.and(marks);
            }
            Gain::No => {
                self.unimproved = self.unimproved.saturating_add(1);
                self.confidence *= UNIMPROVED_FACTOR;
            }
            Gain::Unknown(marks) if self.improved >= MIN_BETTER_PAGES && !marks.has_all(self.marks) => {
                self.learn_static_page(None);
            }
            Gain::Unknown(_) => self.unimproved = 0,
        }
    }
}

/// Gain of a strategy on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gain {
    /// The page was better than the result before; its marks.
    Yes(Marks),
    /// The page was no better, or the strategy brought none.
    No,
    /// The page has words, but no earlier result to compare it with, since the strategy came first.
    Unknown(Marks),
}

/// First step of a page.
pub enum FirstStep {
    /// A plain request. The guard is held until the page has been classified, if others wait for it.
    Static(Option<TrialGuard>),
    /// The strategy learned for its pattern.
    Learned(Strategy),
    /// A wait for pages of its pattern in flight.
    Wait,
}

#[derive(Default)]
struct Host {
    patterns: BTreeMap<String, Lesson>,
    used: u64,
}

#[derive(Default)]
struct State {
    hosts: FxHashMap<HostKey, Host>,
    clock: u64,
    /// Number of evictions.
    evictions: u64,
}

struct Shared {
    state: Mutex<State>,
    changed: Notify,
    trial: u32,
    reexamine: u32,
}

/// Lessons of all hosts. Clones share them and are cheap.
#[derive(Clone)]
pub struct Lessons(Arc<Shared>);

/// A static page in flight for which others of its pattern wait, until this guard is dropped.
pub struct TrialGuard {
    shared: Arc<Shared>,
    host: HostKey,
    pattern: String,
}

impl Drop for TrialGuard {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        let host = state.hosts.get_mut(&self.host);
        if let Some(lesson) = host.and_then(|host| host.patterns.get_mut(&self.pattern)) {
            lesson.in_flight = lesson.in_flight.saturating_sub(1);
        }
        drop(state);
        self.shared.changed.notify_waiters();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // a panic cannot leave the counts inconsistent
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Static pages of a URL pattern in a row that must need another strategy before the next pages start with
/// it. Fewer would judge a pattern by chance.
pub const TRIAL_PAGES: u32 = 4;

/// Pages with a learned strategy after which one gets a plain request first. A render costs about a hundred requests,
/// so one in 200 adds little.
pub const REEXAMINE_PAGES: u32 = 200;

impl Lessons {
    /// Creates empty lessons. A strategy comes first after `trial` static pages of a pattern that all need it. A page
    /// is rechecked with a plain request every `reexamine` pages, the first time after a tenth of that.
    #[must_use]
    pub fn new(trial: u32, reexamine: u32) -> Self {
        Self(Arc::new(Shared { state: Mutex::default(), changed: Notify::new(), trial, reexamine }))
    }

    /// Completes when a lesson changes. Create it before [`Lessons::begin`].
    pub fn changed(&self) -> Notified<'_> {
        self.0.changed.notified()
    }

    /// Chooses the first step of a page for which nothing was tried yet. Calls the store only for a host that is not in
    /// memory.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn begin(&self, storage: &AsyncStore, url: &Url) -> Result<FirstStep, StoreError> {
        let Some(host) = HostKey::of(url) else { return Ok(FirstStep::Static(None)) };
        loop {
            if let Some(begin) = self.begin_in_memory(&host, url) {
                return Ok(begin);
            }
            let (lessons, host) = (self.clone(), host.clone());
            storage.call(move |store| lessons.loaded(store, &host).map(drop)).await?;
        }
    }

    /// Chooses the first step; `None` if the lessons of the host are not in memory.
    fn begin_in_memory(&self, host: &HostKey, url: &Url) -> Option<FirstStep> {
        let shared = &self.0;
        let mut state = shared.lock();
        if !state.hosts.contains_key(host) {
            return None;
        }
        let begin = state.with(host, url, |lesson, host, pattern| {
            if let Some(first) = lesson.first(shared.trial) {
                if !lesson.starts_recheck(shared.reexamine) {
                    return FirstStep::Learned(first);
                }
            } else if lesson.complete > 0 {
                return FirstStep::Static(None);
            } else if lesson.in_flight > 0 && lesson.needed + lesson.in_flight >= shared.trial {
                return FirstStep::Wait;
            }
            lesson.in_flight += 1;
            FirstStep::Static(Some(TrialGuard {
                shared: Arc::clone(shared),
                host: host.clone(),
                pattern: pattern.to_owned(),
            }))
        });
        Some(begin.unwrap_or(FirstStep::Static(None)))
    }

    /// Returns true if a strategy is still the first for a page's pattern.
    ///
    /// # Errors
    /// When storage fails.
    pub fn is_first(&self, store: &dyn Store, url: &Url, strategy: Strategy) -> Result<bool, StoreError> {
        let trial = self.0.trial;
        self.with(store, url, |lesson, _, _| lesson.is_first(strategy, trial)).map(Option::unwrap_or_default)
    }

    /// Returns the number of pages in a row that a strategy did not improve, if this page should not try it.
    ///
    /// # Errors
    /// When storage fails.
    pub fn useless_attempts(
        &self,
        store: &dyn Store,
        url: &Url,
        strategy: Strategy,
    ) -> Result<Option<u32>, StoreError> {
        let most = MAX_USELESS_PAGES
            .iter()
            .find(|(other, _)| *other == strategy)
            .map_or(u32::MAX, |(_, most)| *most);
        self.with(store, url, |lesson, _, _| {
            if lesson.strategy != Some(strategy) || lesson.unimproved < most {
                return None;
            }
            lesson.since += 1;
            (!lesson.since.is_multiple_of(PAGES_PER_ATTEMPT)).then_some(lesson.unimproved)
        })
        .map(Option::flatten)
    }

    /// Learns from a static page; `wanted` is the strategy that it needs, `None` if it has its text.
    ///
    /// # Errors
    /// When storage fails.
    pub fn learn_static_page(
        &self,
        store: &dyn Store,
        url: &Url,
        wanted: Option<Strategy>,
    ) -> Result<(), StoreError> {
        self.learn(store, url, |lesson| lesson.learn_static_page(wanted))
    }

    /// Learns from a page on which a strategy was tried; `gain` is the result.
    ///
    /// # Errors
    /// When storage fails.
    pub fn learn_outcome(
        &self,
        store: &dyn Store,
        url: &Url,
        strategy: Strategy,
        gain: Gain,
    ) -> Result<(), StoreError> {
        self.learn(store, url, |lesson| {
            if lesson.strategy == Some(strategy) {
                lesson.learn_outcome(gain);
            }
        })
    }

    /// Changes a lesson and saves it if it differs. On a host with the maximum of patterns, only lessons with a
    /// strategy are saved, since each save writes the whole table.
    fn learn(
        &self,
        store: &dyn Store,
        url: &Url,
        change: impl FnOnce(&mut Lesson),
    ) -> Result<(), StoreError> {
        let changed = self.with(store, url, |lesson, _, _| {
            let before = lesson.clone();
            change(lesson);
            let taught = before.strategy.is_some() || lesson.strategy.is_some();
            (*lesson != before).then_some(taught)
        })?;
        let Some(taught) = changed.flatten() else { return Ok(()) };
        let Some(key) = HostKey::of(url) else { return Ok(()) };
        let text = {
            let state = self.0.lock();
            let Some(host) = state.hosts.get(&key) else { return Ok(()) };
            let saved = taught || host.patterns.len() < MAX_PATTERNS;
            let text = saved.then(|| serde_json::to_vec(&host.patterns)).transpose();
            text.map_err(|e| StoreError::Other(e.to_string()))?
        };
        if let Some(text) = text {
            store.save_lessons(&key, &text)?;
        }
        self.0.changed.notify_waiters();
        Ok(())
    }

    /// Changes the lesson of a URL's pattern; `None` if there is no room for it.
    fn with<T>(
        &self,
        store: &dyn Store,
        url: &Url,
        work: impl FnOnce(&mut Lesson, &HostKey, &str) -> T,
    ) -> Result<Option<T>, StoreError> {
        let Some(host) = HostKey::of(url) else { return Ok(None) };
        Ok(self.loaded(store, &host)?.with(&host, url, work))
    }

    /// Loads the lessons of a host and returns the locked state. The store is called without the lock, since tasks
    /// wait for it.
    fn loaded(&self, store: &dyn Store, host: &HostKey) -> Result<MutexGuard<'_, State>, StoreError> {
        loop {
            let state = self.0.lock();
            if state.hosts.contains_key(host) {
                return Ok(state);
            }
            let evictions = state.evictions;
            drop(state);
            let patterns = store.load_lessons(host)?;
            // a lesson of another version is learned again
            let patterns = patterns.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
            let mut state = self.0.lock();
            // another thread may have loaded, changed and evicted the host meanwhile
            if state.evictions == evictions {
                if !state.hosts.contains_key(host) {
                    state.make_room();
                    state.hosts.insert(host.clone(), Host { patterns, used: 0 });
                }
                return Ok(state);
            }
        }
    }
}

impl Host {
    /// Returns true if there is room for another pattern, after evicting the least recently used one if
    /// necessary.
    fn make_room(&mut self) -> bool {
        if self.patterns.len() < MAX_PATTERNS {
            return true;
        }
        // a pattern with pages in flight stays, since they decrement its count
        let idle = self.patterns.iter().filter(|(_, lesson)| lesson.in_flight == 0);
        let least = idle.min_by_key(|(_, lesson)| (lesson.strategy.is_some(), lesson.used));
        let Some(pattern) = least.map(|(pattern, _)| pattern.clone()) else { return false };
        self.patterns.remove(&pattern);
        true
    }
}

impl State {
    /// Changes the lesson of a URL's pattern at a host in memory. `None` if there is no room for it, since pages of all
    /// other patterns are in flight.
    fn with<T>(
        &mut self,
        key: &HostKey,
        url: &Url,
        work: impl FnOnce(&mut Lesson, &HostKey, &str) -> T,
    ) -> Option<T> {
        self.clock += 1;
        let clock = self.clock;
        let host = self.hosts.get_mut(key)?;
        host.used = clock;
        let pattern = url_pattern(url);
        if !host.patterns.contains_key(&pattern) && !host.make_room() {
            return None;
        }
        let lesson = host.patterns.entry(pattern.clone()).or_default();
        lesson.used = clock;
        Some(work(lesson, key, &pattern))
    }

    /// Evicts the longest idle quarter of the hosts once the limit is reached. The store has their lessons.
    fn make_room(&mut self) {
        if self.hosts.len() < MAX_HOSTS {
            return;
        }
        self.evictions += 1;
        let mut ages: Vec<u64> = self.hosts.values().map(|host| host.used).collect();
        ages.sort_unstable();
        let limit = ages.get(ages.len() / 4).copied().unwrap_or(0);
        self.hosts.retain(|_, host| host.used > limit);
    }
}

#[cfg(test)]
mod tests;
