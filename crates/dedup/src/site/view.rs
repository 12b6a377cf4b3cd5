//! Evidence of a host's counts, current or likely after its next pages.

use super::{
    GROUP_BLOCK_WEIGHT, GROUP_WEIGHT, REPEATED_ON_PAGE, SAME_POSITION, SiteFingerprint,
    features::{self, Position},
    table::GroupHashes,
};
use crate::{FingerprintSettings, outlook::Outlook};

/// Strength of evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Evidence {
    /// Share of the pages of the host or (with less weight) of a group; the greater one.
    pub(super) share: f64,
    /// Those pages.
    pub(super) pages: u64,
}

/// The counts of a host, under an [`Outlook`].
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) host: &'a SiteFingerprint,
    pub(super) outlook: Outlook,
}

impl View<'_> {
    pub(super) const fn settings(&self) -> &FingerprintSettings {
        self.host.state.settings()
    }

    /// The strongest evidence for a feature: of the host, or of one of the page's groups.
    pub(super) fn evidence(&self, feature: u64, groups: GroupHashes) -> Evidence {
        let (pages, within) = self.host.table.get_within(feature, groups);
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
        let of = self.host.state.pages as f64;
        self.outlook.share(pages as f64 / of, of)
    }

    /// Smooths the share of a group's pages toward the host's share with `min_pages` pseudo-pages (the
    /// m-estimate of Cestnik 1990). A feature of five among eight pages is not yet a template, and a group's
    /// evidence changes less with its next pages.
    fn share_within(&self, pages: u64, within: u64, group: u64, weight: f64) -> f64 {
        let imagined = self.settings().min_pages() as f64;
        let (within, of) = (within as f64, self.host.table.pages_of(group) as f64);
        if self.outlook == Outlook::Greatest && of >= imagined {
            // with more pages of the group the host's share counts less
            return weight * self.outlook.share(within / of, of);
        }
        let on_host = pages as f64 / self.host.state.pages as f64;
        weight * self.outlook.share((within + imagined * on_host) / (of + imagined), of + imagined)
    }

    /// Evidence of a count; none if the count is too small.
    fn enough(&self, pages: u64, share: f64) -> Evidence {
        if self.outlook.is_enough(pages, self.settings()) {
            Evidence { share, pages }
        } else {
            Evidence::default()
        }
    }

    /// Number of pages with a block that pages repeat, such as the signature under an author's posts. The
    /// block must be on a tenth of all pages; a third of these, at least `min_pages`, must have it more than
    /// once.
    pub(super) fn repeated_on_pages(&self, key: u64) -> Option<u64> {
        let pages = |feature| self.host.table.get(feature);
        let (all, again) = (pages(features::block(key)), pages(features::again(key)));
        let often = self.outlook.is_enough(again, self.settings()) && self.is_third(again, all);
        (often && self.share(all) >= REPEATED_ON_PAGE).then_some(all)
    }

    fn is_third(&self, some: u64, all: u64) -> bool {
        self.outlook.share(some as f64 / all as f64, all as f64) >= SAME_POSITION
    }

    /// Returns true if no other page is expected to have this line.
    pub(super) fn is_alone(&self, key: u64) -> bool {
        self.outlook != Outlook::Greatest && self.host.table.get(features::line(key)) <= 1
    }

    /// Evidence of the whole host for a line, however small.
    pub(super) fn on_host(&self, key: u64) -> Evidence {
        let pages = self.host.table.get(features::line(key));
        Evidence { share: self.share(pages), pages }
    }

    /// Number of pages with this title or line at their head.
    pub(super) fn pages_with_title(&self, hash: u64) -> u64 {
        self.host.table.get(features::title(hash))
    }

    /// Number of pages with this block, if they reach the threshold for the host or for a section.
    pub(super) fn block(&self, key: u64, section: Option<u64>) -> Option<u64> {
        let (pages, [within, ..]) = self.host.table.get_within(features::block(key), [section, None]);
        if self.outlook.is_over_threshold(pages, self.host.state.pages, self.settings()) {
            return Some(pages);
        }
        let share = self.share_within(pages, within, section?, GROUP_BLOCK_WEIGHT);
        let within = self.enough(within, share);
        (within.share >= self.settings().threshold_pct()).then_some(within.pages)
    }

    /// Returns true if a block usually has this position: a third of its pages have it there. A block of few
    /// pages may have any position. So may one that further pages get: similar pages come together, so the
    /// first ones do not represent the rest.
    pub(super) fn occurs_at(&self, key: u64, place: Position) -> bool {
        if self.outlook == Outlook::Greatest {
            return true;
        }
        let pages = |feature| self.host.table.get(feature);
        // a page's name is one line, and may be short
        let all = pages(if place == Position::Name { features::line(key) } else { features::block(key) });
        all < self.settings().min_pages() as u64 || self.is_third(pages(features::placed(key, place)), all)
    }
}
