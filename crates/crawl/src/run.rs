//! The main job: from flags to a finished run.

use crate::{
    cli::RunArgs,
    distinct_files,
    logging::{say, say_as, say_json},
    place::Place,
    progress::{self, Places},
    reconnect::{Patience, is_passing, is_passing_error},
    report::{self, Named, Samples},
    signals::StopRequest,
    upkeep,
    usage_error::command_line,
};
use crawl_engine::{
    config::{self, Config, Emit, LogFormat},
    context::Context,
    descriptors,
    ending::Ending,
    exit::{Exit, Failure, exit_code},
    platform::Platform,
    seeds::{self, Seeds},
    session::{Session, check_browser, check_outputs, check_owner, close_outputs},
    stage_error::StageError,
    state::{self, SharedCrawl, State},
    stats::Stats,
    threads, visit,
};
use crawl_fetch::{Seed, is_public};
use crawl_model::{FrontierCounts, StoreError, hide_userinfo};
use crawl_output::OutputError;
use crawl_server::{
    metrics::Metrics,
    notify::{Changes, Notifier, RunEnd, Totals},
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::Level;
use url::{Host, Url};

/// Work on a crawl in a database before a worker joins it. Returns true if the crawl has something left to do.
pub type Prepare<'p> = &'p dyn Fn(&SharedCrawl, &Config) -> Result<bool, Failure>;

/// Runs `crawl --seed …`.
pub fn run(args: &RunArgs) -> Result<Exit, Failure> {
    start(args, None, None)
}

/// Continues the crawl of a state directory.
pub fn resume(args: &RunArgs, dir: PathBuf) -> Result<Exit, Failure> {
    start(args, Some(dir), None)
}

/// Continues a crawl in a database after some work on it, which begins once the settings of the run are checked.
pub fn resume_shared(args: &RunArgs, prepare: Prepare<'_>) -> Result<Exit, Failure> {
    start(args, None, Some(prepare))
}

fn start(args: &RunArgs, dir: Option<PathBuf>, prepare: Option<Prepare<'_>>) -> Result<Exit, Failure> {
    let mut config = config::load(args.config.as_deref(), config::environment()?, args.overrides())?;
    crate::logging::start(&config.log)?;
    crawl_engine::memory::check_address_space(config.extract.threads)?;
    descriptors::check()?;
    let notifier = Notifier::of(&config)?;
    let names = args.named_seeds();
    if names.is_empty() {
        return Err(Failure::usage(
            "name a site: crawl https://example.org/, or a file of seeds: crawl --seed urls.txt (see crawl --help)",
        ));
    }
    check_names(args, &config)?;
    let Seeds { seeds, sites, .. } = seeds::of_names(&names, |line| say_as(Level::WARN, line))?;
    // a seed line is more special than a table of the file
    config.site.splice(0..0, sites);
    warn_without_contact(&config, &seeds);
    let shared = SharedCrawl::of(&config)?;
    let is_temporary = shared.is_none() && dir.is_none() && state::is_temporary(&config);
    let temporary = is_temporary.then(state::temporary).transpose()?;
    config.state.report &= temporary.is_none();
    let mut place = match (shared, &temporary, dir) {
        (Some(_), ..) if args.fresh => return Err(cannot_forget()),
        (Some(shared), ..) => Place::Shared(shared),
        (None, Some(temporary), _) => Place::Directory(temporary.path().to_owned()),
        (None, None, Some(dir)) => Place::Directory(dir),
        (None, None, None) => Place::Directory(state::dir(&config, &names)?),
    };
    let runtime = threads::runtime()
        .build()
        .map_err(|e| Failure::new(Exit::Internal, format!("the runtime cannot be started: {e}")))?;
    // --fresh removes the state: nothing that the user can mend may fail after that
    check_outputs(&config)?;
    if let Place::Directory(dir) = &place {
        check_owner(&config, dir)?;
    }
    check_browser(&config)?;
    if let (Place::Shared(crawl), Some(prepare)) = (&place, prepare)
        && !prepare(crawl, &config)?
    {
        return Ok(Exit::Done);
    }
    let early = args.fresh.then(|| runtime.block_on(Metrics::open(&config.metrics))).transpose()?;
    let mut state = place.open(&config, args.fresh)?;
    state.is_temporary = temporary.is_some();
    // without it a run of the same state is the first thing to tell
    let metrics = early.map_or_else(|| runtime.block_on(Metrics::open(&config.metrics)), Ok)?;
    upkeep::remove_old(&config.state, &state.dir, args.quiet);
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let named = Named { seeds: shown_names(&names), command: command_line(words), ..Named::default() };
    let (samples, stop, quiet) = (Arc::default(), StopRequest::new(args.quiet), args.quiet);
    let job = Job { config, seeds: &seeds, place, named, notifier, samples, stop, quiet };
    runtime.block_on(job.run(state, metrics))
}

/// Refuses an output that would replace a file of seeds or settings, or that is another output. Records may be appended to
/// the file of seeds.
fn check_names(args: &RunArgs, config: &Config) -> Result<(), Failure> {
    let names = args.named_seeds();
    // a folder of Markdown may have the name of its host
    let files = names.iter().filter(|name| name.is_file());
    let inputs: Vec<&Path> = files.chain(&args.config).map(PathBuf::as_path).collect();
    let textfile = ("--metrics-textfile", Some(Path::new(&config.metrics.textfile)));
    distinct_files::check(&inputs, &[("-O", Some(Path::new(&config.output.replace))), textfile])?;
    distinct_files::check(&[], &[("the output", config.output.path()), textfile])
}

/// The refusal of `--fresh` for a crawl in a database.
fn cannot_forget() -> Failure {
    Failure::usage(
        "--fresh cannot forget a crawl that other workers may work on: choose another --crawl, or drop its schema",
    )
}

/// A crawl and the place of its state.
struct Job<'s> {
    config: Config,
    seeds: &'s [Seed],
    place: Place,
    named: Named,
    notifier: Option<Notifier>,
    samples: Arc<Samples>,
    stop: StopRequest,
    quiet: bool,
}

