//! Conversion of a page's links to URLs for the frontier.

use crate::{site_settings::SiteSettings, traps::LINES_A_PAGE};
use crawl_fetch::{Canonicalizer, FilterDecision, ScopeSet, Trap, Traps, UrlFilter};
use crawl_model::{
    CrawlRequest, Discovery, HostKey, Link, LinkKind, NewUrl, Refused, RequestId, Store, StoreError, UrlKey,
};
use rustc_hash::FxHashSet;
use std::{
    collections::BTreeMap,
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex, PoisonError, RwLock},
};
use url::Url;

/// Bounds of a crawl: canonical form, filters, scope, depth, traps.
pub struct LinkPolicy {
    canonicalizer: Canonicalizer,
    filter: UrlFilter,
    scope: RwLock<ScopeSet>,
    max_depth: u64,
    traps: Arc<Traps>,
    sites: Arc<SiteSettings>,
    seen: Mutex<SeenCache>,
    /// Random keys, so that a page cannot construct URLs with equal hashes.
    keys: RandomState,
}

/// Links of a page by their treatment.
#[derive(Debug, Default)]
pub struct Discovered {
    /// Canonical outgoing links, each once, up to the limit of a page.
    pub outgoing: Vec<String>,
    /// Links that may be new to the frontier.
    pub candidates: Vec<NewUrl>,
    /// New links that are left out as traps, for the error log; at most [`LINES_A_PAGE`].
    pub trapped: Vec<(String, Trap)>,
    /// Number of further traps, by kind.
    pub trapped_more: BTreeMap<&'static str, u64>,
    /// Candidates that the frontier refused.
    pub refused: Vec<Refused>,
    /// True if one of the candidates has another URL pattern than the page.
    pub links_new_pattern: bool,
}

impl Discovered {
    /// Adds a link that is not followed. The first `lines` of a kind get an error line each.
    pub(crate) fn leave_out(&mut self, url: Url, trap: Trap, lines: usize) {
        let of_kind = self.trapped.iter().filter(|(_, other)| other.kind() == trap.kind()).count();
        if of_kind < lines && self.trapped.len() < LINES_A_PAGE {
            self.trapped.push((url.into(), trap));
        } else {
            *self.trapped_more.entry(trap.kind()).or_default() += 1;
        }
    }
}

impl LinkPolicy {
    /// A policy; seeds are added to `scope` by the caller.
    #[must_use]
    pub fn new(
        canonicalizer: Canonicalizer,
        filter: UrlFilter,
        scope: ScopeSet,
        max_depth: u64,
        traps: Arc<Traps>,
        sites: Arc<SiteSettings>,
    ) -> Self {
        Self {
            traps,
            sites,
            canonicalizer,
            filter,
            scope: RwLock::new(scope),
            max_depth,
            seen: Mutex::default(),
            keys: RandomState::new(),
        }
    }

    /// The canonical form of a URL.
    #[must_use]
    pub fn canonical(&self, url: &Url) -> Url {
        self.canonicalizer.canonical(url)
    }

    /// The maker of canonical URLs.
    #[must_use]
    pub const fn canonicalizer(&self) -> &Canonicalizer {
        &self.canonicalizer
    }

    /// Adds the host of a seed, or of a seed's redirect, to the scope.
    pub fn extend_scope(&self, url: &Url) {
        self.scope.write().unwrap_or_else(PoisonError::into_inner).add(url);
    }

    /// Returns true if a canonical URL that a page or file names may be fetched. Seeds are not checked.
    #[must_use]
    pub fn admits(&self, url: &Url) -> bool {
        self.in_scope(url) && !matches!(self.filter_of(url).classify(url), FilterDecision::Exclude { .. })
    }

    /// Returns true if `exclude` matches a URL. It applies to seeds and queued URLs too.
    #[must_use]
    pub fn is_excluded(&self, url: &Url) -> bool {
        self.filter_of(url).is_excluded_by_user(url)
    }

    fn filter_of(&self, url: &Url) -> &UrlFilter {
        HostKey::of(url).and_then(|host| self.sites.filter(&host)).unwrap_or(&self.filter)
    }

    /// Returns true if a URL lies within the scope, regardless of the filters. A URL over the limit of length
    /// never does.
    #[must_use]
    pub fn in_scope(&self, url: &Url) -> bool {
        !self.canonicalizer.is_too_long(url)
            && self.scope.read().unwrap_or_else(PoisonError::into_inner).contains(url)
    }

    /// Maximum depth of links on the host of a URL.
    #[must_use]
    pub fn depth_of(&self, url: &Url) -> u64 {
        HostKey::of(url).and_then(|host| self.sites.depth(&host)).unwrap_or(self.max_depth)
    }

