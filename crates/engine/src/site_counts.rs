//! Counts for the extraction by site: text that the pages of each host share, counted as they arrive.
//!
//! A page whose extraction took less than a fifth of its own text is extracted by these counts. A page that
//! arrives before the counts suffice keeps its body while it is held, and is extracted again if its content
//! was missed. A doubtful page is held until the counts decide. A page whose record is written by then is due
//! in the next round.

mod saved;
mod site;

pub use saved::{MissedSite, MissedTemplate, due_again, missed_sites};
pub use site::PageDecision;

use crawl_extract::{ContentCheck, CountedBlock, Input, PageExtractor, SiteEvidence};
use crawl_model::{Extraction, HostKey, StoreError, UrlKey};
use rustc_hash::FxHashMap;
use site::Site;
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

/// Bytes of evidence in memory; the hosts that were idle longest go to the store.
const MAX_BYTES: usize = 48 << 20;

type Store = dyn crawl_model::Store;

/// A page extracted by the evidence of its site.
pub struct SitePage {
    /// The extraction.
    pub extraction: Extraction,
    /// More pages of the site may show that the extraction missed the content.
    pub is_undecided: bool,
    /// The extraction took so little that the page must be held until it is decided.
    pub is_doubtful: bool,
}

/// The page of a site, for [`SiteCounts::extract`].
pub struct Visit<'a> {
    /// The host whose evidence is used.
    pub host: &'a HostKey,
    /// The requested URL.
    pub url: &'a str,
    /// An earlier round has read the page.
    pub is_known: bool,
    /// Visible words of the form of the page that came before in this round, by another strategy.
    pub words_before: Option<u32>,
}

/// Evidence of all sites of a run.
///
/// The lock of a host may be held while its evidence is loaded or saved. The lock of the table is never held then, and no lock is
/// taken while it is held.
pub struct SiteCounts {
    sites: Mutex<Sites>,
    max_bytes: usize,
    due_again: AtomicU64,
}

#[derive(Default)]
struct Sites {
    by_host: FxHashMap<HostKey, Entry>,
    bytes: usize,
    clock: u64,
}

#[derive(Default)]
struct Entry {
    site: Arc<Mutex<Site>>,
    bytes: usize,
    used: u64,
}

impl Default for SiteCounts {
    fn default() -> Self {
        Self { sites: Mutex::default(), max_bytes: MAX_BYTES, due_again: AtomicU64::default() }
    }
}

impl SiteCounts {
    /// Extracts a page of a host, and counts it.
    ///
    /// # Errors
    /// When the evidence of an earlier run cannot be read, or storage fails.
    pub fn extract(
        &self,
        store: &Store,
        extractor: &PageExtractor,
        input: &Input<'_>,
        visit: &Visit<'_>,
    ) -> Result<SitePage, StoreError> {
        let key = UrlKey::of(visit.url);
        let known = |site: &mut Site| Ok((site.settled.clone(), site.count_policy(visit, key)));
        let (mut evidence, count_policy) = self.with(store, visit.host, known)?;
        let mut counted = extractor.extract_and_count(input, evidence.as_deref(), count_policy);
        self.with(store, visit.host, |site| site.count(store, visit, &counted))?;
        loop {
            // this page or another one may have updated the evidence meanwhile
            let newer = |site: &mut Site| Ok(site.missed_by_newer(evidence.as_ref(), &counted));
            let Some(newer) = self.with(store, visit.host, newer)? else { break };
            counted.extraction = extractor.extract_if_missed(input, &newer);
            counted.check = Some(ContentCheck::Missed);
            evidence = Some(newer);
        }
        self.with(store, visit.host, |site| Ok(site.add_page(visit, key, evidence.as_ref(), counted)))
    }

    /// Returns the evidence of a host, if enough of its pages have been counted.
    ///
    /// # Errors
    /// When the evidence of an earlier run cannot be read.
    pub fn evidence(&self, store: &Store, host: &HostKey) -> Result<Option<Arc<SiteEvidence>>, StoreError> {
        self.with(store, host, |site| Ok(site.settled.clone()))
    }

    /// Returns true if too little is known of a page's site to decide on it. `blocks` gives the blocks of a page
    /// that an earlier process has left. Without them, or without a body, such a page counts as decided.
    ///
    /// # Errors
    /// When the evidence of an earlier run cannot be read.
    pub fn is_undecided(
        &self,
        store: &Store,
        host: &HostKey,
        url: &str,
        blocks: Option<impl FnOnce() -> Vec<CountedBlock>>,
    ) -> Result<bool, StoreError> {
        let key = UrlKey::of(url);
        let known = self.with(store, host, |site| Ok(site.is_undecided(key)))?;
        match (known, blocks) {
            (Some(is_undecided), _) => Ok(is_undecided),
            (None, None) => Ok(false),
            (None, Some(blocks)) => {
                let blocks = blocks();
                self.with(store, host, |site| Ok(site.reopen(key, url, blocks)))
            }
        }
    }

    /// Returns the decision on the extraction of a page that is about to be written, and forgets it. An
    /// undecided page counts as written from then on.
    ///
    /// # Errors
    /// When the evidence of an earlier run cannot be read, or storage fails.
    pub fn take_decision(
        &self,
        store: &Store,
        host: &HostKey,
        url: &str,
    ) -> Result<PageDecision, StoreError> {
        self.with(store, host, |site| {
            let decision = site.take_decision(UrlKey::of(url));
            if decision == PageDecision::Undecided {
                site.save_undecided(store, host)?;
            }
            Ok(decision)
        })
    }

