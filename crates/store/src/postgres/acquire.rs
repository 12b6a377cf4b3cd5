//! Acquisition of hosts that no live worker owns. [`affinity`](super::affinity) chooses among them by their domain.

use super::{
    Commit, Inner,
    affinity::{ClaimMode, FreeDomain, Holder, WorkerSlot, choose, domain_of},
    db::{Db, get, small, unsigned},
    hosts::{Host, add_owned_hosts, busy_number, ints, load, lock_round},
    memory::Memory,
};
use crate::{codes, ledger::HostId};
use crawl_model::{HostKey, Lane, StoreError, instant};
use rustc_hash::FxHashMap;
use std::{
    ops::Bound::{Excluded, Unbounded},
    time::Duration,
};

/// Maximum number of hosts per call.
const BATCH: i64 = 50;

/// Hosts that a worker takes by their first link while there are other workers.
const SHARE: usize = 200;

/// Domains that one call looks at: of free hosts on each side of the slot of the worker, and of its own hosts.
const WINDOW: usize = 128;

/// Maximum number of hosts per pass that are freed: unowned hosts whose pause has ended, and hosts of dead workers.
const MAX_FREED: i64 = 5_000;

/// Ends the pauses of hosts without an owner.
const END_PAUSES: &str = "WITH rested AS (SELECT id FROM hosts WHERE owner IS NULL AND not_before < statement_timestamp() \
                    ORDER BY not_before LIMIT $1 FOR UPDATE SKIP LOCKED) \
                    UPDATE hosts SET not_before = NULL FROM rested WHERE hosts.id = rested.id";

/// Takes paused hosts from workers that died ten minutes ago, so that a search for hosts does not walk over them. A
/// worker that restarts before that has them back.
const SET_FREE: &str = "WITH expired AS (SELECT h.id FROM workers w CROSS JOIN LATERAL ( \
                        SELECT id FROM hosts WHERE owner = w.id AND not_before >= clock_timestamp() \
                        AND w.lease_until + make_interval(secs => greatest($3, pause)) < clock_timestamp() \
                        ORDER BY domain, id LIMIT $2 FOR UPDATE SKIP LOCKED) AS h \
                        WHERE w.id <> $1 AND w.lease_until + make_interval(secs => $3) < clock_timestamp() \
                        AND w.lease_until + interval '10 min' < clock_timestamp() \
                        LIMIT $2 FOR SHARE OF w SKIP LOCKED) \
                        UPDATE hosts SET owner = NULL, epoch = epoch + 1 FROM expired WHERE hosts.id = expired.id";

/// Free hosts of this worker's next domains, by number. Paused ones have `not_before`.
const FREE: &str = "WITH free AS (SELECT id FROM hosts WHERE active AND owner IS NULL AND not_before IS NULL \
                    ORDER BY id LIMIT $2 \
                    FOR UPDATE SKIP LOCKED) \
                    UPDATE hosts SET owner = $1, epoch = epoch + 1 FROM free WHERE hosts.id = free.id \
                    RETURNING hosts.id, epoch, round, active, name, domain";

const FREE_OF_DOMAINS: &str = "WITH free AS (SELECT id FROM hosts WHERE active AND owner IS NULL \
                               AND not_before IS NULL AND domain = ANY($3) \
                               ORDER BY array_position($3, domain), id LIMIT $2 FOR UPDATE SKIP LOCKED) \
                               UPDATE hosts SET owner = $1, epoch = epoch + 1 FROM free WHERE hosts.id = free.id \
                               RETURNING hosts.id, epoch, round, active, name, domain";

