//! The traits of storage. They are synchronous, take the time from the caller, and assume neither one process nor
//! one engine: a lease names its worker, has a deadline and a fencing token, and whatever must be atomic is one call.
//!
//! States of a URL: `pending` → `leased` → (`held`, kept until its host's fingerprint settles →) `settled`.
//! All times are milliseconds since the Unix epoch.

use crate::{
    ContentHash, CrawlRequest, Discovery, HostKey, KnownUrl, Lane, LeaseToken, Origin, PageHistory,
    RequestId, Strategy, UrlKey,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Why a store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No space is left, or the medium is not writable.
    #[error("storage is full or not writable: {0}")]
    Full(String),
    /// Another process holds it.
    #[error("storage is in use: {0}")]
    Busy(String),
    /// What was read cannot be what was written.
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

/// A URL to be visited, canonicalised, filtered and in scope already.
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
    /// How it came to be known.
    pub discovery: Discovery,
    /// The URLs that redirected here, oldest first.
    pub redirects: Vec<String>,
    /// `lastmod` of a sitemap or feed, as given.
    pub sitemap_lastmod: Option<String>,
}

/// What enqueueing did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Enqueued {
    /// URLs that were new in this round.
    pub new: usize,
    /// URLs that were known.
    pub known: usize,
    /// URLs that were refused, by host.
    pub refused: Vec<Refused>,
}

/// Bounds of the URLs of one host that are to be fetched; `None` for no bound. A URL that a page or a sitemap names and
/// that no round knows is refused beyond them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostBounds {
    /// Pending URLs.
    pub urls: Option<u64>,
    /// Approximate bytes of pending URLs in the state.
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
    /// The bound that the first URL met.
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
    /// URLs of it that are pending and whose time has come.
    pub pending: usize,
    /// It is within its first leases, and so goes before hosts that have not begun.
    pub begun: bool,
}

/// Names a lease that is to be given back.
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

/// How a URL ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A record was written.
    Record,
    /// A line of the error log was written.
    Failed,
    /// Not a page for us (content type, noindex, out of scope, robots, alias): counted by kind.
    Skipped,
    /// It redirected to another URL, which is in the frontier.
    Redirected,
    /// A page of an earlier round that says what it said before.
    Unchanged,
    /// A page of an earlier round that is no more: what was learnt of it is forgotten, but for its visits.
    Gone,
}

/// A lease, or a held page, that has been dealt with.
#[derive(Clone, Debug)]
pub struct Settlement {
    /// Which.
    pub lease: LeaseRef,
    /// How it ended.
    pub outcome: Outcome,
    /// What was learnt. With a `content_hash` it replaces what earlier rounds learnt; without one (a 304, a failure) only
    /// what is given is overwritten.
    pub history: PageHistory,
}

/// How far an output file has been written and synced.
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
    /// Pages that say what they said in an earlier round.
    pub unchanged: u64,
    /// Pages of an earlier round that are no more.
    pub gone: u64,
    /// Hosts with a URL in this round.
    pub hosts: u64,
}

/// What is to be visited, what is being visited, what has been.
pub trait Frontier: Send + Sync {
    /// Adds what is not yet known in this round; a URL counts as visited from here on. A known one that is still pending
    /// takes the depth given if that is less, and the discovery given if its own gives way
    /// ([`Discovery::gives_way_to`]); each known one takes the `sitemap_lastmod` given. One transaction.
    ///
    /// In a round begun by [`Frontier::begin_recrawl`] a URL whose visit in an earlier round came to an end is known, and
    /// rests, but for one that ended as [`Outcome::Gone`].
    ///
    /// # Errors
    /// When storage fails; then nothing was added.
    fn enqueue(&self, urls: &[NewUrl]) -> Result<Enqueued, StoreError>;

    /// Bounds what [`Frontier::enqueue`] adds from now on. Kept in memory alone; without it there is no bound.
    ///
    /// # Errors
    /// When storage fails.
    fn bound_hosts(&self, bounds: HostBounds) -> Result<(), StoreError>;

    /// As [`Frontier::enqueue`], and URLs that rest are visited in this round.
    ///
    /// # Errors
    /// When storage fails; then nothing was added.
    fn revisit(&self, urls: &[NewUrl]) -> Result<Enqueued, StoreError>;

