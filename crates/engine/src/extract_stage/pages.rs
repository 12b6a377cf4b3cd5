//! Extracted pages, from the network or from an archive.

use crate::{
    archive::Decided,
    context::Context,
    kept_body,
    links::Discovered,
    opt_outs,
    site_counts::{SitePage, Visit},
};
use crawl_extract::Input;
use crawl_model::{
    BodyHash, Classification, CrawlRequest, ExtractedPage, Extraction, FetchedPage, HostKey, KeptBody,
    PageType, StoreError, Strategy,
};
use url::Url;

/// Extracts a page of an archive again. The decisions of the crawl about it stay.
///
/// # Errors
/// When the evidence of its site cannot be read.
pub fn again(
    context: &Context,
    page: Decided,
    body: &[u8],
    url: &Url,
    content_type: &str,
) -> Result<ExtractedPage, StoreError> {
    let content_type = Some(content_type).filter(|declared| !declared.is_empty());
    let input = Input::new(body).with_url(url).with_content_type(content_type);
    let (mut extraction, kept_body) = by_site(context, &input, &page.request, &page.final_url, None)?;
    for warning in page.warnings {
        if !extraction.warnings.contains(&warning) {
            extraction.warnings.push(warning);
        }
    }
    let mut ai_opt_out = page.ai_opt_out;
    for found in opt_outs::of_document(extraction.directives) {
        if !ai_opt_out.contains(&found) {
            ai_opt_out.push(found);
        }
    }
    let found = context.admission.links.discover(&page.request, &extraction.links, false, false);
    let classification = classify(&extraction, &page.final_url, page.strategy, page.page_type);
    (extraction.links, extraction.feeds) = (Vec::new(), Vec::new());
    Ok(ExtractedPage {
        final_url: page.final_url,
        status: page.status,
        content_type: page.content_type,
        etag: None,
        last_modified: None,
        strategy: page.strategy,
        timings: page.timings,
        body_hash: None,
        wire_bytes: page.wire_bytes,
        body_bytes: body.len() as u64,
        ai_opt_out,
        captured: Some(page.capture),
        kept_body,
        links_new_pattern: false,
        has_new_links: false,
        outgoing: if context.config.output.links { found.outgoing } else { Vec::new() },
        classification,
        attempts: page.attempts,
        extraction,
        request: page.request,
    })
}

/// Classifies a page. The type of a page from another strategy than the static one stays.
fn classify(extraction: &Extraction, url: &Url, strategy: Strategy, page_type: PageType) -> Classification {
    let mut classification =
        crawl_fetch::classify(&extraction.signals, url, extraction.word_count, extraction.extractor);
    // the static page decided the type, and may be another capture
    if !matches!(strategy, Strategy::Static | Strategy::StaticBestEffort) {
        classification.page_type = page_type;
    }
    classification
}

/// Classifies a page after another extraction.
pub fn reclassify(page: &mut ExtractedPage) {
    page.classification =
        classify(&page.extraction, &page.final_url, page.strategy, page.classification.page_type);
}

/// Extracts a page by the evidence of its site. Returns its body too if later pages may show that its content was
/// missed.
pub(super) fn by_site(
    context: &Context,
    input: &Input<'_>,
    request: &CrawlRequest,
    known_as: &Url,
    words_before: Option<u32>,
) -> Result<(Extraction, Option<KeptBody>), StoreError> {
    let Some(host) = HostKey::of(known_as) else {
        return Ok((context.reading.extractors.of(None).extract(input), None));
    };
    let visit =
        Visit { host: &host, url: request.url.as_str(), is_known: request.before.is_some(), words_before };
    let extractor = context.reading.extractors.of(Some(&host));
    let SitePage { extraction, is_undecided, is_doubtful } =
        context.reading.sites.extract(&*context.store, extractor, input, &visit)?;
    let is_kept = is_undecided && context.config.dedup.enabled;
    Ok((extraction, if is_kept { kept_body::keep(input, is_doubtful) } else { None }))
}

/// Facts about a page besides its extraction.
pub(super) struct Known {
    /// Canonical URL that identifies the page.
    pub(super) url: Url,
    pub(super) body_hash: Option<BodyHash>,
    pub(super) ai_opt_out: Vec<String>,
    pub(super) found: Discovered,
    pub(super) kept_body: Option<KeptBody>,
}

pub(super) fn extracted_page(
    context: &Context,
    page: FetchedPage,
    mut extraction: Extraction,
    known: Known,
) -> Box<ExtractedPage> {
    let Known { url, body_hash, ai_opt_out, found, kept_body } = known;
    let content_type = page.headers.get("content-type");
    let classification =
        crawl_fetch::classify(&extraction.signals, &url, extraction.word_count, extraction.extractor);
    (extraction.links, extraction.feeds) = (Vec::new(), Vec::new());
    Box::new(ExtractedPage {
        final_url: url,
        status: page.status,
        content_type: content_type.map(|t| t.split(';').next().unwrap_or(t).trim().to_ascii_lowercase()),
        etag: page.headers.get("etag").map(str::to_owned),
        last_modified: page.headers.get("last-modified").map(str::to_owned),
        strategy: page.strategy,
        timings: page.timings,
        body_hash,
        wire_bytes: page.wire_bytes,
        body_bytes: page.body.bytes.len() as u64,
        ai_opt_out,
        captured: page.captured,
        kept_body,
        links_new_pattern: found.links_new_pattern,
        has_new_links: !found.candidates.is_empty(),
        outgoing: if context.config.output.links { found.outgoing } else { Vec::new() },
        classification,
        attempts: Vec::new(),
        extraction,
        request: page.request,
    })
}