/// Hosts of dead workers, of the domains from `$4` to `$5`.
const EXPIRED: &str = "WITH expired AS (SELECT h.id FROM workers w CROSS JOIN LATERAL ( \
                       SELECT id FROM hosts WHERE owner = w.id AND domain BETWEEN $4 AND $5 \
                       AND coalesce(not_before < clock_timestamp(), true) \
                       AND w.lease_until + make_interval(secs => greatest($3, pause)) < clock_timestamp() \
                       ORDER BY domain, id LIMIT $2 FOR UPDATE SKIP LOCKED) AS h \
                       WHERE w.id <> $1 AND w.lease_until + make_interval(secs => $3) < clock_timestamp() \
                       LIMIT $2 FOR SHARE OF w SKIP LOCKED) \
                       UPDATE hosts SET owner = $1, epoch = epoch + 1 FROM expired WHERE hosts.id = expired.id \
                       RETURNING hosts.id, epoch, round, active, name, domain";

const LINKED: &str = "WITH linked AS (SELECT id FROM hosts WHERE owner IS NULL \
                      AND coalesce(not_before < clock_timestamp(), true) \
                      AND id IN (SELECT host FROM inbox ORDER BY id LIMIT 1000) \
                      AND ($3::bigint[] IS NULL OR domain = ANY($3)) ORDER BY id LIMIT $2 \
                      FOR UPDATE SKIP LOCKED) \
                      UPDATE hosts SET owner = $1, epoch = epoch + 1 FROM linked WHERE hosts.id = linked.id \
                      RETURNING hosts.id, epoch, round, active, name, domain";

/// Domains of free hosts, with a number of them and two of the owners of other hosts of the domain. The query steps
/// from domain to domain, independent of their number of hosts.
const FREE_DOMAINS: &str = "WITH RECURSIVE ahead (domain, n) AS ( \
     (SELECT domain, 1 FROM hosts WHERE active AND owner IS NULL \
      AND not_before IS NULL AND domain >= $1 ORDER BY domain LIMIT 1) \
     UNION ALL SELECT next.domain, n + 1 FROM ahead, LATERAL (SELECT domain FROM hosts WHERE active AND owner IS NULL \
      AND not_before IS NULL AND domain > ahead.domain ORDER BY domain LIMIT 1) AS next \
      WHERE n < $2), \
     behind (domain, n) AS ( \
     (SELECT domain, 1 FROM hosts WHERE active AND owner IS NULL \
      AND not_before IS NULL AND domain < $1 ORDER BY domain LIMIT 1) \
     UNION ALL SELECT next.domain, n + 1 FROM behind, LATERAL (SELECT domain FROM hosts WHERE active AND owner IS NULL \
      AND not_before IS NULL AND domain > behind.domain ORDER BY domain LIMIT 1) AS next \
      WHERE n < $2 AND next.domain < $1), \
     found AS (SELECT domain, sum(n) AS linked FROM (SELECT domain, 0 AS n FROM ahead \
      UNION ALL SELECT domain, 0 FROM behind UNION ALL SELECT unnest($3::bigint[]), 0 \
      UNION ALL SELECT domain, 1 FROM hosts WHERE owner IS NULL AND NOT active \
      AND coalesce(not_before < clock_timestamp(), true) AND id IN (SELECT host FROM inbox ORDER BY id LIMIT 1000)) AS named GROUP BY domain) \
     SELECT f.domain, f.linked::int8 + free.n, \
     (SELECT owner FROM hosts o WHERE o.domain = f.domain AND o.owner IS NOT NULL ORDER BY owner LIMIT 1), \
     (SELECT owner FROM hosts o WHERE o.domain = f.domain AND o.owner IS NOT NULL ORDER BY owner DESC LIMIT 1) \
     FROM found f CROSS JOIN LATERAL (SELECT count(*) AS n FROM (SELECT FROM hosts h WHERE h.active AND h.owner IS NULL \
      AND h.not_before IS NULL AND h.domain = f.domain \
      ORDER BY h.domain, h.id LIMIT 51) AS counted) AS free \
     WHERE f.linked + free.n > 0";

/// Two of the owners of hosts of each domain.
const OWNERS: &str = "SELECT d.domain, \
     (SELECT owner FROM hosts o WHERE o.domain = d.domain AND o.owner IS NOT NULL ORDER BY owner LIMIT 1), \
     (SELECT owner FROM hosts o WHERE o.domain = d.domain AND o.owner IS NOT NULL ORDER BY owner DESC LIMIT 1) \
     FROM unnest($1::bigint[]) AS d (domain)";