    /// URLs of earlier rounds that have not been enqueued in this one, from after number `after` on (0 for the start),
    /// `limit` at most, in the order of their numbers.
    ///
    /// # Errors
    /// When storage fails.
    fn known(&self, after: RequestId, limit: usize) -> Result<Vec<KnownUrl>, StoreError>;

    /// Those of the URLs that [`Frontier::known`] would tell of.
    ///
    /// # Errors
    /// When storage fails.
    fn known_among(&self, keys: &[UrlKey]) -> Result<Vec<KnownUrl>, StoreError>;

    /// Hosts that have pending URLs of a lane whose time has come, `limit` at most, but for those that are
    /// [suspended](Frontier::suspend) and those at which [`Frontier::lease_by_level`] found nothing, until a URL of theirs has
    /// moved. A host that has had some leases, but few, comes before those that had none or more. Within each of the two
    /// groups hosts take turns: first the one that has waited longest since its first such URL came or since it was last
    /// leased from in this lane.
    ///
    /// # Errors
    /// When storage fails.
    fn hosts_with_pending(&self, lane: Lane, now_ms: i64, limit: usize)
    -> Result<Vec<ReadyHost>, StoreError>;

    /// Leaves a host out of [`Frontier::hosts_with_pending`], in all lanes, until it is resumed. It keeps its turn. This is
    /// kept in memory alone.
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

    /// The earliest time at which a URL that waits for a retry becomes due, if one waits.
    ///
    /// # Errors
    /// When storage fails.
    fn next_due(&self) -> Result<Option<i64>, StoreError>;

    /// Leases up to `max` due URLs of one host and lane, least depth first, then in order of discovery. The token of each
    /// lease is larger than that of any lease before it of the same URL.
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

    /// As [`Frontier::lease`], but level by level: no URL is leased while one of the host, in whichever lane, that is nearer
    /// to the seeds is pending, leased or waits to be tried again. So whatever is found is found at its least depth, as a limit on the depth
    /// needs it; the price is that a slow page holds up those behind it.
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

    /// Gives a lease back to be tried again not before `not_before_ms`, in the lane of `strategy`. False if the lease was no
    /// longer held.
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

    /// As [`Frontier::requeue`] with the strategy of the request, for a page of an earlier round that was answered with
    /// `status` (404 or 410): the next lease of it says so in [`Before::status`](crate::Before::status), in whatever round.
    ///
    /// # Errors
    /// When storage fails.
    fn doubt(&self, request: &CrawlRequest, not_before_ms: i64, status: u16) -> Result<bool, StoreError>;

    /// Gives a lease back to be fetched by another strategy as soon as its turn comes, with no attempt at it yet, and keeps
    /// `so_far`, what came of those before, until the URL is held or settled. One transaction. False if the lease was no
    /// longer held (nothing is stored then).
    ///
    /// # Errors
    /// When storage fails.
    fn escalate(
        &self,
        lease: LeaseRef,
        now_ms: i64,
        strategy: Strategy,
        so_far: &[u8],
    ) -> Result<bool, StoreError>;

    /// What [`Frontier::escalate`] has kept of a URL in this round.
    ///
    /// # Errors
    /// When storage fails.
    fn so_far(&self, url: RequestId) -> Result<Option<Vec<u8>>, StoreError>;

    /// Keeps a page until its host's fingerprint settles: the lease ends, `page` is stored, the state is `held`. One
    /// transaction. Its [`HeldPage::order`], or none if the lease was no longer held (nothing is stored then).
    ///
    /// # Errors
    /// When storage fails.
    fn hold(&self, lease: LeaseRef, host: &HostKey, page: &[u8]) -> Result<Option<i64>, StoreError>;

    /// Held pages of a host in the order in which they were held, from after
    /// `after` (a [`HeldPage::order`]; 0 for the start), `limit` at most.
    ///
    /// # Errors
    /// When storage fails.
    fn held(&self, host: &HostKey, after: i64, limit: usize) -> Result<Vec<HeldPage>, StoreError>;

