//! The main job: from flags to a finished run.

mod build;
mod outputs;

pub use build::context;

use crate::{
    archive::{self, Archive},
    cli::RunArgs,
    config::{self, Config, Emit, LogFormat},
    context::Context,
    descriptors, duplicates,
    ending::Ending,
    exit::{Exit, Failure},
    links::new_url,
    logging::{say, say_as, say_json},
    metrics::Metrics,
    outage, pipeline,
    platform::Platform,
    progress::{self, Places},
    recrawl, report, rules_version, seeds, shard, site_book,
    stage_error::StageError,
    state::{self, State},
    store::Store,
    threads, upkeep,
};
use crawl_fetch::Seed;
use crawl_model::{Discovery, FrontierCounts, HostKey, NewUrl, UrlKey, hide_userinfo};
use crawl_output::OutputError;
use crawl_projects::Keeper;
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::Level;

/// Seeds are enqueued in transactions of this many.
const SEED_BATCH: usize = 1_000;

/// Runs `crawl --seed …`.
pub fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let config = config::load(args.config.as_deref(), config::environment()?, args.overrides())?;
    crate::logging::start(&config.log)?;
    crate::memory::check_address_space(config.extract.threads)?;
    descriptors::check()?;
    let seed_file = args
        .seed
        .as_deref()
        .ok_or_else(|| Failure::usage("name a file of seeds: crawl --seed urls.txt, or a site: crawl --seed https://example.org/ (see crawl --help)"))?;
    let seeds = read_seeds(seed_file)?;
    let dir = state::dir(&config, Some(seed_file))?;
    let state = open_state(&config, &dir, args.fresh).map_err(|e| e.in_state(&dir))?;
    upkeep::remove_old(&config.state, &dir, args.quiet);
    let runtime = threads::runtime()
        .build()
        .map_err(|e| Failure::new(Exit::Internal, format!("the runtime cannot be started: {e}")))?;
    runtime.block_on(crawl(config, &seeds, &state, args.quiet)).map_err(|e| e.in_state(&dir))
}

/// Takes the state directory of a crawl; `fresh` forgets its contents.
///
/// # Errors
/// When it cannot be written (exit 3) or another run holds it (exit 6).
pub fn open_state(config: &Config, dir: &Path, fresh: bool) -> Result<State, Failure> {
    let group = Some(config.crawl.source_group.as_str()).filter(|g| !g.is_empty());
    let project = (config.crawl.project.as_str(), group);
    State::open(dir, fresh, project, rules_version::of(config))
}

fn read_seeds(file: &Path) -> Result<Vec<Seed>, Failure> {
    if let Some(url) = seeds::as_url(file) {
        let seed = crawl_fetch::parse_seed_line(url)
            .map_err(|e| Failure::usage(format!("--seed {}: {e}", hide_userinfo(url))))?;
        return Ok(vec![seed]);
    }
    let found = seeds::read(file).map_err(|e| {
        let hint = if e.kind() == io::ErrorKind::NotFound {
            "; --seed takes a file, or one URL with https://"
        } else {
            ""
        };
        // a URL that is written wrong is taken for the name of a file
        let failure = Failure::input(Path::new(&*hide_userinfo(&file.to_string_lossy())), &e);
        Failure::new(failure.exit, format!("{}{hint}", failure.error))
    })?;
    for bad in &found.bad {
        say_as(Level::WARN, &format!("{}: {bad}; skipped", file.display()));
    }
    if found.seeds.is_empty() {
        return Err(Failure::usage(format!("{}: no usable line", file.display())));
    }
    Ok(found.seeds)
}

async fn crawl(config: Config, seeds: &[Seed], state: &State, quiet: bool) -> Result<Exit, Failure> {
    let metrics = Metrics::open(&config.metrics).await?;
    let session = Session::open(config, seeds, state, &Platform::default(), quiet)?;
    let mut beside = Beside::start(&session.context, metrics, quiet);
    let (context, names) = (Arc::clone(&session.context), session.names());
    let outcome = session.run().await;
    beside.wipe().await;
    let exit = finish(&context, state, &names, outcome, quiet);
    beside.end().await;
    exit
}

/// A run that is ready to begin: the state is recalled, the seeds are planted, the outputs are open.
pub struct Session {
    /// The parts that the stages share.
    pub context: Arc<Context>,
    outputs: outputs::Outputs,
}

