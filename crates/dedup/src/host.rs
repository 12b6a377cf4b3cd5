//! The fingerprint of one host in a stream of pages.

use crate::{
    Cleaned, FingerprintSettings, HostState, Novelty, PageBlocks, blocks::Repeated, clean::digest,
    counts::Counts, outlook::Outlook,
};
use rustc_hash::FxHashSet;
use std::sync::OnceLock;

/// Distinct blocks that are counted of a host at a time: what a hash table of 2^18 slots takes, 4.5 MB.
pub const MAX_BLOCKS: usize = 7 << 15;

/// Counts the blocks of one host by page and judges pages by the counts.
///
/// The life of it: [`observe`](Self::observe) every page and hold it back, until the host has no more pages or
/// [`ready`](HostState::ready) says that enough have come; then [`settle`](Self::settle), and [`clean`](Self::clean) what was
/// held. From there on observe a page and clean it at once: counts go on, and each page is judged by the counts and the
/// number of pages as they are then. A host that settles when it has no more pages gives exactly what
/// [`batch::clean_domain`](crate::batch::clean_domain) gives.
///
/// **Memory is bounded.** Up to [`MAX_BLOCKS`] distinct blocks are counted exactly. When there are more, rare ones are
/// forgotten (Misra and Gries 1982), such that no count is ever too high, nothing is taken for boilerplate that is not, and a
/// count is too low by at most [`undercount`](HostState::undercount), which stays below
/// `2 * N / MAX_BLOCKS`, where `N` is the number of blocks seen, each once a page. At 50 blocks a page that is 0.05 % of
/// the pages: a block on 70.05 % of them may be missed, one on 71 % may not.
#[derive(Clone, Debug)]
pub struct HostFingerprint {
    pub(crate) state: HostState,
    pub(crate) counts: Counts,
    /// Blocks whose count is at or over the threshold, kept up with every page: they are few, the counts are many.
    boilerplate: FxHashSet<u64>,
    /// Name of that set, made when it is asked for.
    digest: OnceLock<String>,
}

impl HostFingerprint {
    /// A host of which no page has come yet.
    #[must_use]
    pub fn new(settings: FingerprintSettings) -> Self {
        Self::with_capacity(settings, MAX_BLOCKS)
    }

    /// With another bound than [`MAX_BLOCKS`] on the distinct blocks counted (at least 2).
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

    /// The blocks of a page, which is not counted.
    #[must_use]
    pub fn blocks(&self, content: &str) -> PageBlocks {
        PageBlocks::of(content, self.state.settings.min_block_chars())
    }

    /// Judges a page whose blocks have been read, by the counts as they are. Below `min_pages` nothing is judged. A page
    /// of which nothing but whitespace would be left keeps its text.
    #[must_use]
    pub fn clean(&self, content: &str, blocks: &PageBlocks) -> Cleaned {
        if !self.state.may_judge() {
            return Cleaned::too_few_pages(content.to_owned(), self.state.pages);
        }
        let fingerprint = self.digest.get_or_init(|| digest(self.boilerplate.iter().copied())).clone();
        let pages = |hash| u64::from(self.counts.get(hash));
        let found = |hash| self.boilerplate.contains(&hash).then(|| Repeated { hash, pages: pages(hash) });
        Cleaned::judged(content, blocks, found, fingerprint, self.state.pages)
    }

    /// Returns true if the next pages are unlikely to change the judgement of a page. Below `min_pages` nothing is stable.
    pub(crate) fn is_stable(&self, blocks: &PageBlocks) -> bool {
        let of = self.state.pages;
        let over = |hash, outlook: Outlook| {
            outlook.is_over_threshold(u64::from(self.counts.get(hash)), of, &self.state.settings)
        };
        let stable = |hash| over(hash, Outlook::Least) == over(hash, Outlook::Greatest);
        self.state.may_judge() && blocks.distinct().into_iter().all(stable)
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

    /// How far it has come.
    #[must_use]
    pub const fn state(&self) -> &HostState {
        &self.state
    }

    /// From here on pages are judged as they come.
    pub const fn settle(&mut self) {
        self.state.settled = true;
    }

    /// Hashes of the blocks that are boilerplate as it stands, ascending.
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

    /// Finds the boilerplate anew, after counts were read back.
    pub(crate) fn judge_all(&mut self) {
        let threshold = self.threshold();
        let over = self.counts.map.iter().filter(|&(_, &count)| u64::from(count) >= threshold);
        self.boilerplate = over.map(|(&hash, _)| hash).collect();
        self.digest = OnceLock::new();
    }
}
