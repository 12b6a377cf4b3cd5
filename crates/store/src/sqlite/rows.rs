//! Access to the rows of a state, for a copy to another engine.

use super::{FILE, SqliteStore, bands, checksum::checksum, error, memory::set_number};
use crate::file_error::io_error;
use crawl_model::{RunStore, StoreError};
use rusqlite::Connection;
use std::{
    fs::{self, File},
    path::Path,
};

/// Folder in a state directory in which a state is made.
const UNFINISHED: &str = "unfinished-copy";

/// Name of the checksum of a database.
const SEAL: &str = "crawl.sqlite.sum";

/// The checksum that is stored beside a blob.
pub(crate) fn blob_checksum(blob: &[u8]) -> i64 {
    checksum(blob)
}

/// An error of SQLite as that of a store.
pub(crate) fn sql(error: rusqlite::Error) -> StoreError {
    error::sql(error)
}

/// Adds the entries by which the index finds texts by page and content.
pub(crate) fn index_texts(conn: &Connection) -> Result<(), StoreError> {
    bands::index_texts(conn).map_err(sql)
}

/// Makes the view `copied_urls` for this connection. It accepts URLs with the results of their visits, as the view
/// `visited` shows them, but with whole keys.
pub(crate) fn accept_whole_urls(conn: &Connection) -> Result<(), StoreError> {
    conn.execute_batch(COPIED_URLS).map_err(sql)
}

const COPIED_URLS: &str = "
CREATE TEMP VIEW copied_urls AS SELECT * FROM main.visited;
CREATE TEMP TRIGGER copied_url INSTEAD OF INSERT ON copied_urls BEGIN
    INSERT INTO urls (id, key, host, round, depth, discovery, attempt, strategy, outcome, url, redirects, sitemap_lastmod,
                      found_on)
    VALUES (NEW.id, substr(NEW.key, 1, 6), NEW.host, NEW.round, NEW.depth, NEW.discovery, NEW.attempt, NEW.strategy,
            NEW.outcome, NEW.url, NEW.redirects, NEW.sitemap_lastmod, NEW.found_on);
    INSERT INTO history (id, status, etag, last_modified, content_hash, text_hash, body_hash, rules, via, fetched_at,
                         fetched_lastmod)
    SELECT NEW.id, NEW.status, NEW.etag, NEW.last_modified, NEW.content_hash,
           iif(substr(NEW.text_hash, 1, 16) = substr(NEW.content_hash, 1, 16), x'', substr(NEW.text_hash, 1, 16)),
           substr(NEW.body_hash, 1, 16), NEW.rules, NEW.via, NEW.fetched_at, NEW.fetched_lastmod
    WHERE coalesce(NEW.status, NEW.etag, NEW.last_modified, NEW.content_hash, NEW.text_hash, NEW.body_hash, NEW.rules,
                   NEW.via, NEW.fetched_at, NEW.fetched_lastmod) IS NOT NULL;
    INSERT INTO revisits (id, read_at, seen_at, first_at, changed_at, visits, changes)
    SELECT NEW.id, NEW.read_at, NEW.seen_at, NEW.first_at, NEW.changed_at, NEW.visits, NEW.changes
    WHERE NEW.first_at IS NOT NEW.fetched_at OR NEW.changed_at IS NOT NEW.fetched_at
          OR NEW.read_at IS NOT iif(NEW.content_hash IS NULL, NULL, NEW.fetched_at)
          OR NEW.seen_at IS NOT iif(NEW.content_hash IS NULL, NULL, NEW.fetched_at)
          OR NEW.visits <> 0 OR NEW.changes <> 0;
END;
";

/// Sets a number of the state, as the table `numbers` names it.
pub(crate) fn put_number(conn: &Connection, name: &str, value: i64) -> Result<(), StoreError> {
    set_number(conn, name, value).map_err(sql)
}

impl SqliteStore {
    /// Reads rows of a state that no process writes.
    pub(crate) fn read_rows<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        work(&self.ready()?.conn)
    }

    /// Creates a state in a directory. `insert` adds rows in one transaction, then `complete` uses the open store.
    /// The state is complete or absent.
    pub(crate) fn make(
        dir: &Path,
        insert: impl FnOnce(&Connection) -> Result<(), StoreError>,
        complete: impl FnOnce(&Self) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let unfinished = dir.join(UNFINISHED);
        Self::remove(&unfinished)?;
        let store = Self::open(&unfinished)?;
        {
            let inner = &mut *store.ready()?;
            let tx = inner.conn.transaction().map_err(sql)?;
            insert(&tx)?;
            tx.commit().map_err(sql)?;
        }
        drop(store);
        // opened again, so that its memory matches the rows
        let store = Self::open(&unfinished)?;
        complete(&store)?;
        store.sync()?;
        drop(store);
        let moved =
            |name: &str| fs::rename(unfinished.join(name), dir.join(name)).map_err(|e| io_error(dir, &e));
        // the database last: without it there is no state
        if unfinished.join(SEAL).exists() {
            moved(SEAL)?;
        }
        moved(FILE)?;
        File::open(dir).and_then(|dir| dir.sync_all()).map_err(|e| io_error(dir, &e))?;
        let _ = fs::remove_dir(&unfinished);
        Ok(())
    }
}
