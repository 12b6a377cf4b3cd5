//! Second connection of a worker, for claims of contents and searches for similar texts. They do not wait for settlements and
//! new links, whose transactions have the first connection. A claim is one statement, which has the fence of its page.
//!
//! The log of the server is one: a durable transaction of either connection makes the earlier changes of both durable.

use super::{PgStore, db::Db, memory::Memory, page_fences::PageFences};
use crawl_model::StoreError;
use std::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicU32, Ordering::SeqCst},
};

/// The connection, and the round as its statements see it.
pub(super) struct Side {
    /// `None` for a reader, whose only connection serves both.
    db: Option<Mutex<Db>>,
    round: AtomicU32,
    is_recrawl: AtomicBool,
    /// This worker.
    pub(super) worker: i32,
    /// Fences of its pages.
    pub(super) fences: PageFences,
}

impl Side {
    pub(super) fn new(db: Option<Db>, memory: &Memory) -> Self {
        let Memory { worker, round, recrawl, fences, .. } = memory;
        Self {
            db: db.map(Mutex::new),
            round: (*round).into(),
            is_recrawl: (*recrawl).into(),
            worker: *worker,
            fences: fences.clone(),
        }
    }

    /// The round, and true if URLs of earlier rounds rest in it.
    pub(super) fn round(&self) -> (u32, bool) {
        (self.round.load(SeqCst), self.is_recrawl.load(SeqCst))
    }
}

impl PgStore {
    /// Runs work of one statement. A failure loses the store, as that of a transaction does.
    pub(super) fn on_second_connection<T>(
        &self,
        work: impl FnOnce(&mut Db) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let Some(db) = &self.side.db else { return work(&mut self.ready()?.db) };
        if self.is_lost.load(SeqCst) {
            return self.ready().and_then(|mut inner| work(&mut inner.db));
        }
        crawl_model::assert_may_block("a call of PostgreSQL");
        let done = match db.lock() {
            Ok(mut db) => work(&mut db),
            Err(_) => Err(StoreError::Other("a thread panicked in the middle of a call".into())),
        };
        // after the lock of this connection: no thread waits for one while it has the other
        done.inspect_err(|error| self.abandon(error))
    }

    /// Begins a round, or joins the one that another worker has begun.
    pub(super) fn begin(&self, recrawl: bool, keep_sites: bool) -> Result<u32, StoreError> {
        let mut inner = self.ready()?;
        let round = inner.begin(recrawl, keep_sites)?;
        self.side.round.store(round, SeqCst);
        self.side.is_recrawl.store(inner.memory.recrawl, SeqCst);
        Ok(round)
    }
}
