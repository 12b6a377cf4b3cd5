//! Traits of storage.
//!
//! They are synchronous, take the time from the caller, and assume neither a single process nor one backend.
//! A lease names its worker, has a deadline and a fencing token; each atomic change is one call.
//!
//! States of a URL: `pending` → `leased` → (`held`, kept until its host's fingerprint settles →) `settled`.
//! All times are milliseconds since the Unix epoch.

use crate::{
    ContentHash, CrawlRequest, Discovery, HostKey, KnownUrl, Lane, LeaseToken, Origin, PageHistory,
    RequestId, Strategy, UrlKey,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Error of a storage call.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No space is left, or the medium is not writable.
    #[error("storage is full or not writable: {0}")]
    Full(String),
    /// Another process holds it.
    #[error("storage is in use: {0}")]
    Busy(String),
    /// Stored data is corrupt.
    #[error("storage is damaged: {0}")]
    Corrupt(String),
    /// Made by another version.
    #[error("storage has version {found}, this program reads up to {known}")]
    Version {
        /// Version of the store.
        found: u32,
        /// Newest version this program knows.
        known: u32,
    },
    /// Anything else.
    #[error("storage: {0}")]
    Other(String),
}

/// A URL to visit: canonical, filtered and in scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewUrl {
    /// Identity of `url`.
    pub key: UrlKey,
    /// The canonical URL.
    pub url: String,
    /// Its host.
    pub host: HostKey,
    /// Links from the nearest seed.
    pub depth: u32,
    /// Origin of the URL.
    pub discovery: Discovery,
    /// The URLs that redirected here, oldest first.
    pub redirects: Vec<String>,
    /// `lastmod` of a sitemap or feed, as given.
    pub sitemap_lastmod: Option<String>,
}

/// Result of [`Frontier::enqueue`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Enqueued {
    /// URLs that were new in this round.
    pub new: usize,
    /// URLs that were known.
    pub known: usize,
    /// URLs that were refused, by host.
    pub refused: Vec<Refused>,
}

/// Bounds on the URLs of one host; `None` for no bound. Beyond them, new URLs from pages and sitemaps are
/// refused; URLs of earlier rounds are not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostBounds {
    /// Pending URLs.
    pub urls: Option<u64>,
    /// Bound on the approximate bytes of pending URLs in the state.
    pub bytes: Option<u64>,
}

/// A bound of [`HostBounds`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostBound {
    /// [`HostBounds::urls`].
    Urls,
    /// [`HostBounds::bytes`].
    Bytes,
}

/// URLs of a host that one call of [`Frontier::enqueue`] refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The host.
    pub host: HostKey,
    /// The bound that the first refused URL met.
    pub bound: HostBound,
    /// The first URL.
    pub first: String,
    /// Keys of all refused URLs.
    pub keys: Vec<UrlKey>,
}

/// A host with held pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostLoad {
    /// The host.
    pub host: HostKey,
    /// Its held pages.
    pub pending: usize,
}

/// A host with URLs to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyHost {
    /// The host.
    pub host: HostKey,
    /// Its pending URLs that are due.
    pub pending: usize,
    /// True if the host has had only a few leases, which places it before hosts without leases.
    pub begun: bool,
}

/// Identity of a lease to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseRef {
    /// The URL.
    pub id: RequestId,
    /// The token of the lease.
    pub token: LeaseToken,
}

impl From<&CrawlRequest> for LeaseRef {
    fn from(request: &CrawlRequest) -> Self {
        Self { id: request.id, token: request.token }
    }
}

/// Outcome of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A record was written.
    Record,
    /// A line of the error log was written.
    Failed,
    /// The URL is no page to record (content type, noindex, out of scope, robots, alias); counted by kind.
    Skipped,
    /// The URL redirected to another one, which is in the frontier.
    Redirected,
    /// A page of an earlier round whose content has not changed.
    Unchanged,
    /// A page of an earlier round that no longer exists. Its history is dropped, except for its visits.
    Gone,
}

