//! Requests: leased URLs of the frontier.

use crate::{Before, Discovery, LeaseToken, RequestId, Strategy};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use url::Url;

/// A leased URL: its holder settles it, requeues it, or lets the lease expire.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CrawlRequest {
    /// The frontier's number of the URL.
    pub id: RequestId,
    /// The fencing token of this lease.
    pub token: LeaseToken,
    /// The canonical URL.
    pub url: Url,
    /// Links from the nearest seed; seeds have 0, a redirect keeps the depth of its source.
    pub depth: u32,
    /// Origin of the URL.
    pub discovery: Discovery,
    /// Attempts before this one.
    pub attempt: u32,
    /// The strategy to use; `None` leaves the choice to the scheduler.
    pub strategy: Option<Strategy>,
    /// The URLs that redirected here, oldest first.
    pub redirects: Vec<String>,
    /// `ETag` of an earlier round, as sent.
    pub etag: Option<String>,
    /// `Last-Modified` of an earlier round, as sent.
    pub last_modified: Option<String>,
    /// `lastmod` of a sitemap or feed in this round, as given.
    #[serde(default)]
    pub sitemap_lastmod: Option<String>,
    /// State of the page after an earlier round, if this round is a recrawl.
    #[serde(default)]
    pub before: Option<Box<Before>>,
    /// The project of the page.
    pub project: Arc<str>,
    /// The source group within the project, if one was named.
    pub source_group: Option<Arc<str>>,
}

impl CrawlRequest {
    /// Returns true for a seed, and for the URL that a seed redirects to.
    #[must_use]
    pub fn is_of_seed(&self) -> bool {
        self.depth == 0 && (self.discovery.is_seed() || self.discovery == Discovery::Redirect)
    }

    /// Makes the first request of a seed that no frontier has leased.
    #[must_use]
    pub fn of_seed(url: Url) -> Self {
        Self {
            id: RequestId(0),
            token: LeaseToken(0),
            url,
            depth: 0,
            discovery: Discovery::Seed,
            attempt: 0,
            strategy: None,
            redirects: Vec::new(),
            etag: None,
            last_modified: None,
            sitemap_lastmod: None,
            before: None,
            project: "".into(),
            source_group: None,
        }
    }
}