    /// Returns the trap for which a found URL is left out. Seeds and the targets of their redirects are not
    /// checked.
    #[must_use]
    pub fn trap(&self, url: &Url) -> Option<Trap> {
        self.traps.classify(url).or_else(|| self.traps.classify_host(url))
    }

    /// Sorts the links of a page into outgoing links, candidates for the frontier, and traps.
    #[must_use]
    pub fn discover(
        &self,
        page: &CrawlRequest,
        links: &[Link],
        follow: bool,
        obey_nofollow: bool,
    ) -> Discovered {
        let deeper = u64::from(page.depth) < self.depth_of(&page.url);
        let mut found = Discovered::default();
        let mut once = FxHashSet::default();
        for link in links {
            let may_follow = follow && deeper && !(obey_nofollow && link.nofollow);
            if may_follow && self.add_if_seen(link, page.depth + 1, &mut once, &mut found) {
                continue;
            }
            let Ok(url) = Url::parse(&link.url) else { continue };
            let Some(host) = HostKey::of(&url) else { continue };
            let url = self.canonicalizer.canonical(&url);
            let hash = self.keys.hash_one(url.as_str());
            if !once.insert(hash) {
                continue;
            }
            if let Some(trap) = self.traps.classify_count(found.outgoing.len()) {
                found.leave_out(url, trap, 1);
                continue;
            }
            found.outgoing.push(url.as_str().to_owned());
            if !(may_follow && self.admits(&url) && self.note(self.seen_hash(hash, page.depth + 1))) {
                continue;
            }
            match self.trap(&url) {
                None => {
                    // pages of a trap have translations and clicks too
                    let counts = !matches!(link.kind, LinkKind::Translation | LinkKind::Click);
                    found.links_new_pattern |=
                        counts && !found.links_new_pattern && self.traps.differ(&page.url, &url);
                    found.candidates.push(new_url(url, host, page.depth + 1, Discovery::Link));
                }
                Some(trap) => found.leave_out(url, trap, LINES_A_PAGE),
            }
        }
        found
    }

    /// Adds a recently enqueued link to the outgoing ones and returns true. Its URL is canonical and admitted, so it
    /// need not be parsed. Most links of a page belong to menus.
    fn add_if_seen(
        &self,
        link: &Link,
        depth: u32,
        once: &mut FxHashSet<u64>,
        found: &mut Discovered,
    ) -> bool {
        let hash = self.keys.hash_one(link.url.as_str());
        let is_known = self.traps.classify_count(found.outgoing.len()).is_none()
            && self.is_noted(self.seen_hash(hash, depth));
        if is_known && once.insert(hash) {
            found.outgoing.push(link.url.clone());
        }
        is_known
    }

    /// Adds the candidates of a page to the frontier. Removes refused ones from the cache, so that the next page with
    /// the same link offers them again. Returns the refused URLs.
    ///
    /// # Errors
    /// When storage fails.
    pub fn enqueue(
        &self,
        store: &dyn Store,
        candidates: &[NewUrl],
        page: RequestId,
    ) -> Result<Vec<Refused>, StoreError> {
        if candidates.is_empty() {
            return Ok(Vec::new());
        }
        let refused = store.enqueue_found_on(candidates, page).inspect_err(|_| self.forget())?.refused;
        if !refused.is_empty() {
            self.forget_refused(candidates, &refused);
        }
        Ok(refused)
    }

    fn forget_refused(&self, candidates: &[NewUrl], refused: &[Refused]) {
        let keys: FxHashSet<UrlKey> = refused.iter().flat_map(|refused| &refused.keys).copied().collect();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for url in candidates.iter().filter(|url| keys.contains(&url.key)) {
            seen.forget(self.seen_hash(self.keys.hash_one(url.url.as_str()), url.depth));
        }
    }

    /// Key of a URL in the cache. With a depth limit, a URL has one key per depth, since the frontier keeps the
    /// lowest depth.
    fn seen_hash(&self, url_hash: u64, depth: u32) -> u64 {
        if self.max_depth == u64::MAX && !self.sites.has_depths() {
            url_hash
        } else {
            self.keys.hash_one((url_hash, depth))
        }
    }

    fn forget(&self) {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = SeenCache::default();
    }

    fn is_noted(&self, hash: u64) -> bool {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).renew(hash)
    }

    fn note(&self, hash: u64) -> bool {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).note(hash)
    }
}

/// Makes a [`NewUrl`] from a canonical URL.
#[must_use]
pub fn new_url(url: Url, host: HostKey, depth: u32, discovery: Discovery) -> NewUrl {
    let key = UrlKey::of(url.as_str());
    NewUrl { key, url: url.into(), host, depth, discovery, redirects: Vec::new(), sitemap_lastmod: None }
}

