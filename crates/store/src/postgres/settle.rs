//! Ending leases and held pages, with the marks of outputs: one durable transaction behind the fence.

use super::{
    Commit, Inner,
    db::{Db, OwnedValues, small, text},
    memory::{Held, Memory, Out},
    own,
    spool::Kind,
    texts,
    url_rows::host_ids,
};
use crate::{
    codes,
    ledger::{HostId, UrlState},
};
use crawl_model::{NewText, Outcome, OutputMark, Settlement, StoreError, UrlKey};
use rustc_hash::FxHashSet;

// A first visit and a last change dated later than this visit come from a wrong clock: they get the visit's
// time. `flag` is true for a new or changed content with a content, and for an existing page without one.

/// Settles visits. A content replaces the earlier history; without one only set fields are overwritten.
const SETTLE: &str = "UPDATE urls SET outcome = n.outcome, \
    status = CASE WHEN seen THEN n.status ELSE coalesce(n.status, urls.status) END, \
    etag = CASE WHEN seen THEN n.etag ELSE coalesce(n.etag, urls.etag) END, \
    last_modified = CASE WHEN seen THEN n.last_modified ELSE coalesce(n.last_modified, urls.last_modified) END, \
    content_hash = coalesce(n.content_hash, urls.content_hash), \
    fetched_at = CASE WHEN seen THEN n.at ELSE coalesce(n.at, urls.fetched_at) END, \
    fetched_lastmod = CASE WHEN seen THEN n.lastmod ELSE coalesce(n.lastmod, urls.fetched_lastmod) END, \
    text_hash = CASE WHEN seen THEN n.text_hash ELSE coalesce(n.text_hash, urls.text_hash) END, \
    body_hash = CASE WHEN seen THEN n.body_hash ELSE coalesce(n.body_hash, urls.body_hash) END, \
    rules = CASE WHEN seen THEN n.rules ELSE coalesce(n.rules, urls.rules) END, \
    via = CASE WHEN seen THEN n.via ELSE coalesce(n.via, urls.via) END, \
    read_at = CASE WHEN seen THEN n.at ELSE read_at END, \
    seen_at = CASE WHEN seen OR flag THEN n.at ELSE seen_at END, \
    changed_at = CASE WHEN (seen AND flag) OR first_at IS NULL AND seen OR changed_at IS NULL OR changed_at > n.at \
    THEN n.at ELSE changed_at END, \
    visits = CASE WHEN first_at IS NULL OR n.at IS NULL THEN visits ELSE coalesce(visits, 0) + 1 END, \
    changes = CASE WHEN first_at IS NOT NULL AND seen AND flag THEN coalesce(changes, 0) + 1 ELSE changes END, \
    first_at = CASE WHEN first_at IS NULL OR first_at > n.at THEN n.at ELSE first_at END \
    FROM (SELECT *, content_hash IS NOT NULL AS seen FROM unnest($1::int[], $2::bigint[], $3::smallint[], \
    $4::int[], $5::text[], $6::text[], $7::bytea[], $8::bigint[], $9::text[], $10::bytea[], $11::bytea[], \
    $12::bigint[], $13::smallint[], $14::bool[]) AS a (host, id, outcome, status, etag, last_modified, \
    content_hash, at, lastmod, text_hash, body_hash, rules, via, flag)) n \
    WHERE urls.host = n.host AND urls.id = n.id";

/// Drops the history of a page that no longer exists, so that its successor is new.
const FORGET: &str = "UPDATE urls SET outcome = $3, status = $4, etag = NULL, last_modified = NULL, \
    content_hash = NULL, text_hash = NULL, body_hash = NULL, fetched_at = $5, changed_at = $5, \
    visits = coalesce(visits, 0) + 1, changes = coalesce(changes, 0) + 1 WHERE host = $1 AND id = $2";

/// A URL whose lease or held page is current.
#[derive(Clone, Copy)]
enum Current {
    Leased(Out),
    Held(Held),
}

impl Current {
    const fn host(self) -> HostId {
        match self {
            Self::Leased(out) => out.host,
            Self::Held(held) => held.host,
        }
    }

    const fn key(self) -> UrlKey {
        match self {
            Self::Leased(out) => out.key,
            Self::Held(held) => held.key,
        }
    }
}

