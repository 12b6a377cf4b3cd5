//! robots.txt of the origins of a crawl: fetched once, kept in the store, parsed once.

use crate::{async_store::AsyncStore, origin_cache::OriginCache, stored_time};
use crawl_fetch::{FetchError, Gate, HostSlot, HttpClient, RobotsPolicy};
use crawl_model::{CachedRobots, Origin, StoreError};
use std::{
    sync::{
        Arc,
        atomic::{
            AtomicBool,
            Ordering::{AcqRel, Acquire, Release},
        },
    },
    time::Duration,
};
use tokio::sync::OnceCell;

/// Bytes of parsed rules that are kept in memory. Dropped ones are read from the store again.
const MAX_IN_MEMORY: usize = 32 << 20;

/// Time for which expired rules stay effective while the host does not give new ones. RFC 9309 §2.4 allows a
/// cached copy beyond its 24 hours as long as robots.txt is unreachable; a day more bridges an outage.
const MAX_STALE: Duration = Duration::from_secs(86_400);
/// Pause between requests for new rules at a host whose old rules stay effective.
const STALE_FOR: Duration = Duration::from_secs(600);
/// Time beyond its age for which a robots.txt stays valid that no visit has used yet. The request for it takes a turn of the host,
/// and the page of the visit takes a later one. An unreachable robots.txt has no such time, since it ends the visit of its request.
const UNUSED_FOR: Duration = Duration::from_secs(600);

/// The rules of an origin and when they have to be fetched anew.
pub struct Robots {
    /// Rules of the origin.
    pub policy: RobotsPolicy,
    /// Error, if there was no answer.
    pub error: Option<FetchError>,
    expires_ms: i64,
}

#[derive(Default)]
struct Entry {
    /// True if a lookup is about to fill it.
    is_requested: AtomicBool,
    robots: OnceCell<Arc<Robots>>,
    /// True if a visit has followed the lines besides the rules, or is about to.
    is_followed: AtomicBool,
    /// True if a visit has found the rules here.
    is_used: AtomicBool,
    /// True if the robots.txt before this one had a `Crawl-delay`.
    had_delay: AtomicBool,
}

impl Entry {
    /// Returns true if the rules have to be fetched anew.
    fn is_stale(&self, now_ms: i64) -> bool {
        let Some(robots) = self.robots.get() else { return false };
        let is_used = self.is_used.load(Acquire) || robots.policy.is_unreachable();
        let unused = if is_used { 0 } else { millis(UNUSED_FOR) };
        robots.expires_ms.saturating_add(unused) <= now_ms
    }

    /// Returns true if the `Crawl-delay` of this robots.txt, or of one before it, applies.
    fn has_delay(&self) -> bool {
        let Some(robots) = self.robots.get() else { return false };
        let is_known = !robots.policy.is_unreachable();
        robots.policy.crawl_delay().is_some() || (!is_known && self.had_delay.load(Acquire))
    }
}

/// Cache of robots.txt by origin.
pub struct RobotsCache {
    cells: OriginCache<Entry>,
    max_age: Duration,
    retry_after: Duration,
    product_token: String,
}

/// Result of [`RobotsCache::lookup`].
pub struct RobotsLookup {
    /// The rules.
    pub robots: Arc<Robots>,
    entry: Arc<Entry>,
}

impl RobotsLookup {
    /// Claims to apply the sitemaps and the pause of a robots.txt that was fetched or read from the store. `None`
    /// if another visit applies them. A visit that does not apply them, such as that of an AMP page, must not
    /// claim them.
    #[must_use]
    pub fn claim_follow_up(&self) -> Option<RobotsFollowUp> {
        let is_taken = self.entry.is_followed.swap(true, AcqRel);
        (!is_taken).then(|| RobotsFollowUp(Some(Arc::clone(&self.entry))))
    }

    /// Returns true if the robots.txt has no `Crawl-delay` any more.
    #[must_use]
    pub fn drops_delay(&self) -> bool {
        let policy = &self.robots.policy;
        self.entry.had_delay.load(Acquire) && !policy.is_unreachable() && policy.crawl_delay().is_none()
    }
}

/// Claim to apply the sitemaps and the pause of a robots.txt. If it is dropped unconfirmed, as by a cancelled visit, the next
/// visit gets the claim.
pub struct RobotsFollowUp(Option<Arc<Entry>>);

impl RobotsFollowUp {
    /// Confirms that they were applied.
    pub fn done(mut self) {
        self.0 = None;
    }
}

