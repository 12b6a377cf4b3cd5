//! A crawl: from flags to a finished run.

pub use crate::run_end::finish;
use crate::{
    background_tasks::BackgroundTasks,
    cli::RunArgs,
    distinct_files,
    logging::{say, say_as},
    place::Place,
    progress,
    reconnect::{Patience, is_passing_error, may_succeed_later},
    report::{Named, Samples},
    run_end::{Summary, leave_report, places_of, run_end},
    signals::StopRequest,
    upkeep,
    usage_error::command_line,
};
use crawl_engine::{
    config::{self, AuthEntry, Config, Emit, LogFormat},
    context::Context,
    descriptors,
    ending::Ending,
    exit::{Exit, Failure},
    platform::Platform,
    seeds::{self, Seeds},
    session::{Session, check_browser, check_files, check_outputs, check_owner},
    state::{self, SharedCrawl, State},
    stats::Stats,
    threads,
};
use crawl_fetch::{Seed, is_public};
use crawl_model::{FrontierCounts, Origin, StoreError, hide_userinfo};
use crawl_server::{
    metrics::Metrics,
    notify::{Notifier, RunEnd},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
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
            "name a site: crawl https://example.org/, or a seed file: crawl --seed urls.txt (see crawl --help)",
        ));
    }
    check_names(args, &config)?;
    let Seeds { seeds, sites, .. } = seeds::of_names(&names, |line| say_as(Level::WARN, line))?;
    // a seed line is more special than a table of the file
    config.site.splice(0..0, sites);
    warn_without_contact(&config, &seeds);
    warn_of_another_origin(&config, &seeds);
    let shared = SharedCrawl::of(&config)?;
    let is_temporary = shared.is_none() && dir.is_none() && state::is_temporary(&config);
    let temporary = is_temporary.then(state::temporary).transpose()?;
    config.state.report &= temporary.is_none();
    let mut place = match (shared, &temporary, dir) {
        (Some(_), ..) if args.fresh => return Err(fresh_refused()),
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
    check_files(&config)?;
    if let (Place::Shared(crawl), Some(prepare)) = (&place, prepare)
        && !prepare(crawl, &config)?
    {
        return Ok(Exit::Done);
    }
    let early = args.fresh.then(|| runtime.block_on(Metrics::open(&config.metrics))).transpose()?;
    let mut state = place.open(&config, args.fresh)?;
    state.is_temporary = temporary.is_some();
    // without metrics, another run on the same state is reported first
    let metrics = early.map_or_else(|| runtime.block_on(Metrics::open(&config.metrics)), Ok)?;
    upkeep::remove_old(&config.state, &state.dir, args.quiet);
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let named = Named { seeds: shown_names(&names), command: command_line(words), ..Named::default() };
    let (samples, stop, quiet) = (Arc::default(), StopRequest::new(args.quiet), args.quiet);
    let job = Job { config, seeds: &seeds, place, named, notifier, samples, stop, quiet };
    runtime.block_on(job.run(state, metrics))
}

/// Refuses an output that would replace a seed file or settings, or that is another output. Records may be appended to
/// the seed file.
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
fn fresh_refused() -> Failure {
    Failure::usage(
        "--fresh cannot delete a crawl that other workers may be using: choose another --crawl, or drop its schema",
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
                Err(failure) if self.place.is_shared() && may_succeed_later(&failure) => failure,
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

/// Warns if a seed gets no credentials, although an entry of `fetch.auth` names its host with another scheme or port.
fn warn_of_another_origin(config: &Config, seeds: &[Seed]) {
    let auth = &config.fetch.auth;
    if auth.is_empty() {
        return;
    }
    let has_origin = |url: &Url| auth.iter().any(|entry| Origin::of(url).as_ref() == Some(entry.origin()));
    // a seed without a scheme may be fetched with either
    let mut others = seeds.iter().filter(|seed| !seed.bare && !has_origin(&seed.url));
    let named = others.find_map(|seed| {
        let is_host =
            |origin: &Origin| Url::parse(origin.as_str()).is_ok_and(|url| url.host() == seed.url.host());
        Some((seed, auth.iter().map(AuthEntry::origin).find(|origin| is_host(origin))?))
    });
    if let Some((seed, origin)) = named {
        tracing::warn!(
            "fetch.auth: the secret of {origin} is not sent to the seed {}: scheme, host and port have to be equal",
            seed.url
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
            let stats = state.earlier.as_ref().map(Stats::for_next_session);
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
        tracing::warn!(%error, "the end of the run could not be recorded for the metrics");
    }
    // another attempt follows
    let continues = is_shared && exit.as_ref().err().is_some_and(may_succeed_later);
    let mut end = notifier.map(|_| run_end(&context, state, &named, &exit));
    if let Some(notifier) = notifier.filter(|_| !continues)
        && let Some(end) = end.take()
    {
        notifier.run_ended(&end).await;
    }
    tasks.end().await;
    Attempt { outcome: exit, summary, end, stats: Some(context.stats.for_next_session()) }
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
            "{place} was made with other settings for scope or filters: each visited page is fetched again to read its links"
        );
    }
    let replaces = !context.config.output.replace.is_empty();
    let is_of_changes = state.new_round && context.recrawl.on && context.config.output.emit == Emit::Changes;
    // after rounds without a record every page is new
    if replaces && is_of_changes && state::has_records(&*state.store).unwrap_or(true) {
        tracing::warn!(
            "{} will contain only pages that are new, changed or gone since their last visit; append them with -o, or crawl everything again with --fresh",
            context.config.output.replace
        );
    }
    if !quiet && !state.new_round && context.config.log.format == LogFormat::Text {
        say(&format!("continuing round {} in {place}", state.round));
    }
}
