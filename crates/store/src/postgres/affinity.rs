//! Choice of hosts by registrable domain: hosts of one domain go to one worker where possible.
//!
//! A worker takes and releases domains whole where possible. It leaves the free hosts of a domain to a worker that
//! has hosts of the domain and room for more. A worker without work takes them at once, and any other worker after
//! [`PATIENCE`]. So a domain with more hosts than the share of a worker is distributed.

use super::db::{Db, get};
use crate::ledger::HostId;
use crawl_model::{StoreError, listed_domain};
use rustc_hash::FxHashMap;
use std::{
    cmp::Reverse,
    net::Ipv4Addr,
    time::{Duration, Instant},
};
use xxhash_rust::xxh3::xxh3_64;

/// Time after which a worker takes free hosts that it would leave to another one.
const PATIENCE: Duration = Duration::from_secs(5);

/// Time for which a worker has left free hosts to other workers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Patience {
    /// First and last search that left some hosts.
    left: Option<(Instant, Instant)>,
}

impl Patience {
    /// Records a search, which left some hosts or none. The time begins again if two searches are further apart than
    /// [`PATIENCE`].
    pub(super) fn note(&mut self, now: Instant, leaves_some: bool) {
        let goes_on = |last: Instant| now.saturating_duration_since(last) < PATIENCE;
        let first = self.left.filter(|(_, last)| goes_on(*last)).map_or(now, |(first, _)| first);
        self.left = leaves_some.then_some((first, now));
    }

    /// Returns true if the worker has left hosts for long enough.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.left.is_some_and(|(first, _)| now.saturating_duration_since(first) >= PATIENCE)
    }
}

/// Number of rows per statement.
const BATCH: i64 = 10_000;

/// Number of the domain of a host, from its name with or without a port. Addresses and names without a listed suffix are domains
/// of their own.
pub(super) fn domain_of(host: &str) -> i64 {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let is_address = name.starts_with('[') || name.parse::<Ipv4Addr>().is_ok();
    let domain = if is_address { None } else { listed_domain(name) };
    xxh3_64(domain.unwrap_or(host).as_bytes()).cast_signed()
}

/// Fills the domains of hosts that an earlier version wrote or computed by an earlier Public Suffix List.
pub(super) fn fill(db: &mut Db) -> Result<(), StoreError> {
    let mut after = 0_i32;
    while let Some(last) = fill_batch(db, after)? {
        after = last;
    }
    Ok(())
}

/// Fills the domains of the next hosts by number; returns the last one. Skips hosts that a worker is changing, since
/// waiting for them could end in a deadlock.
pub(super) fn fill_batch(db: &mut Db, after: i32) -> Result<Option<i32>, StoreError> {
    let rows = db.rows("SELECT id, name FROM hosts WHERE id > $1 ORDER BY id LIMIT $2", &[&after, &BATCH])?;
    let mut ids: Vec<i32> = Vec::with_capacity(rows.len());
    let mut domains: Vec<i64> = Vec::with_capacity(rows.len());
    for row in &rows {
        ids.push(get(row, 0)?);
        domains.push(domain_of(get(row, 1)?));
    }
    let Some(last) = ids.last().copied() else { return Ok(None) };
    db.execute(
        "WITH moved AS (SELECT h.id, n.domain FROM unnest($1::int[], $2::bigint[]) AS n (id, domain) \
         JOIN hosts h ON h.id = n.id WHERE h.domain IS DISTINCT FROM n.domain FOR NO KEY UPDATE OF h SKIP LOCKED) \
         UPDATE hosts SET domain = moved.domain FROM moved WHERE hosts.id = moved.id",
        &[&ids, &domains],
    )?;
    Ok(Some(last))
}

/// Position of a worker among those with a lease. Each begins its search for hosts at its own point of the number
/// range. It takes the new domains from there to the next worker's point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WorkerSlot {
    pub(super) index: usize,
    pub(super) workers: usize,
}

impl WorkerSlot {
    /// Lowest number of a domain of this slot.
    pub(super) fn start(self) -> i64 {
        let step = u64::MAX / self.workers.max(1) as u64;
        i64::MIN.wrapping_add_unsigned(step.wrapping_mul(self.index as u64))
    }

    /// Returns true if a new domain falls to this slot.
    pub(super) fn has(self, domain: i64) -> bool {
        let next = Self { index: self.index + 1, ..self };
        self.start() <= domain && (next.index >= self.workers || domain < next.start())
    }
}

/// Holder of a domain, in the order in which free hosts are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Holder {
    /// This worker has hosts of the domain.
    ThisWorker,
    /// Another worker has some, and no room for more.
    FullWorker,
    Nobody,
    /// Another worker has some, and room for more.
    OtherWorker,
}

