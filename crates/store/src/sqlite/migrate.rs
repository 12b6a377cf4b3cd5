//! Versions of a database: `PRAGMA user_version` counts the applied migrations.

use super::error::sql;
use crawl_model::StoreError;
use rusqlite::{Connection, TransactionBehavior};

/// Migrations, one per version. Entries are never edited, only added.
pub(super) type Migrations = &'static [&'static str];

/// The newest version that this program knows.
pub(super) fn newest(migrations: Migrations) -> u32 {
    u32::try_from(migrations.len()).unwrap_or(u32::MAX)
}

/// The version of a database, if this program can read it.
pub(super) fn version(conn: &Connection, migrations: Migrations) -> Result<u32, StoreError> {
    let found: u32 = conn.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(sql)?;
    if found > newest(migrations) {
        return Err(StoreError::Version { found, known: newest(migrations) });
    }
    Ok(found)
}

/// Applies the missing migrations, each in its own transaction.
pub(super) fn migrate(conn: &mut Connection, migrations: Migrations) -> Result<(), StoreError> {
    if version(conn, migrations)? == newest(migrations) {
        return Ok(());
    }
    // the sort of an index over millions of rows leaves the memory
    conn.pragma_update(None, "temp_store", "file").map_err(sql)?;
    apply(conn, migrations)?;
    conn.pragma_update(None, "temp_store", "memory").map_err(sql)
}

fn apply(conn: &mut Connection, migrations: Migrations) -> Result<(), StoreError> {
    loop {
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
        let done = version(&tx, migrations)?;
        let Some(migration) = migrations.get(done as usize) else { return Ok(()) };
        tx.execute_batch(migration).map_err(sql)?;
        tx.pragma_update(None, "user_version", done + 1).map_err(sql)?;
        tx.commit().map_err(sql)?;
    }
}
