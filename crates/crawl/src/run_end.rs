//! The end of a run: outputs, report, summary, message and exit code.

use crate::{
    logging::{say, say_json},
    progress::{self, Places},
    report::{self, Named, Samples},
    upkeep,
};
use crawl_engine::{
    config::LogFormat,
    context::Context,
    ending::Ending,
    exit::{Exit, Failure, exit_code},
    hints,
    session::close_outputs,
    stage_error::StageError,
    state::{self, State},
    stats::Stats,
};
use crawl_model::FrontierCounts;
use crawl_output::OutputError;
use crawl_server::notify::{Changes, RunEnd, Totals};
use std::path::{Path, PathBuf};
use tracing::Level;

/// The summary of a run, as it is shown.
pub enum Summary {
    Text(String),
    Json(serde_json::Map<String, serde_json::Value>),
}

impl Summary {
    pub fn of(context: &Context, why: &str, counts: &FrontierCounts, places: &Places<'_>) -> Self {
        match context.config.log.format {
            LogFormat::Text => Self::Text(progress::summary(context, why, counts, places)),
            LogFormat::Json => Self::Json(progress::summary_json(context, why, counts, places)),
        }
    }

    pub fn say(self) {
        match self {
            Self::Text(text) => say(&text),
            Self::Json(fields) => say_json(Level::INFO, "summary", fields),
        }
    }
}

/// Places of the output, the error log and the report.
pub fn places_of<'n>(state: &State, named: &'n Named, report: Option<&'n Path>) -> Places<'n> {
    let errors = (!state.is_temporary).then(|| Path::new(&named.errors));
    Places { output: &named.output, errors, report }
}

/// The result of a run, for messages.
pub fn run_end(context: &Context, state: &State, named: &Named, exit: &Result<Exit, Failure>) -> RunEnd {
    let stats = &context.stats;
    let code = exit.as_ref().map_or_else(|failure| failure.exit, |exit| *exit);
    let report = crawl_output::absolute(&state.dir.join(report::PAGE_NAME));
    RunEnd {
        exit_code: code as u8,
        ended: code.words().to_owned(),
        error: exit.as_ref().err().map(|failure| format!("{:#}", failure.error)),
        seeds: named.seeds.clone(),
        output: Some(named.output.clone()),
        report: report.exists().then(|| report.display().to_string()),
        totals: Some(Totals {
            seconds: stats.started.elapsed().as_secs_f64(),
            records: stats.records.get(),
            pages: stats.pages.get(),
            errors: stats.failed.get(),
        }),
        changes: Changes {
            new: stats.pages_new.get(),
            changed: stats.pages_changed.get(),
            gone: stats.pages_gone.get(),
        },
        changed_pages: stats.changed_pages(),
    }
}

/// Closes the outputs of a run, leaves its report and prints its summary; `named` has the names of outputs and seeds.
///
/// # Errors
/// The error of the run; or the state cannot be written.
pub fn finish(
    (context, samples): (&Context, &Samples),
    state: &State,
    named: &Named,
    outcome: Result<(), StageError>,
    quiet: bool,
) -> Result<Exit, Failure> {
    let ending = context.control.ending.get().copied().unwrap_or(Ending::Interrupted);
    let mut named = named.clone();
    let (counts, damage) = if outcome.is_ok() {
        // asked before the end of the round is noted: after it an error of the store fails no run
        let known = (context.store.counts()?, state::damage(&*context.store)?);
        // after an error a file may hold lines that were not settled: those are for the next run to cut off
        close_outputs(context, state, [&named.output, &named.errors], ending)?;
        if has_no_part(context, &named.output) {
            named.output = "none, since this worker wrote no record".to_owned();
        }
        known
    } else {
        // after a store error the counts are unavailable, and the error matters more
        (context.store.counts().unwrap_or_default(), None)
    };
    let exit = exit_code_of(context, ending, &counts, damage.is_some());
    let why = progress::heading(outcome.as_ref().err(), ending, &counts, &context.stats);
    let why = if state.is_temporary { why.trim_end_matches(", state saved") } else { why };
    let report = leave_report(
        (context, samples, &named),
        state,
        (why, outcome.as_ref().err().map_or(exit, Exit::of)),
        &counts,
    );
    if !quiet {
        let places = places_of(state, &named, report.as_deref());
        Summary::of(context, why, &counts, &places).say();
    }
    if outcome.is_ok()
        && ending == Ending::Drained
        && let Err(error) = upkeep::compact(&*state.store, &context.config.state, quiet)
    {
        tracing::warn!(%error, "the state is not compacted");
    }
    match outcome {
        Ok(()) => exit_or_failure(context, exit, damage),
        Err(StageError::Output(OutputError::ClosedPipe)) => Ok(Exit::Done),
        Err(StageError::Output(OutputError::Abandoned)) => Ok(Exit::Interrupted),
        Err(error) => Err(error.into()),
    }
}

