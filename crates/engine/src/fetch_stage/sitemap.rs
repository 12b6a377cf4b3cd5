//! Fetches of sitemaps.

use super::{Answer, MAX_REDIRECTS, Visit};
use crate::{context::Context, finished::Finished, sitemaps, stage_error::StageError};
use crawl_fetch::{FetchError, MAX_SITEMAP_BYTES, Resource, SkipKind, SlotOutcome};
use crawl_model::{FailedPage, Outcome, Stage};
use std::{sync::Arc, time::Duration};

/// Types of feeds.
const FEEDS: [&str; 4] =
    ["application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json"];
/// Types of JSON, which servers often send a JSON Feed as. Any other JSON is no feed, and ends as other files do.
const JSON: [&str; 2] = ["application/json", "text/json"];
const GZIP: [&str; 3] = ["application/gzip", "application/x-gzip", "application/octet-stream"];

impl Visit<'_> {
    /// Returns true if a seed that is no page may be a sitemap or feed, whose URLs the user means. It is then
    /// requested again, since the answer was not read completely.
    pub(super) fn names_pages(&self, kind: SkipKind, content_type: Option<&str>) -> bool {
        let content_type = content_type.unwrap_or_default();
        let path = self.request.url.path();
        let is_file = match kind {
            SkipKind::ContentType if GZIP.contains(&content_type) => {
                path.ends_with(".xml.gz") || path.ends_with(".txt.gz")
            }
            // other files of JSON are not worth a second request
            SkipKind::ContentType if JSON.contains(&content_type) => {
                path.contains("feed") || path.ends_with(".json")
            }
            SkipKind::ContentType => FEEDS.contains(&content_type),
            SkipKind::Sniffed => matches!(content_type, "application/xml" | "text/xml"),
            _ => false,
        };
        is_file && self.request.discovery.is_seed() && self.context.config.crawl.depth.or_max() > 0
    }

    /// A sitemap: its URLs go to the frontier, and it is done. Redirects are followed as those of pages are. `seed` is the reason why
    /// a seed is no page, and its end if it is no sitemap either.
    pub(super) async fn read_sitemap(mut self, seed: Option<SkipKind>) -> Result<Answer, StageError> {
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
                match (read, seed) {
                    (Ok(lines), seed) => {
                        self.log_failures(lines).await?;
                        let kind = if seed.is_some() { "sitemap_seed" } else { "sitemap" };
                        Ok(self.end(Outcome::Skipped, kind, Some(status)))
                    }
                    (Err(_), Some(kind)) => Ok(self.end(Outcome::Skipped, kind.name(), Some(status))),
                    (Err(problem), None) => Ok(self.fail(Stage::Fetch, "sitemap", Some(status), problem)),
                }
            }
        }
    }

    /// Writes error lines for omitted files and URLs.
    pub(super) async fn log_failures(&self, lines: Vec<FailedPage>) -> Result<(), StageError> {
        for line in lines {
            let line = Finished::Failed(Box::new(line), Box::default());
            self.finished.send(line).await.map_err(|_| StageError::Downstream)?;
        }
        Ok(())
    }
}
