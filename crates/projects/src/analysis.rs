//! The analysis of a project: each domain's pages are read twice, to count repeated blocks and to remove them.

use crate::{
    cleaning,
    error::ProjectError,
    types::{AnalysisMode, DomainAnalysisResult, ProjectAnalysisResult},
};
use crawl_dedup::{Fingerprint, FingerprintSettings, Mode, PageBlocks, PageText};
use crawl_extract::PageExtractor;
use crawl_model::{Analysis as Reading, AnalysisPage, DomainFindings, DomainPages, ProjectId, ProjectStore};
use rustc_hash::FxHashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Maximum distinct blocks of a domain in the statistics: 64 MB of hashes. Beyond it `blocks_total` is a lower bound.
const MAX_COUNTED_BLOCKS: usize = 7 << 19;

/// An analysis that may begin: its parameters are within their ranges.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// Project to analyse.
    pub project: ProjectId,
    /// Groups to analyse; none: all.
    pub groups: Vec<String>,
    /// Thresholds.
    pub settings: FingerprintSettings,
    /// Mode of judging blocks.
    pub mode: Mode,
}

/// Progress of an analysis, with a flag to stop it.
#[derive(Debug, Default)]
pub struct Progress {
    /// Number of domains to analyse.
    pub domains_total: AtomicU64,
    /// Domains done.
    pub domains_done: AtomicU64,
    /// Pages to clean.
    pub pages_total: AtomicU64,
    /// Pages cleaned.
    pub pages_done: AtomicU64,
    stop: AtomicBool,
}

impl Progress {
    /// Ends the analysis soon, with nothing changed, unless its result is being written already.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    fn check_stopped(&self) -> Result<(), ProjectError> {
        if self.stop.load(Relaxed) { Err(ProjectError::Stopped) } else { Ok(()) }
    }
}

/// Analyses a project and keeps the result in one transaction at the end: the boilerplate of each domain, and the
/// cleaned text of each page. Memory is bounded by one domain's counts and a few pages. A domain below `min_pages` is
/// not judged: its pages keep their cleaned content, and the domain keeps the result of an earlier analysis.
///
/// # Errors
/// When storage fails, the project has gone, or it was told to stop; then everything is as it was.
pub(super) fn analyze(
    store: &dyn ProjectStore,
    extractor: &PageExtractor,
    asked: &Analysis,
    progress: &Progress,
) -> Result<ProjectAnalysisResult, ProjectError> {
    let mut reading = store.begin_analysis(asked.project, &asked.groups)?;
    let domains = reading.domains()?;
    progress.domains_total.store(domains.len() as u64, Relaxed);
    progress.pages_total.store(domains.iter().map(|domain| domain.pages).sum(), Relaxed);
    let mut result = ProjectAnalysisResult::default();
    for domain in domains {
        progress.check_stopped()?;
        let done = match asked.settings.too_few(domain.pages) {
            Some(warning) => keep_domain(store, &mut *reading, &domain, asked, warning).inspect(|done| {
                progress.pages_done.fetch_add(done.pages_analyzed, Relaxed);
            })?,
            None => analyze_domain(&mut *reading, extractor, &domain.domain, asked, progress)?,
        };
        progress.domains_done.fetch_add(1, Relaxed);
        result.domains_analyzed += 1;
        result.domains_with_boilerplate += u64::from(done.blocks_boilerplate > 0);
        result.total_pages_cleaned += done.pages_cleaned;
        result.total_bytes_removed += done.bytes_removed_total;
        result.domain_results.push(done);
    }
    progress.check_stopped()?;
    if reading.commit(crawl_model::now_ms())? {
        Ok(result)
    } else {
        Err(ProjectError::NoProject(asked.project.to_string()))
    }
}

/// A domain with too few pages: nothing changes, except that a domain without findings gets empty ones.
fn keep_domain(
    store: &dyn ProjectStore,
    reading: &mut dyn Reading,
    domain: &DomainPages,
    asked: &Analysis,
    warning: String,
) -> Result<DomainAnalysisResult, ProjectError> {
    let done = DomainAnalysisResult {
        domain: domain.domain.clone(),
        pages_analyzed: domain.pages,
        warning: Some(warning),
        ..DomainAnalysisResult::default()
    };
    let known = store.boilerplate(asked.project, Some(&domain.domain))?;
    if !known.iter().any(|row| row.findings.pages_analyzed >= row.findings.min_pages) {
        reading.put_domain(findings(asked, &done, Vec::new(), 0))?;
    }
    Ok(done)
}

