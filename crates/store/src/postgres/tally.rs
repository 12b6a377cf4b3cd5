//! Counts of the crawl: each worker adds its changes to a row of its own, in the transaction that makes them.

use super::db::{Db, OwnedValues, get, int};
use crawl_model::{FrontierCounts, Outcome, StoreError};

/// This worker's part of the counts of a round. A part may be negative: another worker's part makes up for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// URLs in the queue, leased ones included.
    pub(super) pending: i64,
    pub(super) held: i64,
    /// Hosts with a URL in this round.
    pub(super) hosts: i64,
    /// Settled URLs by outcome, in the order of the columns.
    settled: [i64; 6],
    is_dirty: bool,
}

const LOAD: &str = "SELECT pending, held, hosts, records, failed, skipped, redirected, unchanged, gone \
                    FROM tallies WHERE worker = $1 AND round = $2";
const SAVE: &str = "UPDATE tallies SET pending = $3, held = $4, hosts = $5, records = $6, failed = $7, \
                    skipped = $8, redirected = $9, unchanged = $10, gone = $11 WHERE worker = $1 AND round = $2";
const SUM: &str = "SELECT coalesce(sum(pending), 0)::int8, coalesce(sum(held), 0)::int8, coalesce(sum(hosts), 0)::int8, \
                   coalesce(sum(records), 0)::int8, coalesce(sum(failed), 0)::int8, coalesce(sum(skipped), 0)::int8, \
                   coalesce(sum(redirected), 0)::int8, coalesce(sum(unchanged), 0)::int8, \
                   coalesce(sum(gone), 0)::int8, EXISTS (SELECT 1 FROM inbox) FROM tallies WHERE round = $1";

impl Tally {
    /// Reads the row of a worker, which is made if it is missing.
    pub(super) fn load(db: &mut Db, worker: i32, round: u32) -> Result<Self, StoreError> {
        let Some(row) = db.row(LOAD, &[&worker, &int(round)])? else {
            return Ok(Self::default());
        };
        let mut settled = [0; 6];
        for (n, count) in settled.iter_mut().enumerate() {
            *count = get(&row, 3 + n)?;
        }
        Ok(Self {
            pending: get(&row, 0)?,
            held: get(&row, 1)?,
            hosts: get(&row, 2)?,
            settled,
            is_dirty: false,
        })
    }

    pub(super) fn create(db: &mut Db, worker: i32, round: u32) -> Result<(), StoreError> {
        let insert = "INSERT INTO tallies (worker, round) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        db.execute(insert, &[&worker, &int(round)]).map(|_| ())
    }

    pub(super) fn add(&mut self, pending: i64, held: i64) {
        self.pending += pending;
        self.held += held;
        self.is_dirty |= pending != 0 || held != 0;
    }

    pub(super) fn add_hosts(&mut self, n: i64) {
        self.hosts += n;
        self.is_dirty |= n != 0;
    }

    /// Settled records of this worker.
    pub(super) const fn records(&self) -> i64 {
        self.settled[0]
    }

    pub(super) fn settle(&mut self, outcome: Outcome, n: i64) {
        self.settled[index(outcome)] += n;
        self.is_dirty |= n != 0;
    }

    /// Writes the row of the worker with the next statement, if it has changed.
    pub(super) fn save(&mut self, db: &mut Db, worker: i32, round: u32) -> Result<(), StoreError> {
        if !self.is_dirty {
            return Ok(());
        }
        let mut values: OwnedValues = vec![Box::new(worker), Box::new(int(round))];
        let counts = [self.pending, self.held, self.hosts].into_iter().chain(self.settled);
        values.extend(counts.map(|count| Box::new(count) as _));
        db.post(SAVE, values)?;
        self.is_dirty = false;
        Ok(())
    }
}

/// Counts over all workers, and true if links wait for their owners. `leased` URLs count as pending.
pub(super) fn total(db: &mut Db, round: u32) -> Result<(FrontierCounts, bool), StoreError> {
    let row = db.one(SUM, &[&int(round)])?;
    let number = |column| get::<i64>(&row, column).map(|n| u64::try_from(n).unwrap_or(0));
    let counts = FrontierCounts {
        pending: number(0)?,
        leased: 0,
        held: number(1)?,
        hosts: number(2)?,
        records: number(3)?,
        failed: number(4)?,
        skipped: number(5)?,
        redirected: number(6)?,
        unchanged: number(7)?,
        gone: number(8)?,
    };
    Ok((counts, get(&row, 9)?))
}

const fn index(outcome: Outcome) -> usize {
    match outcome {
        Outcome::Record => 0,
        Outcome::Failed => 1,
        Outcome::Skipped => 2,
        Outcome::Redirected => 3,
        Outcome::Unchanged => 4,
        Outcome::Gone => 5,
    }
}
