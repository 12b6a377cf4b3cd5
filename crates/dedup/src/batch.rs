//! Boilerplate of complete domains: two passes over all pages.

use crate::{
    Cleaned, FingerprintSettings, Mode,
    clean::digest,
    fingerprint::{Counted, DomainAnalysisResult, DomainFingerprintResult, ProjectAnalysisResult},
    site::{PageText, SiteFingerprint, SitePage},
};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// A domain after cleaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainCleaning {
    /// Common blocks of its pages.
    pub fingerprint: DomainFingerprintResult,
    /// Result of cleaning.
    pub analysis: DomainAnalysisResult,
    /// Cleaned pages, in input order.
    pub pages: Vec<Cleaned>,
}

/// Computes the fingerprint of a domain and cleans its pages. Each page is read once. The order of the pages
/// does not affect the result. Do not pass cleaned pages again, since fewer blocks are repeated on them.
///
/// A page that would be left with only whitespace keeps its text.
pub fn clean_domain<P: AsRef<str>>(
    domain: &str,
    pages: &[P],
    settings: &FingerprintSettings,
) -> DomainCleaning {
    let mut counted = CountedDomain::new(domain, Mode::Exact, settings);
    let of = |content| PageText { content, ..PageText::default() };
    pages.iter().for_each(|page| counted.count(&of(page.as_ref())));
    counted.settle();
    let pages = pages.iter().map(|page| counted.clean(&of(page.as_ref()))).collect();
    let fingerprint = match &counted.counts {
        Counts::Exact(counts, _) => counts.result(),
        Counts::Site(..) => DomainFingerprintResult::default(),
    };
    DomainCleaning { fingerprint, analysis: counted.analysis(), pages }
}

