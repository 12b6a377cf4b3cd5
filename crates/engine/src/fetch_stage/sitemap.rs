//! Fetches of sitemaps.

use super::{Answer, MAX_REDIRECTS, Visit};
use crate::{context::Context, finished::Finished, sitemaps, stage_error::StageError};
use crawl_fetch::{FetchError, MAX_SITEMAP_BYTES, Resource, SlotOutcome};
use crawl_model::{FailedPage, Outcome, Stage};
use std::{sync::Arc, time::Duration};

impl Visit<'_> {
    /// A sitemap: its URLs go to the frontier, and it is done. Redirects are followed as those of pages are.
    pub(super) async fn read_sitemap(mut self) -> Result<Answer, StageError> {
        let slot = match self.take_slot().await {
            Ok(slot) => slot,
            Err(error) => return self.failed(&error, None, None).await,
        };
        let answer =
            self.context.network.client.fetch_large_resource(&self.request.url, MAX_SITEMAP_BYTES).await;
        slot.finish(SlotOutcome::of_resource(&answer).of_url(&self.request.url));
        match answer {
            Err(error) => self.failed(&error, None, None).await,
            Ok(Resource { redirect: Some(to), status, .. })
                if self.request.redirects.len() < MAX_REDIRECTS =>
            {
                let request = self.request.clone();
                let follow = move |context: &Arc<Context>| sitemaps::redirected(context, &request, &to);
                self.log_failures(self.in_storage(follow).await?).await?;
                Ok(self.end(Outcome::Redirected, "redirected", Some(status)))
            }
            Ok(Resource { status, retry_after, .. }) if !(200..300).contains(&status) => {
                self.failed(&FetchError::Status(status), Some(status), retry_after).await
            }
            Ok(answer) => {
                let status = answer.status;
                self.context.stats.wire_bytes.add(answer.wire_bytes);
                let read = sitemaps::read(self.context, &self.request, answer).await?;
                if self.context.control.requests.is_cancelled() {
                    // a part may have been read
                    return self.requeue(Duration::ZERO, self.request.attempt).await;
                }
                match read {
                    Ok(lines) => {
                        self.log_failures(lines).await?;
                        Ok(self.end(Outcome::Skipped, "sitemap", Some(status)))
                    }
                    Err(problem) => Ok(self.fail(Stage::Fetch, "sitemap", Some(status), problem)),
                }
            }
        }
    }

    /// Writes lines into the error log for what was left out on the way.
    pub(super) async fn log_failures(&self, lines: Vec<FailedPage>) -> Result<(), StageError> {
        for line in lines {
            let line = Finished::Failed(Box::new(line), Box::default());
            self.finished.send(line).await.map_err(|_| StageError::Downstream)?;
        }
        Ok(())
    }
}
