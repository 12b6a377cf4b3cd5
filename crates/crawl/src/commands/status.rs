//! `crawl status`: shows the state of a crawl. It takes no lock and writes nothing.

use super::{
    error_log::{last_lines, names_trap},
    next_visits::NextVisits,
    write_json, write_text,
};
use crate::{
    cli::StatusArgs,
    report::{Changes, Report},
    words::counted,
};
use crawl_dedup::Release;
use crawl_engine::{
    config::{self, Config, DedupSection},
    context::RETRY_AFTER_KEY,
    exit::{Exit, Failure},
    host_state,
    site_counts::{self, MissedSite, MissedTemplate},
    state::{self, SharedCrawl},
};
use crawl_model::{FrontierCounts, HostBound, StoreError, now_ms, rfc3339};
use crawl_output::shown;
use crawl_store::{Holder, HostCounts, StateLock, StateStore, StoreSize, WorkerState};
use jiff::{SignedDuration, Timestamp, Unit};
use serde::Serialize;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    path::{Path, PathBuf},
};

/// State of a crawl.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    state_dir: PathBuf,
    /// The process that holds the lock of the state, if there is one.
    running: Option<Holder>,
    /// Workers of a crawl in a database.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    workers: Vec<WorkerState>,
    round: u32,
    /// True if the round has ended.
    finished: bool,
    frontier: FrontierCounts,
    /// Records that the round has written: those of new, changed and gone pages, and with `--emit all` of unchanged ones.
    records_written: u64,
    /// Changes in the round by the reports of its runs; none if those lack a run.
    #[serde(skip)]
    changes: Option<Changes>,
    /// The round may have refused URLs of a trap, which the store counts as failed.
    #[serde(skip)]
    has_traps: bool,
    /// Those with most URLs first.
    hosts: Vec<HostStatus>,
    /// Hosts with URLs that have not ended, shown or not.
    hosts_at_work: usize,
    /// Time of the next retry. A URL that is due now counts as queued.
    next_retry: Option<String>,
    /// Next visits of the pages of a finished round.
    next_visits: Option<NextVisits>,
    /// Hosts that are blocked by `Retry-After`, and until when.
    left_alone: BTreeMap<String, String>,
    /// Hosts with page templates whose content the rules missed, most pages first.
    missed_sites: Vec<MissedSite>,
    last_errors: Vec<Value>,
    bytes: u64,
    free_bytes: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HostStatus {
    host: String,
    queued: u64,
    waiting: u64,
    in_flight: u64,
    held: u64,
    /// The reason for which pages are held, if any are.
    held_because: Option<HeldReason>,
    /// The setting that keeps more URLs of the host out of the frontier, if one does.
    full: Option<&'static str>,
}

/// The reason for which pages of a host are held.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
enum HeldReason {
    /// Fewer than `min_pages` pages of the host are known.
    TooFewPages,
    /// The next pages of the host are likely to change their text.
    Unstable,
    /// All pages wait for `settle_pages` or the end of the host.
    Unsettled,
}

impl HeldReason {
    fn in_words(self, dedup: &DedupSection) -> String {
        match self {
            Self::TooFewPages => format!("fewer than {} pages of it are known", dedup.min_pages),
            Self::Unstable => "its next pages may change their text".into(),
            Self::Unsettled => format!("until it has {} pages or no more", dedup.settle_pages),
        }
    }
}

impl HostStatus {
    fn of(store: &dyn StateStore, places: HostCounts, settings: &Config) -> Result<Self, StoreError> {
        let dedup = &settings.dedup;
        let HostCounts { host, queued, waiting, leased, held } = places;
        let held_because = match held {
            0 => None,
            _ if host_state::is_settled(store.load_host(&host)?.as_deref()) => Some(HeldReason::Unstable),
            held if held < dedup.min_pages as u64 => Some(HeldReason::TooFewPages),
            _ if dedup.release == Release::Early => Some(HeldReason::Unstable),
            _ => Some(HeldReason::Unsettled),
        };
        let full = store.full_by(&host, settings.traps.host_bounds())?.map(|bound| match bound {
            HostBound::Urls => "traps.host_urls",
            HostBound::Bytes => "traps.host_bytes",
        });
        Ok(Self { host: host.to_string(), queued, waiting, in_flight: leased, held, held_because, full })
    }
}