/// The end of a lease or of a held page.
#[derive(Clone, Debug)]
pub struct Settlement {
    /// Lease of the URL.
    pub lease: LeaseRef,
    /// Outcome of the visit.
    pub outcome: Outcome,
    /// Results of the visit. With a `content_hash`, they replace the earlier history. Without one (a 304, a
    /// failure), only set fields are overwritten.
    pub history: PageHistory,
}

/// Length of an output file that is written and synced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputMark {
    /// Absolute path, or another name of the output.
    pub name: String,
    /// Bytes that belong to settled URLs.
    pub offset: u64,
}

/// The frontier in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrontierCounts {
    /// Waiting to be fetched in this round.
    pub pending: u64,
    /// Out with a worker.
    pub leased: u64,
    /// Fetched, waiting for the host's fingerprint.
    pub held: u64,
    /// Ended as a record.
    pub records: u64,
    /// Ended as a failure.
    pub failed: u64,
    /// Skipped.
    pub skipped: u64,
    /// Ended as a redirect.
    pub redirected: u64,
    /// Pages whose content has not changed since an earlier round.
    pub unchanged: u64,
    /// Pages of an earlier round that no longer exist.
    pub gone: u64,
    /// Hosts with a URL in this round.
    pub hosts: u64,
}

/// Queue of URLs: pending, leased, held and settled.
pub trait Frontier: Send + Sync {
    /// Adds URLs that are unknown in this round; a URL counts as visited from here on. A known pending URL
    /// takes the given depth if that is less. It takes the given discovery if [`Discovery::is_replaced_by`]
    /// returns true. Each known URL takes the given `sitemap_lastmod`. One transaction.
    ///
    /// In a round begun by [`Frontier::begin_recrawl`], a URL that was settled in an earlier round is known
    /// and rests, unless it ended as [`Outcome::Gone`].
    ///
    /// # Errors
    /// When storage fails; then nothing was added.
    fn enqueue(&self, urls: &[NewUrl]) -> Result<Enqueued, StoreError>;

    /// Bounds the additions of [`Frontier::enqueue`] from now on. Kept in memory only; there is no bound by
    /// default.
    ///
    /// # Errors
    /// When storage fails.
    fn bound_hosts(&self, bounds: HostBounds) -> Result<(), StoreError>;

    /// Adds URLs as [`Frontier::enqueue`] does, and makes resting ones pending in this round.
    ///
    /// # Errors
    /// When storage fails; then nothing was added.
    fn revisit(&self, urls: &[NewUrl]) -> Result<Enqueued, StoreError>;

    /// URLs of earlier rounds that this round has not enqueued, in the order of their numbers. Begins after
    /// `after` (0 for the start), `limit` at most.
    ///
    /// # Errors
    /// When storage fails.
    fn known(&self, after: RequestId, limit: usize) -> Result<Vec<KnownUrl>, StoreError>;

    /// Those of the given URLs that [`Frontier::known`] lists.
    ///
    /// # Errors
    /// When storage fails.
    fn known_among(&self, keys: &[UrlKey]) -> Result<Vec<KnownUrl>, StoreError>;

    /// Hosts with due URLs in a lane, `limit` at most. [Suspended](Frontier::suspend) hosts are left out. So
    /// are hosts at which [`Frontier::lease_by_level`] found nothing, until one of their URLs changes state.
    ///
    /// Hosts with a few leases come before hosts with none or more. Within each group hosts take turns. First
    /// is the host with the longest wait since its first due URL or its last lease in this lane.
    ///
    /// # Errors
    /// When storage fails.
    fn hosts_with_pending(&self, lane: Lane, now_ms: i64, limit: usize)
    -> Result<Vec<ReadyHost>, StoreError>;

    /// Leaves a host out of [`Frontier::hosts_with_pending`], in all lanes, until it is resumed. The host
    /// keeps its turn. Kept in memory only.
    ///
    /// # Errors
    /// When storage fails.
    fn suspend(&self, host: &HostKey) -> Result<(), StoreError>;

    /// Ends [`Frontier::suspend`] for hosts.
    ///
    /// # Errors
    /// When storage fails.
    fn resume(&self, hosts: &[HostKey]) -> Result<(), StoreError>;

    /// Ends [`Frontier::suspend`] for all hosts.
    ///
    /// # Errors
    /// When storage fails.
    fn resume_all(&self) -> Result<(), StoreError>;

