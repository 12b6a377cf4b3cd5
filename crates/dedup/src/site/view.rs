//! The evidence of a host's counts, as they are or as they may be after its next pages.

use super::{
    AT_HOME, GROUP_BLOCK_WEIGHT, GROUP_WEIGHT, SAID_AGAIN, SiteFingerprint,
    features::{self, Place},
    table::GroupHashes,
};
use crate::{FingerprintSettings, outlook::Outlook};

/// How much speaks for something.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Evidence {
    /// Share of the pages, of the host or (weighed less) of a group, whichever says more.
    pub(super) share: f64,
    /// Those pages.
    pub(super) pages: u64,
}

/// The counts of a host, with an [`Outlook`] on them.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) host: &'a SiteFingerprint,
    pub(super) outlook: Outlook,
}

impl View<'_> {
    pub(super) const fn settings(&self) -> &FingerprintSettings {
        self.host.state.settings()
    }

    /// Returns the strongest evidence for a feature: of the host, or of one of the page's groups.
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

    /// The share of a group's pages is drawn towards that of the host as if `min_pages` more of its pages were known, which are as the
    /// host's are on average (the m-estimate of Cestnik 1990): what stands on five of eight pages is not yet a template, and what is
    /// said of a group changes less with its next pages.
    fn share_within(&self, pages: u64, within: u64, group: u64, weight: f64) -> f64 {
        let imagined = self.settings().min_pages() as f64;
        let (within, of) = (within as f64, self.host.table.pages_of(group) as f64);
        if self.outlook == Outlook::Greatest && of >= imagined {
            // with more pages of the group the host's say less
            return weight * self.outlook.share(within / of, of);
        }
        let on_host = pages as f64 / self.host.state.pages as f64;
        weight * self.outlook.share((within + imagined * on_host) / (of + imagined), of + imagined)
    }

    /// Too small a count says nothing.
    fn enough(&self, pages: u64, share: f64) -> Evidence {
        if self.outlook.is_enough(pages, self.settings()) {
            Evidence { share, pages }
        } else {
            Evidence::default()
        }
    }

    /// Pages that have a block, if they are a tenth of all, and a third of them, `min_pages` at least, have it more than
    /// once: the signature under an author's posts, the button under each offer.
    pub(super) fn said_again(&self, key: u64) -> Option<u64> {
        let pages = |feature| self.host.table.get(feature);
        let (all, again) = (pages(features::block(key)), pages(features::again(key)));
        let often = self.outlook.is_enough(again, self.settings()) && self.is_third(again, all);
        (often && self.share(all) >= SAID_AGAIN).then_some(all)
    }

    fn is_third(&self, some: u64, all: u64) -> bool {
        self.outlook.share(some as f64 / all as f64, all as f64) >= AT_HOME
    }

    /// Returns true if no other page is expected to have this line.
    pub(super) fn is_alone(&self, key: u64) -> bool {
        self.outlook != Outlook::Greatest && self.host.table.get(features::line(key)) <= 1
    }

    /// Pages that have this title or line at their head.
    pub(super) fn titled(&self, hash: u64) -> u64 {
        self.host.table.get(features::title(hash))
    }

    /// Pages that have this block, if those are as many as the settings ask for, of the host or of a section.
    pub(super) fn block(&self, key: u64, section: Option<u64>) -> Option<u64> {
        let (pages, [within, ..]) = self.host.table.get_within(features::block(key), [section, None]);
        if self.outlook.is_over_threshold(pages, self.host.state.pages, self.settings()) {
            return Some(pages);
        }
        let share = self.share_within(pages, within, section?, GROUP_BLOCK_WEIGHT);
        let within = self.enough(within, share);
        (within.share >= self.settings().threshold_pct()).then_some(within.pages)
    }

    /// Returns true if a block is one that stands at this place: a third of the pages that have it have it there. One that few pages
    /// have may stand anywhere, and so may one that further pages have: those of a kind come together, so that the first ones
    /// say little of the places on the others.
    pub(super) fn stands_at(&self, key: u64, place: Place) -> bool {
        if self.outlook == Outlook::Greatest {
            return true;
        }
        let pages = |feature| self.host.table.get(feature);
        // what names a page is one line, and may be short
        let all = pages(if place == Place::Name { features::line(key) } else { features::block(key) });
        all < self.settings().min_pages() as u64 || self.is_third(pages(features::placed(key, place)), all)
    }
}
