//! Counts of a run, shared by all stages; read by the progress line and the summary.

pub(crate) mod settled;

use crate::latency::Latency;
use crawl_model::{FailedPage, HostKey, Strategy};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::{
    cmp::Reverse,
    collections::BTreeMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{sync::Notify, time::Instant};
use url::Url;

/// Maximum number of hosts with their own figures. Further hosts only count in the sums.
const MAX_HOSTS: usize = 10_000;
/// Failures whose messages are kept.
const FIRST_FAILURES: usize = 3;
/// Failures of each kind that are kept as examples.
const EXAMPLES: usize = 5;
/// Seeds without a record that are kept.
const SEEDS: usize = 100;
/// Pages that are kept of each kind that is left out, for the report.
const LEFT_OUT_PAGES: usize = 100;
/// Pages that are kept of each kind of change, for the report.
const CHANGED_PAGES: usize = 100;

/// A counter.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Adds.
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Relaxed);
    }

    /// Reads.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Costs and results of a host.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct HostFigures {
    /// Requests answered, and how long they took.
    pub latency: Latency,
    /// Records written.
    pub records: u64,
    /// URLs that failed.
    pub errors: u64,
    /// Bytes of their `content`.
    pub content_bytes: u64,
    /// Bytes of them removed as boilerplate.
    pub removed_bytes: u64,
}

/// Counts of a run.
#[derive(Debug)]
#[non_exhaustive]
pub struct Stats {
    /// Start of the run in this process.
    pub started: Instant,
    /// Start of this session of a worker, which is later after a loss of the database.
    pub session_started: Instant,
    /// Counts of earlier sessions that `records` and `wire_bytes` contain.
    earlier: Earlier,
    /// Age of the run when this process joined it; zero if no other worker was there.
    pub run_age: Duration,
    /// Leases handed to the fetch stage.
    pub leased: Count,
    /// Number of them that are no sitemaps.
    pub page_leases: Count,
    /// Leases returned to the frontier for another try.
    pub requeued: Count,
    /// Records written.
    pub records: Count,
    /// Pages held until the fingerprint of their host settles.
    pub held: Count,
    /// Held pages that were let go.
    pub released: Count,
    /// Pages that an earlier run of the round has held; they become records of this one.
    pub inherited: Count,
    /// URLs that ended otherwise: failed, skipped, redirected.
    pub ended: Count,
    /// Lines of the error log.
    pub failed: Count,
    /// Number of them for URLs that were refused as part of a trap.
    pub trapped: Count,
    /// Seeds of the run.
    pub seeds: Count,
    /// URLs that sitemaps and feeds name.
    pub sitemap_urls: Count,
    /// Number of them outside of scope and filters.
    pub sitemap_urls_left_out: Count,
    /// Sitemaps and feeds that are damaged.
    pub damaged_sitemaps: Count,
    /// Responses with a body that was read.
    pub pages: Count,
    /// Bytes over the wire, bodies only.
    pub wire_bytes: Count,
    /// Bytes of decoded bodies.
    pub body_bytes: Count,
    /// Bytes of output.
    pub written_bytes: Count,
    /// Bytes of `content`, and the bytes of it removed as boilerplate.
    pub content_bytes: Count,
    /// See `content_bytes`.
    pub removed_bytes: Count,
    /// Records with `duplicateOf`.
    pub duplicates: Count,
    /// Near duplicates among them.
    pub near_duplicates: Count,
    /// Records without text because everything was boilerplate.
    pub all_boilerplate: Count,
    /// Pages that are new; the next fields count changed, unchanged and gone ones.
    pub pages_new: Count,
    /// See `pages_new`.
    pub pages_changed: Count,
    /// See `pages_new`.
    pub pages_unchanged: Count,
    /// See `pages_new`.
    pub pages_gone: Count,
    /// Records of soft 404s.
    pub soft_404s: Count,
    /// Pages that were extracted by the evidence of their site, since the rules missed their content.
    pub by_site: Count,
    /// Probes for soft 404s that went to the frontier, and those that have ended.
    pub probes: Count,
    /// See `probes`.
    pub probes_ended: Count,
    tables: Mutex<Tables>,
    /// Wakes the scheduler: links were enqueued, leases ended, or the output advanced.
    pub changed: Notify,
}

