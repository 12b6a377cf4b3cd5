//! JSON lines: records of `crawl`, pages for `crawl extract --jsonl`, and others with the same names.

use crate::{
    Body, Document, Item, ReadOptions, RecordError,
    lines::{Line, next_line, replace_lone_surrogates, skip_byte_order_mark},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Map, Value};
use std::{io::BufRead, ops::ControlFlow};

/// Reads all lines; skips empty ones.
pub(crate) fn read(
    input: &mut dyn BufRead,
    options: &ReadOptions,
    each: &mut dyn FnMut(Item) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut line = Vec::new();
    let mut number = 0;
    if let Err(e) = skip_byte_order_mark(input) {
        return each(Item::Unreadable { number: 1, error: crate::read_error(&e) });
    }
    loop {
        number += 1;
        let item = match next_line(input, &mut line, options.max_record) {
            Ok(Line::End) => return ControlFlow::Continue(()),
            Ok(Line::Whole) if line.trim_ascii().is_empty() => continue,
            Ok(Line::Whole) => match document(&mut line) {
                Ok(mut document) => {
                    if options.keep_lines {
                        document.line = std::mem::take(&mut line);
                    }
                    Item::Document(document)
                }
                Err(error) => Item::Unreadable { number, error },
            },
            Ok(Line::TooLong) => {
                Item::Unreadable { number, error: RecordError::TooLarge(options.max_record as u64) }
            }
            Err(e) => {
                // the next line cannot be found
                let _ = each(Item::Unreadable { number, error: crate::read_error(&e) });
                return ControlFlow::Continue(());
            }
        };
        each(item)?;
    }
}

/// Document of a line. `text` takes precedence over `content`, both over `html` and `html_base64`; an empty one
/// only over a missing one.
fn document(line: &mut [u8]) -> Result<Document, RecordError> {
    replace_lone_surrogates(line);
    let record: Map<String, Value> =
        serde_json::from_slice(line).map_err(|e| RecordError::Json(e.to_string()))?;
    let own = |key: &str| record.get(key);
    let said = |key: &str| record.get("metadata").and_then(|m| m.get(key));
    let text = |found: Option<&Value>| match found {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    let first = |all: &[Option<&Value>]| {
        all.iter().map(|found| text(*found)).find(|text| !text.is_empty()).unwrap_or_default()
    };
    let bodies =
        ["text", "content", "html", "html_base64"].map(|key| (key, own(key).and_then(Value::as_str)));
    let named = || bodies.iter().filter_map(|(key, value)| value.map(|value| (*key, value)));
    let found = named().find(|(_, value)| !value.is_empty()).or_else(|| named().next());
    let body = match found {
        Some(("text" | "content", text)) => Body::Text(text.to_owned()),
        Some(("html", html)) => Body::Html(html.as_bytes().to_vec()),
        Some((_, bytes)) => Body::Html(
            BASE64_STANDARD.decode(bytes).map_err(|e| RecordError::Encoding(format!("html_base64: {e}")))?,
        ),
        None => {
            return Err(RecordError::NoText("none of text, content, html, html_base64"));
        }
    };
    let content_type = first(&[own("content_type"), said("contentType")]);
    let is_html = found.is_some_and(|(key, _)| key == "html");
    Ok(Document {
        id: first(&[own("id"), own("url")]),
        url: first(&[own("url"), said("sourceURL")]),
        date: first(&[own("warc_date"), own("date"), said("fetchedAt")]),
        // the line was UTF-8, so its bytes no longer have the page's declared charset
        content_type: if is_html { "text/html; charset=utf-8".to_owned() } else { content_type },
        title: first(&[own("title"), said("title")]),
        language: first(&[own("language"), own("lang"), said("language")]),
        body,
        ..Document::default()
    })
}
