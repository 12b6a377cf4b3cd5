//! A dedup shard: owns the fingerprints of its hosts, holds their pages until a fingerprint is settled, cleans the rest.

use crate::{
    context::{Context, Ending, Finished, Share, StageError},
    extract_stage::{ShardMessage, shard_of},
    host_state, memory,
    soft404::{self, Witness},
    traps,
};
use crawl_dedup::{Cleaned, Fingerprint, FingerprintSettings, HostStream, Mode, PageText};
use crawl_fetch::PageWorth;
use crawl_model::{
    BoilerplateStatus, CleanPage, ContentHash, ExtractedPage, Extractor, HeldPage, HostKey, LeaseRef,
    StoreError, UrlKey, Warning,
};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use tokio::sync::mpsc::{Receiver, Sender};
use url::Url;

/// Held pages read back at a time: they are in memory then.
const RELEASE_BATCH: usize = 4;
/// Hosts whose state is kept in memory; the one that was idle longest goes to the store.
const MAX_HOSTS: usize = 4_096;
/// A settled host's running counts are saved when this share of pages has come since the last time, so that the cost of
/// saving stays a constant share of the work.
const SAVE_EVERY_SHARE: u64 = 8;
const SAVE_EVERY_AT_LEAST: u64 = 256;

struct Host {
    /// Names of held pages are their orders in the store.
    stream: HostStream<i64>,
    witness: Witness,
    saved_at_pages: u64,
    used: u64,
}

/// What is known of a page's content.
#[derive(Clone, Copy)]
struct Claim {
    /// The page that had it first: perhaps this one.
    first: UrlKey,
    hash: ContentHash,
}

/// See the module.
pub struct Shard {
    context: Arc<Context>,
    index: usize,
    mode: Mode,
    settings: FingerprintSettings,
    hosts: FxHashMap<HostKey, Host>,
    clock: u64,
    finished: Sender<Finished>,
}

/// Runs shard `index` until the extract stage has dropped its senders; then every host settles, unless the run was
/// interrupted.
pub fn run(
    context: Arc<Context>,
    index: usize,
    mut pages: Receiver<ShardMessage>,
    finished: Sender<Finished>,
) -> Result<(), StageError> {
    let dedup = &context.config.dedup;
    let settings = FingerprintSettings::new(dedup.threshold_pct, dedup.min_pages, dedup.min_block_chars)
        .map_err(|e| StoreError::Other(e.to_string()))?;
    let mode = dedup.mode;
    let mut shard = Shard { index, mode, settings, hosts: FxHashMap::default(), clock: 0, finished, context };
    shard.release_leftovers()?;
    while let Some(message) = pages.blocking_recv() {
        match message {
            ShardMessage::Page(page, share) => {
                let large = share.is_some();
                shard.page(*page, share)?;
                if large {
                    memory::give_back();
                }
            }
            ShardMessage::Drained(host) => shard.settle(&host)?,
        }
    }
    shard.end()
}

impl Shard {
    /// Hosts of this shard that have held pages.
    fn hosts_with_held(&self) -> Result<Vec<HostKey>, StoreError> {
        let shards = self.context.config.dedup.shards;
        let loads = self.context.store.hosts_with_held()?;
        Ok(loads
            .into_iter()
            .map(|load| load.host)
            .filter(|host| shard_of(host, shards) == self.index)
            .collect())
    }

    /// Lets go what an earlier process held of hosts that it had settled already.
    fn release_leftovers(&mut self) -> Result<(), StageError> {
        for host in self.hosts_with_held()? {
            let settled = self.host(&host)?.stream.fingerprint().state().is_settled();
            if settled || !self.context.config.dedup.enabled {
                self.each_held(&host, |page| self.let_go(&host, page))?;
            }
        }
        Ok(())
    }

    fn page(&mut self, page: ExtractedPage, share: Share) -> Result<(), StageError> {
        let host = HostKey::of(&page.final_url)
            .ok_or_else(|| StoreError::Other(format!("{} has no host", page.final_url)))?;
        if soft404::is_probe(&page.request) {
            self.host(&host)?.witness.hear(&page);
            let end = soft404::end(&page.request, Some(page.status));
            return self.finished.blocking_send(end).map_err(|_| StageError::Downstream);
        }
        let claim = self.arrived(&host, &page)?;
        if !self.context.config.dedup.enabled {
            let content = page.extraction.content.clone();
            return self.send(page, Cleaned::untouched(content, BoilerplateStatus::Off), claim, share);
        }
        let stream = &mut self.host(&host)?.stream;
        let read = stream.fingerprint().read(&text_of(&page));
        if !stream.observe(&text_of(&page), &read) {
            let cleaned = stream.judge(&text_of(&page), &read);
            self.save_now_and_then(&host)?;
            self.send(page, cleaned, claim, share)?;
            return self.release_due(&host);
        }
        // a buffer that grows by doubling would take a large page's memory three times
        let mut stored = Vec::with_capacity(page.extraction.content.len() / 16 * 17 + 4096);
        serde_json::to_writer(&mut stored, &page).map_err(|e| StoreError::Other(e.to_string()))?;
        if let Some(order) = self.context.store.hold((&page.request).into(), &host, &stored)? {
            self.host(&host)?.stream.hold(&text_of(&page), &read, order);
            self.context.stats.held.add(1);
        } else {
            // the lease had run out: the URL is pending again
            self.context.stats.requeued.add(1);
        }
        self.context.stats.changed.notify_one();
        self.release_due(&host)
    }

