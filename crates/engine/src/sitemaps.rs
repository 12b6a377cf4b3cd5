//! Sitemaps in the pipeline. Each file is a URL of the frontier, so that it gets politeness, retries and resumption
//! like a page. The first ones come from robots.txt (sitemaps.org protocol, "Specifying the Sitemap location in your
//! robots.txt file").

use crate::{
    context::Context,
    links::{Discovered, new_url},
    revisit,
    sitemap_quota::{SitemapAdmission, SitemapReference},
    stage_error::StageError,
    traps::{self, LINES_A_PAGE},
};
use crawl_fetch::{
    Resource, Sitemap, SitemapError, SitemapKind, SitemapLimits, domain, parse_sitemap_until, unpack_sitemap,
};
use crawl_model::{CrawlRequest, Discovery, FailedPage, HostKey, NewUrl, RequestId, StoreError};
use std::sync::Arc;
use url::Url;

/// Maximum depth of nested indexes. The protocol does not allow them, but sites use them.
const MAX_INDEX_DEPTH: u32 = 3;
/// Number of entries per transaction.
const BATCH: usize = 1_000;
/// Maximum number of stored entries of a file whose pattern has no credit. Samples of them may give it credit again.
const MAX_WITHOUT_CREDIT: usize = 1_000;

/// Kind that counts sitemaps beyond the limit.
const TOO_MANY: &str = "trap_sitemaps";

/// Kind that counts sitemaps on too many hosts outside of the scope.
const TOO_MANY_HOSTS: &str = "trap_sitemap_hosts";

/// Puts the sitemaps of an origin's robots.txt into the frontier, up to a limit. A sitemap may lie on a host outside
/// of the scope if robots.txt names it (sitemaps.org protocol, "Sitemaps & Cross Submits"). The number of such hosts
/// is limited, and the URLs in such a file must still be within the scope. Returns lines of the error log for omitted
/// files.
///
/// # Errors
/// When storage fails.
pub fn enqueue_of_robots(
    context: &Context,
    sitemaps: &[String],
    base: &Url,
) -> Result<Vec<FailedPage>, StoreError> {
    let Some(robots_host) = HostKey::of(base).filter(|_| context.config.crawl.depth.or_max() > 0) else {
        return Ok(Vec::new());
    };
    let named = sitemaps.iter().filter_map(|line| base.join(line.trim()).ok());
    let (files, lines) = within_limit(context, &robots_host, true, named, 0);
    enqueue(context, &files, None)?;
    Ok(lines)
}

/// The files within the limit of their robots.txt, and an error line for the first file beyond it.
fn within_limit(
    context: &Context,
    robots_host: &HostKey,
    named: bool,
    urls: impl Iterator<Item = Url>,
    depth: u32,
) -> (Vec<NewUrl>, Vec<FailedPage>) {
    let robots_url = Url::parse(&format!("http://{robots_host}/")).ok();
    let site = robots_url.as_ref().and_then(domain).unwrap_or(robots_host.as_str());
    let (mut files, mut lines) = (Vec::new(), Vec::new());
    for url in urls {
        let Some(found) = file(context, &url, depth) else { continue };
        let is_elsewhere = !context.admission.links.in_scope(&context.admission.links.canonical(&url));
        let elsewhere = Some(&found.host).filter(|_| is_elsewhere);
        match context.admission.sitemaps.take(&SitemapReference {
            file: found.key,
            robots_host,
            site,
            named,
            elsewhere,
        }) {
            SitemapAdmission::Yes => files.push(found),
            SitemapAdmission::Full { first } => {
                lines.extend(first.then(|| file_limit_line(context, robots_host, found.url)));
                break;
            }
            SitemapAdmission::OutsideLimit { first: true } => {
                lines.push(outside_limit_line(context, site, found.url));
            }
            SitemapAdmission::OutsideLimit { first: false } => context.stats.by_kind(TOO_MANY_HOSTS, 1),
        }
    }
    (files, lines)
}

fn outside_limit_line(context: &Context, site: &str, url: String) -> FailedPage {
    let limit = context.config.crawl.sitemap_hosts.or_max();
    let message = format!(
        "the sitemaps of {site} are on more than {limit} hosts outside of the scope, or very many; this one and others there \
         are not read"
    );
    traps::line(url, TOO_MANY_HOSTS, message)
}