    /// Counts a page that was extracted by the evidence.
    ///
    /// # Errors
    /// When the evidence of an earlier run cannot be read.
    pub fn count_corrected(
        &self,
        store: &Store,
        visit: &Visit<'_>,
        page: &Extraction,
    ) -> Result<(), StoreError> {
        self.with(store, visit.host, |site| {
            site.count_corrected(visit, page);
            Ok(())
        })
    }

    /// Notes a page that is written although its content was missed: its URL is due in the next round.
    ///
    /// # Errors
    /// When storage fails.
    pub fn add_due_again(&self, store: &Store, host: &HostKey, url: &str) -> Result<(), StoreError> {
        self.with(store, host, |site| {
            site.due.push(url.to_owned());
            site.save_due(store, host)
        })
    }

    /// Returns the number of pages that this process found due in the next round. They were written before
    /// the evidence showed that their content was missed.
    #[must_use]
    pub fn due_again(&self) -> u64 {
        self.due_again.load(Ordering::Relaxed)
    }

    /// Judges the remaining pages of a host at its end.
    ///
    /// # Errors
    /// When storage fails.
    pub fn complete(&self, store: &Store, host: &HostKey) -> Result<(), StoreError> {
        self.with(store, host, |site| site.complete(store, host))
    }

    /// Saves the evidence of all hosts.
    ///
    /// # Errors
    /// When storage fails.
    pub fn save(&self, store: &Store) -> Result<(), StoreError> {
        let hosts: Vec<(HostKey, Arc<Mutex<Site>>)> = {
            let sites = lock(&self.sites);
            sites.by_host.iter().map(|(host, entry)| (host.clone(), Arc::clone(&entry.site))).collect()
        };
        let mut saved = hosts.iter();
        saved.try_for_each(|(host, site)| self.count_due(&mut lock(site), |site| site.save(store, host)))
    }

    /// Works on the evidence of a host, and counts the URLs that this finds due.
    fn count_due<T>(&self, site: &mut Site, work: impl FnOnce(&mut Site) -> T) -> T {
        let result = work(site);
        self.due_again.fetch_add(std::mem::take(&mut site.due_saved), Ordering::Relaxed);
        result
    }

    /// Works on the evidence of a host: in memory, else from the store.
    fn with<T>(
        &self,
        store: &Store,
        host: &HostKey,
        work: impl FnOnce(&mut Site) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        loop {
            let site = self.entry(host);
            let mut known = lock(&site);
            if known.is_evicted {
                drop(known);
                self.remove(host, &site);
                continue;
            }
            if !known.is_loaded {
                known.load(store, host)?;
            }
            let result = self.count_due(&mut known, work);
            let bytes = known.bytes();
            drop(known);
            self.resized(store, host, bytes)?;
            return result;
        }
    }

    fn entry(&self, host: &HostKey) -> Arc<Mutex<Site>> {
        let mut sites = lock(&self.sites);
        sites.clock += 1;
        let clock = sites.clock;
        if let Some(entry) = sites.by_host.get_mut(host) {
            entry.used = clock;
            return Arc::clone(&entry.site);
        }
        let entry = Entry { used: clock, ..Entry::default() };
        let site = Arc::clone(&entry.site);
        sites.by_host.insert(host.clone(), entry);
        site
    }

    fn remove(&self, host: &HostKey, site: &Arc<Mutex<Site>>) {
        let mut sites = lock(&self.sites);
        if sites.by_host.get(host).is_some_and(|entry| Arc::ptr_eq(&entry.site, site))
            && let Some(entry) = sites.by_host.remove(host)
        {
            sites.bytes = sites.bytes.saturating_sub(entry.bytes);
        }
    }

    /// Notes how large the evidence of a host is. Over the bound, the quarter of the hosts that was idle longest goes to the store.
    fn resized(&self, store: &Store, host: &HostKey, bytes: usize) -> Result<(), StoreError> {
        for (host, site) in self.resize(host, bytes) {
            let mut known = lock(&site);
            if !known.is_evicted {
                self.count_due(&mut known, |site| site.evict(store, &host))?;
            }
            drop(known);
            self.remove(&host, &site);
        }
        Ok(())
    }

    /// Returns the hosts that go.
    fn resize(&self, host: &HostKey, bytes: usize) -> Vec<(HostKey, Arc<Mutex<Site>>)> {
        let mut guard = lock(&self.sites);
        let sites = &mut *guard;
        if let Some(entry) = sites.by_host.get_mut(host) {
            sites.bytes = (sites.bytes + bytes).saturating_sub(entry.bytes);
            entry.bytes = bytes;
        }
        if sites.bytes <= self.max_bytes || sites.by_host.len() < 2 {
            return Vec::new();
        }
        let mut ages: Vec<u64> = sites.by_host.values().map(|entry| entry.used).collect();
        ages.sort_unstable();
        let limit = ages.get(ages.len() / 4).copied().unwrap_or(0);
        let idle = sites.by_host.iter().filter(|(key, entry)| *key != host && entry.used <= limit);
        idle.map(|(host, entry)| (host.clone(), Arc::clone(&entry.site))).collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
