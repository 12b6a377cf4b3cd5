//! Leases of hosts. A worker owns a host from the moment at which the epoch of the host grows. The ownership ends
//! with the next epoch, of any worker.
//!
//! All hosts of a worker are leased until `workers.lease_until`, by the clock of the database, so one row renews
//! them. A rival takes hosts of an expired worker with a new epoch. The fence is the first statement of every
//! change: it locks the rows of the hosts and compares owner and epoch. So a worker whose lease has expired either
//! still owns a host, or changes nothing of it.

use super::{
    db::{Db, get, int, uint, unsigned},
    memory::{ClockOffset, Held, Memory, Wait},
    migrate,
};
use crate::{
    codes,
    ledger::{HostId, UrlState},
};
use crawl_model::{HostKey, Lane, StoreError, Strategy, UrlKey};
use std::time::Duration;
use tokio_postgres::Row;
use uuid::Uuid;

/// Times of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lease {
    /// Time for which hosts are leased.
    pub(super) time: Duration,
}

impl Lease {
    /// Age of a renewal after which the lease is renewed.
    pub(super) fn renew(self) -> Duration {
        self.time / 4
    }

    /// Age of a renewal after which no request begins: one that has begun may take the rest of the lease to reach its host.
    pub(super) fn stop(self) -> Duration {
        self.time * 3 / 4
    }

    /// Interval of the check for the age of a renewal.
    pub(super) fn check(self) -> Duration {
        self.time / 12
    }
}

/// Time without a read of a host's held pages, after which none of them is still being written.
pub(super) const QUIET: Duration = Duration::from_secs(10);

/// A host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Host {
    pub(super) id: HostId,
    /// Epoch of this worker's ownership; `None` if another worker may own it.
    pub(super) epoch: Option<i64>,
    pub(super) round: i64,
    pub(super) active: bool,
    /// Number of its registrable domain.
    pub(super) domain: i64,
}

/// Number of workers that have a lease, this one included.
pub(super) fn live(db: &mut Db, worker: i32) -> Result<i64, StoreError> {
    let live = "SELECT count(*) FROM workers WHERE id = $1 OR lease_until > clock_timestamp()";
    get(&db.one(live, &[&worker])?, 0)
}

/// Takes back the hosts of this worker's last process.
pub(super) fn resume(db: &mut Db, memory: &mut Memory) -> Result<(), StoreError> {
    let rows = db.rows(
        "UPDATE hosts SET epoch = epoch + 1 WHERE owner = $1 RETURNING id, epoch, round, active, name, domain, pause",
        &[&memory.worker],
    )?;
    let taken = add_owned_hosts(memory, &rows)?;
    for (row, host) in rows.iter().zip(&taken) {
        if let Some(seconds) = get::<Option<f64>>(row, 6)? {
            memory.pauses.insert(*host, Duration::try_from_secs_f64(seconds).unwrap_or_default());
        }
    }
    // the process before may have asked them a moment ago
    memory.begun.extend(&taken);
    load(db, memory, &taken)
}

/// Number of this worker's hosts with unsettled URLs.
pub(super) fn busy_number(memory: &Memory) -> i32 {
    i32::try_from(memory.busy_hosts()).unwrap_or(i32::MAX)
}

/// Locks the round against its end, which takes away all hosts. The first lock of a transaction.
/// The lock does not conflict with the reservation of numbers in the same row: two workers would wait for each other.
pub(super) fn lock_round(db: &mut Db, memory: &Memory) -> Result<(), StoreError> {
    let row = db.one("SELECT round FROM crawls FOR KEY SHARE", &[])?;
    // An upgrade waits for no worker whose lease has ended. A statement sees what was committed before it began, so the version is
    // read after the lock.
    migrate::expect(get(&db.one("SELECT max(version) FROM schema_version", &[])?, 0)?)?;
    let round = uint(get(&row, 0)?);
    if round == memory.round {
        return Ok(());
    }
    Err(StoreError::Busy(format!(
        "another worker began round {round}: this one is of round {}",
        memory.round
    )))
}

