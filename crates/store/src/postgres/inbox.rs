//! Links to hosts of other workers.

use super::{
    Commit, Inner,
    db::{Db, get, int, small, text, uint, unsigned},
    enqueue::enqueue,
    memory::Memory,
    url_rows::{Link, redirects, split_redirects},
};
use crate::{codes, known::Revisit};
use crawl_model::{HostKey, NewUrl, StoreError, UrlKey};
use uuid::Uuid;

/// Links that one transaction takes.
const BATCH: i64 = 2_000;

/// URLs that the owner of their host has not read yet, and will queue: new ones, and those that are visited again.
const UNREAD: &str = "SELECT h.name, count(DISTINCT i.key) FROM inbox i JOIN hosts h ON h.id = i.host \
                      WHERE i.round = $1 AND NOT EXISTS (SELECT 1 FROM urls u WHERE u.key = i.key AND u.host = i.host \
                      AND (u.round >= i.round OR NOT i.again)) GROUP BY h.name";

/// URLs of each host that wait for its owner.
pub(super) fn unread(db: &mut Db, round: u32) -> Result<Vec<(HostKey, u64)>, StoreError> {
    let rows = db.rows(UNREAD, &[&int(round)])?;
    rows.iter().map(|row| Ok((HostKey::from_stored(get::<&str>(row, 0)?), unsigned(row, 1)?))).collect()
}

/// Leaves URLs for the owner of their host.
pub(super) fn send(
    db: &mut Db,
    memory: &Memory,
    urls: &[(i64, Link<'_>)],
    revisit: Revisit,
) -> Result<(), StoreError> {
    if urls.is_empty() {
        return Ok(());
    }
    let hosts: Vec<i32> = urls.iter().filter_map(|(host, _)| i32::try_from(*host).ok()).collect();
    let found_on: Vec<Option<i64>> = urls.iter().map(|(_, link)| link.found_on).collect();
    let urls = urls.iter().map(|(_, link)| link.url);
    let depths: Vec<i32> = urls.clone().map(|url| int(url.depth)).collect();
    let discoveries: Vec<i16> = urls.clone().map(|url| small(codes::discovery(url.discovery))).collect();
    let keys: Vec<Uuid> = urls.clone().map(|url| Uuid::from_bytes(url.key.0)).collect();
    let texts: Vec<&str> = urls.clone().map(|url| url.url.as_str()).collect();
    let chains: Vec<Option<String>> = urls.clone().map(redirects).collect::<Result<_, _>>()?;
    let lastmods: Vec<Option<String>> = urls.map(|url| url.sitemap_lastmod.as_deref().map(text)).collect();
    db.execute(
        "INSERT INTO inbox (host, depth, discovery, key, url, redirects, sitemap_lastmod, found_on, round, again) \
         SELECT *, $9, $10 FROM unnest($1::int[], $2::int[], $3::smallint[], $4::uuid[], $5::text[], $6::text[], \
         $7::text[], $8::bigint[])",
        &[
            &hosts,
            &depths,
            &discoveries,
            &keys,
            &texts,
            &chains,
            &lastmods,
            &found_on,
            &int(memory.round),
            &(revisit == Revisit::Yes),
        ],
    )
    .map(|_| ())
}

impl Inner {
    /// Enqueues the links that other workers left for hosts of this one.
    pub(super) fn take_inbox(&mut self) -> Result<(), StoreError> {
        // an index answers it, and a worker alone has no links
        let some = self.db.one("SELECT EXISTS (SELECT 1 FROM inbox)", &[])?;
        if !get::<bool>(&some, 0)? {
            return Ok(());
        }
        loop {
            let taken = self.write(Commit::Later, &[], |db, memory, _| take(db, memory))?;
            if taken == 0 {
                return Ok(());
            }
        }
    }
}

fn take(db: &mut Db, memory: &mut Memory) -> Result<usize, StoreError> {
    let rows = db.rows(
        "WITH mine AS (SELECT i.id FROM inbox i JOIN hosts h ON h.id = i.host WHERE h.owner = $1 \
         ORDER BY i.id LIMIT $2) \
         DELETE FROM inbox USING mine WHERE inbox.id = mine.id \
         RETURNING inbox.id, round, again, key, url, depth, discovery, redirects, sitemap_lastmod, \
         (SELECT name FROM hosts WHERE hosts.id = inbox.host), found_on",
        &[&memory.worker, &BATCH],
    )?;
    let mut found: Vec<(i64, bool, NewUrl, Option<i64>)> = Vec::with_capacity(rows.len());
    for row in &rows {
        if uint(get(row, 1)?) != memory.round {
            continue;
        }
        let url = NewUrl {
            key: UrlKey(get::<Uuid>(row, 3)?.into_bytes()),
            url: get(row, 4)?,
            host: HostKey::from_stored(get::<&str>(row, 9)?),
            depth: uint(get(row, 5)?),
            discovery: codes::read_discovery(i64::from(get::<i16>(row, 6)?))?,
            redirects: split_redirects(get(row, 7)?)?,
            sitemap_lastmod: get(row, 8)?,
        };
        found.push((get(row, 0)?, get(row, 2)?, url, get(row, 10)?));
    }
    found.sort_unstable_by_key(|(id, ..)| *id);
    for again in [false, true] {
        let of_kind = found.iter().filter(|(_, kind, ..)| *kind == again);
        let links: Vec<Link<'_>> =
            of_kind.map(|(_, _, url, found_on)| Link { url, found_on: *found_on }).collect();
        if !links.is_empty() {
            let hosts: Vec<i64> = links
                .iter()
                .filter_map(|link| memory.hosts.get(&link.url.host))
                .map(|host| host.id)
                .collect();
            super::hosts::fence(db, memory, &hosts)?;
            enqueue(db, memory, &links, None, if again { Revisit::Yes } else { Revisit::No }, false)?;
        }
    }
    Ok(rows.len())
}
