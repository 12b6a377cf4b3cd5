//! [`Upkeep`] on PostgreSQL.

use super::{
    Commit, PgStore,
    db::{get, int, small, unsigned},
    enqueue::room,
    hosts::activate,
    inbox, own,
};
use crate::{
    codes,
    ledger::{Room, UrlState},
    upkeep::{
        Agreement, HostCounts, OutputPart, RoundSettings, SettingDifference, StoreSize, Upkeep, WorkerStart,
        WorkerState,
    },
};
use crawl_model::{
    Discovery, HostBound, HostBounds, HostKey, KnownUrl, Outcome, RequestId, StoreError, UrlKey,
};
use std::collections::BTreeMap;
use url::Url;
use uuid::Uuid;

impl Upkeep for PgStore {
    /// Hosts of all workers. URLs leased by other workers count as queued. For a reader, URLs in the inbox count as
    /// queued too.
    fn hosts(&self) -> Result<Vec<HostCounts>, StoreError> {
        let mut inner = self.ready()?;
        let rows = inner.db.rows(
            "SELECT name, sum(queued)::int8, sum(waiting)::int8, sum(held)::int8 FROM (\
             SELECT host, count(*) AS queued, count(due) AS waiting, 0 AS held FROM queue GROUP BY host \
             UNION ALL SELECT held_for, 0, 0, count(*) FROM held GROUP BY held_for) AS found \
             JOIN hosts ON hosts.id = found.host GROUP BY name",
            &[],
        )?;
        let memory = &inner.memory;
        let mut counts = Vec::with_capacity(rows.len());
        for row in &rows {
            let (all, mut waiting): (u64, u64) = (unsigned(row, 1)?, unsigned(row, 2)?);
            let host = HostKey::from_stored(get::<&str>(row, 0)?);
            let own = memory.hosts.get(&host).filter(|host| host.epoch.is_some());
            let own = own.map(|host| memory.ledger.of(host.id));
            let leased = own.map_or(0, |own| own.get(UrlState::Leased));
            // rows of this worker keep the time of their last retry, so its counts in memory are used
            waiting = own.map_or(waiting, |own| own.get(UrlState::Waiting));
            let queued = all.saturating_sub(waiting).saturating_sub(leased);
            counts.push(HostCounts { host, queued, waiting, leased, held: unsigned(row, 3)? });
        }
        if inner.start.is_none() {
            let round = inner.memory.round;
            add_queued(&mut counts, inbox::unread(&mut inner.db, round)?);
        }
        counts.sort_unstable_by(|a, b| b.total().cmp(&a.total()).then_with(|| a.host.cmp(&b.host)));
        Ok(counts)
    }

    fn full_by(&self, host: &HostKey, bounds: HostBounds) -> Result<Option<HostBound>, StoreError> {
        let mut inner = self.ready()?;
        let super::Inner { db, memory, .. } = &mut *inner;
        let Some(host) = memory.hosts.get(host).map(|host| host.id) else { return Ok(None) };
        match room(db, memory, host, bounds, bounds.bytes.unwrap_or(0) / 10)? {
            Room::Full(bound) => Ok(Some(bound)),
            Room::Enough | Room::Uncounted => Ok(None),
        }
    }

    fn known_next(&self, after: RequestId, limit: usize) -> Result<Vec<KnownUrl>, StoreError> {
        let mut inner = self.ready()?;
        let next = inner.memory.round + 1;
        inner.known_beside(next, after, limit)
    }

    /// URLs of hosts of other workers go to their owners.
    fn reopen_failed(&self, urls: &[UrlKey]) -> Result<usize, StoreError> {
        self.ready()?.reopen(urls)
    }

    fn size(&self) -> Result<StoreSize, StoreError> {
        let row = self.ready()?.db.one(
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::int8 FROM pg_class c \
             WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'",
            &[],
        )?;
        // the server reuses free space by itself and does not report it
        Ok(StoreSize { file: unsigned(&row, 0)?, free: 0 })
    }

