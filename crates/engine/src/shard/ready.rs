//! First and last step of a page in its shard: the claim of its content, and its release to the sink.

use super::Shard;
use crate::{
    duplicates,
    finished::{Finished, Share},
    page_work, recrawl,
    stage_error::StageError,
    traps::{self, NewLinks},
};
use crawl_dedup::Cleaned;
use crawl_fetch::PageWorth;
use crawl_model::{
    Change, CleanPage, ContentHash, Duplicate, ExtractedPage, HostKey, Stage, TextHash, UrlKey, Warning,
};
use crawl_projects::cleaning;
use std::sync::Arc;
use url::Url;

/// Hashes of a page's content, and its first claimant.
#[derive(Clone, Copy)]
pub(super) struct Claim {
    /// The page that had the content first, possibly this one.
    first: UrlKey,
    pub(super) hash: ContentHash,
    /// Hash that identifies equal content; none for a short page.
    pub(super) exact: Option<ContentHash>,
}

impl Shard {
    /// The page that `rel=canonical` names, if it is another page of the same host and has been read. Otherwise equal
    /// content identifies the duplicate.
    fn canonical_page(&self, page: &ExtractedPage) -> Result<Option<UrlKey>, StageError> {
        let Some(named) = page.extraction.metadata.canonical.as_deref().and_then(|c| Url::parse(c).ok())
        else {
            return Ok(None);
        };
        let named = self.context.admission.links.canonical(&named);
        if named == page.final_url || HostKey::of(&named) != HostKey::of(&page.final_url) {
            return Ok(None);
        }
        let key = UrlKey::of(named.as_str());
        Ok(self.context.store.became_page(key)?.then_some(key))
    }

    /// Claims a page's content on arrival, not on release: the credit of its URL pattern depends on new content.
    pub(super) fn claim_on_arrival(
        &mut self,
        host: &HostKey,
        page: &ExtractedPage,
    ) -> Result<Claim, StageError> {
        let claim = self.claim(page)?;
        let context = Arc::clone(&self.context);
        if let Some(before) = page.request.before.as_deref().filter(|b| b.content_hash != claim.hash) {
            let key = UrlKey::of(page.final_url.as_str());
            context.store.release_content(&before.content_hash, key, (&page.request).into())?;
        }
        let error_profile = &mut self.loaded(host)?.error_profile;
        error_profile.probe_if_due(&context, page)?;
        let is_known = claim.first != UrlKey::of(page.final_url.as_str());
        let worth = match () {
            () if error_profile.recognises(page) => PageWorth::NotFound,
            () if is_known && page.links_new_pattern => PageWorth::KnownListing,
            () if is_known => PageWorth::Duplicate,
            () => traps::worth(
                &context.admission.traps,
                &page.final_url,
                &page.extraction,
                NewLinks::of(page.has_new_links, page.links_new_pattern),
            ),
        };
        // traps learn from new pages only
        if page.request.before.is_none() {
            traps::learn(&self.context.admission.traps, &page.request, &page.final_url, worth);
        }
        Ok(claim)
    }

    pub(super) fn claim(&self, page: &ExtractedPage) -> Result<Claim, StageError> {
        let key = UrlKey::of(page.final_url.as_str());
        let (hash, exact) = crawl_dedup::hashes(&page.extraction.content);
        let first = match exact {
            Some(exact) => self.context.store.claim_content(&exact, key, (&page.request).into())?,
            None => key,
        };
        Ok(Claim { first, hash, exact })
    }

    /// Sends a page to the sink.
    pub(super) async fn send(
        &self,
        page: ExtractedPage,
        cleaned: Cleaned,
        claim: Claim,
        share: Share,
    ) -> Result<(), StageError> {
        let (request, status) = (page.request.clone(), page.status);
        let work = || self.finish(page, cleaned, claim, share);
        let end = match page_work::guarded(Stage::Dedup, &request, work) {
            Ok(end) => end?,
            Err(panicked) => page_work::ended(Stage::Dedup, &request, Some(status), &panicked),
        };
        self.finished.send(end).await.map_err(|_| StageError::Downstream)
    }

    /// Completes a cleaned page for the sink; an unchanged page ends here.
    fn finish(
        &self,
        mut page: ExtractedPage,
        cleaned: Cleaned,
        claim: Claim,
        share: Share,
    ) -> Result<Finished, StageError> {
        let Claim { first, hash: content_hash, exact } = claim;
        let key = UrlKey::of(page.final_url.as_str());
        let canonical = self.canonical_page(&page)?;
        let warnings = &mut page.extraction.warnings;
        if warnings.contains(&Warning::NeedsBrowser) {
            // the text is missing because no browser has shown it, not because all of it is boilerplate
            warnings.retain(|warning| *warning != Warning::AllBoilerplate);
        } else if page.extraction.content.is_empty() && !warnings.contains(&Warning::AllBoilerplate) {
            warnings.push(Warning::AllBoilerplate);
        }
        let name = HostKey::of(&page.final_url);
        let host = name.as_ref().and_then(|host| self.hosts.get(host));
        if host.is_some_and(|host| host.error_profile.recognises(&page)) {
            page.extraction.warnings.push(Warning::SoftNotFound);
        }
        let chosen_by = Some(page.extraction.extractor);
        let extractor = self.context.reading.extractors.of(name.as_ref());
        let (text, boilerplate) = cleaning::stored(extractor, cleaned, chosen_by);
        let whole = text == page.extraction.content;
        let text_hash = if whole { content_hash.into() } else { TextHash::of(&text) };
        let change = recrawl::change(page.request.before.as_deref(), content_hash, text_hash);
        if change == Change::Unchanged && !self.context.recrawl.writes_unchanged(&page.request) {
            return Ok(self.unchanged_end(&page, claim, Some(text_hash)));
        }
        if page.extraction.warnings.contains(&Warning::AllBoilerplate) {
            tracing::warn!(url = %page.final_url, "the page has no main content: its text is empty");
        } else if page.extraction.content.is_empty() {
            tracing::warn!(url = %page.final_url, "only a browser may show the text of this page, and none has rendered it: its text is empty");
        }
        // most copies need no sketch
        let sketch = (first == key).then(|| duplicates::sketch(&self.context, exact, &text));
        let duplicate = canonical.map(|of| Duplicate { of, similarity: None, estimate: None });
        let quality = self.context.reading.quality.as_ref().map(|judge| {
            judge.quality(&text, page.extraction.metadata.language.as_deref().unwrap_or_default())
        });
        let page = CleanPage {
            text,
            text_hash,
            change,
            boilerplate,
            duplicate,
            sketch,
            exact,
            content_hash,
            quality,
            page,
        };
        Ok(Finished::Page(Box::new(page), share))
    }
}
