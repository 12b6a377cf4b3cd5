//! Rounds over what the state directory knows: which URLs are asked again, and what their answers mean. Where it is decided
//! whether a page has changed stands in ARCHITECTURE.md.

mod policy;

pub use policy::{Due, Policy};

use crate::{
    config::{Config, RecrawlMode},
    context::Context,
    finished::{Finished, KnownEnd},
    rules_version::Readings,
};
use crawl_fetch::x_robots_tag;
use crawl_model::{
    Before, BodyHash, Change, ContentHash, CrawlRequest, Discovery, ExtractedPage, FetchedPage, HostKey,
    KnownUrl, NewUrl, Outcome, PageHistory, RequestId, RulesVersion, StoreError, Strategy, UrlKey, Warning,
    now_ms,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::{Mutex, PoisonError};

/// Known URLs that are looked at at a time.
const BATCH: usize = 1_000;
/// Name in the store of the round whose known URLs have all been looked at.
const PLANTED_KEY: &str = "recrawl:planted";

/// What a round over what is known is led by.
pub struct Recrawl {
    /// The round is one; otherwise nothing here is asked.
    pub on: bool,
    /// This process began the round, so that it has counted all that is still.
    pub whole: bool,
    /// URLs that are read again, since the round before has missed their content.
    pub missed_before: FxHashSet<UrlKey>,
    /// What bodies are read by now, of pages whose links are followed.
    rules: Readings,
    /// The depth from which on the links of a page are not followed.
    depth: u64,
    policy: Policy,
    mode: RecrawlMode,
    /// Pages of a host that rest or have answered that they are unchanged, as far as this process knows.
    still: Mutex<FxHashMap<HostKey, u64>>,
}

impl Recrawl {
    /// For a round that is one over what is known, or is not; begun by an earlier process until [`Recrawl::whole`] is set.
    #[must_use]
    pub fn new(config: &Config, rules: RulesVersion, on: bool) -> Self {
        let (depth, mode) = (config.crawl.depth.or_max(), config.recrawl.mode);
        let rules = Readings::of(rules, config);
        let policy = Policy::new(&config.recrawl, rules, depth);
        let missed_before = FxHashSet::default();
        Self { on, whole: false, missed_before, rules, depth, policy, mode, still: Mutex::default() }
    }

    /// Whether what the user named, and what it leads to, is asked again.
    #[must_use]
    pub fn asks_seeds(&self) -> bool {
        !(self.on && self.mode == RecrawlMode::None)
    }

    /// Pages of a host that are as they were, as far as this process knows.
    #[must_use]
    pub fn still(&self, host: &HostKey) -> u64 {
        self.still.lock().unwrap_or_else(PoisonError::into_inner).get(host).copied().unwrap_or(0)
    }

    fn note_still(&self, host: &HostKey) {
        let mut still = self.still.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pages) = still.get_mut(host) {
            *pages += 1;
        } else {
            still.insert(host.clone(), 1);
        }
    }

    /// What the body of a page is read by now.
    fn rules_of(&self, page: &CrawlRequest) -> Readings {
        self.rules.of_page(u64::from(page.depth) < self.depth)
    }

    /// Whether the same body would bring the text that it brought before.
    #[must_use]
    pub fn reads_as(&self, before: &Before) -> bool {
        before.rules.is_some_and(|rules| self.rules.read_as(rules))
    }

    /// Whether a page of an earlier round need not be read again if it is unchanged: it would bring the same text, and lead to
    /// nothing more.
    #[must_use]
    pub fn need_not_read(&self, page: &CrawlRequest) -> bool {
        let before = page.before.as_deref().and_then(|before| before.rules);
        let was_missed = self.missed_before.contains(&UrlKey::of(page.url.as_str()));
        !was_missed && before.is_some_and(|rules| self.rules_of(page).are_covered_by(rules))
    }
}

/// Puts the known URLs that are due into the frontier; the others rest. Seeds have been put there. It may be called again in a
/// round, by the process that goes on with it.
///
/// # Errors
/// When storage fails.
pub fn plant(context: &Context, seeds: &FxHashSet<UrlKey>) -> Result<(), StoreError> {
    let store = &context.store;
    let round = store.round()?.to_string();
    if !context.recrawl.on || store.get(PLANTED_KEY)?.as_ref() == Some(&round) {
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
            if was_missed || context.recrawl.policy.is_due(&known, now) {
                due.push(known.url);
            } else if known.history.content_hash.is_some() {
                context.recrawl.note_still(&known.url.host);
            }
        }
        store.revisit(&due)?;
    }
    store.put(PLANTED_KEY, &round)
}

