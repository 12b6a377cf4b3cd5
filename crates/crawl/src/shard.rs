//! A dedup shard: owns the fingerprints of its hosts, holds their pages until a fingerprint is settled, cleans the rest.

mod hosts;
mod kept;
mod ready;

use crate::{
    context::{Context, Ending, Finished, Share, StageError},
    extract_stage::{ShardMessage, shard_of},
    memory, soft404,
};
use crawl_dedup::{Cleaned, FingerprintSettings, Mode, PageText};
use crawl_model::{
    BoilerplateStatus, CleanPage, ExtractedPage, Extractor, HeldPage, HostKey, LeaseRef, StoreError,
};
use hosts::{Host, save, save_news};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use tokio::sync::mpsc::{Receiver, Sender};

/// Held pages read back at a time: they are in memory then.
const RELEASE_BATCH: usize = 4;

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
            ShardMessage::Drained(host) => {
                if let Some(archive) = &shard.context.archive {
                    archive.drained(&host)?;
                }
                shard.settle(&host)?;
            }
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
        if let Some(archive) = &self.context.archive {
            archive.page(&page)?;
        }
        let host = HostKey::of(&page.final_url)
            .ok_or_else(|| StoreError::Other(format!("{} has no host", page.final_url)))?;
        if soft404::is_probe(&page.request) {
            self.host(&host)?.witness.hear(&page);
            let end = soft404::end(&page.request, Some(page.status));
            return self.finished.blocking_send(end).map_err(|_| StageError::Downstream);
        }
        let claim = self.arrived(&host, &page)?;
        if self.says_the_same(&page, claim) {
            return self.unchanged(&page, claim, None);
        }
        if !self.context.config.dedup.enabled {
            let content = page.extraction.content.clone();
            return self.send(page, Cleaned::untouched(content, BoilerplateStatus::Off), claim, share);
        }
        let context = Arc::clone(&self.context);
        let state = self.host(&host)?;
        let counted = state.judges_only(&context, &page);
        let stream = &mut state.stream;
        let read = stream.fingerprint().read(&text_of(&page));
        if counted || !stream.observe(&text_of(&page), &read) {
            let cleaned = stream.judge(&text_of(&page), &read);
            self.save_now_and_then(&host)?;
            self.send(page, cleaned, claim, share)?;
            return self.release_due(&host);
        }
        // a buffer that grows by doubling would take a large page's memory three times
        let mut stored = Vec::with_capacity(page.extraction.content.len() / 16 * 17 + 4096);
        serde_json::to_writer(&mut stored, &page).map_err(|e| StoreError::Other(e.to_string()))?;
        if let Some(order) = self.context.store.hold((&page.request).into(), &host, &stored)? {
            let state = self.host(&host)?;
            state.stream.hold(&text_of(&page), &read, order);
            state.changed += u64::from(kept::is_counted(&context, &page));
            self.context.stats.held.add(1);
        }
        // otherwise the lease has run out, and the URL is pending again
        self.context.stats.changed.notify_one();
        self.release_due(&host)
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
        let mut due = due.to_vec();
        if !was_settled && state.stream.fingerprint().state().is_settled() {
            due = self.choose_fingerprint(host, due)?;
            save(&context, host, self.host(host)?)?;
        }
        for order in due {
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

/// What settles a page.
#[must_use]
pub fn lease_of(page: &CleanPage) -> LeaseRef {
    (&page.page.request).into()
}
