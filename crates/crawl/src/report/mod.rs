//! The report of a run: `report.json` in the state directory, and `report.html` made of it, a page that needs nothing else.

mod samples;

pub use samples::{Sample, Samples};

use crawl_engine::{
    context::Context,
    exit::Exit,
    site_counts::{self, MissedSite},
    stats::{Example, HostFigures, Stats},
};
use crawl_model::{FrontierCounts, HostKey, rfc3339};
use crawl_output::{replace, replace_private};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

const PAGE: &str = include_str!("report.html");
/// Version of `report.json`.
const VERSION: u32 = 1;
/// Hosts with missed templates in the report.
const MISSED_SITES: usize = 300;
/// Runs before this one in the report.
const HISTORY: usize = 60;

/// Names of a run's seeds and outputs, for its report and its messages.
#[derive(Clone, Debug, Default)]
pub struct Named {
    /// The output.
    pub output: String,
    /// The error log.
    pub errors: String,
    /// Seeds as named on the command line, without passwords.
    pub seeds: Vec<String>,
    /// The command line, without secrets.
    pub command: String,
}

/// Result of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    version: u32,
    /// The program's version.
    program: String,
    /// Command line, seeds and output.
    #[serde(default)]
    command: String,
    #[serde(default)]
    seeds: Vec<String>,
    #[serde(default)]
    output: String,
    /// Description of the run's end.
    ended: String,
    exit_code: u8,
    totals: Totals,
    frontier: FrontierCounts,
    statuses: BTreeMap<u16, u64>,
    strategies: BTreeMap<String, u64>,
    /// Numbers of URLs without a record.
    kinds: BTreeMap<String, u64>,
    not_rendered: BTreeMap<String, u64>,
    /// The first pages that are new, changed and gone.
    #[serde(default)]
    changed_pages: BTreeMap<String, Vec<String>>,
    /// The first pages without a record that are no failures, by kind.
    #[serde(default)]
    left_out: BTreeMap<String, Vec<String>>,
    /// Failures by kind, with the first few of each.
    failures: Vec<Failures>,
    /// Upper bounds in milliseconds, with the responses that took no longer.
    latency: Vec<(u64, u64)>,
    hosts: Vec<HostReport>,
    /// Hosts with templates whose content the rules missed.
    #[serde(default)]
    missed_sites: Vec<MissedSite>,
    samples: Vec<Sample>,
    /// Runs before this one, oldest first.
    before: Vec<Totals>,
}

/// The sums of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Totals {
    round: u32,
    started_at: String,
    seconds: f64,
    records: u64,
    pages: u64,
    errors: u64,
    duplicates: u64,
    soft_404s: u64,
    without_text: u64,
    received_bytes: u64,
    html_bytes: u64,
    content_bytes: u64,
    removed_bytes: u64,
    written_bytes: u64,
    changes: Changes,
}

/// Changes of pages since earlier rounds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Changes {
    /// Pages that no earlier round had.
    pub new: u64,
    /// Pages with another text.
    pub changed: u64,
    /// Pages without a change.
    pub unchanged: u64,
    /// Pages that no longer exist.
    pub gone: u64,
}

/// Failures of one kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Failures {
    kind: String,
    count: u64,
    examples: Vec<Example>,
}

/// The figures of a host.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HostReport {
    host: String,
    requests: u64,
    mean_ms: u64,
    median_ms: u64,
    p95_ms: u64,
    records: u64,
    /// Failures by kind.
    #[serde(default)]
    errors: BTreeMap<String, u64>,
    content_bytes: u64,
    removed_bytes: u64,
}

impl Report {
    /// The report of a run that has just ended, how in words and by its code. `dir` is its state directory, which may
    /// contain the report of the previous run.
    #[must_use]
    pub fn of(
        (context, samples, named): (&Context, &Samples, &Named),
        round: u32,
        dir: &Path,
        (ended, exit): (&str, Exit),
        frontier: FrontierCounts,
    ) -> Self {
        let stats = &context.stats;
        let counted = |(kind, n): (&'static str, u64)| (kind.to_owned(), n);
        Self {
            version: VERSION,
            program: env!("CRAWL_VERSION").to_owned(),
            command: named.command.clone(),
            seeds: named.seeds.clone(),
            output: named.output.clone(),
            ended: ended.to_owned(),
            exit_code: exit as u8,
            totals: totals(context, round),
            frontier,
            statuses: stats.statuses(),
            strategies: stats.strategies().into_iter().map(|(s, n)| (s.name().to_owned(), n)).collect(),
            kinds: stats.kinds().into_iter().map(counted).collect(),
            not_rendered: stats.not_rendered().into_iter().map(counted).collect(),
            changed_pages: stats.changed_pages().into_iter().map(|(c, urls)| (c.to_owned(), urls)).collect(),
            left_out: stats.left_out().into_iter().map(|(kind, urls)| (kind.to_owned(), urls)).collect(),
            failures: failures(context),
            latency: stats.latency().cumulative().collect(),
            hosts: hosts(stats),
            missed_sites: missed_sites(context),
            samples: samples.until_now(stats),
            before: Self::read(dir).map_or_else(|_| Vec::new(), Self::into_history),
        }
    }

    /// The changes in all runs of a round, as far as each has left a report.
    #[must_use]
    pub fn changes_of(&self, round: u32) -> Changes {
        let runs = self.before.iter().chain([&self.totals]).filter(|run| run.round == round);
        runs.map(|run| run.changes).fold(Changes::default(), |sum, run| Changes {
            new: sum.new + run.new,
            changed: sum.changed + run.changed,
            unchanged: sum.unchanged + run.unchanged,
            gone: sum.gone + run.gone,
        })
    }

    /// Returns the runs of the next report's history: those before this one, and this one.
    fn into_history(self) -> Vec<Totals> {
        let mut runs = self.before;
        runs.push(self.totals);
        runs.drain(..runs.len().saturating_sub(HISTORY));
        runs
    }

    /// Reads the report in a state directory.
    ///
    /// # Errors
    /// When there is none, or it is none of ours.
    pub fn read(dir: &Path) -> io::Result<Self> {
        let report: Self = serde_json::from_slice(&fs::read(dir.join(DATA))?)?;
        if report.version == VERSION {
            Ok(report)
        } else {
            Err(io::Error::other(format!(
                "{DATA} has version {}, this program reads {VERSION}",
                report.version
            )))
        }
    }

    /// Writes `report.json` and `report.html` into a state directory; returns the path of the page.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, dir: &Path) -> io::Result<PathBuf> {
        replace_private(&dir.join(DATA), &serde_json::to_vec(self)?)?;
        self.write_page_in(dir)
    }

