//! Another visit of URLs that failed in the current round. They go through the inbox like links, so the owner of each
//! host queues them under its own fence and no worker must stop.

use super::{
    Commit, Inner, PgOptions,
    connect::Target,
    db::{Db, get, int, small, uint},
    hosts::lock_round,
    migrate,
    rights::{self, Access},
};
use crate::codes;
use crawl_model::{Outcome, StoreError, UrlKey};
use rustc_hash::FxHashSet;
use tokio_postgres::Row;
use uuid::Uuid;

/// URLs that one transaction puts back.
const BATCH: usize = 1_000;

const FAILED: &str = "SELECT key FROM urls WHERE round = $1 AND outcome = $2";

const FAILED_AMONG: &str = "SELECT key FROM urls WHERE round = $1 AND outcome = $2 AND key = ANY($3)";

/// Waits for the worker that changes a URL. The statement is a transaction of its own, which has no other lock.
const WAIT: &str = "SELECT id FROM urls WHERE key = $1 FOR UPDATE";

/// The round of such a URL is the one before, so its visit is another one. URLs that a worker changes are left out: the worker
/// may be waiting for one of this batch.
const REOPEN: &str = "WITH failed AS (SELECT key, host FROM urls WHERE round = $1 AND outcome = $2 AND key = ANY($3) \
                      FOR UPDATE SKIP LOCKED), \
                      reopened AS (UPDATE urls u SET round = u.round - 1 FROM failed f \
                      WHERE u.key = f.key AND u.host = f.host \
                      RETURNING id, u.host, depth, discovery, u.key, url, redirects, sitemap_lastmod, found_on) \
                      INSERT INTO inbox (host, round, depth, discovery, again, key, url, redirects, sitemap_lastmod, found_on) \
                      SELECT host, $1, depth, discovery, true, key, url, redirects, sitemap_lastmod, found_on \
                      FROM reopened ORDER BY id RETURNING key";

/// Id without a worker, under which commands store their part of the counts.
const NO_WORKER: i32 = 0;

/// Puts failed URLs of a round back, all of them or those of the keys, if the round is the current one. Returns their number.
pub(super) fn reopen(crawl: &PgOptions, round: u32, urls: Option<&[UrlKey]>) -> Result<usize, StoreError> {
    let target = Target::new(&crawl.url, &crawl.crawl)?;
    let mut db = target.connect()?;
    rights::check(&mut db, &target, Access::Write)?;
    migrate::verify(&mut db, &target)?;
    // without a failed URL of the round, no transaction has it checked
    expect_round(round, &db.one("SELECT round FROM crawls", &[])?)?;
    let keys = match urls {
        Some(urls) => uuids(urls),
        None => keys(&mut db, FAILED, round, None)?,
    };
    in_batches(
        &mut db,
        |db| db,
        round,
        &keys,
        |db, keys| {
            db.transaction(|db| {
                db.batch("SET LOCAL synchronous_commit = on")?;
                // no round begins meanwhile
                expect_round(round, &db.one("SELECT round FROM crawls FOR KEY SHARE", &[])?)?;
                let reopened = send(db, round, keys)?;
                db.execute(
                    "INSERT INTO tallies (worker, round, failed) VALUES ($1, $2, $3) \
                 ON CONFLICT (worker, round) DO UPDATE SET failed = tallies.failed + excluded.failed",
                    &[&NO_WORKER, &int(round), &-count(&reopened)],
                )?;
                Ok(reopened)
            })
        },
    )
}

/// Fails unless a round is the current one.
fn expect_round(round: u32, current: &Row) -> Result<(), StoreError> {
    let now = uint(get(current, 0)?);
    if now == round {
        return Ok(());
    }
    Err(StoreError::Busy(format!(
        "a worker began round {now} since this command read the settings of round {round}: \
         run the command again for round {now}"
    )))
}

/// Puts URLs back by one transaction a batch, until none of them is left. `put_back` returns the keys of those that it put back.
fn in_batches<C>(
    context: &mut C,
    db: fn(&mut C) -> &mut Db,
    round: u32,
    urls: &[Uuid],
    mut put_back: impl FnMut(&mut C, &[Uuid]) -> Result<Vec<Uuid>, StoreError>,
) -> Result<usize, StoreError> {
    let mut done: FxHashSet<Uuid> = FxHashSet::default();
    for batch in urls.chunks(BATCH) {
        let mut left = batch.to_vec();
        while !left.is_empty() {
            done.extend(put_back(context, &left)?);
            left = keys(db(context), FAILED_AMONG, round, Some(&left))?;
            // one that failed again since then waits for another command
            left.retain(|key| !done.contains(key));
            if let Some(key) = left.first() {
                db(context).rows(WAIT, &[key])?;
            }
        }
    }
    Ok(done.len())
}

/// Puts failed URLs back that no worker changes; returns their keys.
fn send(db: &mut Db, round: u32, keys: &[Uuid]) -> Result<Vec<Uuid>, StoreError> {
    self::keys(db, REOPEN, round, Some(keys))
}

/// Keys that a statement about failed URLs of a round returns.
fn keys(
    db: &mut Db,
    statement: &'static str,
    round: u32,
    among: Option<&[Uuid]>,
) -> Result<Vec<Uuid>, StoreError> {
    let (round, failed) = (int(round), small(codes::outcome(Outcome::Failed)));
    let rows = match among {
        Some(keys) => db.rows(statement, &[&round, &failed, &keys])?,
        None => db.rows(statement, &[&round, &failed])?,
    };
    rows.iter().map(|row| get(row, 0)).collect()
}

fn uuids(urls: &[UrlKey]) -> Vec<Uuid> {
    urls.iter().map(|key| Uuid::from_bytes(key.0)).collect()
}

fn count(keys: &[Uuid]) -> i64 {
    i64::try_from(keys.len()).unwrap_or(i64::MAX)
}

impl Inner {
    /// Puts failed URLs back, and takes those of this worker's hosts.
    pub(super) fn reopen(&mut self, urls: &[UrlKey]) -> Result<usize, StoreError> {
        let round = self.memory.round;
        let reopened = in_batches(
            self,
            |inner| &mut inner.db,
            round,
            &uuids(urls),
            |inner, keys| {
                inner.write(Commit::Now, &[], |db, memory, _| {
                    lock_round(db, memory)?;
                    let reopened = send(db, memory.round, keys)?;
                    memory.tally.settle(Outcome::Failed, -count(&reopened));
                    Ok(reopened)
                })
            },
        )?;
        self.take_inbox()?;
        Ok(reopened)
    }
}