    /// The earliest due time of a URL that waits for a retry, if one waits.
    ///
    /// # Errors
    /// When storage fails.
    fn next_due(&self) -> Result<Option<i64>, StoreError>;

    /// Makes URLs due at `now_ms` that wait beyond `latest_ms`, the limit of any pause. Returns their number. They were
    /// scheduled while the clock was ahead.
    ///
    /// # Errors
    /// When storage fails; then nothing was changed.
    fn bring_forward(&self, latest_ms: i64, now_ms: i64) -> Result<usize, StoreError>;

    /// Leases up to `max` due URLs of one host and lane, by depth, then in order of discovery. Each lease of
    /// a URL has a larger token than all earlier ones.
    ///
    /// # Errors
    /// When storage fails.
    fn lease(
        &self,
        host: &HostKey,
        lane: Lane,
        max: usize,
        worker: &str,
        now_ms: i64,
        deadline_ms: i64,
    ) -> Result<Vec<CrawlRequest>, StoreError>;

    /// Leases URLs as [`Frontier::lease`] does, but level by level. A URL is leased only if no URL of the
    /// host with less depth, in any lane, is pending, leased or waiting for a retry. So each URL is found at
    /// its least depth, as a depth limit requires. The cost: a slow page delays the pages of the next level.
    ///
    /// # Errors
    /// When storage fails.
    fn lease_by_level(
        &self,
        host: &HostKey,
        lane: Lane,
        max: usize,
        worker: &str,
        now_ms: i64,
        deadline_ms: i64,
    ) -> Result<Vec<CrawlRequest>, StoreError>;

    /// Ends a lease and schedules a retry at `not_before_ms` or later, in the lane of `strategy`. Returns
    /// false if the lease was no longer held.
    ///
    /// # Errors
    /// When storage fails.
    fn requeue(
        &self,
        lease: LeaseRef,
        not_before_ms: i64,
        attempt: u32,
        strategy: Option<Strategy>,
    ) -> Result<bool, StoreError>;

    /// Requeues a page of an earlier round that was answered with `status` (404 or 410), with the strategy of
    /// the request. The next lease, in any round, reports the status in
    /// [`Before::status`](crate::Before::status).
    ///
    /// # Errors
    /// When storage fails.
    fn mark_possibly_gone(
        &self,
        request: &CrawlRequest,
        not_before_ms: i64,
        status: u16,
    ) -> Result<bool, StoreError>;

    /// Ends a lease so that another strategy fetches the URL, with no attempt counted yet. Stores `partial_result`,
    /// the result of earlier attempts, until the URL is held or settled. One transaction. Returns false and
    /// stores nothing if the lease was no longer held.
    ///
    /// # Errors
    /// When storage fails.
    fn escalate(
        &self,
        lease: LeaseRef,
        now_ms: i64,
        strategy: Strategy,
        partial_result: &[u8],
    ) -> Result<bool, StoreError>;

    /// The result that [`Frontier::escalate`] stored for a URL in this round.
    ///
    /// # Errors
    /// When storage fails.
    fn partial_result(&self, url: RequestId) -> Result<Option<Vec<u8>>, StoreError>;

    /// Stores a page until its host's fingerprint settles: the lease ends and the state becomes `held`. One
    /// transaction. Returns its [`HeldPage::order`], or none if the lease was no longer held (then nothing is
    /// stored).
    ///
    /// # Errors
    /// When storage fails.
    fn hold(&self, lease: LeaseRef, host: &HostKey, page: &[u8]) -> Result<Option<i64>, StoreError>;

    /// Held pages of a host in order of holding, after `after` (a [`HeldPage::order`]; 0 for the start),
    /// `limit` at most.
    ///
    /// # Errors
    /// When storage fails.
    fn held(&self, host: &HostKey, after: i64, limit: usize) -> Result<Vec<HeldPage>, StoreError>;

    /// Drops a held page that cannot be read and makes its URL pending without attempts, once a round.
    /// Returns false and changes nothing if the page is no longer held or was refetched before in this round.
    ///
    /// # Errors
    /// When storage fails.
    fn refetch(&self, held: LeaseRef) -> Result<bool, StoreError>;

