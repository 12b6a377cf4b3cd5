//! `crawl retry-errors`: returns the failed URLs of the last round to the frontier and resumes the crawl.

use crate::{cli::RetryArgs, logging::say, run, words::counted};
use crawl_engine::{
    config::{self, Config},
    exit::{Exit, Failure},
    hints,
    state::{self, SharedCrawl},
};
use crawl_model::{StoreError, UrlKey};
use crawl_output::error_line;
use crawl_store::{StateLock, StateStore};
use rustc_hash::FxHashSet;
use serde::Deserialize;
use std::{
    fs::File,
    io::{BufRead, BufReader, ErrorKind},
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
            "--fresh deletes the list of failed pages: omit --fresh, or start over without retry-errors",
        ));
    }
    let seeds = args.run.named_seeds();
    if seeds.is_empty() {
        return Err(Failure::usage("name the seeds of the crawl: crawl retry-errors --seed urls.txt"));
    }
    check_kinds(&args.kind)?;
    if SharedCrawl::of(&settings)?.is_some() {
        return run::resume_shared(&args.run, &|crawl, config| {
            Ok(reopen_shared(crawl, config, &args.kind)?.has_work(args, &crawl.place()))
        });
    }
    let dir = state::dir_to_read(&settings, &seeds)?;
    let found = reopen(&dir, &settings, &args.kind).map_err(|e| e.in_state(&dir))?;
    if found.has_work(args, &dir) { run::resume(&args.run, dir) } else { Ok(Exit::Done) }
}

/// Fails if no error log names one of these kinds.
fn check_kinds(kinds: &[String]) -> Result<(), Failure> {
    let known = hints::kinds();
    match kinds.iter().find(|kind| !known.contains(&kind.as_str())) {
        None => Ok(()),
        Some(kind) => {
            let advice = match config::nearest(kind, known.iter()) {
                Some(meant) => format!("did you mean \"{meant}\"?"),
                None => format!("known are: {}", known.join(", ")),
            };
            Err(Failure::usage(format!("--kind: \"{kind}\" is not a kind of errors.jsonl; {advice}")))
        }
    }
}

/// State of the last round.
struct Found {
    /// URLs that failed and are pending again.
    reopened: usize,
    /// True if the round was not finished before: a run of it was stopped or killed.
    unfinished: bool,
    /// URLs that stay failed, or that are fetched without being counted as failed in the summary.
    traps: Traps,
}

/// URLs that were refused as traps, such as those of an endless section. The summary does not count them as failed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Traps {
    /// None is known, or they are asked for by kind.
    None,
    /// They stay out: fetched again, they would be refused again.
    LeftOut,
    /// They are fetched too, since the database of a shared crawl has no kinds.
    Included,
}

/// Kind of the URLs of endless sections.
const TRAP: &str = "trap_template";
/// Begin of the kinds of traps.
const TRAPS: &str = "trap_";

impl Found {
    /// Returns true if the round has something left to do, and prints how much failed.
    fn has_work(&self, args: &RetryArgs, place: &Path) -> bool {
        if self.reopened == 0 && !self.unfinished {
            let of =
                if args.kind.is_empty() { String::new() } else { format!(" as {}", args.kind.join(" or ")) };
            say(&format!(
                "no page failed{of} in the last round of {}{}",
                place.display(),
                self.traps.words()
            ));
            return false;
        }
        if self.reopened > 0 && !args.run.quiet {
            let urls = counted(self.reopened as u64, "failed URL");
            say(&format!("fetching {urls} again{}", self.traps.words()));
        }
        true
    }
}

impl Traps {
    /// The end of a message about failed URLs.
    fn words(self) -> String {
        match self {
            Self::None => String::new(),
            Self::LeftOut => format!("; URLs of endless sections stay out (--kind {TRAP} fetches them)"),
            Self::Included => ", with any of endless sections".to_owned(),
        }
    }
}

