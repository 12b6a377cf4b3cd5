//! PostgreSQL as an engine of databases: one schema a crawl.

use super::{PgOptions, PgStore, url::PgUrl};
use crate::{
    database::{Database, DatabaseEngine, SharedWorker},
    engine::StateStore,
};
use crawl_model::StoreError;
use std::{sync::Arc, time::Duration};

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
    fn open(&self, worker: &SharedWorker) -> Result<Arc<dyn StateStore>, StoreError> {
        let SharedWorker { crawl, worker, spool, pause } = worker.clone();
        let mut store = PgStore::open(&PgOptions { url: self.clone(), crawl, worker, spool, pause })?;
        store.keep_lease()?;
        Ok(Arc::new(store))
    }

    fn open_read_only(&self, crawl: &str) -> Result<Arc<dyn StateStore>, StoreError> {
        Ok(Arc::new(PgStore::open_read_only(&PgOptions {
            url: self.clone(),
            crawl: crawl.to_owned(),
            worker: String::new(),
            spool: None,
            pause: Duration::ZERO,
        })?))
    }
}
