//! SQLite as an engine of states: a place is a directory.

use super::SqliteStore;
use crate::{
    engine::{Engine, StateStore},
    upkeep::{CheckReport, HostCounts, RepairReport, StoreSize, Upkeep},
};
use crawl_model::{HostBound, HostBounds, HostKey, KnownUrl, RequestId, StoreError, UrlKey};
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// States in directories.
pub(crate) struct SqliteEngine;

impl Engine for SqliteEngine {
    fn takes(&self, _: &Path) -> bool {
        true
    }

    fn open(&self, dir: &Path) -> Result<Arc<dyn StateStore>, StoreError> {
        Ok(Arc::new(SqliteStore::open(dir)?))
    }

    fn open_read_only(&self, dir: &Path) -> Result<Arc<dyn StateStore>, StoreError> {
        Ok(Arc::new(SqliteStore::open_read_only(dir)?))
    }

    fn exists(&self, dir: &Path) -> bool {
        SqliteStore::exists(dir)
    }

    fn remove(&self, dir: &Path) -> Result<(), StoreError> {
        SqliteStore::remove(dir)
    }

    fn log(&self, dir: &Path) -> PathBuf {
        SqliteStore::log(dir)
    }

    fn damage_of_log(&self, dir: &Path) -> io::Result<Option<u64>> {
        SqliteStore::damage_of_log(dir)
    }

    fn check(&self, dir: &Path) -> Result<CheckReport, StoreError> {
        SqliteStore::check(dir)
    }

    fn repair(&self, dir: &Path) -> Result<RepairReport, StoreError> {
        SqliteStore::repair(dir)
    }
}

impl Upkeep for SqliteStore {
    fn hosts(&self) -> Result<Vec<HostCounts>, StoreError> {
        self.hosts()
    }

    fn full_by(&self, host: &HostKey, bounds: HostBounds) -> Result<Option<HostBound>, StoreError> {
        self.full_by(host, bounds)
    }

    fn known_next(&self, after: RequestId, limit: usize) -> Result<Vec<KnownUrl>, StoreError> {
        self.known_next(after, limit)
    }

    fn reopen_failed(&self, urls: &[UrlKey]) -> Result<usize, StoreError> {
        self.reopen_failed(urls)
    }

    fn size(&self) -> Result<StoreSize, StoreError> {
        self.size()
    }

    fn compact(&self) -> Result<(), StoreError> {
        self.compact()
    }

    fn adopt_written(&self, urls: &[String]) -> Result<u64, StoreError> {
        self.adopt_written(urls)
    }

    fn output_marks(&self) -> Result<Vec<(String, u64)>, StoreError> {
        self.output_marks()
    }

    fn abandon(&self, why: &StoreError) {
        self.abandon(why);
    }
}
