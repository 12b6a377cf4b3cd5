//! State of one host in the mode `site`.

use super::{
    MARGIN, PageText, SitePage, cleaner,
    features::{self, Features},
    table::{GROUPINGS, GroupNames, NO_GROUP, Table},
    view::View,
    words::mix,
};
use crate::{Cleaned, FingerprintSettings, HostState, Novelty, outlook::Outlook};

/// Maximum distinct features of a host: a hash table of 2^17 slots, 2 MB.
pub const MAX_FEATURES: usize = 7 << 14;
/// Version of the algorithm; part of the fingerprint's identity and of the saved state.
pub(crate) const ALGORITHM: u8 = 5;

/// Counts the features that the pages of one host share and cleans pages by them; see the [module](super).
///
/// The usage is that of [`HostFingerprint`](crate::HostFingerprint): observe every page, settle, clean;
/// afterwards observe and clean each page on arrival. A host that settles at its end is cleaned the same in
/// any order of its pages.
///
/// **Memory is bounded**: up to [`MAX_FEATURES`] distinct features are counted exactly. Beyond that no count
/// is too high, and none is too low by more than [`HostState::undercount`]. Titles occur once each and are
/// dropped first. So footers of titles stay on hosts with more than some hundred pages.
#[derive(Clone, Debug)]
pub struct SiteFingerprint {
    pub(crate) state: HostState,
    pub(crate) table: Table,
    /// Sum over all counted features, which identifies the state in any order.
    pub(crate) sum: u64,
}

impl SiteFingerprint {
    /// Creates a host without pages.
    #[must_use]
    pub fn new(settings: FingerprintSettings) -> Self {
        Self::with_capacity(settings, MAX_FEATURES)
    }

    /// Creates a host with another bound than [`MAX_FEATURES`] (at least 2).
    #[must_use]
    pub fn with_capacity(settings: FingerprintSettings, max_features: usize) -> Self {
        Self { state: HostState::new(settings), table: Table::new(max_features), sum: 0 }
    }

    /// Counts a page that has been read.
    pub fn observe(&mut self, page: &PageText<'_>, read: &SitePage) {
        self.state.pages += 1;
        let groups = self.table.page(read.groups);
        let Features { both, host } = features::of(page, read, self.state.settings.min_block_chars());
        for feature in both {
            self.count(feature, groups);
        }
        for feature in host {
            self.count(feature, [NO_GROUP; GROUPINGS]);
        }
        self.sum = self.sum.wrapping_add(mix(sum_of(groups), u64::from(ALGORITHM)));
        self.state.undercount = self.table.undercount;
    }

    fn count(&mut self, feature: u64, groups: GroupNames) {
        self.table.add(feature, groups);
        self.sum = self.sum.wrapping_add(mix(feature, sum_of(groups) ^ u64::from(ALGORITHM)));
    }

    /// Cleans a page that has been read and counted. Below `min_pages` the page stays whole. A page that
    /// would be left with only headings keeps its text.
    #[must_use]
    pub fn clean(&self, page: &PageText<'_>, read: &SitePage) -> Cleaned {
        if !self.state.has_enough_pages() {
            return Cleaned::too_few_pages(page.content.to_owned(), self.state.pages);
        }
        let removed = cleaner::removed_spans(self.view(Outlook::Now), page, read);
        Cleaned::cut(page.content, removed, self.name(), self.state.pages)
    }

    /// Returns true if the next pages are unlikely to change the cleaning of a page: the lowest and highest
    /// likely counts give the same. Always false below `min_pages`.
    pub(crate) fn is_stable(&self, page: &PageText<'_>, read: &SitePage) -> bool {
        let removed = |outlook| cleaner::positions(self.view(outlook), page, read);
        self.state.has_enough_pages() && removed(Outlook::Least) == removed(Outlook::Greatest)
    }

    /// See [`Fingerprint::novelty`](crate::Fingerprint::novelty).
    pub(crate) fn novelty(&self, earlier: &Self, page: &PageText<'_>, read: &SitePage) -> Novelty {
        let Features { both, host } = features::of(page, read, self.state.settings.min_block_chars());
        let least = self.state.settings.threshold(self.state.pages);
        let rare = MARGIN * earlier.state.settings.threshold_pct();
        let mut novelty = Novelty::default();
        for feature in both.into_iter().chain(host) {
            if self.table.get(feature) >= least {
                novelty.common += 1;
                let before = earlier.view(Outlook::Now).evidence(feature, read.groups);
                novelty.unknown += u64::from(before.share < rare);
            }
        }
        novelty
    }

    const fn view(&self, outlook: Outlook) -> View<'_> {
        View { host: self, outlook }
    }

    /// Identity of the counts: 16 hex digits, equal for the same pages in any order.
    fn name(&self) -> String {
        format!("{:016x}", mix(self.sum, self.state.pages))
    }

    /// Number of pages of a section so far.
    pub(crate) fn pages_of(&self, section: u64) -> u64 {
        self.table.pages_of(section)
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
}

/// The names of a page's groups as one number.
fn sum_of(groups: GroupNames) -> u64 {
    groups.iter().fold(0, |all, &group| all << 32 | u64::from(group))
}
