//! Limits of a run over all its workers: each worker is granted blocks. A run begins with a worker that starts while no other
//! has a lease.

use super::{
    Commit, Inner,
    db::{Db, get, int},
    memory::Memory,
};
use crawl_model::{Quota, StoreError};
use std::time::Duration;

/// Largest blocks.
const RECORDS: i64 = 256;
const BYTES: i64 = 64 << 20;

/// Least block of bytes.
const LEAST_BYTES: i64 = 64 << 10;

/// Sum of the other workers' blocks. A dead worker without hosts has used as many records as it has settled.
const OTHERS: &str = "SELECT coalesce(sum(CASE WHEN q.kind = 0 AND w.lease_until <= clock_timestamp() \
                      AND NOT EXISTS (SELECT 1 FROM hosts h WHERE h.owner = w.id) \
                      THEN least(q.granted, greatest(coalesce(t.records, 0) - q.before, 0)) ELSE q.granted END), 0)::int8, \
                      (SELECT count(*) FROM workers WHERE lease_until > clock_timestamp())::int8 \
                      FROM quotas q JOIN workers w ON w.id = q.worker \
                      LEFT JOIN tallies t ON t.worker = q.worker AND t.round = $3 WHERE q.kind = $2 AND q.worker <> $1";

/// Begins a run if no other worker has a lease. In the transaction that registers the worker.
pub(super) fn begin_run(db: &mut Db, worker: &str) -> Result<(), StoreError> {
    let row = db.one(
        "SELECT EXISTS (SELECT 1 FROM workers WHERE name <> $1 AND lease_until > clock_timestamp())",
        &[&worker],
    )?;
    if get::<bool>(&row, 0)? {
        return Ok(());
    }
    db.batch("DELETE FROM quotas; UPDATE crawls SET run_since = clock_timestamp()")
}

impl Inner {
    /// Time since the beginning of the run.
    pub(super) fn run_age(&mut self) -> Result<Duration, StoreError> {
        let age = "SELECT greatest(extract(epoch FROM clock_timestamp() - run_since), 0)::float8 FROM crawls";
        let seconds: f64 = get(&self.db.one(age, &[])?, 0)?;
        Ok(Duration::try_from_secs_f64(seconds).unwrap_or_default())
    }

    /// Reserves a further block of a limit if this process has used its part. Returns its part so far.
    pub(super) fn take_quota(&mut self, quota: Quota, limit: u64, used: u64) -> Result<u64, StoreError> {
        let (limit, used) =
            (i64::try_from(limit).unwrap_or(i64::MAX), i64::try_from(used).unwrap_or(i64::MAX));
        let allowed = self.write(Commit::Now, &[], |db, memory, _| {
            // one worker at a time
            db.one("SELECT round FROM crawls FOR UPDATE", &[])?;
            let (own, base) = granted(db, memory, quota)?;
            let row = db.one(OTHERS, &[&memory.worker, &code(quota), &int(memory.round)])?;
            let (others, workers): (i64, i64) = (get(&row, 0)?, get(&row, 1)?);
            let free = limit.saturating_sub(others).saturating_sub(own).max(0);
            let allowed = own - base;
            if used < allowed || free == 0 {
                return Ok(allowed);
            }
            let (least, most) = if quota == Quota::Records { (1, RECORDS) } else { (LEAST_BYTES, BYTES) };
            let block = (free / (2 * workers.max(1))).clamp(least, most);
            let grant = (used - allowed).saturating_add(block).min(free);
            let update = "UPDATE quotas SET granted = granted + $3 WHERE worker = $1 AND kind = $2";
            db.execute(update, &[&memory.worker, &code(quota), &grant])?;
            Ok(allowed + grant)
        })?;
        Ok(u64::try_from(allowed).unwrap_or(0))
    }
}

/// Blocks of this worker in the run, and those of its earlier processes.
fn granted(db: &mut Db, memory: &mut Memory, quota: Quota) -> Result<(i64, i64), StoreError> {
    let (place, kind) = (usize::from(quota == Quota::Bytes), code(quota));
    let select = "SELECT granted FROM quotas WHERE worker = $1 AND kind = $2";
    let known = memory.quota_bases[place];
    if let (Some(base), Some(row)) = (known, db.row(select, &[&memory.worker, &kind])?) {
        return Ok((get(&row, 0)?, base));
    }
    // records that an earlier process was granted and has not settled are free again
    let records = memory.tally.records();
    let row = db.one(
        "INSERT INTO quotas (worker, kind, granted, before) VALUES ($1, $2, 0, $3) ON CONFLICT (worker, kind) \
         DO UPDATE SET granted = CASE WHEN quotas.kind = 0 THEN least(quotas.granted, greatest($3 - quotas.before, 0)) \
         ELSE quotas.granted END RETURNING granted",
        &[&memory.worker, &kind, &records],
    )?;
    let base: i64 = get(&row, 0)?;
    memory.quota_bases[place] = Some(base);
    Ok((base, base))
}

const fn code(quota: Quota) -> i16 {
    match quota {
        Quota::Records => 0,
        Quota::Bytes => 1,
    }
}