/// Result of one session of a run.
struct Attempt {
    outcome: Result<Exit, Failure>,
    /// The summary after an error that another attempt follows.
    summary: Option<Summary>,
    /// The message of the end, if it was not sent: another attempt may follow.
    end: Option<RunEnd>,
    /// Counts for that attempt.
    stats: Option<Stats>,
}

impl Job<'_> {
    /// Crawls until the end, with further attempts if other workers or the server of a shared crawl require them.
    async fn run(mut self, mut state: State, mut metrics: Metrics) -> Result<Exit, Failure> {
        let mut patience = Patience::new(self.config.fetch.max_outage);
        loop {
            let Attempt { outcome, summary, end, stats } = self.attempt(&state, metrics).await;
            let failure = match outcome.map_err(|failure| self.place.explain(failure)) {
                Err(failure) if self.place.is_shared() && is_passing(&failure) => failure,
                outcome => {
                    if let Err(error) = state.store.give_back() {
                        tracing::debug!(%error, "hosts were not given back");
                    }
                    if let Err(failure) = &outcome {
                        self.send_end(end, failure).await;
                    }
                    return outcome;
                }
            };
            // the next attempt cuts the outputs back to what was settled
            state.store.abandon(&StoreError::Other("the crawl continues with another connection".into()));
            drop(state);
            let next = patience.reopen(&mut self.place, &self.config, failure, self.stop.requested()).await;
            if let Err(failure) = &next {
                // the run ends with this attempt
                summary.into_iter().for_each(Summary::say);
                self.send_end(end, failure).await;
            }
            (state, metrics) = next?;
            state.earlier = stats;
        }
    }

    /// Sends `run.ended` of a run that no further attempt follows.
    async fn send_end(&self, end: Option<RunEnd>, failure: &Failure) {
        if let (Some(notifier), Some(end)) = (&self.notifier, end) {
            notifier.run_ended(&end.failed(failure)).await;
        }
    }

    /// Crawls until the end or an error.
    async fn attempt(&self, state: &State, metrics: Metrics) -> Attempt {
        let named = self.named.clone();
        let beside = (metrics, self.notifier.as_ref(), &self.samples, &self.stop);
        crawl(self.config.clone(), self.seeds, (state, named), beside, self.quiet).await
    }
}

/// Warns if the owners of public sites cannot reach the operator.
fn warn_without_contact(config: &Config, seeds: &[Seed]) {
    let fetch = &config.fetch;
    let is_anonymous =
        [&fetch.user_agent, &fetch.info_url, &fetch.contact].iter().all(|text| text.is_empty());
    if is_anonymous && seeds.iter().any(|seed| is_public_host(&seed.url)) {
        tracing::warn!(
            "site owners cannot reach you: name a URL or mail address with --contact; see docs/site-owners.md"
        );
    }
}

