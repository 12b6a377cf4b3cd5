//! The evidence of the sites of a run: what the pages of each host share, counted while they come.
//!
//! A page whose extraction took less than a fifth of its own text is extracted by this evidence. A page that came before enough was
//! counted waits if it is doubtful: it keeps its body while it is held. Another that turns out to have missed its content is
//! fetched again if it is held, once a round; if its record is written, its URL is due in the next round.

use crate::context::rfc3339;
use crawl_extract::{CountedBlock, CountedExtraction, Input, PageExtractor, SiteEvidence, SiteJudgement};
use crawl_model::{Extraction, Extractor, Frontier, HostKey, RunStore, StoreError, UrlKey, now_ms};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Prefix of the names under which the store keeps the evidence of hosts.
const EVIDENCE: &str = "site:";
/// Prefix of the names under which the store keeps the templates of a host whose content the rules missed.
const TEMPLATES: &str = "site_missed:";
/// Prefix of the names under which the store keeps the URLs of a host that are due in the round after another one; the number of
/// that round and a colon follow it.
const AGAIN: &str = "site_again:";
/// Bytes of evidence in memory; the hosts that were idle longest go to the store.
const MAX_BYTES: usize = 48 << 20;
/// Pages of a host that wait to be judged, at most: the blocks of a page take some 6 KB.
const MAX_UNJUDGED: usize = 64;
/// Pages from which on the evidence is used; after that it is brought up to date with each fifth page and a quarter of them all.
const FIRST_PAGES: u32 = 5;
/// Templates of a host that are told apart.
const MAX_TEMPLATES: usize = 32;
/// URLs of a host that are due in the next round, at most.
const MAX_AGAIN: usize = 10_000;

type Store = dyn crate::store::Store;

/// A template of a host whose content the rules missed, mended by the evidence of the site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MissedTemplate {
    /// Path of tags and classes to the content.
    pub template: String,
    /// Pages that were extracted by the evidence, over all rounds.
    pub pages: u64,
    /// Pages of the host that had been counted when it was noticed.
    pub noticed_at_page: u32,
    /// When it was noticed.
    pub noticed_at: String,
    /// The first such page.
    pub example: String,
}

/// The templates of a host whose content the rules missed, and its URLs that are due again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MissedSite {
    /// The host.
    pub host: String,
    /// The template with most pages first.
    pub templates: Vec<MissedTemplate>,
    /// Pages whose records were written before it was noticed: their URLs are due in the next round.
    #[serde(default)]
    pub due_again: u64,
}

/// A page extracted by what is known of its site.
pub struct SitePage {
    /// The extraction.
    pub extraction: Extraction,
    /// More pages of the site may show that the extraction missed the content: the page is to wait with its body.
    pub waits: bool,
}

/// The pages that wait with their bodies until more of their site is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waiting {
    /// Those from which the extraction took so little that it is doubtful. Others are fetched again if their content was missed.
    #[default]
    Doubtful,
    /// All that come before enough is known, since nothing can be fetched again.
    All,
}

/// The page of a site, for [`SiteBook::extract`].
pub struct Visit<'a> {
    /// The host whose evidence is used.
    pub host: &'a HostKey,
    /// The URL that was asked for.
    pub url: &'a str,
    /// An earlier round has read the page.
    pub is_known: bool,
    /// Visible words of the form of the page that came before in this round, by another strategy.
    pub words_before: Option<u32>,
}

/// A form of a page is counted beside the one before it only if it has this many times its words: else its texts would repeat.
const MORE_WORDS: u32 = 2;

/// See the module.
#[derive(Default)]
pub struct SiteBook {
    sites: Mutex<Sites>,
    waiting: Waiting,
}

#[derive(Default)]
struct Sites {
    by_host: FxHashMap<HostKey, Arc<Mutex<Site>>>,
    bytes: usize,
    clock: u64,
}

