//! Feeds in the flow: a feed that a page names is read like a sitemap. So URLs of its entries are known even
//! if no page links to them.

use crate::{
    config::Limit,
    context::Context,
    sitemaps::{self, file},
};
use crawl_model::{CrawlRequest, NewUrl, StoreError};
use url::Url;

/// Puts the feeds that a page names into the frontier. They have to lie within the scope: unlike sitemaps,
/// they are not named in robots.txt.
///
/// # Errors
/// When storage fails.
pub fn follow(context: &Context, page: &CrawlRequest, feeds: &[String]) -> Result<(), StoreError> {
    if context.config.crawl.feeds == Limit(Some(0)) || !context.config.crawl.depth.allows(page.depth.into()) {
        return Ok(());
    }
    let files: Vec<NewUrl> = feeds
        .iter()
        .filter_map(|feed| Url::parse(feed).ok())
        .filter(|url| context.admission.links.in_scope(&context.admission.links.canonical(url)))
        .filter_map(|url| file(context, &url, page.depth))
        .filter(|feed| context.admission.feeds.takes(&feed.host, feed.key))
        .collect();
    sitemaps::enqueue(context, &files, Some(page.id)).map(drop)
}
