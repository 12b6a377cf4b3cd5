//! `crawl extract --explain`: explains the extracted text of a page.

pub(super) mod html;

use super::{jsonl, read_document, write_json, write_text};
use crate::cli::{ExplainForm, ExtractArgs, TextFormat};
use crawl_engine::exit::{Exit, Failure};
use crawl_extract::{Candidate, Explanation, Input, PageExtractor, Removal, Shown};
use crawl_model::{Classification, Extraction, Extractor};
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt::Write as _;
use url::Url;

/// Decisions about a page, with their reasons.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Explained {
    #[serde(skip_serializing_if = "Value::is_null")]
    id: Value,
    extractor: Extractor,
    reason: String,
    words: u32,
    article_score: i32,
    is_article: bool,
    classification: Classification,
    #[serde(flatten)]
    explanation: Explanation,
    /// The fields that the explanation names sources of.
    values: Value,
    /// All of the metadata.
    #[serde(skip)]
    metadata: Value,
}

/// Explains one page, or with `--jsonl` a line for each.
pub fn run(args: &ExtractArgs, form: ExplainForm, extractor: &PageExtractor) -> Result<Exit, Failure> {
    if form == ExplainForm::Html && (args.jsonl || args.format.is_some()) {
        return Err(Failure::usage("--explain=html writes one HTML page: omit --jsonl and --format"));
    }
    if args.jsonl {
        return jsonl::each(jsonl::Lines::open(args.file.as_deref())?, |page| {
            let content_type = page.content_type.as_deref();
            let input = Input::new(&page.bytes).with_url(page.url.as_ref()).with_content_type(content_type);
            explain(extractor, page.id, &input)
        });
    }
    let bytes = read_document(args.file.as_deref())?;
    let input =
        Input::new(&bytes).with_url(args.url.as_ref()).with_content_type(args.content_type.as_deref());
    let explained = explain(extractor, Value::Null, &input);
    let mut out = match args.format {
        _ if form == ExplainForm::Html => {
            html::page(&explained, extractor.article_threshold(), args.url.as_ref())
        }
        Some(TextFormat::Json) => serde_json::to_string_pretty(&explained)
            .map_err(|error| Failure::new(Exit::Internal, error.to_string()))?,
        _ => explained.text(extractor.article_threshold()),
    };
    if !out.ends_with('\n') {
        out.push('\n');
    }
    match args.format {
        Some(TextFormat::Json) => write_json(out.as_bytes())?,
        _ => write_text(&out)?,
    }
    Ok(Exit::Done)
}

fn explain(extractor: &PageExtractor, id: Value, input: &Input<'_>) -> Explained {
    let (extraction, explanation) = extractor.explain(input);
    let Extraction { signals, metadata, word_count: words, reason, article_score, .. } = extraction;
    let fallback = crawl_engine::record::no_url();
    let url: &Url = input.url.unwrap_or(&fallback);
    Explained {
        id,
        classification: crawl_fetch::classify(&signals, url, words, extraction.extractor),
        extractor: extraction.extractor,
        reason,
        words,
        article_score,
        is_article: extraction.is_article,
        explanation,
        values: json!({
            "title": metadata.title,
            "authors": metadata.authors,
            "published": metadata.published,
            "modified": metadata.modified,
        }),
        metadata: serde_json::to_value(&metadata).unwrap_or_default(),
    }
}

impl Explained {
    fn text(&self, threshold: i32) -> String {
        let mut out = String::new();
        // writing to a string cannot fail
        let _ = self.write(&mut out, threshold);
        out
    }

    fn write(&self, out: &mut String, threshold: i32) -> std::fmt::Result {
        writeln!(out, "chosen by {}, {} words: {}", name(&self.extractor), self.words, self.reason)?;
        let class = &self.classification;
        writeln!(out, "page: {}, fetched by {}: {}", name(&class.page_type), class.strategy, class.reason)?;
        let kind = if self.is_article { "an article" } else { "no article" };
        writeln!(
            out,
            "article score {}: {kind} ({threshold} and more is one), as in metadata.articleScore",
            self.article_score
        )?;
        for part in &self.explanation.score {
            writeln!(out, "  {:+} {}", part.points, part.signal)?;
        }
        list(out, "evidence", &self.explanation.evidence, |out, line| writeln!(out, "  {line}"))?;
        list(out, "candidates", &self.explanation.candidates, candidate)?;
        list(out, "removed as consent banners", &self.explanation.removed, removal)?;
        list(out, "left out", &self.explanation.dropped, removal)?;
        outside(out, &self.explanation)?;
        list(out, "metadata", &self.explanation.metadata, |out, source| {
            let value = match &self.values[source.field] {
                Value::String(text) => text.clone(),
                Value::Array(list) => list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
                _ => String::new(),
            };
            writeln!(out, "  {} \"{value}\" from {}", source.field, source.source)
        })
    }
}

/// Words of a part that are shown.
const FIRST_WORDS: usize = 8;

/// Lists the other parts of the page, such as menus: one line for blocks that follow each other and share their reason.
fn outside(out: &mut String, explanation: &Explanation) -> std::fmt::Result {
    let named: Vec<&str> =
        explanation.removed.iter().chain(&explanation.dropped).map(|part| part.rule.as_str()).collect();
    let reason_of = |block: &Shown| {
        let first = block.spans.first()?.dropped.clone()?;
        let is_whole = block.spans.iter().all(|span| span.dropped.as_ref() == Some(&first));
        (is_whole && !named.iter().any(|rule| first.ends_with(rule))).then_some(first)
    };
    let runs = explanation.page.chunk_by(|a, b| reason_of(a) == reason_of(b));
    let mut parts = runs.filter_map(|run| Some((reason_of(run.first()?)?, run))).peekable();
    if parts.peek().is_some() {
        writeln!(out, "outside of the text")?;
    }
    for (reason, run) in parts {
        let texts = run.iter().flat_map(|block| &block.spans).map(|span| span.text.as_str());
        let text = texts.collect::<Vec<_>>().join(" ");
        let words = crawl_extract::count_words(&text);
        let starts: Vec<&str> = text.split_whitespace().take(FIRST_WORDS).collect();
        let more = if run.len() > 1 { format!(" and {} more", run.len() - 1) } else { String::new() };
        let element = run.first().map_or("", |block| block.element.as_str());
        writeln!(out, "  {element}{more} ({words} words) \"{}\"\n    by {reason}", starts.join(" "))?;
    }
    Ok(())
}

fn list<T>(
    out: &mut String,
    heading: &str,
    items: &[T],
    write: impl Fn(&mut String, &T) -> std::fmt::Result,
) -> std::fmt::Result {
    if items.is_empty() {
        return Ok(());
    }
    writeln!(out, "{heading}")?;
    items.iter().try_for_each(|item| write(out, item))
}

fn candidate(out: &mut String, candidate: &Candidate) -> std::fmt::Result {
    let Candidate { name, elements, words, prose, link_density, marks, score, .. } = candidate;
    let score = score.map_or_else(String::new, |score| format!(", score {score:.1}"));
    writeln!(
        out,
        "  {name}: {words} words, {:.0} % prose, {:.0} % in links, commas and ends of sentences {marks}{score}; {}",
        prose * 100.0,
        link_density * 100.0,
        elements.join(", ")
    )
}

fn removal(out: &mut String, removal: &Removal) -> std::fmt::Result {
    let Removal { rule, element, words, starts, .. } = removal;
    writeln!(out, "  {element} ({words} words) \"{starts}\"\n    by {rule}")
}

/// The name that a value has in a record.
fn name(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}
