//! Second extraction of pages whose content was missed, with the evidence of their site.

use super::Shard;
use crate::{
    extract_stage::reclassify,
    kept_body, page_work,
    site_counts::{PageDecision, Visit},
    stage_error::StageError,
};
use crawl_model::{ExtractedPage, Extractor, HostKey, KeptBody, Stage, UrlKey, Warning};

impl Shard {
    /// Returns true if too little is known of a page's site to decide if extraction missed its content.
    pub(super) fn is_undecided(&self, host: &HostKey, page: &ExtractedPage) -> Result<bool, StageError> {
        let context = &self.context;
        let blocks = page.kept_body.as_ref().filter(|kept| kept.is_doubtful).map(|kept| {
            let count = || {
                let body = kept_body::bytes(kept).unwrap_or_default();
                context.reading.extractors.of(Some(host)).count_blocks(&kept_body::input(kept, &body))
            };
            // a page that panics here keeps its first extraction
            move || page_work::guarded(Stage::Extract, &page.request, count).unwrap_or_default()
        });
        Ok(context.reading.sites.is_undecided(&*context.store, host, page.request.url.as_str(), blocks)?)
    }

    /// Returns true if a page is held until more of its site is known.
    pub(super) fn waits_for_site(&self, host: &HostKey, page: &ExtractedPage) -> Result<bool, StageError> {
        let is_doubtful = page.kept_body.as_ref().is_some_and(|kept| kept.is_doubtful);
        Ok(is_doubtful && self.is_undecided(host, page)?)
    }

    /// Extracts a released page again if the evidence of its site shows missed content. A page without its body is
    /// due in the next round.
    pub(super) fn extract_if_missed(
        &self,
        host: &HostKey,
        page: &mut ExtractedPage,
    ) -> Result<(), StageError> {
        let (context, kept) = (&self.context, page.kept_body.take());
        let url = page.request.url.clone();
        let is_read = match (context.reading.sites.take_decision(&*context.store, host, url.as_str())?, kept)
        {
            (PageDecision::Missed, None) => false,
            (PageDecision::Missed, Some(kept)) => self.extract_again(host, page, &kept)?,
            (PageDecision::Unknown, Some(kept)) => self.extract_again(host, page, &kept).map(|_| true)?,
            (PageDecision::Taken | PageDecision::Undecided | PageDecision::Unknown, _) => true,
        };
        if is_read { Ok(()) } else { self.add_due_again(host, url.as_str()) }
    }

    /// Handles a page that is written as first extracted: it is due in the next round if its content was missed.
    pub(super) fn note_written(&self, host: &HostKey, url: &str) -> Result<(), StageError> {
        let context = &self.context;
        match context.reading.sites.take_decision(&*context.store, host, url)? {
            PageDecision::Missed => self.add_due_again(host, url),
            PageDecision::Taken | PageDecision::Undecided | PageDecision::Unknown => Ok(()),
        }
    }

    fn add_due_again(&self, host: &HostKey, url: &str) -> Result<(), StageError> {
        let context = &self.context;
        Ok(context.reading.sites.add_due_again(&*context.store, host, url)?)
    }

    /// Extracts a page again from its kept body. Keeps the first extraction unless the evidence shows that it missed
    /// the content. Returns false if the body is unreadable.
    fn extract_again(
        &self,
        host: &HostKey,
        page: &mut ExtractedPage,
        kept: &KeptBody,
    ) -> Result<bool, StageError> {
        let context = &self.context;
        let Some(evidence) = context.reading.sites.evidence(&*context.store, host)? else { return Ok(true) };
        let body = match kept_body::bytes(kept) {
            Ok(body) => body,
            Err(error) => {
                tracing::warn!(url = %page.request.url, %error, "a saved body is unreadable: the page keeps its first extraction");
                return Ok(false);
            }
        };
        let extractor = context.reading.extractors.of(Some(host));
        let work = || extractor.extract_if_missed(&kept_body::input(kept, &body), &evidence);
        // a page that panics here keeps its first extraction
        let Ok(mut new) = page_work::guarded(Stage::Extract, &page.request, work) else {
            return Ok(true);
        };
        if new.extractor != Extractor::SiteTemplate {
            return Ok(true);
        }
        let (url, is_known) = (page.request.url.as_str(), page.request.before.is_some());
        let visit = Visit { host, url, is_known, words_before: None };
        context.reading.sites.count_corrected(&*context.store, &visit, &new)?;
        if let Some(exact) = self.claim(page)?.exact {
            let key = UrlKey::of(page.final_url.as_str());
            context.store.release_content(&exact, key, (&page.request).into())?;
        }
        for warning in std::mem::take(&mut page.extraction.warnings) {
            if warning != Warning::AllBoilerplate && !new.warnings.contains(&warning) {
                new.warnings.push(warning);
            }
        }
        page.extraction = new;
        reclassify(page);
        (page.extraction.links, page.extraction.feeds) = (Vec::new(), Vec::new());
        Ok(true)
    }
}