impl Session {
    /// Prepares a run on a platform.
    ///
    /// # Errors
    /// When a setting cannot be used, or the state or an output cannot be read or written.
    pub fn open(
        config: Config,
        seeds: &[Seed],
        state: &State,
        platform: &Platform,
        quiet: bool,
    ) -> Result<Self, Failure> {
        let context = Arc::new(full_context(config, state, platform)?);
        context.browser.reap();
        recall(&context, state)?;
        plant(&context, seeds)?;
        tell_of_round(&context, state, quiet);
        let outputs = outputs::open(&context, state)?;
        Ok(Self { context, outputs })
    }

    /// Names of the output and of the error log.
    #[must_use]
    pub fn names(&self) -> (String, String) {
        let outputs::Outputs { records, errors } = &self.outputs;
        (records.name().to_owned(), errors.name().to_owned())
    }

    /// Runs all stages to their end.
    ///
    /// # Errors
    /// The first error of a stage.
    pub async fn run(self) -> Result<(), StageError> {
        let Self { context, outputs: outputs::Outputs { records, errors } } = self;
        let outcome = pipeline::run(Arc::clone(&context), records, errors).await;
        let outcome = outcome.and_then(|()| Ok(context.sites.save(&*context.store)?));
        // whatever happened, what is in it is whole
        let ended = context.archive.as_ref().map_or(Ok(()), |archive| {
            archive.finish()?;
            archive::forget(&*context.store).map_err(StageError::Store)
        });
        outcome.and(ended)
    }
}

/// Closes the outputs of a run, leaves its report and prints its summary; `names` are those of the output and of the error log.
///
/// # Errors
/// The error of the run; or the state cannot be written.
pub fn finish(
    context: &Context,
    state: &State,
    names: &(String, String),
    outcome: Result<(), StageError>,
    quiet: bool,
) -> Result<Exit, Failure> {
    let ending = context.ending.get().copied().unwrap_or(Ending::Interrupted);
    let (counts, damage) = if outcome.is_ok() {
        // asked before the end of the round is noted: after it an error of the store fails no run
        let known = (context.store.counts()?, state::damage(&*context.store)?);
        // after an error a file may hold lines that were not settled: those are for the next run to cut off
        outputs::close(context, [&names.0, &names.1], ending)?;
        known
    } else {
        // after an error of the store there is nothing to ask it, and the error is what matters
        (context.store.counts().unwrap_or_default(), None)
    };
    let exit = exit_code(context, ending, &counts, damage.is_some());
    let why = progress::heading(outcome.as_ref().err(), ending, &counts, &context.stats);
    let report = leave_report(context, state, (why, outcome.as_ref().err().map_or(exit, Exit::of)), &counts);
    if !quiet {
        let places = Places { output: &names.0, errors: Path::new(&names.1), report: report.as_deref() };
        match context.config.log.format {
            LogFormat::Text => say(&progress::summary(context, why, &counts, &places)),
            LogFormat::Json => {
                say_json(Level::INFO, "summary", progress::summary_json(context, why, &counts, &places));
            }
        }
    }
    if outcome.is_ok()
        && ending == Ending::Drained
        && let Err(error) = upkeep::compact(&state.store, &context.config.state, quiet)
    {
        tracing::warn!(%error, "the state is not compacted");
    }
    match outcome {
        Ok(()) => told(context, exit, damage),
        Err(StageError::Output(OutputError::ClosedPipe)) => Ok(Exit::Done),
        Err(StageError::Output(OutputError::Abandoned)) => Ok(Exit::Interrupted),
        Err(error) => Err(error.into()),
    }
}

/// The report of a run, if one is wanted and can be written; `end` says why it ended, and with which code.
fn leave_report(
    context: &Context,
    state: &State,
    end: (&str, Exit),
    counts: &FrontierCounts,
) -> Option<PathBuf> {
    if !context.config.state.report {
        return None;
    }
    report::leave(context, state.round, &state.dir, end, counts)
}

/// What goes on beside a run: signals are waited for, progress and metrics shown, samples taken.
struct Beside {
    samples: JoinHandle<()>,
    signals: JoinHandle<()>,
    metrics: JoinHandle<()>,
    progress: Option<JoinHandle<()>>,
    done: CancellationToken,
}

