//! Common state of a host in both modes.

use crate::FingerprintSettings;

/// Progress of a host: its pages, and its settlement.
#[derive(Clone, Debug)]
pub struct HostState {
    pub(crate) settings: FingerprintSettings,
    pub(crate) pages: u64,
    pub(crate) settled: bool,
    pub(crate) undercount: u64,
}

impl HostState {
    /// Creates a state without pages.
    pub(crate) const fn new(settings: FingerprintSettings) -> Self {
        Self { settings, pages: 0, settled: false, undercount: 0 }
    }

    /// Pages counted so far.
    #[must_use]
    pub const fn pages(&self) -> u64 {
        self.pages
    }

    /// Returns true if the host has enough pages to be judged.
    #[must_use]
    pub const fn has_enough_pages(&self) -> bool {
        self.pages >= self.settings.min_pages() as u64
    }

    /// Returns true if the host has enough pages to settle: `settle_pages`, at least `min_pages`.
    #[must_use]
    pub const fn ready(&self, settle_pages: u64) -> bool {
        self.has_enough_pages() && self.pages >= settle_pages
    }

    /// Returns true if the host is settled.
    #[must_use]
    pub const fn is_settled(&self) -> bool {
        self.settled
    }

    /// Maximum undercount; 0 while the number of distinct hashes is within the bound.
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