/// Cleans the pages of a domain in the mode [`site`](crate::site). The result equals that of a stream whose host
/// settles at its end. `blocks_boilerplate` of the analysis counts the distinct removed blocks.
pub fn clean_site(
    domain: &str,
    pages: &[PageText<'_>],
    settings: &FingerprintSettings,
) -> (Vec<Cleaned>, DomainAnalysisResult) {
    let mut counted = CountedDomain::new(domain, Mode::Site, settings);
    pages.iter().for_each(|page| counted.count(page));
    counted.settle();
    let cleaned = pages.iter().map(|page| counted.clean(page)).collect();
    (cleaned, counted.analysis())
}

/// Cleans pages of many domains, given with their domain; each domain by itself. Returns the pages in input
/// order, and the analysis with domains in alphabetical order.
pub fn clean_project<D: AsRef<str>>(
    pages: &[(D, PageText<'_>)],
    mode: Mode,
    settings: &FingerprintSettings,
) -> (Vec<Cleaned>, ProjectAnalysisResult) {
    let mut counted = CountedProject::new(mode, settings);
    pages.iter().for_each(|(domain, page)| counted.count(domain.as_ref(), page));
    counted.settle();
    let cleaned = pages.iter().map(|(domain, page)| counted.clean(domain.as_ref(), page)).collect();
    (cleaned, counted.analysis())
}

/// Pages of many domains in two passes. All pages are [counted](Self::count), then [cleaned](Self::clean) in
/// the same order, so that not all pages need to be in memory.
pub struct CountedProject {
    domains: BTreeMap<String, CountedDomain>,
    mode: Mode,
    settings: FingerprintSettings,
}

impl CountedProject {
    /// No page has been counted.
    #[must_use]
    pub const fn new(mode: Mode, settings: &FingerprintSettings) -> Self {
        Self { domains: BTreeMap::new(), mode, settings: *settings }
    }

    /// Counts a page of a domain; each domain by itself.
    pub fn count(&mut self, domain: &str, page: &PageText<'_>) {
        if let Some(counted) = self.domains.get_mut(domain) {
            counted.count(page);
            return;
        }
        let mut counted = CountedDomain::new(domain, self.mode, &self.settings);
        counted.count(page);
        self.domains.insert(domain.to_owned(), counted);
    }

    /// All pages have been counted.
    pub fn settle(&mut self) {
        self.domains.values_mut().for_each(CountedDomain::settle);
    }

    /// Cleans the next page of a domain. Call it after [`settle`](Self::settle), in the order of the counts.
    /// A page beyond the counted ones keeps its text.
    pub fn clean(&mut self, domain: &str, page: &PageText<'_>) -> Cleaned {
        match self.domains.get_mut(domain) {
            Some(counted) => counted.clean(page),
            None => Cleaned::too_few_pages(page.content.to_owned(), 0),
        }
    }

    /// Analysis of the pages cleaned so far; domains in alphabetical order.
    #[must_use]
    pub fn analysis(&self) -> ProjectAnalysisResult {
        let mut project = ProjectAnalysisResult::default();
        for domain in self.domains.values() {
            let analysis = domain.analysis();
            project.domains_analyzed += 1;
            project.domains_with_boilerplate += usize::from(analysis.blocks_boilerplate > 0);
            project.total_pages_cleaned += analysis.pages_cleaned;
            project.total_bytes_removed += analysis.bytes_removed_total;
            project.domain_results.push(analysis);
        }
        project
    }
}

/// A domain whose pages are counted, with the results of cleaning.
struct CountedDomain {
    counts: Counts,
    settings: FingerprintSettings,
    analysis: DomainAnalysisResult,
    /// Pages cleaned so far.
    cleaned: usize,
    /// Hashes of the removed blocks, in the mode `site`.
    removed: FxHashSet<u64>,
}

enum Counts {
    /// With the fingerprint's name.
    Exact(Counted, String),
    Site(Box<SiteFingerprint>, Vec<SitePage>),
}

impl CountedDomain {
    fn new(domain: &str, mode: Mode, settings: &FingerprintSettings) -> Self {
        let counts = match mode {
            Mode::Exact => Counts::Exact(Counted::new(settings), String::new()),
            Mode::Site => Counts::Site(Box::new(SiteFingerprint::new(*settings)), Vec::new()),
        };
        let analysis = DomainAnalysisResult { domain: domain.to_owned(), ..DomainAnalysisResult::default() };
        Self { counts, settings: *settings, analysis, cleaned: 0, removed: FxHashSet::default() }
    }

    fn count(&mut self, page: &PageText<'_>) {
        self.analysis.pages_analyzed += 1;
        match &mut self.counts {
            Counts::Exact(counted, _) => counted.add(page.content),
            Counts::Site(host, pages) => {
                let read = SitePage::of(page);
                host.observe(page, &read);
                pages.push(read);
            }
        }
    }

    fn settle(&mut self) {
        match &mut self.counts {
            Counts::Exact(counted, name) => {
                *name = digest(counted.hashes());
                self.analysis.blocks_boilerplate = counted.hashes().count();
            }
            Counts::Site(host, _) => host.settle(),
        }
    }

    fn clean(&mut self, page: &PageText<'_>) -> Cleaned {
        let (at, pages) = (self.cleaned, self.analysis.pages_analyzed);
        self.cleaned += 1;
        let cleaned = match &mut self.counts {
            _ if pages < self.settings.min_pages() || at >= pages => {
                Cleaned::too_few_pages(page.content.to_owned(), pages as u64)
            }
            Counts::Exact(counted, name) => counted.clean(at, page.content, name.clone()),
            // the read page is not needed any more
            Counts::Site(host, read) => host.clean(page, &std::mem::take(&mut read[at])),
        };
        if matches!(self.counts, Counts::Site(..)) {
            self.removed.extend(cleaned.removed.iter().map(|span| span.hash));
        }
        self.analysis.pages_cleaned += usize::from(cleaned.blocks_removed > 0);
        self.analysis.bytes_removed_total += cleaned.bytes_removed;
        cleaned
    }

    fn analysis(&self) -> DomainAnalysisResult {
        let mut analysis = self.analysis.clone();
        analysis.warning = self.settings.too_few(analysis.pages_analyzed as u64);
        if matches!(self.counts, Counts::Site(..)) {
            analysis.blocks_boilerplate = self.removed.len();
        }
        analysis
    }
}