/// Cache of recently enqueued URLs, so that the links of a menu are not sent to the store for every page. Two
/// generations of keyed 64-bit hashes, at most 8 MB. An evicted URL costs one look-up in the store.
#[derive(Default)]
struct SeenCache {
    young: FxHashSet<u64>,
    old: FxHashSet<u64>,
}

/// Maximum URLs per generation.
const GENERATION: usize = 200_000;

impl SeenCache {
    /// Adds a URL. Returns true if it was not in the cache.
    fn note(&mut self, hash: u64) -> bool {
        if self.young.contains(&hash) {
            return false;
        }
        let known = self.old.contains(&hash);
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(hash);
        !known
    }

    /// Returns true for a URL in the cache, and moves it to the younger generation.
    fn renew(&mut self, hash: u64) -> bool {
        self.young.contains(&hash) || self.old.contains(&hash) && !self.note(hash)
    }

    /// Removes a URL from both generations.
    fn forget(&mut self, hash: u64) {
        self.young.remove(&hash);
        self.old.remove(&hash);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crawl_fetch::{Scope, TrapSettings};
    use crawl_model::{Frontier, HostBounds, LeaseToken};
    use crawl_store::MemoryStore;

    fn policy(max_depth: u64) -> LinkPolicy {
        let seed = Url::parse("http://a.test/").unwrap();
        let filter = UrlFilter::new(true, &[], &[regex::Regex::new("secret").unwrap()]).unwrap();
        let traps = Arc::new(Traps::new(TrapSettings::default(), 2026));
        let scope = ScopeSet::of_seeds(Scope::Host, [&seed]);
        LinkPolicy::new(Canonicalizer::default(), filter, scope, max_depth, traps, Arc::default())
    }

    fn page(depth: u32) -> CrawlRequest {
        let url = Url::parse("http://a.test/").unwrap();
        let (id, token) = (RequestId(1), LeaseToken(1));
        CrawlRequest { id, token, depth, project: "p".into(), ..CrawlRequest::of_seed(url) }
    }

    fn link(url: &str) -> Link {
        Link { url: url.to_owned(), kind: LinkKind::Anchor, nofollow: false }
    }

    fn urls(found: &Discovered) -> Vec<&str> {
        found.candidates.iter().map(|c| c.url.as_str()).collect()
    }

    #[test]
    fn links_over_the_limit_of_length_are_not_followed() {
        let long = |length: usize| link(&format!("http://a.test/?q={}", "a".repeat(length)));
        let found = policy(9).discover(&page(0), &[long(4_000), long(4_100)], true, true);
        assert_eq!((found.candidates.len(), found.candidates[0].url.len()), (1, 4_017));
    }

    #[test]
    fn candidate_links_are_canonical_unique_and_in_scope() {
        let links = [
            "http://A.test/x#top",
            "http://a.test/x?utm_source=m",
            "http://b.test/y",
            "http://a.test/secret",
            "http://a.test/i.png",
        ];
        let found = policy(9).discover(&page(0), &links.map(link), true, true);
        assert_eq!(urls(&found), ["http://a.test/x"]);
        assert_eq!(
            found.outgoing,
            ["http://a.test/x", "http://b.test/y", "http://a.test/secret", "http://a.test/i.png"]
        );
        assert_eq!(found.candidates[0].depth, 1);
    }

    /// Pages of a trap have such links as well, so they earn nothing by them.
    #[test]
    fn translations_and_clicks_are_no_new_pattern() {
        for (kind, links_new_pattern) in
            [(LinkKind::Anchor, true), (LinkKind::Translation, false), (LinkKind::Click, false)]
        {
            let found =
                policy(9).discover(&page(0), &[Link { kind, ..link("http://a.test/x/7") }], true, true);
            assert_eq!((found.links_new_pattern, found.candidates.len()), (links_new_pattern, 1), "{kind:?}");
        }
    }

    #[test]
    fn nofollow_and_depth_keep_links_out_of_the_frontier() {
        let nofollow = Link { nofollow: true, ..link("http://a.test/x") };
        let found = |policy: LinkPolicy, depth, follow, obey| {
            let found = policy.discover(&page(depth), std::slice::from_ref(&nofollow), follow, obey);
            (found.outgoing.len(), found.candidates.len())
        };
        assert_eq!(found(policy(9), 0, true, true), (1, 0));
        assert_eq!(found(policy(9), 0, true, false), (1, 1));
        assert_eq!(found(policy(9), 0, false, false), (1, 0));
        assert_eq!(found(policy(2), 2, true, false), (1, 0));
        assert_eq!(found(policy(2), 1, true, false), (1, 1));
    }

    #[test]
    fn a_link_is_offered_once_until_the_store_refuses_it() {
        let policy = policy(9);
        let links = [link("http://a.test/x")];
        assert_eq!(policy.discover(&page(0), &links, true, true).candidates.len(), 1);
        assert_eq!(policy.discover(&page(0), &links, true, true).candidates.len(), 0);
        policy.forget();
        assert_eq!(policy.discover(&page(0), &links, true, true).candidates.len(), 1);
    }

    #[test]
    fn known_links_stay_in_the_record_once() {
        let links = ["http://a.test/x", "http://a.test/secret", "http://A.test/x#top", "http://a.test/x"];
        for (max_depth, follow) in [(9, true), (u64::MAX, true), (9, false)] {
            let policy = policy(max_depth);
            let outgoing = || policy.discover(&page(0), &links.map(link), follow, true).outgoing;
            assert_eq!(outgoing(), ["http://a.test/x", "http://a.test/secret"]);
            assert_eq!(outgoing(), ["http://a.test/x", "http://a.test/secret"], "{max_depth} {follow}");
        }
    }

    #[test]
    fn known_links_count_for_the_page_limit_unparsed() {
        let policy = policy(u64::MAX);
        let (known, limit) = (link("http://a.test/x"), TrapSettings::default().links_per_page.unwrap());
        assert_eq!(policy.discover(&page(0), std::slice::from_ref(&known), true, true).candidates.len(), 1);
        let (mut once, mut found) = (FxHashSet::default(), Discovered::default());
        assert!(policy.add_if_seen(&known, 1, &mut once, &mut found));
        assert!(!policy.add_if_seen(&link("http://a.test/y"), 1, &mut once, &mut found), "a new one");
        assert!(!policy.add_if_seen(&link("http://a.test/x#top"), 1, &mut once, &mut found), "not canonical");
        assert_eq!(found.outgoing, ["http://a.test/x"]);
        let nofollow = Link { nofollow: true, ..known.clone() };
        let again = policy.discover(&page(0), &[nofollow], true, true);
        assert_eq!((again.outgoing.len(), again.candidates.len()), (1, 0));
        found.outgoing.resize(limit, String::new());
        assert!(!policy.add_if_seen(&known, 1, &mut once, &mut found), "the page is full");
    }

    #[test]
    fn a_refused_link_is_offered_again() {
        for max_depth in [9, u64::MAX] {
            let (policy, store) = (policy(max_depth), MemoryStore::new());
            let urls =
                |found: Discovered| found.candidates.into_iter().map(|url| url.url).collect::<Vec<_>>();
            store.begin_round().unwrap();
            store.bound_hosts(HostBounds { urls: Some(1), bytes: None }).unwrap();
            let links = ["http://a.test/x", "http://a.test/y"].map(link);
            let found = policy.discover(&page(0), &links, true, true);
            let refused = policy.enqueue(&store, &found.candidates, RequestId(1)).unwrap();
            assert_eq!(refused[0].keys, [UrlKey::of("http://a.test/y")]);
            let again = policy.discover(&page(0), &links, true, true);
            assert_eq!(urls(again), ["http://a.test/y"]);
        }
    }

    #[test]
    fn log_lines_of_trapped_links_are_limited_per_page() {
        let deep: Vec<Link> = (0..LINES_A_PAGE + 5)
            .map(|n| link(&format!("http://a.test/{}{n}", "x/y/z/".repeat(9))))
            .chain([link("http://a.test/fine")])
            .collect();
        let policy = policy(9);
        let found = policy.discover(&page(0), &deep, true, true);
        assert_eq!(urls(&found), ["http://a.test/fine"]);
        assert_eq!(found.trapped.len(), LINES_A_PAGE);
        assert_eq!(found.trapped_more, BTreeMap::from([("trap_path_depth", 5)]));
        let again = policy.discover(&page(0), &deep, true, true);
        assert!(again.trapped.is_empty() && again.trapped_more.is_empty(), "once for each URL");
    }

    #[test]
    fn links_beyond_the_page_limit_are_dropped_and_logged_once() {
        let many: Vec<Link> = (0..10_003).map(|n| link(&format!("http://a.test/{n}"))).collect();
        let found = policy(9).discover(&page(0), &many, true, true);
        assert_eq!((found.candidates.len(), found.outgoing.len()), (10_000, 10_000));
        assert_eq!(found.trapped, [("http://a.test/10000".to_owned(), Trap::Links(10_000))]);
        assert_eq!(found.trapped_more, BTreeMap::from([("trap_links", 2)]));
    }

    #[test]
    fn seen_cache_evicts_the_oldest_generation() {
        let mut cache = SeenCache::default();
        assert!(cache.note(0));
        for hash in 1..=GENERATION as u64 {
            cache.note(hash);
        }
        assert!(!cache.note(0), "still in the old generation");
        cache.forget(0);
        assert!(cache.note(0), "forgotten in both generations");
        assert!(cache.young.len() + cache.old.len() <= 2 * GENERATION);
    }
}
