//! Shares of workers: a worker gives hosts back that it has beyond its share, and all of them at its end.

use super::{
    Commit, Inner,
    affinity::{Movable, choose_surplus},
    db::{Db, get, unsigned},
    held,
    hosts::{QUIET, busy_number, ints},
    memory::Memory,
};
use crate::ledger::{HostId, UrlState};
use crawl_model::{HostKey, HostLoad, Lane, StoreError, instant};
use rustc_hash::FxHashMap;
use std::{net::IpAddr, time::Duration};

/// Divisor of a worker's share: the worker may keep share / TOLERANCE hosts too many so that no domain is divided.
const TOLERANCE: usize = 20;

/// Releases all hosts of this worker and ends its lease. Hosts that it sent requests to are blocked for `pause`.
pub(super) fn release(db: &mut Db, memory: &mut Memory, pause: Duration) -> Result<(), StoreError> {
    // locks the row of the worker first, as an upgrade does, to prevent a deadlock
    let end = "UPDATE workers SET lease_until = clock_timestamp(), busy = 0 WHERE id = $1";
    db.execute(end, &[&memory.worker])?;
    let all: Vec<HostId> = memory.names.keys().copied().collect();
    give_back(db, memory, &all, pause)
}

/// Releases surplus hosts, in whole domains where possible. Returns the share of this worker. Hosts with leases are
/// only marked; [`release_marked`] releases them once they have no leased pages. Hosts without unsettled URLs do not
/// count.
pub(super) fn share(db: &mut Db, memory: &mut Memory) -> Result<usize, StoreError> {
    db.execute("UPDATE workers SET busy = $2 WHERE id = $1", &[&memory.worker, &busy_number(memory)])?;
    let row = db.one(
        "SELECT count(*), coalesce(sum(busy), 0)::int8 + (SELECT count(*) FROM hosts WHERE active AND owner IS NULL AND not_before IS NULL) \
         + (SELECT count(*) FROM hosts WHERE active AND owner IS NULL AND not_before IS NOT NULL) \
         + (SELECT count(*) FROM hosts h JOIN workers w ON w.id = h.owner \
         WHERE h.active AND w.id <> $1 AND w.lease_until <= clock_timestamp()) \
         + (SELECT count(*) FROM hosts WHERE owner IS NULL AND NOT active \
         AND id IN (SELECT host FROM inbox ORDER BY id LIMIT 1000)) \
         FROM workers WHERE lease_until > clock_timestamp() OR id = $1",
        &[&memory.worker],
    )?;
    let (workers, hosts): (usize, usize) = (unsigned(&row, 0)?, unsigned(&row, 1)?);
    let share = hosts.div_ceil(workers.max(1));
    let surplus = memory.busy_hosts().saturating_sub(share).saturating_sub(memory.leaving.len());
    if surplus == 0 {
        return Ok(share);
    }
    let (movable, sizes) = movable(memory);
    let given = choose_surplus(movable, &sizes, surplus, share / TOLERANCE);
    let (untouched, begun): (Vec<HostId>, Vec<HostId>) =
        given.into_iter().partition(|id| is_untouched(memory, *id));
    give_back(db, memory, &untouched, Duration::ZERO)?;
    untouched.iter().for_each(|host| memory.drop_host(*host));
    memory.leaving.extend(begun);
    Ok(share)
}

/// Hosts with work that may go to another worker, and the number of hosts with work of each domain.
fn movable(memory: &Memory) -> (Vec<Movable>, FxHashMap<i64, usize>) {
    let mut held: FxHashMap<HostId, usize> = FxHashMap::default();
    for page in memory.held.values() {
        *held.entry(page.host).or_default() += 1;
    }
    let (mut movable, mut sizes) = (Vec::new(), FxHashMap::default());
    for (id, name) in &memory.names {
        let (Some(host), counts) = (memory.hosts.get(name), memory.ledger.of(*id)) else { continue };
        if counts.total() == 0 || memory.leaving.contains(id) {
            continue;
        }
        *sizes.entry(host.domain).or_default() += 1;
        let is_begun = !is_untouched(memory, *id);
        if !is_begun || counts.pending() > 0 {
            let held = held.get(id).copied().unwrap_or(0);
            movable.push(Movable { host: *id, domain: host.domain, held, is_begun });
        }
    }
    (movable, sizes)
}

/// Returns true if the worker has leased no page of a host, and all its URLs wait to be fetched.
fn is_untouched(memory: &Memory, host: HostId) -> bool {
    let counts = memory.ledger.of(host);
    let ready = Lane::ALL.map(|lane| counts.get(UrlState::ready(lane))).iter().sum::<u64>();
    !memory.begun.contains(&host) && counts.total() == ready
}

