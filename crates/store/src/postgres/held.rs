//! Held pages: their rows are in the database, their bytes on the disk of the worker.

use super::{
    Commit, Inner,
    db::{Db, get, int, small, uint},
    memory::{Held, Memory},
    spool::Kind,
};
use crate::{
    codes,
    ledger::{HostId, UrlState},
};
use crawl_model::{HeldPage, HostKey, Lane, LeaseRef, LeaseToken, RequestId, StoreError, instant};

impl Inner {
    pub(super) fn hold(
        &mut self,
        lease: LeaseRef,
        held_for: &HostKey,
        page: &[u8],
    ) -> Result<Option<i64>, StoreError> {
        let Some(out) = self.memory.leased(lease) else { return Ok(None) };
        // first: a page without its row is dropped at the next start
        self.spool.put(Kind::Held, lease.id.0, lease.token.0, page)?;
        let alone = self.alone;
        let order = self.write(Commit::Later, &[out.host], |db, memory, lost| {
            if !lost.is_empty() {
                return Ok(None);
            }
            if !memory.hosts.contains_key(held_for) {
                super::acquire::claim(db, memory, &[held_for.as_str()], alone)?;
            }
            let Some(target) = memory.hosts.get(held_for).map(|host| host.id) else { return Ok(None) };
            let order = memory.next_order;
            let (host, target_number) =
                (i32::try_from(out.host).unwrap_or(i32::MAX), i32::try_from(target).unwrap_or(i32::MAX));
            db.execute(
                "WITH left_queue AS (DELETE FROM queue WHERE host = $1 AND lane = $2 AND depth = $3 AND id = $4) \
                 INSERT INTO held (id, token, ord, host, held_for) VALUES ($4, $5, $6, $1, $7)",
                &[
                    &host,
                    &small(codes::lane(out.lane)),
                    &int(out.depth),
                    &lease.id.0,
                    &lease.token.0,
                    &order,
                    &target_number,
                ],
            )?;
            memory.next_order += 1;
            memory.end_lease(lease.id.0);
            let (token, key, bytes) = (lease.token.0, out.key, out.bytes);
            let held = Held { token, host: out.host, held_for: target, key, bytes };
            memory.begin_hold(lease.id.0, held);
            memory.tally.add(-1, 1);
            // in this order, since a host without URLs is dropped
            memory.ledger.add(target, held_for, UrlState::Held, 1);
            memory.ledger.take(out.host, UrlState::Leased, 1);
            Ok(Some(order))
        })?;
        self.spool.remove(Kind::PartialResult, lease.id.0)?;
        Ok(order)
    }

    pub(super) fn held(
        &mut self,
        held_for: &HostKey,
        after: i64,
        limit: usize,
    ) -> Result<Vec<HeldPage>, StoreError> {
        let Self { db, memory, spool, .. } = self;
        let Some(host) = memory.hosts.get(held_for) else { return Ok(Vec::new()) };
        memory.read_at.insert(host.id, instant());
        let ids: Vec<i64> =
            memory.held.iter().filter(|(_, held)| held.held_for == host.id).map(|(id, _)| *id).collect();
        let rows = db.rows(
            "SELECT held.id, token, ord, url FROM held JOIN urls u ON u.host = held.host AND u.id = held.id \
             WHERE held.id = ANY($1) AND ord > $2 ORDER BY ord LIMIT $3",
            &[&ids, &after, &i64::try_from(limit).unwrap_or(i64::MAX)],
        )?;
        let mut pages = Vec::with_capacity(rows.len());
        for row in &rows {
            let (id, token): (i64, i64) = (get(row, 0)?, get(row, 1)?);
            let page =
                spool.get(Kind::Held, id)?.filter(|(stored, _)| *stored == token).map(|(_, page)| page);
            pages.push(HeldPage {
                lease: LeaseRef { id: RequestId(id), token: LeaseToken(token) },
                order: get(row, 2)?,
                url: get(row, 3)?,
                intact: page.is_some(),
                page: page.unwrap_or_default(),
            });
        }
        Ok(pages)
    }