/// Returns true if the part of a worker was removed, since it had no record.
fn has_no_part(context: &Context, output: &str) -> bool {
    let config = &context.config;
    let is_part = config.output.path().is_some_and(|path| path.to_string_lossy().contains('*'));
    config.state.is_shared() && is_part && !Path::new(output).exists()
}

/// Writes the report of a run, if it is enabled and can be written; `end` has the reason and the exit code.
pub fn leave_report(
    (context, samples, named): (&Context, &Samples, &Named),
    state: &State,
    end: (&str, Exit),
    counts: &FrontierCounts,
) -> Option<PathBuf> {
    if !context.config.state.report {
        return None;
    }
    report::leave((context, samples, named), state.round, &state.dir, end, counts)
}

/// The code for how a run without an error ended.
fn exit_code_of(context: &Context, ending: Ending, counts: &FrontierCounts, damaged: bool) -> Exit {
    match exit_code(ending, counts, &context.stats) {
        Exit::Done if damaged => Exit::Damaged,
        exit => exit,
    }
}

/// Exit of a run without an error. An exit that needs a message for the user is a failure.
fn exit_or_failure(context: &Context, exit: Exit, damage: Option<String>) -> Result<Exit, Failure> {
    if exit == Exit::Damaged {
        state::forget_damage(&*context.store);
        return Err(Failure::new(exit, damage.unwrap_or_default()));
    }
    if exit == Exit::NoSeed {
        let failures = match context.stats.first_failures() {
            none if none.is_empty() => without_failures(&context.stats),
            failures => failures.join("; "),
        };
        return Err(Failure::new(exit, format!("no seed could be fetched: {failures}")));
    }
    Ok(exit)
}

/// The reason of a run without pages and without failures.
fn without_failures(stats: &Stats) -> String {
    /// A seed whose URLs were read.
    const SITEMAP_SEED: &str = "sitemap_seed";
    const NO_PAGES: [&str; 4] = ["content_type", "sniffed_type", "attachment", "no_content"];
    let (kinds, gone) = (stats.kinds(), stats.pages_gone.get());
    let left_out = kinds.keys().find_map(|kind| Some((*kind, hints::left_out(kind)?)));
    match left_out.filter(|_| gone == 0) {
        Some((kind, _)) if NO_PAGES.contains(&kind) => format!(
            "no seed is HTML, plain text or Markdown ({kind}); a seed may also be a sitemap or feed, whose URLs are crawled (not with \
             --depth 0)"
        ),
        Some((kind, reason)) => format!("{kind}: {reason}"),
        None if kinds.contains_key(SITEMAP_SEED) && gone == 0 => match stats.sitemap_urls.get() {
            0 if stats.damaged_sitemaps.get() > 0 => "the sitemap or feed is damaged and names no URL".to_owned(),
            0 => "the sitemap or feed names no URL".to_owned(),
            _ if stats.sitemap_urls_left_out.get() > 0 => {
                "the URLs of the sitemap or feed are on other hosts, or filters leave them out; --scope domain or --scope any takes \
                 other hosts"
                    .to_owned()
            }
            _ => "the URLs of the sitemap or feed are sitemaps that cannot be read, or traps".to_owned(),
        },
        None if gone == 0 => "no seed passes the filters, such as --include and --exclude".to_owned(),
        None => "all pages of the last round are gone".to_owned(),
    }
}
