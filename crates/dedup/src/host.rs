//! Fingerprint of one host in a stream of pages.

use crate::{
    Cleaned, FingerprintSettings, HostState, Novelty, PageBlocks, blocks::Repeated, clean::digest,
    counts::Counts, outlook::Outlook,
};
use rustc_hash::FxHashSet;
use std::sync::OnceLock;

/// Maximum distinct blocks of a host: a hash table of 2^18 slots, 4.5 MB.
pub const MAX_BLOCKS: usize = 7 << 15;

/// Counts the blocks of one host by page and cleans pages by the counts.
///
/// Usage: [`observe`](Self::observe) and hold each page until the host ends or [`ready`](HostState::ready) returns
/// true. Then call [`settle`](Self::settle), and [`clean`](Self::clean) the held pages. From then on observe and
/// clean each page at once: counting continues, and each page is cleaned by the current counts. A host that settles
/// at its end gives exactly the result of [`batch::clean_domain`](crate::batch::clean_domain).
///
/// **Memory is bounded.** Up to [`MAX_BLOCKS`] distinct blocks are counted exactly. Beyond that rare blocks
/// are dropped (Misra and Gries 1982). No count is ever too high, so no block is wrongly boilerplate. A count
/// is too low by at most [`undercount`](HostState::undercount), which stays below `2 * N / MAX_BLOCKS`, where
/// `N` counts each block once per page. At 50 blocks per page that is 0.05 % of the pages: a block on 70.05 %
/// of them may be missed, but none on 71 %.
#[derive(Clone, Debug)]
pub struct HostFingerprint {
    pub(crate) state: HostState,
    pub(crate) counts: Counts,
    /// Blocks whose count reaches the threshold, updated with each page: they are few, while the counts are
    /// many.
    boilerplate: FxHashSet<u64>,
    /// Identity of that set, computed on demand.
    digest: OnceLock<String>,
}

impl HostFingerprint {
    /// Creates a host without pages.
    #[must_use]
    pub fn new(settings: FingerprintSettings) -> Self {
        Self::with_capacity(settings, MAX_BLOCKS)
    }

    /// Creates a host with another bound than [`MAX_BLOCKS`] on the distinct blocks (at least 2).
    #[must_use]
    pub fn with_capacity(settings: FingerprintSettings, max_blocks: usize) -> Self {
        Self {
            state: HostState::new(settings),
            counts: Counts::new(max_blocks),
            boilerplate: FxHashSet::default(),
            digest: OnceLock::new(),
        }
    }

    /// Counts a page: each of its blocks once. Returns the blocks for [`clean`](Self::clean).
    pub fn observe(&mut self, content: &str) -> PageBlocks {
        let blocks = self.blocks(content);
        self.observe_blocks(&blocks);
        blocks
    }

    /// Counts a page whose blocks have been read.
    pub fn observe_blocks(&mut self, blocks: &PageBlocks) {
        let before = self.threshold();
        self.state.pages += 1;
        let threshold = self.threshold();
        if threshold > before {
            self.drop_below(threshold);
        }
        for hash in blocks.distinct() {
            self.count(hash, threshold);
        }
    }

    /// Reads the blocks of a page without counting it.
    #[must_use]
    pub fn blocks(&self, content: &str) -> PageBlocks {
        PageBlocks::of(content, self.state.settings.min_block_chars())
    }

    /// Cleans a page by its blocks and the current counts. Below `min_pages` the page stays as it is. A page that
    /// would be left with only whitespace keeps its text.
    #[must_use]
    pub fn clean(&self, content: &str, blocks: &PageBlocks) -> Cleaned {
        if !self.state.has_enough_pages() {
            return Cleaned::too_few_pages(content.to_owned(), self.state.pages);
        }
        let fingerprint = self.digest.get_or_init(|| digest(self.boilerplate.iter().copied())).clone();
        let pages = |hash| u64::from(self.counts.get(hash));
        let found = |hash| self.boilerplate.contains(&hash).then(|| Repeated { hash, pages: pages(hash) });
        Cleaned::judged(content, blocks, found, fingerprint, self.state.pages)
    }

    /// Returns true if further pages are unlikely to change the cleaned text of a page. Always false below
    /// `min_pages`.
    pub(crate) fn is_stable(&self, blocks: &PageBlocks) -> bool {
        let of = self.state.pages;
        let over = |hash, outlook: Outlook| {
            outlook.is_over_threshold(u64::from(self.counts.get(hash)), of, &self.state.settings)
        };
        let stable = |hash| over(hash, Outlook::Least) == over(hash, Outlook::Greatest);
        self.state.has_enough_pages() && blocks.distinct().into_iter().all(stable)
    }

    /// See [`Fingerprint::novelty`](crate::Fingerprint::novelty).
    pub(crate) fn novelty(&self, earlier: &Self, blocks: &PageBlocks) -> Novelty {
        let common = blocks.distinct().into_iter().filter(|hash| self.boilerplate.contains(hash));
        let mut novelty = Novelty::default();
        for hash in common {
            novelty.common += 1;
            let rare = u64::from(earlier.counts.get(hash)) * 2 < earlier.threshold();
            novelty.unknown += u64::from(rare);
        }
        novelty
    }

    /// State of the host.
    #[must_use]
    pub const fn state(&self) -> &HostState {
        &self.state
    }

    /// Settles the host: later pages are cleaned on arrival.
    pub const fn settle(&mut self) {
        self.state.settled = true;
    }

    /// Hashes of the current boilerplate blocks, ascending.
    #[must_use]
    pub fn boilerplate(&self) -> Vec<u64> {
        let mut hashes: Vec<u64> = self.boilerplate.iter().copied().collect();
        hashes.sort_unstable();
        hashes
    }

    fn threshold(&self) -> u64 {
        self.state.settings.threshold(self.state.pages)
    }

    fn count(&mut self, hash: u64, threshold: u64) {
        let (count, lowered) = self.counts.add(hash);
        if lowered {
            self.state.undercount = self.counts.undercount;
            self.drop_below(threshold);
        }
        if u64::from(count) >= threshold && self.boilerplate.insert(hash) {
            self.digest = OnceLock::new();
        }
    }

    fn drop_below(&mut self, threshold: u64) {
        let before = self.boilerplate.len();
        let counts = &self.counts;
        self.boilerplate.retain(|&hash| u64::from(counts.get(hash)) >= threshold);
        if self.boilerplate.len() != before {
            self.digest = OnceLock::new();
        }
    }

    /// Recomputes the boilerplate after counts were loaded.
    pub(crate) fn recompute(&mut self) {
        let threshold = self.threshold();
        let over = self.counts.map.iter().filter(|&(_, &count)| u64::from(count) >= threshold);
        self.boilerplate = over.map(|(&hash, _)| hash).collect();
        self.digest = OnceLock::new();
    }
}
