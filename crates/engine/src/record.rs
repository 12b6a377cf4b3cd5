//! Conversion of a cleaned page to its line.

use crate::finished::KnownEnd;
use crawl_extract::{count_words, reading_time_minutes};
use crawl_fetch::OptOut;
use crawl_model::{
    BoilerplateInfo, BoilerplateStatus, Change, CleanPage, ContentHash, CrawlRequest, ExtractedPage,
    Extraction, Extractor, HiddenText, HostKey, MetadataConfidence, MetadataSources, Outcome, PageType,
    Record, RecordMetadata, SCHEMA_VERSION, Strategy, UrlKey, Warning, rfc3339,
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
    let url = String::from(final_url);
    let id = UrlKey::of(&url).to_string();
    Record {
        schema_version: SCHEMA_VERSION,
        id,
        url,
        text,
        content,
        metadata,
        boilerplate,
        quality,
        warnings,
        links: outgoing,
        media,
    }
}

/// The record of a page that is unchanged or gone: its known metadata, without its text.
#[must_use]
pub fn known_record(end: &KnownEnd) -> Record {
    let KnownEnd { request, outcome, history } = end;
    let before = request.before.as_deref();
    let hash = history.content_hash.or(before.map(|before| before.content_hash));
    let gone = *outcome == Outcome::Gone;
    let seen = if gone { before.and_then(|before| before.seen_at_ms) } else { history.fetched_at_ms };
    let mut metadata = nothing_known(hash.map(|hash| hash.to_string()).unwrap_or_default());
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
    let url = request.url.to_string();
    Record {
        schema_version: SCHEMA_VERSION,
        id: UrlKey::of(&url).to_string(),
        url,
        text: String::new(),
        content: String::new(),
        metadata,
        boilerplate: not_cleaned(),
        quality: None,
        warnings: Vec::new(),
        links: Vec::new(),
        media: Vec::new(),
    }
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
    Record {
        schema_version: SCHEMA_VERSION,
        id: UrlKey::of(&url).to_string(),
        text,
        content,
        metadata,
        boilerplate: not_cleaned(),
        quality: None,
        warnings,
        links,
        media,
        url,
    }
}

const fn not_cleaned() -> BoilerplateInfo {
    BoilerplateInfo {
        status: BoilerplateStatus::Off,
        fingerprint: None,
        pages: 0,
        blocks_removed: 0,
        bytes_removed: 0,
        removed: Vec::new(),
    }
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
    let ai_opt_out = directives.noai.then(|| OptOut::NoAi.name().to_owned());
    let metadata = RecordMetadata {
        canonical: metadata.canonical,
        title: metadata.title,
        description: metadata.description,
        author: (!metadata.authors.is_empty()).then(|| metadata.authors.join(", ")),
        published: metadata.published,
        modified: metadata.modified,
        language: metadata.language,
        site_name: metadata.site_name,
        image: metadata.image,
        keywords: metadata.keywords,
        authors: metadata.authors,
        article_score,
        is_article,
        word_count: words,
        reading_time_minutes: reading_time_minutes(words),
        extractor,
        language_detected: metadata.language_detected,
        licence: metadata.licence,
        breadcrumbs: metadata.breadcrumbs,
        sources: metadata.sources,
        confidence: metadata.confidence,
        author_urls: metadata.author_urls,
        section: metadata.section,
        is_accessible_for_free: metadata.is_accessible_for_free,
        structured: metadata.structured,
        json_ld: metadata.json_ld,
        open_graph: metadata.open_graph,
        by_site: metadata.by_site,
        hidden_text: metadata.hidden_text,
        ai_opt_out: ai_opt_out.into_iter().collect(),
        ..nothing_known(content_hash.to_string())
    };
    (content, warnings, metadata)
}

/// Metadata of a page of which nothing is known but the hash of its content.
fn nothing_known(content_hash: String) -> RecordMetadata {
    RecordMetadata {
        source_url: String::new(),
        canonical: None,
        title: None,
        description: None,
        author: None,
        published: None,
        modified: None,
        language: None,
        site_name: None,
        image: None,
        keywords: Vec::new(),
        authors: Vec::new(),
        status_code: 0,
        content_type: None,
        fetched_at: String::new(),
        strategy: Strategy::Static,
        attempts: Vec::new(),
        page_type: PageType::Unknown,
        article_score: 0,
        is_article: false,
        word_count: 0,
        reading_time_minutes: reading_time_minutes(0),
        extractor: Extractor::None,
        language_detected: None,
        content_hash,
        duplicate_of: None,
        similarity: None,
        similarity_estimate: None,
        change: None,
        previous_content_hash: None,
        last_seen: None,
        domain: String::new(),
        depth: 0,
        licence: None,
        breadcrumbs: Vec::new(),
        sources: MetadataSources::default(),
        confidence: MetadataConfidence::default(),
        author_urls: Vec::new(),
        section: None,
        is_accessible_for_free: None,
        structured: None,
        json_ld: None,
        open_graph: None,
        by_site: None,
        hidden_text: HiddenText::default(),
        ai_opt_out: Vec::new(),
        project: None,
        source_group: None,
    }
}

/// The URL that was asked for first, before any redirect.
fn first_url(request: &CrawlRequest) -> String {
    request.redirects.first().cloned().unwrap_or_else(|| request.url.as_str().to_owned())
}
