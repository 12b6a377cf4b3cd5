//! Learned strategies of a host by URL pattern. A [`Lesson`] is the knowledge about one pattern.
//!
//! Pages of one pattern usually come from one program. If the first few pages of a pattern all need a browser
//! (or a mobile user agent), the next ones use it at once. Now and then one page gets a plain request first.
//!
//! A static page with its text resets its pattern. The pattern then needs many pages without text before the
//! browser is its first choice again. For a rendered page the original document of the server decides: if it
//! has the text, the page counts as static (`fetch_stage`). If the document was not kept, the page confirms
//! nothing. A pattern that began with shells by chance is therefore checked again soon. It is reset when a
//! rendered page lacks the marks that all its shells have (see [`Marks`]). Failed fetches have no effect.

mod marks;

pub use marks::Marks;

use crate::async_store::AsyncStore;
use crawl_fetch::url_template;
use crawl_model::{HostKey, Store, StoreError, Strategy};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::{Notify, futures::Notified};
use url::Url;

/// Hosts whose lessons are in memory; the store has all.
const MAX_HOSTS: usize = 1_024;
/// Patterns of one host that are remembered. A further one evicts the least recently used, one without a strategy first.
const MAX_PATTERNS: usize = 128;
/// Further pages in a row that must need a strategy, for each page of the pattern that did not.
const PER_COMPLETE: u32 = 16;
/// Static pages with their text that are counted.
const MAX_COMPLETE: u32 = 4;
/// Factor by which the first static fetch after the trial is earlier than the next ones: four shells in a row may be chance.
/// Two hundred shells still cost five static fetches in all.
const FIRST_CHECK_SPEEDUP: u32 = 10;
/// Minimum pages that a strategy improved, before their common marks count as those of the pattern's shells.
const MIN_BETTER_PAGES: u32 = 2;
/// Minimum confidence for trying a strategy first.
const FIRST_CONFIDENCE: f32 = 0.5;
/// Share of the missing confidence that a static page adds if it needs the strategy.
const NEEDED_WEIGHT: f32 = 0.2;
/// Share of the missing confidence that a page adds if the strategy improved it.
const BETTER_WEIGHT: f32 = 0.3;
/// Factor of the confidence for a page that the strategy did not improve.
const MISSED_FACTOR: f32 = 0.6;
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
    /// Static pages that needed it, one after the other.
    needed: u32,
    /// Static pages that had their text, counted up to a few.
    complete: u32,
    /// Pages that the strategy improved.
    paid: u32,
    /// Pages in a row that the strategy did not improve.
    missed: u32,
    /// Pages since the last static fetch, or since the last attempt with the strategy.
    since: u32,
    /// Static fetches since the strategy comes first.
    looks: u32,
    /// Marks that all pages have that the strategy improved.
    marks: Marks,
    /// Static pages in flight.
    #[serde(skip)]
    out: u32,
    /// Time of its last use, by the clock of all lessons.
    #[serde(skip)]
    used: u64,
}

impl Lesson {
    fn is_first(&self, strategy: Strategy, trial: u32) -> bool {
        // a browser is believed to help before the first result is in, which takes seconds; a request is waited for
        let pays = strategy == Strategy::Chrome || self.paid > 0;
        let enough = trial + PER_COMPLETE * self.complete;
        self.strategy == Some(strategy)
            && pays
            && self.needed >= enough
            && self.confidence >= FIRST_CONFIDENCE
    }

    fn first(&self, trial: u32) -> Option<Strategy> {
        self.strategy.filter(|&strategy| self.is_first(strategy, trial))
    }

    /// Returns true if this page, due for the strategy at once, is fetched statically to verify the lesson.
    const fn is_looked_at(&mut self, reexamine: u32) -> bool {
        let first = reexamine.div_ceil(FIRST_CHECK_SPEEDUP);
        self.since = self.since.saturating_add(1);
        if self.since <= (if self.looks == 0 { first } else { reexamine }) {
            return false;
        }
        self.since = 0;
        self.looks = self.looks.saturating_add(1);
        true
    }

