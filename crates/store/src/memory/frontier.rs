//! [`Frontier`] in memory.

use super::{Held, Inner, Lease, MemoryStore, index};
use crate::ledger::{HostId, Room, UrlState, bytes_of, is_bounded, refuse};
use crawl_model::{
    CrawlRequest, Discovery, Enqueued, Frontier, FrontierCounts, HeldPage, HostBound, HostBounds, HostKey,
    HostLoad, KnownUrl, Lane, LeaseRef, LeaseToken, NewUrl, Outcome, OutputMark, ReadyHost, RequestId,
    Settlement, StoreError, Strategy, UrlKey,
};
use std::collections::BTreeSet;
use url::Url;

impl Frontier for MemoryStore {
    fn enqueue(&self, urls: &[NewUrl]) -> Result<Enqueued, StoreError> {
        self.lock().enqueue(urls, false)
    }

    fn enqueue_found_on(&self, urls: &[NewUrl], page: RequestId) -> Result<Enqueued, StoreError> {
        let mut inner = self.lock();
        let done = inner.enqueue(urls, false)?;
        inner.note_page(urls, page);
        Ok(done)
    }

    fn found_on(&self, url: UrlKey) -> Result<Option<String>, StoreError> {
        let inner = self.lock();
        let page = inner.by_key.get(&url).and_then(|id| inner.rows[index(*id)].found_on);
        Ok(page.map(|page| inner.rows[index(page)].url.to_string()))
    }

    fn bound_hosts(&self, bounds: HostBounds) -> Result<(), StoreError> {
        self.lock().bounds = bounds;
        Ok(())
    }

    fn revisit(&self, urls: &[NewUrl]) -> Result<Enqueued, StoreError> {
        self.lock().enqueue(urls, true)
    }

    fn known(&self, after: RequestId, limit: usize) -> Result<Vec<KnownUrl>, StoreError> {
        let inner = self.lock();
        let ids = after.0.saturating_add(1)..=inner.rows.len() as i64;
        Ok(ids.filter_map(|id| inner.known(id)).take(limit).collect())
    }

    fn known_among(&self, keys: &[UrlKey]) -> Result<Vec<KnownUrl>, StoreError> {
        let inner = self.lock();
        Ok(keys.iter().filter_map(|key| inner.known(*inner.by_key.get(key)?)).collect())
    }

    fn hosts_with_pending(
        &self,
        lane: Lane,
        now_ms: i64,
        limit: usize,
    ) -> Result<Vec<ReadyHost>, StoreError> {
        let mut inner = self.lock();
        inner.promote(now_ms);
        Ok(inner.this_round.ledger.ready(lane, limit))
    }

    fn suspend(&self, host: &HostKey) -> Result<(), StoreError> {
        let mut inner = self.lock();
        if let Some(&host) = inner.hosts.get(host) {
            inner.this_round.ledger.suspend(host);
        }
        Ok(())
    }

    fn resume(&self, hosts: &[HostKey]) -> Result<(), StoreError> {
        let mut inner = self.lock();
        for host in hosts {
            if let Some(&host) = inner.hosts.get(host) {
                inner.this_round.ledger.resume(host);
            }
        }
        Ok(())
    }

    fn resume_all(&self) -> Result<(), StoreError> {
        self.lock().this_round.ledger.resume_all();
        Ok(())
    }

    fn next_due(&self) -> Result<Option<i64>, StoreError> {
        Ok(self.lock().this_round.waiting.first().map(|&(due, _)| due))
    }

    fn bring_forward(&self, latest_ms: i64, now_ms: i64) -> Result<usize, StoreError> {
        let mut inner = self.lock();
        let late = inner.this_round.waiting.split_off(&(latest_ms.saturating_add(1), i64::MIN));
        inner.this_round.waiting.extend(late.iter().map(|&(_, id)| (now_ms, id)));
        Ok(late.len())
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
        Ok(self.lock().lease_down_to(None, (host, lane), max, [now_ms, deadline_ms]))
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
        Ok(self.lock().lease_down_to(Some(Inner::level), (host, lane), max, [now_ms, deadline_ms]))
    }

    fn requeue(
        &self,
        lease: LeaseRef,
        not_before_ms: i64,
        attempt: u32,
        strategy: Option<Strategy>,
    ) -> Result<bool, StoreError> {
        Ok(self.lock().postpone(lease, not_before_ms, attempt, strategy))
    }

