//! Sitemaps in the flow: each file is a URL of the frontier, so that politeness, retries and resumption hold for it as
//! for a page. Which sitemaps there are is said by robots.txt (sitemaps.org protocol, "Specifying the Sitemap location
//! in your robots.txt file").

use crate::{
    context::{Context, StageError},
    links::new_url,
};
use crawl_fetch::{Sitemap, SitemapKind, SitemapLimits, parse_sitemap};
use crawl_model::{CrawlRequest, Discovery, HostKey, NewUrl, StoreError};
use url::Url;

/// An index may name indexes, though the protocol does not allow it; deeper than this they are not followed.
const MAX_INDEX_DEPTH: u32 = 3;
/// Entries are enqueued in transactions of this many.
const BATCH: usize = 1_000;

/// Puts the sitemaps of an origin's robots.txt into the frontier. A sitemap may lie on another host; what it lists is
/// still held to the scope.
///
/// # Errors
/// When storage fails.
pub fn plant(context: &Context, sitemaps: &[String], base: &Url) -> Result<(), StoreError> {
    if context.config.crawl.depth.or_max() == 0 {
        return Ok(());
    }
    let files: Vec<NewUrl> = sitemaps
        .iter()
        .filter_map(|line| base.join(line.trim()).ok())
        .filter_map(|url| file(context, &url, 0))
        .collect();
    enqueue(context, &files)
}

/// Follows a sitemap that has moved.
///
/// # Errors
/// When storage fails.
pub fn redirected(context: &Context, request: &CrawlRequest, to: &Url) -> Result<(), StoreError> {
    let Some(mut moved) = file(context, to, request.depth) else { return Ok(()) };
    moved.redirects.clone_from(&request.redirects);
    moved.redirects.push(request.url.as_str().to_owned());
    enqueue(context, &[moved])
}

/// Reads a sitemap's body and puts what it lists into the frontier. The inner result says in words why it is none.
///
/// # Errors
/// When storage fails, or reading it panicked.
pub async fn read(
    context: &Context,
    request: &CrawlRequest,
    body: Vec<u8>,
) -> Result<Result<(), String>, StageError> {
    let limits =
        SitemapLimits { bytes: context.config.fetch.max_sitemap.as_u64(), ..SitemapLimits::default() };
    let url = request.url.clone();
    let parsed = context.cpu.run(move || parse_sitemap(&body, &url, &limits)).await;
    let sitemap = match parsed.map_err(|p| StageError::Panicked { stage: "sitemap", words: p.0 })? {
        Ok(sitemap) => sitemap,
        Err(error) => return Ok(Err(error.to_string())),
    };
    if sitemap.truncated || sitemap.damaged {
        let (truncated, damaged) = (sitemap.truncated, sitemap.damaged);
        tracing::warn!(url = %request.url, truncated, damaged, "only a part of the sitemap could be read");
    }
    tracing::info!(url = %request.url, kind = sitemap.kind.name(), entries = sitemap.entries.len(), "sitemap read");
    enqueue(context, &listed(context, request, sitemap))?;
    context.stats.changed.notify_one();
    Ok(Ok(()))
}

fn listed(context: &Context, request: &CrawlRequest, sitemap: Sitemap) -> Vec<NewUrl> {
    let index = sitemap.kind == SitemapKind::Index;
    if index && request.depth >= MAX_INDEX_DEPTH {
        tracing::warn!(url = %request.url, "sitemap indexes are nested too deep; not followed");
        return Vec::new();
    }
    let entries = sitemap.entries.into_iter();
    if index {
        return entries.filter_map(|entry| file(context, &entry.url, request.depth + 1)).collect();
    }
    let pages = entries.filter_map(|entry| {
        let url = context.links.canonical(&entry.url);
        let host = HostKey::of(&url).filter(|_| context.links.admits(&url))?;
        // a page of a sitemap is as far from the seed as a link of it would be
        let page = new_url(url, host, 1, Discovery::Sitemap);
        Some(NewUrl { sitemap_lastmod: entry.lastmod, ..page })
    });
    pages.collect()
}

fn file(context: &Context, url: &Url, depth: u32) -> Option<NewUrl> {
    let url = context.links.canonical(url);
    HostKey::of(&url).map(|host| new_url(url, host, depth, Discovery::SitemapFile))
}

fn enqueue(context: &Context, urls: &[NewUrl]) -> Result<(), StoreError> {
    urls.chunks(BATCH).try_for_each(|batch| context.store.enqueue(batch).map(drop))
}