#[derive(Clone, Copy, Debug, Default)]
struct Earlier {
    records: u64,
    wire_bytes: u64,
}

#[derive(Clone, Debug, Default)]
struct Tables {
    statuses: BTreeMap<u16, u64>,
    strategies: BTreeMap<Strategy, u64>,
    kinds: BTreeMap<&'static str, u64>,
    not_rendered: BTreeMap<&'static str, u64>,
    latency: Latency,
    hosts: FxHashMap<HostKey, HostFigures>,
    first_failures: Vec<String>,
    failures: BTreeMap<&'static str, Vec<Example>>,
    /// Failures of each host in `hosts`, by kind.
    host_failures: FxHashMap<HostKey, BTreeMap<&'static str, u64>>,
    changed_pages: BTreeMap<&'static str, Vec<String>>,
    left_out: BTreeMap<&'static str, Vec<String>>,
    seeds_without_record: SeedsWithoutRecord,
    log_in_seeds: BTreeMap<String, String>,
}

/// Seeds of a run without a record.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SeedsWithoutRecord {
    /// Number of them.
    pub count: u64,
    /// The first of them, each with the kind that it is counted by.
    pub first: Vec<(String, &'static str)>,
}

impl Tables {
    /// The figures of a host, if there is room for them.
    fn host(&mut self, host: &HostKey) -> Option<&mut HostFigures> {
        if self.hosts.len() >= MAX_HOSTS && !self.hosts.contains_key(host) {
            return None;
        }
        Some(self.hosts.entry(host.clone()).or_default())
    }

    fn note_host_failure(&mut self, failed: &FailedPage) {
        let Some(host) = Url::parse(&failed.url).ok().and_then(|url| HostKey::of(&url)) else { return };
        let Some(figures) = self.host(&host) else { return };
        figures.errors += 1;
        *self.host_failures.entry(host).or_default().entry(failed.kind).or_default() += 1;
    }

    fn note_change(&mut self, change: &'static str, url: &str) {
        let pages = self.changed_pages.entry(change).or_default();
        if pages.len() < CHANGED_PAGES {
            pages.push(url.to_owned());
        }
    }
}

impl Default for Stats {
    fn default() -> Self {
        let now = Instant::now();
        Self {
            started: now,
            session_started: now,
            earlier: Earlier::default(),
            run_age: Duration::ZERO,
            leased: Count::default(),
            page_leases: Count::default(),
            requeued: Count::default(),
            records: Count::default(),
            held: Count::default(),
            released: Count::default(),
            inherited: Count::default(),
            ended: Count::default(),
            failed: Count::default(),
            trapped: Count::default(),
            seeds: Count::default(),
            sitemap_urls: Count::default(),
            sitemap_urls_left_out: Count::default(),
            damaged_sitemaps: Count::default(),
            pages: Count::default(),
            wire_bytes: Count::default(),
            body_bytes: Count::default(),
            written_bytes: Count::default(),
            content_bytes: Count::default(),
            removed_bytes: Count::default(),
            duplicates: Count::default(),
            near_duplicates: Count::default(),
            all_boilerplate: Count::default(),
            pages_new: Count::default(),
            pages_changed: Count::default(),
            pages_unchanged: Count::default(),
            pages_gone: Count::default(),
            soft_404s: Count::default(),
            by_site: Count::default(),
            probes: Count::default(),
            probes_ended: Count::default(),
            tables: Mutex::default(),
            changed: Notify::new(),
        }
    }
}

