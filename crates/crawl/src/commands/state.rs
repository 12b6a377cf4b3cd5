//! `crawl state`: check and repair of a state directory that no run holds; copies and upgrades are in `transfer`.

use super::{transfer, write_text};
use crate::{
    cli::{StateArgs, StateJob, StateJobArgs},
    logging::{say, say_as},
};
use crawl_engine::{
    archive, config,
    exit::{Exit, Failure},
    state,
};
use crawl_model::StoreError;
use crawl_store::{CheckReport, RepairReport, StateLock};
use serde::Deserialize;
use std::{
    fmt::Write as _,
    fs::File,
    io::{BufRead, BufReader, Read as _},
    path::{Path, PathBuf},
};
use tracing::Level;

/// URLs that are noted in one transaction.
const BATCH: usize = 1_000;

pub fn run(args: &StateJobArgs) -> Result<Exit, Failure> {
    match &args.job {
        StateJob::Check(args) => check(&dir_of(args)?),
        StateJob::Repair(args) => repair(&dir_of(args)?),
        StateJob::Copy(args) => transfer::copy(args),
        StateJob::Upgrade(args) => transfer::upgrade(args),
    }
}

pub(super) fn dir_of(args: &StateArgs) -> Result<PathBuf, Failure> {
    let settings = config::load(args.config.as_deref(), config::environment()?, args.overrides())?;
    state::dir_to_read(&settings, &args.all_seeds())
}

/// A directory without a state is a mistake in the command.
pub(super) fn usage(error: StoreError) -> Failure {
    match error {
        StoreError::Other(words) => Failure::usage(words),
        error => error.into(),
    }
}

fn check(dir: &Path) -> Result<Exit, Failure> {
    state::refuse_worker(dir)?;
    if let Some(holder) = StateLock::holder(dir) {
        return Err(Failure::new(Exit::Held, format!("{} is in use: {holder}", dir.display())));
    }
    state::require_database(dir)?;
    state::warn_of_damaged_log(dir);
    let report = crawl_store::state::check(dir).map_err(usage).map_err(|e| e.in_state(dir))?;
    write_text(&findings(dir, &report))?;
    if report.findings.is_empty() {
        return Ok(Exit::Done);
    }
    let faults = format!("faults found: {}", report.findings.len());
    Err(Failure::from(StoreError::Corrupt(faults)).in_state(dir))
}

/// The report of a check, as it is printed.
pub(super) fn findings(of: &Path, report: &CheckReport) -> String {
    let mut out = format!("{}\n", of.display());
    for (what, count) in &report.looked_at {
        let _ = writeln!(out, "  {count:>12}  {what}");
    }
    for finding in &report.findings {
        let _ = writeln!(out, "  damaged: {finding}");
    }
    if report.findings.is_empty() {
        let _ = writeln!(out, "  no damage found");
    }
    out
}

fn repair(dir: &Path) -> Result<Exit, Failure> {
    if !dir.is_dir() {
        return Err(Failure::usage(format!("{} holds no state of a crawl", dir.display())));
    }
    state::refuse_worker(dir)?;
    let _lock = StateLock::acquire(dir)?;
    if is_undamaged(dir) {
        write_text(&format!("{}: no damage was found, and nothing was changed\n", dir.display()))?;
        return Ok(Exit::Done);
    }
    let report = crawl_store::state::repair(dir).map_err(|error| match error {
        StoreError::Corrupt(words) => Failure::new(
            Exit::Damaged,
            format!(
                "{}: no part of the state can be read: {words}; --fresh starts over without it",
                dir.display()
            ),
        ),
        error => usage(error),
    })?;
    let adopted = if report.lost_urls > 0 { adopt(dir)? } else { Adopted::default() };
    write_text(&in_words(dir, &report, &adopted))?;
    Ok(Exit::Done)
}

/// Returns true if neither the database nor its write-ahead log is damaged. A state that cannot be checked is
/// not sound.
fn is_undamaged(dir: &Path) -> bool {
    let is_whole = crawl_store::state::check(dir).is_ok_and(|report| report.findings.is_empty());
    is_whole && crawl_store::state::damage_of_log(dir).is_ok_and(|damage| damage.is_none())
}

/// Records of the outputs that the repaired state did not know.
#[derive(Default)]
struct Adopted {
    urls: u64,
    /// Outputs whose URLs were not read.
    unread: Vec<String>,
}

/// The part of a record that is read.
#[derive(Deserialize)]
struct Line {
    url: String,
}

/// Marks URLs in the outputs as written, so that they are not written twice.
fn adopt(dir: &Path) -> Result<Adopted, Failure> {
    let store = crawl_store::open(dir).map_err(|e| Failure::from(e).in_state(dir))?;
    state::first_round::forget(&*store)?;
    let mut adopted = Adopted::default();
    for (name, reach) in store.output_marks()? {
        let path = Path::new(&name);
        if name.starts_with(archive::MARK) || path.file_name().is_some_and(|name| name == "errors.jsonl") {
            continue;
        }
        let readable = path.extension().is_some_and(|ending| ending == "jsonl" || ending == "ndjson");
        let Some(file) = readable.then(|| File::open(path).ok()).flatten() else {
            adopted.unread.push(name);
            continue;
        };
        let mut urls = Vec::new();
        // lines after the mark were not settled: the next run cuts them off
        for line in BufReader::new(file.take(reach)).lines() {
            let Ok(line) = line else { break };
            urls.extend(serde_json::from_str::<Line>(&line).ok().map(|line| line.url));
            if urls.len() >= BATCH {
                adopted.urls += store.adopt_written(&std::mem::take(&mut urls))?;
            }
        }
        adopted.urls += store.adopt_written(&urls)?;
    }
    if !adopted.unread.is_empty() {
        say_as(
            Level::WARN,
            &format!("these outputs were not searched for records: {}", adopted.unread.join(", ")),
        );
    }
    Ok(adopted)
}

fn in_words(dir: &Path, report: &RepairReport, adopted: &Adopted) -> String {
    let mut out = format!("{}\n  {:>10} {:>10}  table\n", dir.display(), "kept", "lost");
    for table in &report.tables {
        let lost = table.lost.map_or_else(|| "some".to_owned(), |lost| lost.to_string());
        let _ = writeln!(out, "  {:>10} {lost:>10}  {}", table.kept, table.name);
    }
    let _ = writeln!(out, "  {} URLs are fetched again", report.fetched_again);
    if report.lost_urls > 0 {
        let left = report.lost_urls.saturating_sub(adopted.urls);
        let _ = writeln!(
            out,
            "  {} URLs were lost, {} of them stand in the output and are noted again; the other {left} come again as seeds \
             or links of pages that are fetched from now on",
            report.lost_urls, adopted.urls
        );
        if !adopted.unread.is_empty() {
            let _ =
                writeln!(out, "  at most {left} records may stand twice in {}", adopted.unread.join(", "));
        }
    }
    let _ = writeln!(out, "  the damaged database is kept as {}", report.damaged.display());
    say("the state is repaired: the same command resumes the crawl");
    out
}
