//! What a site teaches: which strategy its pages need, by the form of their URLs.
//!
//! Pages of one form are usually made by one program. Where the first few of a form all turned out to need a browser (or the
//! headers of a mobile client), the next ones are fetched so at once; now and then one is fetched statically first
//! again. A static page that has its text makes the form forget, and what had its text once has to be without it many
//! times over before it is believed again: on a mixed site no page goes to a browser because of its neighbours. Only
//! pages teach; a fetch that failed says nothing.

use crate::store::Store;
use crawl_fetch::url_template;
use crawl_model::{HostKey, StoreError, Strategy};
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
/// Forms of one host that are remembered; pages of others are fetched statically first.
const MAX_FORMS: usize = 128;
/// Pages more that must need a strategy, one after the other, for each page of the form that did not.
const PER_COMPLETE: u32 = 16;
/// Static pages with their text that are counted.
const MAX_COMPLETE: u32 = 4;
/// Confidence from which on a strategy is tried first.
const CONFIDENT: f32 = 0.5;
/// What a static page that needs the strategy, and a page that was better for it, add of what is missing to certainty.
const NEEDED: f32 = 0.2;
const PAID: f32 = 0.3;
/// What is left of the confidence when a page was no better for it.
const MISSED: f32 = 0.6;
/// Pages in a row that gained nothing by a strategy, after which it is spared …
const GIVEN_UP: [(Strategy, u32); 2] = [(Strategy::Mobile, 3), (Strategy::Chrome, 16)];
/// … but for one in so many.
const SPARED: u32 = 10;

/// What is known of one form of URLs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Lesson {
    /// What its pages needed.
    strategy: Option<Strategy>,
    /// 0 to 1.
    confidence: f32,
    /// Static pages that needed it, one after the other.
    needed: u32,
    /// Static pages that had their text, counted up to a few.
    complete: u32,
    /// Pages that were better for the strategy.
    paid: u32,
    /// Pages in a row that were not.
    missed: u32,
    /// Pages since a static one was last looked at, or since the strategy was last tried.
    since: u32,
    /// Static pages that are on their way.
    #[serde(skip)]
    out: u32,
}

impl Lesson {
    fn is_first(&self, strategy: Strategy, trial: u32) -> bool {
        // a browser is believed to help before the first result is in, which takes seconds; a request is waited for
        let pays = strategy == Strategy::Chrome || self.paid > 0;
        let enough = trial + PER_COMPLETE * self.complete;
        self.strategy == Some(strategy) && pays && self.needed >= enough && self.confidence >= CONFIDENT
    }

    fn first(&self, trial: u32) -> Option<Strategy> {
        self.strategy.filter(|&strategy| self.is_first(strategy, trial))
    }

    fn static_page(&mut self, wanted: Option<Strategy>) {
        match wanted {
            Some(_) if wanted == self.strategy => self.need(),
            Some(_) => {
                *self = Self { strategy: wanted, out: self.out, complete: self.complete, ..Self::default() };
                self.need();
            }
            None => {
                let complete = (self.complete + 1).min(MAX_COMPLETE);
                *self = Self { complete, out: self.out, ..Self::default() };
            }
        }
    }

    fn need(&mut self) {
        self.needed = self.needed.saturating_add(1);
        self.confidence += (1.0 - self.confidence) * NEEDED;
    }

    fn outcome(&mut self, paid: bool) {
        if paid {
            self.paid = self.paid.saturating_add(1);
            self.missed = 0;
            self.confidence += (1.0 - self.confidence) * PAID;
        } else {
            self.missed = self.missed.saturating_add(1);
            self.confidence *= MISSED;
        }
    }
}

/// How a page is begun.
pub enum Begin {
    /// With a plain request; the guard is held until the page has taught, where others wait for that.
    Static(Option<OnTrial>),
    /// With the strategy that its form has taught.
    First(Strategy),
    /// Not yet: pages of its form are on their way that will teach.
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
}

struct Shared {
    state: Mutex<State>,
    changed: Notify,
    trial: u32,
    reexamine: u32,
}

/// See the module. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Lessons(Arc<Shared>);

/// A static page on its way that others of its form wait for. Dropped, it no longer is.
pub struct OnTrial {
    shared: Arc<Shared>,
    host: HostKey,
    form: String,
}

impl Drop for OnTrial {
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

impl Lessons {
    /// Nothing is known yet. `trial` static pages of a form that all need a strategy make it the first; after `reexamine`
    /// pages by it one is fetched statically again.
    #[must_use]
    pub fn new(trial: u32, reexamine: u32) -> Self {
        Self(Arc::new(Shared { state: Mutex::default(), changed: Notify::new(), trial, reexamine }))
    }

    /// Ends when something has been learnt. Make it before [`Lessons::begin`].
    pub fn changed(&self) -> Notified<'_> {
        self.0.changed.notified()
    }

