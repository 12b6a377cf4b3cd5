//! `crawl dedup --explain`: prints the removed blocks of each page, with reasons.

use super::{internal, records::Record};
use crawl_engine::exit::Failure;
use crawl_model::{BoilerplateInfo, BoilerplateStatus, RemovalReason, RemovedSpan};
use crawl_output::shown;
use rustc_hash::FxHashSet;
use std::fmt::Write;

/// A page's name, for each part removed why and its lines, and the lines that the last pass has changed. `texts` are what judging
/// and what the last pass left. A page of which nothing is removed is left out.
pub fn page(
    record: &Record<'_>,
    cleaned: &BoilerplateInfo,
    texts: (&str, &str),
    out: &mut Vec<u8>,
) -> Result<(), Failure> {
    let (judged, left) = texts;
    let left: FxHashSet<&str> = left.lines().collect();
    let mut gone = judged.lines().filter(|line| !line.trim().is_empty() && !left.contains(line)).peekable();
    let is_judged = matches!(cleaned.status, BoilerplateStatus::Applied);
    if is_judged && cleaned.removed.is_empty() && gone.peek().is_none() {
        return Ok(());
    }
    let name = [record.url.as_ref(), record.id.as_ref()].into_iter().find(|name| !name.is_empty());
    let name = name.unwrap_or("?");
    let mut text = match cleaned.status {
        BoilerplateStatus::Applied => format!("{name}\n"),
        _ => format!("{name}: only {} pages, too few to find boilerplate\n", cleaned.pages),
    };
    for span in &cleaned.removed {
        let reason = reason_text(span, cleaned.pages);
        writeln!(text, "  bytes {} to {}: {reason}", span.start, span.end).map_err(internal)?;
        let part = usize::try_from(span.start).ok().zip(usize::try_from(span.end).ok());
        let removed = part.and_then(|(start, end)| record.content.get(start..end)).unwrap_or_default();
        for line in removed.lines() {
            writeln!(text, "  - {line}").map_err(internal)?;
        }
    }
    if gone.peek().is_some() {
        text.push_str("  last pass: bare links, bare headings, addresses and tracking pixels\n");
    }
    for line in gone {
        writeln!(text, "  - {line}").map_err(internal)?;
    }
    out.extend_from_slice(shown::lines(&text).as_bytes());
    Ok(())
}

fn reason_text(span: &RemovedSpan, of: u64) -> String {
    let pages = span.pages;
    match span.reason {
        RemovalReason::Block => format!("block, {pages} of {of} pages have the same block"),
        RemovalReason::Margin => {
            format!(
                "margin, at least {pages} of {of} pages have its lines, and those of all blocks between it and the edge"
            )
        }
        RemovalReason::Pattern => {
            format!(
                "pattern, at least {pages} of {of} pages have most of its words in this order at their edge"
            )
        }
        RemovalReason::Titles => {
            format!("titles, at the foot and made of the titles of other pages ({pages})")
        }
        RemovalReason::Slot => {
            format!("slot, on {pages} of {of} pages the lines before and after it enclose other text")
        }
        RemovalReason::Enclosed => "enclosed, a label between lines of the frame".into(),
        RemovalReason::SaidTwice => "said twice, the page repeats it as its title or as headings".into(),
        RemovalReason::Twin => format!(
            "twin, the same block was removed at the foot of this page, since {pages} of {of} pages have it"
        ),
    }
}
