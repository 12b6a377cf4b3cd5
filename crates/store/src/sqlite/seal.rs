//! Checksum of a whole database, written beside it at a clean end.
//!
//! A database that matches it is bit-identical to the one that the last process left. If the checksum is
//! missing after a kill, or does not match, SQLite's own check decides.

use super::{FILE, error::sql, io_error};
use crate::private;
use crawl_model::StoreError;
use rusqlite::Connection;
use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};
use xxhash_rust::xxh3::Xxh3;

/// Suffix of the file's name, after that of the database.
const SUFFIX: &str = ".sum";
/// Maximum database size in bytes for comparing indexes with their tables. On 114 MB that took 1.6 s, and the
/// check without it 0.35 s (two cores, 2026-11-22).
const FULL_CHECK: u64 = 256 << 20;
/// Maximum number of faults that SQLite reports.
const MOST_FAULTS: u32 = 20;

/// State of a database before it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seal {
    /// There is no database yet.
    New,
    /// Every byte is as the last process left it.
    Intact,
    /// The last process left no checksum.
    Missing,
    /// The bytes differ from those at the end of the last process.
    Broken,
}

impl Seal {
    /// Returns true if SQLite's own check decides.
    pub(super) const fn is_to_verify(self) -> bool {
        matches!(self, Self::Missing | Self::Broken)
    }
}

fn path(dir: &Path) -> PathBuf {
    dir.join(format!("{FILE}{SUFFIX}"))
}

/// Compares a database with its checksum and removes the checksum, since the database will change.
pub(super) fn take(dir: &Path) -> Result<Seal, StoreError> {
    let seal = look(dir)?;
    remove(dir)?;
    Ok(seal)
}

/// Compares a database with its checksum.
pub(super) fn look(dir: &Path) -> Result<Seal, StoreError> {
    let database = dir.join(FILE);
    if fs::metadata(&database).map_or(0, |found| found.len()) == 0 {
        return Ok(Seal::New);
    }
    let Ok(noted) = fs::read_to_string(path(dir)) else { return Ok(Seal::Missing) };
    // a log with content is newer than the checksum
    let log = fs::metadata(dir.join(format!("{FILE}-wal"))).map_or(0, |found| found.len());
    let found = checksum_of(&database).map_err(|e| io_error(&database, &e))?;
    Ok(if log == 0 && noted.trim() == found { Seal::Intact } else { Seal::Broken })
}

/// Writes the checksum of a database when its last writer ends.
pub(super) fn leave(conn: &Connection, dir: &Path) -> Result<(), StoreError> {
    let busy: bool = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).map_err(sql)?;
    if busy {
        // a reader needs the log: the next process runs the full check
        return Ok(());
    }
    let database = dir.join(FILE);
    let sum = checksum_of(&database).map_err(|e| io_error(&database, &e))?;
    private::write(&path(dir), (sum + "\n").as_bytes()).map_err(|e| io_error(&path(dir), &e))
}

pub(super) fn remove(dir: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path(dir)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error(&path(dir), &error)),
        _ => Ok(()),
    }
}

/// Length and XXH3 of a file.
fn checksum_of(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let (mut hash, mut length, mut buffer) = (Xxh3::new(), 0, vec![0; 1 << 20]);
    loop {
        let n = file.read(&mut buffer)?;
        if n == 0 {
            return Ok(format!("{length} {:016x}", hash.digest()));
        }
        hash.update(&buffer[..n]);
        length += n as u64;
    }
}

/// Runs SQLite's check on a database whose seal is not intact.
pub(super) fn verify(conn: &Connection, dir: &Path, seal: Seal) -> Result<(), StoreError> {
    if !seal.is_to_verify() {
        return Ok(());
    }
    let size = fs::metadata(dir.join(FILE)).map_or(0, |found| found.len());
    let faults = faults(conn, size <= FULL_CHECK).map_err(sql)?;
    if let Some(first) = faults.first() {
        let more = match faults.len() {
            1 => String::new(),
            n => format!(" (and {} faults more)", n - 1),
        };
        return Err(StoreError::Corrupt(format!("{first}{more}")));
    }
    if seal == Seal::Broken {
        tracing::warn!(
            "{}: changed since the last run by another program; its structure is intact, and blobs with a checksum \
             are checked as they are read: crawl state check looks at all of it",
            dir.join(FILE).display()
        );
    }
    Ok(())
}

/// Faults that SQLite finds; `full` also compares indexes with their tables.
pub(super) fn faults(conn: &Connection, full: bool) -> rusqlite::Result<Vec<String>> {
    let check = if full { "integrity_check" } else { "quick_check" };
    let mut select = conn.prepare(&format!("PRAGMA {check}({MOST_FAULTS})"))?;
    let lines = select.query_map([], |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
    let lines = lines.iter().flat_map(|text| text.lines());
    Ok(lines
        .filter(|line| *line != "ok" && !line.starts_with("*** in database"))
        .map(str::to_owned)
        .collect())
}
