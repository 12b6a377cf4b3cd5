//! URLs for the frontier.

use crate::{Discovery, HostKey, UrlKey};

/// A URL to visit: canonical, filtered and in scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewUrl {
    /// Identity of `url`.
    pub key: UrlKey,
    /// The canonical URL.
    pub url: String,
    /// Its host.
    pub host: HostKey,
    /// Links from the nearest seed.
    pub depth: u32,
    /// Origin of the URL.
    pub discovery: Discovery,
    /// The URLs that redirected here, oldest first.
    pub redirects: Vec<String>,
    /// `lastmod` of a sitemap or feed, as given.
    pub sitemap_lastmod: Option<String>,
}