    /// Hosts with held pages, and their number.
    ///
    /// # Errors
    /// When storage fails.
    fn hosts_with_held(&self) -> Result<Vec<HostLoad>, StoreError>;

    /// Settles leases and held pages, drops the held data, and stores the marks of the outputs. One
    /// transaction, called when the output is on disk. Settlements whose lease is no longer held are left
    /// out; their number is returned.
    ///
    /// # Errors
    /// When storage fails; then nothing was settled.
    fn settle(&self, batch: &[Settlement], outputs: &[OutputMark]) -> Result<usize, StoreError>;

    /// Makes URLs with expired leases pending again; returns their number. `now_ms = i64::MAX` expires all
    /// leases, for a start without any other worker.
    ///
    /// # Errors
    /// When storage fails.
    fn expire_leases(&self, now_ms: i64) -> Result<usize, StoreError>;

    /// Returns true if nothing is pending or leased in this round. Held pages do not count.
    ///
    /// # Errors
    /// When storage fails.
    fn drained(&self) -> Result<bool, StoreError>;

    /// Returns true if nothing of a host is pending or leased: its fingerprint can settle.
    ///
    /// # Errors
    /// When storage fails.
    fn host_drained(&self, host: &HostKey) -> Result<bool, StoreError>;

    /// Hosts that became drained since the last call or since the start. A host may have new URLs by now:
    /// call [`Frontier::host_drained`].
    ///
    /// # Errors
    /// When storage fails.
    fn newly_drained(&self) -> Result<Vec<HostKey>, StoreError>;

    /// Returns true if a lease, or the held page that followed it, can still be settled.
    ///
    /// # Errors
    /// When storage fails.
    fn is_current(&self, lease: LeaseRef) -> Result<bool, StoreError>;

    /// Numbers of URLs by state.
    ///
    /// # Errors
    /// When storage fails.
    fn counts(&self) -> Result<FrontierCounts, StoreError>;

    /// Number of the current round, from 1; 0 before the first.
    ///
    /// # Errors
    /// When storage fails.
    fn round(&self) -> Result<u32, StoreError>;

    /// Starts the next round without visited URLs; returns its number. Keeps the history of pages and the
    /// strategies learned per host. Drops the states of fingerprints, the claims of contents, and the texts
    /// of pages that the last round did not find.
    ///
    /// # Errors
    /// When storage fails.
    fn begin_round(&self) -> Result<u32, StoreError>;

    /// Starts the next round as a recrawl; returns its number. URLs of earlier rounds rest until they are
    /// [revisited](Frontier::revisit), and each lease carries its page's history. With `keep_sites`, the
    /// states of fingerprints are kept as those of [an earlier round](DomainStore::load_earlier_host). The
    /// claims of contents are then kept too.
    ///
    /// # Errors
    /// When storage fails.
    fn begin_recrawl(&self, keep_sites: bool) -> Result<u32, StoreError>;

    /// Returns true if [`Frontier::begin_recrawl`] began the current round.
    ///
    /// # Errors
    /// When storage fails.
    fn is_recrawl(&self) -> Result<bool, StoreError>;

    /// The last mark of an output, if it was ever marked.
    ///
    /// # Errors
    /// When storage fails.
    fn output_mark(&self, name: &str) -> Result<Option<u64>, StoreError>;
}

/// A page that waits for its host's fingerprint.
#[derive(Clone, Debug)]
pub struct HeldPage {
    /// Identity for [`Frontier::settle`].
    pub lease: LeaseRef,
    /// Order of holding; grows.
    pub order: i64,
    /// The URL of the lease.
    pub url: String,
    /// The bytes passed to [`Frontier::hold`]; empty if they are corrupt.
    pub page: Vec<u8>,
    /// False if the stored bytes are corrupt.
    pub intact: bool,
}

/// State of hosts and claims of contents, kept across pages.
pub trait DomainStore: Send + Sync {
    /// The state of a host's fingerprint as last saved in this round.
    ///
    /// # Errors
    /// When storage fails.
    fn load_host(&self, host: &HostKey) -> Result<Option<Vec<u8>>, StoreError>;

