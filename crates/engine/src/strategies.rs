//! Escalation: further strategies for a page whose plain request lacks the text.
//!
//! The next strategy is chosen after extraction. If a page needs a stronger one, its lease returns to the frontier
//! with the result so far ([`crawl_model::Frontier::escalate`]). The URL then waits in the lane of the new strategy;
//! politeness, robots.txt and limits apply to it as to any other. Each strategy is tried at most once per page. The
//! best result is written, so a failed strategy loses nothing.

mod page;
mod partial_result;

pub use partial_result::{PartialResult, partial_result, partial_result_in_storage};

use crate::{
    config::StrategyChoice,
    context::Context,
    finished::Finished,
    lessons::{Gain, Marks},
};
use crawl_fetch::{outweighs, url_pattern};
use crawl_model::{Attempt, CrawlRequest, Directives, ExtractedPage, StoreError, Strategy, Warning, now_ms};
use page::{amp_page, is_cut, is_enough, is_final_result, is_poor_choice, repeats_text_of_pattern, wanted};
use std::sync::Arc;

/// Failures of a strategy that concern the page itself. It is a file, its script navigates elsewhere or never ends,
/// or it crashes the tab or takes too much memory. Failures of a network, a proxy or an unreachable robots.txt are
/// temporary.
const PAGE_FAILURES: [&str; 5] = ["attachment", "navigation", "page_crashed", "page_hung", "page_memory"];

/// Next step of a page.
pub enum Next {
    /// The page is written.
    Write(Box<ExtractedPage>),
    /// Its lease has returned to the frontier for another strategy.
    Requeued,
}

/// Selects the next step of an extracted page. `directives` combine those of all attempts with the headers of this
/// one.
///
/// # Errors
/// When storage fails.
pub fn on_page(
    context: &Context,
    page: Box<ExtractedPage>,
    directives: Directives,
    partial: Option<PartialResult>,
) -> Result<Next, StoreError> {
    let brought_little = partial.is_none() && is_poor_choice(context, &page);
    let mut partial = partial.unwrap_or_default();
    partial.directives = partial.directives.and(directives);
    let wanted = wanted(context, &page, &partial);
    if context.strategy_of(&page.request.url) == StrategyChoice::Auto {
        update_lessons(context, &page, &partial, &wanted)?;
    }
    let strategy = page.strategy;
    if partial.attempts.is_empty() {
        partial.reason = reason_for_strategy(context, &page);
    }
    let found = format!("{}; {}", page.classification.reason, page.extraction.reason);
    partial.attempts.push(Attempt {
        strategy,
        status: Some(page.status),
        words: page.extraction.word_count,
        error: None,
        reason: if partial.reason.is_empty() { found } else { format!("{}; {found}", partial.reason) },
    });
    if strategy == Strategy::Static {
        partial.page_type = Some(page.classification.page_type);
        partial.amp_url = amp_page(context, &page);
    }
    if is_final_result(&page, partial.best.as_deref()) {
        partial.ahead.clear();
    }
    if !is_enough(&page) || brought_little {
        let new: Vec<Strategy> = wanted.into_iter().filter(|s| !partial.ahead.contains(s)).collect();
        partial.ahead.extend(new);
        if strategy == Strategy::Static {
            partial.reason.clone_from(&page.classification.reason);
        }
        if brought_little {
            // the URL pattern selected the strategy: if its page has no text, the static page is fetched
            partial.ahead.push(Strategy::Static);
            partial.reason = format!("{strategy} found little text");
        }
    }
    if strategy == Strategy::Static && !partial.charged && repeats_text_of_pattern(context, &page) {
        context.admission.traps.charge_duplicate(&page.request.url);
        partial.charged = true;
    }
    let request = page.request.clone();
    if partial.best.as_ref().is_none_or(|best| outweighs(&page, best)) {
        partial.best = Some(page);
    }
    next(context, &request, partial)
}

/// Returns the reason why a page was not begun with a plain request; empty if it was.
fn reason_for_strategy(context: &Context, page: &ExtractedPage) -> String {
    let auto = context.strategy_of(&page.request.url) == StrategyChoice::Auto;
    let pattern = || format!("pages of the URL pattern {} have needed it", url_pattern(&page.request.url));
    match page.strategy {
        Strategy::Static if auto && page.request.strategy == Some(Strategy::Chrome) => {
            format!("asked for by a browser, since {}, but its document has its text", pattern())
        }
        Strategy::Static => String::new(),
        _ if auto => pattern(),
        _ => "asked for".into(),
    }
}

