//! A host in a stream of pages: which pages wait until more is known of it, and which may be judged.

use crate::{Cleaned, Fingerprint, PageText, ReadPage};
use std::collections::VecDeque;

/// Pages of a section from which on its pages are judged as they come, as a multiple of `min_pages`: with twice as many as
/// are needed to judge at all, a line of its template has a share that later pages change little.
const SECTION_PAGES: u64 = 2;

/// The fingerprint of a host, and the pages that wait for it, each under a name that the caller gives it (`T`: where it was put).
///
/// At first every page waits, until the host [ends](Self::end) or `settle_pages` have come: then it settles, and each page is judged
/// by the counts as they are when it is let go. Pages of a section of which few have come wait on, since its template
/// cannot be told from chance yet; no more than `settle_pages` of a host wait at a time, the oldest is let go first. A host that
/// ends before it settles gives exactly what the [batch](crate::batch) gives, in any order of its pages.
///
/// For each page: [`observe`](Self::observe) it, [`hold`](Self::hold) it or [judge](Self::judge) it, and then judge all that are
/// [`due`](Self::due).
#[derive(Clone, Debug)]
pub struct HostStream<T> {
    fingerprint: Fingerprint,
    settle_pages: u64,
    waiting: VecDeque<Waiting<T>>,
    /// The section that has enough pages since the last page came.
    ripe: Option<u64>,
}

#[derive(Clone, Debug)]
struct Waiting<T> {
    name: T,
    section: Option<u64>,
}

impl<T> HostStream<T> {
    /// A host as far as it has come, of which no page waits; `settle_pages` are held at a time, and no fewer than `min_pages`.
    #[must_use]
    pub const fn new(fingerprint: Fingerprint, settle_pages: u64) -> Self {
        Self { fingerprint, settle_pages, waiting: VecDeque::new(), ripe: None }
    }

    /// A host of which pages wait, under their names with their sections: those that [`waiting_pages`](Self::waiting_pages)
    /// told of.
    #[must_use]
    pub fn with_waiting(
        fingerprint: Fingerprint,
        settle_pages: u64,
        waiting: impl IntoIterator<Item = (T, Option<u64>)>,
    ) -> Self {
        let waiting = waiting.into_iter().map(|(name, section)| Waiting { name, section }).collect();
        Self { fingerprint, settle_pages, waiting, ripe: None }
    }

    /// Counts a page. True if it has to wait: then [`hold`](Self::hold) it.
    pub fn observe(&mut self, page: &PageText<'_>, read: &ReadPage) -> bool {
        self.fingerprint.observe(page, read);
        if !self.fingerprint.state().is_settled() {
            return true;
        }
        let Some(section) = self.fingerprint.section(page, read) else { return false };
        let (pages, enough) = (self.fingerprint.pages_of(section), self.enough());
        if pages == enough {
            self.ripe = Some(section);
        }
        pages < enough
    }

    /// A page that was observed waits under a name.
    pub fn hold(&mut self, page: &PageText<'_>, read: &ReadPage, name: T) {
        self.waiting.push_back(Waiting { name, section: self.fingerprint.section(page, read) });
    }

    /// The names of the pages that need not wait any longer, in the order in which they came. Settles the host when
    /// `settle_pages` have come.
    pub fn due(&mut self) -> Vec<T> {
        let settles =
            !self.fingerprint.state().is_settled() && self.fingerprint.state().ready(self.settle_pages);
        if settles {
            self.fingerprint.settle();
        }
        if !self.fingerprint.state().is_settled() {
            return Vec::new();
        }
        let mut due = Vec::new();
        if settles || self.ripe.is_some() {
            let waiting = std::mem::take(&mut self.waiting);
            for page in waiting {
                if page.section.is_some_and(|section| self.fingerprint.pages_of(section) < self.enough()) {
                    self.waiting.push_back(page);
                } else {
                    due.push(page.name);
                }
            }
            self.ripe = None;
        }
        while self.waiting.len() as u64 > self.settle_pages {
            due.extend(self.waiting.pop_front().map(|page| page.name));
        }
        due
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

    fn enough(&self) -> u64 {
        SECTION_PAGES * self.fingerprint.state().settings().min_pages() as u64
    }
}