    /// Ends a held page that cannot be read, and puts its URL back to pending as if nothing had been tried for it, once a
    /// round. False if that was done before in this round, or the page is no longer held; then nothing has changed.
    ///
    /// # Errors
    /// When storage fails.
    fn refetch(&self, held: LeaseRef) -> Result<bool, StoreError>;

    /// Hosts that have held pages, with their number.
    ///
    /// # Errors
    /// When storage fails.
    fn hosts_with_held(&self) -> Result<Vec<HostLoad>, StoreError>;

    /// Ends leases and held pages, drops what was held, and notes how far the outputs reach: one transaction, called
    /// when the output is on disk. Settlements whose lease is no longer held are left out; their number is returned.
    ///
    /// # Errors
    /// When storage fails; then nothing was settled.
    fn settle(&self, batch: &[Settlement], outputs: &[OutputMark]) -> Result<usize, StoreError>;

    /// Puts URLs whose lease has run out back to pending; returns how many. `now_ms = i64::MAX` takes all back, for
    /// a start at which no other worker can be alive.
    ///
    /// # Errors
    /// When storage fails.
    fn expire_leases(&self, now_ms: i64) -> Result<usize, StoreError>;

    /// Nothing pending and nothing leased in this round. Held pages do not count.
    ///
    /// # Errors
    /// When storage fails.
    fn drained(&self) -> Result<bool, StoreError>;

    /// The same for one host: then its fingerprint can settle.
    ///
    /// # Errors
    /// When storage fails.
    fn host_drained(&self, host: &HostKey) -> Result<bool, StoreError>;

    /// Hosts that came to have nothing pending and nothing leased since the last call, or since the start. A host may have
    /// more by now: ask [`Frontier::host_drained`].
    ///
    /// # Errors
    /// When storage fails.
    fn newly_drained(&self) -> Result<Vec<HostKey>, StoreError>;

    /// Returns true if a lease, or the held page that it became, can still be settled.
    ///
    /// # Errors
    /// When storage fails.
    fn is_current(&self, lease: LeaseRef) -> Result<bool, StoreError>;

    /// The frontier in numbers.
    ///
    /// # Errors
    /// When storage fails.
    fn counts(&self) -> Result<FrontierCounts, StoreError>;

    /// Number of the current round, from 1; 0 before the first.
    ///
    /// # Errors
    /// When storage fails.
    fn round(&self) -> Result<u32, StoreError>;

    /// Starts the next round: nothing is visited; the history of pages and what hosts taught of strategies are kept, the
    /// states of fingerprints, who first had a content, and the texts of pages that the round before did not bring are
    /// dropped. Returns its number.
    ///
    /// # Errors
    /// When storage fails.
    fn begin_round(&self) -> Result<u32, StoreError>;

    /// Starts the next round as one over what is known: URLs of earlier rounds rest until they are
    /// [visited again](Frontier::revisit), and each lease says what was learnt of its page before. With `keep_sites` the states of
    /// fingerprints are kept as those of [an earlier round](DomainStore::load_earlier_host), and so is who first had a
    /// content. Returns its number.
    ///
    /// # Errors
    /// When storage fails.
    fn begin_recrawl(&self, keep_sites: bool) -> Result<u32, StoreError>;

    /// Whether the current round was begun by [`Frontier::begin_recrawl`].
    ///
    /// # Errors
    /// When storage fails.
    fn is_recrawl(&self) -> Result<bool, StoreError>;

    /// How far an output had been written, if it was ever marked.
    ///
    /// # Errors
    /// When storage fails.
    fn output_mark(&self, name: &str) -> Result<Option<u64>, StoreError>;
}

/// A page that waits for its host's fingerprint.
#[derive(Clone, Debug)]
pub struct HeldPage {
    /// Names it for [`Frontier::settle`].
    pub lease: LeaseRef,
    /// Order of holding; grows.
    pub order: i64,
    /// The URL of the lease.
    pub url: String,
    /// The bytes that were given to [`Frontier::hold`]; empty if they are not intact.
    pub page: Vec<u8>,
    /// False if the stored bytes are not those that were given.
    pub intact: bool,
}

