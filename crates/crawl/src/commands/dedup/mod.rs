//! `crawl dedup`: removes boilerplate from the records of a finished JSONL file.

mod explain;
mod output;
mod records;
mod report;

use super::jsonl::{Reports, input_name};
use crate::{
    cli::{DedupArgs, DedupMode},
    distinct_files,
    logging::{say, say_as},
    words::counted,
};
use crawl_dedup::{FingerprintSettings, Mode, batch::CountedProject};
use crawl_engine::{
    config::{self, DedupSection},
    exit::{Exit, Failure},
    page_rules,
};
use crawl_extract::PageExtractor;
use crawl_output::replace;
use crawl_projects::cleaning;
use output::Output;
use records::{Input, Record};
use report::Report;
use std::path::Path;
use tracing::Level;

/// Maximum warnings about domains that are not judged; `--stats` has all.
const MAX_WARNINGS: usize = 20;
/// Bytes that are written at a time.
const WRITTEN: usize = 1 << 18;

pub fn run(args: &DedupArgs) -> Result<Exit, Failure> {
    check_names(args)?;
    let config = config::load(None, config::environment()?, Vec::new())?;
    let defaults = &config.dedup;
    let settings = settings(args, defaults)?;
    let mode = match args.mode {
        Some(DedupMode::Exact) => Mode::Exact,
        Some(DedupMode::Site) => Mode::Site,
        None => defaults.mode,
    };
    let extractor = page_rules::last_pass_extractor(&config.extract)?;
    let (input, name) = (Input::open(args.file.as_deref())?, input_name(args.file.as_deref()));
    // A place that cannot be written ends the run before the input is read.
    let mut output = Output::create(args.output.as_deref())?;
    let mut report = args.html.as_ref().map(|_| Report::new(mode, &settings));
    let (mut project, good, unusable) =
        count((&input, &name), CountedProject::new(mode, &settings), report.as_mut())?;
    if unusable && distinct_files::is_same(args.file.as_deref(), args.output.as_deref()) {
        return Err(Failure::usage(format!(
            "{name}: not overwritten, since lines that could not be read would be lost; name another file with -o"
        )));
    }
    if good == 0 {
        refuse_or_report_empty(&name, args)?;
    }
    let kept = write((&input, &mut output), &mut project, report.as_mut(), args.explain, &extractor)?;
    output.finish()?;
    let project = project.analysis();
    if let Some(path) = &args.stats {
        let mut text = serde_json::to_vec_pretty(&project).map_err(internal)?;
        text.push(b'\n');
        write_file(path, &text)?;
    }
    if let Some((path, report)) = args.html.as_ref().zip(report) {
        write_file(path, &report.html(&project)?)?;
    }
    let warned =
        project.domain_results.iter().filter_map(|found| Some((&found.domain, found.warning.as_ref()?)));
    let warnings: Vec<String> = warned.map(|(domain, warning)| format!("{domain}: {warning}")).collect();
    warnings.iter().take(MAX_WARNINGS).for_each(|line| say(line));
    if let Some(more) = warnings.len().checked_sub(MAX_WARNINGS).filter(|more| *more > 0) {
        say(&format!("{more} more domains have too few pages: --stats FILE lists them"));
    }
    if kept > 0 {
        say(&format!("{kept} records keep the text and boilerplate of an earlier run"));
    }
    say(&format!(
        "{}, {} with boilerplate; {} cleaned, {} removed",
        counted(project.domains_analyzed as u64, "domain"),
        project.domains_with_boilerplate,
        counted(project.total_pages_cleaned as u64, "page"),
        bytesize::ByteSize(project.total_bytes_removed)
    ));
    Ok(Exit::Done)
}

/// Refuses names of outputs that are one file. The records may replace the input.
fn check_names(args: &DedupArgs) -> Result<(), Failure> {
    let beside = [("--stats", args.stats.as_deref()), ("--html", args.html.as_deref())];
    distinct_files::check(args.file.as_deref().as_slice(), &beside)?;
    distinct_files::check(&[], &[("-o", args.output.as_deref()), beside[0], beside[1]])
}

/// Reports an input without records, which empties no other file.
fn refuse_or_report_empty(name: &str, args: &DedupArgs) -> Result<(), Failure> {
    let output = args.output.as_deref().filter(|output| {
        output.metadata().is_ok_and(|found| found.is_file() && found.len() > 0)
            && !distinct_files::is_same(args.file.as_deref(), Some(output))
    });
    match output {
        Some(path) => Err(Failure::usage(format!(
            "{name}: has no record; {path} was not overwritten: delete {path} if it is not needed",
            path = path.display()
        ))),
        None => {
            say_as(Level::WARN, &format!("{name}: has no record"));
            Ok(())
        }
    }
}

/// The first pass: all records are counted. `name` is that of the input. Returns the number of usable lines too, and true if
/// a line could not be used.
fn count(
    (input, name): (&Input<'_>, &str),
    mut project: CountedProject,
    mut report: Option<&mut Report>,
) -> Result<(CountedProject, usize, bool), Failure> {
    let (mut good, mut reports) = (0, Reports::default());
    let unusable =
        |number: usize, problem: String| reports.add(name, number, &format!("{problem}; left out"));
    input.each(unusable, |record| {
        good += 1;
        project.count(&record.domain, &record.text());
        if let Some(report) = &mut report {
            report.count(&record.domain, &record.text());
        }
        Ok(())
    })?;
    reports.end(name, good)?;
    project.settle();
    Ok((project, good, reports.has_any()))
}

/// The second pass: each record is cleaned and written, or its removed parts are explained. Returns how many keep the
/// text of an earlier run.
fn write(
    (input, output): (&Input<'_>, &mut Output<'_>),
    project: &mut CountedProject,
    mut report: Option<&mut Report>,
    explain: bool,
    extractor: &PageExtractor,
) -> Result<u64, Failure> {
    let (mut out, mut kept) = (Vec::with_capacity(WRITTEN * 2), 0);
    let written = |record: Record<'_>| {
        let cleaned = project.clean(&record.domain, &record.text());
        if let Some(report) = &mut report {
            report.page(&record.domain, &record.text(), &cleaned);
        }
        let judged = explain.then(|| cleaned.text.clone());
        let keeps_text = record.keeps_text(cleaned.status);
        let (text, info) = cleaning::stored(extractor, cleaned, record.chosen_by);
        kept += u64::from(keeps_text);
        match judged {
            Some(judged) => explain::page(&record, &info, (&judged, &text), &mut out)?,
            None if keeps_text => record.write_unchanged(&mut out)?,
            None => record.write(&text, &info, &mut out)?,
        }
        if out.len() > WRITTEN {
            output.write(&out)?;
            out.clear();
        }
        Ok(())
    };
    input.each(|_, _| (), written)?;
    output.write(&out)?;
    Ok(kept)
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    replace(path, bytes).map_err(|e| Failure::new(Exit::Storage, format!("{}: {e}", path.display())))
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

fn internal(error: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Internal, error.to_string())
}
