//! Properties of a page that decide about further strategies.

use super::PartialResult;
use crate::{config::StrategyChoice, context::Context};
use crawl_fetch::{domain, outweighs, strategies_in_order};
use crawl_model::{ExtractedPage, PageType, Strategy, Warning};
use std::hash::{DefaultHasher, Hash, Hasher};
use url::Url;

/// Returns the untried strategies that a page needs, in order.
pub(super) fn wanted(context: &Context, page: &ExtractedPage, partial: &PartialResult) -> Vec<Strategy> {
    let of_page: &[Strategy] = match context.strategy_of(&page.request.url) {
        StrategyChoice::Auto => strategies_in_order(&page.classification),
        // a static page here means that there is no browser; the attempt reports it
        StrategyChoice::Chrome if page.strategy == Strategy::Static => &[Strategy::Chrome],
        StrategyChoice::Amp if page.strategy == Strategy::Static => &[Strategy::Amp],
        _ => &[],
    };
    let new = |s: &Strategy| *s != page.strategy && !partial.was_tried(*s);
    let amp = |s: &Strategy| *s != Strategy::Amp || amp_page(context, page).is_some();
    of_page.iter().copied().filter(|s| new(s) && amp(s)).collect()
}

/// Target of `<link rel=amphtml>` within the site. The frontier refuses URLs of AMP pages, this strategy does
/// not.
pub(super) fn amp_page(context: &Context, page: &ExtractedPage) -> Option<Url> {
    let url = Url::parse(page.extraction.signals.amp_url.as_deref()?).ok()?;
    let here = context.admission.links.in_scope(&url)
        || (domain(&url).is_some() && domain(&url) == domain(&page.final_url));
    let other = context.admission.links.canonical(&url) != page.final_url;
    (matches!(url.scheme(), "http" | "https") && here && other).then_some(url)
}

/// Returns true if a page has its text, or no further strategy can add to it.
pub(super) fn is_enough(page: &ExtractedPage) -> bool {
    page.strategy == Strategy::Chrome || is_complete(&page.classification.strategy)
}

const fn is_complete(strategy: &Strategy) -> bool {
    matches!(strategy, Strategy::Static)
}

/// Returns true if no further strategy is tried after a page. An AMP or mobile page may be complete and still have
/// less text than the best page.
pub(super) fn is_final_result(page: &ExtractedPage, best: Option<&ExtractedPage>) -> bool {
    let is_the_page = matches!(page.strategy, Strategy::Static | Strategy::Chrome);
    is_enough(page) && (is_the_page || best.is_none_or(|best| outweighs(page, best)))
}

/// Returns true if a page by another strategy than the static one is walled or has no text. The static page must be
/// compared with it then.
pub(super) fn is_poor_choice(context: &Context, page: &ExtractedPage) -> bool {
    let auto = context.strategy_of(&page.request.url) == StrategyChoice::Auto;
    let walled = matches!(page.classification.page_type, PageType::CookieWalled | PageType::Paywalled);
    auto && page.strategy != Strategy::Static && (walled || page.extraction.word_count == 0)
}

/// Returns true if a limit cut a page or its rendering. Such a page says nothing about its pattern.
pub(super) fn is_cut(page: &ExtractedPage) -> bool {
    let cut = |w: &Warning| {
        matches!(w, Warning::BodyTruncated | Warning::DeadlineExceeded | Warning::PartialContent)
    };
    page.extraction.warnings.iter().any(cut)
}

/// Returns true if another page of the URL pattern had the same static text. Only used for pages that wait for
/// another strategy. Its hash differs from that of finished pages.
pub(super) fn repeats_text_of_pattern(context: &Context, page: &ExtractedPage) -> bool {
    let mut said = DefaultHasher::new();
    ("static", &page.extraction.content).hash(&mut said);
    context.admission.traps.repeats(&page.request.url, said.finish())
}