fn analyze_domain(
    reading: &mut dyn Reading,
    extractor: &PageExtractor,
    domain: &str,
    asked: &Analysis,
    progress: &Progress,
) -> Result<DomainAnalysisResult, ProjectError> {
    let mut host = Fingerprint::new(asked.mode, asked.settings);
    let mut distinct = FxHashSet::default();
    each_page(reading, domain, progress, |_, page| {
        let text = text_of(page);
        let read = host.read(&text);
        host.observe(&text, &read);
        if distinct.len() < MAX_COUNTED_BLOCKS {
            distinct.extend(PageBlocks::of(text.content, asked.settings.min_block_chars()).distinct());
        }
        Ok(())
    })?;
    host.settle();

    let mut done = DomainAnalysisResult { domain: domain.to_owned(), ..DomainAnalysisResult::default() };
    let mut removed = FxHashSet::default();
    each_page(reading, domain, progress, |reading, page| {
        let text = text_of(page);
        let cleaned = host.clean(&text, &host.read(&text));
        done.pages_analyzed += 1;
        done.pages_cleaned += u64::from(cleaned.blocks_removed > 0);
        done.bytes_removed_total += cleaned.bytes_removed;
        removed.extend(cleaned.removed.iter().map(|span| span.hash));
        let chosen_by = cleaning::extractor_named(page.extractor.as_deref());
        let (text, _) = cleaning::stored(extractor, cleaned, chosen_by);
        reading.put_page(page, Some(&text))?;
        progress.pages_done.fetch_add(1, Relaxed);
        Ok(())
    })?;
    let hashes = match &host {
        Fingerprint::Exact(host) => host.boilerplate(),
        Fingerprint::Site(_) => ascending(&removed),
    };
    done.blocks_boilerplate = hashes.len() as u64;
    // the mode `site` also removes lines and short blocks, which the specification does not count as blocks
    let blocks_total = (distinct.len() as u64).max(done.blocks_boilerplate);
    reading.put_domain(findings(asked, &done, hashes, blocks_total))?;
    Ok(done)
}

fn ascending(hashes: &FxHashSet<u64>) -> Vec<u64> {
    let mut hashes: Vec<u64> = hashes.iter().copied().collect();
    hashes.sort_unstable();
    hashes
}

fn each_page(
    reading: &mut dyn Reading,
    domain: &str,
    progress: &Progress,
    mut visit: impl FnMut(&mut dyn Reading, &AnalysisPage) -> Result<(), ProjectError>,
) -> Result<(), ProjectError> {
    let mut after = 0;
    loop {
        progress.check_stopped()?;
        let pages = reading.pages(domain, after)?;
        let Some(last) = pages.last() else { return Ok(()) };
        after = last.number;
        for page in &pages {
            visit(reading, page)?;
        }
    }
}

/// Text for the fingerprint; as in the stream, a text that nothing has chosen may be a whole page.
fn text_of(page: &AnalysisPage) -> PageText<'_> {
    let extracted = PageText::is_extracted_by(page.extractor.as_deref());
    PageText { content: &page.content, url: &page.url, title: page.title.as_deref(), extracted }
}

fn findings(
    asked: &Analysis,
    done: &DomainAnalysisResult,
    boilerplate_hashes: Vec<u64>,
    blocks_total: u64,
) -> DomainFindings {
    DomainFindings {
        domain: done.domain.clone(),
        pages_analyzed: done.pages_analyzed,
        blocks_total,
        blocks_boilerplate: boilerplate_hashes.len() as u64,
        boilerplate_hashes,
        bytes_removed_avg: done.bytes_removed_total.checked_div(done.pages_analyzed).unwrap_or(0),
        threshold_pct: asked.settings.threshold_pct(),
        min_pages: asked.settings.min_pages() as u64,
        min_block_chars: asked.settings.min_block_chars() as u64,
        mode: AnalysisMode::from(asked.mode).name().to_owned(),
        source_groups: asked.groups.clone(),
    }
}
