//! [`DomainStore`] on SQLite.

use super::{SqliteStore, error::sql};
use crawl_model::{ContentHash, DomainStore, HostKey, RequestId, StoreError, UrlKey};
use rusqlite::OptionalExtension;

impl DomainStore for SqliteStore {
    fn load_host(&self, host: &HostKey) -> Result<Option<Vec<u8>>, StoreError> {
        let mut inner = self.fresh()?;
        let inner = &mut *inner;
        let Some(host) = inner.memory.find_host(&inner.conn, host).map_err(sql)? else { return Ok(None) };
        let mut select =
            inner.conn.prepare_cached("SELECT state FROM host_states WHERE host = ?1").map_err(sql)?;
        select.query_row([host], |row| row.get(0)).optional().map_err(sql)
    }

    fn save_host(&self, host: &HostKey, state: &[u8]) -> Result<(), StoreError> {
        self.fresh()?.write(|conn, memory| {
            let host = memory.host(conn, host).map_err(sql)?;
            conn.prepare_cached("INSERT OR REPLACE INTO host_states (host, state) VALUES (?1, ?2)")
                .and_then(|mut insert| insert.execute((host, state)))
                .map_err(sql)?;
            Ok(())
        })
    }

    fn claim_content(&self, hash: &ContentHash, claimant: UrlKey) -> Result<UrlKey, StoreError> {
        let mut inner = self.fresh()?;
        if inner.claims.full() {
            inner.write(|_, _| Ok(()))?;
        }
        let inner = &mut *inner;
        inner.claims.content(&inner.conn, hash, claimant).map_err(sql)
    }

    fn claim_final_url(&self, url: UrlKey, claimant: RequestId) -> Result<RequestId, StoreError> {
        let mut inner = self.fresh()?;
        if inner.claims.full() {
            inner.write(|_, _| Ok(()))?;
        }
        let inner = &mut *inner;
        inner.claims.final_url(&inner.conn, url, claimant).map_err(sql)
    }
}
