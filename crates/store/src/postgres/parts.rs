//! Workers, and the files of the output that each of them writes. The length of a file is its mark, which the settling
//! transaction stores.

use super::{
    Commit, Inner, PgOptions, PgStore,
    connect::Target,
    db::{Db, get, int, uint, unsigned},
    migrate, own, quota,
};
use crate::upkeep::{OutputPart, WorkerStart, WorkerState};
use crawl_model::StoreError;

const PARTS: &str = "SELECT p.path, w.name, p.epoch, p.seq, p.round, p.mark, coalesce(p.bytes, o.reach, 0), p.bytes IS NOT NULL, \
                     p.worker \
                     FROM parts p JOIN workers w ON w.id = p.worker LEFT JOIN outputs o ON o.name = p.mark \
                     ORDER BY p.round, w.name, p.epoch, p.seq, p.path";

/// Files of one worker, whose names have no star: outputs with a settled byte that are no part. The error log is no output: its
/// worker notes its path, and a worker of an earlier program has it under its usual name. The mark of a folder is that of its
/// index. A file that was moved is listed under its last name, and one that another worker continued once.
const PLAIN: &str = "SELECT DISTINCT ON (coalesce(nullif(file.value, ''), convert_to(o.name, 'UTF8'))) \
                     o.path, w.name, w.epoch, coalesce(convert_from(round.value, 'UTF8')::int, 0), o.reach, \
                     coalesce(open.value <> '1', true) \
                     FROM workers w CROSS JOIN LATERAL (SELECT 'worker ' || w.id || ' ' AS prefix) p \
                     CROSS JOIN LATERAL (SELECT name, substr(name, length(prefix) + 1) AS path, reach FROM outputs \
                     WHERE starts_with(name, prefix) AND reach > 0 \
                     AND NOT EXISTS (SELECT 1 FROM parts WHERE mark = outputs.name)) o \
                     LEFT JOIN settings file ON file.name = prefix || 'file:' || path \
                     LEFT JOIN settings round ON round.name = prefix || 'round:' || path \
                     LEFT JOIN settings open ON open.name = prefix || 'open:' || path \
                     WHERE path LIKE '/%' AND strpos(path, 'part-' || w.name || '-') = 0 \
                     AND NOT EXISTS (SELECT 1 FROM settings log WHERE log.name = prefix || 'error_log:' || path) \
                     AND (path NOT LIKE '%/errors.jsonl' \
                     OR EXISTS (SELECT 1 FROM settings log WHERE starts_with(log.name, prefix || 'error_log:'))) \
                     ORDER BY coalesce(nullif(file.value, ''), convert_to(o.name, 'UTF8')), 4 DESC, o.reach DESC, \
                     open.value DESC NULLS LAST";

const WORKERS: &str = "SELECT w.name, w.epoch, (extract(epoch FROM w.since) * 1000)::int8, \
                       (extract(epoch FROM w.lease_until - clock_timestamp()) * 1000)::int8, \
                       (SELECT count(*) FROM hosts h WHERE h.owner = w.id), \
                       coalesce(t.records, 0)::int8, coalesce(t.failed, 0)::int8, \
                       coalesce(t.records + t.failed + t.skipped + t.redirected + t.unchanged + t.gone, 0)::int8, \
                       coalesce((t.pending, t.held, t.hosts, t.records, t.failed, t.skipped, t.redirected, t.unchanged, t.gone) \
                       <> (0, 0, 0, 0, 0, 0, 0, 0, 0), false) \
                       FROM workers w LEFT JOIN tallies t ON t.worker = w.id AND t.round = $1 ORDER BY w.name";

impl PgStore {
    /// This worker and the number of its start; `None` for a reader.
    ///
    /// # Errors
    /// When storage fails.
    pub fn started(&self) -> Result<Option<WorkerStart>, StoreError> {
        Ok(self.ready()?.start.clone())
    }

    /// Notes a file that this worker begins to write.
    ///
    /// # Errors
    /// When storage fails.
    pub fn note_part(&self, part: &OutputPart) -> Result<(), StoreError> {
        self.ready()?.write(Commit::Now, &[], |db, memory, _| {
            db.execute(
                "INSERT INTO parts (path, worker, epoch, seq, round, mark) VALUES ($1, $2, $3, $4, $5, $6) \
                 ON CONFLICT DO NOTHING",
                &[
                    &part.path,
                    &memory.worker,
                    &part.epoch,
                    &int(part.seq),
                    &int(memory.round),
                    &own::output(memory.worker, &part.mark),
                ],
            )
            .map(|_| ())
        })
    }