    /// The state of a host: from memory, else from the store, else from the pages that are held of it.
    fn host(&mut self, host: &HostKey) -> Result<&mut Host, StageError> {
        self.clock += 1;
        if !self.hosts.contains_key(host) {
            if self.hosts.len() >= MAX_HOSTS {
                self.evict()?;
            }
            let (stream, witness) = self.load(host)?;
            let saved_at_pages = stream.fingerprint().state().pages();
            self.hosts.insert(host.clone(), Host { stream, witness, saved_at_pages, used: 0 });
        }
        let clock = self.clock;
        let state =
            self.hosts.get_mut(host).ok_or_else(|| StoreError::Other(format!("no state of {host}")))?;
        state.used = clock;
        Ok(state)
    }

    fn load(&self, host: &HostKey) -> Result<(HostStream<i64>, Witness), StageError> {
        let settle_pages = self.context.config.dedup.settle_pages;
        let saved = self.context.store.load_host(host)?;
        let known = saved.as_deref().map(|bytes| host_state::decode(bytes).ok_or("not a host's state"));
        let (witness, bytes) = match known.transpose() {
            Ok(known) => known.unwrap_or_default(),
            Err(error) => {
                tracing::warn!(%host, %error, "the saved state is unusable, starting anew");
                Default::default()
            }
        };
        if !bytes.is_empty() {
            match Fingerprint::from_bytes(self.mode, bytes, self.settings) {
                Ok(fingerprint) => return Ok((HostStream::new(fingerprint, settle_pages), witness)),
                Err(error) => {
                    tracing::warn!(%host, %error, "the saved fingerprint is unusable, starting anew");
                }
            }
        }
        let mut stream = HostStream::new(Fingerprint::new(self.mode, self.settings), settle_pages);
        self.each_held(host, |page| {
            let (text, order) = (text_of(&page.page), page.order);
            let read = stream.fingerprint().read(&text);
            stream.observe(&text, &read);
            stream.hold(&text, &read, order);
            Ok(())
        })?;
        Ok((stream, witness))
    }

    fn each_held(
        &self,
        host: &HostKey,
        mut visit: impl FnMut(Held) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        let mut after = 0;
        loop {
            let held = self.context.store.held(host, after, RELEASE_BATCH)?;
            let Some(last) = held.last() else { return Ok(()) };
            after = last.order;
            for entry in &held {
                visit(Held::of(entry)?)?;
            }
        }
    }

    /// The host has no more pages: fixes the fingerprint and lets the held pages go.
    fn settle(&mut self, host: &HostKey) -> Result<(), StageError> {
        if !self.context.config.dedup.enabled {
            return Ok(());
        }
        let stream = &mut self.host(host)?.stream;
        let settled = stream.fingerprint().state().is_settled();
        let due = stream.end();
        self.release(host, settled, &due)
    }

    /// Lets go what has waited long enough.
    fn release_due(&mut self, host: &HostKey) -> Result<(), StageError> {
        let stream = &mut self.host(host)?.stream;
        let settled = stream.fingerprint().state().is_settled();
        let due = stream.due();
        self.release(host, settled, &due)
    }

    /// Lets held pages go, by their orders. A host that was not settled until now is saved first.
    fn release(&mut self, host: &HostKey, was_settled: bool, due: &[i64]) -> Result<(), StageError> {
        let context = Arc::clone(&self.context);
        let state = self.host(host)?;
        if !was_settled && state.stream.fingerprint().state().is_settled() {
            save(&context, host, state)?;
        }
        for &order in due {
            let held = self.context.store.held(host, order - 1, 1)?;
            if let Some(entry) = held.first().filter(|entry| entry.order == order) {
                self.let_go(host, Held::of(entry)?)?;
            }
        }
        Ok(())
    }

