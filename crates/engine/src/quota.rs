//! Limits of a run that several workers share: a worker reserves its next block when it has used the last one.

use crate::{
    config::{CrawlSection, Limit},
    context::Context,
};
use bytesize::ByteSize;
use crawl_model::{Quota, StoreError};
use std::time::Duration;
use tokio::time::Instant;

/// Pause after an answer that nothing is left: other workers may give something back.
const PAUSE: Duration = Duration::from_millis(500);

/// The limits of this process.
pub struct Limits {
    /// The settings, with this process's part of each limit.
    pub settings: CrawlSection,
    /// Time before which no block is reserved.
    next_try: Option<Instant>,
}

impl Limits {
    /// The settings of one process. For a shared crawl, the worker has no share yet.
    #[must_use]
    pub fn new(context: &Context) -> Self {
        let mut settings = context.config.crawl.clone();
        if context.config.state.is_shared() {
            settings.limit = Limit(settings.limit.0.map(|_| 0));
            settings.max_bytes = settings.max_bytes.map(|_| ByteSize(0));
        }
        Self { settings, next_try: None }
    }

    /// Asks for the next blocks of limits whose part is used.
    ///
    /// # Errors
    /// When storage fails.
    pub fn refresh(&mut self, context: &Context) -> Result<(), StoreError> {
        let now = Instant::now();
        if !context.config.state.is_shared() || self.next_try.is_some_and(|until| now < until) {
            return Ok(());
        }
        let (crawl, stats) = (&context.config.crawl, &context.stats);
        if let (Some(limit), Some(part)) = (crawl.limit.0, self.settings.limit.0) {
            let part = self.next(context, Quota::Records, (limit, part, stats.claimed()))?;
            self.settings.limit = Limit(Some(part));
        }
        if let (Some(limit), Some(part)) = (crawl.max_bytes, self.settings.max_bytes) {
            let used = stats.session_bytes();
            let part = self.next(context, Quota::Bytes, (limit.as_u64(), part.as_u64(), used))?;
            self.settings.max_bytes = Some(ByteSize(part));
        }
        Ok(())
    }

    fn next(
        &mut self,
        context: &Context,
        quota: Quota,
        (limit, part, used): (u64, u64, u64),
    ) -> Result<u64, StoreError> {
        if used < part {
            return Ok(part);
        }
        let next = context.store.take_quota(quota, limit, used)?;
        if next <= used {
            self.next_try = Some(Instant::now() + PAUSE);
        }
        Ok(next)
    }
}
