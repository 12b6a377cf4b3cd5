//! Held pages, and the results that other strategies brought of a URL.

use super::{
    checksum::{checksum, read_checked},
    codes,
    enqueue::stored_bytes,
    memory::Memory,
};
use crate::ledger::{HostId, UrlState};
use crawl_model::{HeldPage, HostKey, Lane, LeaseRef, LeaseToken, RequestId};
use rusqlite::{Connection, OptionalExtension};

pub(super) fn held_pages(
    conn: &Connection,
    host: HostId,
    after: i64,
    limit: usize,
) -> rusqlite::Result<Vec<HeldPage>> {
    let mut select = conn.prepare_cached(
        "SELECT held.id, token, ord, page, checksum, url FROM held LEFT JOIN urls ON urls.id = held.id \
         WHERE held.host = ?1 AND ord > ?2 ORDER BY ord LIMIT ?3",
    )?;
    let rows = select.query_map((host, after, i64::try_from(limit).unwrap_or(i64::MAX)), |row| {
        let page = read_checked(row, 3)?;
        Ok(HeldPage {
            lease: LeaseRef { id: RequestId(row.get(0)?), token: LeaseToken(row.get(1)?) },
            order: row.get(2)?,
            url: row.get::<_, Option<String>>(5)?.unwrap_or_default(),
            intact: page.is_some(),
            page: page.unwrap_or_default(),
        })
    })?;
    rows.collect()
}

/// Returns the URL of a held page to the queue, once per round.
pub(super) fn refetch(conn: &Connection, memory: &mut Memory, held: LeaseRef) -> rusqlite::Result<bool> {
    let key = (held.id.0, held.token.0);
    let held_for: Option<HostId> = conn
        .prepare_cached("SELECT host FROM held WHERE id = ?1 AND token = ?2")?
        .query_row(key, |row| row.get(0))
        .optional()?;
    let Some(held_for) = held_for else { return Ok(false) };
    if conn.prepare_cached("INSERT OR IGNORE INTO refetched (id) VALUES (?1)")?.execute([held.id.0])? == 0 {
        return Ok(false);
    }
    conn.prepare_cached("DELETE FROM held WHERE id = ?1")?.execute([held.id.0])?;
    // fetched without attempts: an alternative strategy would lack the result that it is compared with
    conn.prepare_cached("UPDATE urls SET attempt = 0, strategy = NULL WHERE id = ?1")?
        .execute([held.id.0])?;
    let (host, name, depth): (HostId, String, i64) = conn
        .prepare_cached(
            "SELECT hosts.id, hosts.name, depth FROM urls JOIN hosts ON hosts.id = urls.host WHERE urls.id = ?1",
        )?
        .query_row([held.id.0], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    conn.prepare_cached("INSERT INTO queue (host, lane, depth, id) VALUES (?1, ?2, ?3, ?4)")?.execute((
        host,
        codes::lane(Lane::Plain),
        depth,
        held.id.0,
    ))?;
    memory.ledger.take(held_for, UrlState::Held, 1);
    memory.ledger.add(host, &HostKey::from_stored(&name), UrlState::Ready, 1);
    memory.ledger.grow(host, stored_bytes(conn, held.id.0)?);
    Ok(true)
}

pub(super) fn save_partial_result(
    conn: &Connection,
    memory: &mut Memory,
    id: RequestId,
    pages: &[u8],
) -> rusqlite::Result<()> {
    let row = (id.0, pages, checksum(pages));
    let mut update = conn.prepare_cached("UPDATE so_far SET pages = ?2, checksum = ?3 WHERE id = ?1")?;
    if update.execute(row)? == 0 {
        conn.prepare_cached("INSERT INTO so_far (id, pages, checksum) VALUES (?1, ?2, ?3)")?.execute(row)?;
        memory.partial_results += 1;
    }
    Ok(())
}

/// Drops the stored result of a URL that is held or settled. Most crawls store none, and then skip the
/// database.
pub(super) fn delete_partial_result(
    conn: &Connection,
    memory: &mut Memory,
    id: RequestId,
) -> rusqlite::Result<()> {
    if memory.partial_results > 0 {
        let gone = conn.prepare_cached("DELETE FROM so_far WHERE id = ?1")?.execute([id.0])?;
        memory.partial_results -= gone as u64;
    }
    Ok(())
}
