//! The storage traits on SQLite: one file, one connection under a lock.
//!
//! Frequent queries never reach the database: the [`Ledger`](crate::ledger::Ledger) gives counts, and
//! [`KnownUrls`](crate::known::KnownUrls) recognises known links.
//!
//! Changes are committed in groups, since a commit costs as much as the work of ten pages. They stay in
//! order, so the disk always holds all changes up to some moment. See [`SqliteStore`] for the guarantees to a
//! caller.

mod band_buckets;
mod band_filter;
mod bands;
mod check;
mod checksum;
mod connect;
mod domain;
mod durable;
mod engine;
mod enqueue;
mod error;
mod frontier;
mod held;
mod lease;
mod log_check;
mod memory;
mod migrate;
mod operate;
mod projects;
mod recrawl;
mod repair;
pub(crate) mod rows;
mod run;
mod seal;
mod settle;
mod text_cache;
mod texts;
mod url_keys;
mod visits;

pub(crate) use engine::SqliteEngine;
pub use projects::SqliteProjects;

use crate::{codes, file_error::io_error, private};
use connect::{OfflinePurpose, connect, connect_offline, set_up_log};
use crawl_model::{StoreError, assert_may_block, instant};
use durable::OpenFile;
use error::sql;
use memory::Memory;
use migrate::{Migrations, migrate, newest, version};
use run::Run;
use rusqlite::{Connection, OpenFlags};
use seal::Seal;
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard},
    time::{Duration, Instant},
};

/// Name of the database in the state directory.
const FILE: &str = "crawl.sqlite";

const MIGRATIONS: Migrations = &[
    include_str!("migrations/0001_frontier.sql"),
    include_str!("migrations/0002_lastmod.sql"),
    include_str!("migrations/0003_strategies.sql"),
    include_str!("migrations/0004_texts.sql"),
    include_str!("migrations/0005_recrawl.sql"),
    include_str!("migrations/0006_bands.sql"),
    include_str!("migrations/0007_checksums.sql"),
    include_str!("migrations/0008_found_on.sql"),
    include_str!("migrations/0009_text_keys.sql"),
    include_str!("migrations/0010_visits.sql"),
];

/// Maximum delay of a change before its commit.
const GROUP: Duration = Duration::from_millis(100);

/// Cost and durability of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreOptions {
    /// Syncs the disk at every commit. Without it, a commit survives any death of the process. A loss of
    /// power may then undo the newest commits, at most back to the last
    /// [`sync`](crawl_model::RunStore::sync). A commit is never undone in part.
    ///
    /// Outputs stay exactly-once in both modes. A run syncs the store before any change of an output that
    /// cannot be cut back. These are its first batch, the replacement of a Parquet table, and its end. All
    /// else in an output is cut back to the offset in the database, and its pages are fetched again.
    /// `docs/outputs.md` describes the effect of a loss of power for each output.
    pub power_safe: bool,
    /// Maximum size of SQLite's page cache, in KiB.
    pub cache_kib: u32,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { power_safe: false, cache_kib: 8 * 1024 }
    }
}

/// The storage traits on SQLite.
///
/// **After `kill -9`** (for a loss of power see [`StoreOptions::power_safe`]):
/// [`settle`](crawl_model::Frontier::settle), [`begin_round`](crawl_model::Frontier::begin_round) and
/// [`put`](crawl_model::RunStore::put) commit all earlier changes and their own. Other changes are committed with the
/// next of these calls, by any call after a tenth of a second, and when the store is dropped. So the process only
/// loses its newest leases, retries, held pages, links and claims. They concern unsettled pages, which are fetched
/// again and restore them.
///
/// **After an error** uncommitted changes are rolled back, their leases are void, and each further call
/// returns an error; open the store again. [`StoreError::Busy`] alone changes nothing.
///
/// Hold a [`StateLock`](crate::StateLock) on the directory while writing to a store.
pub struct SqliteStore {
    inner: Mutex<Inner>,
    dir: PathBuf,
}

struct Inner {
    conn: Connection,
    memory: Memory,
    run: Run,
    /// The database file; `None` if the store is read-only.
    file: Option<OpenFile>,
    /// Time of the oldest uncommitted change.
    open_since: Option<Instant>,
    /// Reason for the loss of changes, if any were lost.
    lost: Option<LossReason>,
}

