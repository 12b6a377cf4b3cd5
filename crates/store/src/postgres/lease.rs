//! Leases of URLs, in the memory of the worker, and retries.

use super::{
    Commit, Inner,
    db::{Db, get, int, small, uint},
    memory::{Memory, Out, Wait},
    read_ahead::ReadyUrl,
    recrawl::read_before,
    spool::Kind,
    url_rows::split_redirects,
};
use crate::{
    codes,
    ledger::{HostId, UrlState, row_bytes},
};
use crawl_model::{
    CrawlRequest, HostKey, Lane, LeaseRef, LeaseToken, RequestId, StoreError, Strategy, UrlKey,
};
use std::collections::VecDeque;
use tokio_postgres::Row;
use url::Url;
use uuid::Uuid;

/// A lease to make.
pub(super) struct LeaseRequest<'a> {
    pub(super) host: &'a HostKey,
    pub(super) lane: Lane,
    pub(super) max: usize,
    /// True if only URLs of the least depth of the host are wanted.
    pub(super) by_level: bool,
    pub(super) now_ms: i64,
    pub(super) deadline_ms: i64,
}

/// End of a lease with another attempt.
pub(super) struct Retry {
    pub(super) due: i64,
    pub(super) attempt: u32,
    pub(super) strategy: Option<Strategy>,
    /// HTTP status to store.
    pub(super) status: Option<u16>,
}

/// Leases URLs of all depths, or of the least depth of the host if `$5`: leased and waiting URLs are in the queue too.
const LEASE: &str = "SELECT q.id, q.depth, discovery, attempt, strategy, url, redirects, etag, last_modified, \
                     sitemap_lastmod, key, content_hash, text_hash, body_hash, rules, via, status, read_at, seen_at \
                     FROM (SELECT id, depth FROM queue WHERE host = $1 AND lane = $2 \
                     AND depth <= CASE WHEN $5 THEN least((SELECT min(depth) FROM queue WHERE host = $1 AND lane = 0), \
                     (SELECT min(depth) FROM queue WHERE host = $1 AND lane = 1)) ELSE 2147483647 END \
                     AND id <> ALL($3) ORDER BY depth, id LIMIT $4) q \
                     JOIN urls u ON u.host = $1 AND u.id = q.id ORDER BY q.depth, q.id";

impl Inner {
    pub(super) fn lease(
        &mut self,
        lease_request: &LeaseRequest<'_>,
    ) -> Result<Vec<CrawlRequest>, StoreError> {
        self.renew()?;
        let memory = &mut self.memory;
        memory.promote(lease_request.now_ms);
        let Some(host) = memory.hosts.get(lease_request.host).filter(|host| host.epoch.is_some()) else {
            return Ok(Vec::new());
        };
        let (host, ready) = (host.id, UrlState::ready(lease_request.lane));
        if lease_request.max == 0 || memory.ledger.of(host).get(ready) == 0 || !self.may_fetch() {
            return Ok(Vec::new());
        }
        if self.memory.leaving.contains(&host) {
            self.memory.ledger.wait_for_level(host, lease_request.lane);
            return Ok(Vec::new());
        }
        let leased = lease(&mut self.db, &mut self.memory, host, lease_request);
        if let Err(error) = &leased {
            // memory may count some of them as leased
            self.mark_lost(error);
        }
        leased
    }

    /// Ends a lease and lets its URL wait; returns false if the lease is no longer held.
    pub(super) fn retry(&mut self, lease: LeaseRef, retry: &Retry) -> Result<bool, StoreError> {
        let Some(out) = self.memory.leased(lease) else { return Ok(false) };
        self.write(Commit::Later, &[out.host], |db, memory, lost| {
            if lost.is_empty() {
                postpone(db, memory, (lease.id, out), retry)?;
            }
            Ok(lost.is_empty())
        })
    }

    pub(super) fn escalate(
        &mut self,
        lease: LeaseRef,
        now_ms: i64,
        strategy: Strategy,
        partial_result: &[u8],
    ) -> Result<bool, StoreError> {
        if self.memory.leased(lease).is_none() {
            return Ok(false);
        }
        // first: a result without its retry does no harm
        self.spool.put(Kind::PartialResult, lease.id.0, lease.token.0, partial_result)?;
        self.retry(lease, &Retry { due: now_ms, attempt: 0, strategy: Some(strategy), status: None })
    }

    pub(super) fn expire_leases(&mut self, now_ms: i64) -> usize {
        let memory = &mut self.memory;
        let expired = |(id, out): (&i64, &Out)| (out.deadline <= now_ms).then_some(*id);
        let mut expired: Vec<i64> = memory.out.iter().filter_map(expired).collect();
        expired.sort_unstable();
        for &id in &expired {
            let Some(out) = memory.out.get(&id).copied() else { continue };
            memory.end_lease(id);
            memory.ahead.forget(out.host);
            memory.ledger.shift(out.host, UrlState::Leased, UrlState::ready(out.lane), 1);
            memory.ledger.grow(out.host, out.bytes);
        }
        expired.len()
    }
}

