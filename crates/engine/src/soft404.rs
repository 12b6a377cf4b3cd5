//! Detection of soft 404s: error pages with the status 200. For each section of a host the crawl requests a page that
//! cannot exist and compares other pages with the answer.
//!
//! The probe is a URL of the frontier, so that politeness and robots.txt apply to it. It is neither a record nor an
//! error. Its answer is kept with the state of the host for the round.

use crate::{context::Context, finished::Finished, links::new_url};
use crawl_fetch::{ErrorPage, probe_url, says_not_found};
use crawl_model::{
    CrawlRequest, Discovery, ExtractedPage, HostKey, Lane, LeaseRef, Outcome, PageHistory, Settlement,
    StoreError, now_ms,
};
use rustc_hash::{FxHashMap, FxHasher};
use serde::{Deserialize, Serialize};
use std::hash::{BuildHasher, BuildHasherDefault};
use url::Url;

/// Kind that counts probes.
pub const KIND: &str = "soft404_probe";
/// Maximum hosts, and leases of a host, that are checked for useless probes.
const MAX_CHECKED: usize = 1_000_000;

/// Pages of a section before it is probed, so that a host gets few probes compared with its pages. The section of the
/// first page is probed at once.
const PAGES_BEFORE_SECTION_PROBE: u32 = 10;
/// Pages of the host after which its probe counts as answered: probes are leased before the links of pages.
const PAGES_BEFORE_ANSWER: u32 = 5;
/// Maximum sections of a host that are probed: that of the first page, and others after some of their pages. A host
/// rarely runs more programs than this.
pub const PROBED_SECTIONS: usize = 8;
/// Words from which a page is too long for an error page.
const WORDS_OF_A_PAGE: u32 = 200;
/// Maximum sections of a host whose pages are counted.
const MAX_SECTIONS: usize = 64;

/// Answers of a host for missing pages, by section: the news and the shop of a site may be two programs. A section is
/// everything below one first segment of the path.
#[derive(Default, Serialize, Deserialize)]
pub struct ErrorPageProfile {
    /// Number of pages by the hash of the section; `None` once the section is probed.
    sections: FxHashMap<u64, Option<u32>>,
    asked: usize,
    /// Pages since the last probe.
    #[serde(default)]
    since: u32,
    /// Error pages with the hash of their section.
    error_pages: Vec<(u64, ErrorPage)>,
    /// True if there is a probe or an answer since the last save.
    #[serde(skip)]
    has_changed: bool,
}

impl ErrorPageProfile {
    /// Enqueues a probe for the section of `page`, if one is due.
    ///
    /// # Errors
    /// When storage fails.
    pub fn probe_if_due(&mut self, context: &Context, page: &ExtractedPage) -> Result<(), StoreError> {
        let crawl = &context.config.crawl;
        if !crawl.soft404 || page.status != 200 || !self.is_due(&page.final_url, PROBED_SECTIONS) {
            return Ok(());
        }
        let probe = context.admission.links.canonical(&probe_url(&page.final_url, context.admission.nonce));
        let Some(host) = HostKey::of(&probe).filter(|_| context.admission.links.admits(&probe)) else {
            return Ok(());
        };
        // the depth of a seed, so that the probe is leased before the links of the host's pages
        let added = context.store.enqueue(&[new_url(probe, host, 0, Discovery::Probe)])?;
        context.stats.probes.add(added.new as u64);
        context.stats.changed.notify_one();
        Ok(())
    }

    /// Counts a page of a section. Returns true if the section is due for a probe, and marks it as probed.
    fn is_due(&mut self, url: &Url, most: usize) -> bool {
        let key = hash(section(url));
        self.since = self.since.saturating_add(1);
        if self.asked >= most || (self.sections.len() >= MAX_SECTIONS && !self.sections.contains_key(&key)) {
            return false;
        }
        let Some(pages) = self.sections.entry(key).or_insert(Some(0)) else { return false };
        *pages += 1;
        let due = self.asked == 0 || *pages >= PAGES_BEFORE_SECTION_PROBE;
        if due {
            self.note_asked(key);
        }
        due
    }

    /// Returns true if a page may still turn out to be an error page. It is short, and its section will be probed or
    /// has not answered yet. Up to `most` sections are probed.
    #[must_use]
    pub fn is_open(&self, page: &ExtractedPage, most: usize) -> bool {
        self.may_be_error_page(&page.final_url, page.extraction.word_count, most)
    }