impl Stats {
    fn tables(&self) -> MutexGuard<'_, Tables> {
        // a panic under the lock leaves usable counts
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts for the next session of a worker: results are kept, leases and pages in flight are reset.
    #[must_use]
    pub fn for_next_session(&self) -> Self {
        let earlier = Earlier { records: self.records.get(), wire_bytes: self.wire_bytes.get() };
        let next = Self { started: self.started, earlier, ..Self::default() };
        for (to, from) in [
            (&next.records, &self.records),
            (&next.failed, &self.failed),
            (&next.trapped, &self.trapped),
            (&next.pages, &self.pages),
            (&next.wire_bytes, &self.wire_bytes),
            (&next.body_bytes, &self.body_bytes),
            (&next.written_bytes, &self.written_bytes),
            (&next.content_bytes, &self.content_bytes),
            (&next.removed_bytes, &self.removed_bytes),
            (&next.duplicates, &self.duplicates),
            (&next.near_duplicates, &self.near_duplicates),
            (&next.all_boilerplate, &self.all_boilerplate),
            (&next.pages_new, &self.pages_new),
            (&next.pages_changed, &self.pages_changed),
            (&next.pages_unchanged, &self.pages_unchanged),
            (&next.pages_gone, &self.pages_gone),
            (&next.soft_404s, &self.soft_404s),
            (&next.by_site, &self.by_site),
        ] {
            to.add(from.get());
        }
        *next.tables() = self.tables().clone();
        next
    }

    /// Bytes over the wire in this session.
    pub fn session_bytes(&self) -> u64 {
        self.wire_bytes.get().saturating_sub(self.earlier.wire_bytes)
    }

    /// A response came.
    pub fn answered(&self, host: &HostKey, status: u16, millis: u32) {
        let mut tables = self.tables();
        *tables.statuses.entry(status).or_default() += 1;
        tables.latency.observe(millis);
        if let Some(figures) = tables.host(host) {
            figures.latency.observe(millis);
        }
    }