impl Drop for RobotsFollowUp {
    fn drop(&mut self) {
        if let Some(entry) = self.0.take() {
            entry.is_followed.store(false, Release);
        }
    }
}

impl RobotsCache {
    /// An empty cache of the rules for `product_token`. Rules are valid for `max_age`. An unreachable
    /// robots.txt is requested again after `retry_after`, when the URLs that wait for it are tried again.
    #[must_use]
    pub fn new(max_age: Duration, retry_after: Duration, product_token: &str) -> Self {
        let cells = OriginCache::new(MAX_IN_MEMORY);
        Self { cells, max_age, retry_after, product_token: product_token.to_owned() }
    }

    fn cell(&self, origin: &Origin, now_ms: i64) -> Arc<Entry> {
        let mut had_delay = false;
        let cell = self.cells.get(origin, |cell| {
            let is_stale = cell.is_stale(now_ms);
            had_delay = is_stale && cell.has_delay();
            is_stale
        });
        if had_delay {
            cell.had_delay.store(true, Release);
        }
        cell
    }

    /// Expired rules, used a little longer; `None` if they are too old.
    fn prolonged(&self, cached: &CachedRobots, now_ms: i64) -> Option<Arc<Robots>> {
        let oldest = now_ms.saturating_sub(millis(self.max_age.saturating_add(MAX_STALE)));
        let policy = RobotsPolicy::from_cached(cached, &self.product_token);
        let usable = cached.fetched_at_ms >= oldest && !policy.is_unreachable();
        let expires_ms = now_ms.saturating_add(millis(STALE_FOR));
        usable.then(|| Arc::new(Robots { policy, error: None, expires_ms }))
    }

    fn robots_of(&self, cached: &CachedRobots, error: Option<FetchError>) -> Arc<Robots> {
        let policy = RobotsPolicy::from_cached(cached, &self.product_token);
        let age = if policy.is_unreachable() { self.retry_after } else { self.max_age };
        let expires_ms = cached.fetched_at_ms.saturating_add(millis(age));
        Arc::new(Robots { policy, error, expires_ms })
    }

    /// The rules of an origin: from memory, from the store, or by a request, which uses up `slot`. Concurrent callers
    /// share one request. The waiting ones give their slots back, since each redirect needs one.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn lookup(
        &self,
        origin: &Origin,
        storage: &AsyncStore,
        client: &HttpClient,
        gate: &Gate,
        slot: &mut Option<HostSlot>,
        now_ms: i64,
    ) -> Result<RobotsLookup, StoreError> {
        let cell = self.cell(origin, now_ms);
        let is_filled = cell.robots.get().is_some();
        let request = (!is_filled && !cell.is_requested.swap(true, AcqRel)).then(|| Requested(&cell));
        if !is_filled
            && request.is_none()
            && let Some(slot) = slot.take()
        {
            slot.give_back();
        }
        let mut is_new = false;
        let robots = cell
            .robots
            .get_or_try_init(|| async {
                is_new = true;
                let key = origin.clone();
                let known = storage.call(move |store| store.load_robots(&key)).await?;
                let known = known.filter(|known| stored_time::past(known.fetched_at_ms, now_ms).is_some());
                if let Some(known) = &known {
                    let robots = self.robots_of(known, None);
                    if robots.expires_ms > now_ms {
                        return Ok(robots);
                    }
                }
                let (cached, error) = match client.fetch_robots(gate, origin, slot.take()).await {
                    Ok(cached) => (cached, None),
                    Err(error) => (unanswered(now_ms), Some(error)),
                };
                let robots = self.robots_of(&cached, error);
                // the next run tries again, so the failure is not stored
                if !robots.policy.is_unreachable() {
                    let key = origin.clone();
                    storage.call(move |store| store.save_robots(&key, &cached)).await?;
                    return Ok(robots);
                }
                let prolonged = known.and_then(|known| self.prolonged(&known, now_ms));
                if prolonged.is_some() {
                    tracing::info!(%origin, "robots.txt is unreachable: the last known rules still apply");
                }
                Ok(prolonged.unwrap_or(robots))
            })
            .await?;
        if is_new {
            self.cells.record_size(origin, &cell, robots.policy.heap_bytes());
        } else {
            cell.is_used.store(true, Release);
        }
        Ok(RobotsLookup { robots: Arc::clone(robots), entry: Arc::clone(&cell) })
    }
}

/// The request of a lookup. A cancelled lookup leaves the request to the next one, which keeps its slot.
struct Requested<'a>(&'a Entry);

