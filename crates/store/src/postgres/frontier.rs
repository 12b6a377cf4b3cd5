//! [`Frontier`] on PostgreSQL.

use super::{
    Commit, PgStore,
    db::{get, unsigned},
    inbox,
    lease::{LeaseRequest, Retry},
    memory::Wait,
    own,
    spool::Kind,
    tally,
};
use crate::{known::Revisit, ledger::UrlState};
use crawl_model::{
    CrawlRequest, Enqueued, Frontier, FrontierCounts, HeldPage, HostBounds, HostKey, HostLoad, KnownUrl,
    Lane, LeasePermit, LeaseRef, NewUrl, OutputMark, PageHistory, Quota, ReadyHost, RequestId, Settlement,
    StoreError, Strategy, UrlKey,
};
use std::{net::IpAddr, time::Duration};

impl Frontier for PgStore {
    fn bring_forward(&self, latest_ms: i64, now_ms: i64) -> Result<usize, StoreError> {
        let mut inner = self.ready()?;
        let hosts: Vec<i64> = inner.memory.names.keys().copied().collect();
        inner.write(Commit::Now, &hosts, |db, memory, _| {
            let (latest, now) = (memory.clock.to_database(latest_ms), memory.clock.to_database(now_ms));
            let late = |(id, wait): (&i64, &Wait)| (wait.due > latest_ms).then_some(*id);
            let late: Vec<i64> = memory.waits.iter().filter_map(late).collect();
            let hosts: Vec<i64> = memory.names.keys().copied().collect();
            db.execute(
                "UPDATE queue SET due = $2 WHERE host = ANY($1) AND due > $3",
                &[&super::hosts::ints(&hosts), &now, &latest],
            )?;
            for id in &late {
                let Some(wait) = memory.waits.get_mut(id) else { continue };
                memory.waiting.remove(&(wait.due, *id));
                wait.due = now_ms;
                memory.waiting.insert((now_ms, *id));
            }
            Ok(late.len())
        })
    }

    /// URLs of hosts of other workers count as known: their owners count them.
    fn enqueue(&self, urls: &[NewUrl]) -> Result<Enqueued, StoreError> {
        self.ready()?.enqueue(urls, None, Revisit::No)
    }

    fn enqueue_found_on(&self, urls: &[NewUrl], page: RequestId) -> Result<Enqueued, StoreError> {
        self.ready()?.enqueue(urls, Some(page), Revisit::No)
    }

    fn found_on(&self, url: UrlKey) -> Result<Option<String>, StoreError> {
        self.ready()?.found_on(url)
    }

    fn bound_hosts(&self, bounds: HostBounds) -> Result<(), StoreError> {
        self.ready()?.memory.bounds = bounds;
        Ok(())
    }

    fn revisit(&self, urls: &[NewUrl]) -> Result<Enqueued, StoreError> {
        self.ready()?.enqueue(urls, None, Revisit::Yes)
    }

    fn known(&self, after: RequestId, limit: usize) -> Result<Vec<KnownUrl>, StoreError> {
        let mut inner = self.ready()?;
        let round = inner.memory.round;
        inner.known_beside(round, after, limit)
    }

    fn known_among(&self, keys: &[UrlKey]) -> Result<Vec<KnownUrl>, StoreError> {
        self.ready()?.known_among(keys)
    }

    /// Hosts of this worker. It takes free hosts if it has too few.
    fn hosts_with_pending(
        &self,
        lane: Lane,
        now_ms: i64,
        limit: usize,
    ) -> Result<Vec<ReadyHost>, StoreError> {
        let mut inner = self.ready()?;
        inner.renew()?;
        inner.memory.promote(now_ms);
        let wants_hosts = inner.memory.ledger.ready(lane, limit).len() < limit;
        inner.take_waiting_work(wants_hosts)?;
        inner.memory.promote(now_ms);
        Ok(inner.memory.ledger.ready(lane, limit))
    }

    fn suspend(&self, host: &HostKey) -> Result<(), StoreError> {
        let memory = &mut self.ready()?.memory;
        if let Some(host) = memory.hosts.get(host) {
            memory.ledger.suspend(host.id);
        }
        Ok(())
    }

