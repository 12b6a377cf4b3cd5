//! Files of a repair: a copy of the damaged database to read, and the change of both databases.

use crate::sqlite::{FILE, MIGRATIONS, OfflinePurpose, connect_offline, error::sql, io_error, migrate, seal};
use crawl_model::StoreError;
use rusqlite::Connection;
use std::{
    fs::{self, File},
    io::{self, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

/// A copy of the damaged database for reading, since a read of one with a log changes it.
pub(super) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    pub(super) fn of(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join(format!("{FILE}.salvage"));
        remove_all(&path)?;
        copy_file(&dir.join(FILE), &path)?;
        let log = dir.join(format!("{FILE}-wal"));
        if log.exists() {
            copy_file(&log, &with_suffix(&path, "-wal"))?;
        }
        Ok(Self { path })
    }

    /// Opens a connection to the copy; returns it with its schema version. A damaged header is rewritten.
    pub(super) fn open(&self) -> Result<(Connection, u32), StoreError> {
        let first = self.read();
        let Err(StoreError::Corrupt(_)) = first else { return first };
        self.write_header().map_err(|e| io_error(&self.path, &e))?;
        self.read()
    }

    fn read(&self) -> Result<(Connection, u32), StoreError> {
        let conn = connect_offline(&self.path, OfflinePurpose::Salvage).map_err(sql)?;
        let tables: i64 = conn
            .query_row("SELECT count(*) FROM sqlite_schema WHERE name = 'urls'", [], |row| row.get(0))
            .map_err(sql)?;
        if tables == 0 {
            return Err(StoreError::Corrupt("the list of its tables cannot be read".into()));
        }
        let version = match migrate::version(&conn, MIGRATIONS)? {
            0 => migrate::newest(MIGRATIONS),
            found => found,
        };
        Ok((conn, version))
    }

    /// Rewrites the first hundred bytes of a database with this program's values, except for counters without
    /// effect.
    fn write_header(&self) -> io::Result<()> {
        let mut header = [0; 100];
        header[..16].copy_from_slice(b"SQLite format 3\0");
        header[16..18].copy_from_slice(&4096_u16.to_be_bytes());
        header[18..24].copy_from_slice(&[2, 2, 0, 64, 32, 32]);
        // schema cookie, schema format, UTF-8
        header[43] = 1;
        header[47] = 4;
        header[59] = 1;
        header[60..64].copy_from_slice(&migrate::newest(MIGRATIONS).to_be_bytes());
        let mut file = File::options().write(true).open(&self.path)?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&header)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = remove_all(&self.path) {
            tracing::warn!(%error, "a copy of the damaged database is left");
        }
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn copy_file(from: &Path, to: &Path) -> Result<(), StoreError> {
    fs::copy(from, to).map(|_| ()).map_err(|e| io_error(to, &e))
}

pub(super) fn remove_all(database: &Path) -> Result<(), StoreError> {
    for suffix in ["-wal", "-shm", "-journal", ""] {
        let path = with_suffix(database, suffix);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io_error(&path, &error)),
            _ => {}
        }
    }
    Ok(())
}

/// The first unused name `crawl.sqlite.damaged-N`.
pub(super) fn free_name(dir: &Path) -> PathBuf {
    let names = (1..u32::MAX).map(|n| dir.join(format!("{FILE}.damaged-{n}")));
    let mut free = names.filter(|path| !path.exists());
    free.next().unwrap_or_else(|| dir.join(format!("{FILE}.damaged")))
}

/// Renames the damaged database and its log, and puts the new one in place. The log moves first, since the
/// new database would take it over.
pub(super) fn put_in_place(dir: &Path, new: &Path, damaged: &Path) -> Result<(), StoreError> {
    let (database, log) = (dir.join(FILE), dir.join(format!("{FILE}-wal")));
    File::open(new).and_then(|file| file.sync_all()).map_err(|e| io_error(new, &e))?;
    copy_synced(&database, damaged)?;
    if log.exists() {
        copy_synced(&log, &with_suffix(damaged, "-wal"))?;
    }
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(|e| io_error(dir, &e))?;
    seal::remove(dir)?;
    for suffix in ["-wal", "-shm"] {
        match fs::remove_file(with_suffix(&database, suffix)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io_error(&log, &error)),
            _ => {}
        }
    }
    fs::rename(new, &database).map_err(|e| io_error(&database, &e))?;
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(|e| io_error(dir, &e))
}

/// Copies a file and syncs the copy, since the original is then removed.
fn copy_synced(from: &Path, to: &Path) -> Result<(), StoreError> {
    copy_file(from, to)?;
    File::open(to).and_then(|file| file.sync_all()).map_err(|e| io_error(to, &e))
}
