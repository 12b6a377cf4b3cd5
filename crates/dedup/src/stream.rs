//! A host in a stream of pages: decides which pages are held and which are cleaned.

use crate::{Cleaned, Fingerprint, PageText, ReadPage};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Minimum pages of a section for cleaning its pages on arrival, as a multiple of `min_pages`. With twice the
/// minimum, later pages change the share of a template line little.
const SECTION_PAGES: u64 = 2;
/// Growth of a host, in percent, between examinations of the held pages. The examinations of a page cost a
/// constant times the logarithm of `settle_pages`.
const EXAMINE_EVERY: u64 = 100;

/// Time at which held pages are released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Release {
    /// From `min_pages` on a page is released once further pages are unlikely to change its cleaned text; see
    /// [`Fingerprint::is_stable`]. The others wait for `settle_pages`.
    Early,
    /// All pages wait for `settle_pages` or the end of the host.
    Settled,
}

/// Policy for held pages of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoldPolicy {
    /// Time of the release.
    pub release: Release,
    /// Number of pages at which the host settles, and maximum of held pages. At least `min_pages`.
    pub settle_pages: u64,
}

/// Fingerprint of a host and its held pages. The caller identifies each page by a name `T`, such as its storage
/// location.
///
/// At first every page is held, until the host [ends](Self::end) or has `settle_pages`. Then it settles, and each
/// page is cleaned by the counts at its release. With [`Release::Early`] the host settles with the first
/// [stable](Self::is_stable) page; until `settle_pages` only unstable pages are held.
///
/// Pages of a section with few pages are held longer, since its template is not yet distinct from chance. At
/// most `settle_pages` pages of a host are held; the oldest is released first. A host that ends before it
/// settles gives exactly the result of the [batch](crate::batch), in any order of its pages.
///
/// For each page: [`observe`](Self::observe) it, [`hold`](Self::hold) it or [clean](Self::clean) it. Then clean all
/// pages that are [`due`](Self::due). Clean those [to be examined](Self::to_examine) that [are
/// stable](Self::is_stable).
#[derive(Clone, Debug)]
pub struct HostStream<T> {
    fingerprint: Fingerprint,
    policy: HoldPolicy,
    waiting: VecDeque<Waiting<T>>,
    /// The section that reached enough pages with the last page.
    completed_section: Option<u64>,
    /// True if the host has `settle_pages`.
    complete: bool,
    /// Number of pages at which held pages are examined.
    examine_at: u64,
}

#[derive(Clone, Debug)]
struct Waiting<T> {
    name: T,
    section: Option<u64>,
}

impl<T> HostStream<T> {
    /// Creates a stream from a host's fingerprint, without held pages.
    #[must_use]
    pub fn new(fingerprint: Fingerprint, policy: HoldPolicy) -> Self {
        Self::with_waiting(fingerprint, policy, [])
    }

    /// Creates a stream with held pages: their names and sections, as [`waiting_pages`](Self::waiting_pages)
    /// returned them.
    #[must_use]
    pub fn with_waiting(
        fingerprint: Fingerprint,
        policy: HoldPolicy,
        waiting: impl IntoIterator<Item = (T, Option<u64>)>,
    ) -> Self {
        let waiting = waiting.into_iter().map(|(name, section)| Waiting { name, section }).collect();
        let state = fingerprint.state();
        let complete =
            state.is_settled() && (policy.release == Release::Settled || state.ready(policy.settle_pages));
        Self { fingerprint, policy, waiting, completed_section: None, complete, examine_at: 0 }
    }

    /// Counts a page. Returns true if the page must wait: then [`hold`](Self::hold) it.
    pub fn observe(&mut self, page: &PageText<'_>, read: &ReadPage) -> bool {
        self.fingerprint.observe(page, read);
        if !self.fingerprint.state().is_settled() {
            return true;
        }
        if let Some(section) = self.fingerprint.section(page, read) {
            let (pages, enough) = (self.fingerprint.pages_of(section), self.enough());
            if pages == enough {
                self.completed_section = Some(section);
            }
            if pages < enough {
                return true;
            }
        }
        !self.complete && !self.fingerprint.is_stable(page, read)
    }

