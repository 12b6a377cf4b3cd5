//! Mode `exact` (phase A of the boilerplate specification): the common blocks of a domain's pages, as pure functions.
//!
//! Choices that the specification leaves open: a block is boilerplate if its count is *at* or over the threshold.
//! `blocks_total` counts distinct blocks, as `blocks_boilerplate` does. Lengths are characters (Unicode scalar
//! values), bytes are UTF-8.

use crate::{
    Cleaned, FingerprintSettings, PageBlocks,
    blocks::{Repeated, fold_line_feeds, hash_folded, parts, strip},
};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

/// Fingerprint of a domain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DomainFingerprintResult {
    /// Hashes of the boilerplate blocks, 16 hex digits each, ascending.
    pub boilerplate_hashes: Vec<String>,
    /// Pages looked at.
    pub pages_analyzed: usize,
    /// Distinct blocks on them.
    pub blocks_total: usize,
    /// Distinct blocks that are boilerplate.
    pub blocks_boilerplate: usize,
}

/// Result of cleaning a domain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DomainAnalysisResult {
    /// The domain.
    pub domain: String,
    /// Pages looked at.
    pub pages_analyzed: usize,
    /// Pages from which something was removed.
    pub pages_cleaned: usize,
    /// Distinct blocks that are boilerplate.
    pub blocks_boilerplate: usize,
    /// UTF-8 bytes removed from all pages.
    pub bytes_removed_total: u64,
    /// Reason for not judging the domain; absent if it was judged.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub warning: Option<String>,
}

/// Result of cleaning all domains of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectAnalysisResult {
    /// Domains looked at.
    pub domains_analyzed: usize,
    /// Domains with at least one boilerplate block.
    pub domains_with_boilerplate: usize,
    /// Pages from which something was removed.
    pub total_pages_cleaned: usize,
    /// UTF-8 bytes removed from all pages.
    pub total_bytes_removed: u64,
    /// One result a domain.
    pub domain_results: Vec<DomainAnalysisResult>,
}

/// Splits a page into its trimmed blocks between blank lines (`\n\s*\n`) of at least `min_block_chars`
/// characters.
#[must_use]
pub fn split_into_blocks(content: &str, min_block_chars: usize) -> Vec<&str> {
    let blocks = parts(content).map(|range| strip(&content[range]));
    blocks.filter(|block| block.chars().count() >= min_block_chars).collect()
}

/// First 64 bits of the SHA-256 of a block with whitespace runs folded, stripped, in lower case: the spec's
/// 16 hex digits as a number.
#[must_use]
pub fn hash_block(block: &str) -> u64 {
    hash_folded(block, &mut Vec::new())
}

/// A hash in the spec's form: 16 hex digits.
#[must_use]
pub fn hash_digits(hash: u64) -> String {
    format!("{hash:016x}")
}

/// Blocks that occur on at least `max(min_pages, int(pages * threshold_pct))` of a domain's pages; a block
/// counts once per page. Empty below `min_pages`.
pub fn compute_domain_fingerprint<P: AsRef<str>>(
    pages: &[P],
    settings: &FingerprintSettings,
) -> DomainFingerprintResult {
    let mut counted = Counted::new(settings);
    pages.iter().for_each(|page| counted.add(page.as_ref()));
    counted.result()
}

/// Removes the blocks with the given hashes from a page; returns the text and the removed UTF-8 bytes. Runs
/// of three or more line feeds become two. The text may be empty.
#[must_use]
pub fn strip_boilerplate(
    content: &str,
    boilerplate_hashes: &FxHashSet<u64>,
    min_block_chars: usize,
) -> (String, u64) {
    let blocks = PageBlocks::of(content, min_block_chars);
    let boilerplate = |hash| boilerplate_hashes.contains(&hash).then_some(Repeated { hash, pages: 0 });
    match blocks.strip(content, boilerplate) {
        Some((text, removed)) => (text, crate::clean::sums(&removed).1),
        None => (fold_line_feeds(content.to_owned()), 0),
    }
}

/// Fingerprint of a domain, and the blocks of its pages with [quick](PageBlocks::quick) hashes.
pub(crate) struct Counted {
    blocks: Vec<PageBlocks>,
    counts: FxHashMap<u64, Repeated>,
    settings: FingerprintSettings,
}

impl Counted {
    pub(crate) fn new(settings: &FingerprintSettings) -> Self {
        Self { blocks: Vec::new(), counts: FxHashMap::default(), settings: *settings }
    }

    /// Counts a page.
    pub(crate) fn add(&mut self, page: &str) {
        let blocks = PageBlocks::quick(page, self.settings.min_block_chars());
        let least = self.settings.min_pages() as u64;
        for span in blocks.first_of_each() {
            let found = self.counts.entry(span.hash).or_insert(Repeated { hash: 0, pages: 0 });
            found.pages += 1;
            // from here on it may be boilerplate, so it gets its real hash
            if found.pages == least {
                found.hash = hash_block(&page[span.start..span.end]);
            }
        }
        self.blocks.push(blocks);
    }

    fn boilerplate(&self) -> impl Iterator<Item = &Repeated> {
        let threshold = self.threshold();
        self.counts.values().filter(move |found| found.pages >= threshold)
    }

    /// Minimum pages of a boilerplate block; more than all pages if there are too few.
    fn threshold(&self) -> u64 {
        self.settings.threshold(self.blocks.len() as u64)
    }

    pub(crate) fn hashes(&self) -> impl Iterator<Item = u64> {
        self.boilerplate().map(|found| found.hash)
    }

    /// Judges the counted page at position `at`, whose text is `content`.
    pub(crate) fn clean(&self, at: usize, content: &str, fingerprint: String) -> Cleaned {
        let threshold = self.threshold();
        let found = |quick: u64| self.counts.get(&quick).copied().filter(|found| found.pages >= threshold);
        Cleaned::judged(content, &self.blocks[at], found, fingerprint, self.blocks.len() as u64)
    }

    pub(crate) fn result(&self) -> DomainFingerprintResult {
        let mut hashes: Vec<u64> = self.hashes().collect();
        hashes.sort_unstable();
        DomainFingerprintResult {
            blocks_boilerplate: hashes.len(),
            boilerplate_hashes: hashes.into_iter().map(hash_digits).collect(),
            pages_analyzed: self.blocks.len(),
            blocks_total: if self.blocks.len() < self.settings.min_pages() { 0 } else { self.counts.len() },
        }
    }
}