    /// Cleans a held page of a settled host and sends it on.
    fn let_go(&self, host: &HostKey, held: Held) -> Result<(), StageError> {
        let page = held.page;
        let stream = self.hosts.get(host).map(|state| &state.stream);
        let cleaned = match stream.filter(|_| self.context.config.dedup.enabled) {
            Some(stream) => stream.judge(&text_of(&page), &stream.fingerprint().read(&text_of(&page))),
            // held by a run that had it on
            None => Cleaned::untouched(page.extraction.content.clone(), BoilerplateStatus::Off),
        };
        self.context.stats.released.add(1);
        // made when it came; asked for again, it is the same
        let claim = self.claim(&page)?;
        self.send(page, cleaned, claim, None)
    }

    fn save_now_and_then(&mut self, host: &HostKey) -> Result<(), StageError> {
        let Some(state) = self.hosts.get_mut(host) else { return Ok(()) };
        let pages = state.stream.fingerprint().state().pages();
        let due = (state.saved_at_pages / SAVE_EVERY_SHARE).max(SAVE_EVERY_AT_LEAST);
        if pages - state.saved_at_pages >= due { save(&self.context, host, state) } else { Ok(()) }
    }

    /// Drops the quarter of the hosts that were idle longest. The fingerprints of unsettled ones need no saving: their
    /// pages are held. What waits of a settled one is let go.
    fn evict(&mut self) -> Result<(), StageError> {
        let mut ages: Vec<u64> = self.hosts.values().map(|h| h.used).collect();
        ages.sort_unstable();
        let limit = ages.get(ages.len() / 4).copied().unwrap_or(0);
        let idle: Vec<HostKey> = self
            .hosts
            .iter()
            .filter(|(_, state)| state.used <= limit)
            .map(|(host, _)| host.clone())
            .collect();
        for host in idle {
            let Some(state) = self.hosts.get_mut(&host) else { continue };
            if state.stream.fingerprint().state().is_settled() {
                let due = state.stream.end();
                self.release(&host, true, &due)?;
            }
            if let Some(mut state) = self.hosts.remove(&host) {
                save_news(&self.context, &host, &mut state)?;
            }
        }
        Ok(())
    }

    /// The input has ended. Held pages are let go, but kept when the run was interrupted: the next one goes on.
    fn end(mut self) -> Result<(), StageError> {
        if matches!(self.context.ending.get(), Some(Ending::Drained | Ending::Limit(_))) {
            let mut waiting: Vec<HostKey> = self
                .hosts
                .iter()
                .filter(|(_, s)| s.stream.waiting() > 0 || !s.stream.fingerprint().state().is_settled())
                .map(|(h, _)| h.clone())
                .collect();
            waiting.extend(self.hosts_with_held()?);
            waiting.sort_unstable();
            waiting.dedup();
            for host in waiting {
                self.settle(&host)?;
            }
        }
        for (host, state) in &mut self.hosts {
            save_news(&self.context, host, state)?;
        }
        Ok(())
    }

    /// The page that this one names as its canonical form, if that is another one of the same host that has become a page
    /// itself. Where it has not yet, the same content will say it.
    fn canonical_page(&self, page: &ExtractedPage) -> Result<Option<UrlKey>, StageError> {
        let Some(named) = page.extraction.metadata.canonical.as_deref().and_then(|c| Url::parse(c).ok())
        else {
            return Ok(None);
        };
        let named = self.context.links.canonical(&named);
        if named == page.final_url || HostKey::of(&named) != HostKey::of(&page.final_url) {
            return Ok(None);
        }
        let key = UrlKey::of(named.as_str());
        Ok(self.context.store.became_page(key)?.then_some(key))
    }

    /// A page's content is claimed when it comes, not when it is let go: the account of its URL's template has to know at
    /// once whether there was something new.
    fn arrived(&mut self, host: &HostKey, page: &ExtractedPage) -> Result<Claim, StageError> {
        let claim = self.claim(page)?;
        let context = Arc::clone(&self.context);
        let witness = &mut self.host(host)?.witness;
        witness.ask(&context, page)?;
        let worth = match () {
            () if witness.recognises(page) => PageWorth::NotFound,
            () if claim.first != UrlKey::of(page.final_url.as_str()) => PageWorth::Duplicate,
            () => traps::worth(&context.traps, &page.final_url, &page.extraction.content, page.leads_on),
        };
        traps::learn(&self.context, &page.request, &page.final_url, worth);
        Ok(claim)
    }

    fn claim(&self, page: &ExtractedPage) -> Result<Claim, StageError> {
        let key = UrlKey::of(page.final_url.as_str());
        let (hash, exact) = crawl_dedup::hashes(&page.extraction.content);
        let first = match exact {
            Some(exact) => self.context.store.claim_content(&exact, key)?,
            None => key,
        };
        Ok(Claim { first, hash })
    }

