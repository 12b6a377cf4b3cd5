//! Counts of one host, and its undecided pages.

use super::{MissedTemplate, SitePage, Store, Visit, saved};
use crawl_extract::{ContentCheck, CountPolicy, CountedBlock, CountedExtraction, SiteEvidence};
use crawl_model::{Extraction, Extractor, HostKey, StoreError, UrlKey, now_ms, rfc3339};
use rustc_hash::FxHashMap;
use std::{collections::BTreeMap, sync::Arc};

/// Maximum undecided pages of a host; the blocks of a page take about 6 KB.
const MAX_UNDECIDED: usize = 64;
/// Pages from which on the evidence is used. It is brought up to date after this number more plus a quarter of those counted.
const FIRST_PAGES: u32 = 5;
/// Counted pages of a host from which on usual pages are sampled. A usual page has known positions, and its extraction
/// took the content. Hundreds of pages have decided the shares of its positions, and to count each would cost CPU time.
const SAMPLED_FROM: u32 = 200;
/// Part of the usual pages that is counted from then on.
const SAMPLED_PART: u8 = 8;
/// Maximum number of distinct templates of a host.
const MAX_TEMPLATES: usize = 32;
/// Factor of words by which a second extraction of a page must exceed the first to be counted as well. Otherwise
/// its texts would repeat.
const MIN_WORD_FACTOR: u32 = 2;

/// Decision on the extraction of a page, by later pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageDecision {
    /// Its extraction missed its content.
    Missed,
    /// Its extraction took its content.
    Taken,
    /// Too few pages have come for a decision.
    Undecided,
    /// This process has not extracted it, or decided it on arrival.
    Unknown,
}

/// A page that was extracted before enough pages were counted.
struct UndecidedPage {
    url: String,
    blocks: Vec<CountedBlock>,
    is_written: bool,
}

/// The evidence of a host, its undecided pages, and the templates whose content the rules missed.
#[derive(Default)]
pub(super) struct Site {
    pub(super) is_loaded: bool,
    /// True if it is in the store and no longer in the table: its values must not be changed.
    pub(super) is_evicted: bool,
    round: u32,
    counts: SiteEvidence,
    /// Round in which the counting began: pages that earlier rounds have read are counted in this one alone.
    began: u32,
    /// The evidence for extraction, as of a number of pages.
    pub(super) settled: Option<Arc<SiteEvidence>>,
    settled_at: u32,
    /// Pages when the evidence was saved.
    saved_at: u32,
    undecided: FxHashMap<UrlKey, UndecidedPage>,
    /// URLs of pages that an earlier process wrote undecided.
    undecided_before: Vec<String>,
    /// The pages that were written undecided are not those in the store.
    written_changed: bool,
    /// Pages that were undecided and are not written yet: whether their content was missed.
    decisions: FxHashMap<UrlKey, bool>,
    /// True if the host was drained once: pages of an earlier process are no longer waited for.
    is_complete: bool,
    /// URLs of written pages whose content was missed, for the store.
    pub(super) due: Vec<String>,
    /// URLs that were saved as due, and not counted yet.
    pub(super) due_saved: u64,
    templates: BTreeMap<String, MissedTemplate>,
    templates_changed: bool,
}

impl Site {
    pub(super) fn load(&mut self, store: &Store, host: &HostKey) -> Result<(), StoreError> {
        self.round = store.round()?;
        self.began = self.round;
        if let Some(saved) = saved::evidence(store, host)? {
            let pages = saved.evidence.pages();
            (self.began, self.saved_at) = (saved.began, pages);
            if pages >= FIRST_PAGES {
                (self.settled, self.settled_at) = (Some(Arc::new(saved.evidence.clone())), pages);
            }
            self.counts = saved.evidence;
        }
        self.templates =
            saved::templates(store, host)?.into_iter().map(|t| (t.template.clone(), t)).collect();
        self.undecided_before = saved::undecided(store, host)?;
        self.is_loaded = true;
        Ok(())
    }

    /// Returns evidence that is newer than the page's extraction and shows that the extraction missed the content.
    pub(super) fn missed_by_newer(
        &self,
        used: Option<&Arc<SiteEvidence>>,
        page: &CountedExtraction,
    ) -> Option<Arc<SiteEvidence>> {
        let newer = self.settled.as_ref().filter(|now| used.is_none_or(|used| !Arc::ptr_eq(now, used)))?;
        let missed = newer.classify(&page.blocks) == ContentCheck::Missed;
        (missed && page.extraction.extractor != Extractor::SiteTemplate).then(|| Arc::clone(newer))
    }