/// Puts back what failed in the last round of a crawl in a database: pages of all workers. Kinds are those that the error log of
/// one worker names.
fn reopen_shared(crawl: &SharedCrawl, settings: &Config, kinds: &[String]) -> Result<Found, Failure> {
    let store = crawl.read()?;
    // a refused command changes nothing
    let round = crawl.check_settings(&*store, settings)?;
    let unfinished = is_unfinished(&*store)?;
    drop(store);
    if kinds.is_empty() {
        let reopened = crawl.reopen_failed(round, None)?;
        return Ok(Found { reopened, unfinished, traps: Traps::Included });
    }
    if settings.state.dir.is_empty() {
        return Err(Failure::usage(
            "--kind reads errors.jsonl of one worker: name its directory with --state-dir, or omit --kind",
        ));
    }
    let dir = Path::new(&settings.state.dir);
    crawl.check_dir(dir)?;
    let (failed, traps) = failed_in(dir, kinds, true)?;
    let mut reopened = 0;
    for batch in failed.chunks(BATCH) {
        reopened += crawl.reopen_failed(round, Some(batch))?;
    }
    Ok(Found { reopened, unfinished, traps })
}

/// Returns true if the last round of a state has URLs left to fetch, or pages to write.
fn is_unfinished(store: &dyn StateStore) -> Result<bool, StoreError> {
    Ok(store.round()? > 0 && !state::is_finished(store)?)
}

/// URLs in the error log of a directory: those of some kinds, or all whose last line is no trap.
fn failed_in(dir: &Path, kinds: &[String], is_shared: bool) -> Result<(Vec<UrlKey>, Traps), Failure> {
    let log = dir.join(state::ERROR_LOG);
    let fail = |e: std::io::Error| match e.kind() {
        ErrorKind::NotFound => missing_log(dir, is_shared),
        _ => Failure::input(&log, &e),
    };
    let (mut failed, mut has_traps) = (FxHashSet::default(), false);
    for line in BufReader::new(File::open(&log).map_err(fail)?).split(b'\n') {
        // the last line of a run that was killed may be half of one, and end in half of a character
        let Ok(line) = serde_json::from_slice::<Line>(&line.map_err(fail)?) else { continue };
        let Some(key) = error_line::key_of(&line.url, line.url_key.as_deref()) else { continue };
        let is_trap = kinds.is_empty() && line.kind.starts_with(TRAPS);
        has_traps |= is_trap && line.kind == TRAP;
        if is_trap {
            failed.remove(&key);
        } else if kinds.is_empty() || kinds.contains(&line.kind) {
            failed.insert(key);
        }
    }
    let traps = if has_traps { Traps::LeftOut } else { Traps::None };
    Ok((failed.into_iter().collect(), traps))
}

/// The refusal of a directory in which no run has written an error log.
fn missing_log(dir: &Path, is_shared: bool) -> Failure {
    let (log, dir) = (state::ERROR_LOG, dir.display());
    let ways = if is_shared {
        "--kind reads that of one worker: name the directory of a worker with --state-dir, or omit --kind"
    } else {
        "name the crawl as it was begun, with its seeds and its --state-dir"
    };
    Failure::usage(format!("{dir} has no {log}, the list of failed pages; {ways}"))
}

/// Puts back what the error log of the last round names. A refused command changes nothing.
fn reopen(dir: &Path, settings: &Config, kinds: &[String]) -> Result<Found, Failure> {
    let (failed, traps) = failed_in(dir, kinds, false)?;
    let _lock = StateLock::acquire(dir)?;
    state::require_database(dir)?;
    let store = crawl_store::open(dir)?;
    state::check_settings(&*store, dir, settings)?;
    let unfinished = is_unfinished(&*store)?;
    let mut reopened = 0;
    for batch in failed.chunks(BATCH) {
        reopened += store.reopen_failed(batch)?;
    }
    Ok(Found { reopened, unfinished, traps })
}
