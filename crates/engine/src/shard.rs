//! A dedup shard. It owns the fingerprints of its hosts, holds their pages until the fingerprint is settled, and
//! cleans the pages of settled hosts.

mod held;
mod hosts;
mod kept;
mod ready;
mod second_extraction;
#[cfg(test)]
mod tests;

use crate::{
    context::Context,
    ending::Ending,
    finished::{Finished, Share},
    memory,
    messages::{ShardMessage, shard_of},
    page_work, soft404,
    stage_error::StageError,
    threads::Gathering,
};
use crawl_dedup::{Cleaned, FingerprintSettings, Mode, PageText};
use crawl_model::{
    BoilerplateStatus, CleanPage, ExtractedPage, Extractor, HostKey, LeaseRef, Stage, StoreError,
};
use held::Held;
pub use held::refetch_unreadable;
use hosts::{Host, save, save_if_changed};
use ready::Claim;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use tokio::sync::mpsc::{Receiver, Sender};

/// Number of held pages that are read into memory at a time.
const RELEASE_BATCH: usize = 4;

/// One shard of the dedup stage.
pub struct Shard {
    context: Arc<Context>,
    index: usize,
    mode: Mode,
    settings: FingerprintSettings,
    hosts: FxHashMap<HostKey, Host>,
    /// Bytes of the hosts' fingerprints.
    host_bytes: usize,
    clock: u64,
    finished: Sender<Finished>,
    /// Held pages that have failed, by request id; the sink may not have settled them yet.
    failed: FxHashSet<i64>,
    /// Ends of failed held pages that are not sent yet.
    ends: Vec<Finished>,
    /// Number of held pages that were read.
    read_back: u64,
}

/// Runs shard `index` until the extract stage has dropped its senders. Then every host settles, unless the run was
/// interrupted.
pub async fn run(
    context: Arc<Context>,
    index: usize,
    mut pages: Receiver<ShardMessage>,
    finished: Sender<Finished>,
) -> Result<(), StageError> {
    let dedup = &context.config.dedup;
    let settings = FingerprintSettings::new(dedup.threshold_pct, dedup.min_pages, dedup.min_block_chars)
        .map_err(|e| StoreError::Other(e.to_string()))?;
    let (mode, mut gathering) = (dedup.mode, Gathering::new(context.compute.threading));
    let mut shard = Shard::new(context, index, (mode, settings), finished);
    shard.release_held_of_settled_hosts().await?;
    shard.send_ends().await?;
    while let Some(message) = pages.recv().await {
        shard.make_room().await?;
        match message {
            ShardMessage::Page(page, share) => {
                let large = share.is_some();
                shard.page(*page, share).await?;
                if large {
                    memory::return_freed_memory();
                }
            }
            ShardMessage::Drained(host) => {
                if let Some(archive) = &shard.context.records.archive {
                    archive.drained(&host)?;
                }
                shard.drained(&host).await?;
            }
            ShardMessage::HandedOver(host) => shard.forget(&host),
        }
        shard.send_ends().await?;
        gathering.handled(pages.is_empty());
    }
    shard.end().await
}

/// Next step of a page that arrived.
enum Step {
    /// The page has the same content as before.
    Unchanged(Claim),
    /// The page is sent to the sink.
    Send(Cleaned, Claim),
    /// The page waits in the store, or its lease has expired.
    Held,
}

impl Shard {
    fn new(
        context: Arc<Context>,
        index: usize,
        (mode, settings): (Mode, FingerprintSettings),
        finished: Sender<Finished>,
    ) -> Self {
        Self {
            index,
            mode,
            settings,
            hosts: FxHashMap::default(),
            host_bytes: 0,
            clock: 0,
            finished,
            failed: FxHashSet::default(),
            ends: Vec::new(),
            read_back: 0,
            context,
        }
    }

    /// Sends the ends of held pages that have failed.
    async fn send_ends(&mut self) -> Result<(), StageError> {
        for end in std::mem::take(&mut self.ends) {
            self.finished.send(end).await.map_err(|_| StageError::Downstream)?;
        }
        Ok(())
    }

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

    /// Releases the pages that an earlier process held, of hosts that it had already settled.
    async fn release_held_of_settled_hosts(&mut self) -> Result<(), StageError> {
        for host in self.hosts_with_held()? {
            self.make_room().await?;
            let settled = self.host(&host)?.stream.fingerprint().state().is_settled();
            if settled || !self.context.config.dedup.enabled {
                let mut after = 0;
                while let Some((last, pages)) = self.held_after(&host, after)? {
                    after = last;
                    for page in pages {
                        self.send_cleaned(&host, page).await?;
                    }
                }
            }
        }
        Ok(())
    }