/// Returns true unless the host is an address that is not public, or a name of this machine.
fn is_public_host(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(v4)) => is_public(v4.into()),
        Some(Host::Ipv6(v6)) => is_public(v6.into()),
        Some(Host::Domain(name)) => !["localhost", "test", "example", "invalid", "internal", "local"]
            .contains(&name.rsplit('.').next().unwrap_or_default()),
        None => false,
    }
}

fn shown_names(names: &[PathBuf]) -> Vec<String> {
    names.iter().map(|name| hide_userinfo(&name.to_string_lossy()).into_owned()).collect()
}

async fn crawl(
    config: Config,
    seeds: &[Seed],
    (state, mut named): (&State, Named),
    (metrics, notifier, samples, stop): (Metrics, Option<&Notifier>, &Arc<Samples>, &StopRequest),
    quiet: bool,
) -> Attempt {
    let is_shared = config.state.is_shared();
    let session = Session::open(config, seeds, state, &Platform::default(), |context| {
        print_round_notes(context, state, quiet);
    });
    let session = match session {
        Ok(session) => session,
        Err(failure) => {
            let stats = state.earlier.as_ref().map(Stats::carried);
            let end = Some(RunEnd { seeds: named.seeds, ..RunEnd::default() });
            return Attempt { outcome: Err(failure), summary: None, end, stats };
        }
    };
    let mut tasks = BackgroundTasks::start(&session.context, samples, stop, (metrics, quiet));
    let context = Arc::clone(&session.context);
    (named.output, named.errors) = session.names();
    let outcome = session.run().await;
    tasks.wipe().await;
    let is_passing_end = is_shared && outcome.as_ref().is_err_and(is_passing_error);
    let (exit, summary) = if is_passing_end {
        let why = progress::heading(
            outcome.as_ref().err(),
            Ending::Interrupted,
            &FrontierCounts::default(),
            &context.stats,
        );
        // the report of a later attempt replaces it
        let counts = FrontierCounts::default();
        let code = outcome.as_ref().map_or_else(Exit::of, |()| Exit::Done);
        let report = leave_report((&context, samples, &named), state, (why, code), &counts);
        let summary = Summary::of(&context, why, &counts, &places_of(state, &named, report.as_deref()));
        (outcome.map(|()| Exit::Done).map_err(Failure::from), (!quiet).then_some(summary))
    } else {
        (finish((&context, samples), state, &named, outcome, quiet), None)
    };
    let code = exit.as_ref().map_or_else(|failure| failure.exit, |exit| *exit);
    if let Err(error) = context.in_storage(move |context| context.note_exit(code)).await {
        tracing::warn!(%error, "the end of the run is not noted for metrics");
    }
    // another attempt follows
    let continues = is_shared && exit.as_ref().err().is_some_and(is_passing);
    let mut end = notifier.map(|_| run_end(&context, state, &named, &exit));
    if let Some(notifier) = notifier.filter(|_| !continues)
        && let Some(end) = end.take()
    {
        notifier.run_ended(&end).await;
    }
    tasks.end().await;
    Attempt { outcome: exit, summary, end, stats: Some(context.stats.carried()) }
}

/// The summary of a run, as it is shown.
enum Summary {
    Text(String),
    Json(serde_json::Map<String, serde_json::Value>),
}

impl Summary {
    fn of(context: &Context, why: &str, counts: &FrontierCounts, places: &Places<'_>) -> Self {
        match context.config.log.format {
            LogFormat::Text => Self::Text(progress::summary(context, why, counts, places)),
            LogFormat::Json => Self::Json(progress::summary_json(context, why, counts, places)),
        }
    }

    fn say(self) {
        match self {
            Self::Text(text) => say(&text),
            Self::Json(fields) => say_json(Level::INFO, "summary", fields),
        }
    }
}

/// Places of the output, the error log and the report.
fn places_of<'n>(state: &State, named: &'n Named, report: Option<&'n Path>) -> Places<'n> {
    let errors = (!state.is_temporary).then(|| Path::new(&named.errors));
    Places { output: &named.output, errors, report }
}