fn file_limit_line(context: &Context, robots_host: &HostKey, url: String) -> FailedPage {
    let limit = context.config.crawl.sitemap_files.or_max();
    let message = format!(
        "the sitemaps of {robots_host} are more than {limit} files; this one and further ones are not read"
    );
    traps::line(url, TOO_MANY, message)
}

/// Returns true if a file that robots.txt does not name itself may be requested. It must be on the host of
/// the file that leads to it, or within the scope.
fn may_fetch_linked(context: &Context, from: &Url, to: &Url) -> bool {
    HostKey::of(from) == HostKey::of(to)
        || context.admission.links.in_scope(&context.admission.links.canonical(to))
}

/// Follows a sitemap that has moved. Returns the line of the error log if there is no room for it.
///
/// # Errors
/// When storage fails.
pub fn redirected(
    context: &Context,
    request: &CrawlRequest,
    to: &Url,
) -> Result<Vec<FailedPage>, StoreError> {
    let (robots_host, named) = context.admission.sitemaps.origin(request);
    if !(named || may_fetch_linked(context, &request.url, to)) {
        return Ok(Vec::new());
    }
    let (mut moved, lines) =
        within_limit(context, &robots_host, named, std::iter::once(to.clone()), request.depth);
    for file in &mut moved {
        file.redirects.clone_from(&request.redirects);
        file.redirects.push(request.url.as_str().to_owned());
    }
    enqueue(context, &moved, Some(request.id))?;
    Ok(lines)
}

/// Reads a sitemap's body and puts its URLs into the frontier; stops early once requests are cancelled. The
/// inner result holds lines of the error log for URLs that were left out, or the reason why it is no sitemap.
///
/// # Errors
/// When storage fails, or reading it panicked.
pub async fn read(
    context: &Arc<Context>,
    request: &CrawlRequest,
    answer: Resource,
) -> Result<Result<Vec<FailedPage>, String>, StageError> {
    let (shared, request) = (Arc::clone(context), request.clone());
    // parsing and storing tens of thousands of URLs takes too long for a network thread
    let done = context.compute.cpu.run(move || read_now(&shared, &request, answer)).await;
    let done = done.map_err(|p| StageError::Panicked { stage: "sitemap", words: p.0 })??;
    context.stats.changed.notify_one();
    Ok(done)
}

fn read_now(
    context: &Context,
    request: &CrawlRequest,
    answer: Resource,
) -> Result<Result<Vec<FailedPage>, String>, StoreError> {
    let limits = SitemapLimits::default();
    let stop = || context.control.requests.is_cancelled();
    let sitemap = match parsed(answer, &request.url, &limits, &stop) {
        Ok(sitemap) => sitemap,
        Err(error) => return Ok(Err(error.to_string())),
    };
    if sitemap.truncated || sitemap.damaged {
        let (truncated, damaged) = (sitemap.truncated, sitemap.damaged);
        tracing::warn!(url = %request.url, truncated, damaged, "only a part of the sitemap could be read");
    }
    tracing::info!(url = %request.url, kind = sitemap.kind.name(), entries = sitemap.entries.len(), "sitemap read");
    context.stats.sitemap_urls.add(sitemap.entries.len() as u64);
    context.stats.damaged_sitemaps.add(u64::from(sitemap.damaged));
    let (urls, mut lines) = match sitemap.kind {
        SitemapKind::Index => children(context, request, sitemap),
        _ => pages(context, request, sitemap),
    };
    lines.extend(enqueue(context, &urls, Some(request.id))?);
    revisit::enqueue_newer(context, &urls)?;
    Ok(Ok(lines))
}

/// Unpacks and parses a body. The unpacked bytes count against the byte budget, like the body, until both are
/// dropped.
fn parsed(
    answer: Resource,
    url: &Url,
    limits: &SitemapLimits,
    stop: &dyn Fn() -> bool,
) -> Result<Sitemap, SitemapError> {
    let mut admission = answer.admission;
    let (bytes, cut) = unpack_sitemap(answer.body, limits.bytes)?;
    if let Some(admission) = admission.as_mut() {
        admission.holds(bytes.len() as u64);
    }
    let mut sitemap = parse_sitemap_until(&bytes, url, limits, stop)?;
    sitemap.truncated |= cut || answer.truncated;
    Ok(sitemap)
}