    fn compact(&self) -> Result<(), StoreError> {
        let mut inner = self.ready()?;
        for table in ["urls", "queue", "hosts", "texts", "bands", "contents"] {
            inner.db.batch(&format!("VACUUM (FULL, ANALYZE) {table}"))?;
        }
        Ok(())
    }

    fn adopt_written(&self, urls: &[String]) -> Result<u64, StoreError> {
        let mut inner = self.ready()?;
        let alone = inner.alone;
        inner.write(Commit::Now, &[], |db, memory, _| {
            let round = if memory.recrawl { memory.round.saturating_sub(1) } else { memory.round };
            let (link, record) = (codes::discovery(Discovery::Link), codes::outcome(Outcome::Record));
            let mut adopted = 0;
            for text in urls {
                let Some(name) = Url::parse(text).ok().as_ref().and_then(HostKey::of) else { continue };
                if !memory.hosts.contains_key(&name) {
                    super::acquire::claim(db, memory, &[name.as_str()], alone)?;
                }
                let Some(host) = memory.hosts.get(&name).map(|host| host.id) else { continue };
                let id = memory.next_id(db)?;
                let key = Uuid::from_bytes(UrlKey::of(text).0);
                adopted += db.execute(
                    "INSERT INTO urls (id, key, host, round, depth, discovery, outcome, url) \
                     VALUES ($1, $2, $3, $4, 0, $5, $6, $7) ON CONFLICT DO NOTHING",
                    &[
                        &id,
                        &key,
                        &i32::try_from(host).unwrap_or(i32::MAX),
                        &int(round),
                        &small(link),
                        &small(record),
                        text,
                    ],
                )?;
                if round == memory.round {
                    activate(db, memory, &[host])?;
                }
            }
            if round == memory.round {
                memory.tally.settle(Outcome::Record, i64::try_from(adopted).unwrap_or(i64::MAX));
            }
            Ok(adopted)
        })
    }

    /// Output marks of this worker.
    fn output_marks(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let mut inner = self.ready()?;
        let worker = inner.memory.worker;
        let rows = inner.db.rows("SELECT name, reach FROM outputs", &[])?;
        let mut marks = Vec::with_capacity(rows.len());
        for row in &rows {
            if let Some(name) = own::plain(worker, get(row, 0)?) {
                marks.push((name.to_owned(), unsigned(row, 1)?));
            }
        }
        Ok(marks)
    }

    fn settings_of_round(&self) -> Result<Option<BTreeMap<String, String>>, StoreError> {
        self.round_settings()
    }

    fn propose(&self, settings: RoundSettings) -> Result<(), StoreError> {
        self.propose_settings(settings)
    }

    fn agree(&self, settings: &RoundSettings) -> Result<Agreement, StoreError> {
        self.agree_on(settings)
    }

    fn compare(&self, settings: &RoundSettings) -> Result<Vec<SettingDifference>, StoreError> {
        self.compare_settings(settings)
    }

    fn worker(&self) -> Result<Option<WorkerStart>, StoreError> {
        self.started()
    }

    fn add_part(&self, part: &OutputPart) -> Result<(), StoreError> {
        self.note_part(part)
    }

    fn end_part(&self, path: &str, bytes: u64) -> Result<(), StoreError> {
        self.complete_part(path, bytes)
    }

    fn parts(&self) -> Result<Vec<OutputPart>, StoreError> {
        self.all_parts()
    }

    fn outputs(&self) -> Result<Vec<OutputPart>, StoreError> {
        self.all_outputs()
    }

    fn workers(&self) -> Result<Vec<WorkerState>, StoreError> {
        self.all_workers()
    }

    fn give_back(&self) -> Result<(), StoreError> {
        self.release()
    }

    fn abandon(&self, why: &StoreError) {
        self.abandon(why);
    }
}

fn add_queued(counts: &mut Vec<HostCounts>, unread: Vec<(HostKey, u64)>) {
    for (host, urls) in unread {
        match counts.iter_mut().find(|counted| counted.host == host) {
            Some(counted) => counted.queued += urls,
            None => counts.push(HostCounts { host, queued: urls, waiting: 0, leased: 0, held: 0 }),
        }
    }
}
