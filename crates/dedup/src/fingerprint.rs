//! Phase A of the boilerplate spec, exact: what a domain's pages have in common, as pure functions.
//!
//! Where the spec leaves room: a block is boilerplate when its count is *at* or over the threshold; `blocks_total` counts
//! distinct blocks, as `blocks_boilerplate` does; lengths are characters (Unicode scalar values), bytes are UTF-8.

use crate::{
    Cleaned, FingerprintSettings, PageBlocks,
    blocks::{Repeated, hash_folded, parts, strip},
};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

/// What was found out about a domain.
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

/// What cleaning a domain came to.
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
}

/// What cleaning all domains of a project came to.
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

/// The blocks of a page: what stands between blank lines (`\n\s*\n`), without the whitespace around it, if that is at
/// least `min_block_chars` characters long.
#[must_use]
pub fn split_into_blocks(content: &str, min_block_chars: usize) -> Vec<&str> {
    let blocks = parts(content).map(|range| strip(&content[range]));
    blocks.filter(|block| block.chars().count() >= min_block_chars).collect()
}

/// The first 64 bits of the SHA-256 of a block, each run of whitespace folded to a space, stripped, in lower case: the
/// spec's 16 hex digits as a number.
#[must_use]
pub fn hash_block(block: &str) -> u64 {
    hash_folded(block, &mut Vec::new())
}

/// A hash as the spec writes it: 16 hex digits.
#[must_use]
pub fn hash_digits(hash: u64) -> String {
    format!("{hash:016x}")
}

/// Blocks that stand on at least `max(min_pages, int(pages * threshold_pct))` of a domain's pages; a block counts once
/// a page. Empty below `min_pages`.
pub fn compute_domain_fingerprint<P: AsRef<str>>(
    pages: &[P],
    settings: &FingerprintSettings,
) -> DomainFingerprintResult {
    Counted::of(pages.iter().map(AsRef::as_ref), settings).result()
}

/// A page without the blocks whose hashes are given, and the UTF-8 bytes of the blocks removed. Runs of three line
/// feeds and more become two. May leave nothing.
#[must_use]
pub fn strip_boilerplate(
    content: &str,
    boilerplate_hashes: &FxHashSet<u64>,
    min_block_chars: usize,
) -> (String, u64) {
    let blocks = PageBlocks::of(content, min_block_chars);
    let (text, removed) = blocks
        .strip(content, |hash| boilerplate_hashes.contains(&hash).then_some(Repeated { hash, pages: 0 }));
    (text, crate::clean::sums(&removed).1)
}

/// The fingerprint of a domain, and the blocks of its pages with [quick](PageBlocks::quick) hashes.
pub(crate) struct Counted {
    blocks: Vec<PageBlocks>,
    /// Boilerplate by its quick hash.
    boilerplate: FxHashMap<u64, Repeated>,
    blocks_total: usize,
}

impl Counted {
    pub(crate) fn of<'a>(
        pages: impl Iterator<Item = &'a str> + Clone,
        settings: &FingerprintSettings,
    ) -> Self {
        let least = settings.min_block_chars();
        let blocks: Vec<_> = pages.clone().map(|page| PageBlocks::quick(page, least)).collect();
        if blocks.len() < settings.min_pages() {
            return Self { blocks, boilerplate: FxHashMap::default(), blocks_total: 0 };
        }
        let mut counts: FxHashMap<u64, u64> = FxHashMap::default();
        for page in &blocks {
            for hash in page.distinct() {
                *counts.entry(hash).or_default() += 1;
            }
        }
        let threshold = settings.threshold(blocks.len() as u64);
        let blocks_total = counts.len();
        counts.retain(|_, count| *count >= threshold);
        let mut boilerplate = FxHashMap::default();
        for (page, blocks) in pages.zip(&blocks) {
            for span in blocks.spans() {
                // each is looked at once
                if let Some(pages) = counts.remove(&span.hash) {
                    let hash = hash_block(&page[span.start..span.end]);
                    boilerplate.insert(span.hash, Repeated { hash, pages });
                }
            }
        }
        Self { blocks, boilerplate, blocks_total }
    }

    pub(crate) fn hashes(&self) -> impl Iterator<Item = u64> {
        self.boilerplate.values().map(|found| found.hash)
    }

    /// Judges the page at a place among those that were counted; `content` is that page.
    pub(crate) fn clean(&self, at: usize, content: &str, fingerprint: String) -> Cleaned {
        let found = |quick: u64| self.boilerplate.get(&quick).copied();
        Cleaned::judged(content, &self.blocks[at], found, fingerprint, self.blocks.len() as u64)
    }

    pub(crate) fn result(&self) -> DomainFingerprintResult {
        let mut hashes: Vec<u64> = self.hashes().collect();
        hashes.sort_unstable();
        DomainFingerprintResult {
            blocks_boilerplate: hashes.len(),
            boilerplate_hashes: hashes.into_iter().map(hash_digits).collect(),
            pages_analyzed: self.blocks.len(),
            blocks_total: self.blocks_total,
        }
    }
}
