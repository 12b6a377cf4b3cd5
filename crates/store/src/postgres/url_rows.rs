//! Rows of new and revived URLs, written by column in a few statements.

use super::{
    db::{Db, OwnedValues, int, small, text, uint},
    hosts::activate,
    memory::Memory,
    read_ahead::ReadAhead,
};
use crate::{codes, ledger::HostId};
use crawl_model::{Lane, NewUrl, StoreError};
use uuid::Uuid;

/// A URL with the row of the page that names it.
#[derive(Clone, Copy)]
pub(super) struct Link<'u> {
    pub(super) url: &'u NewUrl,
    pub(super) found_on: Option<i64>,
}

/// Changes of rows, by statement.
#[derive(Default)]
pub(super) struct Rows {
    pub(super) insert: Columns,
    pub(super) revive: Columns,
    pub(super) discoveries: Vec<(HostId, i64, i16)>,
    lastmods: Vec<(HostId, i64, String)>,
    /// Host, number, new and old depth.
    pub(super) depths: Vec<(HostId, i64, i32, i32)>,
}

impl Rows {
    pub(super) fn set_lastmod(&mut self, host: HostId, id: i64, url: &NewUrl) {
        if let Some(lastmod) = &url.sitemap_lastmod {
            self.lastmods.push((host, id, text(lastmod)));
        }
    }

    /// Forgets the heads of queues that these changes touch.
    fn forget_ahead(&self, ahead: &mut ReadAhead) {
        for columns in [&self.insert, &self.revive] {
            for ((host, depth), id) in columns.hosts.iter().zip(&columns.depths).zip(&columns.ids) {
                ahead.forget_before(i64::from(*host), uint(*depth), *id);
            }
        }
        let changed = self.discoveries.iter().map(|row| row.0);
        let dated = self.lastmods.iter().map(|row| row.0);
        let moved = self.depths.iter().map(|row| row.0);
        changed.chain(dated).chain(moved).for_each(|host| ahead.forget(host));
    }

    pub(super) fn write(self, db: &mut Db, memory: &mut Memory) -> Result<(), StoreError> {
        let mut hosts: Vec<HostId> =
            self.insert.hosts.iter().chain(&self.revive.hosts).map(|host| i64::from(*host)).collect();
        hosts.sort_unstable();
        hosts.dedup();
        activate(db, memory, &hosts)?;
        self.forget_ahead(&mut memory.ahead);
        self.insert.write(db, INSERT, memory.round)?;
        self.revive.write(db, REVIVE, memory.round)?;
        if !self.discoveries.is_empty() {
            let (hosts, ids) = host_ids(self.discoveries.iter().map(|row| (row.0, row.1)));
            let codes: Vec<i16> = self.discoveries.iter().map(|row| row.2).collect();
            db.execute(
                "UPDATE urls SET discovery = n.code FROM unnest($1::int[], $2::bigint[], $3::smallint[]) \
                 AS n (host, id, code) WHERE urls.host = n.host AND urls.id = n.id",
                &[&hosts, &ids, &codes],
            )?;
        }
        // one by one: a call that names a URL twice stores the last value
        for (host, id, lastmod) in self.lastmods {
            db.execute(
                "UPDATE urls SET sitemap_lastmod = $3 WHERE host = $1 AND id = $2 \
                 AND sitemap_lastmod IS DISTINCT FROM $3",
                &[&i32::try_from(host).unwrap_or(i32::MAX), &id, &lastmod],
            )?;
        }
        for (host, id, new, old) in self.depths {
            let host = i32::try_from(host).unwrap_or(i32::MAX);
            db.execute(
                "UPDATE queue SET depth = $3 WHERE host = $1 AND id = $2 AND depth = $4 AND lane IN (0, 1)",
                &[&host, &id, &new, &old],
            )?;
            db.execute("UPDATE urls SET depth = $3 WHERE host = $1 AND id = $2", &[&host, &id, &new])?;
        }
        Ok(())
    }
}