pub(super) fn add_owned_hosts(memory: &mut Memory, rows: &[Row]) -> Result<Vec<HostId>, StoreError> {
    let mut taken = Vec::with_capacity(rows.len());
    for row in rows {
        let id = i64::from(get::<i32>(row, 0)?);
        let host = Host {
            id,
            epoch: Some(get(row, 1)?),
            round: i64::from(get::<i32>(row, 2)?),
            active: get(row, 3)?,
            domain: get(row, 5)?,
        };
        let name = HostKey::from_stored(get::<&str>(row, 4)?);
        if memory.epoch(id).is_some() {
            // another worker had it in between, unnoticed: what is left of the earlier epoch is void
            memory.drop_host(id);
        }
        memory.own(name, host);
        taken.push(id);
    }
    Ok(taken)
}

/// Reads the active URLs of hosts that this worker has just taken.
pub(super) fn load(db: &mut Db, memory: &mut Memory, hosts: &[HostId]) -> Result<(), StoreError> {
    let hosts = ints(hosts);
    let rows = db.rows(
        "SELECT host, lane, count(*), min(id) FROM queue WHERE host = ANY($1) AND due IS NULL \
         GROUP BY host, lane ORDER BY min(id)",
        &[&hosts],
    )?;
    for row in rows {
        let (host, n) = (i64::from(get::<i32>(&row, 0)?), unsigned(&row, 2)?);
        let Some(name) = memory.names.get(&host) else { continue };
        memory.ledger.add(host, name, UrlState::ready(lane_of(&row, 1)?), n);
        memory.ledger.assume(host, n);
    }
    let rows = db.rows(
        "SELECT host, lane, id, due FROM queue WHERE host = ANY($1) AND due IS NOT NULL ORDER BY id",
        &[&hosts],
    )?;
    for row in rows {
        let host = i64::from(get::<i32>(&row, 0)?);
        let Some(name) = memory.names.get(&host) else { continue };
        memory.ledger.add(host, name, UrlState::Waiting, 1);
        memory.ledger.assume(host, 1);
        let due = memory.clock.to_here(get(&row, 3)?);
        memory.wait(get(&row, 2)?, Wait { due, host, lane: lane_of(&row, 1)? });
    }
    load_held(db, memory, &hosts)
}

fn load_held(db: &mut Db, memory: &mut Memory, hosts: &[i32]) -> Result<(), StoreError> {
    let rows = db.rows(
        "SELECT held.id, token, ord, held.host, held_for, hosts.name, key, \
         (octet_length(url) + coalesce(octet_length(redirects), 0))::int8 \
         FROM held JOIN hosts ON hosts.id = held.held_for JOIN urls ON urls.host = held.host AND urls.id = held.id \
         WHERE held.host = ANY($1) ORDER BY ord",
        &[&hosts],
    )?;
    for row in rows {
        let held = Held {
            token: get(&row, 1)?,
            host: i64::from(get::<i32>(&row, 3)?),
            held_for: i64::from(get::<i32>(&row, 4)?),
            key: UrlKey(get::<Uuid>(&row, 6)?.into_bytes()),
            bytes: crate::ledger::ROW_BYTES + unsigned::<u64>(&row, 7)?,
        };
        memory.next_order = memory.next_order.max(get::<i64>(&row, 2)? + 1);
        let name = HostKey::from_stored(get::<&str>(&row, 5)?);
        memory.ledger.add(held.held_for, &name, UrlState::Held, 1);
        memory.begin_hold(get(&row, 0)?, held);
    }
    Ok(())
}

fn lane_of(row: &Row, column: usize) -> Result<Lane, StoreError> {
    let code = i64::from(get::<i16>(row, column)?);
    Ok(if code == codes::lane(Lane::of(Some(Strategy::Chrome))) { Lane::Browser } else { Lane::Plain })
}

