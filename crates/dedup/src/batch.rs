//! The boilerplate of whole domains at once: two passes over pages that are all there.

use crate::{
    Cleaned, FingerprintSettings, PageBlocks,
    clean::digest,
    fingerprint::{Counted, DomainAnalysisResult, DomainFingerprintResult, ProjectAnalysisResult},
};
use crawl_model::BoilerplateStatus;
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
    let name = digest(&counted.boilerplate);
    let judge = |(page, blocks): (&P, &PageBlocks)| {
        let (content, n) = (page.as_ref(), pages.len() as u64);
        if pages.len() < settings.min_pages() {
            let untouched = Cleaned::untouched(content.to_owned(), BoilerplateStatus::TooFewPages);
            return Cleaned { pages: n, ..untouched };
        }
        Cleaned::judged(content, blocks, &counted.boilerplate, name.clone(), n)
    };
    let cleaned: Vec<_> = pages.iter().zip(&blocks).map(judge).collect();
    let analysis = DomainAnalysisResult {
        domain: domain.to_owned(),
        pages_analyzed: pages.len(),
        pages_cleaned: cleaned.iter().filter(|page| page.blocks_removed > 0).count(),
        blocks_boilerplate: fingerprint.blocks_boilerplate,
        bytes_removed_total: cleaned.iter().map(|page| page.bytes_removed).sum(),
    };
    DomainCleaning { fingerprint, analysis, pages: cleaned }
}

/// Cleans pages of many domains, each by its own fingerprint. Returns the pages in the order in which they were given,
/// and what it came to, domains in alphabetical order.
pub fn clean_project<D: AsRef<str>, P: AsRef<str>>(
    pages: &[(D, P)],
    settings: &FingerprintSettings,
) -> (Vec<Cleaned>, ProjectAnalysisResult) {
    let mut domains: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, (domain, _)) in pages.iter().enumerate() {
        domains.entry(domain.as_ref()).or_default().push(at);
    }
    let mut project = ProjectAnalysisResult::default();
    let mut cleaned: Vec<(usize, Cleaned)> = Vec::with_capacity(pages.len());
    for (domain, places) in domains {
        let contents: Vec<&str> = places.iter().map(|&at| pages[at].1.as_ref()).collect();
        let done = clean_domain(domain, &contents, settings);
        cleaned.extend(places.into_iter().zip(done.pages));
        project.domains_analyzed += 1;
        project.domains_with_boilerplate += usize::from(done.analysis.blocks_boilerplate > 0);
        project.total_pages_cleaned += done.analysis.pages_cleaned;
        project.total_bytes_removed += done.analysis.bytes_removed_total;
        project.domain_results.push(done.analysis);
    }
    cleaned.sort_unstable_by_key(|(at, _)| *at);
    (cleaned.into_iter().map(|(_, page)| page).collect(), project)
}