    /// The first pages that are new, changed and gone.
    pub fn changed_pages(&self) -> BTreeMap<&'static str, Vec<String>> {
        self.tables().changed_pages.clone()
    }

    /// Counts URLs that ended without a record, by the kind of error.
    pub fn by_kind(&self, kind: &'static str, count: u64) {
        *self.tables().kinds.entry(kind).or_default() += count;
    }

    /// Counts a page that needed a browser and was not rendered.
    pub fn count_not_rendered(&self, kind: &'static str) {
        *self.tables().not_rendered.entry(kind).or_default() += 1;
    }

    /// Pages that needed a browser and were not rendered, by the kind of failure.
    pub fn not_rendered(&self) -> BTreeMap<&'static str, u64> {
        self.tables().not_rendered.clone()
    }

    /// Counts a failed URL. Keeps the first failures of the run, and of each kind, as examples.
    fn note_failure(&self, failed: &FailedPage) {
        let mut tables = self.tables();
        tables.note_host_failure(failed);
        let examples = tables.failures.entry(failed.kind).or_default();
        if examples.len() < EXAMPLES {
            let (url, message, hint) = (failed.url.clone(), failed.message.clone(), failed.hint.clone());
            examples.push(Example { url, message, hint, found_on: failed.found_on.clone() });
        }
        if tables.first_failures.len() < FIRST_FAILURES {
            tables.first_failures.push(format!("{}: {} ({})", failed.url, failed.message, failed.hint));
        }
    }

    /// Logs a page that is left out on purpose. Keeps the first ones of each kind for the report.
    fn note_left_out(&self, kind: &'static str, url: Box<str>) {
        tracing::info!(%url, kind, "left out");
        let mut tables = self.tables();
        let pages = tables.left_out.entry(kind).or_default();
        if pages.len() < LEFT_OUT_PAGES {
            pages.push(url.into_string());
        }
    }

    /// The first pages that were left out on purpose, by kind.
    pub fn left_out(&self) -> BTreeMap<&'static str, Vec<String>> {
        self.tables().left_out.clone()
    }

    /// Counts a seed without a record, once.
    fn note_seed(&self, url: String, kind: &'static str) {
        let seeds = &mut self.tables().seeds_without_record;
        if seeds.first.iter().any(|(known, _)| *known == url) {
            return;
        }
        seeds.count += 1;
        if seeds.first.len() < SEEDS {
            seeds.first.push((url, kind));
        }
    }

    /// Seeds without a record: they failed, were left out, or were not fetched.
    pub fn seeds_without_record(&self) -> SeedsWithoutRecord {
        self.tables().seeds_without_record.clone()
    }

    /// Seeds that redirect to a log-in page, with the URL of that page.
    pub fn log_in_seeds(&self) -> BTreeMap<String, String> {
        self.tables().log_in_seeds.clone()
    }

    /// URLs that failed, without those that no request was made for.
    pub fn failed_urls(&self) -> u64 {
        self.failed.get().saturating_sub(self.trapped.get())
    }

    /// The first few failures.
    pub fn first_failures(&self) -> Vec<String> {
        self.tables().first_failures.clone()
    }

    /// The first few failures of each kind.
    pub fn failures(&self) -> BTreeMap<&'static str, Vec<Example>> {
        self.tables().failures.clone()
    }

    /// Failures of each host, by kind.
    pub fn host_failures(&self) -> FxHashMap<HostKey, BTreeMap<&'static str, u64>> {
        self.tables().host_failures.clone()
    }

    /// Hosts with most requests and errors first, at most `limit`.
    pub fn busiest(&self, limit: usize) -> Vec<(HostKey, HostFigures)> {
        let mut hosts = self.hosts();
        hosts.sort_by_key(|(_, figures)| Reverse(figures.latency.count() + figures.errors));
        hosts.truncate(limit);
        hosts
    }

    /// Responses by HTTP status.
    pub fn statuses(&self) -> BTreeMap<u16, u64> {
        self.tables().statuses.clone()
    }

    /// Records by strategy.
    pub fn strategies(&self) -> BTreeMap<Strategy, u64> {
        self.tables().strategies.clone()
    }

    /// URLs that ended without a record, by kind.
    pub fn kinds(&self) -> BTreeMap<&'static str, u64> {
        self.tables().kinds.clone()
    }

    /// Hosts that answered.
    pub fn host_count(&self) -> usize {
        self.tables().hosts.values().filter(|figures| figures.latency.count() > 0).count()
    }

    /// Returns the latency of answers, over all hosts.
    pub fn latency(&self) -> Latency {
        self.tables().latency
    }

    /// Hosts with their figures, by name.
    pub fn hosts(&self) -> Vec<(HostKey, HostFigures)> {
        let mut hosts: Vec<_> = self.tables().hosts.iter().map(|(h, t)| (h.clone(), *t)).collect();
        hosts.sort_by(|(a, _), (b, _)| a.cmp(b));
        hosts
    }

    /// Hosts by their mean time a request, slowest first.
    pub fn slowest(&self, limit: usize) -> Vec<(HostKey, HostFigures)> {
        let mut hosts = self.hosts();
        hosts.retain(|(_, figures)| figures.latency.count() > 0);
        hosts.sort_by_key(|(_, figures)| Reverse(figures.latency.mean_ms()));
        hosts.truncate(limit);
        hosts
    }

    /// URLs of this run that are a record, may still become one, or are held to become one, be it by an earlier run.
    pub fn claimed(&self) -> u64 {
        (self.inherited.get() + self.leased.get()).saturating_sub(self.requeued.get() + self.ended.get())
    }

    /// URLs of this process that are a record, or may still become one, over all its sessions.
    pub fn claimed_by_process(&self) -> u64 {
        self.earlier.records + self.claimed()
    }

    /// Age of the run, of whichever worker began it.
    pub fn age_of_run(&self) -> Duration {
        self.run_age + self.session_started.elapsed()
    }

    /// URLs between their lease and their end; held pages are not among them.
    pub fn in_flight(&self) -> u64 {
        let records = self.records.get().saturating_sub(self.earlier.records);
        let out = self.requeued.get() + self.ended.get() + records + self.held.get();
        (self.leased.get() + self.released.get()).saturating_sub(out)
    }
}

/// A failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Example {
    /// The URL that failed.
    pub url: String,
    /// Description of the failure.
    pub message: String,
    /// Remedy.
    pub hint: String,
    /// A page or sitemap that names the URL.
    #[serde(default)]
    pub found_on: Option<String>,
}

#[cfg(test)]
mod tests;
