//! Sitemaps in the flow: each file is a URL of the frontier, so that politeness, retries and resumption hold for it as
//! for a page. Which sitemaps there are is said by robots.txt (sitemaps.org protocol, "Specifying the Sitemap location
//! in your robots.txt file").

use crate::{
    context::{Context, StageError},
    links::new_url,
};
use crawl_fetch::{
    Resource, Sitemap, SitemapError, SitemapKind, SitemapLimits, parse_sitemap, unpack_sitemap,
};
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
    answer: Resource,
) -> Result<Result<(), String>, StageError> {
    let limits =
        SitemapLimits { bytes: context.config.fetch.max_sitemap.as_u64(), ..SitemapLimits::default() };
    let url = request.url.clone();
    let parsed = context.cpu.run(move || parsed(answer, &url, &limits)).await;
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

/// Unpacks and reads a body; what it unpacks to counts against the byte budget as the body does, until both are dropped.
fn parsed(answer: Resource, url: &Url, limits: &SitemapLimits) -> Result<Sitemap, SitemapError> {
    let mut admission = answer.admission;
    let (bytes, cut) = unpack_sitemap(answer.body, limits.bytes)?;
    if let Some(admission) = admission.as_mut() {
        admission.holds(bytes.len() as u64);
    }
    let mut sitemap = parse_sitemap(&bytes, url, limits)?;
    sitemap.truncated |= cut || answer.truncated;
    Ok(sitemap)
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
    let depth = match sitemap.kind {
        // an entry of a feed is as far from the seed as a link of the page that names the feed
        SitemapKind::Rss | SitemapKind::Atom => {
            let max = u32::try_from(context.config.crawl.depth.or_max()).unwrap_or(u32::MAX);
            request.depth.saturating_add(1).min(max)
        }
        // a page of a sitemap is as far as a link of the seed would be
        _ => 1,
    };
    let pages = entries.filter_map(|entry| {
        let url = context.links.canonical(&entry.url);
        let host = HostKey::of(&url).filter(|_| context.links.admits(&url))?;
        let page = new_url(url, host, depth, Discovery::Sitemap);
        Some(NewUrl { sitemap_lastmod: entry.lastmod, ..page })
    });
    pages.collect()
}

/// A sitemap or feed as a URL of the frontier.
pub(crate) fn file(context: &Context, url: &Url, depth: u32) -> Option<NewUrl> {
    let url = context.links.canonical(url);
    HostKey::of(&url).map(|host| new_url(url, host, depth, Discovery::SitemapFile))
}

/// Adds to the frontier, batch by batch.
pub(crate) fn enqueue(context: &Context, urls: &[NewUrl]) -> Result<(), StoreError> {
    urls.chunks(BATCH).try_for_each(|batch| context.store.enqueue(batch).map(drop))
}
