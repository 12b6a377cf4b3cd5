//! The extract stage: bodies in, text and links out. The body is dropped here, and its memory freed.

mod pages;
mod refresh;

pub use pages::{again, reclassify};

use crate::{
    config::OptOutUnknown,
    context::Context,
    failed_page::failed_page,
    feeds,
    finished::{Finished, Share, seed_of},
    links::Discovered,
    memory::{self, LargePagePermit},
    messages::{ExtractJob, ShardMessage, shard_of},
    opt_outs, recrawl, revisit, soft404,
    stage_error::StageError,
    strategies::{self, Next, PartialResult},
    threads::{Threading, marked},
    traps::{self, NewLinks},
};
use crawl_extract::Input;
use crawl_model::{
    BodyHash, CrawlRequest, Directives, ExtractedPage, Extraction, FailedPage, FetchedPage, HostKey,
    LeaseRef, Outcome, PageHistory, Stage, StoreError, Strategy, Warning,
};
use pages::{Known, by_site, extracted_page};
use std::sync::Arc;
use tokio::{
    sync::{
        Semaphore,
        mpsc::{Receiver, Sender},
    },
    task::JoinSet,
};
use url::Url;

/// Maximum bytes of bodies that are parsed at the same time. A tree takes several times the memory of its page. A
/// page of this size or more is processed alone, so the peak is that of the largest page.
const PARSED_AT_ONCE: usize = 4 << 20;
/// Bytes per permit of the semaphore, whose number of permits is limited.
const WEIGHT_UNIT: usize = 1 << 10;

/// Minimum bytes of a page that keeps its share of the budget until it is written or held in the store.
const LARGE: usize = 1 << 20;

/// Result of extraction.
enum End {
    Page(Box<ExtractedPage>),
    Finished(Finished),
    /// The page is fetched again, by another strategy.
    Requeued,
}

impl From<Next> for End {
    fn from(next: Next) -> Self {
        match next {
            Next::Write(page) => Self::Page(page),
            Next::Requeued => Self::Requeued,
        }
    }
}

/// A page after extraction, with error lines for its links that were left out as traps.
struct Extracted {
    end: End,
    trapped: Vec<FailedPage>,
}

impl Extracted {
    /// Wraps an end without links.
    const fn of(end: End) -> Self {
        Self { end, trapped: Vec::new() }
    }
}

/// Runs until the fetch stage has dropped its senders and every page has been sent to the next stage.
pub async fn run(
    context: Arc<Context>,
    mut pages: Receiver<ExtractJob>,
    shards: Vec<Sender<ShardMessage>>,
    finished: Sender<Finished>,
) -> Result<(), StageError> {
    let mut in_hand = JoinSet::new();
    let parsed = Arc::new(Semaphore::new(PARSED_AT_ONCE / WEIGHT_UNIT));
    loop {
        // takes a thread before a page, so that waiting pages stay in the channel
        let Some(permit) = context.compute.cpu.ready().await else { break };
        let page = loop {
            tokio::select! {
                biased;
                // an error must not wait for the next page, which may never come
                Some(done) = in_hand.join_next() => outcome_of_task(done)?,
                page = pages.recv() => break page,
            }
        };
        let Some(page) = page else { break };
        let page = match page {
            ExtractJob::Page(page) => *page,
            ExtractJob::Earlier(page) => {
                let kept = Extracted { end: End::Page(page), trapped: Vec::new() };
                send_onward(kept, None, &shards, &finished).await?;
                continue;
            }
        };
        let weight = page.body.bytes.len().clamp(WEIGHT_UNIT, PARSED_AT_ONCE) / WEIGHT_UNIT;
        let taken = Arc::clone(&parsed).acquire_many_owned(u32::try_from(weight).unwrap_or(1)).await.ok();
        let large = page.body.bytes.len() >= LARGE;
        // a page below `LARGE` frees its memory share once it is parsed
        let (usual, share) = if large { (None, taken.map(LargePagePermit::new)) } else { (taken, None) };
        let (shared, shards, finished) = (Arc::clone(&context), shards.clone(), finished.clone());
        let work = async move {
            let outcome = one(&shared, page).await?;
            drop(usual);
            archive_withdrawal(&shared, &outcome.end).await?;
            send_onward(outcome, share, &shards, &finished).await?;
            drop(permit);
            Ok(())
        };
        match context.compute.threading {
            Threading::Threads => in_hand.spawn(marked(work)),
            Threading::Inline => in_hand.spawn(work),
        };
    }
    while let Some(done) = in_hand.join_next().await {
        outcome_of_task(done)?;
    }
    Ok(())
}