    /// Notes that a file of this worker is complete, with its length. A file without a record is no part any more.
    ///
    /// # Errors
    /// When storage fails.
    pub fn complete_part(&self, path: &str, bytes: u64) -> Result<(), StoreError> {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.ready()?.write(Commit::Now, &[], |db, memory, _| {
            let worker = &memory.worker;
            if bytes == 0 {
                db.execute("DELETE FROM parts WHERE worker = $1 AND path = $2", &[worker, &path])?;
            } else {
                let change = "UPDATE parts SET bytes = $3 WHERE worker = $1 AND path = $2";
                db.execute(change, &[worker, &path, &bytes])?;
            }
            Ok(())
        })
    }

    /// The files of all workers, by round and worker.
    ///
    /// # Errors
    /// When storage fails.
    pub fn all_parts(&self) -> Result<Vec<OutputPart>, StoreError> {
        self.ready()?.parts()
    }

    /// The files of all workers: parts, and outputs that one worker writes without parts.
    ///
    /// # Errors
    /// When storage fails.
    pub fn all_outputs(&self) -> Result<Vec<OutputPart>, StoreError> {
        let mut inner = self.ready()?;
        let mut outputs = inner.parts()?;
        for row in &inner.db.rows(PLAIN, &[])? {
            let path: String = get(row, 0)?;
            outputs.push(OutputPart {
                mark: path.clone(),
                path,
                worker: get(row, 1)?,
                epoch: get(row, 2)?,
                seq: 0,
                round: uint(get(row, 3)?),
                bytes: unsigned(row, 4)?,
                is_complete: get(row, 5)?,
            });
        }
        Ok(outputs)
    }

    /// All workers by name.
    ///
    /// # Errors
    /// When storage fails.
    pub fn all_workers(&self) -> Result<Vec<WorkerState>, StoreError> {
        let mut inner = self.ready()?;
        let round = int(inner.memory.round);
        let rows = inner.db.rows(WORKERS, &[&round])?;
        let mut workers = Vec::with_capacity(rows.len());
        for row in &rows {
            workers.push(WorkerState {
                name: get(row, 0)?,
                starts: get(row, 1)?,
                since_ms: get(row, 2)?,
                lease_ms: get(row, 3)?,
                hosts: unsigned(row, 4)?,
                records: get(row, 5)?,
                failed: get(row, 6)?,
                settled: get(row, 7)?,
                has_counts: get(row, 8)?,
            });
        }
        Ok(workers)
    }
}

impl Inner {
    fn parts(&mut self) -> Result<Vec<OutputPart>, StoreError> {
        let rows = self.db.rows(PARTS, &[])?;
        let mut parts = Vec::with_capacity(rows.len());
        for row in &rows {
            let (worker, stored): (i32, &str) = (get(row, 8)?, get(row, 5)?);
            parts.push(OutputPart {
                path: get(row, 0)?,
                worker: get(row, 1)?,
                epoch: get(row, 2)?,
                seq: uint(get(row, 3)?),
                round: uint(get(row, 4)?),
                mark: own::plain(worker, stored).unwrap_or(stored).to_owned(),
                bytes: unsigned(row, 6)?,
                is_complete: get(row, 7)?,
            });
        }
        Ok(parts)
    }
}

/// Makes or renews the row of a worker; returns its number and its start.
pub(super) fn register(
    db: &mut Db,
    target: &Target,
    options: &PgOptions,
    lease: f64,
) -> Result<(i32, WorkerStart), StoreError> {
    let name = options.worker.as_str();
    db.batch("BEGIN; SET LOCAL synchronous_commit = on")?;
    // of workers that start at the same moment, one begins the run
    db.one("SELECT round FROM crawls FOR UPDATE", &[])?;
    // an upgrade may have ended since the last look
    migrate::verify(db, target)?;
    if options.begins_run {
        quota::begin_run(db, name)?;
    }
    let row = db.one(
        "INSERT INTO workers (name, lease_until, epoch) \
         VALUES ($1, clock_timestamp() + make_interval(secs => $2), 1) \
         ON CONFLICT (name) DO UPDATE SET since = clock_timestamp(), lease_until = excluded.lease_until, \
         epoch = workers.epoch + 1 RETURNING id, epoch",
        &[&name, &lease],
    )?;
    db.batch("COMMIT")?;
    Ok((get(&row, 0)?, WorkerStart { name: name.to_owned(), epoch: get(&row, 1)? }))
}
