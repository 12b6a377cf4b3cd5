//! Common interface of the modes `exact` and `site`.

use crate::{
    Cleaned, FingerprintSettings, HostFingerprint, HostState, Novelty, PageBlocks, StateError,
    site::{PageText, SiteFingerprint, SitePage},
};
use serde::{Deserialize, Serialize};

/// Mode of the boilerplate detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Whole blocks by their frequency: exactly the boilerplate spec's algorithm.
    Exact,
    /// Blocks by frequency and position, see [`site`](crate::site).
    Site,
}

/// State of a host in either mode.
#[derive(Clone, Debug)]
pub enum Fingerprint {
    /// See [`HostFingerprint`].
    Exact(HostFingerprint),
    /// See [`SiteFingerprint`].
    Site(SiteFingerprint),
}

/// A page as read by one of the modes.
#[derive(Clone, Debug)]
pub enum ReadPage {
    /// Its blocks.
    Exact(PageBlocks),
    /// Its blocks and lines.
    Site(SitePage),
}

impl Fingerprint {
    /// Creates a host without pages.
    #[must_use]
    pub fn new(mode: Mode, settings: FingerprintSettings) -> Self {
        match mode {
            Mode::Exact => Self::Exact(HostFingerprint::new(settings)),
            Mode::Site => Self::Site(SiteFingerprint::new(settings)),
        }
    }

    /// Reads a page without counting it.
    #[must_use]
    pub fn read(&self, page: &PageText<'_>) -> ReadPage {
        match self {
            Self::Exact(host) => ReadPage::Exact(host.blocks(page.content)),
            Self::Site(_) => ReadPage::Site(SitePage::of(page)),
        }
    }

    /// Counts a page that [`read`](Self::read) has read.
    pub fn observe(&mut self, page: &PageText<'_>, read: &ReadPage) {
        match (self, read) {
            (Self::Exact(host), ReadPage::Exact(blocks)) => host.observe_blocks(blocks),
            (Self::Site(host), ReadPage::Site(read)) => host.observe(page, read),
            // the page was read for the other mode
            (state, _) => {
                let read = state.read(page);
                state.observe(page, &read);
            }
        }
    }

    /// Cleans a page that [`read`](Self::read) has read, by the current counts.
    #[must_use]
    pub fn clean(&self, page: &PageText<'_>, read: &ReadPage) -> Cleaned {
        match (self, read) {
            (Self::Exact(host), ReadPage::Exact(blocks)) => host.clean(page.content, blocks),
            (Self::Site(host), ReadPage::Site(read)) => host.clean(page, read),
            (state, _) => state.clean(page, &state.read(page)),
        }
    }

    /// Returns true if further pages are unlikely to change the result of [`clean`](Self::clean) for a page. Always
    /// false below `min_pages`.
    #[must_use]
    pub fn is_stable(&self, page: &PageText<'_>, read: &ReadPage) -> bool {
        match (self, read) {
            (Self::Exact(host), ReadPage::Exact(blocks)) => host.is_stable(blocks),
            (Self::Site(host), ReadPage::Site(read)) => host.is_stable(page, read),
            (state, _) => state.is_stable(page, &state.read(page)),
        }
    }

    /// Counts the features of one page that most pages share, and those of them that are rare in the `earlier`
    /// counts. If `earlier` has the other mode, all features are new.
    #[must_use]
    pub fn novelty(&self, earlier: &Self, page: &PageText<'_>, read: &ReadPage) -> Novelty {
        match (self, earlier, read) {
            (Self::Exact(host), Self::Exact(earlier), ReadPage::Exact(blocks)) => {
                host.novelty(earlier, blocks)
            }
            (Self::Site(host), Self::Site(earlier), ReadPage::Site(read)) => {
                host.novelty(earlier, page, read)
            }
            _ => Novelty { common: 1, unknown: 1 },
        }
    }

    /// Section of a page, which may have a template; `None` if sections do not count.
    pub(crate) fn section(&self, page: &PageText<'_>, read: &ReadPage) -> Option<u64> {
        match read {
            ReadPage::Site(read) if !page.extracted => read.section(),
            _ => None,
        }
    }

    /// Number of pages of a section so far.
    pub(crate) fn pages_of(&self, section: u64) -> u64 {
        match self {
            Self::Exact(_) => 0,
            Self::Site(host) => host.pages_of(section),
        }
    }

    /// State of the host.
    #[must_use]
    pub const fn state(&self) -> &HostState {
        match self {
            Self::Exact(host) => host.state(),
            Self::Site(host) => host.state(),
        }
    }

    /// Settles the host: later pages are cleaned on arrival.
    pub const fn settle(&mut self) {
        match self {
            Self::Exact(host) => host.settle(),
            Self::Site(host) => host.settle(),
        }
    }

    /// Approximate bytes in memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        // a hash table has up to twice the space of its entries
        match self {
            Self::Exact(host) => host.counts.map.capacity() * 17,
            Self::Site(host) => host.table.pieces.capacity() * 15 + host.table.groups.capacity() * 9,
        }
    }

    /// The state as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Exact(host) => host.to_bytes(),
            Self::Site(host) => host.to_bytes(),
        }
    }

    /// Appends the bytes of [`to_bytes`](Self::to_bytes).
    pub fn append_to(&self, out: &mut Vec<u8>) {
        match self {
            Self::Exact(host) => host.append_to(out),
            Self::Site(host) => host.append_to(out),
        }
    }

    /// Restores the state that [`to_bytes`](Self::to_bytes) saved.
    ///
    /// # Errors
    /// When the bytes are damaged, of another mode or version, or counted with another `min_block_chars`.
    pub fn from_bytes(mode: Mode, bytes: &[u8], settings: FingerprintSettings) -> Result<Self, StateError> {
        Ok(match mode {
            Mode::Exact => Self::Exact(HostFingerprint::from_bytes(bytes, settings)?),
            Mode::Site => Self::Site(SiteFingerprint::from_bytes(bytes, settings)?),
        })
    }
}
