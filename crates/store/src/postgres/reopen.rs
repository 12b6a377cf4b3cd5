//! Another visit of URLs that failed in the current round. They go through the inbox as links do, so the owner of each host
//! queues them behind its own fence, and no worker is disturbed.

use super::{
    Commit, Inner, PgOptions,
    connect::Target,
    db::{Db, get, int, small, uint},
    migrate,
    rights::{self, Access},
};
use crate::codes;
use crawl_model::{Outcome, StoreError, UrlKey};
use uuid::Uuid;

/// The round of such a URL is the one before, so its visit is another one.
const REOPEN: &str = "WITH reopened AS (UPDATE urls SET round = round - 1 \
                      WHERE round = $1 AND outcome = $2 AND ($3::uuid[] IS NULL OR key = ANY($3)) \
                      RETURNING id, host, depth, discovery, key, url, redirects, sitemap_lastmod, found_on) \
                      INSERT INTO inbox (host, round, depth, discovery, again, key, url, redirects, sitemap_lastmod, found_on) \
                      SELECT host, $1, depth, discovery, true, key, url, redirects, sitemap_lastmod, found_on \
                      FROM reopened ORDER BY id";

/// Number of no worker: its part of the counts is that of commands.
const NO_WORKER: i32 = 0;

/// Puts failed URLs of the current round back, all of them or those of the keys. Returns their number.
pub(super) fn reopen(crawl: &PgOptions, urls: Option<&[UrlKey]>) -> Result<usize, StoreError> {
    let target = Target::new(&crawl.url, &crawl.crawl)?;
    let mut db = target.connect()?;
    rights::check(&mut db, &target, Access::Write)?;
    migrate::verify(&mut db, &target)?;
    db.transaction(|db| {
        db.batch("SET LOCAL synchronous_commit = on")?;
        // no round begins meanwhile
        let round = uint(get(&db.one("SELECT round FROM crawls FOR KEY SHARE", &[])?, 0)?);
        let reopened = send(db, round, urls)?;
        db.execute(
            "INSERT INTO tallies (worker, round, failed) VALUES ($1, $2, $3) \
             ON CONFLICT (worker, round) DO UPDATE SET failed = tallies.failed + excluded.failed",
            &[&NO_WORKER, &int(round), &-i64::try_from(reopened).unwrap_or(i64::MAX)],
        )?;
        Ok(reopened)
    })
}

fn send(db: &mut Db, round: u32, urls: Option<&[UrlKey]>) -> Result<usize, StoreError> {
    let keys: Option<Vec<Uuid>> = urls.map(|urls| urls.iter().map(|key| Uuid::from_bytes(key.0)).collect());
    let reopened = db.execute(REOPEN, &[&int(round), &small(codes::outcome(Outcome::Failed)), &keys])?;
    Ok(usize::try_from(reopened).unwrap_or(usize::MAX))
}

impl Inner {
    /// Puts failed URLs back, and takes those of this worker's hosts.
    pub(super) fn reopen(&mut self, urls: &[UrlKey]) -> Result<usize, StoreError> {
        let reopened = self.write(Commit::Now, &[], |db, memory, _| {
            let reopened = send(db, memory.round, Some(urls))?;
            memory.tally.settle(Outcome::Failed, -i64::try_from(reopened).unwrap_or(i64::MAX));
            Ok(reopened)
        })?;
        self.take_inbox()?;
        Ok(reopened)
    }
}