    fn may_be_error_page(&self, url: &Url, words: u32, most: usize) -> bool {
        let open = match self.sections.get(&hash(section(url))) {
            Some(None) => self.since < PAGES_BEFORE_ANSWER,
            Some(Some(_)) => self.asked < most,
            None => false,
        };
        open && words < WORDS_OF_A_PAGE
    }

    /// Returns true if there are changes to save, and resets the flag.
    pub fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.has_changed)
    }

    fn note_asked(&mut self, section: u64) {
        (self.has_changed, self.since) = (true, 0);
        if self.sections.insert(section, None) != Some(None) {
            self.asked += 1;
        }
    }

    /// Learns from the answer to a probe. A page without text is ignored: if scripts add the text, all pages look
    /// like it.
    pub fn observe(&mut self, page: &ExtractedPage) {
        self.observe_text(&page.extraction.content, &page.final_url);
    }

    pub(crate) fn observe_text(&mut self, text: &str, url: &Url) {
        let key = hash(section(url));
        self.note_asked(key);
        // most sites have one error page for all their sections
        if !text.trim().is_empty() && !self.matches(text, url) {
            self.error_pages.push((key, ErrorPage::new(text, url)));
        }
    }

    /// Returns true if a page looks like the host's error page or says in common words that it does not exist. The
    /// start page of a host is no error page, even if the host shows it for missing pages.
    #[must_use]
    pub fn recognises(&self, page: &ExtractedPage) -> bool {
        let (extraction, url) = (&page.extraction, &page.final_url);
        let text = extraction.content.as_str();
        if url.path() == "/" && url.query().is_none() {
            return false;
        }
        let title = extraction.metadata.title.as_deref().unwrap_or_default();
        let words = usize::try_from(extraction.word_count).unwrap_or(usize::MAX);
        says_not_found(title, heading(text), words) || self.matches(text, url)
    }

    /// Returns true if a text is that of an error page. The start page of a section is no error page, even if the
    /// section shows it for missing pages.
    pub(crate) fn matches(&self, text: &str, url: &Url) -> bool {
        let own = url.query().is_none().then(|| hash(url.path().trim_matches('/')));
        let pages = self.error_pages.iter().filter(|(section, _)| Some(*section) != own);
        ErrorPage::any_matches(pages.map(|(_, page)| page), text, url)
    }
}

/// First segment of a path with further segments. The root is a section, too.
fn section(url: &Url) -> &str {
    url.path().trim_start_matches('/').split_once('/').map_or("", |(first, _)| first)
}

fn hash(section: &str) -> u64 {
    BuildHasherDefault::<FxHasher>::default().hash_one(section)
}

/// The first heading of a Markdown text.
fn heading(text: &str) -> &str {
    text.lines().find(|line| line.starts_with('#')).unwrap_or_default().trim_start_matches('#').trim()
}

/// Ends a probe with any result.
#[must_use]
pub fn end(request: &CrawlRequest, status: Option<u16>) -> Finished {
    let history = Box::new(PageHistory { status, fetched_at_ms: Some(now_ms()), ..PageHistory::default() });
    let lease = request.into();
    Finished::Other { lease, outcome: Outcome::Skipped, kind: KIND, history, seed: None, left_out: None }
}

/// Returns true if only probes are left in the frontier and nothing is in flight. Ends these probes, since no page is
/// left to compare with their answers.
///
/// # Errors
/// When storage fails.
pub fn end_if_only_probes_left(context: &Context) -> Result<bool, StoreError> {
    let (store, stats) = (&context.store, &context.stats);
    let waiting = stats.probes.get().saturating_sub(stats.probes_ended.get());
    let counts = store.counts()?;
    if counts.leased > 0 || counts.pending > waiting {
        return Ok(false);
    }
    let now = now_ms();
    for load in store.hosts_with_pending(Lane::Plain, now, MAX_CHECKED)? {
        let leased = store.lease(
            &load.host,
            Lane::Plain,
            MAX_CHECKED,
            &context.control.worker,
            now,
            now.saturating_add(60_000),
        )?;
        // another worker may have taken over hosts since the counts, so these URLs may be pages
        let (probes, pages): (Vec<_>, Vec<_>) = leased.into_iter().partition(is_probe);
        for page in pages {
            store.requeue((&page).into(), now, page.attempt, page.strategy)?;
        }
        let ended: Vec<Settlement> = probes
            .iter()
            .map(|probe| Settlement {
                lease: LeaseRef::from(probe),
                outcome: Outcome::Skipped,
                history: PageHistory::default(),
            })
            .collect();
        store.settle(&ended, &[])?;
    }
    store.drained()
}

