//! `crawl classify`: shows the type of a page and the strategy to fetch it.

use super::{jsonl, page_file::read_page, rules, write_json};
use crate::cli::ClassifyArgs;
use crawl_engine::exit::{Exit, Failure};
use crawl_extract::{Input, Options, PageExtractor};
use crawl_model::{Classification, Extractor, PageSignals};
use serde::Serialize;
use serde_json::Value;
use url::Url;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    #[serde(skip_serializing_if = "Value::is_null")]
    id: Value,
    #[serde(flatten)]
    classification: Classification,
    /// Result of extraction: the decision depends on it as much as on the signals.
    extractor: Extractor,
    content_words: u32,
    signals: PageSignals,
}

pub fn run(args: &ClassifyArgs) -> Result<Exit, Failure> {
    let extractor = PageExtractor::from_rules(rules(&args.rules)?, Options::default());
    if args.jsonl {
        return jsonl::each(jsonl::Lines::open(args.file.as_deref())?, |page| {
            classify(&extractor, page.id, &page.bytes, page.url.as_ref(), page.content_type.as_deref())
        });
    }
    let bytes = read_page(args.file.as_deref())?;
    let line = classify(&extractor, Value::Null, &bytes, args.url.as_ref(), None);
    let mut out =
        serde_json::to_vec_pretty(&line).map_err(|e| Failure::new(Exit::Internal, e.to_string()))?;
    out.push(b'\n');
    write_json(&out)?;
    Ok(Exit::Done)
}

/// Decides as the crawl does: extraction first, since an overlay is a wall only if the content is missing.
fn classify(
    extractor: &PageExtractor,
    id: Value,
    bytes: &[u8],
    url: Option<&Url>,
    content_type: Option<&str>,
) -> Line {
    let extraction = extractor.extract(&Input::new(bytes).with_url(url).with_content_type(content_type));
    let fallback = crawl_engine::record::no_url();
    let url = url.unwrap_or(&fallback);
    let classification =
        crawl_fetch::classify(&extraction.signals, url, extraction.word_count, extraction.extractor);
    Line {
        id,
        classification,
        extractor: extraction.extractor,
        content_words: extraction.word_count,
        signals: extraction.signals,
    }
}
