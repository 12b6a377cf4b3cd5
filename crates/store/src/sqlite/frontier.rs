//! [`Frontier`] on SQLite.

use super::{
    SqliteStore,
    checksum::{checksum, read_checked},
    error::sql,
    held::{delete_partial_result, held_pages, refetch, save_partial_result},
    lease::{level, postpone},
    run::noted_pauses,
    settle::end_lease,
    url_keys::id_of,
    visits::note_status,
};
use crate::{known::Revisit, ledger::UrlState};
use crawl_model::{
    CrawlRequest, Enqueued, Frontier, FrontierCounts, HeldPage, HostBounds, HostKey, HostLoad, KnownUrl,
    Lane, LeaseRef, NewUrl, OutputMark, ReadyHost, RequestId, Settlement, StoreError, Strategy, UrlKey,
};
use rusqlite::OptionalExtension;
use std::time::Duration;

impl Frontier for SqliteStore {
    fn enqueue(&self, urls: &[NewUrl]) -> Result<Enqueued, StoreError> {
        self.ready()?.enqueue(urls, Revisit::No, None)
    }

    fn enqueue_found_on(&self, urls: &[NewUrl], page: RequestId) -> Result<Enqueued, StoreError> {
        self.ready()?.enqueue(urls, Revisit::No, Some(page))
    }

    fn found_on(&self, url: UrlKey) -> Result<Option<String>, StoreError> {
        let inner = self.ready()?;
        let Some(id) = id_of(&inner.conn, &url).map_err(sql)? else { return Ok(None) };
        let mut select = inner
            .conn
            .prepare_cached(
                "SELECT page.url FROM urls JOIN urls AS page ON page.id = urls.found_on WHERE urls.id = ?1",
            )
            .map_err(sql)?;
        select.query_row([id], |row| row.get(0)).optional().map_err(sql)
    }

    fn bound_hosts(&self, bounds: HostBounds) -> Result<(), StoreError> {
        self.ready()?.memory.bounds = bounds;
        Ok(())
    }

    fn revisit(&self, urls: &[NewUrl]) -> Result<Enqueued, StoreError> {
        self.ready()?.enqueue(urls, Revisit::Yes, None)
    }

    fn known(&self, after: RequestId, limit: usize) -> Result<Vec<KnownUrl>, StoreError> {
        self.ready()?.known(after, limit)
    }

    fn known_among(&self, keys: &[UrlKey]) -> Result<Vec<KnownUrl>, StoreError> {
        self.ready()?.known_among(keys)
    }

    fn hosts_with_pending(
        &self,
        lane: Lane,
        now_ms: i64,
        limit: usize,
    ) -> Result<Vec<ReadyHost>, StoreError> {
        let mut inner = self.ready()?;
        inner.promote(now_ms)?;
        Ok(inner.memory.ledger.ready(lane, limit))
    }

    fn suspend(&self, host: &HostKey) -> Result<(), StoreError> {
        let mut inner = self.ready()?;
        let inner = &mut *inner;
        if let Some(host) = inner.memory.find_host(&inner.conn, host).map_err(sql)? {
            inner.memory.ledger.suspend(host);
        }
        Ok(())
    }

    fn resume(&self, hosts: &[HostKey]) -> Result<(), StoreError> {
        let mut inner = self.ready()?;
        let inner = &mut *inner;
        for host in hosts {
            if let Some(host) = inner.memory.find_host(&inner.conn, host).map_err(sql)? {
                inner.memory.ledger.resume(host);
            }
        }
        Ok(())
    }

    fn resume_all(&self) -> Result<(), StoreError> {
        self.ready()?.memory.ledger.resume_all();
        Ok(())
    }

    fn next_due(&self) -> Result<Option<i64>, StoreError> {
        Ok(self.ready()?.memory.next_due)
    }

