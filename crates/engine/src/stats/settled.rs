//! Counts of a batch of the sink. They become true when the batch is settled: what a worker loses with its database is fetched
//! and counted again.

use super::Stats;
use crawl_model::{Change, CleanPage, Extractor, FailedPage, HostKey, Strategy, Warning};
use std::collections::BTreeMap;

/// Counts of a batch.
#[derive(Default)]
pub(crate) struct BatchCounts {
    /// Records, those of unchanged and gone pages included.
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
    /// URLs that failed.
    pub(crate) failures: Vec<FailedPage>,
}

impl BatchCounts {
    /// Adds a URL that ended without a record.
    pub(crate) fn add_kind(&mut self, kind: &'static str) {
        *self.kinds.entry(kind).or_default() += 1;
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
        }
    }
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