impl SqliteStore {
    /// Opens the store of a state directory with the default [`StoreOptions`]. Creates directory and database
    /// if missing, and migrates an older version.
    ///
    /// # Errors
    /// [`StoreError::Version`] when a newer program wrote it, [`StoreError::Corrupt`] when it is another
    /// database, [`StoreError::Full`] when it cannot be written, [`StoreError::Busy`] when another process is
    /// writing.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        Self::open_with(dir, StoreOptions::default())
    }

    /// Opens a store as [`SqliteStore::open`] does, with other options.
    ///
    /// # Errors
    /// As [`SqliteStore::open`].
    pub fn open_with(dir: &Path, options: StoreOptions) -> Result<Self, StoreError> {
        private::create_dir_all(dir).map_err(|e| io_error(dir, &e))?;
        // its logs get the permissions of the database
        private::create(&dir.join(FILE)).map_err(|e| io_error(&dir.join(FILE), &e))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let at = |error| in_file(dir, error::or_no_locks(dir, error));
        let seal = seal::take(dir)?;
        let mut conn = connect(dir, flags, options).map_err(sql).map_err(at)?;
        set_up_log(&conn, options).map_err(sql).map_err(at)?;
        let file = OpenFile::of(&dir.join(FILE)).map_err(|e| io_error(dir, &e))?;
        if seal.is_to_verify() && version(&conn, MIGRATIONS).is_ok_and(|found| found == newest(MIGRATIONS)) {
            return Self::verified(conn, dir, file, (seal, options)).map_err(at);
        }
        seal::verify(&conn, dir, seal).map_err(at)?;
        migrate(&mut conn, MIGRATIONS).map_err(at)?;
        Self::with(conn, dir, Some(file)).map_err(at)
    }

    /// Reads what a store holds in memory while another thread checks the database. Each takes seconds for
    /// millions of URLs, and neither changes the database.
    fn verified(
        conn: Connection,
        dir: &Path,
        file: OpenFile,
        (seal, options): (Seal, StoreOptions),
    ) -> Result<Self, StoreError> {
        std::thread::scope(|scope| {
            let check = scope.spawn(|| {
                let reader = connect(dir, OpenFlags::SQLITE_OPEN_READ_ONLY, options).map_err(sql)?;
                seal::verify(&reader, dir, seal)
            });
            let held = Self::held_in_memory(&conn);
            // its fault explains an error of the other; a store would seal the database when it is dropped
            check.join().map_err(|_| StoreError::Other("the check of the database panicked".into()))??;
            Ok(Self::of(conn, held?, dir, Some(file)))
        })
    }

    /// Returns true if a state directory has a database. An empty file does not count, since SQLite would
    /// create a database in it.
    #[must_use]
    pub fn exists(dir: &Path) -> bool {
        dir.join(FILE).metadata().is_ok_and(|found| found.len() > 0)
    }

    /// Opens a store for reading while another process may write it. Counts are those at the time of opening;
    /// each call that would change data fails with [`StoreError::Full`].
    ///
    /// # Errors
    /// Those of [`SqliteStore::open`]; [`StoreError::Other`] when the directory has no store.
    pub fn open_read_only(dir: &Path) -> Result<Self, StoreError> {
        if !dir.join(FILE).exists() {
            return Err(StoreError::Other(format!("{} holds no state of a crawl", dir.display())));
        }
        let at = |error| in_file(dir, error);
        let conn = connect(dir, OpenFlags::SQLITE_OPEN_READ_ONLY, StoreOptions::default())
            .map_err(sql)
            .map_err(at)?;
        let found = version(&conn, MIGRATIONS).map_err(at)?;
        if found < newest(MIGRATIONS) {
            return Err(StoreError::Other(format!(
                "the state has version {found}: run the crawl to upgrade it"
            )));
        }
        Self::with(conn, dir, None).map_err(at)
    }

    fn with(conn: Connection, dir: &Path, file: Option<OpenFile>) -> Result<Self, StoreError> {
        let held = Self::held_in_memory(&conn)?;
        Ok(Self::of(conn, held, dir, file))
    }

    fn held_in_memory(conn: &Connection) -> Result<(Memory, Run), StoreError> {
        Ok((Memory::load(conn)?, Run::load(conn).map_err(sql)?))
    }

    fn of(conn: Connection, (memory, run): (Memory, Run), dir: &Path, file: Option<OpenFile>) -> Self {
        let inner = Inner { conn, memory, run, file, open_since: None, lost: None };
        Self { inner: Mutex::new(inner), dir: dir.to_owned() }
    }

    /// Removes the store of a state directory, if there is one. No other process may have it open: hold the
    /// [`StateLock`](crate::StateLock).
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn remove(dir: &Path) -> Result<(), StoreError> {
        seal::remove(dir)?;
        // the logs first, since the next database would take over a log
        for suffix in ["-wal", "-shm", ""] {
            let path = dir.join(format!("{FILE}{suffix}"));
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io_error(&path, &error)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Commits pending changes. Dropping the store does the same, but cannot return an error.
    ///
    /// # Errors
    /// When storage fails.
    pub fn commit(&self) -> Result<(), StoreError> {
        self.ready()?.commit()
    }

    /// Rolls back pending changes, as the death of the process or an error does. Each further call fails for
    /// the given reason.
    pub fn abandon(&self, why: &StoreError) {
        if let Ok(mut inner) = self.inner.lock() {
            inner.mark_lost(why);
        }
    }

    /// Locks the connection of a sound store, after committing overdue changes.
    fn ready(&self) -> Result<MutexGuard<'_, Inner>, StoreError> {
        assert_may_block("a call of SQLite");
        let mut inner = self.inner.lock().unwrap_or_else(|poisoned| {
            self.inner.clear_poison();
            let mut inner = poisoned.into_inner();
            inner.mark_lost(&StoreError::Other("a thread panicked in the middle of a change".into()));
            inner
        });
        if let Some(lost) = &inner.lost {
            return Err(lost.error());
        }
        if inner.open_since.is_some_and(|since| instant().saturating_duration_since(since) >= GROUP) {
            inner.commit()?;
        }
        Ok(inner)
    }
}

