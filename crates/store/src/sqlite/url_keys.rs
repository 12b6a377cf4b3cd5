//! Keys of URLs in the database. A row has the first bytes of a key, and its URL decides: rows of several URLs may begin
//! alike.

use crawl_model::UrlKey;
use rusqlite::{CachedStatement, Connection};

/// Bytes of a key in a row. Among ten million URLs, less than one pair is expected to begin with the same bytes.
pub(super) const KEY_BYTES: usize = 6;

/// The part of a key that is stored.
pub(super) fn stored(key: &UrlKey) -> &[u8] {
    &key.0[..KEY_BYTES]
}

/// Returns true if a URL may be that of a stored key. Databases before version 10 have whole keys.
pub(super) fn fits(url: &str, stored: &[u8]) -> bool {
    stored.len() >= KEY_BYTES && UrlKey::of(url).0.starts_with(stored)
}

/// Look-up of rows by whole keys.
pub(super) struct FindUrl<'c>(CachedStatement<'c>);

impl<'c> FindUrl<'c> {
    pub(super) fn prepare(conn: &'c Connection) -> rusqlite::Result<Self> {
        conn.prepare_cached("SELECT id, url FROM urls WHERE key = ?1").map(Self)
    }

    /// The number of the row with a key.
    pub(super) fn id(&mut self, key: &UrlKey) -> rusqlite::Result<Option<i64>> {
        let mut rows = self.0.query([stored(key)])?;
        while let Some(row) = rows.next()? {
            if UrlKey::of(row.get_ref(1)?.as_str()?) == *key {
                return row.get(0).map(Some);
            }
        }
        Ok(None)
    }
}

/// The number of the row with a key.
pub(super) fn id_of(conn: &Connection, key: &UrlKey) -> rusqlite::Result<Option<i64>> {
    FindUrl::prepare(conn)?.id(key)
}
