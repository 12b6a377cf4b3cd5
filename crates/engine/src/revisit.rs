//! Known URLs in a round. Due URLs enter the frontier, and an unchanged page ends without a record of its own.

use crate::{context::Context, finished::Finished};
use crawl_fetch::x_robots_tag;
use crawl_model::{
    BodyHash, ContentHash, CrawlRequest, Discovery, ExtractedPage, FetchedPage, HostKey, KnownUrl, NewUrl,
    Outcome, PageHistory, RequestId, StoreError, Strategy, TextHash, UrlKey, Warning, now_ms,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Number of known URLs per query of the store.
const BATCH: usize = 1_000;
/// Name in the store of the round whose due URLs are all in the frontier.
const DUE_ENQUEUED_KEY: &str = "recrawl:planted";

/// Adds the due known URLs to the frontier, after the seeds. A process that resumes the round may call this again.
///
/// # Errors
/// When storage fails.
pub fn enqueue_due(context: &Context, seeds: &FxHashSet<UrlKey>) -> Result<(), StoreError> {
    let store = &context.store;
    let round = store.round()?.to_string();
    if !context.recrawl.on || store.get(DUE_ENQUEUED_KEY)?.as_ref() == Some(&round) {
        return Ok(());
    }
    let (now, mut after) = (now_ms(), RequestId(0));
    loop {
        let known = store.known(after, BATCH)?;
        let Some(last) = known.last() else { break };
        after = last.id;
        let mut due = Vec::new();
        for known in known {
            if seeds.contains(&known.url.key) || !is_wanted(context, &known) {
                continue;
            }
            let was_missed = context.recrawl.missed_before.contains(&known.url.key);
            if was_missed || context.recrawl.policy_of(&known.url.host).is_due(&known, now) {
                due.push(known.url);
            } else if known.history.content_hash.is_some() {
                context.recrawl.count_unchanged(&known.url.host);
            }
        }
        store.revisit(&due)?;
    }
    store.put(DUE_ENQUEUED_KEY, &round)
}

/// Returns true if a known URL would still be followed if it were found now.
fn is_wanted(context: &Context, known: &KnownUrl) -> bool {
    let crawl = &context.config.crawl;
    let Ok(url) = known.url.url.parse() else { return false };
    match known.url.discovery {
        Discovery::Probe => false,
        Discovery::SitemapFile => {
            (crawl.sitemaps || crawl.feeds.or_max() > 0) && context.admission.links.in_scope(&url)
        }
        _ => {
            let links = &context.admission.links;
            u64::from(known.url.depth) <= links.depth_of(&url) && links.admits(&url)
        }
    }
}

/// Adds known URLs to the frontier if a sitemap or feed gives them a date after their last visit.
///
/// # Errors
/// When storage fails.
pub fn enqueue_newer(context: &Context, listed: &[NewUrl]) -> Result<(), StoreError> {
    if !context.recrawl.on {
        return Ok(());
    }
    let dated: Vec<&NewUrl> = listed.iter().filter(|url| url.sitemap_lastmod.is_some()).collect();
    for batch in dated.chunks(BATCH) {
        let keys: Vec<UrlKey> = batch.iter().map(|url| url.key).collect();
        let resting: FxHashMap<UrlKey, KnownUrl> =
            context.store.known_among(&keys)?.into_iter().map(|known| (known.url.key, known)).collect();
        let woken: Vec<NewUrl> = batch
            .iter()
            .filter(|url| {
                let lastmod = url.sitemap_lastmod.as_deref().unwrap_or_default();
                resting
                    .get(&url.key)
                    .is_some_and(|known| context.recrawl.policy_of(&url.host).makes_due(known, lastmod))
            })
            .map(|url| (*url).clone())
            .collect();
        context.store.revisit(&woken)?;
    }
    Ok(())
}

/// Returns the end of an unchanged page; `history` is that of this visit.
#[must_use]
pub fn unchanged(context: &Context, request: CrawlRequest, history: PageHistory) -> Finished {
    if let Some(host) = HostKey::of(&request.url) {
        context.recrawl.count_unchanged(&host);
    }
    Finished::known(request, Outcome::Unchanged, history)
}

/// Returns the end of a page with the same body, rules and strategy as before. A page whose headers or opt-out files
/// have a directive is read.
#[must_use]
pub fn same_body(context: &Context, page: &FetchedPage, hash: Option<BodyHash>) -> Option<Finished> {
    let before = page.request.before.as_deref()?;
    let same = hash.is_some()
        && before.body_hash == hash
        && before.strategy == Some(Strategy::Static)
        && page.request.strategy.is_none()
        && context.recrawl.can_skip_if_unchanged(&page.request);
    let directives = x_robots_tag(&page.headers, &context.network.product_token);
    let has_directive =
        page.reserved_by_file.is_some() || directives.noindex || directives.noai || directives.nofollow;
    if !same || has_directive || crawl_fetch::tdm_header(&page.headers).is_some() {
        return None;
    }
    let stats = &context.stats;
    stats.pages.add(1);
    stats.wire_bytes.add(page.wire_bytes);
    stats.body_bytes.add(page.body.bytes.len() as u64);
    let history = PageHistory {
        status: Some(page.status),
        etag: page.headers.get("etag").map(str::to_owned),
        last_modified: page.headers.get("last-modified").map(str::to_owned),
        sitemap_lastmod: page.request.sitemap_lastmod.clone(),
        fetched_at_ms: Some(page.timings.started_at_ms),
        ..PageHistory::default()
    };
    Some(unchanged(context, page.request.clone(), history))
}

/// Returns true if a limit truncated the body of a page or its extraction.
fn is_truncated(page: &ExtractedPage) -> bool {
    let warnings = &page.extraction.warnings;
    [Warning::BodyTruncated, Warning::DeadlineExceeded].iter().any(|limit| warnings.contains(limit))
}

/// History of a page that was read. A truncated page has no validators, since they stand for the whole page.
#[must_use]
pub fn history(
    context: &Context,
    page: &ExtractedPage,
    content: ContentHash,
    text: Option<TextHash>,
) -> PageHistory {
    let (cut, rules) = (is_truncated(page), context.recrawl.rules_of(&page.request));
    PageHistory {
        status: Some(page.status),
        etag: page.etag.clone().filter(|_| !cut),
        last_modified: page.last_modified.clone().filter(|_| !cut),
        sitemap_lastmod: page.request.sitemap_lastmod.clone(),
        content_hash: Some(content),
        text_hash: text,
        body_hash: page.body_hash.filter(|_| page.strategy == Strategy::Static && !cut),
        rules: Some(if cut { rules.cut } else { rules.whole }),
        strategy: Some(page.strategy),
        fetched_at_ms: Some(page.timings.started_at_ms),
    }
}