impl Beside {
    fn start(context: &Arc<Context>, metrics: Metrics, quiet: bool) -> Self {
        if let Some(address) = metrics.address().filter(|_| !quiet) {
            say(&format!("metrics at http://{address}/metrics"));
        }
        let done = CancellationToken::new();
        // a collector of JSON lines has no use for a line of progress
        let shows = !quiet && context.config.log.format == LogFormat::Text;
        let sampled = (Arc::clone(context), done.clone());
        Self {
            samples: tokio::spawn(async move { sampled.0.samples.take(&sampled.0, sampled.1).await }),
            signals: tokio::spawn(stop_on_signals(context.cancel.clone(), quiet)),
            metrics: tokio::spawn(metrics.show(Arc::clone(context), done.clone())),
            progress: shows.then(|| tokio::spawn(progress::show(Arc::clone(context), done.clone()))),
            done,
        }
    }

    /// The run has ended: the line of progress is wiped before the summary is printed.
    async fn wipe(&mut self) {
        self.done.cancel();
        if let Some(progress) = self.progress.take() {
            let _ = progress.await;
        }
    }

    /// Waits for what still shows the last counts.
    async fn end(self) {
        let _ = (self.samples.await, self.metrics.await);
        self.signals.abort();
    }
}

/// The code for how a run without an error ended.
fn exit_code(context: &Context, ending: Ending, counts: &FrontierCounts, damaged: bool) -> Exit {
    match progress::exit_code(ending, counts, &context.stats) {
        Exit::Done if damaged => Exit::Damaged,
        exit => exit,
    }
}

/// The end of a run without an error, as a failure where cron has to be told in words.
fn told(context: &Context, exit: Exit, damage: Option<String>) -> Result<Exit, Failure> {
    if exit == Exit::Damaged {
        state::forget_damage(&*context.store);
        return Err(Failure::new(exit, damage.unwrap_or_default()));
    }
    if exit == Exit::NoSeed {
        let failures = match context.stats.first_failures() {
            none if none.is_empty() => "what was there in the last round is gone".to_owned(),
            failures => failures.join("; "),
        };
        return Err(Failure::new(exit, format!("no seed could be fetched: {failures}")));
    }
    Ok(exit)
}

/// Takes up what earlier runs have left in the state directory.
fn recall(context: &Context, state: &State) -> Result<(), Failure> {
    duplicates::open(context)?;
    bring_forward(context, state)?;
    // what seeds redirected to is known, as the pages there are
    context.recall_scope(state.new_round && !context.recrawl.on)?;
    context.recall_told()?;
    shard::put_back_unreadable(context)?;
    context.keep_told();
    context.stats.inherited.add(context.store.counts()?.held);
    Ok(())
}

/// Longest time for which a run puts a URL off. A `Retry-After` is kept for the host, which is not asked before, however early
/// its URLs are due.
fn longest_wait(config: &Config) -> Duration {
    // pauses are spread over up to a quarter more than their time
    let longest = config.fetch.max_backoff.max(config.recrawl.confirm_gone).max(outage::LONGEST_PAUSE);
    longest.saturating_mul(5) / 4
}

/// Takes care that no URL waits longer than a run puts one off, though the clock may have been wrong when it was put off.
fn bring_forward(context: &Context, state: &State) -> Result<(), Failure> {
    let longest_ms = i64::try_from(longest_wait(&context.config).as_millis()).unwrap_or(i64::MAX);
    let now = crawl_model::now_ms();
    let moved = state.store.bring_forward(now.saturating_add(longest_ms), now)?;
    if moved > 0 {
        tracing::warn!("{moved} URLs were put off by a clock that was ahead: they are fetched now");
    }
    Ok(())
}

/// What the stages share, with what only a crawl has: a project and an archive.
fn full_context(config: Config, state: &State, platform: &Platform) -> Result<Context, Failure> {
    let keeper = Keeper::open(&config.crawl.project, &config.projects.database)?;
    let mut context = build::context_on(platform, config, Arc::clone(&state.store) as Arc<dyn Store>)?;
    context.keeper = keeper;
    context.recrawl.whole = state.new_round;
    let again = site_book::due_again(&*context.store)?;
    context.recrawl.missed_before = again.iter().map(|url| UrlKey::of(url)).collect();
    let loss = archive::loss(&*context.store, Path::new(&context.config.archive.dir))?;
    if let Some(archive) = Archive::open(&context.config, context.cpu.clone())? {
        let (folder, bytes) = (&context.config.archive.dir, archive.damaged_bytes());
        let aside =
            (bytes > 0).then(|| format!("{folder}: {bytes} damaged bytes of an earlier run were put aside"));
        let damages: Vec<String> = aside.into_iter().chain(loss).collect();
        if !damages.is_empty() {
            let damage = format!(
                "{}; the records in them are lost, the crawl is complete, and --fresh -O archives all of it again",
                damages.join("; ")
            );
            state::note_damage(&*context.store, &damage)?;
        }
        archive::forget(&*context.store)?;
        archive.run(state.new_round)?;
        context.client.record_to(Arc::new(archive.clone()));
        context.archive = Some(archive);
    }
    Ok(context)
}

