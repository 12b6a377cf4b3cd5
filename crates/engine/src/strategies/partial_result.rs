//! Results of a URL so far, kept in the store between two strategies.

use crate::context::Context;
use crawl_model::{Attempt, CrawlRequest, Directives, ExtractedPage, PageType, StoreError, Strategy};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use url::Url;

/// Results of a URL so far, and the remaining strategies. Kept in the store between two strategies.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct PartialResult {
    /// The best page.
    pub(super) best: Option<Box<ExtractedPage>>,
    /// Strategies that were tried.
    pub(super) attempts: Vec<Attempt>,
    /// Strategies to be tried, the next one first.
    pub(super) ahead: Vec<Strategy>,
    /// Reason for the next strategy, in words.
    #[serde(rename = "why")]
    pub(super) reason: String,
    /// URL of the AMP page.
    pub(super) amp_url: Option<Url>,
    /// Type of the static page.
    pub(super) page_type: Option<PageType>,
    /// Directives of all pages about robots: the strictest holds.
    pub directives: Directives,
    /// True if a browser was needed, and was unavailable or failed.
    pub(super) browser_failed: bool,
    /// True if the URL's pattern is charged until the worth of the page is known.
    pub(super) charged: bool,
}

impl PartialResult {
    /// Visible words of the best page.
    #[must_use]
    pub fn visible_words(&self) -> Option<u32> {
        self.best.as_ref().map(|best| best.extraction.signals.visible_word_count)
    }

    /// Returns the URL of the AMP page to try.
    #[must_use]
    pub const fn amp_url(&self) -> Option<&Url> {
        self.amp_url.as_ref()
    }

    pub(super) fn was_tried(&self, strategy: Strategy) -> bool {
        self.attempts.iter().any(|attempt| attempt.strategy == strategy)
    }

    pub(super) fn add_failure(&mut self, strategy: Strategy, status: Option<u16>, kind: &str, message: &str) {
        self.browser_failed |= strategy == Strategy::Chrome;
        let reason = match self.reason.as_str() {
            "" => message.to_owned(),
            why => format!("{why}; {message}"),
        };
        self.attempts.push(Attempt { strategy, status, words: 0, error: Some(kind.to_owned()), reason });
    }
}

/// Returns the results of a leased URL so far; `None` for one that is new.
///
/// # Errors
/// When storage fails.
pub fn partial_result(
    context: &Context,
    request: &CrawlRequest,
) -> Result<Option<PartialResult>, StoreError> {
    if request.strategy.is_none() {
        return Ok(None);
    }
    let Some(kept) = context.store.partial_result(request.id)? else { return Ok(None) };
    let read = serde_json::from_slice(&kept).inspect_err(|error| {
        // the present strategy may bring the whole page
        tracing::warn!(url = %request.url, %error, "the results of other strategies for the URL are unreadable: they are left out");
    });
    Ok(read.ok())
}

/// Reads the results of a leased URL so far as [`partial_result`] does, for an asynchronous task.
///
/// # Errors
/// When storage fails.
pub async fn partial_result_in_storage(
    context: &Arc<Context>,
    request: &CrawlRequest,
) -> Result<Option<PartialResult>, StoreError> {
    if request.strategy.is_none() {
        return Ok(None);
    }
    let request = request.clone();
    context.in_storage(move |context| partial_result(context, &request)).await
}
