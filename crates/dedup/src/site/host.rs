//! The state of one host in the mode `site`.

use super::{
    AT_HOME, PageText, SECTION_WEIGHT, SitePage,
    features::{self, Features, Place},
    judge,
    table::{NO_SECTION, Table},
    words::mix,
};
use crate::{Cleaned, FingerprintSettings, HostState};

/// Distinct pieces of evidence that are counted of a host at a time: what a hash table of 2^20 slots takes, 18 MB.
pub const MAX_FEATURES: usize = 7 << 17;
/// Of the way evidence is counted and judged; part of the fingerprint's name and of the saved state.
pub(crate) const ALGORITHM: u8 = 3;

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
        let section = if page.extracted { NO_SECTION } else { self.table.page(read.section) };
        let Features { both, host } = features::of(page, read, self.state.settings.min_block_chars());
        for feature in both {
            self.count(feature, section);
        }
        for feature in host {
            self.count(feature, NO_SECTION);
        }
        self.sum = self.sum.wrapping_add(mix(u64::from(section), u64::from(ALGORITHM)));
        self.state.undercount = self.table.undercount;
    }

    fn count(&mut self, feature: u64, section: u32) {
        self.table.add(feature, section);
        self.sum = self.sum.wrapping_add(mix(feature, u64::from(section) ^ u64::from(ALGORITHM)));
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
        let (pages, within) = self.table.get(feature, section);
        let host = self.enough(pages, self.share(pages));
        let Some(section) = section.filter(|_| within > 0) else { return host };
        let within = self.enough(within, self.share_within(pages, within, section));
        if within.share > host.share { within } else { host }
    }

    fn share(&self, pages: u64) -> f64 {
        pages as f64 / self.state.pages as f64
    }

    /// The share of a section's pages is drawn towards that of the host as if `min_pages` more of its pages were known, which are as the
    /// host's are on average (the m-estimate of Cestnik 1990): what stands on five of eight pages is not yet a template, and what is
    /// said of a section changes less with its next pages.
    fn share_within(&self, pages: u64, within: u64, section: u64) -> f64 {
        let imagined = self.state.settings.min_pages() as f64;
        let of = self.table.pages_of(section) as f64;
        SECTION_WEIGHT * (within as f64 + imagined * self.share(pages)) / (of + imagined)
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

    /// Pages that have this title or line at their head.
    pub(super) fn titled(&self, hash: u64) -> u64 {
        self.table.get(features::title(hash), None).0
    }

    /// Pages that have this block, if those are as many as the settings ask for, of the host or of a section.
    pub(super) fn block(&self, key: u64, section: Option<u64>) -> Option<u64> {
        let (pages, within) = self.table.get(features::block(key), section);
        if pages >= self.state.settings.threshold(self.state.pages) {
            return Some(pages);
        }
        let within = self.enough(within, self.share_within(pages, within, section?));
        (within.share >= self.state.settings.threshold_pct()).then_some(within.pages)
    }

    /// Whether a block is one that stands at this place: a third of the pages that have it have it there. One that few pages have
    /// may stand anywhere.
    pub(super) fn stands_at(&self, key: u64, place: Place) -> bool {
        let pages = |feature| self.table.get(feature, None).0;
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