/// Reason for the loss of changes; later calls fail for the same reason.
struct LossReason {
    kind: fn(String) -> StoreError,
    words: String,
}

impl LossReason {
    fn error(&self) -> StoreError {
        (self.kind)(format!("changes were lost before: {}", self.words))
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        if let Err(error) = self.commit() {
            tracing::warn!(%error, "the last changes to the state were not saved");
            return;
        }
        let Ok(inner) = self.inner.get_mut() else { return };
        if !inner.conn.is_readonly("main").unwrap_or(true)
            && let Err(error) = seal::leave(&inner.conn, &self.dir)
        {
            tracing::debug!(%error, "the state has no checksum: the next run checks it completely");
        }
    }
}

/// Adds the database's name to an error that reports damage.
fn in_file(dir: &Path, error: StoreError) -> StoreError {
    match error {
        StoreError::Corrupt(words) => StoreError::Corrupt(format!("{}: {words}", dir.join(FILE).display())),
        error => error,
    }
}

impl Inner {
    /// Makes a change, in the open transaction or in a new one. `work` also updates memory.
    fn write<T>(
        &mut self,
        work: impl FnOnce(&Connection, &mut Memory) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if self.open_since.is_none() {
            if self.conn.is_readonly("main").map_err(sql)? {
                return Err(StoreError::Full("the store was opened read-only".into()));
            }
            // a failure loses no changes yet
            self.execute("BEGIN IMMEDIATE").map_err(sql)?;
            self.open_since = Some(instant());
        }
        work(&self.conn, &mut self.memory).inspect_err(|error| self.mark_lost(error))
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        if self.open_since.is_some() {
            // a commit to an unlinked file would be lost silently
            self.file.as_ref().map_or(Ok(()), OpenFile::check).inspect_err(|error| self.mark_lost(error))?;
            self.execute("COMMIT").map_err(sql).inspect_err(|error| self.mark_lost(error))?;
            self.open_since = None;
        }
        Ok(())
    }