/// Writes to the archive that a page of an earlier round is withdrawn.
async fn archive_withdrawal(context: &Context, end: &End) -> Result<(), StageError> {
    match (end, &context.records.archive) {
        (End::Finished(Finished::Known(known)), Some(archive)) if known.outcome == Outcome::Gone => {
            archive.gone(&known.request.url).await
        }
        _ => Ok(()),
    }
}

fn outcome_of_task(done: Result<Result<(), StageError>, tokio::task::JoinError>) -> Result<(), StageError> {
    done.unwrap_or_else(|e| Err(StageError::Panicked { stage: "extract", words: e.to_string() }))
}

async fn send_onward(
    outcome: Extracted,
    share: Share,
    shards: &[Sender<ShardMessage>],
    finished: &Sender<Finished>,
) -> Result<(), StageError> {
    for line in outcome.trapped {
        let line = Finished::Failed(Box::new(line), Box::default());
        finished.send(line).await.map_err(|_| StageError::Downstream)?;
    }
    match outcome.end {
        End::Page(page) => {
            let shard = HostKey::of(&page.final_url).map_or(0, |host| shard_of(&host, shards.len()));
            shards[shard].send(ShardMessage::Page(page, share)).await.map_err(|_| StageError::Downstream)
        }
        End::Finished(end) => finished.send(end).await.map_err(|_| StageError::Downstream),
        End::Requeued => Ok(()),
    }
}

/// Extracts a page on the CPU pool. A panic fails the page and does not end the run: a hostile page must not stop the
/// others.
async fn one(context: &Arc<Context>, page: FetchedPage) -> Result<Extracted, StageError> {
    let (request, history) = (page.request.clone(), history_of(&page));
    let shared = Arc::clone(context);
    let large = page.body.bytes.len() >= LARGE;
    let work = move || {
        let extracted = extract(&shared, page);
        if large {
            memory::return_freed_memory();
        }
        extracted
    };
    match context.compute.cpu.run(work).await {
        Ok(outcome) => Ok(outcome?),
        Err(panicked) => {
            let message = format!("extraction failed on this page, please report it: {panicked}");
            tracing::error!(url = %request.url, %panicked, "extraction panicked");
            if soft404::is_probe(&request) {
                let end = End::Finished(soft404::end(&request, history.status));
                return Ok(Extracted { end, trapped: Vec::new() });
            }
            let failed = failed_page(&request, Stage::Extract, "internal", history.status, message);
            let end = Finished::Failed(Box::new(failed), history);
            let partial = strategies::partial_result_in_storage(context, &request).await?;
            let end = match strategies::on_failure_in_storage(context, &request, partial, end).await? {
                Ok(next) => next.into(),
                Err(end) => End::Finished(end),
            };
            Ok(Extracted { end, trapped: Vec::new() })
        }
    }
}

/// History of a page that does not become a record. It has no validators: the stored ones belong to the stored
/// content.
fn history_of(page: &FetchedPage) -> Box<PageHistory> {
    Box::new(PageHistory {
        status: Some(page.status),
        sitemap_lastmod: page.request.sitemap_lastmod.clone(),
        fetched_at_ms: Some(page.timings.started_at_ms),
        ..PageHistory::default()
    })
}

/// Adds those links of a page to the frontier that may be followed.
fn follow(
    context: &Context,
    request: &CrawlRequest,
    extraction: &Extraction,
    directives: Directives,
) -> Result<Discovered, StoreError> {
    let obey = context.config.crawl.obey_robots;
    let follow = !(obey && directives.nofollow);
    let leads_to = refresh::of_seed(request, extraction).filter(|_| follow);
    if let Some(target) = &leads_to {
        context.extend_scope(&context.admission.links.canonical(target))?;
    }
    let mut found = context.admission.links.discover(request, &extraction.links, follow, obey);
    if let Some(target) = &leads_to {
        refresh::keep_depth(context, request, target, &mut found);
    }
    // feeds come before the links, one of which may name the feed too
    if follow {
        feeds::follow(context, request, &extraction.feeds)?;
    }
    found.refused = context.admission.links.enqueue(&*context.store, &found.candidates, request.id)?;
    for (kind, count) in &found.trapped_more {
        context.stats.by_kind(kind, *count);
    }
    context.stats.changed.notify_one();
    Ok(found)
}