/// The result of a run, for messages.
fn run_end(context: &Context, state: &State, named: &Named, exit: &Result<Exit, Failure>) -> RunEnd {
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
        // after an error of the store there is nothing to ask it, and the error is what matters
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

/// The report of a run, if one is wanted and can be written; `end` says why it ended, and with which code.
fn leave_report(
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

/// Tasks beside a session: a request to stop is passed on, progress and metrics are shown, samples taken.
struct BackgroundTasks {
    samples: JoinHandle<()>,
    stop: JoinHandle<()>,
    metrics: JoinHandle<()>,
    /// Cancelled once the exit code is known.
    ended: CancellationToken,
    progress: Option<JoinHandle<()>>,
    done: CancellationToken,
}

impl BackgroundTasks {
    fn start(
        context: &Arc<Context>,
        samples: &Arc<Samples>,
        stop: &StopRequest,
        (metrics, quiet): (Metrics, bool),
    ) -> Self {
        stop.listen();
        let (requested, cancel) = (stop.requested().clone(), context.control.cancel.clone());
        if let Some(address) = metrics.address().filter(|_| !quiet) {
            say(&format!("metrics at http://{address}/metrics"));
        }
        let (done, closed) = (CancellationToken::new(), CancellationToken::new());
        // a collector of JSON lines has no use for a line of progress
        let shows = !quiet && context.config.log.format == LogFormat::Text;
        let (sampled, counted, ended) = (Arc::clone(samples), Arc::clone(context), done.clone());
        Self {
            samples: tokio::spawn(async move { sampled.take(&counted.stats, ended).await }),
            stop: tokio::spawn(async move {
                requested.cancelled().await;
                cancel.cancel();
            }),
            metrics: tokio::spawn(metrics.show(Arc::clone(context), closed.clone())),
            progress: shows.then(|| tokio::spawn(progress::show(Arc::clone(context), done.clone()))),
            done,
            ended: closed,
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
        self.ended.cancel();
        let _ = (self.samples.await, self.metrics.await);
        self.stop.abort();
    }
}

/// The code for how a run without an error ended.
fn exit_code_of(context: &Context, ending: Ending, counts: &FrontierCounts, damaged: bool) -> Exit {
    match exit_code(ending, counts, &context.stats) {
        Exit::Done if damaged => Exit::Damaged,
        exit => exit,
    }
}

/// The end of a run without an error, as a failure where cron has to be told in words.
fn exit_or_failure(context: &Context, exit: Exit, damage: Option<String>) -> Result<Exit, Failure> {
    if exit == Exit::Damaged {
        state::forget_damage(&*context.store);
        return Err(Failure::new(exit, damage.unwrap_or_default()));
    }
    if exit == Exit::NoSeed {
        let failures = match context.stats.first_failures() {
            none if none.is_empty() => {
                without_failures(&context.stats.kinds(), context.stats.pages_gone.get())
            }
            failures => failures.join("; "),
        };
        return Err(Failure::new(exit, format!("no seed could be fetched: {failures}")));
    }
    Ok(exit)
}

/// The reason of a run without pages and without failures. `gone` counts the pages that are gone.
fn without_failures(kinds: &BTreeMap<&'static str, u64>, gone: u64) -> String {
    const NO_PAGES: [&str; 4] = ["content_type", "sniffed_type", "attachment", "no_content"];
    let left_out = kinds.keys().find_map(|kind| Some((*kind, visit::left_out(kind)?)));
    match left_out.filter(|_| gone == 0) {
        Some((kind, _)) if NO_PAGES.contains(&kind) => format!(
            "no seed is HTML or plain text ({kind}); to crawl the pages of a sitemap or feed, name its site: crawl https://HOST/"
        ),
        Some((kind, reason)) => format!("{kind}: {reason}"),
        None => "all pages of the last round are gone".to_owned(),
    }
}

/// Reports how the state directory affects this run.
fn print_round_notes(context: &Context, state: &State, quiet: bool) {
    let settings = &context.config.state;
    let place = if settings.is_shared() {
        format!("the crawl \"{}\"", settings.crawl)
    } else {
        state.dir.display().to_string()
    };
    if state.other_rules {
        let what = if state.new_round {
            "each visited page is extracted again, and the boilerplate of its site is learned again"
        } else {
            "pages that this round has already extracted stay unchanged"
        };
        tracing::warn!(
            "{place} was made with other rules, settings of extraction or cleaning, or another version: {what}"
        );
    }
    if state.other_links && state.new_round {
        tracing::warn!(
            "{place} was made with other settings of scope or filters: the links of each visited page are read again"
        );
    }
    let replaces = !context.config.output.replace.is_empty();
    let is_of_changes = state.new_round && context.recrawl.on && context.config.output.emit == Emit::Changes;
    // after rounds without a record every page is new
    if replaces && is_of_changes && state::has_records(&*state.store).unwrap_or(true) {
        tracing::warn!(
            "{} will hold only pages that are new, changed or gone since their last visit; append them with -o, or crawl everything again with --fresh",
            context.config.output.replace
        );
    }
    if !quiet && !state.new_round && context.config.log.format == LogFormat::Text {
        say(&format!("going on with round {} in {place}", state.round));
    }
}