    /// The state of a host's fingerprint from an earlier round, until this round saves one.
    ///
    /// # Errors
    /// When storage fails.
    fn load_earlier_host(&self, host: &HostKey) -> Result<Option<Vec<u8>>, StoreError>;

    /// The state of a host that is not settled, as last saved in this round.
    ///
    /// # Errors
    /// When storage fails.
    fn load_unsettled(&self, host: &HostKey) -> Result<Option<Vec<u8>>, StoreError>;

    /// Saves the state of a host that is not settled, or forgets it (`None`). It does not change the state of
    /// an earlier round. [`DomainStore::save_host`] and a new round forget it too.
    ///
    /// # Errors
    /// When storage fails.
    fn save_unsettled(&self, host: &HostKey, state: Option<&[u8]>) -> Result<(), StoreError>;

    /// Saves the state of a host's fingerprint.
    ///
    /// # Errors
    /// When storage fails.
    fn save_host(&self, host: &HostKey, state: &[u8]) -> Result<(), StoreError>;

    /// The strategies learned from pages of a host, as last saved in any round.
    ///
    /// # Errors
    /// When storage fails.
    fn load_lessons(&self, host: &HostKey) -> Result<Option<Vec<u8>>, StoreError>;

    /// Saves the strategies learned from pages of a host.
    ///
    /// # Errors
    /// When storage fails.
    fn save_lessons(&self, host: &HostKey, lessons: &[u8]) -> Result<(), StoreError>;

    /// Claims a content and returns the URL of its first claimant, in this round or in an earlier one that is
    /// kept. That is `claimant` if nobody claimed it before, or if `claimant` itself did before a crash.
    /// Atomic.
    ///
    /// # Errors
    /// When storage fails.
    fn claim_content(&self, hash: &ContentHash, claimant: UrlKey) -> Result<UrlKey, StoreError>;

    /// Withdraws a claim of [`DomainStore::claim_content`] whose claimant no longer has this content.
    ///
    /// # Errors
    /// When storage fails.
    fn release_content(&self, hash: &ContentHash, claimant: UrlKey) -> Result<(), StoreError>;

    /// Returns true if a URL became a page in this round. It is held, is a record, or was a page before and
    /// is unchanged or rests.
    ///
    /// # Errors
    /// When storage fails.
    fn became_page(&self, url: UrlKey) -> Result<bool, StoreError>;
}

/// A robots.txt as fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedRobots {
    /// HTTP status of the last hop; 0 if the host was unreachable.
    pub status: u16,
    /// The body, cut at 500 KiB.
    pub body: Arc<[u8]>,
    /// Time of the fetch.
    pub fetched_at_ms: i64,
}

/// Settings and caches of a state directory.
pub trait RunStore: Send + Sync {
    /// A named value.
    ///
    /// # Errors
    /// When storage fails.
    fn get(&self, name: &str) -> Result<Option<String>, StoreError>;

    /// Sets the project and source group of later leases, also for later processes. `""` and `None` before the first
    /// call.
    ///
    /// # Errors
    /// When storage fails.
    fn set_project(&self, project: &str, source_group: Option<&str>) -> Result<(), StoreError>;

    /// Sets a named value.
    ///
    /// # Errors
    /// When storage fails.
    fn put(&self, name: &str, value: &str) -> Result<(), StoreError>;

    /// Names that begin with `prefix`, in order, with their values.
    ///
    /// # Errors
    /// When storage fails.
    fn entries(&self, prefix: &str) -> Result<Vec<(String, String)>, StoreError>;

    /// Makes all changes so far survive a loss of power. Called before a change of an output that the next
    /// run cannot cut back.
    ///
    /// # Errors
    /// When storage fails.
    fn sync(&self) -> Result<(), StoreError>;

    /// The robots.txt of an origin, of any age.
    ///
    /// # Errors
    /// When storage fails.
    fn load_robots(&self, origin: &Origin) -> Result<Option<CachedRobots>, StoreError>;

    /// Stores the robots.txt of an origin.
    ///
    /// # Errors
    /// When storage fails.
    fn save_robots(&self, origin: &Origin, robots: &CachedRobots) -> Result<(), StoreError>;
}