const INSERT: &str = "WITH new AS (SELECT * FROM unnest($1::int[], $2::bigint[], $3::uuid[], $4::int[], $5::smallint[], \
                      $6::text[], $7::text[], $8::text[], $9::bigint[]) \
                      AS n (host, id, key, depth, discovery, url, redirects, sitemap_lastmod, found_on)), \
                      added AS (INSERT INTO urls (host, id, key, depth, discovery, url, redirects, sitemap_lastmod, \
                      found_on, round) SELECT *, $10 FROM new) \
                      INSERT INTO queue (host, lane, depth, id) SELECT host, 0, depth, id FROM new";

/// The key and the URL stay.
const REVIVE: &str = "WITH new AS (SELECT * FROM unnest($1::int[], $2::bigint[], $3::uuid[], $4::int[], $5::smallint[], \
                      $6::text[], $7::text[], $8::text[], $9::bigint[]) \
                      AS n (host, id, key, depth, discovery, url, redirects, sitemap_lastmod, found_on)), \
                      revived AS (UPDATE urls SET round = $10, depth = new.depth, discovery = new.discovery, \
                      redirects = new.redirects, sitemap_lastmod = new.sitemap_lastmod, \
                      found_on = coalesce(new.found_on, urls.found_on), attempt = NULL, strategy = NULL, outcome = NULL FROM new WHERE urls.host = new.host AND urls.id = new.id) \
                      INSERT INTO queue (host, lane, depth, id) SELECT host, 0, depth, id FROM new";

/// URLs by column.
#[derive(Default)]
pub(super) struct Columns {
    hosts: Vec<i32>,
    ids: Vec<i64>,
    keys: Vec<Uuid>,
    depths: Vec<i32>,
    discoveries: Vec<i16>,
    urls: Vec<String>,
    redirects: Vec<Option<String>>,
    lastmods: Vec<Option<String>>,
    found_on: Vec<Option<i64>>,
}

impl Columns {
    pub(super) fn push(&mut self, host: HostId, id: i64, link: Link<'_>, redirects: Option<String>) {
        let url = link.url;
        self.hosts.push(i32::try_from(host).unwrap_or(i32::MAX));
        self.ids.push(id);
        self.keys.push(Uuid::from_bytes(url.key.0));
        self.depths.push(int(url.depth));
        self.discoveries.push(small(codes::discovery(url.discovery)));
        self.urls.push(url.url.clone());
        self.redirects.push(redirects);
        self.lastmods.push(url.sitemap_lastmod.as_deref().map(text));
        self.found_on.push(link.found_on);
    }

    fn write(self, db: &mut Db, statement: &'static str, round: u32) -> Result<(), StoreError> {
        if self.ids.is_empty() {
            return Ok(());
        }
        let Self { hosts, ids, keys, depths, discoveries, urls, redirects, lastmods, found_on } = self;
        let values: OwnedValues = vec![
            Box::new(hosts),
            Box::new(ids),
            Box::new(keys),
            Box::new(depths),
            Box::new(discoveries),
            Box::new(urls),
            Box::new(redirects),
            Box::new(lastmods),
            Box::new(found_on),
            Box::new(int(round)),
        ];
        db.post(statement, values)
    }
}

/// Hosts and numbers as columns.
pub(super) fn host_ids(rows: impl Iterator<Item = (HostId, i64)>) -> (Vec<i32>, Vec<i64>) {
    rows.map(|(host, id)| (i32::try_from(host).unwrap_or(i32::MAX), id)).unzip()
}

/// Redirects as JSON; none for the many URLs without them.
pub(super) fn redirects(url: &NewUrl) -> Result<Option<String>, StoreError> {
    if url.redirects.is_empty() {
        return Ok(None);
    }
    serde_json::to_string(&url.redirects).map(Some).map_err(|e| StoreError::Other(e.to_string()))
}

/// The inverse of [`redirects`].
pub(super) fn split_redirects(json: Option<&str>) -> Result<Vec<String>, StoreError> {
    let list = json.map(serde_json::from_str).transpose();
    list.map(Option::unwrap_or_default).map_err(|e| StoreError::Corrupt(format!("redirects of a URL: {e}")))
}

const _: () = assert!(Lane::Plain as i16 == 0, "new URLs are queued in lane 0");