    /// Lets a page go.
    fn send(
        &self,
        mut page: ExtractedPage,
        cleaned: Cleaned,
        claim: Claim,
        share: Share,
    ) -> Result<(), StageError> {
        let Claim { first, hash: content_hash } = claim;
        let key = UrlKey::of(page.final_url.as_str());
        let same_content = first != key;
        let first = if first == key { self.canonical_page(&page)?.unwrap_or(key) } else { first };
        if page.extraction.content.is_empty() && !page.extraction.warnings.contains(&Warning::AllBoilerplate)
        {
            page.extraction.warnings.push(Warning::AllBoilerplate);
        }
        let host = HostKey::of(&page.final_url).and_then(|host| self.hosts.get(&host));
        if host.is_some_and(|host| host.witness.recognises(&page)) {
            page.extraction.warnings.push(Warning::SoftNotFound);
        }
        if first != key {
            page.extraction.warnings.push(Warning::Duplicate);
        }
        let (text, boilerplate) = cleaned.into_record();
        let text = match boilerplate.status {
            BoilerplateStatus::Off => text,
            _ => self.context.extractor.last_pass(text, page.extraction.extractor),
        };
        let page = CleanPage {
            quality: self.context.quality.as_ref().map(|judge| judge.quality(&text)),
            text,
            boilerplate,
            similarity: same_content.then_some(1.0),
            duplicate_of: (first != key).then(|| first.to_string()),
            content_hash,
            page,
        };
        self.finished.blocking_send(Finished::Page(Box::new(page), share)).map_err(|_| StageError::Downstream)
    }
}

/// A page that was put aside, read back.
struct Held {
    page: ExtractedPage,
    order: i64,
}

impl Held {
    fn of(entry: &HeldPage) -> Result<Self, StoreError> {
        let mut page: ExtractedPage = serde_json::from_slice(&entry.page)
            .map_err(|e| StoreError::Corrupt(format!("held page {}: {e}", entry.lease.id.0)))?;
        // the token may have moved on since the page was stored
        (page.request.id, page.request.token) = (entry.lease.id, entry.lease.token);
        Ok(Self { page, order: entry.order })
    }
}

/// What a fingerprint looks at.
fn text_of(page: &ExtractedPage) -> PageText<'_> {
    let title = page.extraction.metadata.title.as_deref();
    // plain text comes without a frame
    let extracted = page.extraction.extractor != Extractor::BodyFallback;
    PageText { content: &page.extraction.content, url: page.final_url.as_str(), title, extracted }
}

/// Saves what is known of a host, if the store does not know it.
fn save_news(context: &Context, host: &HostKey, state: &mut Host) -> Result<(), StageError> {
    let counted = state.stream.fingerprint().state();
    let grown = counted.is_settled() && counted.pages() != state.saved_at_pages;
    if state.witness.take_news() || grown { save(context, host, state) } else { Ok(()) }
}

fn save(context: &Context, host: &HostKey, state: &mut Host) -> Result<(), StageError> {
    let fingerprint = state.stream.fingerprint();
    let counted = fingerprint.state();
    let bytes = if counted.is_settled() { fingerprint.to_bytes() } else { Vec::new() };
    state.saved_at_pages = counted.pages();
    state.witness.take_news();
    Ok(context.store.save_host(host, &host_state::encode(&state.witness, &bytes)?)?)
}

/// What settles a page.
#[must_use]
pub fn lease_of(page: &CleanPage) -> LeaseRef {
    (&page.page.request).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config, run};
    use crawl_model::Frontier;
    use crawl_store::MemoryStore;

    /// A host that was idle while thousands of others came goes to the store with all that is known of it.
    #[test]
    fn what_an_evicted_host_answers_is_known_when_it_comes_back() {
        let config = config::load(None, std::iter::empty(), Vec::new()).unwrap();
        let settings = FingerprintSettings::new(0.7, 5, 50).unwrap();
        let mode = config.dedup.mode;
        let store = Arc::new(MemoryStore::new());
        store.begin_round().unwrap();
        let context = Arc::new(run::context(config, store).unwrap());
        let (finished, _kept) = tokio::sync::mpsc::channel(1);
        let hosts = FxHashMap::default();
        let mut shard = Shard { context, index: 0, mode, settings, hosts, clock: 0, finished };
        let key = HostKey::from_stored("h.test");
        let url = |path: &str| Url::parse(&format!("http://h.test{path}")).unwrap();
        let text =
            "The gulls have taken it, which happens to the best of shops: have a look at the offers instead.";
        shard.host(&key).unwrap().witness.hear_text(text, &url("/nowhere"));
        shard.evict().unwrap();
        assert!(shard.hosts.is_empty());
        let witness = &shard.host(&key).unwrap().witness;
        assert!(witness.matches(text, &url("/gone")) && !witness.matches("Words of a page.", &url("/page")));
    }
}
