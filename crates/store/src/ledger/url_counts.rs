//! Numbers of URLs by their state in the frontier.

use crawl_model::Lane;

/// State of an unsettled URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UrlState {
    /// Pending and due.
    Ready,
    /// Pending and due, in the browser's lane.
    ReadyForBrowser,
    /// Scheduled for a later fetch.
    Waiting,
    /// Leased by a worker.
    Leased,
    /// Fetched, held until the host's fingerprint settles.
    Held,
}

impl UrlState {
    /// State of a due URL of a lane.
    pub(crate) const fn ready(lane: Lane) -> Self {
        match lane {
            Lane::Plain => Self::Ready,
            Lane::Browser => Self::ReadyForBrowser,
        }
    }
}

/// Numbers by [`UrlState`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UrlCounts(pub(super) [u64; 5]);

impl UrlCounts {
    pub(crate) fn get(self, state: UrlState) -> u64 {
        self.0[state as usize]
    }

    /// Number of pending URLs, due now or later.
    pub(crate) fn pending(self) -> u64 {
        self.get(UrlState::Ready) + self.get(UrlState::ReadyForBrowser) + self.get(UrlState::Waiting)
    }

    /// Number of all URLs.
    pub(crate) fn total(self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns true if nothing is pending, waiting or leased.
    pub(crate) fn drained(self) -> bool {
        self.pending() + self.get(UrlState::Leased) == 0
    }

    pub(super) fn add(&mut self, state: UrlState, n: u64) {
        self.0[state as usize] += n;
    }

    pub(super) fn take(&mut self, state: UrlState, n: u64) {
        let count = &mut self.0[state as usize];
        debug_assert!(*count >= n, "more taken from {state:?} than there is");
        *count = count.saturating_sub(n);
    }
}