    pub(super) fn refetch(&mut self, lease: LeaseRef) -> Result<bool, StoreError> {
        let Some(held) = self.memory.held_as(lease) else { return Ok(false) };
        let done = self.write(Commit::Later, &[held.host], |db, memory, lost| {
            Ok(lost.is_empty() && refetch(db, memory, lease.id.0, held)?)
        })?;
        if done {
            self.spool.remove(Kind::Held, lease.id.0)?;
        }
        Ok(done)
    }
}

impl Inner {
    /// Returns held pages to the queue whose bytes are on the disk of another worker. Their host computes its
    /// fingerprint again, since it counts them again.
    pub(super) fn put_back_foreign(&mut self) -> Result<(), StoreError> {
        let mut foreign: Vec<(i64, Held)> = Vec::new();
        for (id, held) in &self.memory.held {
            let stored = self.spool.token(Kind::Held, *id)?;
            if stored != Some(held.token) {
                foreign.push((*id, *held));
            }
        }
        if foreign.is_empty() {
            return Ok(());
        }
        let hosts: Vec<HostId> = foreign.iter().map(|(_, held)| held.host).collect();
        self.write(Commit::Later, &hosts, |db, memory, lost| {
            for (id, held) in foreign.iter().filter(|(_, held)| !lost.contains(&held.host)) {
                put_back(db, memory, *id, *held)?;
                let held_for = i32::try_from(held.held_for).unwrap_or(i32::MAX);
                db.execute("DELETE FROM unsettled WHERE host = $1", &[&held_for])?;
            }
            Ok(())
        })
    }
}

/// Returns the URLs of all held pages of a host to the queue, for another worker. Returns their numbers. A host that
/// counted them computes its fingerprint again.
pub(super) fn put_back_all(db: &mut Db, memory: &mut Memory, host: HostId) -> Result<Vec<i64>, StoreError> {
    let pages: Vec<(i64, Held)> = memory.held_pages_of(host).collect();
    for (id, held) in &pages {
        put_back(db, memory, *id, *held)?;
        memory.revoked.insert(*id, held.token);
        let held_for = i32::try_from(held.held_for).unwrap_or(i32::MAX);
        db.execute("DELETE FROM unsettled WHERE host = $1", &[&held_for])?;
    }
    Ok(pages.into_iter().map(|(id, _)| id).collect())
}

/// Returns the URL of a held page to the queue, once per round.
fn refetch(db: &mut Db, memory: &mut Memory, id: i64, held: Held) -> Result<bool, StoreError> {
    if db.execute("INSERT INTO refetched (id) VALUES ($1) ON CONFLICT DO NOTHING", &[&id])? == 0 {
        return Ok(false);
    }
    put_back(db, memory, id, held)?;
    Ok(true)
}

/// Returns the URL of a held page to the queue.
fn put_back(db: &mut Db, memory: &mut Memory, id: i64, held: Held) -> Result<(), StoreError> {
    db.execute("DELETE FROM held WHERE id = $1", &[&id])?;
    let host = i32::try_from(held.host).unwrap_or(i32::MAX);
    // fetched without attempts: an alternative strategy would lack the result that it is compared with
    let row = db.one(
        "UPDATE urls SET attempt = NULL, strategy = NULL WHERE host = $1 AND id = $2 RETURNING depth",
        &[&host, &id],
    )?;
    let depth = uint(get(&row, 0)?);
    let lane = small(codes::lane(Lane::Plain));
    db.execute(
        "INSERT INTO queue (host, lane, depth, id) VALUES ($1, $2, $3, $4)",
        &[&host, &lane, &int(depth), &id],
    )?;
    memory.end_hold(id);
    memory.ahead.forget(held.host);
    memory.tally.add(1, -1);
    memory.ledger.take(held.held_for, UrlState::Held, 1);
    if let Some(name) = memory.names.get(&held.host) {
        memory.ledger.add(held.host, name, UrlState::Ready, 1);
        memory.ledger.grow(held.host, held.bytes);
    }
    Ok(())
}