/// Bounds of one call.
#[derive(Clone, Copy)]
struct Wanted {
    /// Hosts of each kind, at most.
    limit: i64,
    /// Hosts that this worker may have; `None` for no limit.
    share: Option<usize>,
    /// Rest of hosts of an expired worker after its lease.
    pause: Duration,
    /// True if there is no other worker.
    is_alone: bool,
    claim_mode: ClaimMode,
}

/// Result of one call.
struct Taken {
    hosts: usize,
    /// True if free hosts were left for the sake of their domain.
    leaves_some: bool,
}

impl Inner {
    /// Takes free hosts: all if this worker is alone.
    pub(super) fn acquire(&mut self) -> Result<(), StoreError> {
        let now = instant();
        loop {
            let room = self.share.map(|most| most.saturating_sub(self.memory.busy_hosts()));
            let limit = room.map_or(BATCH, |room| i64::try_from(room).unwrap_or(BATCH)).clamp(1, BATCH);
            let claim_mode = match (self.memory.ledger.total().drained(), self.patience.is_over(now)) {
                (true, _) => ClaimMode::Idle,
                (false, true) => ClaimMode::Any,
                (false, false) => ClaimMode::Fitting,
            };
            let (share, pause, is_alone) = (self.share, self.pause, self.alone);
            let wanted = Wanted { limit, share, pause, is_alone, claim_mode };
            let taken = self.write(Commit::Later, &[], |db, memory, _| acquire(db, memory, wanted))?;
            self.patience.note(now, taken.leaves_some);
            if taken.hosts > 0 {
                self.put_back_foreign()?;
            }
            if taken.hosts == 0 || !self.alone {
                return Ok(());
            }
            self.renew()?;
        }
    }
}

/// Takes hosts without a live owner. Hosts of an expired owner stay paused for a while after its lease. A lock of its
/// row keeps the owner from a renewal in the same moment.
fn acquire(db: &mut Db, memory: &mut Memory, wanted: Wanted) -> Result<Taken, StoreError> {
    let Wanted { limit, pause, is_alone, .. } = wanted;
    lock_round(db, memory)?;
    let mut taken = Vec::new();
    let (worker, pause) = (memory.worker, pause.as_secs_f64());
    // before the rows of other workers: two workers that take hosts from each other wait for no row
    db.rows("SELECT FROM workers WHERE id = $1 FOR NO KEY UPDATE", &[&worker])?;
    db.execute(END_PAUSES, &[&MAX_FREED])?;
    let (mut start, mut leaves_some) = (i64::MIN, false);
    if is_alone {
        taken.extend(add_owned_hosts(memory, &db.rows(FREE, &[&worker, &limit])?)?);
        taken.extend(add_owned_hosts(memory, &db.rows(LINKED, &[&worker, &limit, &None::<Vec<i64>>])?)?);
    } else {
        let live = LiveWorkers::read(db, worker)?;
        start = live.slot.start();
        let free = free_domains(db, memory, &live, wanted.share)?;
        let room = wanted.share.map_or(usize::MAX, |most| most.saturating_sub(memory.busy_hosts()).max(1));
        let batch = usize::try_from(limit).unwrap_or(usize::MAX);
        let domains_free = free.len();
        let (domains, hosts) = choose(free, start, (room, batch), wanted.claim_mode);
        if !domains.is_empty() {
            let most = i64::try_from(hosts).unwrap_or(BATCH).min(BATCH);
            taken.extend(add_owned_hosts(memory, &db.rows(FREE_OF_DOMAINS, &[&worker, &most, &domains])?)?);
            taken.extend(add_owned_hosts(memory, &db.rows(LINKED, &[&worker, &most, &Some(&domains)])?)?);
        }
        leaves_some = domains.len() < domains_free && hosts < room.min(batch);
    }
    db.execute(SET_FREE, &[&worker, &MAX_FREED, &pause])?;
    // the domains from the slot of this worker on, then those before it
    for (least, most) in [(start, i64::MAX), (i64::MIN, start)] {
        if taken.is_empty() {
            let rows = db.rows(EXPIRED, &[&worker, &limit, &pause, &least, &most])?;
            taken.extend(add_owned_hosts(memory, &rows)?);
        }
    }
    if !taken.is_empty() {
        // other workers have given out larger tokens for URLs of these hosts
        memory.skip_tokens();
        forget_strategies(db, &taken)?;
        load(db, memory, &taken)?;
        let busy = "UPDATE workers SET busy = $2 WHERE id = $1";
        db.execute(busy, &[&memory.worker, &busy_number(memory)])?;
    }
    Ok(Taken { hosts: taken.len(), leaves_some })
}

