//! Repair of a damaged state: a new database from all readable rows.
//!
//! Rows of a table are read from its front, and from its end once a page of it is unreadable. The gap between
//! is halved until its readable rows are found. Inconsistent rows are dropped: a URL must match its key, a
//! blob its checksum. Then the frontier is rebuilt from the URLs, and URLs in an uncertain state are fetched
//! again.

mod copy;
mod files;
mod frontier;

use super::{
    FILE, MIGRATIONS, OfflinePurpose, SqliteStore,
    codes::{self, OUTCOMES},
    connect_offline,
    error::sql,
    migrate::migrate,
    url_keys::{id_of, stored},
};
use crate::upkeep::RepairReport;
use copy::{copy, tables};
use crawl_model::{Discovery, HostKey, Outcome, StoreError, UrlKey};
use files::{Scratch, free_name, put_in_place, remove_all};
use frontier::{make_consistent, numbers};
use std::path::Path;
use url::Url;

impl SqliteStore {
    /// Builds a new database from all readable rows of a damaged one, which is kept under another name. Hold
    /// the [`StateLock`](crate::StateLock). If the process is killed, the damaged database stays in place.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when nothing can be read, [`StoreError::Full`] when the disk is full.
    pub fn repair(dir: &Path) -> Result<RepairReport, StoreError> {
        let database = dir.join(FILE);
        if !database.exists() {
            return Err(StoreError::Other(format!("{} holds no state of a crawl", dir.display())));
        }
        let scratch = Scratch::of(dir)?;
        let (old, version) = scratch.open()?;
        let new_path = dir.join(format!("{FILE}.repaired"));
        remove_all(&new_path)?;
        let mut new = connect_offline(&new_path, OfflinePurpose::Create).map_err(sql)?;
        for (migration, n) in MIGRATIONS.iter().zip(1..).take_while(|(_, n)| *n <= version) {
            new.execute_batch(migration)
                .and_then(|()| new.pragma_update(None, "user_version", n))
                .map_err(sql)?;
        }
        let mut report = RepairReport { damaged: free_name(dir), ..RepairReport::default() };
        new.execute_batch("BEGIN; DELETE FROM numbers;").map_err(sql)?;
        let mut bands_lost = false;
        for table in tables(&new).map_err(sql)? {
            let copied = copy(&old, &new, &table)?;
            bands_lost |= copied.lost != Some(0) && matches!(table.as_str(), "texts" | "bands");
            report.tables.push(copied);
        }
        new.execute_batch("COMMIT").map_err(sql)?;
        numbers(&new, version).map_err(sql)?;
        migrate(&mut new, MIGRATIONS)?;
        new.execute_batch("BEGIN").map_err(sql)?;
        if bands_lost {
            new.execute_batch("DELETE FROM bands; UPDATE numbers SET value = 0 WHERE name = 'banded'")
                .map_err(sql)?;
        }
        make_consistent(&new, &mut report)?;
        new.execute_batch("COMMIT").map_err(sql)?;
        drop((old, new));
        put_in_place(dir, &new_path, &report.damaged)?;
        Ok(report)
    }

    /// Adds URLs as records of this round, or of the last round in a recrawl. They are in an output, but
    /// unknown to a repaired state. Returns their number.
    ///
    /// # Errors
    /// When storage fails; then nothing was added.
    pub fn adopt_written(&self, urls: &[String]) -> Result<u64, StoreError> {
        let mut inner = self.ready()?;
        let adopted = inner.write(|conn, memory| {
            let round = if memory.recrawl { memory.round.saturating_sub(1) } else { memory.round };
            let mut adopted = 0;
            for text in urls {
                let Some(host) = Url::parse(text).ok().as_ref().and_then(HostKey::of) else { continue };
                let host = memory.host(conn, &host).map_err(sql)?;
                let key = UrlKey::of(text);
                if id_of(conn, &key).map_err(sql)?.is_some() {
                    continue;
                }
                let mut insert = conn
                    .prepare_cached(
                        "INSERT INTO urls (key, host, round, depth, discovery, outcome, url) \
                         VALUES (?1, ?2, ?3, 0, ?4, ?5, ?6)",
                    )
                    .map_err(sql)?;
                let (link, record) = (codes::discovery(Discovery::Link), codes::outcome(Outcome::Record));
                let row = (stored(&key), host, round, link, record, text);
                adopted += insert.execute(row).map_err(sql)? as u64;
            }
            if round == memory.round && adopted > 0 {
                memory.settled[0] += adopted;
                super::memory::set_number(conn, OUTCOMES[0].1, memory.settled[0].cast_signed())
                    .map_err(sql)?;
            }
            Ok(adopted)
        })?;
        inner.commit()?;
        Ok(adopted)
    }

    /// Names and lengths of the written outputs.
    ///
    /// # Errors
    /// When storage fails.
    pub fn output_marks(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let inner = self.ready()?;
        let mut select = inner.conn.prepare("SELECT name, reach FROM outputs").map_err(sql)?;
        let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(sql)?;
        rows.collect::<rusqlite::Result<_>>().map_err(sql)
    }
}