/// Whether a known URL would still be followed if it were found now.
fn is_wanted(context: &Context, known: &KnownUrl) -> bool {
    let crawl = &context.config.crawl;
    let Ok(url) = known.url.url.parse() else { return false };
    match known.url.discovery {
        Discovery::Probe => false,
        Discovery::SitemapFile => {
            (crawl.sitemaps || crawl.feeds.or_max() > 0) && context.admission.links.in_scope(&url)
        }
        _ => u64::from(known.url.depth) <= crawl.depth.or_max() && context.admission.links.admits(&url),
    }
}

/// Wakes those of a sitemap's or feed's URLs that rest and are dated newer than their last visit.
///
/// # Errors
/// When storage fails.
pub fn wake(context: &Context, listed: &[NewUrl]) -> Result<(), StoreError> {
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
                resting.get(&url.key).is_some_and(|known| context.recrawl.policy.wakes(known, lastmod))
            })
            .map(|url| (*url).clone())
            .collect();
        context.store.revisit(&woken)?;
    }
    Ok(())
}

/// The end of a page that is as it was; `history` is what this visit has learnt.
#[must_use]
pub fn unchanged(context: &Context, request: CrawlRequest, history: PageHistory) -> Finished {
    if let Some(host) = HostKey::of(&request.url) {
        context.recrawl.note_still(&host);
    }
    Finished::Known(Box::new(KnownEnd { request, outcome: Outcome::Unchanged, history }))
}

/// The hash by which a body is known again: that of a plain request, for what a browser shows is more than its body. A body
/// that was cut has none.
#[must_use]
pub fn body_hash(page: &FetchedPage) -> Option<BodyHash> {
    let content_type = page.headers.get("content-type");
    (page.strategy == Strategy::Static && !page.body.truncated)
        .then(|| BodyHash::of(&page.body.bytes, content_type))
}

/// The end of a page whose body is the one that it was read from before, by the same rules and the same way. What a header
/// or a file of its origin says may be new: then it is read.
#[must_use]
pub fn same_body(context: &Context, page: &FetchedPage, hash: Option<BodyHash>) -> Option<Finished> {
    let before = page.request.before.as_deref()?;
    let same = hash.is_some()
        && before.body_hash == hash
        && before.strategy == Some(Strategy::Static)
        && page.request.strategy.is_none()
        && context.recrawl.need_not_read(&page.request);
    let directives = x_robots_tag(&page.headers, &context.network.product_token);
    let told =
        page.reserved_by_file.is_some() || directives.noindex || directives.noai || directives.nofollow;
    if !same || told || crawl_fetch::tdm_header(&page.headers).is_some() {
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

/// Returns true if a limit of ours ended the body of a page, or its extraction, before its end.
fn is_truncated(page: &ExtractedPage) -> bool {
    let warnings = &page.extraction.warnings;
    [Warning::BodyTruncated, Warning::DeadlineExceeded].iter().any(|limit| warnings.contains(limit))
}

/// History of a page that was read. A page that a limit has cut leaves no validators: they hold for the whole page,
/// whose rest is not known.
#[must_use]
pub fn history(
    context: &Context,
    page: &ExtractedPage,
    content: ContentHash,
    text: Option<ContentHash>,
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

/// What is new of a page that was read and cleaned. Its text decides; before texts had hashes, its content.
#[must_use]
pub fn change(before: Option<&Before>, content: ContentHash, text: ContentHash) -> Change {
    let Some(before) = before else { return Change::New };
    let same = before.text_hash.map_or(before.content_hash == content, |before| before == text);
    if same { Change::Unchanged } else { Change::Changed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_decides_and_where_it_is_not_known_the_content() {
        let hash = ContentHash::of;
        let before = |text: Option<&str>| Before {
            content_hash: hash("content"),
            text_hash: text.map(hash),
            body_hash: None,
            rules: None,
            strategy: None,
            status: None,
            read_at_ms: None,
            seen_at_ms: None,
        };
        let judged = |text, [new_content, new_text]: [&str; 2]| {
            change(Some(&before(text)), hash(new_content), hash(new_text))
        };
        assert_eq!(judged(Some("text"), ["another footer", "text"]), Change::Unchanged);
        assert_eq!(judged(Some("text"), ["content", "cleaned by other rules"]), Change::Changed);
        assert_eq!(judged(None, ["content", "text"]), Change::Unchanged);
        assert_eq!(judged(None, ["other", "text"]), Change::Changed);
        assert_eq!(change(None, hash("content"), hash("text")), Change::New);
    }
}
