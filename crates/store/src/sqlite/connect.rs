//! Connections to a database, and their settings.

use super::{FILE, StoreOptions};
use crate::private;
use rusqlite::{Connection, OpenFlags, config::DbConfig};
use std::{path::Path, time::Duration};

/// Pages in the write-ahead log that trigger a checkpoint: at 4 KiB per page the log stays at about 8 MiB.
const WAL_PAGES: i64 = 2_000;

/// Size in bytes to which the write-ahead log is truncated after a large transaction.
const WAL_LIMIT: i64 = 16 << 20;

/// Time to wait for another writing process. The holder of the directory's lock is the only one.
pub(super) const BUSY: Duration = Duration::from_secs(2);

pub(super) fn connect(dir: &Path, flags: OpenFlags, options: StoreOptions) -> rusqlite::Result<Connection> {
    // the mutex around the connection replaces SQLite's own
    let conn = Connection::open_with_flags(dir.join(FILE), flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    conn.busy_timeout(BUSY)?;
    conn.set_prepared_statement_cache_capacity(64);
    // a plan never depends on bound values: otherwise SQLite compiles statements with a bound LIMIT at every
    // use
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // negative: KiB, not pages
    conn.pragma_update(None, "cache_size", -i64::from(options.cache_kib))?;
    conn.pragma_update(None, "temp_store", "memory")?;
    // reports a cell beyond its page when the page is read, not when the cell is
    conn.pragma_update(None, "cell_size_check", true)?;
    Ok(conn)
}

/// Reasons to open a database that no run uses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OfflinePurpose {
    /// To inspect it.
    Read,
    /// To read the rest of a damaged database.
    Salvage,
    /// To create a new one.
    Create,
}

pub(super) fn connect_offline(path: &Path, why: OfflinePurpose) -> rusqlite::Result<Connection> {
    let flags = match why {
        OfflinePurpose::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
        OfflinePurpose::Salvage => OpenFlags::SQLITE_OPEN_READ_WRITE,
        OfflinePurpose::Create => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
    };
    if why == OfflinePurpose::Create {
        // SQLite reports the same error next
        let _ = private::create(path);
    }
    let conn = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    conn.busy_timeout(BUSY)?;
    conn.pragma_update(None, "temp_store", "memory")?;
    conn.pragma_update(None, "cell_size_check", why != OfflinePurpose::Salvage)?;
    if why == OfflinePurpose::Salvage {
        // a file shorter than its header says is read as far as possible
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false)?;
        conn.pragma_update(None, "writable_schema", true)?;
    }
    Ok(conn)
}

pub(super) fn set_up_log(conn: &Connection, options: StoreOptions) -> rusqlite::Result<()> {
    conn.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    conn.pragma_update(None, "synchronous", if options.power_safe { "full" } else { "normal" })?;
    conn.pragma_update_and_check(None, "wal_autocheckpoint", WAL_PAGES, |_| Ok(()))?;
    conn.pragma_update_and_check(None, "journal_size_limit", WAL_LIMIT, |_| Ok(()))
}