    fn bring_forward(&self, latest_ms: i64, now_ms: i64) -> Result<usize, StoreError> {
        let mut inner = self.ready()?;
        let moved = inner.write(|conn, memory| {
            let moved = conn
                .execute("UPDATE waiting SET due = ?2 WHERE due > ?1", [latest_ms, now_ms])
                .map_err(sql)?;
            if moved > 0 {
                memory.next_due = Some(memory.next_due.map_or(now_ms, |due| due.min(now_ms)));
            }
            Ok(moved)
        })?;
        inner.commit()?;
        Ok(moved)
    }

    fn lease(
        &self,
        host: &HostKey,
        lane: Lane,
        max: usize,
        worker: &str,
        now_ms: i64,
        deadline_ms: i64,
    ) -> Result<Vec<CrawlRequest>, StoreError> {
        self.lease_down_to(None, (host, lane), max, worker, [now_ms, deadline_ms])
    }

    fn lease_by_level(
        &self,
        host: &HostKey,
        lane: Lane,
        max: usize,
        worker: &str,
        now_ms: i64,
        deadline_ms: i64,
    ) -> Result<Vec<CrawlRequest>, StoreError> {
        self.lease_down_to(Some(level), (host, lane), max, worker, [now_ms, deadline_ms])
    }

    fn requeue(
        &self,
        lease: LeaseRef,
        not_before_ms: i64,
        attempt: u32,
        strategy: Option<Strategy>,
    ) -> Result<bool, StoreError> {
        self.ready()?.write(|conn, memory| {
            let Some(host) = end_lease(conn, lease).map_err(sql)? else { return Ok(false) };
            postpone(conn, memory, (host, lease.id), not_before_ms, attempt, strategy).map_err(sql)?;
            Ok(true)
        })
    }

    fn mark_possibly_gone(
        &self,
        request: &CrawlRequest,
        not_before_ms: i64,
        status: u16,
    ) -> Result<bool, StoreError> {
        self.ready()?.write(|conn, memory| {
            let Some(host) = end_lease(conn, request.into()).map_err(sql)? else { return Ok(false) };
            note_status(conn, request.id, status).map_err(sql)?;
            let (id, attempt) = (request.id, request.attempt);
            postpone(conn, memory, (host, id), not_before_ms, attempt, request.strategy).map_err(sql)?;
            Ok(true)
        })
    }

    fn escalate(
        &self,
        lease: LeaseRef,
        now_ms: i64,
        strategy: Strategy,
        partial_result: &[u8],
    ) -> Result<bool, StoreError> {
        self.ready()?.write(|conn, memory| {
            let Some(host) = end_lease(conn, lease).map_err(sql)? else { return Ok(false) };
            save_partial_result(conn, memory, lease.id, partial_result).map_err(sql)?;
            postpone(conn, memory, (host, lease.id), now_ms, 0, Some(strategy)).map_err(sql)?;
            Ok(true)
        })
    }

    fn partial_result(&self, url: RequestId) -> Result<Option<Vec<u8>>, StoreError> {
        let inner = self.ready()?;
        let mut select =
            inner.conn.prepare_cached("SELECT pages, checksum FROM so_far WHERE id = ?1").map_err(sql)?;
        let found = select.query_row([url.0], |row| read_checked(row, 0)).optional().map_err(sql)?;
        if let Some(None) = found {
            tracing::warn!(
                url = url.0,
                "saved results of other strategies for the URL are damaged: they are ignored"
            );
        }
        Ok(found.flatten())
    }

