//! Explanation as one HTML page: the blocks of the source page, kept or removed, and the reasons.
//!
//! The page is self-contained: text of the source is escaped, and none of its markup is taken over. A policy in the
//! page's head forbids scripts and loads.

use super::{Explained, name};
use crawl_extract::{Candidate, Shown, Span};
use serde_json::Value;
use std::fmt::Write as _;
use url::Url;

const STYLE: &str = include_str!("page.css");
/// Bytes of a metadata value that are shown.
const MAX_VALUE: usize = 300;

/// The whole page.
pub(super) fn page(explained: &Explained, threshold: i32, url: Option<&Url>) -> String {
    let title = explained.values["title"].as_str().unwrap_or("a page without a title");
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Explained: {}</title>\n<style>\n{STYLE}</style></head>\n<body>\n",
        escape(title)
    );
    // writing to a string cannot fail
    let _ = body(&mut out, explained, threshold, title, url);
    out.push_str("</body></html>\n");
    out
}

fn body(
    out: &mut String,
    explained: &Explained,
    threshold: i32,
    title: &str,
    url: Option<&Url>,
) -> std::fmt::Result {
    top(out, explained, title, url)?;
    out.push_str("<div class=\"cols\"><main class=\"card\"><h2>The source page</h2>\n");
    source(out, &explained.explanation.page)?;
    out.push_str("</main>\n<div>");
    candidates(out, &explained.explanation.candidates)?;
    score(out, explained, threshold)?;
    metadata(out, explained)?;
    class(out, explained)?;
    out.push_str("</div></div>\n");
    Ok(())
}

/// Writes the head of the page: the outcome and the rule that decided.
fn top(out: &mut String, explained: &Explained, title: &str, url: Option<&Url>) -> std::fmt::Result {
    let (mut kept, mut dropped) = (0, 0);
    for span in explained.explanation.page.iter().flat_map(|block| &block.spans) {
        let words = crawl_extract::count_words(&span.text);
        *(if span.dropped.is_some() { &mut dropped } else { &mut kept }) += words;
    }
    let address =
        url.map_or_else(String::new, |url| format!("<div class=\"url\">{}</div>", escape(url.as_str())));
    let kind = if explained.is_article { "an article" } else { "no article" };
    writeln!(
        out,
        "<header class=\"top\"><h1 dir=\"auto\">{}</h1>{address}\n<ul class=\"facts\"><li><b>{}</b> words of text\
         </li><li><b>{kept}</b> words of the page kept, <b>{dropped}</b> dropped</li><li>taken from <b>{}</b></li>\
         <li>article score <b>{}</b>, {kind}</li></ul>\n<p class=\"rule\"><b>Decided by:</b> {}</p></header>",
        escape(title),
        explained.words,
        escape(&name(&explained.extractor)),
        explained.article_score,
        escape(&explained.reason)
    )
}

fn source(out: &mut String, blocks: &[Shown]) -> std::fmt::Result {
    if blocks.is_empty() {
        return writeln!(out, "<p class=\"none\">The page has no blocks: it is plain text, or empty.</p>");
    }
    writeln!(
        out,
        "<div class=\"key\"><span><span class=\"swatch k\"></span>kept</span><span><span class=\"swatch d\"></span>dropped, \
         with the reason</span><label><input type=\"checkbox\" id=\"only\"> kept parts only</label></div>"
    )?;
    let mut before = None;
    for (at, block) in blocks.iter().enumerate() {
        let reason = whole_reason(block);
        // A run of blocks that share their reason names it once, at its first.
        let label = reason.is_some() && reason != before;
        let run = if label { run_of(&blocks[at..], reason) } else { 0 };
        write_block(out, block, label.then_some(run))?;
        before = reason;
    }
    Ok(())
}

/// The reason that all of a block was dropped for.
fn whole_reason(block: &Shown) -> Option<&str> {
    let first = block.spans.first()?.dropped.as_deref()?;
    block.spans.iter().all(|span| span.dropped.as_deref() == Some(first)).then_some(first)
}

fn run_of(blocks: &[Shown], reason: Option<&str>) -> usize {
    blocks.iter().take_while(|block| whole_reason(block) == reason).count()
}

/// A block; `label` is the number of blocks that share its reason.
fn write_block(out: &mut String, block: &Shown, label: Option<usize>) -> std::fmt::Result {
    let whole = whole_reason(block);
    let kept = block.spans.iter().any(|span| span.dropped.is_none());
    let fate = if kept { "k" } else { "d" };
    let tip = match whole {
        Some(reason) => format!("{}: dropped, {reason}", block.element),
        None => block.element.clone(),
    };
    write!(out, "<div class=\"b {fate} {}\" dir=\"auto\" title=\"{}\">", escape(&block.tag), escape(&tip))?;
    for Span { text, dropped, .. } in &block.spans {
        match dropped {
            None => out.push_str(&escape(text)),
            Some(reason) => {
                write!(out, "<span class=\"x\" title=\"{}\">{}</span>", escape(reason), escape(text))?;
                if whole.is_none() {
                    write!(out, "<span class=\"why\" dir=\"ltr\">{}</span>", escape(reason))?;
                }
            }
        }
    }
    if let (Some(reason), Some(run)) = (whole, label) {
        let more = if run > 1 { format!(" (and the next {})", run - 1) } else { String::new() };
        write!(out, "<span class=\"why\" dir=\"ltr\">{}{more}</span>", escape(reason))?;
    }
    out.push_str("</div>\n");
    Ok(())
}