/// The fence: locks hosts of this worker until the end of the transaction. Drops those that it no longer owns.
pub(super) fn fence(db: &mut Db, memory: &mut Memory, hosts: &[HostId]) -> Result<Vec<HostId>, StoreError> {
    let mut mine: Vec<(i32, i64)> =
        hosts.iter().filter_map(|&host| Some((i32::try_from(host).ok()?, memory.epoch(host)?))).collect();
    mine.sort_unstable();
    mine.dedup();
    if mine.is_empty() {
        return Ok(Vec::new());
    }
    let (ids, epochs): (Vec<i32>, Vec<i64>) = mine.iter().copied().unzip();
    let rows = db.rows(
        "SELECT h.id FROM unnest($1::int[], $2::bigint[]) AS mine (id, epoch) JOIN hosts h ON h.id = mine.id \
         WHERE h.owner = $3 AND h.epoch = mine.epoch FOR SHARE OF h",
        &[&ids, &epochs, &memory.worker],
    )?;
    if rows.len() == ids.len() {
        return Ok(Vec::new());
    }
    let kept: Vec<i32> = rows.iter().map(|row| get(row, 0)).collect::<Result<_, _>>()?;
    let lost: Vec<HostId> = ids.into_iter().filter(|id| !kept.contains(id)).map(i64::from).collect();
    lost.iter().for_each(|host| memory.drop_host(*host));
    tracing::warn!(hosts = lost.len(), "another worker took over hosts of this one");
    Ok(lost)
}

/// Renews the lease of this worker, and drops the hosts that others took in the meantime.
pub(super) fn renew(db: &mut Db, memory: &mut Memory, lease: Lease) -> Result<(), StoreError> {
    let row = db.row(
        "UPDATE workers SET lease_until = clock_timestamp() + make_interval(secs => $2), busy = $3 WHERE id = $1 \
         RETURNING (extract(epoch FROM clock_timestamp()) * 1000)::int8",
        &[&memory.worker, &lease.time.as_secs_f64(), &busy_number(memory)],
    )?;
    if let Some(row) = row {
        memory.clock = ClockOffset::of(get(&row, 0)?);
    }
    let rows = db.rows("SELECT id, epoch FROM hosts WHERE owner = $1", &[&memory.worker])?;
    let mut owned = rustc_hash::FxHashMap::default();
    for row in rows {
        owned.insert(i64::from(get::<i32>(&row, 0)?), get::<i64>(&row, 1)?);
    }
    let lost: Vec<HostId> =
        memory.names.keys().copied().filter(|id| owned.get(id).copied() != memory.epoch(*id)).collect();
    lost.iter().for_each(|host| memory.drop_host(*host));
    if !lost.is_empty() {
        tracing::warn!(hosts = lost.len(), "another worker took over hosts of this one");
    }
    Ok(())
}

/// Marks hosts of this worker that get their first URL in this round.
pub(super) fn activate(db: &mut Db, memory: &mut Memory, hosts: &[HostId]) -> Result<(), StoreError> {
    let round = i64::from(memory.round);
    let mut first: Vec<HostId> = Vec::new();
    for id in hosts {
        let Some(host) = memory.names.get(id).and_then(|name| memory.hosts.get_mut(name)) else { continue };
        if host.round != round || !host.active {
            first.push(*id);
            memory.tally.add_hosts(i64::from(host.round != round));
            (host.round, host.active) = (round, true);
        }
    }
    if !first.is_empty() {
        db.execute(
            "UPDATE hosts SET round = $1, active = true WHERE id = ANY($2)",
            &[&int(memory.round), &ints(&first)],
        )?;
    }
    Ok(())
}

pub(super) fn ints(hosts: &[HostId]) -> Vec<i32> {
    hosts.iter().filter_map(|host| i32::try_from(*host).ok()).collect()
}