fn lease(
    db: &mut Db,
    memory: &mut Memory,
    host: HostId,
    lease_request: &LeaseRequest<'_>,
) -> Result<Vec<CrawlRequest>, StoreError> {
    let &LeaseRequest { lane, max, by_level, .. } = lease_request;
    let mut requests = Vec::with_capacity(max);
    let mut bytes = 0;
    let first = memory.ahead.take(host, lane, by_level, max);
    bytes += begin_leases(db, memory, (host, lease_request), first, &mut requests)?;
    let ready = memory.ledger.of(host).get(UrlState::ready(lane));
    if requests.len() < max && requests.len() < usize::try_from(ready).unwrap_or(usize::MAX) {
        let mut urls = read(db, memory, host, lease_request, max - requests.len())?;
        let rest = urls.split_off(urls.len().min(max - requests.len()));
        bytes += begin_leases(db, memory, (host, lease_request), urls.into(), &mut requests)?;
        memory.ahead.keep(host, lane, by_level, rest);
    }
    let n = requests.len() as u64;
    if n == 0 {
        memory.ledger.wait_for_level(host, lane);
    } else {
        memory.ledger.shift(host, UrlState::ready(lane), UrlState::Leased, n);
        memory.ledger.shrink(host, bytes);
        memory.ledger.count_leases(host, lane, n);
        memory.begun.insert(host);
    }
    Ok(requests)
}

/// Reads the first URLs of a queue that are neither leased nor waiting: `wanted` of them, or more for the next leases.
fn read(
    db: &mut Db,
    memory: &Memory,
    host: HostId,
    lease_request: &LeaseRequest<'_>,
    wanted: usize,
) -> Result<VecDeque<ReadyUrl>, StoreError> {
    let number = i32::try_from(host).unwrap_or(i32::MAX);
    let (lane, busy) = (small(codes::lane(lease_request.lane)), memory.busy_of(host));
    let most = i64::try_from(memory.ahead.limit(wanted)).unwrap_or(i64::MAX);
    let rows = db.rows(LEASE, &[&number, &lane, &busy, &most, &lease_request.by_level])?;
    rows.iter().map(|row| ready_url(memory, row)).collect()
}

/// Leases URLs; returns the sum of their bytes.
fn begin_leases(
    db: &mut Db,
    memory: &mut Memory,
    (host, lease_request): (HostId, &LeaseRequest<'_>),
    urls: Vec<ReadyUrl>,
    requests: &mut Vec<CrawlRequest>,
) -> Result<u64, StoreError> {
    let mut sum = 0;
    for ReadyUrl { mut request, key, bytes } in urls {
        let token = memory.next_token(db)?;
        request.token = LeaseToken(token);
        let (lane, depth, deadline) = (lease_request.lane, request.depth, lease_request.deadline_ms);
        memory.set_busy(host, request.id.0);
        memory.out.insert(request.id.0, Out { token, host, lane, depth, deadline, key, bytes });
        memory.fence_page(request.id.0, token, host);
        requests.push(request);
        sum += bytes;
    }
    Ok(sum)
}

fn ready_url(memory: &Memory, row: &Row) -> Result<ReadyUrl, StoreError> {
    let (text, chain): (&str, Option<&str>) = (get(row, 5)?, get(row, 6)?);
    Ok(ReadyUrl {
        request: request(memory, row)?,
        key: UrlKey(get::<Uuid>(row, 10)?.into_bytes()),
        bytes: row_bytes(text.len(), chain.map_or(0, str::len)),
    })
}

/// The request of a URL, with a token of no lease.
fn request(memory: &Memory, row: &Row) -> Result<CrawlRequest, StoreError> {
    let text: &str = get(row, 5)?;
    let damaged = |what: &dyn std::fmt::Display| StoreError::Corrupt(format!("{text}: {what}"));
    if UrlKey::of(text).0 != get::<Uuid>(row, 10)?.into_bytes() {
        return Err(damaged(&"the URL does not fit its key"));
    }
    Ok(CrawlRequest {
        id: RequestId(get(row, 0)?),
        token: LeaseToken(0),
        url: Url::parse(text).map_err(|e| damaged(&e))?,
        depth: uint(get(row, 1)?),
        discovery: codes::read_discovery(i64::from(get::<i16>(row, 2)?))?,
        attempt: uint(get::<Option<i32>>(row, 3)?.unwrap_or(0)),
        strategy: read_strategy(get(row, 4)?)?,
        redirects: split_redirects(get(row, 6)?)?,
        etag: get(row, 7)?,
        last_modified: get(row, 8)?,
        sitemap_lastmod: get(row, 9)?,
        before: if memory.recrawl { read_before(row, 11)?.map(Box::new) } else { None },
        project: memory.project.clone(),
        source_group: memory.source_group.clone(),
    })
}

pub(super) fn read_strategy(code: Option<i16>) -> Result<Option<Strategy>, StoreError> {
    code.map(|code| codes::read_strategy(i64::from(code))).transpose()
}

/// Makes a URL wait after its lease has ended.
fn postpone(
    db: &mut Db,
    memory: &mut Memory,
    (id, out): (RequestId, Out),
    retry: &Retry,
) -> Result<(), StoreError> {
    let (host, lane) = (i32::try_from(out.host).unwrap_or(i32::MAX), Lane::of(retry.strategy));
    let strategy = retry.strategy.map(|strategy| small(codes::strategy(strategy)));
    let attempt = (retry.attempt > 0).then(|| int(retry.attempt));
    let status = retry.status.map(i32::from);
    db.execute(
        "WITH tried AS (UPDATE urls SET attempt = $5, strategy = $6, status = coalesce($7, status) \
         WHERE host = $1 AND id = $4) \
         UPDATE queue SET lane = $8, due = $9 WHERE host = $1 AND lane = $2 AND depth = $3 AND id = $4",
        &[
            &host,
            &small(codes::lane(out.lane)),
            &int(out.depth),
            &id.0,
            &attempt,
            &strategy,
            &status,
            &small(codes::lane(lane)),
            &memory.clock.to_database(retry.due),
        ],
    )?;
    memory.end_lease(id.0);
    memory.wait(id.0, Wait { due: retry.due, host: out.host, lane });
    memory.ledger.shift(out.host, UrlState::Leased, UrlState::Waiting, 1);
    memory.ledger.grow(out.host, out.bytes);
    Ok(())
}