    /// Holds an observed page under a name.
    pub fn hold(&mut self, page: &PageText<'_>, read: &ReadPage, name: T) {
        self.waiting.push_back(Waiting { name, section: self.fingerprint.section(page, read) });
    }

    /// Names of the held pages that need not wait any longer, in order of arrival. Settles the host at
    /// `settle_pages`.
    pub fn due(&mut self) -> Vec<T> {
        let completes = !self.complete && self.fingerprint.state().ready(self.policy.settle_pages);
        if completes {
            self.fingerprint.settle();
            self.complete = true;
        }
        let mut due = Vec::new();
        if !self.fingerprint.state().is_settled() {
            return due;
        }
        if completes || (self.complete && self.completed_section.is_some()) {
            let waiting = std::mem::take(&mut self.waiting);
            for page in waiting {
                if self.has_enough_pages(page.section) {
                    due.push(page.name);
                } else {
                    self.waiting.push_back(page);
                }
            }
        }
        self.completed_section = None;
        while self.waiting.len() as u64 > self.policy.settle_pages {
            due.extend(self.waiting.pop_front().map(|page| page.name));
        }
        due
    }

    /// Names of the held pages to examine now, in order of arrival. The caller [releases](Self::release) those that
    /// [are stable](Self::is_stable).
    pub fn to_examine(&mut self) -> Vec<T>
    where
        T: Clone,
    {
        let pages = self.fingerprint.state().pages();
        let early = self.policy.release == Release::Early && !self.complete;
        if !early || !self.fingerprint.state().has_enough_pages() || pages < self.examine_at {
            return Vec::new();
        }
        self.examine_at = (pages + 1).max(pages * (100 + EXAMINE_EVERY) / 100);
        let waiting = self.waiting.iter().filter(|page| self.has_enough_pages(page.section));
        waiting.map(|page| page.name.clone()).collect()
    }

    /// Returns true if further pages are unlikely to change the cleaned text of an observed page.
    #[must_use]
    pub fn is_stable(&self, page: &PageText<'_>, read: &ReadPage) -> bool {
        self.fingerprint.is_stable(page, read)
    }

    /// Settles the host and removes a page from the held ones.
    pub fn release(&mut self, name: &T)
    where
        T: PartialEq,
    {
        self.fingerprint.settle();
        self.waiting.retain(|page| page.name != *name);
    }

    /// Ends the host and settles it. Returns the names of all held pages.
    pub fn end(&mut self) -> Vec<T> {
        self.fingerprint.settle();
        self.completed_section = None;
        std::mem::take(&mut self.waiting).into_iter().map(|page| page.name).collect()
    }

    /// Cleans an observed page by the current counts.
    #[must_use]
    pub fn clean(&self, page: &PageText<'_>, read: &ReadPage) -> Cleaned {
        self.fingerprint.clean(page, read)
    }

    /// Returns true if pages are cleaned on arrival.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.complete
    }

    /// Number of held pages.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Names of the held pages, with their sections.
    #[must_use]
    pub fn waiting_pages(&self) -> Vec<(T, Option<u64>)>
    where
        T: Clone,
    {
        self.waiting.iter().map(|page| (page.name.clone(), page.section)).collect()
    }

    /// The host's fingerprint.
    #[must_use]
    pub const fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    fn has_enough_pages(&self, section: Option<u64>) -> bool {
        section.is_none_or(|section| self.fingerprint.pages_of(section) >= self.enough())
    }

    fn enough(&self) -> u64 {
        SECTION_PAGES * self.fingerprint.state().settings().min_pages() as u64
    }
}
