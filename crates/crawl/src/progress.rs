//! Messages of a run, during it and at its end.

use crate::{
    logging::say,
    progress_line::{Counts, ProgressLine, waiting},
    terminal,
    words::counted,
};
use bytesize::ByteSize;
use crawl_engine::{
    bounds::Bound,
    config::Config,
    context::Context,
    ending::Ending,
    exit::{Exit, exit_code},
    hints,
    stage_error::StageError,
    stats::{HostFigures, SeedsWithoutRecord, Stats},
};
use crawl_model::{FrontierCounts, HostKey, StoreError};
use crawl_output::{OutputError, absolute};
use crawl_projects::DEFAULT_PROJECT;
use serde_json::{Map, Value};
use std::{collections::BTreeMap, fmt::Write as _, path::Path, sync::Arc, time::Duration};
use tokio::time::Instant;

/// Pause between two redraws of the progress line.
const REDRAW: Duration = Duration::from_millis(250);
/// Pause between two plain lines without a terminal.
const PLAIN: Duration = Duration::from_secs(30);
/// Hosts named as the slowest.
const SLOWEST: usize = 3;
/// Seeds without a record that the summary names.
const NAMED_SEEDS: usize = 5;

/// Shows progress until the run ends: a live line on a terminal, now and then a plain one elsewhere.
pub async fn show(context: Arc<Context>, done: tokio_util::sync::CancellationToken) {
    let bar = terminal::is_capable().then(terminal::start_bar);
    let pause = if bar.is_some() { REDRAW } else { PLAIN };
    let mut progress = ProgressLine::new(context.stats.started);
    loop {
        tokio::select! {
            () = done.cancelled() => break,
            () = tokio::time::sleep(pause) => {}
        }
        let known =
            context.in_storage(|context| Ok((context.store.counts()?, context.store.next_due()?))).await;
        let Ok((frontier, next_due)) = known else { continue };
        let counts = Counts::of(&context, &frontier, next_due);
        let width = if bar.is_some() { terminal::width_of_line() } else { usize::MAX };
        let line = progress.line(&context.config, &counts, Instant::now(), width);
        match &bar {
            Some(bar) => {
                bar.set_message(line);
                bar.tick();
            }
            None => say(&line),
        }
    }
    terminal::end_bar();
}

/// Places of outputs, for the summary.
pub struct Places<'a> {
    /// Name of the output.
    pub output: &'a str,
    /// The error log; `None` with a temporary state.
    pub errors: Option<&'a Path>,
    /// The report.
    pub report: Option<&'a Path>,
}

/// Describes the end of a run in a few words.
#[must_use]
pub fn heading(
    error: Option<&StageError>,
    ending: Ending,
    counts: &FrontierCounts,
    stats: &Stats,
) -> &'static str {
    match (error, ending) {
        (Some(StageError::Output(OutputError::ClosedPipe)), _) => "the reader closed the pipe",
        (Some(StageError::Output(OutputError::Abandoned)), _) => "interrupted, state saved",
        (Some(StageError::Output(OutputError::Write { .. }) | StageError::Store(StoreError::Full(_))), _) => {
            "stopped, nothing can be written"
        }
        (Some(StageError::Store(StoreError::Unavailable(_))), _) => "stopped, the database cannot be used",
        (Some(StageError::Outage { .. }), _) => "stopped, no request can be made",
        (Some(_), _) => "stopped by an error",
        (None, Ending::Limit(Bound::Records)) => "stopped by the limit",
        (None, Ending::Limit(Bound::Time)) => "stopped by --max-time",
        (None, Ending::Limit(Bound::Bytes)) => "stopped by --max-bytes",
        (None, Ending::Interrupted) => "interrupted, state saved",
        (None, Ending::Drained) if exit_code(ending, counts, stats) == Exit::NoSeed => {
            "no seed could be fetched"
        }
        (None, Ending::Drained) => "done",
    }
}

