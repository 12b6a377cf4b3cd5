//! The evidence of one host, and the pages that it has yet to judge.

use super::{MissedTemplate, SitePage, Store, Visit, saved};
use crate::context::rfc3339;
use crawl_extract::{CountedBlock, CountedExtraction, SiteEvidence, SiteJudgement};
use crawl_model::{Extraction, Extractor, HostKey, StoreError, UrlKey, now_ms};
use rustc_hash::{FxHashMap, FxHashSet};
use std::{collections::BTreeMap, sync::Arc};

/// Pages of a host that wait to be judged, at most: the blocks of a page take some 6 KB.
const MAX_UNJUDGED: usize = 64;
/// Pages from which on the evidence is used; after that it is brought up to date with each fifth page and a quarter of them all.
const FIRST_PAGES: u32 = 5;
/// Templates of a host that are told apart.
const MAX_TEMPLATES: usize = 32;
/// A form of a page is counted beside the one before it only if it has this many times its words: else its texts would repeat.
const MORE_WORDS: u32 = 2;

/// What is known of a host.
#[derive(Default)]
pub(super) struct Site {
    counts: SiteEvidence,
    /// The evidence for extraction, as of a number of pages.
    pub(super) settled: Option<Arc<SiteEvidence>>,
    settled_at: u32,
    /// Pages when the evidence was saved.
    saved_at: u32,
    /// The evidence of an earlier run was loaded: pages of earlier rounds are counted in it.
    is_loaded: bool,
    /// Pages that came before enough was counted, with their URLs and blocks.
    pub(super) unjudged: FxHashMap<UrlKey, (String, Vec<CountedBlock>)>,
    /// Pages of that kind, since judged.
    judged: FxHashSet<UrlKey>,
    /// No more pages are expected in this round.
    is_complete: bool,
    /// Pages that were extracted before the evidence showed that this missed their content, with their URLs.
    pub(super) missed: FxHashMap<UrlKey, String>,
    /// Pages of that kind that were held, and are fetched again: they have been counted.
    pub(super) fetched_again: FxHashSet<UrlKey>,
    templates: BTreeMap<String, MissedTemplate>,
    templates_changed: bool,
    pub(super) bytes: usize,
    pub(super) used: u64,
}

impl Site {
    pub(super) fn load(store: &Store, host: &HostKey) -> Result<Self, StoreError> {
        let mut site = Self::default();
        // evidence of another version is counted anew
        if let Ok(Some(counts)) = saved::evidence(store, host) {
            (site.settled_at, site.saved_at, site.is_loaded) = (counts.pages(), counts.pages(), true);
            site.settled = (counts.pages() >= FIRST_PAGES).then(|| Arc::new(counts.clone()));
            site.counts = counts;
        }
        if let Some(saved) = saved::templates(store, host)? {
            site.templates = saved.into_iter().map(|t| (t.template.clone(), t)).collect();
        }
        Ok(site)
    }

    /// Returns the evidence if it is newer than that by which a page was extracted, and says that this missed the content.
    pub(super) fn missed_by_newer(
        &self,
        used: Option<&Arc<SiteEvidence>>,
        page: &CountedExtraction,
    ) -> Option<Arc<SiteEvidence>> {
        let newer = self.settled.as_ref().filter(|now| used.is_none_or(|used| !Arc::ptr_eq(now, used)))?;
        let missed = newer.judge(&page.blocks) == SiteJudgement::Missed;
        (missed && page.extraction.extractor != Extractor::SiteTemplate).then(|| Arc::clone(newer))
    }

    /// Counts a page, and brings the evidence up to date when enough have come.
    pub(super) fn count(
        &mut self,
        store: &Store,
        visit: &Visit<'_>,
        page: &CountedExtraction,
    ) -> Result<(), StoreError> {
        let words = page.extraction.signals.visible_word_count;
        let is_other = |before| words > MORE_WORDS * before;
        let is_counted =
            visit.is_known && self.is_loaded || self.fetched_again.contains(&UrlKey::of(visit.url));
        if !is_counted && visit.words_before.is_none_or(is_other) && !page.blocks.is_empty() {
            self.counts.observe(&page.blocks);
        }
        let pages = self.counts.pages();
        if pages >= self.settled_at + FIRST_PAGES + self.settled_at / 4 {
            self.settle();
        }
        if pages >= 2 * self.saved_at.max(FIRST_PAGES) { self.save(store, visit.host) } else { Ok(()) }
    }