/// Releases the marked hosts without leased pages. Drops their held pages, unless these are being read for the
/// output; the next owner fetches them again. Returns the numbers of the dropped pages.
pub(super) fn release_marked(
    db: &mut Db,
    memory: &mut Memory,
    pause: Duration,
) -> Result<Vec<i64>, StoreError> {
    let now = instant();
    let is_quiet =
        |id: &HostId| memory.read_at.get(id).is_none_or(|at| now.saturating_duration_since(*at) >= QUIET);
    let is_idle = |id: &HostId| {
        memory.ledger.of(*id).get(UrlState::Leased) == 0
            && memory.held_pages_of(*id).all(|(_, held)| is_quiet(&held.held_for))
    };
    let idle: Vec<HostId> = memory.leaving.iter().copied().filter(is_idle).collect();
    let mut dropped = Vec::new();
    if idle.is_empty() {
        return Ok(dropped);
    }
    for host in &idle {
        let pages = held::put_back_all(db, memory, *host)?;
        if let Some(name) = memory.names.get(host).filter(|_| !pages.is_empty()) {
            tracing::info!(host = %name, pages = pages.len(), "the host goes to another worker, with its held pages");
            memory.handed_over.push(HostLoad { host: name.clone(), pending: pages.len() });
        }
        dropped.extend(pages);
    }
    give_back(db, memory, &idle, pause)?;
    idle.iter().for_each(|host| memory.drop_host(*host));
    Ok(dropped)
}

impl Inner {
    /// Blocks hosts of this worker for a time, also for their next owner. A known time is not written again.
    pub(super) fn pause_hosts(&mut self, hosts: &[(HostKey, Duration)]) -> Result<(), StoreError> {
        let own = |(host, pause): &(HostKey, Duration)| {
            let host = self.memory.hosts.get(host).filter(|host| host.epoch.is_some())?;
            Some((i32::try_from(host.id).ok()?, pause.as_secs_f64()))
        };
        let (ids, pauses): (Vec<i32>, Vec<f64>) = hosts.iter().filter_map(own).unzip();
        if ids.is_empty() {
            return Ok(());
        }
        self.write(Commit::Now, &[], |db, memory, _| {
            db.execute(
                "UPDATE hosts SET not_before = clock_timestamp() + make_interval(secs => n.pause) \
                 FROM unnest($2::int[], $3::double precision[]) AS n (id, pause) WHERE hosts.id = n.id AND owner = $1 \
                 AND coalesce(not_before + interval '1 s' < clock_timestamp() + make_interval(secs => n.pause), true)",
                &[&memory.worker, &ids, &pauses],
            )
            .map(|_| ())
        })
    }

    /// Takes the next turn at an address, in one transaction.
    pub(super) fn take_turn(&mut self, address: IpAddr, pause: Duration) -> Result<Duration, StoreError> {
        let row = self.db.one(
            "INSERT INTO addresses AS a (address, next_at) \
             VALUES ($1::text::inet, clock_timestamp() + make_interval(secs => $2)) \
             ON CONFLICT (address) DO UPDATE \
             SET next_at = greatest(a.next_at, clock_timestamp()) + make_interval(secs => $2) \
             RETURNING greatest(extract(epoch FROM next_at - clock_timestamp()) - $2, 0)::float8",
            &[&address.to_string(), &pause.as_secs_f64()],
        )?;
        Ok(Duration::try_from_secs_f64(get(&row, 0)?).unwrap_or_default())
    }

    /// Stores the pause of a host if it is longer than the usual one.
    pub(super) fn note_pause(&mut self, host: &HostKey, pause: Duration) -> Result<(), StoreError> {
        let Some(id) = self.memory.hosts.get(host).filter(|host| host.epoch.is_some()).map(|host| host.id)
        else {
            return Ok(());
        };
        if pause <= self.pause || self.memory.pauses.get(&id) == Some(&pause) {
            return Ok(());
        }
        self.write(Commit::Later, &[], |db, memory, _| {
            let note = "UPDATE hosts SET pause = $3 WHERE id = $2 AND owner = $1";
            db.execute(
                note,
                &[&memory.worker, &i32::try_from(id).unwrap_or(i32::MAX), &pause.as_secs_f64()],
            )?;
            memory.pauses.insert(id, pause);
            Ok(())
        })
    }
}

fn give_back(db: &mut Db, memory: &Memory, hosts: &[HostId], pause: Duration) -> Result<(), StoreError> {
    let idle: Vec<HostId> = hosts.iter().copied().filter(|id| memory.ledger.of(*id).total() == 0).collect();
    let asked: Vec<HostId> = hosts.iter().copied().filter(|id| memory.begun.contains(id)).collect();
    db.execute(
        "UPDATE hosts SET owner = NULL, active = active AND id <> ALL($3), \
         not_before = greatest(not_before, CASE WHEN id = ANY($4) \
         THEN clock_timestamp() + make_interval(secs => greatest($5, pause)) END) \
         WHERE id = ANY($2) AND owner = $1",
        &[&memory.worker, &ints(hosts), &ints(&idle), &ints(&asked), &pause.as_secs_f64()],
    )
    .map(|_| ())
}