/// The summary as fields of a JSON line, for collectors of logs.
#[must_use]
pub fn summary_json(
    context: &Context,
    why: &str,
    counts: &FrontierCounts,
    places: &Places<'_>,
) -> Map<String, Value> {
    let stats = &context.stats;
    let strategies: BTreeMap<&str, u64> = stats.strategies().iter().map(|(s, n)| (s.name(), *n)).collect();
    let fields = serde_json::json!({
        "ended": why,
        "seconds": stats.started.elapsed().as_secs_f64(),
        "records": stats.records.get(),
        "pages": stats.pages.get(),
        "visited": visited(stats),
        "errors": stats.failed.get(),
        "failedUrls": stats.failed_urls(),
        "seedsWithoutRecord": seeds_json(stats),
        "changes": {
            "new": stats.pages_new.get(),
            "changed": stats.pages_changed.get(),
            "unchanged": stats.pages_unchanged.get(),
            "gone": stats.pages_gone.get(),
        },
        "statuses": stats.statuses(),
        "strategies": strategies,
        "noRecord": stats.kinds(),
        "notRendered": stats.not_rendered(),
        "browser": context.strategies.browser.unavailable().map(|why| format!("{}: {}", why.message, why.hint)),
        "bytesReceived": stats.wire_bytes.get(),
        "bytesWritten": stats.written_bytes.get(),
        "bytesRemoved": stats.removed_bytes.get(),
        "bySite": stats.by_site.get(),
        "dueAgain": context.reading.sites.due_again(),
        "duplicates": stats.duplicates.get(),
        "nearDuplicates": stats.near_duplicates.get(),
        "frontier": counts,
        "output": places.output,
        "errorLog": places.errors,
        "report": places.report,
    });
    fields.as_object().cloned().unwrap_or_default()
}

/// The summary of a finished run.
#[must_use]
pub fn summary(context: &Context, why: &str, counts: &FrontierCounts, places: &Places<'_>) -> String {
    let stats = &context.stats;
    let mut out = String::new();
    let seconds = stats.started.elapsed().as_secs_f64();
    let visited = visited(stats);
    #[expect(clippy::cast_precision_loss, reason = "a rate for the eye")]
    let rate = visited as f64 / seconds.max(0.001);
    let _ = writeln!(
        out,
        "{why}: {} from {} in {seconds:.1} s ({rate:.1} pages/s), {} failed",
        counted(stats.records.get(), "record"),
        counted(visited, "page"),
        counted(stats.failed_urls(), "URL"),
    );
    seeds(&mut out, stats);
    for (seed, page) in stats.log_in_seeds().iter().take(NAMED_SEEDS) {
        let _ = writeln!(
            out,
            "  log-in     {seed} leads to the log-in page {page}: name cookies or credentials of the site in fetch.auth"
        );
    }
    changes(&mut out, context);
    row(&mut out, "status", stats.statuses().iter().map(|(status, n)| format!("{status}: {n}")));
    row(&mut out, "strategy", stats.strategies().iter().map(|(strategy, n)| format!("{strategy}: {n}")));
    browser(&mut out, context);
    read(&mut out, stats);
    row(&mut out, "no record", without_record(stats).iter().map(|(kind, n)| format!("{kind}: {n}")));
    bytes(&mut out, context);
    pages(&mut out, context);
    if stats.host_count() > 1 {
        let slowest = stats.slowest(SLOWEST);
        let mean =
            |(host, figures): &(HostKey, HostFigures)| format!("{host} {} ms", figures.latency.mean_ms());
        let slow = slowest.iter().filter(|(_, figures)| figures.latency.mean_ms() > 0);
        row(&mut out, "slowest", slow.map(mean));
    }
    if counts.pending > 0 {
        row(&mut out, "waiting", waiting(context).into_iter());
    }
    next_step(&mut out, context, why, counts, places.errors.is_some());
    further_outputs(&mut out, &context.config);
    let is_folder = context.config.output.path().is_some_and(crawl_output::is_folder);
    let folder = places.output.strip_suffix("index.jsonl").filter(|_| is_folder);
    let _ = writeln!(out, "  output     {}", folder.unwrap_or(places.output));
    let _ = match places.errors {
        Some(errors) => write!(out, "  errors     {}", errors.display()),
        None => write!(
            out,
            "  state      not kept; with --state-dir DIR the crawl can be resumed, and DIR has errors.jsonl"
        ),
    };
    if let Some(report) = places.report {
        let _ = write!(out, "\n  report     {}", report.display());
    }
    out
}