    /// Returns the policy for a page that is about to be extracted. The key of its URL decides which usual pages are
    /// counted, so it does not depend on the run.
    pub(super) fn count_policy(&self, visit: &Visit<'_>, key: UrlKey) -> CountPolicy {
        let is_sampled = self.counts.pages() < SAMPLED_FROM || key.0[0].is_multiple_of(SAMPLED_PART);
        if is_sampled && self.counts_visit(visit) { CountPolicy::Every } else { CountPolicy::Unusual }
    }

    /// Returns false for a page that an earlier round has counted.
    fn counts_visit(&self, visit: &Visit<'_>) -> bool {
        !visit.is_known || self.began == self.round
    }

    /// Counts a page, and brings the evidence up to date when enough have come.
    pub(super) fn count(
        &mut self,
        store: &Store,
        visit: &Visit<'_>,
        page: &CountedExtraction,
    ) -> Result<(), StoreError> {
        let words = page.extraction.signals.visible_word_count;
        let is_other = |before| words > MIN_WORD_FACTOR * before;
        if self.counts_visit(visit) && visit.words_before.is_none_or(is_other) && !page.blocks.is_empty() {
            self.counts.observe(&page.blocks);
        }
        let pages = self.counts.pages();
        if pages >= self.settled_at + FIRST_PAGES + self.settled_at / 4 {
            self.settle();
            self.save_due(store, visit.host)?;
            self.save_undecided(store, visit.host)?;
        }
        if pages >= FIRST_PAGES.max(2 * self.saved_at) { self.save(store, visit.host) } else { Ok(()) }
    }

    /// Takes a page that was counted; `used` is the evidence of its check.
    pub(super) fn add_page(
        &mut self,
        visit: &Visit<'_>,
        key: UrlKey,
        used: Option<&Arc<SiteEvidence>>,
        counted: CountedExtraction,
    ) -> SitePage {
        let CountedExtraction { extraction, blocks, check, is_doubtful, .. } = counted;
        // an earlier version of the page was counted
        self.undecided.remove(&key);
        self.decisions.remove(&key);
        let mut is_undecided = false;
        if extraction.extractor == Extractor::SiteTemplate {
            self.count_corrected(visit, &extraction);
        } else if !blocks.is_empty() && self.undecided.len() < MAX_UNDECIDED {
            let check = match &self.settled {
                Some(settled) if used.is_none_or(|used| !Arc::ptr_eq(settled, used)) => {
                    Some(settled.classify(&blocks))
                }
                Some(_) => check,
                None => None,
            };
            is_undecided = check.is_none_or(|check| check == ContentCheck::Unknown);
            if is_undecided {
                let page = UndecidedPage { url: visit.url.to_owned(), blocks, is_written: false };
                self.undecided.insert(key, page);
            }
        }
        SitePage { extraction, is_undecided, is_doubtful: is_undecided && is_doubtful }
    }

    /// Updates the evidence and decides the undecided pages.
    fn settle(&mut self) {
        let settled = Arc::new(self.counts.snapshot());
        self.settled_at = self.counts.pages();
        let (decisions, due, changed) = (&mut self.decisions, &mut self.due, &mut self.written_changed);
        self.undecided.retain(|key, page| {
            let check = settled.classify(&page.blocks);
            if check == ContentCheck::Unknown {
                return true;
            }
            let missed = check == ContentCheck::Missed;
            *changed |= page.is_written;
            match page.is_written {
                true if missed => due.push(std::mem::take(&mut page.url)),
                true => {}
                false => drop(decisions.insert(*key, missed)),
            }
            false
        });
        self.settled = Some(settled);
    }

    /// Judges the remaining pages by all evidence, as no further pages are expected.
    pub(super) fn complete(&mut self, store: &Store, host: &HostKey) -> Result<(), StoreError> {
        if !self.undecided.is_empty() && self.counts.pages() > self.settled_at {
            self.settle();
        }
        for (key, page) in self.undecided.drain() {
            self.written_changed |= page.is_written;
            if !page.is_written {
                self.decisions.insert(key, false);
            }
        }
        let left = std::mem::take(&mut self.undecided_before);
        self.written_changed |= !left.is_empty();
        // their blocks were in the memory of an earlier process
        if self.templates.values().any(|template| template.round == self.round) {
            self.due.extend(left);
        }
        self.is_complete = true;
        self.save_undecided(store, host)?;
        self.save_due(store, host)
    }

    /// Returns true for an undecided page, false for a decided one, and `None` for a page that this process does not know.
    pub(super) fn is_undecided(&self, page: UrlKey) -> Option<bool> {
        match () {
            () if self.undecided.contains_key(&page) => Some(true),
            () if self.is_complete || self.decisions.contains_key(&page) => Some(false),
            () => None,
        }
    }

