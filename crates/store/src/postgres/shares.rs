//! Shares of workers: a worker gives hosts back that it has beyond its share, and all of them at its end.

use super::{
    db::{Db, unsigned},
    hosts::ints,
    memory::Memory,
};
use crate::ledger::{HostId, UrlState};
use crawl_model::{Lane, StoreError};
use std::time::Duration;

/// Gives all hosts of this worker back and ends its lease. Hosts that it has asked rest for `pause`.
pub(super) fn release(db: &mut Db, memory: &mut Memory, pause: Duration) -> Result<(), StoreError> {
    let all: Vec<HostId> = memory.names.keys().copied().collect();
    give_back(db, memory, &all, pause)?;
    db.execute("UPDATE workers SET lease_until = clock_timestamp() WHERE id = $1", &[&memory.worker])
        .map(|_| ())
}

/// Gives back surplus hosts that this worker has not begun; returns its share. If that is not enough, further hosts are
/// marked: [`let_leave`] gives them back once they have no leased and no held pages.
pub(super) fn share(db: &mut Db, memory: &mut Memory) -> Result<usize, StoreError> {
    let row = db.one(
        "SELECT (SELECT count(*) FROM workers WHERE lease_until > clock_timestamp() OR id = $1), \
         (SELECT count(*) FROM hosts WHERE owner IS NOT NULL) \
         + (SELECT count(*) FROM hosts WHERE active AND owner IS NULL)",
        &[&memory.worker],
    )?;
    let (workers, hosts): (usize, usize) = (unsigned(&row, 0)?, unsigned(&row, 1)?);
    let share = hosts.div_ceil(workers.max(1));
    let surplus = memory.names.len().saturating_sub(share).saturating_sub(memory.leaving.len());
    let is_untouched = |id: &HostId| !memory.begun.contains(id) && is_only_ready(memory, *id);
    let mut given: Vec<HostId> = memory.names.keys().copied().filter(is_untouched).collect();
    given.sort_unstable();
    given.truncate(surplus);
    give_back(db, memory, &given, Duration::ZERO)?;
    given.iter().for_each(|host| memory.drop_host(*host));
    let may_leave = |id: &HostId| {
        let places = memory.ledger.of(*id);
        places.pending() > 0 && places.get(UrlState::Held) == 0 && !memory.leaving.contains(id)
    };
    let mut leaving: Vec<HostId> = memory.names.keys().copied().filter(may_leave).collect();
    leaving.sort_unstable();
    leaving.truncate(surplus.saturating_sub(given.len()));
    memory.leaving.extend(leaving);
    Ok(share)
}

/// Gives back the marked hosts that have no leased and no held pages.
pub(super) fn let_leave(db: &mut Db, memory: &mut Memory, pause: Duration) -> Result<(), StoreError> {
    let is_idle = |id: &HostId| {
        let places = memory.ledger.of(*id);
        places.get(UrlState::Leased) + places.get(UrlState::Held) == 0
    };
    let idle: Vec<HostId> = memory.leaving.iter().copied().filter(is_idle).collect();
    if idle.is_empty() {
        return Ok(());
    }
    give_back(db, memory, &idle, pause)?;
    idle.iter().for_each(|host| memory.drop_host(*host));
    Ok(())
}

/// Returns true if all URLs of a host wait to be fetched.
fn is_only_ready(memory: &Memory, host: HostId) -> bool {
    let places = memory.ledger.of(host);
    let ready = Lane::ALL.map(|lane| places.get(UrlState::ready(lane))).iter().sum::<u64>();
    places.total() == ready
}

fn give_back(db: &mut Db, memory: &Memory, hosts: &[HostId], pause: Duration) -> Result<(), StoreError> {
    let idle: Vec<HostId> = hosts.iter().copied().filter(|id| memory.ledger.of(*id).total() == 0).collect();
    let asked: Vec<HostId> = hosts.iter().copied().filter(|id| memory.begun.contains(id)).collect();
    db.execute(
        "UPDATE hosts SET owner = NULL, active = active AND id <> ALL($3), \
         not_before = CASE WHEN id = ANY($4) THEN clock_timestamp() + make_interval(secs => $5) END \
         WHERE id = ANY($2) AND owner = $1",
        &[&memory.worker, &ints(hosts), &ints(&idle), &ints(&asked), &pause.as_secs_f64()],
    )
    .map(|_| ())
}