    async fn page(&mut self, mut page: ExtractedPage, share: Share) -> Result<(), StageError> {
        if let Some(archive) = &self.context.records.archive {
            archive.page(&page)?;
        }
        let host = HostKey::of(&page.final_url)
            .ok_or_else(|| StoreError::Other(format!("{} has no host", page.final_url)))?;
        if soft404::is_probe(&page.request) {
            self.host(&host)?.error_profile.observe(&page);
            let end = soft404::end(&page.request, Some(page.status));
            return self.finished.send(end).await.map_err(|_| StageError::Downstream);
        }
        // loads the state first: failures of held pages must not count for this page
        self.host(&host)?;
        let is_undecided = self.is_undecided(&host, &page)?;
        if !is_undecided {
            self.extract_if_missed(&host, &mut page)?;
        }
        let waits = is_undecided && page.kept_body.as_ref().is_some_and(|kept| kept.is_doubtful);
        match page_work::guarded(Stage::Dedup, &page.request, || self.step(&host, &page, waits)) {
            Ok(step) => match step? {
                Step::Held => {}
                Step::Unchanged(claim) => {
                    self.note_written(&host, page.request.url.as_str())?;
                    return self.unchanged(&page, claim, None).await;
                }
                Step::Send(cleaned, claim) => {
                    self.note_written(&host, page.request.url.as_str())?;
                    self.send(page, cleaned, claim, share).await?;
                }
            },
            Err(panicked) => {
                self.forget_unsettled(&host)?;
                self.failed.insert(page.request.id.0);
                let end = page_work::ended(Stage::Dedup, &page.request, Some(page.status), &panicked);
                self.ends.push(end);
            }
        }
        if self.context.config.dedup.enabled { self.release_due(&host).await } else { Ok(()) }
    }

    /// Counts a page and chooses its next step. It may have to wait until more of its site is known.
    fn step(
        &mut self,
        host: &HostKey,
        page: &ExtractedPage,
        waits_for_site: bool,
    ) -> Result<Step, StageError> {
        let claim = self.claim_on_arrival(host, page)?;
        if self.is_unchanged(page, claim) {
            return Ok(Step::Unchanged(claim));
        }
        if !self.context.config.dedup.enabled {
            let content = page.extraction.content.clone();
            return Ok(Step::Send(Cleaned::untouched(content, BoilerplateStatus::Off), claim));
        }
        let context = Arc::clone(&self.context);
        let state = self.loaded(host)?;
        let counted = state.cleans_without_counting(&context, page);
        let stream = &mut state.stream;
        let read = stream.fingerprint().read(&text_of(page));
        let waits = !counted && stream.observe(&text_of(page), &read);
        let waits = waits || state.waits_for_probe(&context, page);
        if counted || !(waits || waits_for_site) {
            let cleaned = state.stream.clean(&text_of(page), &read);
            self.save_if_due(host)?;
            self.note_bytes(host);
            return Ok(Step::Send(cleaned, claim));
        }
        // a buffer that grows by doubling would need three times the memory of a large page
        let mut stored = Vec::with_capacity(page.extraction.content.len() / 16 * 17 + 4096);
        serde_json::to_writer(&mut stored, page).map_err(|e| StoreError::Other(e.to_string()))?;
        if let Some(order) = self.context.store.hold((&page.request).into(), host, &stored)? {
            let state = self.loaded(host)?;
            state.stream.hold(&text_of(page), &read, order);
            state.through = order;
            state.changed += u64::from(kept::is_counted(&context, page));
            self.context.stats.held.add(1);
        }
        // else the lease has expired, and the URL is pending again
        self.note_bytes(host);
        self.context.stats.changed.notify_one();
        Ok(Step::Held)
    }

    /// Settles a host without further pages by its present counts.
    async fn drained(&mut self, host: &HostKey) -> Result<(), StageError> {
        let context = Arc::clone(&self.context);
        context.reading.sites.complete(&*context.store, host)?;
        self.settle(host).await
    }

    /// Settles the fingerprint of a host and releases its held pages.
    async fn settle(&mut self, host: &HostKey) -> Result<(), StageError> {
        if !self.context.config.dedup.enabled {
            return Ok(());
        }
        let stream = &mut self.host(host)?.stream;
        let settled = stream.fingerprint().state().is_settled();
        let due = stream.end();
        self.release(host, settled, &due).await
    }