/// A domain with free hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FreeDomain {
    pub(super) domain: i64,
    /// Number of free hosts, counted up to a bound.
    pub(super) hosts: usize,
    pub(super) holder: Holder,
}

/// Hosts that a worker may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClaimMode {
    /// It leaves hosts to the holders of their domain, and domains that do not fit.
    Fitting,
    /// It takes them all, after it has left them for long enough.
    Any,
    /// It has no work. It takes a domain without a holder whole, even if that does not fit.
    Idle,
}

/// Domains whose free hosts a worker with `room` takes, and the number of these hosts: `batch` or a little more. A
/// domain without a holder is taken if it fits whole.
pub(super) fn choose(
    mut free: Vec<FreeDomain>,
    start: i64,
    (room, batch): (usize, usize),
    claim_mode: ClaimMode,
) -> (Vec<i64>, usize) {
    free.sort_by_key(|found| (found.holder, found.domain.wrapping_sub(start).cast_unsigned()));
    let (mut chosen, mut hosts) = (Vec::new(), 0);
    for found in &free {
        let is_wanted = match found.holder {
            Holder::ThisWorker | Holder::FullWorker => true,
            Holder::Nobody => found.hosts <= room.saturating_sub(hosts),
            Holder::OtherWorker => false,
        };
        if is_wanted && hosts < room.min(batch) {
            chosen.push(found.domain);
            hosts += found.hosts.min(room - hosts);
        }
    }
    match (free.first(), claim_mode) {
        (Some(first), ClaimMode::Idle) if chosen.is_empty() && first.holder == Holder::Nobody => {
            return (vec![first.domain], first.hosts);
        }
        (_, ClaimMode::Any) => {}
        (_, ClaimMode::Idle) if chosen.is_empty() => {}
        _ => return (chosen, hosts),
    }
    for found in &free {
        if hosts < room.min(batch) && !chosen.contains(&found.domain) {
            chosen.push(found.domain);
            hosts += found.hosts.min(room - hosts);
        }
    }
    (chosen, hosts)
}

/// A host that may go to another worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Movable {
    pub(super) host: HostId,
    pub(super) domain: i64,
    /// Number of its held pages, which its next owner fetches again.
    pub(super) held: usize,
    /// True if the worker has leased pages of it.
    pub(super) is_begun: bool,
}