    /// How a page is begun that nothing was tried for yet.
    ///
    /// # Errors
    /// When storage fails.
    pub fn begin(&self, store: &dyn Store, url: &Url) -> Result<Begin, StoreError> {
        let shared = &self.0;
        self.with(store, url, |lesson, host, form| {
            if let Some(first) = lesson.first(shared.trial) {
                lesson.since += 1;
                if lesson.since <= shared.reexamine {
                    return Begin::First(first);
                }
                lesson.since = 0;
            } else if lesson.complete > 0 {
                return Begin::Static(None);
            } else if lesson.out > 0 && lesson.needed + lesson.out >= shared.trial {
                return Begin::Wait;
            }
            lesson.out += 1;
            Begin::Static(Some(OnTrial {
                shared: Arc::clone(shared),
                host: host.clone(),
                form: form.to_owned(),
            }))
        })
        .map(|begin| begin.unwrap_or(Begin::Static(None)))
    }

    /// Whether a strategy is still the first for a page's form.
    ///
    /// # Errors
    /// When storage fails.
    pub fn is_first(&self, store: &dyn Store, url: &Url, strategy: Strategy) -> Result<bool, StoreError> {
        let trial = self.0.trial;
        self.with(store, url, |lesson, _, _| lesson.is_first(strategy, trial)).map(Option::unwrap_or_default)
    }

    /// Whether a strategy that a page needs is to be spared, since pages of its form have long gained nothing by it; how many.
    ///
    /// # Errors
    /// When storage fails.
    pub fn is_spared(
        &self,
        store: &dyn Store,
        url: &Url,
        strategy: Strategy,
    ) -> Result<Option<u32>, StoreError> {
        let most = GIVEN_UP.iter().find(|(other, _)| *other == strategy).map_or(u32::MAX, |(_, most)| *most);
        self.with(store, url, |lesson, _, _| {
            if lesson.strategy != Some(strategy) || lesson.missed < most {
                return None;
            }
            lesson.since += 1;
            (!lesson.since.is_multiple_of(SPARED)).then_some(lesson.missed)
        })
        .map(Option::flatten)
    }

    /// A static page has come; `wanted` is what it needs, `None` if it has its text.
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

    /// A strategy was tried on a page, and was better than what there was, or not.
    ///
    /// # Errors
    /// When storage fails.
    pub fn outcome(
        &self,
        store: &dyn Store,
        url: &Url,
        strategy: Strategy,
        paid: bool,
    ) -> Result<(), StoreError> {
        self.learn(store, url, |lesson| {
            if lesson.strategy == Some(strategy) {
                lesson.outcome(paid);
            }
        })
    }

    /// Changes a lesson; what has changed is saved.
    fn learn(
        &self,
        store: &dyn Store,
        url: &Url,
        change: impl FnOnce(&mut Lesson),
    ) -> Result<(), StoreError> {
        let changed = self.with(store, url, |lesson, _, _| {
            let before = lesson.clone();
            change(lesson);
            *lesson != before
        })?;
        if changed != Some(true) {
            return Ok(());
        }
        let Some(key) = HostKey::of(url) else { return Ok(()) };
        let text = {
            let state = self.0.lock();
            let Some(host) = state.hosts.get(&key) else { return Ok(()) };
            serde_json::to_vec(&host.forms).map_err(|e| StoreError::Other(e.to_string()))?
        };
        store.save_lessons(&key, &text)?;
        self.0.changed.notify_waiters();
        Ok(())
    }

    /// The lesson of a URL's form; `None` for a form beyond those that are remembered.
    fn with<T>(
        &self,
        store: &dyn Store,
        url: &Url,
        work: impl FnOnce(&mut Lesson, &HostKey, &str) -> T,
    ) -> Result<Option<T>, StoreError> {
        let Some(key) = HostKey::of(url) else { return Ok(None) };
        let mut state = self.0.lock();
        if !state.hosts.contains_key(&key) {
            let forms = store.load_lessons(&key)?;
            // what another version wrote is learnt anew
            let forms = forms.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
            state.make_room();
            state.hosts.insert(key.clone(), Host { forms, used: 0 });
        }
        state.clock += 1;
        let clock = state.clock;
        let Some(host) = state.hosts.get_mut(&key) else { return Ok(None) };
        host.used = clock;
        let form = url_template(url);
        if host.forms.len() >= MAX_FORMS && !host.forms.contains_key(&form) {
            return Ok(None);
        }
        let lesson = host.forms.entry(form.clone()).or_default();
        Ok(Some(work(lesson, &key, &form)))
    }
}