impl Drop for Requested<'_> {
    fn drop(&mut self) {
        self.0.is_requested.store(false, Release);
    }
}

fn unanswered(now_ms: i64) -> CachedRobots {
    CachedRobots { status: 0, body: Arc::from([]), fetched_at_ms: now_ms }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads::Threading;
    use crawl_fetch::{ByteBudget, HttpSettings, PolitenessSettings};
    use crawl_model::{RunStore, Store};
    use crawl_store::MemoryStore;
    use url::Url;

    /// A visit that only needs the rules, or that is cancelled, leaves the sitemaps to the next visit.
    #[tokio::test]
    async fn robots_news_wait_for_a_visit_that_follows_them() {
        let origin = Origin::of(&Url::parse("http://a.test/").unwrap()).unwrap();
        let store = Arc::new(MemoryStore::new());
        let body = Arc::from(&b"Sitemap: http://a.test/s.xml\n"[..]);
        store.save_robots(&origin, &CachedRobots { status: 200, body, fetched_at_ms: 0 }).unwrap();
        let storage = AsyncStore::new(store as Arc<dyn Store>, Threading::Inline).unwrap();
        let client = HttpClient::new(HttpSettings::default(), ByteBudget::new(1)).unwrap();
        let gate = Gate::new(PolitenessSettings::default());
        let cache = RobotsCache::new(Duration::from_secs(60), Duration::from_secs(1), "bot");
        let look = async || cache.lookup(&origin, &storage, &client, &gate, &mut None, 0).await.unwrap();
        assert_eq!(look().await.robots.policy.sitemaps(), ["http://a.test/s.xml"]);
        let cancelled = look().await.claim_follow_up();
        assert!(cancelled.is_some() && look().await.claim_follow_up().is_none());
        drop(cancelled);
        look().await.claim_follow_up().unwrap().done();
        assert!(look().await.claim_follow_up().is_none());
    }

    fn rules(text: &str, fetched_at_ms: i64) -> CachedRobots {
        CachedRobots { status: 200, body: Arc::from(text.as_bytes()), fetched_at_ms }
    }

    /// With an age shorter than the pause of the host, each visit would otherwise ask for robots.txt alone.
    #[tokio::test]
    async fn robots_txt_serves_one_visit_though_it_expires_before() {
        let origin = Origin::of(&Url::parse("http://a.test/").unwrap()).unwrap();
        let store = Arc::new(MemoryStore::new());
        store.save_robots(&origin, &rules("User-agent: *\nCrawl-delay: 5\n", 0)).unwrap();
        let storage = AsyncStore::new(Arc::clone(&store) as Arc<dyn Store>, Threading::Inline).unwrap();
        let client = HttpClient::new(HttpSettings::default(), ByteBudget::new(1)).unwrap();
        let gate = Gate::new(PolitenessSettings::default());
        let cache = RobotsCache::new(Duration::from_secs(1), Duration::from_secs(1), "bot");
        let look = async |now| cache.lookup(&origin, &storage, &client, &gate, &mut None, now).await.unwrap();
        assert!(!look(500).await.drops_delay());
        let entry = cache.cell(&origin, 1_500);
        assert!(
            entry.robots.get().is_some() && entry.is_stale(601_000),
            "unused rules expire after UNUSED_FOR"
        );
        assert!(look(1_500).await.robots.policy.crawl_delay().is_some());
        assert!(entry.is_stale(1_500));
        // the site has taken its pause back
        store.save_robots(&origin, &rules("User-agent: *\n", 1_500)).unwrap();
        let looked = look(1_600).await;
        assert!(looked.drops_delay() && looked.claim_follow_up().is_some());
    }

    #[test]
    fn expired_robots_rules_hold_for_one_more_day() {
        let (hour, now) = (3_600_000, 1_000 * 86_400_000);
        let cache = RobotsCache::new(Duration::from_secs(86_400), Duration::from_secs(1), "bot");
        let prolonged = |status, age_hours: i64| {
            let body = Arc::from(&b"User-agent: *\nDisallow: /private\n"[..]);
            let cached = CachedRobots { status, body, fetched_at_ms: now - age_hours * hour };
            cache.prolonged(&cached, now).map(|robots| robots.expires_ms - now)
        };
        assert_eq!(prolonged(200, 25), Some(600_000));
        assert_eq!(prolonged(200, 48), Some(600_000));
        assert_eq!(prolonged(200, 49), None);
        assert_eq!(prolonged(503, 25), None, "no rules at all");
    }
}
