//! What the states of a host have in common in both modes.

use crate::FingerprintSettings;

/// How far a host has come: its pages, and whether it is settled.
#[derive(Clone, Debug)]
pub struct HostState {
    pub(crate) settings: FingerprintSettings,
    pub(crate) pages: u64,
    pub(crate) settled: bool,
    pub(crate) undercount: u64,
}

impl HostState {
    /// A host of which no page has come yet.
    pub(crate) const fn new(settings: FingerprintSettings) -> Self {
        Self { settings, pages: 0, settled: false, undercount: 0 }
    }

    /// Pages counted so far.
    #[must_use]
    pub const fn pages(&self) -> u64 {
        self.pages
    }

    /// Returns true if enough pages have come to judge at all.
    #[must_use]
    pub const fn may_judge(&self) -> bool {
        self.pages >= self.settings.min_pages() as u64
    }

    /// Enough pages have come to settle although more may follow: `settle_pages`, and not fewer than `min_pages`.
    #[must_use]
    pub const fn ready(&self, settle_pages: u64) -> bool {
        self.may_judge() && self.pages >= settle_pages
    }

    /// Whether the host has been settled.
    #[must_use]
    pub const fn is_settled(&self) -> bool {
        self.settled
    }

    /// By how much a count may be too low; 0 while no more distinct hashes have come than are counted at a time.
    #[must_use]
    pub const fn undercount(&self) -> u64 {
        self.undercount
    }

    /// The settings it was made with.
    #[must_use]
    pub const fn settings(&self) -> &FingerprintSettings {
        &self.settings
    }
}