    fn resume(&self, hosts: &[HostKey]) -> Result<(), StoreError> {
        let memory = &mut self.ready()?.memory;
        for host in hosts {
            if let Some(host) = memory.hosts.get(host) {
                memory.ledger.resume(host.id);
            }
        }
        Ok(())
    }

    fn resume_all(&self) -> Result<(), StoreError> {
        self.ready()?.memory.ledger.resume_all();
        Ok(())
    }

    fn next_due(&self) -> Result<Option<i64>, StoreError> {
        Ok(self.ready()?.memory.waiting.first().map(|(due, _)| *due))
    }

    fn lease(
        &self,
        host: &HostKey,
        lane: Lane,
        max: usize,
        _worker: &str,
        now_ms: i64,
        deadline_ms: i64,
    ) -> Result<Vec<CrawlRequest>, StoreError> {
        self.ready()?.lease(&LeaseRequest { host, lane, max, by_level: false, now_ms, deadline_ms })
    }

    fn lease_by_level(
        &self,
        host: &HostKey,
        lane: Lane,
        max: usize,
        _worker: &str,
        now_ms: i64,
        deadline_ms: i64,
    ) -> Result<Vec<CrawlRequest>, StoreError> {
        self.ready()?.lease(&LeaseRequest { host, lane, max, by_level: true, now_ms, deadline_ms })
    }

    fn requeue(
        &self,
        lease: LeaseRef,
        not_before_ms: i64,
        attempt: u32,
        strategy: Option<Strategy>,
    ) -> Result<bool, StoreError> {
        self.ready()?.retry(lease, &Retry { due: not_before_ms, attempt, strategy, status: None })
    }

    fn mark_possibly_gone(
        &self,
        request: &CrawlRequest,
        not_before_ms: i64,
        status: u16,
    ) -> Result<bool, StoreError> {
        let (attempt, strategy) = (request.attempt, request.strategy);
        let retry = Retry { due: not_before_ms, attempt, strategy, status: Some(status) };
        self.ready()?.retry(request.into(), &retry)
    }

    fn escalate(
        &self,
        lease: LeaseRef,
        now_ms: i64,
        strategy: Strategy,
        partial_result: &[u8],
    ) -> Result<bool, StoreError> {
        self.ready()?.escalate(lease, now_ms, strategy, partial_result)
    }