    /// Takes up a page that an earlier process has left undecided. Returns true if it has to wait on.
    pub(super) fn reopen(&mut self, page: UrlKey, url: &str, blocks: Vec<CountedBlock>) -> bool {
        let check = self.settled.as_ref().map_or(ContentCheck::Unknown, |settled| settled.classify(&blocks));
        let waits = check == ContentCheck::Unknown && self.undecided.len() < MAX_UNDECIDED;
        if waits {
            self.undecided.insert(page, UndecidedPage { url: url.to_owned(), blocks, is_written: false });
        } else {
            self.decisions.insert(page, check == ContentCheck::Missed);
        }
        waits
    }

    pub(super) fn take_decision(&mut self, page: UrlKey) -> PageDecision {
        if let Some(undecided) = self.undecided.get_mut(&page) {
            self.written_changed |= !undecided.is_written;
            undecided.is_written = true;
            return PageDecision::Undecided;
        }
        match self.decisions.remove(&page) {
            Some(true) => PageDecision::Missed,
            Some(false) => PageDecision::Taken,
            None => PageDecision::Unknown,
        }
    }

    pub(super) fn count_corrected(&mut self, visit: &Visit<'_>, page: &Extraction) {
        let Some(template) = page.metadata.by_site.as_ref().and_then(|by_site| by_site.template.as_ref())
        else {
            return;
        };
        self.templates_changed = true;
        if let Some(known) = self.templates.get_mut(template) {
            let before = if known.round == self.round { known.pages } else { 0 };
            (known.round, known.pages) = (self.round, before + 1);
            return;
        }
        if self.templates.len() >= MAX_TEMPLATES {
            return;
        }
        let noticed_at_page = self.counts.pages();
        tracing::warn!(
            host = %visit.host, template, url = visit.url,
            "after {noticed_at_page} counted pages: the extraction rules miss the content of a page template of the site; its content is now the \
             text that differs between its pages"
        );
        let new = MissedTemplate {
            template: template.clone(),
            round: self.round,
            pages: 1,
            noticed_at_page,
            noticed_at: rfc3339(now_ms()),
            example: visit.url.to_owned(),
        };
        self.templates.insert(new.template.clone(), new);
    }

    /// Bytes in memory, about.
    pub(super) fn bytes(&self) -> usize {
        let blocks = |page: &UndecidedPage| size_of_val(&page.blocks[..]) + page.url.len();
        size_of::<Self>()
            + self.counts.bytes()
            + self.settled.as_ref().map_or(0, |settled| settled.bytes())
            + self.undecided.values().map(blocks).sum::<usize>()
            + self.decisions.capacity() * size_of::<(UrlKey, bool)>()
    }

    /// Saves what has changed.
    pub(super) fn save(&mut self, store: &Store, host: &HostKey) -> Result<(), StoreError> {
        self.save_undecided(store, host)?;
        self.save_due(store, host)?;
        if self.counts.pages() >= FIRST_PAGES {
            self.save_evidence(store, host)?;
        }
        if std::mem::take(&mut self.templates_changed) {
            let mut templates: Vec<MissedTemplate> = self.templates.values().cloned().collect();
            templates.sort_by(|a, b| b.pages.cmp(&a.pages).then_with(|| a.template.cmp(&b.template)));
            saved::save_templates(store, host, templates)?;
        }
        Ok(())
    }

    /// Saves everything, the counts of few pages too unless the host has no more: nothing changes it from then on.
    pub(super) fn evict(&mut self, store: &Store, host: &HostKey) -> Result<(), StoreError> {
        self.save(store, host)?;
        if !self.is_complete {
            self.save_evidence(store, host)?;
        }
        self.is_evicted = true;
        Ok(())
    }

    fn save_evidence(&mut self, store: &Store, host: &HostKey) -> Result<(), StoreError> {
        let pages = self.counts.pages();
        if pages != self.saved_at {
            self.saved_at = pages;
            let saved = saved::SavedEvidence { began: self.began, evidence: self.counts.snapshot() };
            saved::save_evidence(store, host, &saved)?;
        }
        Ok(())
    }

    /// Saves the URLs of the pages that were written undecided. They become due if a later process finds that
    /// the site's content was missed.
    pub(super) fn save_undecided(&mut self, store: &Store, host: &HostKey) -> Result<(), StoreError> {
        if !std::mem::take(&mut self.written_changed) {
            return Ok(());
        }
        let written = self.undecided.values().filter(|page| page.is_written).map(|page| page.url.as_str());
        let urls: Vec<&str> = self.undecided_before.iter().map(String::as_str).chain(written).collect();
        saved::save_undecided(store, host, &urls)
    }

    /// Saves the URLs that are due in the next round.
    pub(super) fn save_due(&mut self, store: &Store, host: &HostKey) -> Result<(), StoreError> {
        if !self.due.is_empty() {
            let new = saved::add_due_again(store, host, std::mem::take(&mut self.due))?;
            self.due_saved += new as u64;
        }
        Ok(())
    }
}