/// Returns the counted kind of a page that is not written, such as `noindex`; `None` for a page to write.
fn unwanted(context: &Context, directives: Directives, ai_opt_out: &[String]) -> Option<&'static str> {
    let settings = &context.config.crawl;
    let obeyed = settings.respect_ai_optout && !ai_opt_out.is_empty();
    match () {
        () if settings.obey_robots && directives.noindex => Some("noindex"),
        () if obeyed && opt_outs::is_reserved(ai_opt_out) => Some("ai_optout"),
        () if obeyed && settings.ai_optout_unknown == OptOutUnknown::Skip => Some(opt_outs::UNKNOWN_KIND),
        () => None,
    }
}

/// Returns the end of a page that is not written. An unknown opt-out is a failure. The other kinds are skipped pages; such
/// a page with a record of an earlier round is withdrawn, so its record is gone.
fn left_out(page: &FetchedPage, kind: &'static str) -> Finished {
    let history = history_of(page);
    if kind == opt_outs::UNKNOWN_KIND {
        let message = "an opt-out file of the site is unreachable: tdmrep.json or ai.txt".to_owned();
        let failed = failed_page(&page.request, Stage::Robots, kind, Some(page.status), message);
        return Finished::Failed(Box::new(failed), history);
    }
    if page.request.before.is_some() {
        tracing::info!(url = %page.request.url, kind, "the page is withdrawn");
        return Finished::known(page.request.clone(), Outcome::Gone, *history);
    }
    let (lease, seed) = (LeaseRef::from(&page.request), seed_of(&page.request));
    let left_out = Some(page.request.url.as_str().into());
    Finished::Other { lease, outcome: Outcome::Skipped, kind, history, seed, left_out }
}

/// Canonical URL that identifies a page. A rendered page or an AMP page has the requested URL; its own URL is only
/// the base of its links.
fn known_as(context: &Context, page: &FetchedPage) -> Url {
    let known = match page.strategy {
        Strategy::Amp | Strategy::Chrome => &page.request.url,
        Strategy::Mobile if page.request.strategy == Some(Strategy::Mobile) => &page.request.url,
        _ => &page.final_url,
    };
    context.admission.links.canonical(known)
}

fn extract(context: &Context, page: FetchedPage) -> Result<Extracted, StoreError> {
    let body_hash = recrawl::body_hash(&page);
    match revisit::same_body(context, &page, body_hash) {
        Some(end) => Ok(Extracted::of(End::Finished(end))),
        None => read(context, page, body_hash),
    }
}

