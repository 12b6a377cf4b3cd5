//! Counts of a batch of the sink. They become true when the batch is settled: what a worker loses with its database is fetched
//! and counted again.

use super::Stats;
use crawl_model::{Change, CleanPage, ExtractedPage, Extractor, FailedPage, HostKey, Strategy, Warning};
use std::collections::BTreeMap;
use url::Url;

/// Counts of a batch.
#[derive(Default)]
pub(crate) struct BatchCounts {
    /// Records, including those of unchanged and gone pages.
    pub(crate) records: u64,
    /// URLs that ended otherwise.
    pub(crate) ended: u64,
    /// Probes for soft 404s among them.
    pub(crate) probes: u64,
    /// Bytes of output.
    pub(crate) written_bytes: u64,
    /// Pages of an earlier round that are unchanged.
    pub(crate) unchanged: u64,
    /// URLs of pages of an earlier round that are gone.
    pub(crate) gone: Vec<String>,
    /// Pages that became records.
    pub(crate) pages: Vec<PageFigures>,
    /// URLs without a record, by kind.
    pub(crate) kinds: BTreeMap<&'static str, u64>,
    /// URLs of pages that were left out on purpose, each with its kind.
    pub(crate) left_out: Vec<(&'static str, Box<str>)>,
    /// URLs that failed.
    pub(crate) failures: Vec<FailedPage>,
    /// Seeds without a record, with the kind that they are counted by.
    pub(crate) seeds: Vec<(String, &'static str)>,
}

impl BatchCounts {
    /// Adds a URL that ended without a record.
    pub(crate) fn add_kind(&mut self, kind: &'static str) {
        *self.kinds.entry(kind).or_default() += 1;
    }

    /// Adds a page that is a seed and has no record.
    pub(crate) fn add_seed(&mut self, failed: &FailedPage) {
        self.seeds.extend(failed.seed.as_deref().map(|seed| (seed.to_owned(), failed.kind)));
    }
}

/// Figures of a page that becomes a record.
pub(crate) struct PageFigures {
    url: String,
    host: Option<HostKey>,
    strategy: Strategy,
    change: Change,
    content_bytes: u64,
    removed_bytes: u64,
    is_duplicate: bool,
    is_near_duplicate: bool,
    is_empty: bool,
    is_by_site: bool,
    is_soft_404: bool,
    /// A seed that redirects to a log-in page, and the URL of that page.
    log_in: Option<(String, String)>,
}

/// Segments of the paths of log-in pages.
const LOG_IN: [&str; 8] = ["login", "log-in", "signin", "sign-in", "sign_in", "logon", "wp-login.php", "sso"];

/// The seed that redirects to a log-in page, and the URL of that page.
fn log_in_of(page: &ExtractedPage) -> Option<(String, String)> {
    let is_log_in = |url: &Url| {
        let is_one = |part: &str| LOG_IN.contains(&part.to_ascii_lowercase().as_str());
        url.path_segments().is_some_and(|mut parts| parts.any(is_one))
    };
    let first = page.request.redirects.first().filter(|_| page.request.is_of_seed())?;
    let mut page_url = page.final_url.clone();
    // it may hold a request of a provider of identities
    page_url.set_query(None);
    let leads_there = is_log_in(&page.final_url) && !Url::parse(first).is_ok_and(|url| is_log_in(&url));
    leads_there.then(|| (first.clone(), page_url.to_string()))
}

impl PageFigures {
    pub(crate) fn of(page: &CleanPage) -> Self {
        let extraction = &page.page.extraction;
        let similarity = page.duplicate.and_then(|first| first.similarity);
        Self {
            url: page.page.final_url.to_string(),
            host: HostKey::of(&page.page.final_url),
            strategy: page.page.strategy,
            change: page.change,
            content_bytes: extraction.content.len() as u64,
            removed_bytes: page.boilerplate.bytes_removed,
            is_duplicate: page.duplicate.is_some(),
            is_near_duplicate: similarity.is_some_and(|similarity| similarity < 1.0),
            is_empty: page.text.is_empty(),
            is_by_site: extraction.extractor == Extractor::SiteTemplate,
            is_soft_404: extraction.warnings.contains(&Warning::SoftNotFound),
            log_in: log_in_of(&page.page),
        }
    }
}

/// Returns true for a URL that was refused as part of a trap.
fn is_trap(failed: &FailedPage) -> bool {
    failed.lease.is_none() || failed.kind.starts_with("trap_")
}

impl Stats {
    /// Counts a batch that was settled.
    pub(crate) fn settled(&self, batch: BatchCounts) {
        self.written_bytes.add(batch.written_bytes);
        self.pages_unchanged.add(batch.unchanged);
        for page in &batch.pages {
            self.add_page(page);
        }
        for url in &batch.gone {
            self.pages_gone.add(1);
            self.tables().note_change("gone", url);
        }
        for (kind, count) in batch.kinds {
            self.by_kind(kind, count);
        }
        for failed in &batch.failures {
            self.note_failure(failed);
        }
        for (kind, url) in batch.left_out {
            self.note_left_out(kind, url);
        }
        self.trapped.add(batch.failures.iter().filter(|failed| is_trap(failed)).count() as u64);
        for (url, kind) in batch.seeds {
            self.note_seed(url, kind);
        }
        self.records.add(batch.records);
        // before the ends are counted, so that no ended URL counts as waiting
        self.probes_ended.add(batch.probes);
        self.ended.add(batch.ended);
        self.failed.add(batch.failures.len() as u64);
        self.changed.notify_one();
    }

    fn add_page(&self, page: &PageFigures) {
        for (count, is_one) in [
            (&self.duplicates, page.is_duplicate),
            (&self.near_duplicates, page.is_near_duplicate),
            (&self.all_boilerplate, page.is_empty),
            (&self.by_site, page.is_by_site),
            (&self.soft_404s, page.is_soft_404),
        ] {
            count.add(u64::from(is_one));
        }
        self.content_bytes.add(page.content_bytes);
        self.removed_bytes.add(page.removed_bytes);
        let (count, change) = match page.change {
            Change::Changed => (&self.pages_changed, Some("changed")),
            Change::Unchanged => (&self.pages_unchanged, None),
            Change::New | Change::Gone => (&self.pages_new, Some("new")),
        };
        count.add(1);
        let mut tables = self.tables();
        if tables.log_in_seeds.len() < super::SEEDS {
            tables.log_in_seeds.extend(page.log_in.clone());
        }
        if let Some(change) = change {
            tables.note_change(change, &page.url);
        }
        *tables.strategies.entry(page.strategy).or_default() += 1;
        if let Some(figures) = page.host.as_ref().and_then(|host| tables.host(host)) {
            figures.records += 1;
            figures.content_bytes += page.content_bytes;
            figures.removed_bytes += page.removed_bytes;
        }
    }
}