/// Workers that have a lease, with their hosts that have work.
struct LiveWorkers {
    worker: i32,
    slot: WorkerSlot,
    busy: FxHashMap<i32, usize>,
}

impl LiveWorkers {
    fn read(db: &mut Db, worker: i32) -> Result<Self, StoreError> {
        let live =
            "SELECT id, busy FROM workers WHERE id = $1 OR lease_until > clock_timestamp() ORDER BY id";
        let rows = db.rows(live, &[&worker])?;
        let mut busy = FxHashMap::default();
        let mut slot = WorkerSlot { index: 0, workers: rows.len() };
        for (index, row) in rows.iter().enumerate() {
            let id: i32 = get(row, 0)?;
            if id == worker {
                slot.index = index;
            }
            busy.insert(id, usize::try_from(get::<i32>(row, 1)?).unwrap_or(0));
        }
        Ok(Self { worker, slot, busy })
    }

    /// The holder of a domain of which this worker has no hosts.
    fn holder(&self, owners: [Option<i32>; 2], share: Option<usize>) -> Holder {
        let others = owners.into_iter().flatten().filter(|owner| *owner != self.worker);
        let busy: Vec<usize> = others.filter_map(|owner| self.busy.get(&owner).copied()).collect();
        if busy.is_empty() {
            Holder::Nobody
        } else if busy.iter().any(|busy| share.is_none_or(|share| *busy < share)) {
            Holder::OtherWorker
        } else {
            Holder::FullWorker
        }
    }
}

/// Domains of free hosts from the slot of this worker on, of hosts with links, and of this worker's hosts in turn.
fn free_domains(
    db: &mut Db,
    memory: &mut Memory,
    live: &LiveWorkers,
    share: Option<usize>,
) -> Result<Vec<FreeDomain>, StoreError> {
    let own = |after| memory.domains.range((after, Unbounded)).map(|(domain, _)| *domain).take(WINDOW);
    let mut probes: Vec<i64> = own(Excluded(memory.probed)).collect();
    if probes.is_empty() {
        probes = own(Unbounded).collect();
    }
    memory.probed = probes.last().copied().unwrap_or(i64::MIN);
    let window = i32::try_from(WINDOW).unwrap_or(i32::MAX);
    let rows = db.rows(FREE_DOMAINS, &[&live.slot.start(), &window, &probes])?;
    let mut free = Vec::with_capacity(rows.len());
    for row in &rows {
        let domain: i64 = get(row, 0)?;
        let is_own = memory.domains.contains_key(&domain);
        let owners = [get(row, 2)?, get(row, 3)?];
        let holder = if is_own { Holder::ThisWorker } else { live.holder(owners, share) };
        free.push(FreeDomain { domain, hosts: unsigned(row, 1)?, holder });
    }
    Ok(free)
}