/// Adds the archive and the project, which get the pages besides the output.
fn further_outputs(out: &mut String, config: &Config) {
    let archive = Some(&config.archive.dir).filter(|dir| !dir.is_empty());
    row(out, "archive", archive.map(|dir| absolute(Path::new(dir)).display().to_string()).into_iter());
    let project = Some(&config.crawl.project).filter(|name| *name != DEFAULT_PROJECT);
    row(out, "project", project.cloned().into_iter());
}

/// Adds the changes since earlier rounds, if those have fetched pages.
fn changes(out: &mut String, context: &Context) {
    if !(context.recrawl.on && context.recrawl.knows_pages) {
        return;
    }
    let Stats { pages_new, pages_changed, pages_unchanged, pages_gone, .. } = &context.stats;
    let _ = writeln!(
        out,
        "  changes    {} new, {} changed, {} unchanged, {} gone",
        pages_new.get(),
        pages_changed.get(),
        pages_unchanged.get(),
        pages_gone.get(),
    );
}

/// Adds the next step of the user with a kept state: to resume, to fetch failed pages again, or to start the next round.
fn next_step(out: &mut String, context: &Context, why: &str, counts: &FrontierCounts, is_kept: bool) {
    if !is_kept {
        return;
    }
    let (queued, held) = (counts.pending + counts.leased, counts.held);
    let failed = context.stats.failed_urls();
    let urls = if failed == 1 { "failed URL".to_owned() } else { counted(failed, "failed URL") };
    // another request for a page that robots.txt forbids would fail as well
    let of_hosts = context.stats.host_failures();
    let useless: u64 = of_hosts.values().filter_map(|kinds| kinds.get("robots_disallowed")).sum();
    let is_known = counts.records + counts.unchanged > 0;
    let _ = match why {
        _ if queued + held > 0 => {
            writeln!(
                out,
                "  next       the same command continues with {queued} queued and {held} held pages"
            )
        }
        "done" if failed > useless => {
            writeln!(out, "  next       crawl retry-errors with the same flags fetches the {urls} again")
        }
        "done" if is_known => {
            writeln!(out, "  next       the same command visits due pages and writes their changes")
        }
        _ => Ok(()),
    };
}

/// The first seeds without a record, as objects.
fn seeds_json(stats: &Stats) -> Vec<Value> {
    let seeds = stats.seeds_without_record().first;
    seeds.into_iter().map(|(url, kind)| serde_json::json!({"url": url, "kind": kind})).collect()
}

/// Pages that answered: with a body, as unchanged, or as gone.
fn visited(stats: &Stats) -> u64 {
    const NOT_MODIFIED: u16 = 304;
    let unchanged = stats.statuses().get(&NOT_MODIFIED).copied().unwrap_or_default();
    stats.pages.get() + unchanged + stats.pages_gone.get()
}

/// Names seeds without a record, each with the reason.
fn seeds(out: &mut String, stats: &Stats) {
    let SeedsWithoutRecord { count, first, .. } = stats.seeds_without_record();
    if count == 0 {
        return;
    }
    let named = first.iter().take(NAMED_SEEDS).map(|(url, kind)| match hints::left_out(kind) {
        Some(reason) => format!("{url} ({kind}: {reason})"),
        None => format!("{url} ({kind})"),
    });
    let mut named: Vec<String> = named.collect();
    let more = count.saturating_sub(named.len() as u64);
    if more > 0 {
        named.push(format!("{more} more"));
    }
    let of = stats.seeds.get().max(count);
    let _ = writeln!(out, "  seeds      {count} of {of} without a record: {}", named.join(", "));
}

/// Kinds of URLs that are read and are no pages.
const SITEMAP: &str = "sitemap";
const SITEMAP_SEED: &str = "sitemap_seed";
const PROBE: &str = "soft404_probe";

