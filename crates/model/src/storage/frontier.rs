//! Storage trait of the frontier, the queue of URLs.

use super::{
    Enqueued, FrontierCounts, HeldPage, HostBounds, HostLoad, LeasePermit, LeaseRef, OutputMark, Quota,
    ReadyHost, Settlement, StoreError,
};
use crate::{CrawlRequest, HostKey, KnownUrl, Lane, NewUrl, RequestId, Strategy, UrlKey};
use std::{net::IpAddr, time::Duration};

/// Queue of URLs: pending, leased, held and settled.
pub trait Frontier: Send + Sync {
    /// Adds URLs that are unknown in this round; a URL counts as visited from here on. A known pending URL
    /// takes the given depth if that is less. It takes the given discovery if [`Discovery::is_replaced_by`](crate::Discovery::is_replaced_by)
    /// returns true. Each known URL takes the given `sitemap_lastmod`. One transaction.
    ///
    /// In a round begun by [`Frontier::begin_recrawl`], a URL that was settled in an earlier round is known
    /// and rests, unless it ended as [`Outcome::Gone`](crate::Outcome::Gone).
    ///
    /// # Errors
    /// When storage fails; then nothing was added.
    fn enqueue(&self, urls: &[NewUrl]) -> Result<Enqueued, StoreError>;

    /// Adds URLs like [`Frontier::enqueue`], and notes the page that names them. A redirect target inherits the page that
    /// names its source. A store without room for that only adds the URLs.
    ///
    /// # Errors
    /// When storage fails; then nothing was added.
    fn enqueue_found_on(&self, urls: &[NewUrl], _page: RequestId) -> Result<Enqueued, StoreError> {
        self.enqueue(urls)
    }

    /// Returns the URL of the page or sitemap by which a URL entered the frontier, if one was noted.
    ///
    /// # Errors
    /// When storage fails.
    fn found_on(&self, _url: UrlKey) -> Result<Option<String>, StoreError> {
        Ok(None)
    }

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

    /// Part of a limit that this process may use, earlier calls included. It grows once `used` reaches it, as long as
    /// other processes leave something. A frontier of one process gives the whole limit.
    ///
    /// # Errors
    /// When storage fails.
    fn take_quota(&self, _quota: Quota, limit: u64, _used: u64) -> Result<u64, StoreError> {
        Ok(limit)
    }

    /// Time since another process began the run that this one joined; zero if this one began it.
    ///
    /// # Errors
    /// When storage fails.
    fn run_age(&self) -> Result<Duration, StoreError> {
        Ok(Duration::ZERO)
    }

    /// Hosts that another process has taken over since the last call, each with the number of held pages that it
    /// took. None for a frontier of one process.
    ///
    /// # Errors
    /// When storage fails.
    fn handed_over(&self) -> Result<Vec<HostLoad>, StoreError> {
        Ok(Vec::new())
    }

    /// Blocks requests of all processes to hosts, each for a time from now on. Does nothing for a frontier of one
    /// process, whose caller blocks them itself.
    ///
    /// # Errors
    /// When storage fails.
    fn pause_hosts(&self, _hosts: &[(HostKey, Duration)]) -> Result<(), StoreError> {
        Ok(())
    }

    /// Stores the pause between two requests to a host, if it is longer than the usual one. Another process waits for
    /// it before it takes the host over, and so does the next process of the crawl. Does nothing for a frontier that
    /// does not outlive its process.
    ///
    /// # Errors
    /// When storage fails.
    fn note_pause(&self, _host: &HostKey, _pause: Duration) -> Result<(), StoreError> {
        Ok(())
    }

    /// Stored pauses of the hosts of this process. An earlier process may have sent a request to them a moment ago.
    /// None for a frontier that does not outlive its process.
    ///
    /// # Errors
    /// When storage fails.
    fn resumed_pauses(&self) -> Result<Vec<(HostKey, Duration)>, StoreError> {
        Ok(Vec::new())
    }

    /// Takes the next turn at an address; the following turn is `pause` later, for all processes. Returns the time
    /// until the turn: zero for a frontier of one process, whose caller orders its requests.
    ///
    /// # Errors
    /// When storage fails.
    fn take_turn(&self, _address: IpAddr, _pause: Duration) -> Result<Duration, StoreError> {
        Ok(Duration::ZERO)
    }

    /// Permit to send requests to the hosts of this process. Always valid for a frontier of one process.
    fn lease_permit(&self) -> LeasePermit {
        LeasePermit::default()
    }

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
    /// states of fingerprints are kept as those of [an earlier round](crate::DomainStore::load_earlier_host). The
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
