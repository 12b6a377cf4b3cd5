//! A crawl by a program: seeds in, records out.

use crate::{
    config::Config,
    duplicates,
    ending::Ending,
    exit::Failure,
    pipeline,
    session::{context, enqueue_seeds},
};
use crawl_fetch::Seed;
use crawl_model::{Frontier, RunStore, Store};
use crawl_output::{Output, RecordOutput};
use crawl_store::MemoryStore;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use url::Url;

/// A crawl whose state lies in memory. It ends with the process and cannot be resumed; [`Session`](crate::session::Session)
/// crawls with a state directory.
///
/// Records go to any [`RecordOutput`], failed URLs as lines to any [`Output`]. The example `crawl_into_channel` sends records into a
/// channel.
pub struct Crawl {
    config: Config,
    seeds: Vec<Seed>,
    cancel: Option<CancellationToken>,
}

impl Crawl {
    /// A crawl with these settings and no seed yet.
    #[must_use]
    pub const fn new(config: Config) -> Self {
        Self { config, seeds: Vec::new(), cancel: None }
    }

    /// Adds a seed.
    #[must_use]
    pub fn seed(mut self, url: Url) -> Self {
        self.seeds.push(Seed { url, bare: false });
        self
    }

    /// Stops the crawl when the token is cancelled. Pages in flight are still written.
    #[must_use]
    pub fn stop_on(mut self, cancel: CancellationToken) -> Self {
        self.cancel = Some(cancel);
        self
    }

    /// Crawls until nothing is left, a limit of the settings is reached or the crawl is stopped. Returns the reason.
    ///
    /// # Errors
    /// When a setting cannot be used, or an output or a stage fails.
    pub async fn run(
        self,
        records: Box<dyn RecordOutput>,
        errors: Box<dyn Output>,
    ) -> Result<Ending, Failure> {
        let store = Arc::new(MemoryStore::new());
        let group = Some(self.config.crawl.source_group.as_str()).filter(|group| !group.is_empty());
        store.set_project(&self.config.crawl.project, group)?;
        store.begin_round()?;
        let mut context = context(self.config, store as Arc<dyn Store>)?;
        if let Some(cancel) = self.cancel {
            context.control.requests = cancel.child_token();
            context.control.cancel = cancel;
        }
        duplicates::open(&context)?;
        enqueue_seeds(&context, &self.seeds)?;
        let context = Arc::new(context);
        pipeline::run(Arc::clone(&context), records, errors).await?;
        Ok(context.control.ending.get().copied().unwrap_or(Ending::Interrupted))
    }
}
