//! Who first had a content or a final URL: claims that are not written yet.

use crawl_model::{ContentHash, RequestId, UrlKey};
use rusqlite::{Connection, OptionalExtension};
use rustc_hash::FxHashMap;

/// Claims after which they are written although nothing else is.
pub(super) const CLAIMS: usize = 1_024;

/// A claim matters only if the page that made it gets settled, and settling writes it, so it needs no transaction
/// of its own: two commits a page less.
#[derive(Default)]
pub(super) struct Claims {
    contents: FxHashMap<[u8; 32], [u8; 16]>,
    final_urls: FxHashMap<[u8; 16], i64>,
}

impl Claims {
    pub(super) fn full(&self) -> bool {
        self.contents.len() + self.final_urls.len() >= CLAIMS
    }

    pub(super) fn content(
        &mut self,
        conn: &Connection,
        hash: &ContentHash,
        claimant: UrlKey,
    ) -> rusqlite::Result<UrlKey> {
        if let Some(&first) = self.contents.get(&hash.0) {
            return Ok(UrlKey(first));
        }
        let mut select = conn.prepare_cached("SELECT claimant FROM contents WHERE hash = ?1")?;
        let first = select.query_row([hash.0], |row| row.get(0)).optional()?;
        Ok(UrlKey(first.unwrap_or_else(|| *self.contents.entry(hash.0).or_insert(claimant.0))))
    }

    pub(super) fn final_url(
        &mut self,
        conn: &Connection,
        url: UrlKey,
        claimant: RequestId,
    ) -> rusqlite::Result<RequestId> {
        if let Some(&first) = self.final_urls.get(&url.0) {
            return Ok(RequestId(first));
        }
        let mut select = conn.prepare_cached("SELECT claimant FROM final_urls WHERE key = ?1")?;
        let first = select.query_row([url.0], |row| row.get(0)).optional()?;
        Ok(RequestId(first.unwrap_or_else(|| *self.final_urls.entry(url.0).or_insert(claimant.0))))
    }

    pub(super) fn write(&self, conn: &Connection) -> rusqlite::Result<()> {
        if !self.contents.is_empty() {
            let mut insert = conn.prepare_cached("INSERT INTO contents (hash, claimant) VALUES (?1, ?2)")?;
            for (hash, claimant) in &self.contents {
                insert.execute((hash, claimant))?;
            }
        }
        if !self.final_urls.is_empty() {
            let mut insert = conn.prepare_cached("INSERT INTO final_urls (key, claimant) VALUES (?1, ?2)")?;
            for (url, claimant) in &self.final_urls {
                insert.execute((url, claimant))?;
            }
        }
        Ok(())
    }

    pub(super) fn clear(&mut self) {
        self.contents.clear();
        self.final_urls.clear();
    }
}
