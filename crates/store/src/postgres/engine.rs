//! PostgreSQL as an engine of databases: one schema a crawl.

use super::{PgOptions, PgStore, reopen, transfer, url::PgUrl};
use crate::{
    database::{CopyReport, Database, DatabaseEngine, SharedWorker},
    engine::StateStore,
};
use crawl_model::{StoreError, UrlKey};
use std::{path::Path, sync::Arc, time::Duration};

/// Databases of PostgreSQL.
pub(crate) struct PostgresEngine;

impl DatabaseEngine for PostgresEngine {
    fn schemes(&self) -> &'static [&'static str] {
        &["postgres", "postgresql"]
    }

    fn example(&self) -> &'static str {
        "postgres://USER@HOST/DATABASE"
    }

    fn database(&self, url: &str) -> Result<Arc<dyn Database>, StoreError> {
        Ok(Arc::new(url.parse::<PgUrl>()?))
    }
}

impl Database for PgUrl {
    fn earlier_form(&self) -> String {
        Self::earlier_form(self)
    }

    fn open(&self, worker: &SharedWorker) -> Result<Arc<dyn StateStore>, StoreError> {
        let SharedWorker { crawl, worker, spool, pause, begins_run } = worker.clone();
        let mut store =
            PgStore::open(&PgOptions { url: self.clone(), crawl, worker, spool, pause, begins_run })?;
        store.keep_lease()?;
        Ok(Arc::new(store))
    }

    fn open_read_only(&self, crawl: &str) -> Result<Arc<dyn StateStore>, StoreError> {
        Ok(Arc::new(PgStore::open_read_only(&without_worker(self, crawl))?))
    }

    fn copy_from(&self, crawl: &str, dir: &Path) -> Result<CopyReport, StoreError> {
        transfer::copy_to_database(dir, &without_worker(self, crawl))
    }

    fn copy_to(&self, crawl: &str, dir: &Path) -> Result<CopyReport, StoreError> {
        transfer::copy_to_directory(&without_worker(self, crawl), dir)
    }

    fn upgrade(&self, crawl: &str) -> Result<(u32, u32), StoreError> {
        transfer::upgrade(&without_worker(self, crawl))
    }

    fn reopen_failed(&self, crawl: &str, round: u32, urls: Option<&[UrlKey]>) -> Result<usize, StoreError> {
        reopen::reopen(&without_worker(self, crawl), round, urls)
    }
}

fn without_worker(url: &PgUrl, crawl: &str) -> PgOptions {
    PgOptions {
        url: url.clone(),
        crawl: crawl.to_owned(),
        worker: String::new(),
        spool: None,
        pause: Duration::ZERO,
        begins_run: false,
    }
}