    /// Releases the pages of a host that have waited long enough.
    async fn release_due(&mut self, host: &HostKey) -> Result<(), StageError> {
        // a failed page may have dropped the state
        self.host(host)?;
        let settled = self.is_settled(host)?;
        let chosen = self.choose_at_early_release(host)?;
        self.release(host, settled, &chosen).await?;
        let settled = self.is_settled(host)?;
        let due = self.loaded(host)?.stream.due();
        self.release(host, settled, &due).await?;
        for order in self.loaded(host)?.stream.to_examine() {
            self.examine(host, order).await?;
        }
        Ok(())
    }

    /// Releases a held page if further pages of its host are unlikely to change its cleaned text.
    async fn examine(&mut self, host: &HostKey, order: i64) -> Result<(), StageError> {
        let Some(held) = self.held_at(host, order)? else { return Ok(()) };
        if self.waits_for_site(host, &held.page)? {
            return Ok(());
        }
        let text = text_of(&held.page);
        let context = Arc::clone(&self.context);
        let state = self.loaded(host)?;
        let stream = &state.stream;
        let work = || {
            !state.waits_for_probe(&context, &held.page)
                && stream.is_stable(&text, &stream.fingerprint().read(&text))
        };
        // a page that panics here fails when it is cleaned
        if page_work::guarded(Stage::Dedup, &held.page.request, work).unwrap_or(true) {
            let settled = self.is_settled(host)?;
            self.loaded(host)?.stream.release(&order);
            self.release(host, settled, &[]).await?;
            self.send_cleaned(host, held).await?;
        }
        Ok(())
    }

    /// Returns true if the fingerprint of a loaded host is settled.
    fn is_settled(&mut self, host: &HostKey) -> Result<bool, StageError> {
        Ok(self.loaded(host)?.stream.fingerprint().state().is_settled())
    }

    /// Releases held pages, by their orders. A host that has just settled is saved first.
    async fn release(&mut self, host: &HostKey, was_settled: bool, due: &[i64]) -> Result<(), StageError> {
        let context = Arc::clone(&self.context);
        let mut due = due.to_vec();
        if !was_settled && self.is_settled(host)? {
            due = self.choose_fingerprint(host, due)?;
            save(&context, host, self.host(host)?)?;
        }
        for order in due {
            if let Some(held) = self.held_at(host, order)? {
                self.send_cleaned(host, held).await?;
            }
        }
        Ok(())
    }

    /// Cleans a held page of a settled host and sends it to the sink.
    async fn send_cleaned(&mut self, host: &HostKey, held: Held) -> Result<(), StageError> {
        let mut page = held.page;
        self.context.stats.released.add(1);
        self.extract_if_missed(host, &mut page)?;
        let work = || {
            let stream = self.hosts.get(host).map(|state| &state.stream);
            let cleaned = match stream.filter(|_| self.context.config.dedup.enabled) {
                Some(stream) => stream.clean(&text_of(&page), &stream.fingerprint().read(&text_of(&page))),
                // held by an earlier run with `dedup.enabled`
                None => Cleaned::untouched(page.extraction.content.clone(), BoilerplateStatus::Off),
            };
            // the claim was made on arrival; a second call returns the same
            Ok((cleaned, self.claim(&page)?))
        };
        let done: Result<Result<_, StageError>, _> = page_work::guarded(Stage::Dedup, &page.request, work);
        match done {
            Ok(done) => {
                let (cleaned, claim) = done?;
                self.send(page, cleaned, claim, None).await
            }
            Err(panicked) => {
                self.failed.insert(page.request.id.0);
                let end = page_work::ended(Stage::Dedup, &page.request, Some(page.status), &panicked);
                self.ends.push(end);
                Ok(())
            }
        }
    }

    /// Ends the shard after its input. Releases held pages, except after an interruption: the next run continues with
    /// them.
    async fn end(mut self) -> Result<(), StageError> {
        if matches!(self.context.control.ending.get(), Some(Ending::Drained | Ending::Limit(_))) {
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
                self.make_room().await?;
                self.drained(&host).await?;
                self.send_ends().await?;
            }
        }
        for (host, state) in &mut self.hosts {
            save_if_changed(&self.context, host, state)?;
        }
        tracing::debug!(shard = self.index, pages = self.read_back, "held pages were read back");
        Ok(())
    }
}

/// Returns the text for a fingerprint.
fn text_of(page: &ExtractedPage) -> PageText<'_> {
    let title = page.extraction.metadata.title.as_deref();
    // plain text has no page frame
    let extracted = page.extraction.extractor != Extractor::BodyFallback;
    PageText { content: &page.extraction.content, url: page.final_url.as_str(), title, extracted }
}

/// Returns the lease that settles a page.
#[must_use]
pub fn lease_of(page: &CleanPage) -> LeaseRef {
    (&page.page.request).into()
}
