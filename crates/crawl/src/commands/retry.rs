//! `crawl retry-errors`: returns the failed URLs of the last round to the frontier and resumes the crawl.

use crate::{cli::RetryArgs, logging::say, run};
use crawl_engine::{
    config,
    exit::{Exit, Failure},
    hints, state,
};
use crawl_model::{StoreError, UrlKey};
use crawl_output::error_line;
use crawl_store::{StateLock, StateStore};
use rustc_hash::FxHashSet;
use serde::Deserialize;
use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
};

/// URLs put back in one transaction.
const BATCH: usize = 1_000;

/// Fields that are read of a line of the error log.
#[derive(Deserialize)]
struct Line {
    url: String,
    #[serde(rename = "urlKey")]
    url_key: Option<String>,
    kind: String,
}

pub fn run(args: &RetryArgs) -> Result<Exit, Failure> {
    let settings = config::load(args.run.config.as_deref(), config::environment()?, args.run.overrides())?;
    if args.run.fresh {
        return Err(Failure::usage(
            "--fresh removes the list of failed pages: leave out --fresh, or start over without retry-errors",
        ));
    }
    let seeds = args.run.named_seeds();
    if seeds.is_empty() {
        return Err(Failure::usage("name the seeds of the crawl: crawl retry-errors --seed urls.txt"));
    }
    check_kinds(&args.kind)?;
    let dir = state::dir(&settings, &seeds)?;
    let Found { reopened, unfinished } = reopen(&dir, &args.kind).map_err(|e| e.in_state(&dir))?;
    if reopened == 0 && !unfinished {
        let of = if args.kind.is_empty() { String::new() } else { format!(" as {}", args.kind.join(" or ")) };
        say(&format!("nothing failed{of} in the last round of {}", dir.display()));
        return Ok(Exit::Done);
    }
    if reopened > 0 && !args.run.quiet {
        say(&format!("{reopened} URLs that failed are fetched again"));
    }
    run::resume(&args.run, dir)
}

/// Fails if no error log names one of these kinds.
fn check_kinds(kinds: &[String]) -> Result<(), Failure> {
    let known = hints::kinds();
    match kinds.iter().find(|kind| !known.contains(&kind.as_str())) {
        None => Ok(()),
        Some(kind) => Err(Failure::usage(format!(
            "--kind: \"{kind}\" is not a kind of errors.jsonl; known are: {}",
            known.join(", ")
        ))),
    }
}

/// State of the last round.
struct Found {
    /// URLs that failed and are pending again.
    reopened: usize,
    /// True if the round was not finished before: a run of it was stopped or killed.
    unfinished: bool,
}

/// Returns true if the last round of a state has URLs left to fetch, or pages to write.
fn is_unfinished(store: &dyn StateStore) -> Result<bool, StoreError> {
    Ok(store.round()? > 0 && !state::is_finished(store)?)
}

/// Puts back what the error log of the last round names.
fn reopen(dir: &Path, kinds: &[String]) -> Result<Found, Failure> {
    let log = dir.join("errors.jsonl");
    let fail = |e: std::io::Error| Failure::input(&log, &e);
    let lines = BufReader::new(File::open(&log).map_err(fail)?).lines();
    let _lock = StateLock::acquire(dir)?;
    state::require_database(dir)?;
    let store = crawl_store::open(dir)?;
    let unfinished = is_unfinished(&*store)?;
    // a URL may have failed more than once
    let mut failed = FxHashSet::default();
    for line in lines {
        // the last line of a run that was killed may be half of one
        let Ok(line) = serde_json::from_str::<Line>(&line.map_err(fail)?) else { continue };
        if kinds.is_empty() || kinds.contains(&line.kind) {
            failed.extend(error_line::key_of(&line.url, line.url_key.as_deref()));
        }
    }
    let failed: Vec<UrlKey> = failed.into_iter().collect();
    let mut reopened = 0;
    for batch in failed.chunks(BATCH) {
        reopened += store.reopen_failed(batch)?;
    }
    Ok(Found { reopened, unfinished })
}
