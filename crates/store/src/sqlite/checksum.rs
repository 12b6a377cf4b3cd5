//! Checksums of blobs: SQLite does not detect a changed byte inside one.

use rusqlite::{Row, types::ValueRef};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Checksum stored beside a blob.
pub(super) fn checksum(blob: &[u8]) -> i64 {
    xxh3_64(blob).cast_signed()
}

/// Checksum of several columns of a row. `None` differs from an empty text.
pub(super) fn checksum_of(columns: &[Option<&[u8]>]) -> i64 {
    let mut hash = Xxh3::new();
    for column in columns {
        let length = column.map_or(u64::MAX, |bytes| bytes.len() as u64);
        hash.update(&length.to_le_bytes());
        hash.update(column.unwrap_or_default());
    }
    hash.digest().cast_signed()
}

/// Returns true if a blob matches its checksum. Rows of older versions have none and pass.
pub(super) fn is_intact(blob: &[u8], stored: Option<i64>) -> bool {
    stored.is_none_or(|stored| stored == checksum(blob))
}

/// Reads a blob and its checksum from columns `at` and `at + 1`; `None` if they disagree.
pub(super) fn read_checked(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Vec<u8>>> {
    let (ValueRef::Blob(blob), Ok(stored)) = (row.get_ref(at)?, row.get(at + 1)) else { return Ok(None) };
    Ok(is_intact(blob, stored).then(|| blob.to_vec()))
}