    /// Writes `report.html` into a state directory; returns its path.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_page_in(&self, dir: &Path) -> io::Result<PathBuf> {
        let page = dir.join(PAGE_NAME);
        replace_private(&page, &self.page()?)?;
        Ok(page)
    }

    /// Writes only the HTML page.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_page(&self, path: &Path) -> io::Result<()> {
        replace(path, &self.page()?)
    }

    fn page(&self) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        crawl_corpus::fill_page(PAGE, self, &mut out).map_err(io::Error::other)?;
        Ok(out)
    }
}

/// Name of the page in the state directory.
pub(crate) const PAGE_NAME: &str = "report.html";

/// Name of the data in the state directory.
const DATA: &str = "report.json";

/// Writes the report of a run, and returns its absolute path. A failure is a warning and does not fail the run.
pub fn leave(
    (context, samples, named): (&Context, &Samples, &Named),
    round: u32,
    dir: &Path,
    end: (&str, Exit),
    frontier: &FrontierCounts,
) -> Option<PathBuf> {
    let report = Report::of((context, samples, named), round, dir, end, *frontier);
    report
        .write(dir)
        .map(|page| crawl_output::absolute(&page))
        .inspect_err(|error| tracing::warn!(dir = %dir.display(), %error, "the report cannot be written"))
        .ok()
}

fn totals(context: &Context, round: u32) -> Totals {
    let stats = &context.stats;
    let elapsed = stats.started.elapsed();
    let began = crawl_model::now_ms() - i64::try_from(elapsed.as_millis()).unwrap_or(0);
    Totals {
        round,
        started_at: rfc3339(began),
        seconds: elapsed.as_secs_f64(),
        records: stats.records.get(),
        pages: stats.pages.get(),
        errors: stats.failed.get(),
        duplicates: stats.duplicates.get(),
        soft_404s: stats.soft_404s.get(),
        without_text: stats.all_boilerplate.get(),
        received_bytes: stats.wire_bytes.get(),
        html_bytes: stats.body_bytes.get(),
        content_bytes: stats.content_bytes.get(),
        removed_bytes: stats.removed_bytes.get(),
        written_bytes: stats.written_bytes.get(),
        changes: Changes {
            new: stats.pages_new.get(),
            changed: stats.pages_changed.get(),
            unchanged: stats.pages_unchanged.get(),
            gone: stats.pages_gone.get(),
        },
    }
}

/// Hosts with page templates whose content the rules missed, most pages first. A state that cannot be read has none:
/// its error ends the run elsewhere.
fn missed_sites(context: &Context) -> Vec<MissedSite> {
    let mut sites = site_counts::missed_sites(&*context.store).unwrap_or_default();
    sites.truncate(MISSED_SITES);
    sites
}

fn failures(context: &Context) -> Vec<Failures> {
    let kinds = context.stats.kinds();
    let mut failures: Vec<Failures> = context
        .stats
        .failures()
        .into_iter()
        .map(|(kind, examples)| Failures {
            kind: kind.to_owned(),
            count: kinds.get(kind).copied().unwrap_or_default(),
            examples,
        })
        .collect();
    failures.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.kind.cmp(&b.kind)));
    failures
}

/// All hosts with figures, those with most requests first.
fn hosts(stats: &Stats) -> Vec<HostReport> {
    let mut failures = stats.host_failures();
    let report = |(host, figures): (HostKey, HostFigures)| HostReport {
        requests: figures.latency.count(),
        mean_ms: figures.latency.mean_ms(),
        median_ms: figures.latency.quantile_ms(0.5),
        p95_ms: figures.latency.quantile_ms(0.95),
        records: figures.records,
        errors: failures
            .remove(&host)
            .unwrap_or_default()
            .into_iter()
            .map(|(kind, n)| (kind.to_owned(), n))
            .collect(),
        content_bytes: figures.content_bytes,
        removed_bytes: figures.removed_bytes,
        host: host.to_string(),
    };
    stats.busiest(usize::MAX).into_iter().map(report).collect()
}