impl State {
    /// Forgets the quarter of the hosts that were idle longest, when there are many. The store has what they taught.
    fn make_room(&mut self) {
        if self.hosts.len() < MAX_HOSTS {
            return;
        }
        let mut ages: Vec<u64> = self.hosts.values().map(|host| host.used).collect();
        ages.sort_unstable();
        let limit = ages.get(ages.len() / 4).copied().unwrap_or(0);
        self.hosts.retain(|_, host| host.used > limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crawl_store::MemoryStore;

    const TRIAL: u32 = 4;

    fn lessons() -> (Lessons, MemoryStore) {
        (Lessons::new(TRIAL, 20), MemoryStore::new())
    }

    fn url(n: usize) -> Url {
        Url::parse(&format!("http://h/item/{n}")).unwrap()
    }

    fn begin(lessons: &Lessons, store: &MemoryStore, n: usize) -> Begin {
        lessons.begin(store, &url(n)).unwrap()
    }

    /// A static page that comes and teaches.
    fn teach(lessons: &Lessons, store: &MemoryStore, n: usize, wanted: Option<Strategy>) -> bool {
        let Begin::Static(guard) = begin(lessons, store, n) else { return false };
        lessons.static_page(store, &url(n), wanted).unwrap();
        drop(guard);
        true
    }

    #[test]
    fn after_a_few_shells_the_browser_comes_first_and_is_reexamined() {
        let (lessons, store) = lessons();
        let first = (0..45).filter(|&n| teach(&lessons, &store, n, Some(Strategy::Chrome))).count();
        assert_eq!(first, 4 + 1, "four on trial, and one after each twenty by the browser");
        let other = Lessons::new(TRIAL, 20);
        assert!(matches!(begin(&other, &store, 99), Begin::First(Strategy::Chrome)), "the store remembers");
    }

    #[test]
    fn pages_wait_for_those_on_trial() {
        let (lessons, store) = lessons();
        let out: Vec<Begin> = (0..4).map(|n| begin(&lessons, &store, n)).collect();
        assert!(out.iter().all(|begin| matches!(begin, Begin::Static(Some(_)))));
        assert!(matches!(begin(&lessons, &store, 5), Begin::Wait));
        assert!(matches!(
            lessons.begin(&store, &Url::parse("http://h/other/1").unwrap()).unwrap(),
            Begin::Static(_)
        ));
        // one that failed has taught nothing, and makes room for another
        drop(out);
        assert!(matches!(begin(&lessons, &store, 6), Begin::Static(Some(_))));
    }

    #[test]
    fn a_static_page_with_its_text_makes_the_form_forget_and_hard_to_convince() {
        let (lessons, store) = lessons();
        for n in 0..4 {
            teach(&lessons, &store, n, Some(Strategy::Chrome));
        }
        assert!(lessons.is_first(&store, &url(9), Strategy::Chrome).unwrap());
        lessons.static_page(&store, &url(9), None).unwrap();
        assert!(!lessons.is_first(&store, &url(9), Strategy::Chrome).unwrap());
        let fetched = (10..60).take_while(|&n| teach(&lessons, &store, n, Some(Strategy::Chrome))).count();
        assert_eq!(fetched, 4 + 16);
    }

    #[test]
    fn shells_and_pages_in_turn_never_send_a_page_to_the_browser_at_once() {
        let (lessons, store) = lessons();
        for n in 0..400 {
            let wanted = (n % 5 != 4).then_some(Strategy::Chrome);
            // of five pages four are shells, the first four as well
            if n < 4 {
                assert!(teach(&lessons, &store, n, wanted));
            } else if n == 4 {
                lessons.static_page(&store, &url(n), None).unwrap();
            } else {
                assert!(teach(&lessons, &store, n, wanted), "page {n}");
            }
        }
    }

    #[test]
    fn what_stops_paying_is_forgotten_and_then_spared() {
        let (lessons, store) = lessons();
        for n in 0..4 {
            teach(&lessons, &store, n, Some(Strategy::Chrome));
        }
        let missed = || lessons.outcome(&store, &url(1), Strategy::Chrome, false).unwrap();
        missed();
        assert!(!lessons.is_first(&store, &url(9), Strategy::Chrome).unwrap());
        (0..15).for_each(|_| missed());
        let spared =
            (0..20).filter(|&n| lessons.is_spared(&store, &url(n), Strategy::Chrome).unwrap().is_some());
        assert_eq!(spared.count(), 18);
        lessons.outcome(&store, &url(1), Strategy::Chrome, true).unwrap();
        assert_eq!(lessons.is_spared(&store, &url(1), Strategy::Chrome).unwrap(), None);
    }

    #[test]
    fn a_mobile_client_comes_first_only_after_it_has_paid() {
        let (lessons, store) = lessons();
        for n in 0..6 {
            assert!(teach(&lessons, &store, n, Some(Strategy::Mobile)));
        }
        lessons.outcome(&store, &url(1), Strategy::Mobile, true).unwrap();
        assert!(matches!(begin(&lessons, &store, 9), Begin::First(Strategy::Mobile)));
    }
}