/// What is known of a host.
#[derive(Default)]
struct Site {
    counts: SiteEvidence,
    /// The evidence for extraction, as of a number of pages.
    settled: Option<Arc<SiteEvidence>>,
    settled_at: u32,
    /// Pages when the evidence was saved.
    saved_at: u32,
    /// The evidence of an earlier run was loaded: pages of earlier rounds are counted in it.
    is_loaded: bool,
    /// Pages that came before enough was counted, with their URLs and blocks.
    unjudged: FxHashMap<UrlKey, (String, Vec<CountedBlock>)>,
    /// Pages that were extracted before the evidence showed that this missed their content, with their URLs.
    missed: FxHashMap<UrlKey, String>,
    /// Pages of that kind that were held, and are fetched again: they have been counted.
    fetched_again: FxHashSet<UrlKey>,
    templates: BTreeMap<String, MissedTemplate>,
    templates_changed: bool,
    bytes: usize,
    used: u64,
}

impl SiteBook {
    /// A book of a run in which certain pages wait.
    #[must_use]
    pub fn new(waiting: Waiting) -> Self {
        Self { waiting, ..Self::default() }
    }

    /// Returns true if a page whose content was missed can be fetched again.
    #[must_use]
    pub fn can_fetch_again(&self) -> bool {
        self.waiting == Waiting::Doubtful
    }

    /// Extracts a page of a host, and counts it.
    ///
    /// # Errors
    /// When the evidence of an earlier run cannot be read.
    pub fn extract(
        &self,
        store: &Store,
        extractor: &PageExtractor,
        input: &Input<'_>,
        visit: &Visit<'_>,
    ) -> Result<SitePage, StoreError> {
        let site = self.site(store, visit.host)?;
        let mut evidence = lock(&site).settled.clone();
        let mut counted = extractor.extract_and_count(input, evidence.as_deref());
        counted.is_doubtful |= self.waiting == Waiting::All;
        lock(&site).count(store, visit, &counted)?;
        loop {
            let mut known = lock(&site);
            // this page or others may have brought the evidence up to date meanwhile
            if let Some(newer) = known.missed_by_newer(evidence.as_ref(), &counted) {
                drop(known);
                counted.extraction = extractor.extract_if_missed(input, &newer);
                evidence = Some(newer);
                continue;
            }
            let (page, [before, now]) = known.arrived(visit, counted);
            drop(known);
            self.resized(store, visit.host, before, now)?;
            return Ok(page);
        }
    }

    /// Returns the evidence of a host, if enough of its pages have been counted.
    ///
    /// # Errors
    /// When the evidence of an earlier run cannot be read.
    pub fn evidence(&self, store: &Store, host: &HostKey) -> Result<Option<Arc<SiteEvidence>>, StoreError> {
        let site = self.site(store, host)?;
        let evidence = lock(&site).settled.clone();
        Ok(evidence)
    }

    /// Returns true if a page waits until more of its host is known. One that has missed its content need not.
    ///
    /// # Errors
    /// When the evidence of an earlier run cannot be read.
    pub fn is_open(&self, store: &Store, host: &HostKey, url: &str) -> Result<bool, StoreError> {
        let site = self.site(store, host)?;
        let is_open = lock(&site).unjudged.contains_key(&UrlKey::of(url));
        Ok(is_open)
    }

    /// Returns true, once, for a page whose extraction missed its content, as pages that came after it have shown.
    ///
    /// # Errors
    /// When the evidence of an earlier run cannot be read.
    pub fn take_missed(&self, store: &Store, host: &HostKey, url: &str) -> Result<bool, StoreError> {
        let site = self.site(store, host)?;
        let (mut site, key) = (lock(&site), UrlKey::of(url));
        site.unjudged.remove(&key);
        let missed = site.missed.remove(&key).is_some();
        if missed {
            site.fetched_again.insert(key);
        }
        Ok(missed)
    }

    /// Counts a page that was extracted by the evidence.
    ///
    /// # Errors
    /// When the evidence of an earlier run cannot be read.
    pub fn mended(
        &self,
        store: &Store,
        host: &HostKey,
        url: &str,
        page: &Extraction,
    ) -> Result<(), StoreError> {
        let site = self.site(store, host)?;
        lock(&site).mended(host, url, page);
        Ok(())
    }

    /// The host has no more pages: what is counted is all that will be known of it in this round.
    ///
    /// # Errors
    /// When storage fails.
    pub fn complete(&self, store: &Store, host: &HostKey) -> Result<(), StoreError> {
        let site = self.site(store, host)?;
        let mut site = lock(&site);
        site.settle();
        site.unjudged.clear();
        site.save(store, host)
    }

