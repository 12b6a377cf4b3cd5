//! Selection of the records that are documents.

use super::{WarcRecord, http::Message};
use crate::{ArchivedResponse, Body, Document, RecordError};

/// Document of a record; none for requests, revisits, metadata, images, and unsuccessful answers.
pub(crate) fn of(mut record: WarcRecord, most: usize) -> Result<Option<Document>, RecordError> {
    let mut response = None;
    let (content_type, body) = match record.record_type() {
        "response" if record.is_http() => {
            let message = Message::parse(&record.block)?;
            let content_type = message.field("Content-Type").to_owned();
            let status = message.status().filter(|status| (200..300).contains(status));
            let Some(status) = status.filter(|_| is_page(&content_type)) else { return Ok(None) };
            let named =
                |name: &'static str| message.fields(name).into_iter().map(|value| (name.to_owned(), value));
            let robots = named("x-robots-tag").chain(named("tdm-reservation")).collect();
            response = Some(Box::new(ArchivedResponse { status, robots }));
            (content_type, Body::Html(message.payload(most)?))
        }
        "resource" | "response" => {
            let content_type = record.header("Content-Type").to_owned();
            if content_type.is_empty() || !is_page(&content_type) || is_note(&record.target_uri()) {
                return Ok(None);
            }
            (content_type, Body::Html(std::mem::take(&mut record.block)))
        }
        "conversion" => {
            let content_type = record.header("Content-Type").to_owned();
            (
                content_type,
                Body::Text(String::from_utf8_lossy(&std::mem::take(&mut record.block)).into_owned()),
            )
        }
        _ => return Ok(None),
    };
    let id = record.header("WARC-Record-ID").trim_start_matches('<').trim_end_matches('>').to_owned();
    let date = record.header("WARC-Date").to_owned();
    // Common Crawl's files have it: the languages of the text, the most frequent first
    let language = record.header("WARC-Identified-Content-Language").to_owned();
    Ok(Some(Document {
        id,
        url: record.target_uri(),
        date,
        content_type,
        title: String::new(),
        language,
        body,
        is_truncated: !record.header("WARC-Truncated").is_empty(),
        response,
        ..Document::default()
    }))
}

/// Returns true if the HTTP message in a record shows that it is no page: by its status or its content type.
pub(crate) fn is_no_page(record: &WarcRecord) -> bool {
    let message = Some(&record.block).filter(|block| record.is_http() && !block.is_empty());
    let Some(message) = message.and_then(|block| Message::parse(block).ok()) else { return false };
    // the answer that a page has not changed has none of the page's fields
    let is_success = message.status().is_none_or(|status| (200..300).contains(&status) || status == 304);
    !is_success || !is_page(message.field("Content-Type"))
}

/// Returns true for notes of a crawler about its work: a log of wget, a text or list of browsertrix.
fn is_note(uri: &str) -> bool {
    uri.starts_with("metadata:") || uri.starts_with("urn:")
}

/// Returns true for HTML, XHTML, plain text and Markdown, and without a declared type, since extraction detects it.
fn is_page(content_type: &str) -> bool {
    let media = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    matches!(
        media.as_str(),
        "" | "text/html" | "application/xhtml+xml" | "text/plain" | "text/markdown" | "text/x-markdown"
    )
}
