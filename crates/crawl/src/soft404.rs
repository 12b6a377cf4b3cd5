//! Soft 404s in the flow: each host is asked once for a page that cannot exist, and its other pages are held against
//! what it shows then.
//!
//! The probe is a URL of the frontier, so that politeness and robots.txt hold for it as for a page. It is neither a
//! record nor an error, and what it brings is kept in memory alone: a run that goes on after a stop asks anew.

use crate::{
    context::{Context, Finished, now_ms},
    links::new_url,
};
use crawl_fetch::{ErrorPage, probe_url, says_not_found};
use crawl_model::{
    CrawlRequest, Discovery, ExtractedPage, HostKey, LeaseRef, Outcome, PageHistory, Settlement, StoreError,
};
use std::hash::{BuildHasher, RandomState};

/// The kind that probes are counted as.
pub const KIND: &str = "soft404_probe";
/// Hosts and leases of them that are looked at to end probes that nobody waits for any more.
const MANY: usize = 1_000_000;

/// What a host answers for what it does not have.
#[derive(Default)]
pub struct Witness {
    asked: bool,
    page: Option<ErrorPage>,
}

impl Witness {
    /// Asks the host, unless that has been done, for something beside `page`.
    ///
    /// # Errors
    /// When storage fails.
    pub fn ask(&mut self, context: &Context, page: &ExtractedPage) -> Result<(), StoreError> {
        if self.asked || !context.config.crawl.soft404 || page.status != 200 {
            return Ok(());
        }
        self.asked = true;
        let probe = context.links.canonical(&probe_url(&page.final_url, context.nonce));
        let Some(host) = HostKey::of(&probe).filter(|_| context.links.admits(&probe)) else { return Ok(()) };
        // at the depth of a seed, so that it is leased before what the host's pages link to
        let added = context.store.enqueue(&[new_url(probe, host, 0, Discovery::Probe)])?;
        context.stats.probes.add(added.new as u64);
        context.stats.changed.notify_one();
        Ok(())
    }

    /// Takes the answer. A page without text says nothing: where scripts write the text, all pages look like it.
    pub fn hear(&mut self, page: &ExtractedPage) {
        self.asked = true;
        let text = &page.extraction.content;
        self.page = (!text.trim().is_empty()).then(|| ErrorPage::new(text, &page.final_url));
    }

    /// Whether a page says that it is not there: as the host says it, or in words that everybody uses. A host's start
    /// page is there, also where everything unknown leads to it.
    #[must_use]
    pub fn recognises(&self, page: &ExtractedPage) -> bool {
        let (extraction, url) = (&page.extraction, &page.final_url);
        let text = extraction.content.as_str();
        if url.path() == "/" && url.query().is_none() {
            return false;
        }
        let title = extraction.metadata.title.as_deref().unwrap_or_default();
        let words = usize::try_from(extraction.word_count).unwrap_or(usize::MAX);
        says_not_found(title, heading(text), words)
            || self.page.as_ref().is_some_and(|error_page| error_page.matches(text, url))
    }
}

/// The first heading of a Markdown text.
fn heading(text: &str) -> &str {
    text.lines().find(|line| line.starts_with('#')).unwrap_or_default().trim_start_matches('#').trim()
}

/// A probe's end, whatever came of it.
#[must_use]
pub fn end(request: &CrawlRequest, status: Option<u16>) -> Finished {
    let history = PageHistory { status, fetched_at_ms: Some(now_ms()), ..PageHistory::default() };
    Finished::Other { lease: request.into(), outcome: Outcome::Skipped, kind: KIND, history }
}

/// Whether the frontier is drained but for probes, with nothing in flight. Those are ended: there is no page left that
/// could be held against their answers.
///
/// # Errors
/// When storage fails.
pub fn drained(context: &Context) -> Result<bool, StoreError> {
    let (store, stats) = (&context.store, &context.stats);
    let waiting = stats.probes.get().saturating_sub(stats.probes_ended.get());
    let counts = store.counts()?;
    if counts.leased > 0 || counts.pending > waiting {
        return Ok(false);
    }
    let now = now_ms();
    for load in store.hosts_with_pending(now, MANY)? {
        let probes = store.lease(&load.host, MANY, &context.worker, now, now.saturating_add(60_000))?;
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

/// Makes the probes of a run ones that were never asked for. The hasher's keys are random for each value, which is
/// random enough.
#[must_use]
pub fn nonce() -> u64 {
    RandomState::new().hash_one(0_u8)
}

/// Whether a URL is a probe's: it is for nobody's eyes.
#[must_use]
pub fn is_probe(request: &CrawlRequest) -> bool {
    request.discovery == Discovery::Probe
}
