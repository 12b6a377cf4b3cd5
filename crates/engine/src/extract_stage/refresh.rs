//! Pages that lead to another page by a refresh.

use crawl_model::{CrawlRequest, Extraction, FetchedPage, Link, LinkKind};
use url::Url;

/// Maximum words of a page that only leads to another one. A longer one has a text of its own.
const MAX_WORDS: u32 = 50;

/// Adds the URL of a `Refresh` header, which browsers obey as the meta element of that name.
pub(super) fn add(page: &FetchedPage, extraction: &mut Extraction) {
    let target = page.headers.get("refresh").and_then(crawl_extract::refresh_target);
    let Some(mut url) = target.and_then(|target| page.final_url.join(target).ok()) else { return };
    url.set_fragment(None);
    let is_web = matches!(url.scheme(), "http" | "https");
    if is_web && extraction.links.iter().all(|link| link.url != url.as_str()) {
        extraction.links.push(Link { url: url.into(), kind: LinkKind::Refresh, nofollow: false });
    }
}

/// URL to which a seed without a text of its own leads. Its host belongs to the scope, as that of a redirect.
pub(super) fn of_seed(request: &CrawlRequest, extraction: &Extraction) -> Option<Url> {
    if !request.discovery.is_seed() || extraction.word_count > MAX_WORDS {
        return None;
    }
    let target = extraction.links.iter().find(|link| link.kind == LinkKind::Refresh)?;
    Url::parse(&target.url).ok()
}

/// Removes the validators of a seed that leads to another host, and returns true for such a page. The scope is that of a
/// round: an answer that the page has not changed would not extend it.
pub(super) fn forget_validators(page: &mut FetchedPage, extraction: &Extraction) -> bool {
    let target = of_seed(&page.request, extraction);
    let leads_out = target.is_some_and(|target| target.host_str() != page.final_url.host_str());
    if leads_out {
        page.headers.0.retain(|(name, _)| !matches!(name.as_str(), "etag" | "last-modified"));
    }
    leads_out
}
