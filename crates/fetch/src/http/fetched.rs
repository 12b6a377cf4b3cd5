//! Answers to requests for pages.

use super::content::SkipKind;
use crate::error::FetchError;
use crawl_model::{CrawlRequest, FetchedPage};
use std::time::Duration;
use url::Url;

/// Answer to one request. Each variant returns the request.
#[derive(Debug)]
pub enum Fetched {
    /// A page: a success status, an accepted type, and the body up to the cap.
    Page(Box<FetchedPage>),
    /// A redirect to a URL with a supported scheme. The caller decides whether to follow it.
    Redirect {
        /// The request.
        request: CrawlRequest,
        /// Target URL, absolute, without fragment and credentials.
        to: Url,
        /// 301, 302, 303, 307 or 308.
        status: u16,
        /// `Retry-After`, if it is valid: the wait before the next request (RFC 9110 §10.2.3).
        retry_after: Option<Duration>,
    },
    /// An answer that is neither a page nor a failure.
    Skipped {
        /// The request.
        request: CrawlRequest,
        /// Reason.
        kind: SkipKind,
        /// HTTP status.
        status: u16,
        /// Declared type without parameters.
        content_type: Option<String>,
        /// Bytes of the body that were read.
        wire_bytes: u64,
        /// `Refresh`, which may lead to a page.
        refresh: Option<String>,
    },
    /// No page.
    Failed {
        /// The request.
        request: CrawlRequest,
        /// Reason.
        error: FetchError,
        /// HTTP status, if there was a response.
        status: Option<u16>,
        /// `Retry-After`, if it is valid.
        retry_after: Option<Duration>,
    },
}

impl Fetched {
    /// The request.
    #[must_use]
    pub fn request(&self) -> &CrawlRequest {
        match self {
            Self::Page(page) => &page.request,
            Self::Redirect { request, .. } | Self::Skipped { request, .. } | Self::Failed { request, .. } => {
                request
            }
        }
    }
}