    fn mark_possibly_gone(
        &self,
        request: &CrawlRequest,
        not_before_ms: i64,
        status: u16,
    ) -> Result<bool, StoreError> {
        let mut inner = self.lock();
        let held = inner.postpone(request.into(), not_before_ms, request.attempt, request.strategy);
        if held {
            inner.rows[index(request.id.0)].visited.history.status = Some(status);
        }
        Ok(held)
    }

    fn escalate(
        &self,
        lease: LeaseRef,
        now_ms: i64,
        strategy: Strategy,
        partial_result: &[u8],
    ) -> Result<bool, StoreError> {
        let mut inner = self.lock();
        let held = inner.postpone(lease, now_ms, 0, Some(strategy));
        if held {
            inner.this_round.partial_results.insert(lease.id.0, partial_result.to_vec());
        }
        Ok(held)
    }

    fn partial_result(&self, url: RequestId) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.lock().this_round.partial_results.get(&url.0).cloned())
    }

    fn hold(&self, lease: LeaseRef, host: &HostKey, page: &[u8]) -> Result<Option<i64>, StoreError> {
        let mut inner = self.lock();
        if !inner.end_lease(lease) {
            return Ok(None);
        }
        let held_for = inner.host(host);
        let leased_from = inner.rows[index(lease.id.0)].host;
        let now = &mut inner.this_round;
        now.partial_results.remove(&lease.id.0);
        now.held_order += 1;
        now.pages.insert(lease.id.0);
        now.held.insert(now.held_order, Held { lease, host: held_for, page: page.to_vec() });
        // in this order, since a host without URLs is dropped
        now.ledger.add(held_for, host, UrlState::Held, 1);
        now.ledger.take(leased_from, UrlState::Leased, 1);
        Ok(Some(now.held_order))
    }

    fn held(&self, host: &HostKey, after: i64, limit: usize) -> Result<Vec<HeldPage>, StoreError> {
        let inner = self.lock();
        let Some(&host) = inner.hosts.get(host) else { return Ok(Vec::new()) };
        let later =
            inner.this_round.held.range(after.saturating_add(1)..).filter(|(_, held)| held.host == host);
        let page = |(&order, held): (&i64, &Held)| HeldPage {
            lease: held.lease,
            order,
            url: inner.rows[index(held.lease.id.0)].url.to_string(),
            page: held.page.clone(),
            intact: true,
        };
        Ok(later.take(limit).map(page).collect())
    }

    fn refetch(&self, held: LeaseRef) -> Result<bool, StoreError> {
        let mut inner = self.lock();
        let now = &mut inner.this_round;
        let is_held = now.held.values().any(|page| page.lease == held);
        if !is_held || !now.refetched.insert(held.id.0) || !inner.end(held) {
            return Ok(false);
        }
        inner.this_round.pages.remove(&held.id.0);
        inner.put_back(held.id.0);
        Ok(true)
    }

    fn hosts_with_held(&self) -> Result<Vec<HostLoad>, StoreError> {
        Ok(self.lock().this_round.ledger.held())
    }

    fn settle(&self, batch: &[Settlement], outputs: &[OutputMark]) -> Result<usize, StoreError> {
        let mut inner = self.lock();
        let mut stale = 0;
        let round = inner.round;
        for settlement in batch {
            if !inner.end(settlement.lease) {
                stale += 1;
                continue;
            }
            let row = &mut inner.rows[index(settlement.lease.id.0)];
            row.outcome = Some(settlement.outcome);
            row.visited.learn(settlement.outcome, &settlement.history);
            let page = UrlKey::of(row.url.as_str());
            match settlement.outcome {
                Outcome::Record => {}
                Outcome::Unchanged => inner.texts.confirm(round, page),
                _ => inner.texts.forget(page),
            }
            let now = &mut inner.this_round;
            now.partial_results.remove(&settlement.lease.id.0);
            if matches!(settlement.outcome, Outcome::Record | Outcome::Unchanged) {
                now.pages.insert(settlement.lease.id.0);
            } else {
                now.pages.remove(&settlement.lease.id.0);
            }
            let counts = &mut now.counts;
            *match settlement.outcome {
                Outcome::Record => &mut counts.records,
                Outcome::Failed => &mut counts.failed,
                Outcome::Skipped => &mut counts.skipped,
                Outcome::Redirected => &mut counts.redirected,
                Outcome::Unchanged => &mut counts.unchanged,
                Outcome::Gone => &mut counts.gone,
            } += 1;
        }
        inner.outputs.extend(outputs.iter().map(|output| (output.name.clone(), output.offset)));
        Ok(stale)
    }

    fn expire_leases(&self, now_ms: i64) -> Result<usize, StoreError> {
        let mut inner = self.lock();
        let leases = &mut inner.this_round.leases;
        let expired: Vec<i64> =
            leases.extract_if(.., |_, lease| lease.deadline <= now_ms).map(|(id, _)| id).collect();
        for &id in &expired {
            inner.queue(id, UrlState::Leased);
        }
        Ok(expired.len())
    }

    fn drained(&self) -> Result<bool, StoreError> {
        Ok(self.lock().this_round.ledger.total().drained())
    }

    fn host_drained(&self, host: &HostKey) -> Result<bool, StoreError> {
        let inner = self.lock();
        Ok(inner.hosts.get(host).is_none_or(|&host| inner.this_round.ledger.of(host).drained()))
    }

    fn newly_drained(&self) -> Result<Vec<HostKey>, StoreError> {
        Ok(self.lock().this_round.ledger.take_drained())
    }

    fn is_current(&self, lease: LeaseRef) -> Result<bool, StoreError> {
        let inner = self.lock();
        let now = &inner.this_round;
        let leased = now.leases.get(&lease.id.0).is_some_and(|found| found.token == lease.token);
        Ok(leased || now.held.values().any(|held| held.lease == lease))
    }

    fn counts(&self) -> Result<FrontierCounts, StoreError> {
        let inner = self.lock();
        let counts = inner.this_round.ledger.total();
        Ok(FrontierCounts {
            pending: counts.pending(),
            leased: counts.get(UrlState::Leased),
            held: counts.get(UrlState::Held),
            hosts: inner.this_round.hosts.len() as u64,
            ..inner.this_round.counts
        })
    }

    fn round(&self) -> Result<u32, StoreError> {
        Ok(self.lock().round)
    }

    fn begin_round(&self) -> Result<u32, StoreError> {
        Ok(self.lock().begin(false, false))
    }

    fn begin_recrawl(&self, keep_sites: bool) -> Result<u32, StoreError> {
        Ok(self.lock().begin(true, keep_sites))
    }

    fn is_recrawl(&self) -> Result<bool, StoreError> {
        Ok(self.lock().recrawl)
    }

    fn output_mark(&self, name: &str) -> Result<Option<u64>, StoreError> {
        Ok(self.lock().outputs.get(name).copied())
    }
}

