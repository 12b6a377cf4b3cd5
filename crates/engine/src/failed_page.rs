//! Lines of the error log for leased URLs.

use crate::{finished::seed_of, hints};
use crawl_model::{CrawlRequest, FailedPage, Stage, now_ms, rfc3339};

/// A line of the error log for a leased URL.
#[must_use]
pub fn failed_page(
    request: &CrawlRequest,
    stage: Stage,
    kind: &'static str,
    status: Option<u16>,
    message: String,
) -> FailedPage {
    FailedPage {
        url: request.url.as_str().to_owned(),
        stage,
        kind,
        status,
        attempts: request.attempt + 1,
        message,
        hint: hints::of(kind).to_owned(),
        at: rfc3339(now_ms()),
        found_on: None,
        lease: Some((request.id, request.token)),
        seed: seed_of(request),
    }
}
