//! Cache of values by origin, bounded in bytes. A number of origins is no bound: a hostile file of half a
//! megabyte takes ten when parsed, an honest one next to nothing.

use crawl_model::Origin;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Approximate bytes of an entry without its value.
const ENTRY: usize = 256;

/// Values by origin in two generations. A requested value moves to the young one. When that has its half of
/// the bytes, the old one is dropped. So values in use stay, and the cache holds at most the bound and the
/// newest value.
pub struct OriginCache<T> {
    generations: Mutex<Generations<T>>,
    half: usize,
}

struct Generations<T> {
    young: FxHashMap<Origin, Entry<T>>,
    old: FxHashMap<Origin, Entry<T>>,
    young_bytes: usize,
}

struct Entry<T> {
    value: Arc<T>,
    bytes: usize,
}

impl<T: Default> OriginCache<T> {
    /// An empty cache of about `capacity` bytes.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        let generations =
            Generations { young: FxHashMap::default(), old: FxHashMap::default(), young_bytes: 0 };
        Self { generations: Mutex::new(generations), half: bytes / 2 }
    }

    /// Returns the value of an origin. It is created if it is missing or stale.
    pub fn get(&self, origin: &Origin, stale: impl FnOnce(&T) -> bool) -> Arc<T> {
        let mut generations = self.lock();
        let known = match generations.young.get(origin) {
            Some(entry) => Some(Arc::clone(&entry.value)),
            None => generations.old.remove(origin).map(|entry| {
                let value = Arc::clone(&entry.value);
                generations.insert(origin, entry);
                value
            }),
        };
        let value = known.filter(|value| !stale(value)).unwrap_or_else(|| {
            let value = Arc::new(T::default());
            generations.insert(origin, Entry { value: Arc::clone(&value), bytes: ENTRY });
            value
        });
        generations.rotate(self.half);
        value
    }

    /// Replaces the assumed size of an origin's value by its size in bytes.
    pub fn record_size(&self, origin: &Origin, value: &Arc<T>, bytes: usize) {
        let mut generations = self.lock();
        // another value may have taken its place
        if generations.young.get(origin).is_some_and(|entry| Arc::ptr_eq(&entry.value, value)) {
            let bytes = bytes.saturating_add(ENTRY);
            generations.insert(origin, Entry { value: Arc::clone(value), bytes });
            generations.rotate(self.half);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Generations<T>> {
        // nothing in here can panic half-way
        self.generations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Generations<T> {
    fn insert(&mut self, origin: &Origin, entry: Entry<T>) {
        self.young_bytes += entry.bytes;
        if let Some(before) = self.young.insert(origin.clone(), entry) {
            self.young_bytes -= before.bytes;
        }
    }

    fn rotate(&mut self, half: usize) {
        if self.young_bytes > half {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    use url::Url;

    fn origin(n: usize) -> Origin {
        Origin::of(&Url::parse(&format!("http://h{n}.test/")).unwrap()).unwrap()
    }

    /// Marks an origin's value; true if it was there.
    fn visit(cache: &OriginCache<AtomicU32>, n: usize, bytes: usize) -> bool {
        let value = cache.get(&origin(n), |_| false);
        cache.record_size(&origin(n), &value, bytes);
        value.swap(1, Relaxed) == 1
    }

    #[test]
    fn cache_bytes_are_bounded_and_used_entries_stay() {
        let cache = OriginCache::new(100_000);
        for n in 0..1_000 {
            visit(&cache, n, 1_000);
            assert!(n == 0 || visit(&cache, 0, 1_000), "the one that is always asked for stays: {n}");
            let generations = cache.lock();
            let held: usize =
                generations.young.values().chain(generations.old.values()).map(|e| e.bytes).sum();
            assert!(held <= 100_000 + 2 * (1_000 + ENTRY), "{held} bytes after {n}");
        }
        assert!(!visit(&cache, 1, 1_000), "one that was not is forgotten");
    }

    #[test]
    fn oversized_entry_is_evicted_by_the_next() {
        let cache = OriginCache::new(10_000);
        assert!(!visit(&cache, 1, 1_000_000) && visit(&cache, 1, 1_000_000));
        assert!(!visit(&cache, 2, 1_000_000));
        assert!(!visit(&cache, 1, 1_000_000));
    }

    #[test]
    fn stale_value_is_rebuilt() {
        let cache = OriginCache::new(10_000);
        visit(&cache, 1, 1);
        assert_eq!(cache.get(&origin(1), |value| value.load(Relaxed) == 1).load(Relaxed), 0);
        assert_eq!(cache.get(&origin(1), |_| false).load(Relaxed), 0);
    }
}