impl Inner {
    fn enqueue(&mut self, urls: &[NewUrl], again: bool) -> Result<Enqueued, StoreError> {
        let (mut new, mut refused) = (0, Vec::new());
        let mut parsed = Vec::with_capacity(urls.len());
        for url in urls {
            // before any change: all or nothing
            let known = self.by_key.contains_key(&url.key);
            let parse = || Url::parse(&url.url).map_err(|e| StoreError::Other(format!("{}: {e}", url.url)));
            parsed.push(if known { None } else { Some(parse()?) });
        }
        for (url, parsed) in urls.iter().zip(parsed) {
            match self.refusal(url) {
                Some(bound) => refuse(&mut refused, url, bound),
                None => new += usize::from(self.add(url, parsed, again)),
            }
        }
        let left: usize = refused.iter().map(|refused| refused.keys.len()).sum();
        Ok(Enqueued { new, known: urls.len() - new - left, refused })
    }

    /// Notes the page that names URLs, of those without one.
    fn note_page(&mut self, urls: &[NewUrl], page: RequestId) {
        for url in urls {
            let Some(&id) = self.by_key.get(&url.key) else { continue };
            let page = match url.discovery {
                Discovery::Redirect => self.rows[index(page.0)].found_on,
                _ => Some(page.0),
            };
            let row = &mut self.rows[index(id)];
            // a page that names itself does not find itself
            if row.found_on.is_none() && page != Some(id) && !row.discovery.is_seed() {
                row.found_on = page;
            }
        }
    }

