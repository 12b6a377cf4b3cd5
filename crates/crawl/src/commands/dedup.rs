//! `crawl dedup`: the batch algorithm over a finished JSONL.

use super::{open, write_out};
use crate::{
    cli::{DedupArgs, DedupMode},
    config,
    exit::{Exit, Failure},
    progress::say,
};
use crawl_dedup::{Cleaned, FingerprintSettings, batch::clean_project};
use crawl_model::{BoilerplateInfo, HostKey};
use serde_json::{Map, Value};
use std::io::BufRead;
use url::Url;

/// A record that is cleaned anew, whatever else it holds.
struct Line {
    record: Map<String, Value>,
    domain: String,
}

pub fn run(args: &DedupArgs) -> Result<Exit, Failure> {
    let settings = settings(args)?;
    let DedupMode::Exact = args.mode;
    let (mut pages, mut lines) = (Vec::new(), Vec::new());
    read(open(args.file.as_deref())?, &mut pages, &mut lines)?;
    let (cleaned, project) = clean_project(&pages, &settings);
    drop(pages);
    let mut out = Vec::new();
    for (line, cleaned) in lines.into_iter().zip(cleaned) {
        serde_json::to_writer(&mut out, &replaced(line.record, cleaned)?).map_err(internal)?;
        out.push(b'\n');
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

/// Flags over the configuration's defaults; the ranges bind both.
fn settings(args: &DedupArgs) -> Result<FingerprintSettings, Failure> {
    let defaults = config::load(None, config::environment()?, Vec::new())?.dedup;
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
fn read(
    input: Box<dyn BufRead>,
    pages: &mut Vec<(String, String)>,
    lines: &mut Vec<Line>,
) -> Result<(), Failure> {
    let mut bad = 0_usize;
    for (number, line) in (1_usize..).zip(input.lines()) {
        let line = line.map_err(|e| Failure::usage(format!("the input cannot be read: {e}")))?;
        if line.trim().is_empty() {
            continue;
        }
        match parse(&line) {
            Ok((line, content)) => {
                pages.push((line.domain.clone(), content));
                lines.push(line);
            }
            Err(problem) => {
                bad += 1;
                say(&format!("line {number}: {problem}; left out"));
            }
        }
    }
    if lines.is_empty() && bad > 0 {
        return Err(Failure::usage("no line could be used"));
    }
    Ok(())
}

fn parse(line: &str) -> Result<(Line, String), String> {
    let mut record: Map<String, Value> = serde_json::from_str(line).map_err(|e| e.to_string())?;
    let text =
        |record: &Map<String, Value>, key: &str| record.get(key).and_then(Value::as_str).map(str::to_owned);
    let content = text(&record, "content")
        .or_else(|| text(&record, "text"))
        .ok_or("neither \"content\" nor \"text\"")?;
    let domain =
        record.get("metadata").and_then(|m| m.get("domain")).and_then(Value::as_str).map(str::to_owned);
    let of_url = || {
        Url::parse(record.get("url")?.as_str()?).ok().as_ref().and_then(HostKey::of).map(|h| h.to_string())
    };
    let domain =
        domain.filter(|d| !d.is_empty()).or_else(of_url).ok_or("neither \"metadata.domain\" nor \"url\"")?;
    record.insert("content".into(), Value::String(content.clone()));
    Ok((Line { record, domain }, content))
}

fn replaced(mut record: Map<String, Value>, cleaned: Cleaned) -> Result<Map<String, Value>, Failure> {
    let info = BoilerplateInfo {
        status: cleaned.status,
        fingerprint: cleaned.fingerprint,
        pages: cleaned.pages,
        blocks_removed: cleaned.blocks_removed,
        bytes_removed: cleaned.bytes_removed,
    };
    record.insert("text".into(), Value::String(cleaned.text));
    record.insert("boilerplate".into(), serde_json::to_value(info).map_err(internal)?);
    Ok(record)
}

fn internal(error: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Internal, error.to_string())
}
