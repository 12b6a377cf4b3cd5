//! `crawl dedup`: the batch algorithm over a finished JSONL.

use super::{open, write_out};
use crate::{
    cli::{DedupArgs, DedupMode},
    config::{self, DedupSection},
    exit::{Exit, Failure},
    progress::say,
};
use crawl_dedup::{Cleaned, FingerprintSettings, Mode, PageText, batch::clean_project};
use crawl_model::{BoilerplateStatus, HostKey, RemovalReason, RemovedSpan};
use serde_json::{Map, Value};
use std::{fmt::Write, io::BufRead};
use url::Url;

/// A record that is cleaned anew, whatever else it holds.
struct Line {
    record: Map<String, Value>,
    domain: String,
}

pub fn run(args: &DedupArgs) -> Result<Exit, Failure> {
    let defaults = config::load(None, config::environment()?, Vec::new())?.dedup;
    let settings = settings(args, &defaults)?;
    let mode = match args.mode {
        Some(DedupMode::Exact) => Mode::Exact,
        Some(DedupMode::Site) => Mode::Site,
        None => defaults.mode,
    };
    let lines = read(open(args.file.as_deref())?)?;
    let pages: Vec<_> = lines.iter().map(|line| (line.domain.as_str(), line.text())).collect();
    let (cleaned, project) = clean_project(&pages, mode, &settings);
    drop(pages);
    let mut out = Vec::new();
    for (line, cleaned) in lines.into_iter().zip(cleaned) {
        if args.explain {
            explain(&line, &cleaned, &mut out)?;
        } else {
            serde_json::to_writer(&mut out, &replaced(line.record, cleaned)?).map_err(internal)?;
            out.push(b'\n');
        }
        if out.len() > 1 << 20 {
            write_out(&out)?;
            out.clear();
        }
    }
    write_out(&out)?;
    if let Some(path) = &args.stats {
        let mut text = serde_json::to_vec_pretty(&project).map_err(internal)?;
        text.push(b'\n');
        std::fs::write(path, text)
            .map_err(|e| Failure::new(Exit::Storage, format!("{}: {e}", path.display())))?;
    }
    say(&format!(
        "{} domains, {} with boilerplate; {} pages cleaned, {} removed",
        project.domains_analyzed,
        project.domains_with_boilerplate,
        project.total_pages_cleaned,
        bytesize::ByteSize(project.total_bytes_removed)
    ));
    Ok(Exit::Done)
}

impl Line {
    fn get(&self, key: &str) -> &str {
        self.record.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    fn text(&self) -> PageText<'_> {
        let said = |key| self.record.get("metadata").and_then(|m| m.get(key)).and_then(Value::as_str);
        // a record of a crawl names what chose its content; the fallback chose nothing, and other texts may be whole pages
        let extracted = said("extractor").is_some_and(|name| !matches!(name, "" | "body_fallback"));
        PageText { content: self.get("content"), url: self.get("url"), title: said("title"), extracted }
    }
}

/// A page's name, and for each part removed why and its lines.
fn explain(line: &Line, cleaned: &Cleaned, out: &mut Vec<u8>) -> Result<(), Failure> {
    let name = [line.get("url"), line.get("id")].into_iter().find(|name| !name.is_empty()).unwrap_or("?");
    let mut text = match cleaned.status {
        BoilerplateStatus::Applied => format!("{name}\n"),
        _ => format!("{name}: too few pages, {}, to judge\n", cleaned.pages),
    };
    let content = line.get("content");
    for span in &cleaned.removed {
        let reason = because(span, cleaned.pages);
        writeln!(text, "  bytes {} to {}: {reason}", span.start, span.end).map_err(internal)?;
        let part = usize::try_from(span.start).ok().zip(usize::try_from(span.end).ok());
        for removed in part.and_then(|(start, end)| content.get(start..end)).unwrap_or_default().lines() {
            writeln!(text, "  - {removed}").map_err(internal)?;
        }
    }
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

fn because(span: &RemovedSpan, of: u64) -> String {
    let pages = span.pages;
    match span.reason {
        RemovalReason::Block => format!("block, on {pages} of {of} pages as it is"),
        RemovalReason::Margin => {
            format!(
                "margin, its lines are on {pages} of {of} pages or more, and only such lead here from the edge of the page"
            )
        }
        RemovalReason::Pattern => {
            format!(
                "pattern, {pages} of {of} pages or more have most of its words in this order at their edge"
            )
        }
        RemovalReason::Titles => format!("titles, at the foot and made of titles of other pages ({pages})"),
        RemovalReason::Slot => {
            format!("slot, what stands before and after it does so around something on {pages} of {of} pages")
        }
        RemovalReason::SaidTwice => "said twice, the page begins with it and says it again at once".into(),
        RemovalReason::Twin => format!(
            "twin, removed from the foot of this page as well, where {pages} of {of} pages speak against it"
        ),
    }
}

/// Flags over the configuration's defaults; the ranges bind both.
fn settings(args: &DedupArgs, defaults: &DedupSection) -> Result<FingerprintSettings, Failure> {
    let number = |flag: Option<u32>, default: usize| flag.map_or(Ok(default), usize::try_from);
    let usage = |e: &dyn std::fmt::Display| Failure::usage(e.to_string());
    FingerprintSettings::new(
        args.threshold_pct.unwrap_or(defaults.threshold_pct),
        number(args.min_pages, defaults.min_pages).map_err(|e| usage(&e))?,
        number(args.min_block_chars, defaults.min_block_chars).map_err(|e| usage(&e))?,
    )
    .map_err(|e| usage(&e))
}

/// Reads records; `content` is what is cleaned, `text` where there is none. A second run therefore finds what the first
/// one found, and changes nothing.
fn read(input: Box<dyn BufRead>) -> Result<Vec<Line>, Failure> {
    let (mut lines, mut bad) = (Vec::new(), 0_usize);
    for (number, line) in (1_usize..).zip(input.lines()) {
        let line = line.map_err(|e| Failure::usage(format!("the input cannot be read: {e}")))?;
        if line.trim().is_empty() {
            continue;
        }
        match parse(&line) {
            Ok(line) => lines.push(line),
            Err(problem) => {
                bad += 1;
                say(&format!("line {number}: {problem}; left out"));
            }
        }
    }
    if lines.is_empty() && bad > 0 {
        return Err(Failure::usage("no line could be used"));
    }
    Ok(lines)
}

fn parse(line: &str) -> Result<Line, String> {
    let mut record: Map<String, Value> = serde_json::from_str(line).map_err(|e| e.to_string())?;
    if !record.get("content").is_some_and(Value::is_string) {
        let text = record.get("text").filter(|text| text.is_string()).cloned();
        record.insert("content".into(), text.ok_or("neither \"content\" nor \"text\"")?);
    }
    let domain =
        record.get("metadata").and_then(|m| m.get("domain")).and_then(Value::as_str).map(str::to_owned);
    let of_url = || {
        Url::parse(record.get("url")?.as_str()?).ok().as_ref().and_then(HostKey::of).map(|h| h.to_string())
    };
    let domain =
        domain.filter(|d| !d.is_empty()).or_else(of_url).ok_or("neither \"metadata.domain\" nor \"url\"")?;
    Ok(Line { record, domain })
}

fn replaced(mut record: Map<String, Value>, cleaned: Cleaned) -> Result<Map<String, Value>, Failure> {
    let (text, info) = cleaned.into_record();
    record.insert("text".into(), Value::String(text));
    record.insert("boilerplate".into(), serde_json::to_value(info).map_err(internal)?);
    Ok(record)
}

fn internal(error: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Internal, error.to_string())
}