/// Takes the unowned hosts among some names, and records the owners of the others.
pub(super) fn claim(db: &mut Db, memory: &mut Memory, names: &[&str], alone: bool) -> Result<(), StoreError> {
    lock_round(db, memory)?;
    // in one order: workers that add the same hosts wait for each other
    let mut names = names.to_vec();
    names.sort_unstable();
    let names = names.as_slice();
    let domains: Vec<i64> = names.iter().map(|name| domain_of(name)).collect();
    db.execute(
        "INSERT INTO hosts (name, domain) SELECT * FROM unnest($1::text[], $2::bigint[]) ON CONFLICT DO NOTHING",
        &[&names, &domains],
    )?;
    let names_to_take = if alone { names.to_vec() } else { own_part(db, memory, names, &domains)? };
    if !names_to_take.is_empty() {
        let rows = db.rows(
            "WITH free AS (SELECT id FROM hosts WHERE name = ANY($2) AND owner IS NULL \
             AND coalesce(not_before < clock_timestamp(), true) ORDER BY id FOR UPDATE SKIP LOCKED) \
             UPDATE hosts SET owner = $1, epoch = epoch + 1 FROM free WHERE hosts.id = free.id \
             RETURNING hosts.id, epoch, round, active, name, domain",
            &[&memory.worker, &names_to_take],
        )?;
        let taken = add_owned_hosts(memory, &rows)?;
        let worked: Vec<HostId> = taken.into_iter().filter(|id| is_active(memory, *id)).collect();
        if !worked.is_empty() {
            memory.skip_tokens();
            forget_strategies(db, &worked)?;
            load(db, memory, &worked)?;
        }
    }
    let rows =
        db.rows("SELECT id, round, active, name, domain FROM hosts WHERE name = ANY($1)", &[&names])?;
    for row in rows {
        let host = Host {
            id: i64::from(get::<i32>(&row, 0)?),
            epoch: None,
            round: i64::from(get::<i32>(&row, 1)?),
            active: get(&row, 2)?,
            domain: get(&row, 4)?,
        };
        memory.hosts.entry(HostKey::from_stored(get::<&str>(&row, 3)?)).or_insert(host);
    }
    Ok(())
}

/// New hosts that this worker takes by their first link: those of its domains, and those of its part of new domains. The others
/// are free for workers that look for work.
fn own_part<'n>(
    db: &mut Db,
    memory: &Memory,
    names: &[&'n str],
    domains: &[i64],
) -> Result<Vec<&'n str>, StoreError> {
    if memory.names.len() >= SHARE {
        return Ok(Vec::new());
    }
    let live = LiveWorkers::read(db, memory.worker)?;
    let mut held = FxHashMap::default();
    for row in db.rows(OWNERS, &[&domains])? {
        let owners = [get(&row, 1)?, get(&row, 2)?];
        held.insert(get::<i64>(&row, 0)?, live.holder(owners, None) != Holder::Nobody);
    }
    let is_own = |domain: &i64| {
        memory.domains.contains_key(domain) || (held.get(domain) == Some(&false) && live.slot.has(*domain))
    };
    let names = names.iter().zip(domains).filter(|(_, domain)| is_own(domain));
    Ok(names.map(|(name, _)| *name).collect())
}

fn is_active(memory: &Memory, id: HostId) -> bool {
    memory.names.get(&id).and_then(|name| memory.hosts.get(name)).is_some_and(|host| host.active)
}

/// Makes URLs of taken hosts pending without attempts: the results of earlier strategies are on another disk.
fn forget_strategies(db: &mut Db, hosts: &[HostId]) -> Result<(), StoreError> {
    let hosts = ints(hosts);
    db.execute(
        "UPDATE urls SET strategy = NULL, attempt = NULL FROM queue q WHERE q.host = ANY($1) AND q.due IS NOT NULL \
         AND urls.host = q.host AND urls.id = q.id AND urls.strategy IS NOT NULL",
        &[&hosts],
    )?;
    let (plain, browser) = (small(codes::lane(Lane::Plain)), small(codes::lane(Lane::Browser)));
    db.execute("UPDATE queue SET lane = $2 WHERE host = ANY($1) AND lane = $3", &[&hosts, &plain, &browser])?;
    Ok(())
}