    fn static_page(&mut self, wanted: Option<Strategy>) {
        let (complete, out, used) = (self.complete, self.out, self.used);
        match wanted {
            Some(_) if wanted == self.strategy => self.need(),
            Some(_) => {
                *self = Self { strategy: wanted, complete, out, used, ..Self::default() };
                self.need();
            }
            None => {
                let complete = (complete + 1).min(MAX_COMPLETE);
                *self = Self { complete, out, used, ..Self::default() };
            }
        }
    }

    fn need(&mut self) {
        self.needed = self.needed.saturating_add(1);
        self.confidence += (1.0 - self.confidence) * NEEDED_WEIGHT;
    }

    fn outcome(&mut self, paid: Gain) {
        match paid {
            Gain::Yes(marks) => {
                self.paid = self.paid.saturating_add(1);
                self.missed = 0;
                self.confidence += (1.0 - self.confidence) * BETTER_WEIGHT;
                self.marks = self.marks.and(marks);
            }
            Gain::No => {
                self.missed = self.missed.saturating_add(1);
                self.confidence *= MISSED_FACTOR;
            }
            Gain::Unknown(marks) if self.paid >= MIN_BETTER_PAGES && !marks.has_all(self.marks) => {
                self.static_page(None);
            }
            Gain::Unknown(_) => self.missed = 0,
        }
    }
}

/// Gain of a strategy on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gain {
    /// The page was better than the result before; its marks.
    Yes(Marks),
    /// The page was no better, or none came.
    No,
    /// The page has words, but came by the strategy at once: there is nothing to compare it with.
    Unknown(Marks),
}

/// First step of a page.
pub enum FirstStep {
    /// A plain request; the guard is held until the page has taught, if others wait for that.
    Static(Option<TrialGuard>),
    /// The strategy that its pattern has taught.
    Learned(Strategy),
    /// A wait for pages of its pattern that are in flight and will teach.
    Wait,
}

#[derive(Default)]
struct Host {
    forms: BTreeMap<String, Lesson>,
    used: u64,
}

#[derive(Default)]
struct State {
    hosts: FxHashMap<HostKey, Host>,
    clock: u64,
    /// Times that hosts were evicted.
    evictions: u64,
}

struct Shared {
    state: Mutex<State>,
    changed: Notify,
    trial: u32,
    reexamine: u32,
}

/// Lessons of all hosts. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Lessons(Arc<Shared>);

/// A static page on its way that others of its form wait for. Dropped, it no longer is.
pub struct TrialGuard {
    shared: Arc<Shared>,
    host: HostKey,
    form: String,
}

impl Drop for TrialGuard {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        let host = state.hosts.get_mut(&self.host);
        if let Some(lesson) = host.and_then(|host| host.forms.get_mut(&self.form)) {
            lesson.out = lesson.out.saturating_sub(1);
        }
        drop(state);
        self.shared.changed.notify_waiters();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // counts stay usable whatever panicked while it held them
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Static pages of a URL pattern in a row that must need another strategy before the next pages start with
/// it. Fewer would judge a pattern by chance.
pub const TRIAL_PAGES: u32 = 4;

/// Pages of a pattern by a learned strategy after which one is fetched statically first again. The browser
/// costs some hundred times a request, so one page in 200 adds little.
pub const REEXAMINE_PAGES: u32 = 200;

impl Lessons {
    /// Knows nothing yet. A strategy comes first after `trial` static pages of a pattern that all need it.
    /// After `reexamine` pages by it one is fetched statically again, and once after a tenth as many.
    #[must_use]
    pub fn new(trial: u32, reexamine: u32) -> Self {
        Self(Arc::new(Shared { state: Mutex::default(), changed: Notify::new(), trial, reexamine }))
    }