pub fn run(args: &StatusArgs) -> Result<Exit, Failure> {
    let settings =
        config::load(args.state.config.as_deref(), config::environment()?, args.state.overrides())?;
    let status = match SharedCrawl::of(&settings)? {
        Some(shared) => {
            if !settings.state.dir.is_empty() {
                shared.check_dir(Path::new(&settings.state.dir))?;
            }
            let store = shared.read()?;
            let status = Status::of(&*store, &shared.place(), args, &settings);
            // each worker has an error log of its own
            let last_errors = match settings.state.dir.as_str() {
                "" => Vec::new(),
                dir => last_lines(&Path::new(dir).join(state::ERROR_LOG), args.errors),
            };
            Status { last_errors, ..status.map_err(|e| shared.in_store(e))? }
        }
        None => {
            let dir = state::dir_to_read(&settings, &args.state.all_seeds())?;
            if !crawl_store::state::exists(&dir) && settings.state.dir.is_empty() {
                return Err(no_state(&dir, &args.state.all_seeds()));
            }
            Status::of_dir(&dir, args, &settings).map_err(|e| e.in_state(&dir))?
        }
    };
    if args.json {
        let text =
            serde_json::to_string_pretty(&status).map_err(|e| Failure::new(Exit::Internal, e.to_string()))?;
        write_json((text + "\n").as_bytes())?;
    } else {
        write_text(&status.in_words(&settings.dedup, args.hosts))?;
    }
    Ok(Exit::Done)
}

/// The refusal of seeds that name no state.
fn no_state(dir: &Path, seeds: &[PathBuf]) -> Failure {
    let meant = seeds.iter().find(|seed| crawl_store::state::exists(seed));
    let remedy = match meant {
        Some(meant) => format!("did you mean --state-dir {}?", meant.display()),
        None => "name the seeds as in the crawl, or its directory with --state-dir".to_owned(),
    };
    Failure::usage(format!("{} holds no state of a crawl: {remedy}", dir.display()))
}

impl Status {
    fn of_dir(dir: &Path, args: &StatusArgs, settings: &Config) -> Result<Self, Failure> {
        let usage = |error: StoreError| match error {
            StoreError::Other(words) => Failure::usage(words),
            error => error.into(),
        };
        state::refuse_worker(dir)?;
        let running = StateLock::holder(dir);
        let store = crawl_store::state::open_read_only(dir).map_err(usage)?;
        let is_earlier = state::is_log_of_earlier_round(&*store, dir)?;
        let last_errors =
            if is_earlier { Vec::new() } else { last_lines(&dir.join(state::ERROR_LOG), args.errors) };
        let status = Self::of(&*store, dir, args, settings)?;
        let report = Report::read(dir).ok();
        let changes = report.as_ref().and_then(|report| status.changes_in(report));
        let has_traps = !is_earlier && names_trap(&dir.join(state::ERROR_LOG));
        Ok(Self { running, last_errors, changes, has_traps, ..status })
    }

    /// The changes of a later round. Runs without a report, such as killed ones, leave records that no report counts.
    fn changes_in(&self, report: &Report) -> Option<Changes> {
        let changes = report.changes_of(self.round);
        let Changes { new, changed, unchanged, gone } = changes;
        let written = new + changed + gone;
        let is_whole = [written, written + unchanged].contains(&self.records_written);
        (is_whole && changed + unchanged + gone > 0).then_some(changes)
    }

    /// The status without the parts that come from a directory.
    fn of(
        store: &dyn StateStore,
        place: &Path,
        args: &StatusArgs,
        settings: &Config,
    ) -> Result<Self, Failure> {
        let (frontier, mut hosts) = (store.counts()?, store.hosts()?);
        let hosts_at_work = hosts.len();
        hosts.truncate(args.hosts);
        let now = now_ms();
        let pauses: BTreeMap<String, i64> =
            store.get(RETRY_AFTER_KEY)?.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        let left_alone =
            pauses.into_iter().filter(|(_, until)| *until > now).map(|(host, until)| (host, rfc3339(until)));
        let StoreSize { file, free } = store.size()?;
        let finished = state::is_finished(store)?;
        let next_visits =
            if finished { Some(NextVisits::of(store, settings, &args.state.all_seeds())?) } else { None };
        Ok(Self {
            running: None,
            workers: store.workers()?,
            round: store.round()?,
            finished,
            next_visits,
            frontier,
            records_written: state::records_of_round(store)?,
            changes: None,
            // a database has no kinds of failures
            has_traps: frontier.failed > 0,
            hosts: hosts
                .into_iter()
                .map(|places| HostStatus::of(store, places, settings))
                .collect::<Result<_, _>>()?,
            hosts_at_work,
            next_retry: store.next_due()?.filter(|due| *due > now).map(rfc3339),
            left_alone: left_alone.collect(),
            missed_sites: site_counts::missed_sites(store)?,
            last_errors: Vec::new(),
            bytes: file,
            free_bytes: free,
            state_dir: place.to_owned(),
        })
    }

    /// Adds the numbers of URLs that have ended in the round.
    fn write_round(&self, out: &mut String) {
        let FrontierCounts { failed, skipped, redirected, .. } = &self.frontier;
        let traps = if self.has_traps { " (traps included)" } else { "" };
        let changes = self.changes.map_or_else(String::new, |Changes { new, changed, gone, .. }| {
            format!(" ({new} new, {changed} changed, {gone} gone)")
        });
        let _ = writeln!(
            out,
            "  round {}: {}{changes}, {} failed{traps}, {skipped} skipped, {redirected} redirected",
            self.round,
            counted(self.records_written, "record"),
            counted(*failed, "URL"),
        );
    }