impl Inner {
    pub(super) fn settle(
        &mut self,
        batch: &[Settlement],
        outputs: &[OutputMark],
        texts: &[NewText],
    ) -> Result<usize, StoreError> {
        if batch.is_empty() && outputs.is_empty() && texts.is_empty() {
            return Ok(0);
        }
        let is_revoked =
            |end: &Settlement| self.memory.revoked.get(&end.lease.id.0) == Some(&end.lease.token.0);
        if batch.iter().any(is_revoked) {
            // the mark would cover records that the new owner writes too
            return Err(taken_over());
        }
        let mut seen = FxHashSet::default();
        let mut ended: Vec<(&Settlement, Current)> = Vec::with_capacity(batch.len());
        for settlement in batch {
            let lease = settlement.lease;
            let leased = self.memory.leased(lease).map(Current::Leased);
            let current = leased.or_else(|| self.memory.held_as(lease).map(Current::Held));
            if let Some(current) = current
                && seen.insert(lease.id)
            {
                ended.push((settlement, current));
            }
        }
        let stale = batch.len() - ended.len();
        let hosts: Vec<HostId> = ended.iter().map(|(_, current)| current.host()).collect();
        // before the fence, which shows that this worker had the pages at that time too
        let known = if texts.is_empty() { None } else { Some(texts::ask_known(&mut self.db, texts)?) };
        let done = self.write(Commit::Now, &hosts, |db, memory, lost| {
            if !lost.is_empty() {
                return Ok(false);
            }
            settle_all(db, memory, &ended)?;
            mark_all(db, memory.worker, outputs)?;
            let is_settled = |page: UrlKey| ended.iter().any(|(_, current)| current.key() == page);
            let kept = texts.iter().filter(|text| stale == 0 || is_settled(text.page)).collect();
            if let Some(known) = known {
                texts::put_all(db, memory.round, kept, known)?;
            }
            Ok(true)
        })?;
        if !done {
            return Err(taken_over());
        }
        for (settlement, current) in ended {
            let kind = if matches!(current, Current::Held(_)) { Kind::Held } else { Kind::PartialResult };
            self.spool.remove(kind, settlement.lease.id.0)?;
        }
        Ok(stale)
    }
}

fn taken_over() -> StoreError {
    StoreError::Busy("another worker took over hosts of this batch: nothing of it was settled".into())
}

fn settle_all(db: &mut Db, memory: &mut Memory, ended: &[(&Settlement, Current)]) -> Result<(), StoreError> {
    if ended.is_empty() {
        return Ok(());
    }
    let mut visits = Visits::default();
    let (mut queued, mut held) = (Vec::new(), Vec::new());
    let (mut confirmed, mut forgotten) = (Vec::new(), Vec::new());
    for &(settlement, current) in ended {
        let id = settlement.lease.id.0;
        match current {
            Current::Leased(out) => {
                memory.end_lease(id);
                memory.tally.add(-1, 0);
                memory.ledger.take(out.host, UrlState::Leased, 1);
                queued.push((out, id));
            }
            Current::Held(page) => {
                memory.end_hold(id);
                memory.tally.add(0, -1);
                memory.ledger.take(page.held_for, UrlState::Held, 1);
                held.push(id);
            }
        }
        memory.tally.settle(settlement.outcome, 1);
        match settlement.outcome {
            Outcome::Record => {}
            Outcome::Unchanged => confirmed.push(current.key()),
            _ => forgotten.push(current.key()),
        }
        if settlement.outcome == Outcome::Gone {
            let host = i32::try_from(current.host()).unwrap_or(i32::MAX);
            let outcome = small(codes::outcome(Outcome::Gone));
            let status = settlement.history.status.map(i32::from);
            db.execute(FORGET, &[&host, &id, &outcome, &status, &settlement.history.fetched_at_ms])?;
        } else {
            visits.push(current.host(), settlement);
        }
    }
    leave(db, &queued, &held)?;
    visits.write(db)?;
    texts::confirm(db, memory.round, &confirmed)?;
    texts::forget(db, &forgotten)
}