    fn partial_result(&self, url: RequestId) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.ready()?.spool.get(Kind::PartialResult, url.0)?.map(|(_, pages)| pages))
    }

    fn hold(&self, lease: LeaseRef, host: &HostKey, page: &[u8]) -> Result<Option<i64>, StoreError> {
        self.ready()?.hold(lease, host, page)
    }

    fn held(&self, host: &HostKey, after: i64, limit: usize) -> Result<Vec<HeldPage>, StoreError> {
        self.ready()?.held(host, after, limit)
    }

    fn refetch(&self, held: LeaseRef) -> Result<bool, StoreError> {
        self.ready()?.refetch(held)
    }

    fn hosts_with_held(&self) -> Result<Vec<HostLoad>, StoreError> {
        Ok(self.ready()?.memory.ledger.held())
    }

    fn settle(&self, batch: &[Settlement], outputs: &[OutputMark]) -> Result<usize, StoreError> {
        self.ready()?.settle(batch, outputs, &[])
    }

    fn expire_leases(&self, now_ms: i64) -> Result<usize, StoreError> {
        Ok(self.ready()?.expire_leases(now_ms))
    }

    /// One query over all workers, in one snapshot. Held pages of other workers count: their worker may die before it
    /// settles them.
    fn drained(&self) -> Result<bool, StoreError> {
        let mut inner = self.ready()?;
        let own = inner.memory.ledger.total();
        if !own.drained() {
            return Ok(false);
        }
        let round = inner.memory.round;
        let (counts, has_links) = tally::total(&mut inner.db, round)?;
        Ok(counts.pending == 0 && !has_links && counts.held <= own.get(UrlState::Held))
    }

    fn host_drained(&self, host: &HostKey) -> Result<bool, StoreError> {
        let memory = &self.ready()?.memory;
        Ok(memory.hosts.get(host).is_none_or(|host| memory.ledger.of(host.id).drained()))
    }

    fn newly_drained(&self) -> Result<Vec<HostKey>, StoreError> {
        Ok(self.ready()?.memory.ledger.take_drained())
    }

    fn take_quota(&self, quota: Quota, limit: u64, used: u64) -> Result<u64, StoreError> {
        self.ready()?.take_quota(quota, limit, used)
    }

    fn run_age(&self) -> Result<Duration, StoreError> {
        self.ready()?.run_age()
    }

    fn handed_over(&self) -> Result<Vec<HostLoad>, StoreError> {
        Ok(std::mem::take(&mut self.ready()?.memory.handed_over))
    }

    fn pause_hosts(&self, hosts: &[(HostKey, Duration)]) -> Result<(), StoreError> {
        self.ready()?.pause_hosts(hosts)
    }

    fn resumed_pauses(&self) -> Result<Vec<(HostKey, Duration)>, StoreError> {
        let inner = self.ready()?;
        let memory = &inner.memory;
        let named = |(id, pause): (&i64, &Duration)| Some((memory.names.get(id)?.clone(), *pause));
        Ok(memory.pauses.iter().filter_map(named).collect())
    }

    fn take_turn(&self, address: IpAddr, pause: Duration) -> Result<Duration, StoreError> {
        self.ready()?.take_turn(address, pause)
    }

    fn note_pause(&self, host: &HostKey, pause: Duration) -> Result<(), StoreError> {
        self.ready()?.note_pause(host, pause)
    }

    fn lease_permit(&self) -> LeasePermit {
        LeasePermit::of(&self.permits)
    }

    /// Checks owner and epoch of the host in the database too.
    fn is_current(&self, lease: LeaseRef) -> Result<bool, StoreError> {
        let mut inner = self.ready()?;
        let memory = &inner.memory;
        let host = memory.leased(lease).map(|out| out.host);
        let Some(host) = host.or_else(|| memory.held_as(lease).map(|held| held.host)) else {
            return Ok(false);
        };
        let (worker, Some(epoch)) = (memory.worker, memory.epoch(host)) else { return Ok(false) };
        let row = inner.db.one(
            "SELECT EXISTS (SELECT 1 FROM hosts WHERE id = $1 AND owner = $2 AND epoch = $3)",
            &[&i32::try_from(host).unwrap_or(i32::MAX), &worker, &epoch],
        )?;
        get(&row, 0)
    }

    /// Counts over all workers. Leased URLs are those of this worker; those of others count as pending. For a reader, so do URLs
    /// that wait for the owner of their host.
    fn counts(&self) -> Result<FrontierCounts, StoreError> {
        let mut inner = self.ready()?;
        let round = inner.memory.round;
        let (mut counts, has_links) = tally::total(&mut inner.db, round)?;
        if has_links && inner.start.is_none() {
            counts.pending += inbox::unread(&mut inner.db, round)?.iter().map(|(_, urls)| urls).sum::<u64>();
        }
        let leased = inner.memory.ledger.total().get(UrlState::Leased);
        Ok(FrontierCounts { pending: counts.pending.saturating_sub(leased), leased, ..counts })
    }

    fn round(&self) -> Result<u32, StoreError> {
        Ok(self.ready()?.memory.round)
    }

    fn begin_round(&self) -> Result<u32, StoreError> {
        self.begin(false, false)
    }

    fn begin_recrawl(&self, keep_sites: bool) -> Result<u32, StoreError> {
        self.begin(true, keep_sites)
    }

    fn is_recrawl(&self) -> Result<bool, StoreError> {
        Ok(self.ready()?.memory.recrawl)
    }

    fn output_mark(&self, name: &str) -> Result<Option<u64>, StoreError> {
        let mut inner = self.ready()?;
        let name = own::output(inner.memory.worker, name);
        let row = inner.db.row("SELECT reach FROM outputs WHERE name = $1", &[&name])?;
        row.map(|row| unsigned(&row, 0)).transpose()
    }
}

impl PgStore {
    /// Result of the last visit to a URL in any round; `None` for an unknown URL.
    ///
    /// # Errors
    /// When storage fails.
    pub fn history(&self, url: UrlKey) -> Result<Option<PageHistory>, StoreError> {
        self.ready()?.history(url)
    }
}