    /// Takes a page that was counted. Returns it, and the bytes of the evidence before and after.
    pub(super) fn arrived(
        &mut self,
        visit: &Visit<'_>,
        counted: CountedExtraction,
    ) -> (SitePage, [usize; 2]) {
        let CountedExtraction { extraction, blocks, is_doubtful } = counted;
        let key = UrlKey::of(visit.url);
        self.missed.remove(&key);
        let mut waits = false;
        if extraction.extractor == Extractor::SiteTemplate {
            self.unjudged.remove(&key);
            self.mended(visit.host, visit.url, &extraction);
        } else if !blocks.is_empty() {
            let judgement = self.settled.as_ref().map(|settled| settled.judge(&blocks));
            let unknown = judgement.is_none_or(|judgement| judgement == SiteJudgement::Unknown);
            if unknown && self.unjudged.len() < MAX_UNJUDGED {
                self.unjudged.insert(key, (visit.url.to_owned(), blocks.clone()));
                waits = is_doubtful;
            }
        }
        let before = self.bytes;
        let waiting: usize = self.unjudged.values().map(|(_, blocks)| size_of_val(&blocks[..])).sum();
        self.bytes =
            self.counts.bytes() + self.settled.as_ref().map_or(0, |settled| settled.bytes()) + waiting;
        (SitePage { extraction, waits }, [before, self.bytes])
    }

    /// Brings the evidence up to date, and judges the pages that came before.
    pub(super) fn settle(&mut self) {
        let settled = Arc::new(self.counts.snapshot());
        self.settled_at = self.counts.pages();
        let (missed, judged) = (&mut self.missed, &mut self.judged);
        self.unjudged.retain(|key, (url, blocks)| {
            let judgement = settled.judge(blocks);
            if judgement == SiteJudgement::Missed {
                missed.insert(*key, std::mem::take(url));
            }
            if judgement != SiteJudgement::Unknown {
                judged.insert(*key);
            }
            judgement == SiteJudgement::Unknown
        });
        self.settled = Some(settled);
    }

    /// Judges what is left by all that is known, as no more pages are expected.
    pub(super) fn complete(&mut self) {
        self.settle();
        self.judged.extend(self.unjudged.drain().map(|(key, _)| key));
        self.is_complete = true;
    }

    /// Returns true for a page that waits to be judged, false for one that was judged; `None` for one that this process does not know.
    pub(super) fn is_open(&self, page: UrlKey) -> Option<bool> {
        match () {
            () if self.unjudged.contains_key(&page) => Some(true),
            () if self.is_complete || self.judged.contains(&page) => Some(false),
            () => None,
        }
    }

    /// Takes up a page that an earlier process has left waiting. Returns true if it has to wait on.
    pub(super) fn reopen(&mut self, page: UrlKey, url: &str, blocks: Vec<CountedBlock>) -> bool {
        let judgement =
            self.settled.as_ref().map_or(SiteJudgement::Unknown, |settled| settled.judge(&blocks));
        let waits = judgement == SiteJudgement::Unknown && self.unjudged.len() < MAX_UNJUDGED;
        if waits {
            self.unjudged.insert(page, (url.to_owned(), blocks));
        } else {
            self.judged.insert(page);
        }
        waits
    }

    pub(super) fn mended(&mut self, host: &HostKey, url: &str, page: &Extraction) {
        let Some(template) = page.metadata.by_site.as_ref().and_then(|by_site| by_site.template.as_ref())
        else {
            return;
        };
        self.templates_changed = true;
        if let Some(known) = self.templates.get_mut(template) {
            known.pages += 1;
            return;
        }
        if self.templates.len() >= MAX_TEMPLATES {
            return;
        }
        let noticed_at_page = self.counts.pages();
        tracing::warn!(
            %host, template, url,
            "the rules miss the content of a template of the site, as {noticed_at_page} pages show: its pages are extracted by what \
             differs between them"
        );
        let (template, example) = (template.clone(), url.to_owned());
        let noticed_at = rfc3339(now_ms());
        let new = MissedTemplate { template, pages: 1, noticed_at_page, noticed_at, example };
        self.templates.insert(new.template.clone(), new);
    }

    pub(super) fn save(&mut self, store: &Store, host: &HostKey) -> Result<(), StoreError> {
        let pages = self.counts.pages();
        if pages != self.saved_at && pages >= FIRST_PAGES {
            self.saved_at = pages;
            saved::save_evidence(store, host, &self.counts.snapshot())?;
        }
        if std::mem::take(&mut self.templates_changed) {
            let mut templates: Vec<MissedTemplate> = self.templates.values().cloned().collect();
            templates.sort_by(|a, b| b.pages.cmp(&a.pages).then_with(|| a.template.cmp(&b.template)));
            saved::save_templates(store, host, templates)?;
        }
        Ok(())
    }
}