    /// Rolls back pending changes. Memory and callers are then ahead of the database.
    fn mark_lost(&mut self, why: &StoreError) {
        let kind = match why {
            StoreError::Full(_) => StoreError::Full,
            StoreError::Corrupt(_) => StoreError::Corrupt,
            _ => StoreError::Other,
        };
        self.lost = Some(LossReason { kind, words: why.to_string() });
        self.open_since = None;
        // SQLite may have rolled back by itself
        if !self.conn.is_autocommit()
            && let Err(error) = self.execute("ROLLBACK")
        {
            tracing::debug!(%error, "rolling back failed: the next to open the database does it");
        }
    }

    fn execute(&self, statement: &str) -> rusqlite::Result<()> {
        self.conn.prepare_cached(statement)?.execute([]).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crawl_model::{Discovery, Frontier, HostKey, NewUrl, UrlKey};

    fn urls(n: usize) -> Vec<NewUrl> {
        let url = |n| format!("https://a.example/{n}/{}", "long ".repeat(40));
        (0..n)
            .map(|n| NewUrl {
                key: UrlKey::of(&url(n)),
                url: url(n),
                host: HostKey::from_stored("a.example"),
                depth: 0,
                discovery: Discovery::Seed,
                redirects: Vec::new(),
                sitemap_lastmod: None,
            })
            .collect()
    }

    #[test]
    fn full_disk_rolls_back_only_uncommitted_changes() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(dir.path()).unwrap();
        store.enqueue(&urls(10)).unwrap();
        store.commit().unwrap();
        store.enqueue(&urls(12)).unwrap();
        {
            let mut inner = store.inner.lock().unwrap();
            inner.conn.pragma_update(None, "max_page_count", 40).unwrap();
            // the last change stays uncommitted on any slow machine
            inner.open_since = Instant::now().checked_add(Duration::from_secs(3_600));
        }
        assert!(matches!(store.enqueue(&urls(5_000)), Err(StoreError::Full(_))));
        assert!(
            store.counts().is_err() && store.commit().is_err(),
            "it does not go on with half of the truth"
        );
        drop(store);
        let store = SqliteStore::open(dir.path()).unwrap();
        assert_eq!(store.counts().unwrap().pending, 10);
        assert_eq!(store.enqueue(&urls(12)).unwrap().new, 2);
    }

    #[test]
    fn version_1_database_is_migrated() {
        let dir = tempfile::tempdir().unwrap();
        let url = &urls(1)[0];
        {
            let conn = Connection::open(dir.path().join(FILE)).unwrap();
            conn.execute_batch(MIGRATIONS[0]).unwrap();
            conn.pragma_update(None, "user_version", 1).unwrap();
            conn.execute(
                "INSERT INTO urls (key, host, round, depth, discovery, url, etag) VALUES (?1, 1, 0, 0, 0, ?2, 'e')",
                (url.key.0, &url.url),
            )
            .unwrap();
        }
        assert!(SqliteStore::open_read_only(dir.path()).err().unwrap().to_string().contains("version 1"));
        let store = SqliteStore::open(dir.path()).unwrap();
        let history = store.history(url.key).unwrap().unwrap();
        assert_eq!((history.etag.as_deref(), history.sitemap_lastmod), (Some("e"), None));
        drop(store);
        assert!(SqliteStore::open_read_only(dir.path()).is_ok());
    }

    #[test]
    fn panic_rolls_back_its_change() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(dir.path()).unwrap();
        store.enqueue(&urls(1)).unwrap();
        store.commit().unwrap();
        let broken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            store.ready().unwrap().write(|conn, _| -> Result<(), StoreError> {
                conn.execute("DELETE FROM queue", []).unwrap();
                panic!("in the middle")
            })
        }));
        assert!(broken.is_err());
        assert!(matches!(store.counts(), Err(StoreError::Other(_))));
        drop(store);
        assert_eq!(SqliteStore::open(dir.path()).unwrap().counts().unwrap().pending, 1);
    }

    #[test]
    fn changes_are_committed_by_a_later_call() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(dir.path()).unwrap();
        store.enqueue(&urls(1)).unwrap();
        let seen = || SqliteStore::open_read_only(dir.path()).unwrap().counts().unwrap().pending;
        assert_eq!(seen(), 0);
        // as if a tenth of a second had passed
        store.inner.lock().unwrap().open_since = Instant::now().checked_sub(GROUP);
        store.counts().unwrap();
        assert_eq!(seen(), 1);
    }
}