/// Chooses `surplus` hosts to release, or up to `tolerance` fewer to keep a domain whole. `sizes` is the number of
/// hosts with work by domain. Domains with the fewest held pages go first. A domain that is larger than the rest of
/// the surplus is divided.
pub(super) fn choose_surplus(
    movable: Vec<Movable>,
    sizes: &FxHashMap<i64, usize>,
    surplus: usize,
    tolerance: usize,
) -> Vec<HostId> {
    let mut domains: FxHashMap<i64, Vec<Movable>> = FxHashMap::default();
    for host in movable {
        domains.entry(host.domain).or_default().push(host);
    }
    let mut domains: Vec<Vec<Movable>> = domains.into_values().collect();
    domains.sort_by_cached_key(|hosts| {
        let held: usize = hosts.iter().map(|host| host.held).sum();
        let begun = hosts.iter().filter(|host| host.is_begun).count();
        (held, begun, Reverse(hosts.len()), hosts.iter().map(|host| host.host).min())
    });
    let mut given = Vec::with_capacity(surplus);
    let mut others = Vec::new();
    for mut hosts in domains {
        hosts.sort_by_key(|host| (host.is_begun, host.held, host.host));
        let size = hosts.first().and_then(|host| sizes.get(&host.domain)).copied().unwrap_or(0);
        if size <= hosts.len() && hosts.len() <= surplus - given.len() {
            given.extend(hosts.iter().map(|host| host.host));
        } else {
            others.push((size, hosts));
        }
    }
    let rest = surplus - given.len();
    if rest > tolerance {
        others.sort_by_key(|(size, _)| Reverse(*size));
        let hosts = others.iter().flat_map(|(_, hosts)| hosts).map(|host| host.host);
        given.extend(hosts.take(rest));
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_one_domain_share_its_number() {
        let of_domain = domain_of("example.co.uk");
        for host in ["www.example.co.uk", "a.b.example.co.uk:8443"] {
            assert_eq!(domain_of(host), of_domain, "{host}");
        }
        let alone = [
            "other.co.uk",
            "co.uk",
            "a.internal",
            "b.internal",
            "10.0.0.1",
            "10.0.0.1:81",
            "[::1]",
            "[::1]:81",
        ];
        let mut numbers: Vec<i64> = alone.iter().map(|host| domain_of(host)).collect();
        numbers.push(of_domain);
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), alone.len() + 1);
    }

    #[test]
    fn each_domain_belongs_to_one_worker_slot() {
        for workers in 1..5 {
            let slots = (0..workers).map(|index| WorkerSlot { index, workers });
            for domain in [i64::MIN, -7, 0, 1 << 61, i64::MAX] {
                assert_eq!(slots.clone().filter(|slot| slot.has(domain)).count(), 1, "{domain} of {workers}");
            }
        }
    }

    fn free(domain: i64, hosts: usize, holder: Holder) -> FreeDomain {
        FreeDomain { domain, hosts, holder }
    }

    #[test]
    fn free_domains_are_claimed_whole() {
        use Holder::{FullWorker, Nobody, OtherWorker, ThisWorker};
        let all = vec![
            free(1, 5, Nobody),
            free(2, 5, OtherWorker),
            free(3, 1, ThisWorker),
            free(4, 9, Nobody),
            free(5, 2, FullWorker),
            free(6, 3, Nobody),
        ];
        let domains =
            |all: &[FreeDomain], start, room, claim_mode| choose(all.to_vec(), start, room, claim_mode).0;
        assert_eq!(domains(&all, 0, (13, 50), ClaimMode::Fitting), [3, 5, 1, 6], "4 does not fit");
        assert_eq!(
            domains(&all, 4, (17, 50), ClaimMode::Fitting),
            [3, 5, 4, 6],
            "from the start on, in a circle"
        );
        assert_eq!(domains(&all, 0, (50, 4), ClaimMode::Fitting), [3, 5, 1], "a batch");
        let others = [free(1, 5, OtherWorker), free(2, 9, Nobody)];
        assert_eq!(choose(others.to_vec(), 0, (4, 50), ClaimMode::Fitting), (vec![], 0));
        assert_eq!(choose(others.to_vec(), 0, (4, 50), ClaimMode::Any), (vec![2], 4));
        assert_eq!(domains(&all, 0, (13, 50), ClaimMode::Any), [3, 5, 1, 6, 4], "besides those that fit");
        assert_eq!(choose(others.to_vec(), 0, (4, 50), ClaimMode::Idle), (vec![2], 9));
        assert_eq!(domains(&others, 0, (10, 50), ClaimMode::Idle), [2], "a domain that fits comes first");
        assert_eq!(choose(others[..1].to_vec(), 0, (9, 50), ClaimMode::Idle), (vec![1], 5));
    }

    #[test]
    fn patience_ends_even_while_other_hosts_are_claimed() {
        let begun = Instant::now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        let mut patience = Patience::default();
        (0..5).for_each(|second| patience.note(after(second), true));
        assert!(!patience.is_over(after(4)) && patience.is_over(after(5)));
        patience.note(after(5), false);
        assert!(!patience.is_over(after(9)), "nothing was left");
        patience.note(after(6), true);
        patience.note(after(60), true);
        assert!(!patience.is_over(after(61)), "other hosts are left");
    }

    /// Hosts of domains of these sizes, numbered in their order.
    fn hosts(sizes: &[usize]) -> (Vec<Movable>, FxHashMap<i64, usize>) {
        let domains = (0_i64..).zip(sizes).flat_map(|(domain, size)| vec![domain; *size]);
        let movable = (1..).zip(domains);
        let movable = movable.map(|(host, domain)| Movable { host, domain, held: 0, is_begun: false });
        (movable.collect(), (0..).zip(sizes.iter().copied()).collect())
    }

    #[test]
    fn surplus_hosts_are_released_in_whole_domains() {
        let (movable, sizes) = hosts(&[2, 3, 2, 4]);
        assert_eq!(choose_surplus(movable.clone(), &sizes, 4, 0), [8, 9, 10, 11]);
        assert_eq!(choose_surplus(movable.clone(), &sizes, 3, 0), [3, 4, 5]);
        assert_eq!(choose_surplus(movable.clone(), &sizes, 1, 1), [0_i64; 0]);
        assert_eq!(choose_surplus(movable.clone(), &sizes, 1, 0), [8], "the largest domain is divided");
        let held = |mut all: Vec<Movable>| {
            all[10].held = 1;
            all
        };
        assert_eq!(choose_surplus(held(movable.clone()), &sizes, 4, 1), [3, 4, 5], "held pages stay");
        let fixed: Vec<Movable> = movable.into_iter().filter(|host| host.host != 8).collect();
        assert_eq!(choose_surplus(fixed, &sizes, 3, 0), [3, 4, 5], "a domain whose first host stays");
    }

    #[test]
    fn a_domain_larger_than_the_surplus_is_divided() {
        let (movable, sizes) = hosts(&[10_000]);
        assert_eq!(choose_surplus(movable, &sizes, 5_000, 250).len(), 5_000);
    }
}