fn candidates(out: &mut String, candidates: &[Candidate]) -> std::fmt::Result {
    out.push_str("<section class=\"card\"><h2>Candidates</h2>\n");
    if candidates.is_empty() {
        out.push_str("<p class=\"none\">none</p></section>\n");
        return Ok(());
    }
    out.push_str(
        "<table><tr><th>candidate</th><th class=\"n\">words</th><th class=\"n\">score</th><th class=\"n\">prose</th>\
         <th class=\"n\">links</th></tr>\n",
    );
    for candidate in candidates {
        let (row, badge) =
            if candidate.taken { (" class=\"win\"", "<span class=\"badge\">taken</span>") } else { ("", "") };
        let score = candidate.score.map_or_else(|| "–".to_owned(), |score| format!("{score:.1}"));
        writeln!(
            out,
            "<tr{row}><td>{}{badge}<div class=\"tag\">{}</div></td><td class=\"n\">{}</td><td class=\"n\">{score}</td>\
             <td class=\"n\">{:.0} %</td><td class=\"n\">{:.0} %</td></tr>",
            escape(&candidate.name),
            escape(&candidate.elements.join(", ")),
            candidate.words,
            candidate.prose * 100.0,
            candidate.link_density * 100.0
        )?;
    }
    out.push_str("</table></section>\n");
    Ok(())
}

fn score(out: &mut String, explained: &Explained, threshold: i32) -> std::fmt::Result {
    writeln!(
        out,
        "<section class=\"card\"><h2>Article score {} ({threshold} and more is an article)</h2><table>",
        explained.article_score
    )?;
    for part in &explained.explanation.score {
        let sign = if part.points < 0 { "neg" } else { "pos" };
        writeln!(
            out,
            "<tr><td class=\"n {sign}\">{:+}</td><td>{}</td></tr>",
            part.points,
            escape(part.signal)
        )?;
    }
    out.push_str("</table></section>\n");
    Ok(())
}

/// All fields with a value; those whose source is known first.
fn metadata(out: &mut String, explained: &Explained) -> std::fmt::Result {
    out.push_str("<section class=\"card\"><h2>Metadata</h2><table><tr><th>field</th><th>value</th><th>source</th></tr>\n");
    let sources = &explained.explanation.metadata;
    for source in sources {
        row(out, source.field, &explained.values[source.field], source.source)?;
    }
    for (field, value) in explained.metadata.as_object().into_iter().flatten() {
        if !sources.iter().any(|source| source.field == field) {
            row(out, field, value, "")?;
        }
    }
    out.push_str("</table></section>\n");
    Ok(())
}

fn row(out: &mut String, field: &str, value: &Value, source: &str) -> std::fmt::Result {
    let text = match value {
        Value::Null => return Ok(()),
        Value::String(text) => text.clone(),
        Value::Array(list) if list.iter().all(Value::is_string) => {
            list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    };
    if matches!(text.as_str(), "" | "{}" | "[]" | "false") {
        return Ok(());
    }
    let shown = &text[..text.floor_char_boundary(MAX_VALUE)];
    let more = if shown.len() < text.len() { "…" } else { "" };
    writeln!(
        out,
        "<tr><td class=\"f\">{}</td><td dir=\"auto\">{}{more}</td><td class=\"tag\">{}</td></tr>",
        escape(field),
        escape(shown),
        escape(source)
    )
}

fn class(out: &mut String, explained: &Explained) -> std::fmt::Result {
    let class = &explained.classification;
    writeln!(
        out,
        "<section class=\"card\"><h2>Kind of page</h2><ul class=\"plain\"><li>{}, fetched by {}: {}</li>",
        escape(&name(&class.page_type)),
        class.strategy,
        escape(&class.reason)
    )?;
    for line in &explained.explanation.evidence {
        writeln!(out, "<li>{}</li>", escape(line))?;
    }
    out.push_str("</ul></section>\n");
    Ok(())
}

/// Escapes a text for an element or a quoted attribute.
pub(in crate::commands) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Direction controls would reorder the text around them.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\0' => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_text_is_escaped() {
        assert_eq!(escape("<b a=\"'\">&\u{202e}x"), "&lt;b a=&quot;&#39;&quot;&gt;&amp;x");
    }

    #[test]
    fn reasons_are_shown_once_per_run_of_blocks() {
        let span = |text: &str, dropped: Option<&str>| Span::new(text, dropped.map(str::to_owned));
        let block = |spans| Shown::new("p", "p.x", spans);
        let blocks = [
            block(vec![span("one", Some("the element nav"))]),
            block(vec![span("two", Some("the element nav"))]),
            block(vec![span("three ", None), span("four", Some("hidden"))]),
        ];
        let mut out = String::new();
        source(&mut out, &blocks).expect("a string takes all");
        assert_eq!(out.matches("the element nav (and the next 1)</span>").count(), 1, "{out}");
        assert!(out.contains("title=\"p.x: dropped, the element nav\""), "{out}");
        assert!(
            out.contains("three <span class=\"x\" title=\"hidden\">four</span><span class=\"why\""),
            "{out}"
        );
    }
}