/// Says what the state directory makes of this run.
fn tell_of_round(context: &Context, state: &State, quiet: bool) {
    let dir = state.dir.display();
    if state.other_rules {
        let what = if state.new_round {
            "every page that is asked is read anew, and what sites repeat is learnt anew"
        } else {
            "pages of this round that were read before stay as they are"
        };
        tracing::warn!(
            "{dir} was made with other rules, settings of extraction or cleaning, or another version: {what}"
        );
    }
    if state.other_links && state.new_round {
        tracing::warn!(
            "{dir} was made with other settings of what is followed: every page that is asked is read anew, for what it leads to"
        );
    }
    let replaces = !context.config.output.replace.is_empty();
    if replaces && state.new_round && context.recrawl.on && context.config.output.emit == Emit::Changes {
        tracing::warn!(
            "{} will hold the changes since the last round alone; -o adds them to a file, --fresh crawls everything anew",
            context.config.output.replace
        );
    }
    if !quiet && !state.new_round && context.config.log.format == LogFormat::Text {
        say(&format!("going on with round {} in {dir}", state.round));
    }
}

/// Puts the seeds into the frontier and their hosts into the scope, and after a finished round what is due of what is known.
/// What is in the round already stays as it is.
///
/// # Errors
/// When storage fails.
pub fn plant(context: &Context, seeds: &[Seed]) -> Result<(), Failure> {
    let planted: Vec<NewUrl> = seeds
        .iter()
        .filter_map(|seed| {
            let url = context.links.canonical(&seed.url);
            context.links.extend_scope(&url);
            let discovery = if seed.bare { Discovery::BareSeed } else { Discovery::Seed };
            HostKey::of(&url).map(|host| new_url(url, host, 0, discovery))
        })
        .collect();
    for batch in planted.chunks(SEED_BATCH) {
        if context.recrawl.asks_seeds() {
            context.store.revisit(batch)?;
        } else {
            context.store.enqueue(batch)?;
        }
    }
    let keys = planted.iter().map(|seed| seed.key).collect();
    Ok(recrawl::plant(context, &keys)?)
}

/// The first SIGINT or SIGTERM saves and stops; the second one stops at once, and leases run out. They are caught from the
/// call on, not only when the future is polled: by then a busy crawl may have begun.
pub(crate) fn stop_on_signals(cancel: CancellationToken, quiet: bool) -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let caught = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    async move {
        let (Ok(mut int), Ok(mut term)) = caught else { return };
        let mut told = false;
        loop {
            tokio::select! {
                _ = int.recv() => {}
                _ = term.recv() => {}
            }
            if told {
                std::process::exit(i32::from(Exit::Interrupted as u8));
            }
            told = true;
            // before the run can end: its summary comes after this line
            if !quiet {
                say("stopping: saving what is in flight (again to stop at once)");
            }
            cancel.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that was an hour ahead puts URLs off for longer than any pause, by the default settings too.
    #[test]
    fn the_longest_wait_of_a_url_is_its_longest_pause_whatever_hosts_may_ask_for() {
        let mut config = config::load(None, std::iter::empty(), Vec::new()).unwrap();
        assert!(longest_wait(&config) < Duration::from_secs(3_600), "{:?}", longest_wait(&config));
        config.politeness.max_retry_after = Duration::from_secs(86_400);
        (config.fetch.max_backoff, config.recrawl.confirm_gone) =
            (Duration::from_secs(100), Duration::from_secs(10));
        assert_eq!(longest_wait(&config), Duration::from_secs(125));
        config.recrawl.confirm_gone = Duration::from_secs(86_400);
        assert_eq!(longest_wait(&config), Duration::from_secs(108_000));
    }
}
