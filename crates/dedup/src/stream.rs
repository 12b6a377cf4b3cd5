//! A host in a stream of pages: which pages wait until more is known of it, and which may be judged.

use crate::{Cleaned, Fingerprint, PageText, ReadPage};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Pages of a section from which on its pages are judged as they come, as a multiple of `min_pages`: with twice as many as
/// are needed to judge at all, a line of its template has a share that later pages change little.
const SECTION_PAGES: u64 = 2;
/// Growth of a host's pages, in percent, after which the pages that wait are examined again. The examinations of a page cost a
/// constant times the logarithm of `settle_pages`.
const EXAMINE_EVERY: u64 = 100;

/// The time at which pages leave that wait for the fingerprint of their host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Release {
    /// A page leaves from `min_pages` on, as soon as the next pages are unlikely to change its judgement; see
    /// [`Fingerprint::is_stable`]. The others wait for `settle_pages`.
    Early,
    /// All pages wait for `settle_pages` or the end of the host.
    Settled,
}

/// Pages that are held of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoldPolicy {
    /// The time at which they leave.
    pub release: Release,
    /// Pages of a host at which it settles; no more are held at a time. No fewer than `min_pages`.
    pub settle_pages: u64,
}

/// The fingerprint of a host, and the pages that wait for it, each under a name that the caller gives it (`T`: where it was put).
///
/// At first every page waits, until the host [ends](Self::end) or `settle_pages` have come: then it settles, and each page is judged
/// by the counts as they are when it is let go. With [`Release::Early`] the host settles with the first page whose judgement is stable, and
/// until `settle_pages` only pages wait whose judgement is not. Pages of a section of which few have come wait on, since its template
/// cannot be told from chance yet; no more than `settle_pages` of a host wait at a time, the oldest is let go first. A host that
/// ends before it settles gives exactly what the [batch](crate::batch) gives, in any order of its pages.
///
/// For each page: [`observe`](Self::observe) it, [`hold`](Self::hold) it or [judge](Self::judge) it. Then judge all that are
/// [`due`](Self::due), and those [to be examined](Self::to_examine) whose judgement [is stable](Self::is_stable).
#[derive(Clone, Debug)]
pub struct HostStream<T> {
    fingerprint: Fingerprint,
    policy: HoldPolicy,
    waiting: VecDeque<Waiting<T>>,
    /// The section that has enough pages since the last page came.
    ripe: Option<u64>,
    /// The host has `settle_pages`.
    complete: bool,
    /// Pages at which those that wait are examined.
    examine_at: u64,
}

#[derive(Clone, Debug)]
struct Waiting<T> {
    name: T,
    section: Option<u64>,
}

impl<T> HostStream<T> {
    /// A host as far as it has come, of which no page waits.
    #[must_use]
    pub fn new(fingerprint: Fingerprint, policy: HoldPolicy) -> Self {
        Self::with_waiting(fingerprint, policy, [])
    }

    /// A host of which pages wait, under their names with their sections: those that [`waiting_pages`](Self::waiting_pages)
    /// returned.
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
        Self { fingerprint, policy, waiting, ripe: None, complete, examine_at: 0 }
    }

    /// Counts a page. True if it has to wait: then [`hold`](Self::hold) it.
    pub fn observe(&mut self, page: &PageText<'_>, read: &ReadPage) -> bool {
        self.fingerprint.observe(page, read);
        if !self.fingerprint.state().is_settled() {
            return true;
        }
        if let Some(section) = self.fingerprint.section(page, read) {
            let (pages, enough) = (self.fingerprint.pages_of(section), self.enough());
            if pages == enough {
                self.ripe = Some(section);
            }
            if pages < enough {
                return true;
            }
        }
        !self.complete && !self.fingerprint.is_stable(page, read)
    }

    /// Holds a page that was observed, under a name.
    pub fn hold(&mut self, page: &PageText<'_>, read: &ReadPage, name: T) {
        self.waiting.push_back(Waiting { name, section: self.fingerprint.section(page, read) });
    }

    /// Returns the names of the pages that need not wait any longer, in the order in which they came. Settles the host when
    /// `settle_pages` have come.
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
        if completes || (self.complete && self.ripe.is_some()) {
            let waiting = std::mem::take(&mut self.waiting);
            for page in waiting {
                if self.is_ripe(page.section) { due.push(page.name) } else { self.waiting.push_back(page) }
            }
        }
        self.ripe = None;
        while self.waiting.len() as u64 > self.policy.settle_pages {
            due.extend(self.waiting.pop_front().map(|page| page.name));
        }
        due
    }

    /// Returns the names of the waiting pages that are to be examined now, in the order in which they came. The caller
    /// [lets go](Self::let_go) those whose judgement [is stable](Self::is_stable).
    pub fn to_examine(&mut self) -> Vec<T>
    where
        T: Clone,
    {
        let pages = self.fingerprint.state().pages();
        let early = self.policy.release == Release::Early && !self.complete;
        if !early || !self.fingerprint.state().may_judge() || pages < self.examine_at {
            return Vec::new();
        }
        self.examine_at = (pages + 1).max(pages * (100 + EXAMINE_EVERY) / 100);
        let waiting = self.waiting.iter().filter(|page| self.is_ripe(page.section));
        waiting.map(|page| page.name.clone()).collect()
    }

    /// Returns true if the next pages are unlikely to change the judgement of a page that was observed.
    #[must_use]
    pub fn is_stable(&self, page: &PageText<'_>, read: &ReadPage) -> bool {
        self.fingerprint.is_stable(page, read)
    }

    /// Settles the host, and removes a page from those that wait: it is to be judged now.
    pub fn let_go(&mut self, name: &T)
    where
        T: PartialEq,
    {
        self.fingerprint.settle();
        self.waiting.retain(|page| page.name != *name);
    }

    /// The host has no more pages: settles it. The names of all pages that wait.
    pub fn end(&mut self) -> Vec<T> {
        self.fingerprint.settle();
        self.ripe = None;
        std::mem::take(&mut self.waiting).into_iter().map(|page| page.name).collect()
    }

    /// Judges a page that was observed, by the counts as they are.
    #[must_use]
    pub fn judge(&self, page: &PageText<'_>, read: &ReadPage) -> Cleaned {
        self.fingerprint.clean(page, read)
    }

    /// Returns true if pages are judged as they come, whatever the next ones may change.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.complete
    }

    /// Pages that wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The names of the pages that wait, with their sections.
    #[must_use]
    pub fn waiting_pages(&self) -> Vec<(T, Option<u64>)>
    where
        T: Clone,
    {
        self.waiting.iter().map(|page| (page.name.clone(), page.section)).collect()
    }

    /// What is known of the host.
    #[must_use]
    pub const fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    fn is_ripe(&self, section: Option<u64>) -> bool {
        section.is_none_or(|section| self.fingerprint.pages_of(section) >= self.enough())
    }

    fn enough(&self) -> u64 {
        SECTION_PAGES * self.fingerprint.state().settings().min_pages() as u64
    }
}
