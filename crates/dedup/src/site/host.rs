//! The state of one host in the mode `site`.

use super::{PageText, SECTION_WEIGHT, SitePage, features, judge, words::mix};
use crate::{Cleaned, FingerprintSettings, HostState};

/// Distinct pieces of evidence that are counted of a host at a time: what a hash table of 2^19 slots takes, 9 MB.
pub const MAX_FEATURES: usize = 7 << 16;
/// Of the way evidence is counted and judged; part of the fingerprint's name and of the saved state.
pub(crate) const ALGORITHM: u8 = 1;

/// Counts what the pages of one host have in common and judges pages by it; see the [module](super).
///
/// Lives as [`HostFingerprint`](crate::HostFingerprint) does: observe every page, settle, clean; afterwards observe and clean
/// each page as it comes. A host that settles when it has no more pages is judged the same in any order of its pages.
///
/// **Memory is bounded** as there: up to [`MAX_FEATURES`] distinct pieces are counted exactly; beyond that no count is too
/// high, and none too low by more than `2 * N / MAX_FEATURES`, where `N` is the number of pieces seen, each once a page. At 500
/// a page that is 0.22 % of the pages, where the least share that decides anything is 21 %. Titles stand once each and
/// are then the first to be forgotten: of a host of more than some thousand pages, footers of titles stay.
#[derive(Clone, Debug)]
pub struct SiteFingerprint {
    pub(crate) state: HostState,
    /// Sum over all that was counted, which names the state whatever the order.
    pub(crate) sum: u64,
}

/// How much speaks for something.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Evidence {
    /// Share of the pages, of the host or (weighed less) of the section, whichever says more.
    pub(super) share: f64,
    /// Those pages.
    pub(super) pages: u64,
}

impl SiteFingerprint {
    /// A host of which no page has come yet.
    #[must_use]
    pub fn new(settings: FingerprintSettings) -> Self {
        Self::with_capacity(settings, MAX_FEATURES)
    }

    /// With another bound than [`MAX_FEATURES`] (at least 2).
    #[must_use]
    pub fn with_capacity(settings: FingerprintSettings, max_features: usize) -> Self {
        Self { state: HostState::new(settings, max_features), sum: 0 }
    }

    /// Counts a page that has been read.
    pub fn observe(&mut self, page: &PageText<'_>, read: &SitePage) {
        self.state.pages += 1;
        let features = features::of(page, read, self.state.settings.min_block_chars());
        self.count(features::section(read.section));
        for feature in features.both {
            self.count(feature);
            self.count(features::within(feature, read.section));
        }
        for feature in features.host {
            self.count(feature);
        }
    }

    fn count(&mut self, feature: u64) {
        self.state.counts.add(feature);
        self.sum = self.sum.wrapping_add(mix(feature, u64::from(ALGORITHM)));
    }

    /// Judges a page that has been read and counted. Below `min_pages` nothing is judged. A page of which nothing but
    /// headings would be left keeps its text.
    #[must_use]
    pub fn clean(&self, page: &PageText<'_>, read: &SitePage) -> Cleaned {
        if !self.state.may_judge() {
            return Cleaned::too_few_pages(page.content.to_owned(), self.state.pages);
        }
        let removed = judge::judge(self, page, read);
        Cleaned::cut(page.content, removed, self.name(), self.state.pages)
    }

    /// Names what was counted: 16 hex digits, the same for the same pages in any order.
    fn name(&self) -> String {
        format!("{:016x}", mix(self.sum, self.state.pages))
    }

    /// What speaks for a feature, on the host and in a section of it.
    pub(super) fn evidence(&self, feature: u64, section: Option<u64>) -> Evidence {
        let host = self.share(self.state.counts.get(feature), self.state.pages);
        let Some(section) = section else { return host };
        let within = self.state.counts.get(features::within(feature, section));
        let pages = u64::from(self.state.counts.get(features::section(section)));
        let within = self.share(within, pages);
        let within = Evidence { share: within.share * SECTION_WEIGHT, ..within };
        if within.share > host.share { within } else { host }
    }

    /// Below `min_pages` a count says nothing.
    fn share(&self, count: u32, of: u64) -> Evidence {
        let count = u64::from(count);
        if count == 0 || of == 0 || count < self.state.settings.min_pages() as u64 {
            return Evidence::default();
        }
        Evidence { share: count as f64 / of as f64, pages: count }
    }

    /// Pages that have this title or line at their head.
    pub(super) fn titled(&self, hash: u64) -> u64 {
        u64::from(self.state.counts.get(features::title(hash)))
    }

    /// Pages that have this block, if those are as many as the settings ask for.
    pub(super) fn block(&self, key: u64) -> Option<u64> {
        let pages = u64::from(self.state.counts.get(features::block(key)));
        (pages >= self.state.settings.threshold(self.state.pages)).then_some(pages)
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
}