    /// The bound that refuses a new URL.
    fn refusal(&mut self, url: &NewUrl) -> Option<HostBound> {
        if !is_bounded(url.discovery) || self.by_key.contains_key(&url.key) {
            return None;
        }
        let host = *self.hosts.get(&url.host)?;
        match self.this_round.ledger.room(host, self.bounds, bytes_of(url)) {
            Room::Full(bound) => Some(bound),
            // nothing is assumed in memory
            Room::Enough | Room::Uncounted => None,
        }
    }

    /// A URL of an earlier round that is not visited in this one.
    fn known(&self, id: i64) -> Option<KnownUrl> {
        let row = self.rows.get(index(id)).filter(|row| row.round != self.round)?;
        let host = self.hosts.iter().find(|(_, known)| **known == row.host).map(|(key, _)| key.clone())?;
        let url = NewUrl {
            key: UrlKey::of(row.url.as_str()),
            url: row.url.as_str().to_owned(),
            host,
            depth: row.depth,
            discovery: row.discovery,
            redirects: row.redirects.clone(),
            sitemap_lastmod: row.sitemap_lastmod.clone(),
        };
        let (outcome, history, visits) = (row.outcome, row.visited.history.clone(), row.visited.visits);
        Some(KnownUrl { id: RequestId(id), url, outcome, history, visits })
    }

    fn begin(&mut self, recrawl: bool, keep_sites: bool) -> u32 {
        if !recrawl {
            self.texts.forget_before(self.round);
        }
        self.round += 1;
        let before = std::mem::take(&mut self.this_round);
        self.recrawl = recrawl;
        if recrawl && keep_sites {
            self.earlier_states.extend(before.host_states);
            self.this_round.contents = before.contents;
        } else {
            self.earlier_states.clear();
        }
        self.round
    }

    fn postpone(
        &mut self,
        lease: LeaseRef,
        not_before_ms: i64,
        attempt: u32,
        strategy: Option<Strategy>,
    ) -> bool {
        if !self.end_lease(lease) {
            return false;
        }
        let row = &mut self.rows[index(lease.id.0)];
        row.attempt = attempt;
        row.strategy = strategy;
        self.this_round.waiting.insert((not_before_ms, lease.id.0));
        self.this_round.ledger.shift(row.host, UrlState::Leased, UrlState::Waiting, 1);
        self.this_round.ledger.grow(row.host, row.bytes());
        true
    }

    /// Leases URLs of a host and lane up to the depth `level` of their host, or all.
    fn lease_down_to(
        &mut self,
        level: Option<fn(&Self, HostId) -> u32>,
        (host, lane): (&HostKey, Lane),
        max: usize,
        [now_ms, deadline]: [i64; 2],
    ) -> Vec<CrawlRequest> {
        self.promote(now_ms);
        let Some(&host) = self.hosts.get(host) else { return Vec::new() };
        if max == 0 || self.this_round.ledger.of(host).get(UrlState::ready(lane)) == 0 {
            return Vec::new();
        }
        let depth = level.map_or(u32::MAX, |level| level(self, host));
        let mut leased = Vec::new();
        while leased.len() < max {
            let now = &mut self.this_round;
            let Some(queue) = now.queues.get_mut(&(host, lane)) else { break };
            if queue.first().is_none_or(|&(first, _)| first > depth) {
                break;
            }
            let Some((_, id)) = queue.pop_first() else { break };
            self.token += 1;
            let token = LeaseToken(self.token);
            now.leases.insert(id, Lease { token, deadline });
            now.ledger.shift(host, UrlState::ready(lane), UrlState::Leased, 1);
            now.ledger.shrink(host, self.rows[index(id)].bytes());
            leased.push(self.request(id, token));
        }
        match leased.len() as u64 {
            0 => self.this_round.ledger.wait_for_level(host, lane),
            n => self.this_round.ledger.count_leases(host, lane, n),
        }
        leased
    }

    /// Least depth of a host's URLs that are pending or leased.
    fn level(&self, host: HostId) -> u32 {
        let now = &self.this_round;
        let first = |lane| now.queues.get(&(host, lane)).and_then(BTreeSet::first);
        let queued = Lane::ALL.into_iter().filter_map(first).map(|&(depth, _)| depth);
        let out = now.leases.keys().chain(now.waiting.iter().map(|(_, id)| id));
        let out = out.map(|&id| &self.rows[index(id)]).filter(|row| row.host == host).map(|row| row.depth);
        out.chain(queued).min().unwrap_or(0)
    }
}