    /// Notes the pages of a host that were written before the evidence showed that their content was missed: their URLs are due in the
    /// next round. Returns their number.
    ///
    /// # Errors
    /// When storage fails.
    pub fn leave(&self, store: &Store, host: &HostKey) -> Result<usize, StoreError> {
        let site = self.site(store, host)?;
        let missed: Vec<String> = std::mem::take(&mut lock(&site).missed).into_values().collect();
        if missed.is_empty() {
            return Ok(0);
        }
        let name = format!("{AGAIN}{}:{host}", store.round()?);
        let mut again: Vec<String> = read(store, &name)?.unwrap_or_default();
        let before = again.len();
        again.extend(missed);
        again.sort_unstable();
        again.dedup();
        again.truncate(MAX_AGAIN);
        write(store, &name, &again)?;
        Ok(again.len() - before)
    }

    /// Saves what is known of all hosts.
    ///
    /// # Errors
    /// When storage fails.
    pub fn save(&self, store: &Store) -> Result<(), StoreError> {
        let sites: Vec<(HostKey, Arc<Mutex<Site>>)> =
            lock(&self.sites).by_host.iter().map(|(host, site)| (host.clone(), Arc::clone(site))).collect();
        for (host, site) in sites {
            self.leave(store, &host)?;
            lock(&site).save(store, &host)?;
        }
        Ok(())
    }

    /// The evidence of a host: from memory, else from the store.
    fn site(&self, store: &Store, host: &HostKey) -> Result<Arc<Mutex<Site>>, StoreError> {
        let mut sites = lock(&self.sites);
        sites.clock += 1;
        let clock = sites.clock;
        if let Some(site) = sites.by_host.get(host) {
            lock(site).used = clock;
            return Ok(Arc::clone(site));
        }
        let mut site = Site::load(store, host)?;
        site.used = clock;
        let site = Arc::new(Mutex::new(site));
        sites.by_host.insert(host.clone(), Arc::clone(&site));
        Ok(site)
    }

    /// Notes how large the evidence of a host is; over the bound, the quarter of the hosts that was idle longest goes to the store.
    fn resized(&self, store: &Store, host: &HostKey, before: usize, now: usize) -> Result<(), StoreError> {
        let mut sites = lock(&self.sites);
        sites.bytes = (sites.bytes + now).saturating_sub(before);
        if sites.bytes <= MAX_BYTES || sites.by_host.len() < 2 {
            return Ok(());
        }
        let mut ages: Vec<u64> = sites.by_host.values().map(|site| lock(site).used).collect();
        ages.sort_unstable();
        let limit = ages.get(ages.len() / 4).copied().unwrap_or(0);
        let idle = |(key, site): (&HostKey, &Arc<Mutex<Site>>)| {
            (key != host && lock(site).used <= limit).then(|| key.clone())
        };
        let idle: Vec<HostKey> = sites.by_host.iter().filter_map(idle).collect();
        drop(sites);
        for host in idle {
            self.leave(store, &host)?;
            let mut sites = lock(&self.sites);
            let Some(site) = sites.by_host.remove(&host) else { continue };
            let mut site = lock(&site);
            sites.bytes = sites.bytes.saturating_sub(site.bytes);
            drop(sites);
            site.save(store, &host)?;
        }
        Ok(())
    }
}

impl Site {
    fn load(store: &Store, host: &HostKey) -> Result<Self, StoreError> {
        let mut site = Self::default();
        // evidence of another version is counted anew
        if let Ok(Some(counts)) = read::<SiteEvidence>(store, &format!("{EVIDENCE}{host}")) {
            (site.settled_at, site.saved_at, site.is_loaded) = (counts.pages(), counts.pages(), true);
            site.settled = (counts.pages() >= FIRST_PAGES).then(|| Arc::new(counts.clone()));
            site.counts = counts;
        }
        if let Some(saved) = read::<MissedSite>(store, &format!("{TEMPLATES}{host}"))? {
            site.templates = saved.templates.into_iter().map(|t| (t.template.clone(), t)).collect();
        }
        Ok(site)
    }

