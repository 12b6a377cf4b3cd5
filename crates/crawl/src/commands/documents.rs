//! Input of `crawl duplicates` and `crawl quality`: documents of files, in batches.

use crate::logging::say;
use crawl_archive::{Body, Document, Item, ReadOptions};
use crawl_corpus::{InputCount, Page};
use crawl_engine::{exit::Failure, record::page_record};
use crawl_extract::{Favor, Format, Input, Options, PageExtractor, Rules};
use std::{ops::ControlFlow, path::Path};
use url::Url;

/// Documents that are worked on together, and bytes of theirs.
const BATCH_DOCUMENTS: usize = 512;
const BATCH_BYTES: usize = 16 << 20;

/// Messages about unreadable records of one file; further ones are only counted.
const MAX_REPORTED: u64 = 20;

/// Reads a file and hands its documents on in batches; unreadable lines are reported and counted.
pub(super) fn read(
    path: &Path,
    options: &ReadOptions,
    batch: &mut dyn FnMut(Vec<Document>) -> Result<(), Failure>,
) -> Result<InputCount, Failure> {
    let mut count = InputCount { name: path.display().to_string(), ..InputCount::default() };
    let (mut documents, mut bytes) = (Vec::new(), 0);
    let mut failed: Option<Failure> = None;
    let mut reported = 0;
    crawl_archive::read_file(path, options, &mut |item| {
        match item {
            Item::Document(document) => {
                count.documents += 1;
                if let Some(charset) = document.decoded_from {
                    count.not_utf8 += 1;
                    if count.not_utf8 == 1 {
                        let id = &document.id;
                        say(&format!("{}: \"{id}\" is not UTF-8: read as {charset}", path.display()));
                    }
                }
                bytes += document.body.len() + document.line.len();
                documents.push(document);
            }
            Item::Skipped => count.skipped += 1,
            Item::Unreadable { number, error } => {
                *count.unreadable.entry(error.name().to_owned()).or_default() += 1;
                reported += 1;
                if reported <= MAX_REPORTED {
                    say(&format!("{}: record {number}: {error}; left out", path.display()));
                }
            }
        }
        if documents.len() < BATCH_DOCUMENTS && bytes < BATCH_BYTES {
            return ControlFlow::Continue(());
        }
        bytes = 0;
        match batch(std::mem::take(&mut documents)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(failure) => {
                failed = Some(failure);
                ControlFlow::Break(())
            }
        }
    })?;
    if let Some(failure) = failed {
        return Err(failure);
    }
    batch(documents)?;
    if count.not_utf8 > 1 {
        say(&format!("{}: {} records are not UTF-8", path.display(), count.not_utf8));
    }
    if reported > MAX_REPORTED {
        say(&format!("{}: {} more records left out", path.display(), reported - MAX_REPORTED));
    }
    Ok(count)
}

/// Takes plain text from pages.
pub(super) fn extractor(rules: Rules, favor: Favor) -> PageExtractor {
    PageExtractor::from_rules(rules, Options::default().with_format(Format::Text).with_favor(favor))
}

/// A document as a page: its text as it is, or what extraction takes from its bytes.
pub(super) fn page(document: Document, extractor: &PageExtractor) -> Page {
    page_and_language(document, extractor).0
}

/// A document as a page, with the language that the document declares, else its markup.
pub(super) fn page_and_language(document: Document, extractor: &PageExtractor) -> (Page, String) {
    let mut language = document.language;
    let mut page = Page {
        id: document.id,
        url: document.url,
        date: document.date,
        content_type: document.content_type,
        title: document.title,
        text: String::new(),
        text_source: "text".to_owned(),
    };
    match document.body {
        Body::Text(text) => page.text = text,
        Body::Html(bytes) => {
            let url = Url::parse(&page.url).ok();
            let content_type = Some(page.content_type.as_str()).filter(|t| !t.is_empty());
            let extraction =
                extractor.extract(&Input::new(&bytes).with_url(url.as_ref()).with_content_type(content_type));
            let text = extractor.last_pass(extraction.content.clone(), extraction.extractor);
            let record = page_record(extraction, text, url.as_ref());
            page.text = record.text;
            if language.is_empty() {
                language = record.metadata.language.unwrap_or_default();
            }
            "html".clone_into(&mut page.text_source);
            if page.title.is_empty() {
                page.title = record.metadata.title.unwrap_or_default();
            }
        }
    }
    (page, language)
}