    fn hold(&self, lease: LeaseRef, host: &HostKey, page: &[u8]) -> Result<Option<i64>, StoreError> {
        self.ready()?.write(|conn, memory| {
            let Some(leased_from) = end_lease(conn, lease).map_err(sql)? else { return Ok(None) };
            let held_for = memory.host(conn, host).map_err(sql)?;
            let order = memory.next_order;
            conn.prepare_cached(
                "INSERT INTO held (id, token, host, ord, page, checksum) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )
            .and_then(|mut insert| {
                insert.execute((lease.id.0, lease.token.0, held_for, order, page, checksum(page)))
            })
            .map_err(sql)?;
            memory.next_order += 1;
            delete_partial_result(conn, memory, lease.id).map_err(sql)?;
            // in this order, since a host without URLs is dropped
            memory.ledger.add(held_for, host, UrlState::Held, 1);
            memory.ledger.take(leased_from, UrlState::Leased, 1);
            Ok(Some(order))
        })
    }

    fn held(&self, host: &HostKey, after: i64, limit: usize) -> Result<Vec<HeldPage>, StoreError> {
        let mut inner = self.ready()?;
        let inner = &mut *inner;
        let Some(host) = inner.memory.find_host(&inner.conn, host).map_err(sql)? else {
            return Ok(Vec::new());
        };
        held_pages(&inner.conn, host, after, limit).map_err(sql)
    }

    fn refetch(&self, held: LeaseRef) -> Result<bool, StoreError> {
        self.ready()?.write(|conn, memory| refetch(conn, memory, held).map_err(sql))
    }

    fn hosts_with_held(&self) -> Result<Vec<HostLoad>, StoreError> {
        Ok(self.ready()?.memory.ledger.held())
    }

    fn settle(&self, batch: &[Settlement], outputs: &[OutputMark]) -> Result<usize, StoreError> {
        self.ready()?.settle(batch, outputs, &[])
    }

    fn expire_leases(&self, now_ms: i64) -> Result<usize, StoreError> {
        self.ready()?.expire_leases(now_ms)
    }

    fn drained(&self) -> Result<bool, StoreError> {
        Ok(self.ready()?.memory.ledger.total().drained())
    }

    fn host_drained(&self, host: &HostKey) -> Result<bool, StoreError> {
        let mut inner = self.ready()?;
        let inner = &mut *inner;
        let host = inner.memory.find_host(&inner.conn, host).map_err(sql)?;
        Ok(host.is_none_or(|host| inner.memory.ledger.of(host).drained()))
    }

    fn newly_drained(&self) -> Result<Vec<HostKey>, StoreError> {
        Ok(self.ready()?.memory.ledger.take_drained())
    }

    fn note_pause(&self, host: &HostKey, pause: Duration) -> Result<(), StoreError> {
        self.ready()?.note_pause(host, pause)
    }

    fn resumed_pauses(&self) -> Result<Vec<(HostKey, Duration)>, StoreError> {
        noted_pauses(self)
    }

    fn is_current(&self, lease: LeaseRef) -> Result<bool, StoreError> {
        let inner = self.ready()?;
        let mut select = inner
            .conn
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM leases WHERE id = ?1 AND token = ?2) \
                 OR EXISTS (SELECT 1 FROM held WHERE id = ?1 AND token = ?2)",
            )
            .map_err(sql)?;
        select.query_row((lease.id.0, lease.token.0), |row| row.get(0)).map_err(sql)
    }

    fn counts(&self) -> Result<FrontierCounts, StoreError> {
        let inner = self.ready()?;
        let counts = inner.memory.ledger.total();
        let [records, failed, skipped, redirected, unchanged, gone] = inner.memory.settled;
        Ok(FrontierCounts {
            pending: counts.pending(),
            leased: counts.get(UrlState::Leased),
            held: counts.get(UrlState::Held),
            records,
            failed,
            skipped,
            redirected,
            unchanged,
            gone,
            hosts: inner.memory.host_count,
        })
    }

    fn round(&self) -> Result<u32, StoreError> {
        Ok(self.ready()?.memory.round)
    }

    fn begin_round(&self) -> Result<u32, StoreError> {
        self.ready()?.begin(false, false)
    }

    fn begin_recrawl(&self, keep_sites: bool) -> Result<u32, StoreError> {
        self.ready()?.begin(true, keep_sites)
    }

    fn is_recrawl(&self) -> Result<bool, StoreError> {
        Ok(self.ready()?.memory.recrawl)
    }

    fn output_mark(&self, name: &str) -> Result<Option<u64>, StoreError> {
        let inner = self.ready()?;
        let mut select =
            inner.conn.prepare_cached("SELECT reach FROM outputs WHERE name = ?1").map_err(sql)?;
        select.query_row([name], |row| row.get(0)).optional().map_err(sql)
    }
}