/// Decides about a URL whose strategy brought no page. The earlier result is written, or another strategy is
/// tried. Without either the failure is the URL's end.
///
/// # Errors
/// When storage fails.
fn on_failure(
    context: &Context,
    request: &CrawlRequest,
    partial: Option<PartialResult>,
    end: Finished,
) -> Result<Result<Next, Finished>, StoreError> {
    let Some(strategy) = request.strategy else { return Ok(Err(end)) };
    let browser = strategy == Strategy::Chrome;
    let auto = context.strategy_of(&request.url) == StrategyChoice::Auto;
    // a learned strategy must not lose a page, so the static page is tried too; a strategy that the user chose only
    // falls back if there is no browser
    let may_go_back = strategy != Strategy::Static
        && (auto || (browser && context.strategies.browser.unavailable().is_some()));
    let mut partial = match partial {
        Some(partial) => partial,
        None if may_go_back => PartialResult { ahead: vec![Strategy::Static], ..PartialResult::default() },
        None => return Ok(Err(end)),
    };
    // a static answer that is no page decides, unless another strategy has brought a text
    let poor = partial.best.as_ref().is_some_and(|best| is_poor_choice(context, best));
    if strategy == Strategy::Static && poor && matches!(end, Finished::Other { .. }) {
        return Ok(Err(end));
    }
    let (kind, status, message) = match &end {
        Finished::Failed(failed, _) => (failed.kind, failed.status, failed.message.as_str()),
        Finished::Other { kind, history, .. } => (*kind, history.status, "it brought no page"),
        Finished::Page(..) | Finished::Known(_) => return Ok(Err(end)),
    };
    tracing::info!(url = %request.url, %strategy, kind, "{message}");
    partial.add_failure(strategy, status, kind, message);
    if browser {
        context.stats.count_not_rendered(kind);
    }
    if auto && PAGE_FAILURES.contains(&kind) {
        context.strategies.lessons.learn_outcome(&*context.store, &request.url, strategy, Gain::No)?;
    }
    if partial.ahead.is_empty() && partial.best.is_none() {
        return Ok(Err(end));
    }
    next(context, request, partial).map(Ok)
}

/// Decides as [`on_failure`] does, for an asynchronous task.
///
/// # Errors
/// When storage fails.
pub async fn on_failure_in_storage(
    context: &Arc<Context>,
    request: &CrawlRequest,
    partial: Option<PartialResult>,
    end: Finished,
) -> Result<Result<Next, Finished>, StoreError> {
    if request.strategy.is_none() {
        return Ok(Err(end));
    }
    let request = request.clone();
    context.in_storage(move |context| on_failure(context, &request, partial, end)).await
}

/// Requeues the URL for the next strategy, or returns the page to write.
fn next(context: &Context, request: &CrawlRequest, mut partial: PartialResult) -> Result<Next, StoreError> {
    while !partial.ahead.is_empty() {
        let strategy = partial.ahead.remove(0);
        if partial.was_tried(strategy) || (strategy == Strategy::Amp && partial.amp_url.is_none()) {
            continue;
        }
        if strategy == Strategy::Chrome
            && let Some(why) = context.strategies.browser.unavailable()
        {
            partial.add_failure(strategy, None, why.kind, &why.message);
            context.stats.count_not_rendered(why.kind);
            continue;
        }
        if strategy != Strategy::Static
            && let Some(pages) =
                context.strategies.lessons.useless_attempts(&*context.store, &request.url, strategy)?
        {
            partial.reason =
                format!("{strategy} was not tried: it did not improve the last {pages} pages like this one");
            if let Some(last) = partial.attempts.last_mut() {
                last.reason = format!("{}; {}", last.reason, partial.reason);
            }
            continue;
        }
        let text = serde_json::to_vec(&partial).map_err(|e| StoreError::Other(e.to_string()))?;
        // if the lease is outdated, another worker has the URL
        let given_back = context.store.escalate(request.into(), now_ms(), strategy, &text)?;
        context.stats.requeued.add(u64::from(given_back));
        context.stats.changed.notify_one();
        return Ok(Next::Requeued);
    }
    settle(context, request, partial)
}

/// Refunds the charge for a known text, once the worth of the page is known.
pub fn refund(context: &Context, request: &CrawlRequest, partial: Option<&PartialResult>) {
    if partial.is_some_and(|partial| partial.charged) {
        context.admission.traps.refund_duplicate(&request.url);
    }
}

/// Returns the best page with its attempts and warnings.
fn settle(context: &Context, request: &CrawlRequest, partial: PartialResult) -> Result<Next, StoreError> {
    refund(context, request, Some(&partial));
    let PartialResult { best, attempts, page_type, browser_failed, directives, .. } = partial;
    let Some(mut page) = best else {
        return Err(StoreError::Other(format!("{}: no result is stored", request.url)));
    };
    // the best page may be from an earlier lease; the record ends the present one
    page.request = request.clone();
    page.attempts = attempts;
    page.extraction.directives = page.extraction.directives.and(directives);
    add_warnings(&mut page, browser_failed, context.strategy_of(&request.url) == StrategyChoice::Auto);
    if let Some(page_type) = page_type {
        page.classification.page_type = page_type;
    }
    Ok(Next::Write(page))
}

