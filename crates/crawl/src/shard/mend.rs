//! Held pages whose content was missed, as the other pages of their site show.

use super::Shard;
use crate::{context::StageError, kept_body, page_work};
use crawl_model::{ExtractedPage, Extractor, HostKey, Stage};
use std::sync::Arc;

/// What became of a held page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mended {
    /// It goes on to be judged.
    GoesOn,
    /// Its URL is queued again.
    FetchedAgain,
}

impl Shard {
    /// Returns true if a page waits with its body until more of its site is known.
    pub(super) fn waits_for_site(&self, host: &HostKey, page: &ExtractedPage) -> Result<bool, StageError> {
        let Some(kept) = &page.kept_body else { return Ok(false) };
        let context = &self.context;
        let blocks = || {
            let count = || {
                let body = kept_body::bytes(kept).unwrap_or_default();
                context.extractor.count_blocks(&kept_body::input(kept, &body))
            };
            // a page that panics here goes on as it was extracted before
            page_work::guarded(Stage::Extract, &page.request, count).unwrap_or_default()
        };
        Ok(context.sites.is_open(&*context.store, host, page.request.url.as_str(), blocks)?)
    }

    /// Extracts a held page again if the evidence of its site says that its content was missed. Without its body it is fetched again,
    /// once a round.
    pub(super) fn mend(&mut self, host: &HostKey, page: &mut ExtractedPage) -> Result<Mended, StageError> {
        let context = Arc::clone(&self.context);
        let missed = context.sites.take_missed(&*context.store, host, page.request.url.as_str())?;
        if page.kept_body.is_some() {
            self.extract_again(host, page)?;
        } else if missed
            && context.sites.can_fetch_again()
            && context.store.refetch((&page.request).into())?
        {
            tracing::debug!(url = %page.request.url, "the content of a held page was missed: its URL is fetched again");
            context.stats.requeued.add(1);
            context.stats.changed.notify_one();
            return Ok(Mended::FetchedAgain);
        }
        Ok(Mended::GoesOn)
    }

    /// Extracts a page from its kept body, which is dropped. The extraction stays as it is where the evidence does not say that it
    /// missed the content.
    fn extract_again(&self, host: &HostKey, page: &mut ExtractedPage) -> Result<(), StageError> {
        let (context, Some(kept)) = (&self.context, page.kept_body.take()) else { return Ok(()) };
        let Some(evidence) = context.sites.evidence(&*context.store, host)? else { return Ok(()) };
        let body = match kept_body::bytes(&kept) {
            Ok(body) => body,
            Err(error) => {
                tracing::warn!(url = %page.request.url, %error, "a kept body cannot be read: the page stays as it was extracted");
                return Ok(());
            }
        };
        let work = || context.extractor.extract_if_missed(&kept_body::input(&kept, &body), &evidence);
        // a page that panics here stays as it was extracted before
        let Ok(mut new) = page_work::guarded(Stage::Extract, &page.request, work) else { return Ok(()) };
        if new.extractor != Extractor::SiteTemplate {
            return Ok(());
        }
        context.sites.mended(&*context.store, host, page.request.url.as_str(), &new)?;
        let claim = self.claim(page)?;
        context.store.release_content(&claim.hash, crawl_model::UrlKey::of(page.final_url.as_str()))?;
        (new.links, new.feeds) = (Vec::new(), Vec::new());
        for warning in std::mem::take(&mut page.extraction.warnings) {
            if warning != crawl_model::Warning::AllBoilerplate && !new.warnings.contains(&warning) {
                new.warnings.push(warning);
            }
        }
        page.extraction = new;
        Ok(())
    }
}