    /// Returns the evidence if it is newer than that by which a page was extracted, and says that this missed the content.
    fn missed_by_newer(
        &self,
        used: Option<&Arc<SiteEvidence>>,
        page: &CountedExtraction,
    ) -> Option<Arc<SiteEvidence>> {
        let newer = self.settled.as_ref().filter(|now| used.is_none_or(|used| !Arc::ptr_eq(now, used)))?;
        let missed = newer.judge(&page.blocks) == SiteJudgement::Missed;
        (missed && page.extraction.extractor != Extractor::SiteTemplate).then(|| Arc::clone(newer))
    }

    /// Counts a page, and brings the evidence up to date when enough have come.
    fn count(
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
    fn arrived(&mut self, visit: &Visit<'_>, counted: CountedExtraction) -> (SitePage, [usize; 2]) {
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
    fn settle(&mut self) {
        let settled = Arc::new(self.counts.snapshot());
        self.settled_at = self.counts.pages();
        let missed = &mut self.missed;
        self.unjudged.retain(|key, (url, blocks)| match settled.judge(blocks) {
            SiteJudgement::Unknown => true,
            SiteJudgement::Taken => false,
            SiteJudgement::Missed => {
                missed.insert(*key, std::mem::take(url));
                false
            }
        });
        self.settled = Some(settled);
    }

    fn mended(&mut self, host: &HostKey, url: &str, page: &Extraction) {
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

    fn save(&mut self, store: &Store, host: &HostKey) -> Result<(), StoreError> {
        let pages = self.counts.pages();
        if pages != self.saved_at && pages >= FIRST_PAGES {
            self.saved_at = pages;
            write(store, &format!("{EVIDENCE}{host}"), &self.counts.snapshot())?;
        }
        if std::mem::take(&mut self.templates_changed) {
            let mut templates: Vec<MissedTemplate> = self.templates.values().cloned().collect();
            templates.sort_by(|a, b| b.pages.cmp(&a.pages).then_with(|| a.template.cmp(&b.template)));
            let missed = MissedSite { host: host.to_string(), templates, due_again: 0 };
            write(store, &format!("{TEMPLATES}{host}"), &missed)?;
        }
        Ok(())
    }
}

/// Returns the hosts with templates whose content the rules missed, those with most pages first.
///
/// # Errors
/// When storage fails.
pub fn missed_sites(store: &(impl Frontier + RunStore + ?Sized)) -> Result<Vec<MissedSite>, StoreError> {
    let mut sites: BTreeMap<String, MissedSite> = BTreeMap::new();
    for (name, text) in store.entries(TEMPLATES)? {
        let site: MissedSite = parse(&name, &text)?;
        sites.insert(site.host.clone(), site);
    }
    let prefix = format!("{AGAIN}{}:", store.round()?);
    for (name, text) in store.entries(&prefix)? {
        let host = name.trim_start_matches(&prefix).to_owned();
        let again: Vec<String> = parse(&name, &text)?;
        let new = MissedSite { host: host.clone(), templates: Vec::new(), due_again: 0 };
        sites.entry(host).or_insert(new).due_again = again.len() as u64;
    }
    let pages = |site: &MissedSite| site.templates.iter().map(|template| template.pages).sum::<u64>();
    let mut sites: Vec<MissedSite> =
        sites.into_values().filter(|site| pages(site) + site.due_again > 0).collect();
    sites.sort_by(|a, b| pages(b).cmp(&pages(a)).then_with(|| a.host.cmp(&b.host)));
    Ok(sites)
}

/// Returns the URLs that the round before has left to be read again in this one.
///
/// # Errors
/// When storage fails.
pub fn due_again(store: &Store) -> Result<Vec<String>, StoreError> {
    let Some(before) = store.round()?.checked_sub(1) else { return Ok(Vec::new()) };
    let mut urls = Vec::new();
    for (name, text) in store.entries(&format!("{AGAIN}{before}:"))? {
        urls.extend(parse::<Vec<String>>(&name, &text)?);
    }
    Ok(urls)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read<T: serde::de::DeserializeOwned>(store: &Store, name: &str) -> Result<Option<T>, StoreError> {
    store.get(name)?.map(|text| parse(name, &text)).transpose()
}

fn parse<T: serde::de::DeserializeOwned>(name: &str, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|e| StoreError::Corrupt(format!("{name}: {e}")))
}

fn write(store: &Store, name: &str, value: &impl Serialize) -> Result<(), StoreError> {
    let text = serde_json::to_string(value).map_err(|e| StoreError::Other(e.to_string()))?;
    store.put(name, &text)
}