/// What is kept of a host, and of contents, across pages.
pub trait DomainStore: Send + Sync {
    /// The state of a host's fingerprint as last saved in this round.
    ///
    /// # Errors
    /// When storage fails.
    fn load_host(&self, host: &HostKey) -> Result<Option<Vec<u8>>, StoreError>;

    /// The state of a host's fingerprint as an earlier round left it, until one of this round is saved.
    ///
    /// # Errors
    /// When storage fails.
    fn load_earlier_host(&self, host: &HostKey) -> Result<Option<Vec<u8>>, StoreError>;

    /// The state of a host that is not settled, as last saved in this round.
    ///
    /// # Errors
    /// When storage fails.
    fn load_unsettled(&self, host: &HostKey) -> Result<Option<Vec<u8>>, StoreError>;

    /// Saves the state of a host that is not settled, or forgets it (`None`). It leaves the state of an earlier round
    /// alone. [`DomainStore::save_host`] and a new round forget it too.
    ///
    /// # Errors
    /// When storage fails.
    fn save_unsettled(&self, host: &HostKey, state: Option<&[u8]>) -> Result<(), StoreError>;

    /// Saves the state of a host's fingerprint.
    ///
    /// # Errors
    /// When storage fails.
    fn save_host(&self, host: &HostKey, state: &[u8]) -> Result<(), StoreError>;

    /// What pages of a host have taught of strategies, as last saved, in whatever round.
    ///
    /// # Errors
    /// When storage fails.
    fn load_lessons(&self, host: &HostKey) -> Result<Option<Vec<u8>>, StoreError>;

    /// Saves what pages of a host have taught of strategies.
    ///
    /// # Errors
    /// When storage fails.
    fn save_lessons(&self, host: &HostKey, lessons: &[u8]) -> Result<(), StoreError>;

    /// Names the URL that first had this content in this round, or in an earlier one that is kept: `claimant` itself if nobody had it before (or if it
    /// was `claimant`, which may come again after a crash). Atomic.
    ///
    /// # Errors
    /// When storage fails.
    fn claim_content(&self, hash: &ContentHash, claimant: UrlKey) -> Result<UrlKey, StoreError>;

    /// Takes back what [`DomainStore::claim_content`] noted for a claimant that has this content no longer.
    ///
    /// # Errors
    /// When storage fails.
    fn release_content(&self, hash: &ContentHash, claimant: UrlKey) -> Result<(), StoreError>;

    /// Whether a URL became a page in this round: it is held, ended as a record, or was one before and is unchanged or rests.
    ///
    /// # Errors
    /// When storage fails.
    fn became_page(&self, url: UrlKey) -> Result<bool, StoreError>;
}

/// A robots.txt as fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedRobots {
    /// HTTP status of the last hop; 0 if the host could not be reached.
    pub status: u16,
    /// The body, cut at 500 KiB.
    pub body: Arc<[u8]>,
    /// When it was fetched.
    pub fetched_at_ms: i64,
}

/// Settings and caches of a state directory.
pub trait RunStore: Send + Sync {
    /// A named value.
    ///
    /// # Errors
    /// When storage fails.
    fn get(&self, name: &str) -> Result<Option<String>, StoreError>;

    /// Sets a named value.
    ///
    /// # Errors
    /// When storage fails.
    fn put(&self, name: &str, value: &str) -> Result<(), StoreError>;

    /// Names that begin with `prefix`, in their order, each with its value.
    ///
    /// # Errors
    /// When storage fails.
    fn entries(&self, prefix: &str) -> Result<Vec<(String, String)>, StoreError>;

    /// Makes every change so far survive a loss of power. Called before an output is changed in a way that the next run
    /// cannot cut back.
    ///
    /// # Errors
    /// When storage fails.
    fn sync(&self) -> Result<(), StoreError>;

    /// The robots.txt of an origin, however old.
    ///
    /// # Errors
    /// When storage fails.
    fn load_robots(&self, origin: &Origin) -> Result<Option<CachedRobots>, StoreError>;

    /// Keeps the robots.txt of an origin.
    ///
    /// # Errors
    /// When storage fails.
    fn save_robots(&self, origin: &Origin, robots: &CachedRobots) -> Result<(), StoreError>;
}
