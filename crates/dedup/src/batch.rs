//! The boilerplate of whole domains at once: two passes over pages that are all there.

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
    /// What its pages have in common.
    pub fingerprint: DomainFingerprintResult,
    /// What cleaning came to.
    pub analysis: DomainAnalysisResult,
    /// The pages, in the order in which they were given.
    pub pages: Vec<Cleaned>,
}

/// Computes the fingerprint of a domain and cleans its pages. Every page is read once. The same pages in another order
/// give the same result in that order; cleaned pages are not to be given again, since less is repeated on them.
///
/// A page of which nothing but whitespace would be left keeps its text.
pub fn clean_domain<P: AsRef<str>>(
    domain: &str,
    pages: &[P],
    settings: &FingerprintSettings,
) -> DomainCleaning {
    let texts: Vec<_> =
        pages.iter().map(|page| PageText { content: page.as_ref(), ..PageText::default() }).collect();
    let mut counted = CountedDomain::exact(domain, &texts, settings);
    let pages = texts.iter().enumerate().map(|(at, page)| counted.clean(at, page)).collect();
    let fingerprint = match &counted.counts {
        Counts::Exact(counts, _) => counts.result(),
        Counts::Site(..) => DomainFingerprintResult::default(),
    };
    DomainCleaning { fingerprint, analysis: counted.analysis(), pages }
}

/// Cleans the pages of a domain in the mode [`site`](crate::site): what a host in a stream gives that settles when it has no
/// more pages. `blocks_boilerplate` of the analysis counts the distinct blocks that were removed.
pub fn clean_site(
    domain: &str,
    pages: &[PageText<'_>],
    settings: &FingerprintSettings,
) -> (Vec<Cleaned>, DomainAnalysisResult) {
    let mut counted = CountedDomain::site(domain, pages, settings);
    let cleaned = pages.iter().enumerate().map(|(at, page)| counted.clean(at, page)).collect();
    (cleaned, counted.analysis())
}

/// Cleans pages of many domains, given with the domain of each, every domain by itself. Returns the pages in the order in
/// which they were given, and what it came to, domains in alphabetical order.
pub fn clean_project<D: AsRef<str>>(
    pages: &[(D, PageText<'_>)],
    mode: Mode,
    settings: &FingerprintSettings,
) -> (Vec<Cleaned>, ProjectAnalysisResult) {
    let mut counted = CountedProject::of(pages, mode, settings);
    let cleaned = (0..pages.len()).map(|at| counted.clean(at)).collect();
    (cleaned, counted.analysis())
}

/// Pages of many domains, all counted, of which each is cleaned when it is asked for: nobody has to have room for all cleaned
/// pages at once.
pub struct CountedProject<'a, D> {
    pages: &'a [(D, PageText<'a>)],
    domains: Vec<CountedDomain>,
    /// Of each page its domain, and its place there.
    places: Vec<(u32, u32)>,
}

impl<'a, D: AsRef<str>> CountedProject<'a, D> {
    /// Counts pages that are given with the domain of each, every domain by itself.
    pub fn of(pages: &'a [(D, PageText<'a>)], mode: Mode, settings: &FingerprintSettings) -> Self {
        let mut by_domain: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, (domain, _)) in pages.iter().enumerate() {
            by_domain.entry(domain.as_ref()).or_default().push(at);
        }
        let mut places = vec![(0, 0); pages.len()];
        let mut domains = Vec::with_capacity(by_domain.len());
        for (number, (domain, of_domain)) in (0_u32..).zip(by_domain) {
            for (place, &at) in (0_u32..).zip(&of_domain) {
                places[at] = (number, place);
            }
            let texts: Vec<PageText<'_>> = of_domain.iter().map(|&at| pages[at].1).collect();
            domains.push(match mode {
                Mode::Exact => CountedDomain::exact(domain, &texts, settings),
                Mode::Site => CountedDomain::site(domain, &texts, settings),
            });
        }
        Self { pages, domains, places }
    }

    /// Cleans the page at a place among those that were given. To be asked for once for each page, since what is removed is summed up
    /// for the [analysis](Self::analysis).
    ///
    /// # Panics
    /// When there is no such page.
    pub fn clean(&mut self, at: usize) -> Cleaned {
        let (domain, place) = self.places[at];
        self.domains[domain as usize].clean(place as usize, &self.pages[at].1)
    }

    /// What cleaning came to with the pages that have been cleaned so far; domains in alphabetical order.
    #[must_use]
    pub fn analysis(&self) -> ProjectAnalysisResult {
        let mut project = ProjectAnalysisResult::default();
        for domain in &self.domains {
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

/// A domain whose pages were all counted, and what cleaning has come to.
struct CountedDomain {
    counts: Counts,
    settings: FingerprintSettings,
    analysis: DomainAnalysisResult,
    /// What was removed, in the mode `site`.
    removed: FxHashSet<u64>,
}

enum Counts {
    /// With the fingerprint's name.
    Exact(Counted, String),
    Site(SiteFingerprint, Vec<SitePage>),
}

impl CountedDomain {
    fn exact(domain: &str, pages: &[PageText<'_>], settings: &FingerprintSettings) -> Self {
        let counted = Counted::of(pages.iter().map(|page| page.content), settings);
        let name = digest(counted.hashes());
        let blocks_boilerplate = counted.hashes().count();
        let mut domain = Self::with(domain, pages.len(), Counts::Exact(counted, name), settings);
        domain.analysis.blocks_boilerplate = blocks_boilerplate;
        domain
    }

    fn site(domain: &str, pages: &[PageText<'_>], settings: &FingerprintSettings) -> Self {
        let mut host = SiteFingerprint::new(*settings);
        let mut read = Vec::with_capacity(pages.len());
        for page in pages {
            let this = SitePage::of(page);
            host.observe(page, &this);
            read.push(this);
        }
        host.settle();
        Self::with(domain, pages.len(), Counts::Site(host, read), settings)
    }

    fn with(domain: &str, pages_analyzed: usize, counts: Counts, settings: &FingerprintSettings) -> Self {
        let analysis = DomainAnalysisResult {
            domain: domain.to_owned(),
            pages_analyzed,
            ..DomainAnalysisResult::default()
        };
        Self { counts, settings: *settings, analysis, removed: FxHashSet::default() }
    }

    fn clean(&mut self, at: usize, page: &PageText<'_>) -> Cleaned {
        let pages = self.analysis.pages_analyzed;
        let cleaned = match &self.counts {
            _ if pages < self.settings.min_pages() => {
                Cleaned::too_few_pages(page.content.to_owned(), pages as u64)
            }
            Counts::Exact(counted, name) => counted.clean(at, page.content, name.clone()),
            Counts::Site(host, read) => host.clean(page, &read[at]),
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
        if matches!(self.counts, Counts::Site(..)) {
            analysis.blocks_boilerplate = self.removed.len();
        }
        analysis
    }
}
