//! The last message of the pipeline: from extraction or deduplication to the sink.

use crate::memory::LargePagePermit;
use crawl_model::{CleanPage, CrawlRequest, FailedPage, LeaseRef, Outcome, PageHistory};

/// Share of a large page until it has been written or put aside; `None` for all others.
pub type Share = Option<LargePagePermit>;

/// A lease that has ended, on its way to the sink.
#[derive(Debug)]
pub enum Finished {
    /// A page to write.
    Page(Box<CleanPage>, Share),
    /// A line for the error log.
    Failed(Box<FailedPage>, Box<PageHistory>),
    /// A page of an earlier round that is unchanged or gone.
    Known(Box<KnownPageEnd>),
    /// A page that becomes no record; counted by kind.
    Other {
        /// Lease to settle.
        lease: LeaseRef,
        /// Outcome to settle it with.
        outcome: Outcome,
        /// The name it is counted by.
        kind: &'static str,
        /// History of the page.
        history: Box<PageHistory>,
        /// The seed, if the lease is of a seed or of a URL that a seed redirects to.
        seed: Option<Box<str>>,
        /// The URL, if it is that of a page that is left out on purpose.
        left_out: Option<Box<str>>,
    },
}

impl Finished {
    /// The end of a page of an earlier round; `outcome` is [`Outcome::Unchanged`] or [`Outcome::Gone`].
    #[must_use]
    pub fn known(request: CrawlRequest, outcome: Outcome, history: PageHistory) -> Self {
        Self::Known(Box::new(KnownPageEnd { request, outcome, history }))
    }
}

/// The seed of a request, also if the request is for a URL that the seed redirects to.
#[must_use]
pub fn seed_of(request: &CrawlRequest) -> Option<Box<str>> {
    let url = || request.redirects.first().map_or_else(|| request.url.as_str(), String::as_str).into();
    request.is_of_seed().then(url)
}

/// The end of a page of an earlier round that is unchanged or gone.
#[derive(Debug)]
pub struct KnownPageEnd {
    /// Request for the page.
    pub request: CrawlRequest,
    /// [`Outcome::Unchanged`] or [`Outcome::Gone`].
    pub outcome: Outcome,
    /// History of the page.
    pub history: PageHistory,
}