    fn in_words(&self, dedup: &DedupSection, shown: usize) -> String {
        let mut out = String::new();
        let FrontierCounts { pending, leased, held, unchanged, gone, .. } = &self.frontier;
        let live = self.workers.iter().filter(|worker| worker.lease_ms > 0).count();
        let how = match (&self.running, self.finished, self.round) {
            _ if live > 0 => format!("running: {live} workers"),
            (Some(holder), ..) => format!("running: {holder}"),
            (None, _, 0) => "not begun".into(),
            (None, true, round) => format!("round {round} is complete; the same command starts the next one"),
            (None, false, round) => format!("round {round} is unfinished; the same command continues"),
        };
        let _ = writeln!(out, "{}\n  {how}", self.state_dir.display());
        self.write_round(&mut out);
        if unchanged + gone > 0 {
            let among = if *gone > 0 { " (the records name them)" } else { "" };
            let _ = writeln!(out, "  pages of earlier rounds: {unchanged} unchanged, {gone} gone{among}");
        }
        let _ = writeln!(
            out,
            "  frontier: {pending} queued, {leased} in flight, {held} held until more pages of their host are known"
        );
        if let Some(at) = &self.next_retry {
            let _ = writeln!(out, "  next try of what failed for now: {}", until(at));
        }
        for line in self.next_visits.iter().flat_map(|visits| visits.in_words(shown, until)) {
            let _ = writeln!(out, "  {line}");
        }
        for (host, at) in &self.left_alone {
            let _ = writeln!(out, "  {host} asked to be left alone: {}", until(at));
        }
        write_missed_sites(&mut out, &self.missed_sites, shown);
        if !self.hosts.is_empty() {
            let _ =
                writeln!(out, "\n  {:>8} {:>8} {:>9} {:>6}  host", "queued", "waiting", "in flight", "held");
        }
        for host in &self.hosts {
            let HostStatus { host, queued, waiting, in_flight, held, held_because, full } = host;
            let why = held_because.map(|why| format!("  (held: {})", why.in_words(dedup)));
            let full = full.map(|setting| format!("  (no room for more: {setting})"));
            let why = why.into_iter().chain(full).collect::<String>();
            let _ = writeln!(out, "  {queued:>8} {waiting:>8} {in_flight:>9} {held:>6}  {host}{why}");
        }
        let more = self.hosts_at_work - self.hosts.len();
        if more > 0 {
            let _ = writeln!(out, "  and {more} hosts more (--hosts {})", self.hosts_at_work);
        }
        write_errors(&mut out, &self.last_errors);
        out
    }
}

/// Adds the last errors, the latest of each URL.
fn write_errors(out: &mut String, lines: &[Value]) {
    if !lines.is_empty() {
        let _ = writeln!(out, "\n  last errors:");
    }
    for line in latest_of_urls(lines) {
        let field = |name: &str| shown::line(line[name].as_str().unwrap_or_default());
        let _ = writeln!(out, "  {} {}: {}: {}", field("at"), field("kind"), field("url"), field("message"));
    }
}

/// Names the templates whose content the rules missed.
fn write_missed_sites(out: &mut String, sites: &[MissedSite], most: usize) {
    for site in sites.iter().take(most) {
        let _ = writeln!(
            out,
            "  {}: the rules miss the content of templates, mended by what its pages share",
            site.host
        );
        for MissedTemplate { template, pages, noticed_at_page, example, .. } in &site.templates {
            let _ = writeln!(
                out,
                "    {pages} pages  {template}  (noticed after {noticed_at_page} counted pages: {example})"
            );
        }
        if site.due_again > 0 {
            let _ =
                writeln!(out, "    {} pages were written before that: due in the next round", site.due_again);
        }
    }
    if sites.len() > most {
        let _ = writeln!(
            out,
            "  and {} hosts more with such templates (--hosts {})",
            sites.len() - most,
            sites.len()
        );
    }
}

/// A moment, and how far off it is.
fn until(at: &str) -> String {
    let Ok(moment) = at.parse::<Timestamp>() else { return at.to_owned() };
    let left = moment.duration_since(Timestamp::now()).max(SignedDuration::ZERO);
    let left = left.round(Unit::Second).unwrap_or(left);
    format!("{at} (in {left:#})")
}

/// The latest line of each URL, in order: a URL that failed again has a line for each attempt.
fn latest_of_urls(lines: &[Value]) -> Vec<&Value> {
    let mut known = BTreeSet::new();
    let mut latest: Vec<&Value> =
        lines.iter().rev().filter(|line| known.insert(line["url"].as_str().unwrap_or_default())).collect();
    latest.reverse();
    latest
}
