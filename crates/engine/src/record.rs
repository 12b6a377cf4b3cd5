//! Conversion of a cleaned page to its line.

use crate::{finished::KnownPageEnd, opt_outs};
use crawl_extract::{count_words, reading_time_minutes};
use crawl_model::{
    Change, CleanPage, ContentHash, CrawlRequest, ExtractedPage, Extraction, HostKey, Outcome, Record,
    RecordMetadata, Strategy, Warning, rfc3339,
};
use crawl_projects::DEFAULT_PROJECT;
use url::Url;

/// The record of a crawled page.
#[must_use]
pub fn record(page: CleanPage) -> Record {
    let CleanPage { page, text, boilerplate, duplicate, content_hash, change, quality, .. } = page;
    let words = if text == page.extraction.content { page.extraction.word_count } else { count_words(&text) };
    let ExtractedPage {
        request,
        final_url,
        classification,
        mut extraction,
        strategy,
        outgoing,
        ai_opt_out,
        attempts,
        ..
    } = page;
    let media = std::mem::take(&mut extraction.media);
    let (content, warnings, mut metadata) = described(extraction, words, content_hash);
    metadata.source_url = first_url(&request);
    metadata.status_code = page.status;
    metadata.content_type = page.content_type;
    metadata.fetched_at = rfc3339(page.timings.started_at_ms);
    metadata.strategy = strategy;
    metadata.attempts = attempts;
    metadata.page_type = classification.page_type;
    let before = request.before.as_deref().filter(|_| change == Change::Changed);
    metadata.previous_content_hash = before.map(|before| before.content_hash.to_string());
    metadata.change = Some(change);
    metadata.duplicate_of = duplicate.map(|first| first.of.to_string());
    metadata.similarity = duplicate.and_then(|first| first.similarity);
    metadata.similarity_estimate = duplicate.and_then(|first| first.estimate);
    metadata.domain = HostKey::of(&final_url).map_or_else(String::new, |host| host.to_string());
    metadata.ai_opt_out = ai_opt_out;
    metadata.depth = request.depth;
    metadata.project = Some(request.project.to_string()).filter(|name| name != DEFAULT_PROJECT);
    metadata.source_group = request.source_group.map(|group| group.to_string());
    let mut record = Record::new(String::from(final_url), metadata).with_text(text, content);
    record.boilerplate = boilerplate;
    record.quality = quality;
    record.warnings = warnings;
    record.links = outgoing;
    record.media = media;
    record
}

/// The record of a page that is unchanged or gone: its known metadata, without its text.
#[must_use]
pub fn known_record(end: &KnownPageEnd) -> Record {
    let KnownPageEnd { request, outcome, history } = end;
    let before = request.before.as_deref();
    let hash = history.content_hash.or(before.map(|before| before.content_hash));
    let gone = *outcome == Outcome::Gone;
    let seen = if gone { before.and_then(|before| before.seen_at_ms) } else { history.fetched_at_ms };
    let mut metadata = RecordMetadata::new(hash.map(|hash| hash.to_string()).unwrap_or_default());
    metadata.source_url = first_url(request);
    metadata.status_code = history.status.unwrap_or_default();
    metadata.strategy = before.and_then(|before| before.strategy).unwrap_or(Strategy::Static);
    metadata.fetched_at = history.fetched_at_ms.map_or_else(String::new, rfc3339);
    metadata.last_seen = seen.map(rfc3339);
    metadata.change = Some(if gone { Change::Gone } else { Change::Unchanged });
    metadata.domain = HostKey::of(&request.url).map_or_else(String::new, |host| host.to_string());
    metadata.depth = request.depth;
    metadata.project = Some(request.project.to_string()).filter(|name| name != DEFAULT_PROJECT);
    metadata.source_group = request.source_group.as_ref().map(ToString::to_string);
    Record::new(request.url.to_string(), metadata)
}

/// The record of a page that came from a file, with its text after the last pass. Nothing was fetched, and
/// its site is not known.
#[must_use]
pub fn page_record(mut extraction: Extraction, text: String, url: Option<&Url>) -> Record {
    let links = extraction.links.iter().map(|link| link.url.clone()).collect();
    let page_url = url.cloned().unwrap_or_else(no_url);
    let classification =
        crawl_fetch::classify(&extraction.signals, &page_url, extraction.word_count, extraction.extractor);
    let words = if text == extraction.content { extraction.word_count } else { count_words(&text) };
    let hash = ContentHash::of(&extraction.content);
    let media = std::mem::take(&mut extraction.media);
    let (content, warnings, mut metadata) = described(extraction, words, hash);
    metadata.page_type = classification.page_type;
    metadata.domain = url.and_then(HostKey::of).map_or_else(String::new, |host| host.to_string());
    let url = url.map_or_else(String::new, Url::to_string);
    metadata.source_url.clone_from(&url);
    let mut record = Record::new(url, metadata).with_text(text, content);
    record.warnings = warnings;
    record.links = links;
    record.media = media;
    record
}

/// Stands for the address of a page that has none.
#[must_use]
pub fn no_url() -> Url {
    #[expect(clippy::expect_used, reason = "a constant that the url crate parses")]
    Url::parse("about:blank").expect("about:blank is a URL")
}

/// Describes a page by its extraction; the fields that only the fetch knows are left empty.
fn described(
    extraction: Extraction,
    words: u32,
    content_hash: ContentHash,
) -> (String, Vec<Warning>, RecordMetadata) {
    let Extraction { content, metadata, extractor, article_score, is_article, warnings, directives, .. } =
        extraction;
    let mut known = RecordMetadata::new(content_hash.to_string());
    known.canonical = metadata.canonical;
    known.title = metadata.title;
    known.description = metadata.description;
    known.author = (!metadata.authors.is_empty()).then(|| metadata.authors.join(", "));
    known.published = metadata.published;
    known.modified = metadata.modified;
    known.language = metadata.language;
    known.site_name = metadata.site_name;
    known.image = metadata.image;
    known.keywords = metadata.keywords;
    known.authors = metadata.authors;
    known.article_score = article_score;
    known.is_article = is_article;
    known.word_count = words;
    known.reading_time_minutes = reading_time_minutes(words);
    known.extractor = extractor;
    known.language_detected = metadata.language_detected;
    known.licence = metadata.licence;
    known.breadcrumbs = metadata.breadcrumbs;
    known.sources = metadata.sources;
    known.confidence = metadata.confidence;
    known.author_urls = metadata.author_urls;
    known.section = metadata.section;
    known.is_accessible_for_free = metadata.is_accessible_for_free;
    known.structured = metadata.structured;
    known.json_ld = metadata.json_ld;
    known.open_graph = metadata.open_graph;
    known.by_site = metadata.by_site;
    known.hidden_text = metadata.hidden_text;
    known.ai_opt_out = opt_outs::of_document(directives);
    (content, warnings, known)
}

/// First requested URL, before any redirect.
fn first_url(request: &CrawlRequest) -> String {
    request.redirects.first().cloned().unwrap_or_else(|| request.url.as_str().to_owned())
}