/// Removes URLs from the tables of their states.
fn leave(db: &mut Db, queued: &[(Out, i64)], held: &[i64]) -> Result<(), StoreError> {
    if !queued.is_empty() {
        let (hosts, ids) = host_ids(queued.iter().map(|(out, id)| (out.host, *id)));
        let lanes: Vec<i16> = queued.iter().map(|(out, _)| small(codes::lane(out.lane))).collect();
        let depths: Vec<i32> = queued.iter().map(|(out, _)| super::db::int(out.depth)).collect();
        db.post(
            "DELETE FROM queue q USING unnest($1::int[], $2::smallint[], $3::int[], $4::bigint[]) \
             AS n (host, lane, depth, id) \
             WHERE q.host = n.host AND q.lane = n.lane AND q.depth = n.depth AND q.id = n.id",
            vec![Box::new(hosts), Box::new(lanes), Box::new(depths), Box::new(ids)],
        )?;
    }
    if !held.is_empty() {
        db.post("DELETE FROM held WHERE id = ANY($1)", vec![Box::new(held.to_vec())])?;
    }
    Ok(())
}

/// Visits by column.
#[derive(Default)]
struct Visits {
    hosts: Vec<i32>,
    ids: Vec<i64>,
    outcomes: Vec<i16>,
    statuses: Vec<Option<i32>>,
    etags: Vec<Option<String>>,
    modified: Vec<Option<String>>,
    contents: Vec<Option<Vec<u8>>>,
    times: Vec<Option<i64>>,
    lastmods: Vec<Option<String>>,
    texts: Vec<Option<Vec<u8>>>,
    bodies: Vec<Option<Vec<u8>>>,
    rules: Vec<Option<i64>>,
    strategies: Vec<Option<i16>>,
    flags: Vec<bool>,
}

impl Visits {
    fn push(&mut self, host: HostId, settlement: &Settlement) {
        let (history, outcome) = (&settlement.history, settlement.outcome);
        let seen = history.content_hash.is_some();
        self.hosts.push(i32::try_from(host).unwrap_or(i32::MAX));
        self.ids.push(settlement.lease.id.0);
        self.outcomes.push(small(codes::outcome(outcome)));
        self.statuses.push(history.status.map(i32::from));
        self.etags.push(history.etag.as_deref().map(text));
        self.modified.push(history.last_modified.as_deref().map(text));
        self.contents.push(history.content_hash.map(|hash| hash.0.to_vec()));
        self.times.push(history.fetched_at_ms);
        self.lastmods.push(history.sitemap_lastmod.as_deref().map(text));
        self.texts.push(history.text_hash.map(|hash| hash.0.to_vec()));
        self.bodies.push(history.body_hash.map(|hash| hash.0.to_vec()));
        self.rules.push(history.rules.map(|rules| rules.0));
        self.strategies.push(history.strategy.map(|strategy| small(codes::strategy(strategy))));
        self.flags.push(if seen { outcome == Outcome::Record } else { outcome == Outcome::Unchanged });
    }

    fn write(self, db: &mut Db) -> Result<(), StoreError> {
        if self.ids.is_empty() {
            return Ok(());
        }
        let Self { hosts, ids, outcomes, statuses, etags, modified, contents, times, .. } = self;
        let Self { lastmods, texts, bodies, rules, strategies, flags, .. } = self;
        let values: OwnedValues = vec![
            Box::new(hosts),
            Box::new(ids),
            Box::new(outcomes),
            Box::new(statuses),
            Box::new(etags),
            Box::new(modified),
            Box::new(contents),
            Box::new(times),
            Box::new(lastmods),
            Box::new(texts),
            Box::new(bodies),
            Box::new(rules),
            Box::new(strategies),
            Box::new(flags),
        ];
        db.post(SETTLE, values)
    }
}

fn mark_all(db: &mut Db, worker: i32, outputs: &[OutputMark]) -> Result<(), StoreError> {
    for output in outputs {
        let offset = i64::try_from(output.offset).map_err(|e| StoreError::Other(e.to_string()))?;
        db.post(
            "INSERT INTO outputs (name, reach) VALUES ($1, $2) \
             ON CONFLICT (name) DO UPDATE SET reach = excluded.reach",
            vec![Box::new(own::output(worker, &output.name)), Box::new(offset)],
        )?;
    }
    Ok(())
}