/// URLs without a record, by kind. Sitemaps, feeds and probes that were read are none.
fn without_record(stats: &Stats) -> BTreeMap<&'static str, u64> {
    let mut kinds = stats.kinds();
    kinds.retain(|kind, _| ![SITEMAP_SEED, PROBE].contains(kind));
    if let Some(sitemaps) = kinds.get_mut(SITEMAP) {
        *sitemaps = failed_sitemaps(stats).min(*sitemaps);
    }
    kinds.retain(|_, number| *number > 0);
    kinds
}

fn failed_sitemaps(stats: &Stats) -> u64 {
    stats.host_failures().values().filter_map(|kinds| kinds.get(SITEMAP)).sum()
}

/// Adds the numbers of files and probes that were read, and are no pages.
fn read(out: &mut String, stats: &Stats) {
    let kinds = stats.kinds();
    let count = |kind: &str| kinds.get(kind).copied().unwrap_or_default();
    let files = count(SITEMAP_SEED) + count(SITEMAP).saturating_sub(failed_sitemaps(stats));
    let cells = [
        (files, "sitemap or feed", "sitemaps and feeds"),
        (count(PROBE), "probe for error pages", "probes for error pages"),
    ];
    let cells = cells.into_iter().filter(|(number, ..)| *number > 0);
    row(
        out,
        "read",
        cells.map(|(number, one, many)| format!("{number} {}", if number == 1 { one } else { many })),
    );
}

/// Copies, error pages, pages without text, and templates that were mended.
fn pages(out: &mut String, context: &Context) {
    let stats = &context.stats;
    if stats.duplicates.get() + stats.soft_404s.get() + stats.all_boilerplate.get() > 0 {
        let _ = writeln!(
            out,
            "  pages      {} ({} of them near), {}, {} without text",
            counted(stats.duplicates.get(), "duplicate"),
            stats.near_duplicates.get(),
            counted(stats.soft_404s.get(), "soft 404"),
            stats.all_boilerplate.get()
        );
    }
    let due_again = context.reading.sites.due_again();
    if stats.by_site.get() + due_again > 0 {
        let _ = writeln!(
            out,
            "  templates  {} pages extracted by what differs on their site, {} more are due in the next round; `crawl status` names \
             them",
            stats.by_site.get(),
            due_again
        );
    }
}

/// Adds the figures of pages that needed a browser, and a hint if there is none.
fn browser(out: &mut String, context: &Context) {
    let missed = context.stats.not_rendered();
    let rendered = context.strategies.browser.rendered();
    if rendered > 0 && !context.strategies.browser.sandbox() {
        let _ = writeln!(
            out,
            "  browser    {} rendered, without its sandbox (--chrome-no-sandbox)",
            counted(rendered, "page")
        );
    }
    row(out, "unrendered", missed.iter().map(|(kind, n)| format!("{kind}: {n}")));
    if let Some(why) = context.strategies.browser.unavailable().filter(|why| missed.contains_key(why.kind)) {
        let _ = writeln!(out, "             {}: {}", why.message, why.hint);
    }
}

fn bytes(out: &mut String, context: &Context) {
    let stats = &context.stats;
    let (content, removed) = (stats.content_bytes.get(), stats.removed_bytes.get());
    let _ = writeln!(
        out,
        "  bytes      {} received, {} of HTML, {} of text, {} written",
        ByteSize(stats.wire_bytes.get()),
        ByteSize(stats.body_bytes.get()),
        ByteSize(content - removed.min(content)),
        ByteSize(stats.written_bytes.get()),
    );
    if removed > 0 {
        let _ = writeln!(
            out,
            "  repeated   {} of boilerplate removed across pages ({} % of the extracted text)",
            ByteSize(removed),
            removed * 100 / content.max(1)
        );
    }
}

fn row(out: &mut String, name: &str, cells: impl Iterator<Item = String>) {
    let cells: Vec<String> = cells.collect();
    if !cells.is_empty() {
        let _ = writeln!(out, "  {name:10} {}", cells.join(", "));
    }
}