/// The files of an index.
fn children(context: &Context, request: &CrawlRequest, index: Sitemap) -> (Vec<NewUrl>, Vec<FailedPage>) {
    if request.depth >= MAX_INDEX_DEPTH {
        tracing::warn!(url = %request.url, "sitemap indexes are nested too deep; not followed");
        return (Vec::new(), Vec::new());
    }
    let (robots_host, _) = context.admission.sitemaps.origin(request);
    let urls = index.entries.into_iter().map(|entry| entry.url);
    let urls = urls.filter(|url| may_fetch_linked(context, &request.url, url));
    within_limit(context, &robots_host, false, urls, request.depth + 1)
}

/// The pages of a sitemap or feed, without traps.
fn pages(context: &Context, request: &CrawlRequest, sitemap: Sitemap) -> (Vec<NewUrl>, Vec<FailedPage>) {
    let depth = match sitemap.kind {
        // an entry of a feed has the depth of a link on the page that names the feed
        SitemapKind::Rss | SitemapKind::Atom | SitemapKind::Json => {
            let max = u32::try_from(context.config.crawl.depth.or_max()).unwrap_or(u32::MAX);
            request.depth.saturating_add(1).min(max)
        }
        // a page of a sitemap has the depth of a link on the seed
        _ => 1,
    };
    let mut found = Discovered::default();
    let mut without_credit = 0;
    for entry in sitemap.entries {
        if context.control.requests.is_cancelled() {
            break;
        }
        let url = context.admission.links.canonical(&entry.url);
        let Some(host) = HostKey::of(&url).filter(|_| context.admission.links.admits(&url)) else {
            context.stats.sitemap_urls_left_out.add(1);
            continue;
        };
        // most URLs of a pattern without credit would fill the frontier and never be fetched
        let exhausted = || {
            let trap = context.admission.traps.exhausted_pattern(&url)?;
            without_credit += 1;
            (without_credit > MAX_WITHOUT_CREDIT).then_some(trap)
        };
        match context.admission.links.trap(&url).or_else(exhausted) {
            None => {
                let page = new_url(url, host, depth, Discovery::Sitemap);
                found.candidates.push(NewUrl { sitemap_lastmod: entry.lastmod, ..page });
            }
            Some(trap) => found.leave_out(url, trap, LINES_A_PAGE),
        }
    }
    for (kind, count) in &found.trapped_more {
        context.stats.by_kind(kind, *count);
    }
    (found.candidates, traps::lines(found.trapped, found.trapped_more.values().sum()))
}

/// A sitemap or feed as a URL of the frontier.
pub(crate) fn file(context: &Context, url: &Url, depth: u32) -> Option<NewUrl> {
    let url = context.admission.links.canonical(url);
    if context.admission.links.canonicalizer().is_too_long(&url) {
        return None;
    }
    HostKey::of(&url).map(|host| new_url(url, host, depth, Discovery::SitemapFile))
}

/// Adds URLs, which a sitemap or feed names, to the frontier, batch by batch; sitemaps and feeds themselves are read in each round. Returns lines of the error log
/// for hosts that have no room for more.
pub(crate) fn enqueue(
    context: &Context,
    urls: &[NewUrl],
    file: Option<RequestId>,
) -> Result<Vec<FailedPage>, StoreError> {
    let (files, pages): (Vec<NewUrl>, Vec<NewUrl>) =
        urls.iter().cloned().partition(|url| url.discovery == Discovery::SitemapFile);
    files.chunks(BATCH).try_for_each(|batch| context.store.revisit(batch).map(drop))?;
    let mut lines = Vec::new();
    for batch in pages.chunks(BATCH) {
        if context.control.requests.is_cancelled() {
            break;
        }
        let added = match file {
            Some(file) => context.store.enqueue_found_on(batch, file)?,
            None => context.store.enqueue(batch)?,
        };
        lines.extend(traps::refused(&context.admission.full_hosts, &context.stats, added.refused));
    }
    Ok(lines)
}