/// Returns true if a request is a probe, which never becomes a record.
#[must_use]
pub fn is_probe(request: &CrawlRequest) -> bool {
    request.discovery == Discovery::Probe
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config, session};
    use crawl_model::Frontier;
    use crawl_store::MemoryStore;
    use std::sync::Arc;

    /// Probes that this worker has made and that went to another worker with their host are no pages here.
    #[test]
    fn pages_at_a_limit_are_not_ended_as_probes() {
        let config = config::load(None, std::iter::empty(), Vec::new()).unwrap();
        let store = Arc::new(MemoryStore::new());
        store.begin_round().unwrap();
        let context = session::context(config, Arc::clone(&store) as Arc<dyn crawl_model::Store>).unwrap();
        let host = HostKey::from_stored("h.test");
        store.enqueue(&[new_url(url("/page"), host.clone(), 1, Discovery::Link)]).unwrap();
        context.stats.probes.add(2);
        assert!(!end_if_only_probes_left(&context).unwrap());
        let counts = store.counts().unwrap();
        assert_eq!((counts.pending, counts.leased, counts.skipped), (1, 0, 0));
        store.enqueue(&[new_url(url("/probe"), host, 0, Discovery::Probe)]).unwrap();
        assert!(!end_if_only_probes_left(&context).unwrap());
        let counts = store.counts().unwrap();
        assert_eq!((counts.pending, counts.skipped), (1, 1), "the probe alone has ended");
    }

    fn url(path: &str) -> Url {
        Url::parse(&format!("http://h.test{path}")).unwrap()
    }

    #[test]
    fn section_is_the_first_path_segment() {
        for (path, expected) in
            [("/", ""), ("/a", ""), ("/a/", "a"), ("/a/b/c", "a"), ("//a/b", "a"), ("/a?b/c", "")]
        {
            assert_eq!(section(&url(path)), expected, "{path}");
        }
    }

    #[test]
    fn first_page_probes_at_once_and_sections_after_pages() {
        let mut error_profile = ErrorPageProfile::default();
        assert!(error_profile.is_due(&url("/"), 3), "the first page of the host");
        assert!(!error_profile.is_due(&url("/about"), 3), "the same section");
        let due: Vec<bool> = (1..=12).map(|n| error_profile.is_due(&url(&format!("/news/{n}")), 3)).collect();
        assert_eq!(due.iter().position(|due| *due), Some(9));
        assert_eq!(due.iter().filter(|due| **due).count(), 1);
        let mut ask = |section: &str| {
            (0..30).filter(|n| error_profile.is_due(&url(&format!("/{section}/{n}")), 3)).count()
        };
        assert_eq!([ask("shop"), ask("wiki")], [1, 0], "three probes and no more");
    }

    #[test]
    fn short_page_waits_for_its_sections_probe() {
        let (mut error_profile, most) = (ErrorPageProfile::default(), 3);
        let open = |error_profile: &ErrorPageProfile, path: &str, words| {
            error_profile.may_be_error_page(&url(path), words, most)
        };
        error_profile.is_due(&url("/"), most);
        assert!(
            open(&error_profile, "/", 20) && !open(&error_profile, "/", 500),
            "asked, and not answered yet"
        );
        for n in 1..=9 {
            assert!(!error_profile.is_due(&url(&format!("/shop/{n}")), most));
            assert!(open(&error_profile, "/shop/1", 20), "{n} pages: it will be asked");
        }
        assert!(!open(&error_profile, "/", 20), "its probe has had its turn");
        assert!(error_profile.is_due(&url("/shop/10"), most));
        assert!(open(&error_profile, "/shop/1", 20));
        (0..PAGES_BEFORE_ANSWER)
            .for_each(|n| assert!(!error_profile.is_due(&url(&format!("/shop/1{n}")), most)));
        assert!(!open(&error_profile, "/shop/1", 20));
        assert!(!error_profile.may_be_error_page(&url("/wiki/1"), 20, 0), "no section is asked");
    }

    #[test]
    fn counted_sections_are_bounded() {
        let mut error_profile = ErrorPageProfile::default();
        for n in 0..10 * MAX_SECTIONS {
            error_profile.is_due(&url(&format!("/{n}/x")), 8);
        }
        assert_eq!(error_profile.sections.len(), MAX_SECTIONS);
    }
}