    /// Ends when something has been learnt. Make it before [`Lessons::begin`].
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
        let begin = state.with(host, url, |lesson, host, form| {
            if let Some(first) = lesson.first(shared.trial) {
                if !lesson.is_looked_at(shared.reexamine) {
                    return FirstStep::Learned(first);
                }
            } else if lesson.complete > 0 {
                return FirstStep::Static(None);
            } else if lesson.out > 0 && lesson.needed + lesson.out >= shared.trial {
                return FirstStep::Wait;
            }
            lesson.out += 1;
            FirstStep::Static(Some(TrialGuard {
                shared: Arc::clone(shared),
                host: host.clone(),
                form: form.to_owned(),
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

    /// Returns the number of the pattern's last pages that gained nothing by a strategy, if a page that needs
    /// the attempt must be spared.
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
            if lesson.strategy != Some(strategy) || lesson.missed < most {
                return None;
            }
            lesson.since += 1;
            (!lesson.since.is_multiple_of(PAGES_PER_ATTEMPT)).then_some(lesson.missed)
        })
        .map(Option::flatten)
    }

    /// Learns from a static page; `wanted` is the strategy that it needs, `None` if it has its text.
    ///
    /// # Errors
    /// When storage fails.
    pub fn static_page(
        &self,
        store: &dyn Store,
        url: &Url,
        wanted: Option<Strategy>,
    ) -> Result<(), StoreError> {
        self.learn(store, url, |lesson| lesson.static_page(wanted))
    }

    /// Learns from a page on which a strategy was tried; `paid` is its gain.
    ///
    /// # Errors
    /// When storage fails.
    pub fn outcome(
        &self,
        store: &dyn Store,
        url: &Url,
        strategy: Strategy,
        paid: Gain,
    ) -> Result<(), StoreError> {
        self.learn(store, url, |lesson| {
            if lesson.strategy == Some(strategy) {
                lesson.outcome(paid);
            }
        })
    }

    /// Changes a lesson; what has changed is saved. On a host of more forms than are remembered only what concerns a strategy is:
    /// each save is of the whole table.
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
            let saved = taught || host.forms.len() < MAX_PATTERNS;
            let text = saved.then(|| serde_json::to_vec(&host.forms)).transpose();
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

    /// Locks the lessons with those of a host in memory. The store is called without the lock, which tasks wait for.
    fn loaded(&self, store: &dyn Store, host: &HostKey) -> Result<MutexGuard<'_, State>, StoreError> {
        loop {
            let state = self.0.lock();
            if state.hosts.contains_key(host) {
                return Ok(state);
            }
            let evictions = state.evictions;
            drop(state);
            let forms = store.load_lessons(host)?;
            // a lesson of another version is learned again
            let forms = forms.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
            let mut state = self.0.lock();
            // another thread may have loaded the host, taught it and evicted it meanwhile
            if state.evictions == evictions {
                if !state.hosts.contains_key(host) {
                    state.make_room();
                    state.hosts.insert(host.clone(), Host { forms, used: 0 });
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
        if self.forms.len() < MAX_PATTERNS {
            return true;
        }
        // a page on its way will want to take itself off the count of its form
        let idle = self.forms.iter().filter(|(_, lesson)| lesson.out == 0);
        let least = idle.min_by_key(|(_, lesson)| (lesson.strategy.is_some(), lesson.used));
        let Some(form) = least.map(|(form, _)| form.clone()) else { return false };
        self.forms.remove(&form);
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
        let form = url_template(url);
        if !host.forms.contains_key(&form) && !host.make_room() {
            return None;
        }
        let lesson = host.forms.entry(form.clone()).or_default();
        lesson.used = clock;
        Some(work(lesson, key, &form))
    }

    /// Forgets the quarter of the hosts that were idle longest, when there are many. The store has what they taught.
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
