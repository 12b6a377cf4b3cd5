//! The boilerplate of whole domains at once: two passes over pages that are all there.

use crate::{
    Cleaned, FingerprintSettings, Mode, PageBlocks,
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
    let blocks: Vec<_> =
        pages.iter().map(|page| PageBlocks::of(page.as_ref(), settings.min_block_chars())).collect();
    let counted = Counted::of(&blocks, settings);
    let fingerprint = counted.result(pages.len());
    let name = digest(counted.boilerplate.keys().copied());
    let judge = |(page, blocks): (&P, &PageBlocks)| {
        let (content, n) = (page.as_ref(), pages.len() as u64);
        if pages.len() < settings.min_pages() {
            return Cleaned::too_few_pages(content.to_owned(), n);
        }
        let found = |hash| counted.boilerplate.get(&hash).copied();
        Cleaned::judged(content, blocks, found, name.clone(), n)
    };
    let cleaned: Vec<_> = pages.iter().zip(&blocks).map(judge).collect();
    let analysis = analysis(domain, &cleaned, fingerprint.blocks_boilerplate);
    DomainCleaning { fingerprint, analysis, pages: cleaned }
}

fn analysis(domain: &str, cleaned: &[Cleaned], blocks_boilerplate: usize) -> DomainAnalysisResult {
    DomainAnalysisResult {
        domain: domain.to_owned(),
        pages_analyzed: cleaned.len(),
        pages_cleaned: cleaned.iter().filter(|page| page.blocks_removed > 0).count(),
        blocks_boilerplate,
        bytes_removed_total: cleaned.iter().map(|page| page.bytes_removed).sum(),
    }
}

/// Cleans the pages of a domain in the mode [`site`](crate::site): what a host in a stream gives that settles when it has no
/// more pages. `blocks_boilerplate` of the analysis counts the distinct blocks that were removed.
pub fn clean_site(
    domain: &str,
    pages: &[PageText<'_>],
    settings: &FingerprintSettings,
) -> (Vec<Cleaned>, DomainAnalysisResult) {
    let read: Vec<_> = pages.iter().map(SitePage::of).collect();
    let mut host = SiteFingerprint::new(*settings);
    for (page, read) in pages.iter().zip(&read) {
        host.observe(page, read);
    }
    host.settle();
    let cleaned: Vec<_> = pages.iter().zip(&read).map(|(page, read)| host.clean(page, read)).collect();
    let distinct: FxHashSet<u64> =
        cleaned.iter().flat_map(|page| &page.removed).map(|span| span.hash).collect();
    let analysis = analysis(domain, &cleaned, distinct.len());
    (cleaned, analysis)
}

/// Cleans pages of many domains, given with the domain of each, every domain by itself. Returns the pages in the order in
/// which they were given, and what it came to, domains in alphabetical order.
pub fn clean_project<D: AsRef<str>>(
    pages: &[(D, PageText<'_>)],
    mode: Mode,
    settings: &FingerprintSettings,
) -> (Vec<Cleaned>, ProjectAnalysisResult) {
    let mut domains: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, (domain, _)) in pages.iter().enumerate() {
        domains.entry(domain.as_ref()).or_default().push(at);
    }
    let mut project = ProjectAnalysisResult::default();
    let mut cleaned: Vec<(usize, Cleaned)> = Vec::with_capacity(pages.len());
    for (domain, places) in domains {
        let texts: Vec<PageText<'_>> = places.iter().map(|&at| pages[at].1).collect();
        let (done, analysis) = match mode {
            Mode::Exact => {
                let contents: Vec<&str> = texts.iter().map(|page| page.content).collect();
                let done = clean_domain(domain, &contents, settings);
                (done.pages, done.analysis)
            }
            Mode::Site => clean_site(domain, &texts, settings),
        };
        cleaned.extend(places.into_iter().zip(done));
        project.domains_analyzed += 1;
        project.domains_with_boilerplate += usize::from(analysis.blocks_boilerplate > 0);
        project.total_pages_cleaned += analysis.pages_cleaned;
        project.total_bytes_removed += analysis.bytes_removed_total;
        project.domain_results.push(analysis);
    }
    cleaned.sort_unstable_by_key(|(at, _)| *at);
    (cleaned.into_iter().map(|(_, page)| page).collect(), project)
}