/// Adds the warnings `partial_content` and `needs_browser` to a page. A skipped strategy, or one without gain, counts
/// like a failed one.
fn add_warnings(page: &mut ExtractedPage, browser_failed: bool, auto: bool) {
    if is_enough(page) {
        return;
    }
    let warnings = &mut page.extraction.warnings;
    let mut add = |warning| {
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    };
    if browser_failed {
        add(Warning::NeedsBrowser);
    }
    if browser_failed || (auto && page.strategy == Strategy::Static) {
        add(Warning::PartialContent);
    }
    if page.strategy == Strategy::Static && warnings.contains(&Warning::PartialContent) {
        page.strategy = Strategy::StaticBestEffort;
    }
}

/// Returns the gain of a page's strategy over the best page so far.
fn gain_of(context: &Context, page: &ExtractedPage, best: Option<&ExtractedPage>) -> Gain {
    let marks = Marks::from(&page.extraction.signals);
    match best {
        Some(best) if outweighs(page, best) => Gain::Yes(marks),
        None if !is_poor_choice(context, page) => Gain::Unknown(marks),
        _ => Gain::No,
    }
}

/// Updates the lessons of the site with a page.
fn update_lessons(
    context: &Context,
    page: &ExtractedPage,
    partial: &PartialResult,
    wanted: &[Strategy],
) -> Result<(), StoreError> {
    let (lessons, store, url) = (&context.strategies.lessons, &*context.store, &page.request.url);
    if is_cut(page) {
        return Ok(());
    }
    match (page.strategy, &partial.best) {
        // an earlier strategy failed or brought little, and the static page lacks text too: the page says nothing
        // about its pattern
        (Strategy::Static, _) if !partial.attempts.is_empty() && !is_enough(page) => Ok(()),
        // AMP cannot be a first strategy: only the static page names the AMP page
        (Strategy::Static, _) if wanted.first() == Some(&Strategy::Amp) => Ok(()),
        (Strategy::Static, _) => lessons.learn_static_page(store, url, wanted.first().copied()),
        (strategy, best) => {
            lessons.learn_outcome(store, url, strategy, gain_of(context, page, best.as_deref()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page that came by `by`, of so many words, that asks for `wants`.
    fn page(by: Strategy, words: u32, wants: Strategy) -> ExtractedPage {
        let page = serde_json::json!({
            "request": {"id": 1, "token": 1, "url": "https://h/", "depth": 0, "discovery": "seed", "attempt": 0,
                "strategy": null, "redirects": [], "etag": null, "last_modified": null, "project": "p",
                "source_group": null},
            "final_url": "https://h/", "status": 200, "content_type": null, "etag": null, "last_modified": null,
            "strategy": by, "timings": {"started_at_ms": 0, "first_byte_ms": 0, "total_ms": 0},
            "wire_bytes": 0, "body_bytes": 0, "outgoing": [],
            "classification": {"pageType": "static_html", "strategy": wants, "confidence": 0.9,
                "rule": "long_body", "reason": ""},
            "extraction": {"content": "word ".repeat(words as usize), "blocks": [], "metadata": {}, "links": [],
                "directives": {"noindex": false, "nofollow": false, "noarchive": false, "noai": false},
                "signals": crawl_model::PageSignals::default(), "extractor": "readability", "reason": "",
                "article_score": 0, "word_count": words, "warnings": []},
        });
        serde_json::from_value(page).unwrap()
    }

    #[test]
    fn amp_page_is_final_only_with_more_words() {
        use Strategy::{Amp, Chrome, Mobile, Static};
        let best = page(Static, 80, Chrome);
        for by in [Amp, Mobile] {
            assert!(!is_final_result(&page(by, 60, Static), Some(&best)));
            assert!(is_final_result(&page(by, 90, Static), Some(&best)));
            assert!(!is_final_result(&page(by, 90, Chrome), Some(&best)));
        }
        assert!(is_final_result(&page(Static, 60, Static), Some(&best)));
        assert!(is_final_result(&page(Chrome, 60, Chrome), Some(&best)));
    }

    #[test]
    fn static_fallback_of_a_failed_render_has_warnings() {
        use Strategy::{Chrome, Mobile, Static, StaticBestEffort};
        let warned = |mut page: ExtractedPage, failed, auto| {
            add_warnings(&mut page, failed, auto);
            (page.extraction.warnings, page.strategy)
        };
        for wants in [Chrome, Mobile, StaticBestEffort] {
            let spared = warned(page(Static, 20, wants), false, true);
            assert_eq!(spared, (vec![Warning::PartialContent], StaticBestEffort));
        }
        let failed = warned(page(Static, 20, Chrome), true, true).0;
        assert_eq!(failed, [Warning::NeedsBrowser, Warning::PartialContent]);
        assert_eq!(warned(page(Static, 20, Static), true, true), (vec![], Static));
        assert_eq!(warned(page(Chrome, 20, Chrome), false, true), (vec![], Chrome));
        assert_eq!(warned(page(Static, 20, Chrome), false, false), (vec![], Static), "asked for");
    }

    #[test]
    fn partial_render_teaches_nothing() {
        let mut taken = page(Strategy::Chrome, 20, Strategy::Chrome);
        assert!(!is_cut(&taken));
        taken.extraction.warnings.push(Warning::PartialContent);
        assert!(is_cut(&taken));
    }
}
