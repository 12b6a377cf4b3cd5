//! The state of one host in the mode `site`.

use super::{
    AT_HOME, GROUP_BLOCK_WEIGHT, GROUP_WEIGHT, PageText, SAID_AGAIN, SitePage,
    features::{self, Features, Place},
    judge,
    table::{GROUPINGS, GroupHashes, GroupNames, NO_GROUP, Table},
    words::mix,
};
use crate::{Cleaned, FingerprintSettings, HostState};

/// Distinct pieces of evidence that are counted of a host at a time: what a hash table of 2^20 slots takes, 26 MB.
pub const MAX_FEATURES: usize = 7 << 17;
/// Of the way evidence is counted and judged; part of the fingerprint's name and of the saved state.
pub(crate) const ALGORITHM: u8 = 4;

/// Counts what the pages of one host have in common and judges pages by it; see the [module](super).
///
/// Lives as [`HostFingerprint`](crate::HostFingerprint) does: observe every page, settle, clean; afterwards observe and clean
/// each page as it comes. A host that settles when it has no more pages is judged the same in any order of its pages.
///
/// **Memory is bounded** as there: up to [`MAX_FEATURES`] distinct pieces are counted exactly; beyond that no count is too
/// high, and none too low by more than `2 * N / MAX_FEATURES`, where `N` is the number of pieces seen, each once a page. At 500
/// a page that is 0.22 % of the pages, where the least share that decides anything is 35 %. Titles stand once each and
/// are then the first to be forgotten: of a host of more than some thousand pages, footers of titles stay.
#[derive(Clone, Debug)]
pub struct SiteFingerprint {
    pub(crate) state: HostState,
    pub(crate) table: Table,
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

    /// Returns the strongest evidence for a feature: of the host, or of one of the page's groups.
    pub(super) fn evidence(&self, feature: u64, groups: GroupHashes) -> Evidence {
        let (pages, within) = self.table.get_within(feature, groups);
        let mut most = self.enough(pages, self.share(pages));
        for (group, within) in groups.into_iter().zip(within) {
            let Some(group) = group.filter(|_| within > 0) else { continue };
            let in_group = self.enough(within, self.share_within(pages, within, group, GROUP_WEIGHT));
            if in_group.share > most.share {
                most = in_group;
            }
        }
        most
    }

    fn share(&self, pages: u64) -> f64 {
        pages as f64 / self.state.pages as f64
    }

    /// The share of a group's pages is drawn towards that of the host as if `min_pages` more of its pages were known, which are as the
    /// host's are on average (the m-estimate of Cestnik 1990): what stands on five of eight pages is not yet a template, and what is
    /// said of a group changes less with its next pages.
    fn share_within(&self, pages: u64, within: u64, group: u64, weight: f64) -> f64 {
        let imagined = self.state.settings.min_pages() as f64;
        let of = self.table.pages_of(group) as f64;
        weight * (within as f64 + imagined * self.share(pages)) / (of + imagined)
    }

    /// Below `min_pages` a count says nothing.
    fn enough(&self, pages: u64, share: f64) -> Evidence {
        if pages < self.state.settings.min_pages() as u64 {
            return Evidence::default();
        }
        Evidence { share, pages }
    }

    /// Pages that have come of a section.
    pub(crate) fn pages_of(&self, section: u64) -> u64 {
        self.table.pages_of(section)
    }

    /// Pages that have a block, if they are a tenth of all, and a third of them, `min_pages` at least, have it more than
    /// once: the signature under an author's posts, the button under each offer.
    pub(super) fn said_again(&self, key: u64) -> Option<u64> {
        let pages = |feature| self.table.get(feature);
        let (all, again) = (pages(features::block(key)), pages(features::again(key)));
        let often = again >= self.state.settings.min_pages() as u64 && again as f64 >= AT_HOME * all as f64;
        (often && self.share(all) >= SAID_AGAIN).then_some(all)
    }

    /// Pages that have this line.
    pub(super) fn pages_with_line(&self, key: u64) -> u64 {
        self.table.get(features::line(key))
    }

    /// Pages that have this title or line at their head.
    pub(super) fn titled(&self, hash: u64) -> u64 {
        self.table.get(features::title(hash))
    }

    /// Pages that have this block, if those are as many as the settings ask for, of the host or of a section.
    pub(super) fn block(&self, key: u64, section: Option<u64>) -> Option<u64> {
        let (pages, [within, ..]) = self.table.get_within(features::block(key), [section, None]);
        if pages >= self.state.settings.threshold(self.state.pages) {
            return Some(pages);
        }
        let share = self.share_within(pages, within, section?, GROUP_BLOCK_WEIGHT);
        let within = self.enough(within, share);
        (within.share >= self.state.settings.threshold_pct()).then_some(within.pages)
    }

    /// Whether a block is one that stands at this place: a third of the pages that have it have it there. One that few pages have
    /// may stand anywhere.
    pub(super) fn stands_at(&self, key: u64, place: Place) -> bool {
        let pages = |feature| self.table.get(feature);
        // what names a page is one line, and may be short
        let all = pages(if place == Place::Name { features::line(key) } else { features::block(key) });
        all < self.state.settings.min_pages() as u64
            || pages(features::placed(key, place)) as f64 >= AT_HOME * all as f64
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

/// The names of a page's groups as one number.
fn sum_of(groups: GroupNames) -> u64 {
    groups.iter().fold(0, |all, &group| all << 32 | u64::from(group))
}