fn read(
    context: &Context,
    mut page: FetchedPage,
    body_hash: Option<BodyHash>,
) -> Result<Extracted, StoreError> {
    let content_type = page.headers.get("content-type");
    let partial = strategies::partial_result(context, &page.request)?;
    let known_as = known_as(context, &page);
    let probe = soft404::is_probe(&page.request);
    let input = Input::new(&page.body.bytes).with_url(&page.final_url).with_content_type(content_type);
    let words_before = partial.as_ref().and_then(PartialResult::visible_words);
    let (mut extraction, kept_body) = if probe {
        (context.reading.extractors.of(HostKey::of(&known_as).as_ref()).extract(&input), None)
    } else {
        by_site(context, &input, &page.request, &known_as, words_before)?
    };
    if page.body.truncated {
        extraction.warnings.push(Warning::BodyTruncated);
    }
    if page.body.truncated || page.unsettled {
        extraction.warnings.push(Warning::PartialContent);
    }
    refresh::add(&page, &mut extraction);
    refresh::add_header_links(&page, &mut extraction);
    let before = partial.as_ref().map(|partial| partial.directives).unwrap_or_default();
    let directives = extraction
        .directives
        .and(crawl_fetch::x_robots_tag(&page.headers, &context.network.product_token))
        .and(before);
    let mut found =
        if probe { Discovered::default() } else { follow(context, &page.request, &extraction, directives)? };
    let mut trapped = traps::lines(std::mem::take(&mut found.trapped), found.trapped_more.values().sum());
    trapped.extend(traps::refused(
        &context.admission.full_hosts,
        &context.stats,
        std::mem::take(&mut found.refused),
    ));
    for line in &mut trapped {
        line.found_on = Some(page.request.url.to_string());
    }
    context.stats.pages.add(u64::from(!probe));
    context.stats.wire_bytes.add(page.wire_bytes);
    context.stats.body_bytes.add(page.body.bytes.len() as u64);
    let ai_opt_out = opt_outs::of_page(&page, directives);
    if let Some(kind) = unwanted(context, directives, &ai_opt_out).filter(|_| !probe) {
        // it may link to wanted pages, so its words count for its pattern; its content is not compared
        let links = NewLinks::of(!found.candidates.is_empty(), found.links_new_pattern);
        let worth = traps::worth(&context.admission.traps, &known_as, &extraction, links);
        traps::learn(&context.admission.traps, &page.request, &known_as, worth);
        strategies::refund(context, &page.request, partial.as_ref());
        return Ok(Extracted { end: End::Finished(left_out(&page, kind)), trapped });
    }
    if !ai_opt_out.is_empty() && !opt_outs::is_reserved(&ai_opt_out) {
        extraction.warnings.push(Warning::OptOutUnknown);
    }
    let body_hash = body_hash.filter(|_| !refresh::forget_validators(&mut page, &extraction));
    let known = Known { url: known_as, body_hash, ai_opt_out, found, kept_body };
    let extracted = extracted_page(context, page, extraction, known);
    if probe {
        return Ok(Extracted { end: End::Page(extracted), trapped });
    }
    // the body is dropped after this, and with it the guard that makes other pages of the pattern wait
    let end = strategies::on_page(context, extracted, directives, partial)?.into();
    Ok(Extracted { end, trapped })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config, links::new_url, session};
    use crawl_model::{Body, Discovery, Frontier, Headers, Lane, Store, Timings};
    use crawl_store::MemoryStore;

    pub(super) fn fetched(context: &Context, url: &Url, html: String) -> FetchedPage {
        let host = HostKey::of(url).unwrap();
        let leased = context.store.lease(&host, Lane::Plain, 1, "worker", i64::MAX - 1, i64::MAX).unwrap();
        let request = leased.into_iter().next().unwrap();
        FetchedPage {
            final_url: url.clone(),
            status: 200,
            headers: Headers(vec![("content-type".into(), "text/html".into())]),
            body: Body::unaccounted(html),
            strategy: request.strategy.unwrap_or(Strategy::Static),
            timings: Timings { started_at_ms: 0, first_byte_ms: 0, total_ms: 0 },
            wire_bytes: 0,
            captured: None,
            unsettled: false,
            reserved_by_file: None,
            request,
        }
    }

    #[test]
    fn seed_that_leads_to_another_host_extends_the_scope() {
        let config = config::load(None, std::iter::empty(), Vec::new()).unwrap();
        let store = Arc::new(MemoryStore::new());
        store.begin_round().unwrap();
        let context = session::context(config, Arc::clone(&store) as Arc<dyn Store>).unwrap();
        let home = Url::parse("https://new.test/home").unwrap();
        for (host, discovery, follows) in
            [("page.test", Discovery::Link, false), ("seed.test", Discovery::Seed, true)]
        {
            let url = Url::parse(&format!("https://{host}/")).unwrap();
            store.enqueue(&[new_url(url.clone(), HostKey::of(&url).unwrap(), 0, discovery)]).unwrap();
            let html =
                format!("<meta http-equiv=refresh content='0; url={home}'><a href=https://other.test/>");
            extract(&context, fetched(&context, &url, html)).unwrap();
            assert_eq!(context.admission.links.in_scope(&home), follows, "{host}");
            let other = Url::parse("https://other.test/").unwrap();
            assert!(!context.admission.links.in_scope(&other));
        }
    }

    /// Shells of a site, whose AMP pages say `noindex`.
    #[test]
    fn page_that_is_not_written_costs_no_duplicate() {
        let settings = [("CRAWL_FETCH_STRATEGY", "amp"), ("CRAWL_TRAPS_TEMPLATE_CREDIT", "100")];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let config = config::load(None, settings.into_iter(), Vec::new()).unwrap();
        let store = Arc::new(MemoryStore::new());
        store.begin_round().unwrap();
        let context = session::context(config, Arc::clone(&store) as Arc<dyn Store>).unwrap();
        let at = |path: String| Url::parse(&format!("https://h.test/{path}")).unwrap();
        for n in 0..9 {
            let (url, amp) = (at(format!("list/{n}")), at(format!("amp/{n}")));
            let host = HostKey::of(&url).unwrap();
            store.enqueue(&[new_url(url.clone(), host, 0, Discovery::Seed)]).unwrap();
            let shell = format!("<link rel=amphtml href={amp}><script src=/a.js></script><p>Loading.");
            let first = extract(&context, fetched(&context, &url, shell)).unwrap();
            assert!(matches!(first.end, End::Requeued));
            let page = fetched(&context, &url, format!("<meta name=robots content=noindex><p>{n}."));
            assert_eq!(page.strategy, Strategy::Amp);
            let second = extract(&context, page).unwrap();
            assert!(matches!(second.end, End::Finished(Finished::Other { kind: "noindex", .. })));
        }
        let left =
            (0..1_000).take_while(|n| context.admission.traps.charge_fetch(&at(format!("list/{n}"))).is_ok());
        assert_eq!(left.count(), 100, "only fetches are paid");
    }
}
