//! The evidence of the sites of a run: what the pages of each host share, counted while they come.
//!
//! A page whose extraction took less than a fifth of its own text is extracted by this evidence. A page that came before enough was
//! counted waits if it is doubtful: it keeps its body while it is held. Another that turns out to have missed its content is
//! fetched again if it is held, once a round; if its record is written, its URL is due in the next round.

mod saved;
mod site;

pub use saved::{MissedSite, MissedTemplate, due_again, missed_sites};

use crawl_extract::{CountedBlock, Input, PageExtractor, SiteEvidence};
use crawl_model::{Extraction, HostKey, StoreError, UrlKey};
use rustc_hash::FxHashMap;
use site::Site;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of evidence in memory; the hosts that were idle longest go to the store.
const MAX_BYTES: usize = 48 << 20;

type Store = dyn crate::store::Store;

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

    /// Returns true if a page with a kept body waits until more of its host is known. `blocks` gives the blocks of a page that an earlier
    /// process has left.
    ///
    /// # Errors
    /// When the evidence of an earlier run cannot be read.
    pub fn is_open(
        &self,
        store: &Store,
        host: &HostKey,
        url: &str,
        blocks: impl FnOnce() -> Vec<CountedBlock>,
    ) -> Result<bool, StoreError> {
        let site = self.site(store, host)?;
        let key = UrlKey::of(url);
        if let Some(is_open) = lock(&site).is_open(key) {
            return Ok(is_open);
        }
        let blocks = blocks();
        Ok(lock(&site).reopen(key, url, blocks))
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
        site.complete();
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
        saved::note_due_again(store, host, missed)
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
