//! Syncs that make commits survive a power loss, and a check that the database file still exists.

use super::{Inner, connect::BUSY, error::sql};
use crawl_model::StoreError;
use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::Duration,
};

/// Name of a stored value whose only purpose is its commit.
const SYNCED_KEY: &str = "synced";

/// The open file of a connection.
pub(super) struct OpenFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl OpenFile {
    /// The file at a path, by device and inode.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let found = fs::metadata(path)?;
        Ok(Self { path: path.to_owned(), device: found.dev(), inode: found.ino() })
    }

    /// Returns an error if its name now belongs to another file or to none.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        let same = |found: &fs::Metadata| (found.dev(), found.ino()) == (self.device, self.inode);
        match fs::metadata(&self.path) {
            Ok(found) if same(&found) => Ok(()),
            _ => Err(StoreError::Full(format!(
                "{} was removed or replaced during the run: unsettled changes are lost",
                self.path.display()
            ))),
        }
    }
}

impl Inner {
    /// Copies the write-ahead log into the database, which syncs both, and empties it. SQLite ends a log at
    /// its first damaged frame, and older frames before that frame would hide newer database pages. If a
    /// reader prevents the copy, a synced commit makes all earlier ones durable.
    pub(super) fn sync(&mut self) -> Result<(), StoreError> {
        self.commit()?;
        if self.conn.is_readonly("main").map_err(sql)? {
            return Ok(());
        }
        self.conn.busy_timeout(Duration::ZERO).map_err(sql)?;
        let emptied = self.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0));
        self.conn.busy_timeout(BUSY).map_err(sql)?;
        let busy = emptied.map_err(sql)?;
        if !busy {
            return Ok(());
        }
        let before: i64 = self.conn.pragma_query_value(None, "synchronous", |row| row.get(0)).map_err(sql)?;
        self.conn.pragma_update(None, "synchronous", "full").map_err(sql)?;
        let written = self.write(|conn, _| {
            conn.execute("INSERT OR REPLACE INTO settings (name, value) VALUES (?1, '')", [SYNCED_KEY])
                .map_err(sql)
        });
        let committed = written.and_then(|_| self.commit());
        self.conn.pragma_update(None, "synchronous", before).map_err(sql)?;
        committed
    }
}

#[cfg(test)]
mod tests {
    use crate::SqliteStore;
    use crawl_model::{RunStore, StoreError};
    use std::{fs, path::Path};

    /// The state directory after the worst loss of power: data only in the log is lost.
    fn after_power_loss(dir: &Path) -> SqliteStore {
        let copy = tempfile::tempdir_in(dir).unwrap().keep();
        fs::copy(dir.join("crawl.sqlite"), copy.join("crawl.sqlite")).unwrap();
        SqliteStore::open(&copy).unwrap()
    }

    #[test]
    fn synced_data_survives_a_power_loss() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(dir.path()).unwrap();
        store.put("a", "1").unwrap();
        store.sync().unwrap();
        store.put("b", "2").unwrap();
        let survived = after_power_loss(dir.path());
        assert_eq!(survived.get("a").unwrap().as_deref(), Some("1"));
        assert_eq!(survived.get("b").unwrap(), None, "the simulation takes back what was not synced");
        store.sync().unwrap();
        assert_eq!(after_power_loss(dir.path()).entries("b").unwrap(), [("b".into(), "2".into())]);
    }

    #[test]
    fn damaged_log_does_not_hide_synced_data() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(dir.path()).unwrap();
        for number in 0..5 {
            store.put("a", &number.to_string()).unwrap();
            assert_eq!(store.entries("a").unwrap().len(), 1);
        }
        store.sync().unwrap();
        let log = fs::read(dir.path().join("crawl.sqlite-wal")).unwrap();
        for at in (100..log.len().max(101)).step_by(500) {
            let copy = tempfile::tempdir_in(dir.path()).unwrap();
            fs::copy(dir.path().join("crawl.sqlite"), copy.path().join("crawl.sqlite")).unwrap();
            let mut damaged = log.clone();
            if let Some(byte) = damaged.get_mut(at) {
                *byte ^= 4;
            }
            fs::write(copy.path().join("crawl.sqlite-wal"), damaged).unwrap();
            let found = SqliteStore::open(copy.path()).unwrap().get("a").unwrap();
            assert_eq!(found.as_deref(), Some("4"), "byte {at}");
        }
    }

    #[test]
    fn open_reader_does_not_block_a_sync() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(dir.path()).unwrap();
        store.put("a", "1").unwrap();
        let reader = rusqlite::Connection::open(dir.path().join("crawl.sqlite")).unwrap();
        reader.execute_batch("BEGIN").unwrap();
        let _: i64 = reader.query_row("SELECT count(*) FROM settings", [], |row| row.get(0)).unwrap();
        store.put("a", "2").unwrap();
        store.sync().unwrap();
        assert_eq!(store.entries("synced").unwrap().len(), 1, "by a commit that was synced");
    }

    #[test]
    fn a_database_that_was_removed_or_replaced_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(dir.path()).unwrap();
        store.put("a", "1").unwrap();
        let file = dir.path().join("crawl.sqlite");
        fs::rename(&file, dir.path().join("moved")).unwrap();
        let Err(StoreError::Full(words)) = store.put("b", "2") else {
            panic!("written to a file without a name")
        };
        assert!(words.contains("crawl.sqlite was removed or replaced"), "{words}");
        fs::copy(dir.path().join("moved"), &file).unwrap();
        assert!(store.put("c", "3").is_err(), "another file of that name is not the database");
    }
}
