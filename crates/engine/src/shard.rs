//! A dedup shard: owns the fingerprints of its hosts, holds their pages until a fingerprint is settled, cleans the rest.

mod held;
mod hosts;
mod kept;
mod mend;
mod ready;
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
pub use held::put_back_unreadable;
use hosts::{Host, save, save_news};
use ready::Claim;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use tokio::sync::mpsc::{Receiver, Sender};

/// Held pages read back at a time: they are in memory then.
const RELEASE_BATCH: usize = 4;

/// One shard of the dedup stage.
pub struct Shard {
    context: Arc<Context>,
    index: usize,
    mode: Mode,
    settings: FingerprintSettings,
    hosts: FxHashMap<HostKey, Host>,
    /// Bytes of their fingerprints.
    host_bytes: usize,
    clock: u64,
    finished: Sender<Finished>,
    /// Held pages that have failed, by the number of their URL: the sink has not settled all of them yet.
    failed: FxHashSet<i64>,
    /// Ends of such pages that are not sent yet.
    ends: Vec<Finished>,
    /// Held pages that were read back.
    read_back: u64,
}

/// Runs shard `index` until the extract stage has dropped its senders; then every host settles, unless the run was
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
    shard.release_leftovers().await?;
    shard.send_ends().await?;
    while let Some(message) = pages.recv().await {
        shard.make_room().await?;
        match message {
            ShardMessage::Page(page, share) => {
                let large = share.is_some();
                shard.page(*page, share).await?;
                if large {
                    memory::give_back();
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

/// The next step of a page that has come.
enum Step {
    /// The page has the same content as before.
    Unchanged(Claim),
    /// The page is sent to the sink.
    Send(Cleaned, Claim),
    /// The page waits in the store, or its lease had run out.
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

    /// Lets go what an earlier process held of hosts that it had settled already.
    async fn release_leftovers(&mut self) -> Result<(), StageError> {
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
        // read back first: what they do is their own
        self.host(&host)?;
        let is_unjudged = self.is_unjudged(&host, &page)?;
        if !is_unjudged {
            self.mend(&host, &mut page)?;
        }
        let waits = is_unjudged && page.kept_body.as_ref().is_some_and(|kept| kept.is_doubtful);
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

    /// Counts a page and decides what becomes of it. It may have to wait for its site to be known.
    fn step(
        &mut self,
        host: &HostKey,
        page: &ExtractedPage,
        waits_for_site: bool,
    ) -> Result<Step, StageError> {
        let claim = self.arrived(host, page)?;
        if self.says_the_same(page, claim) {
            return Ok(Step::Unchanged(claim));
        }
        if !self.context.config.dedup.enabled {
            let content = page.extraction.content.clone();
            return Ok(Step::Send(Cleaned::untouched(content, BoilerplateStatus::Off), claim));
        }
        let context = Arc::clone(&self.context);
        let state = self.loaded(host)?;
        let counted = state.judges_only(&context, page);
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
        // a buffer that grows by doubling would take a large page's memory three times
        let mut stored = Vec::with_capacity(page.extraction.content.len() / 16 * 17 + 4096);
        serde_json::to_writer(&mut stored, page).map_err(|e| StoreError::Other(e.to_string()))?;
        if let Some(order) = self.context.store.hold((&page.request).into(), host, &stored)? {
            let state = self.loaded(host)?;
            state.stream.hold(&text_of(page), &read, order);
            state.through = order;
            state.changed += u64::from(kept::is_counted(&context, page));
            self.context.stats.held.add(1);
        }
        // otherwise the lease has run out, and the URL is pending again
        self.note_bytes(host);
        self.context.stats.changed.notify_one();
        Ok(Step::Held)
    }

    /// Handles a host without further pages: its present counts decide.
    async fn drained(&mut self, host: &HostKey) -> Result<(), StageError> {
        let context = Arc::clone(&self.context);
        context.reading.sites.complete(&*context.store, host)?;
        self.settle(host).await
    }

    /// Fixes the fingerprint of a host and lets its held pages go.
    async fn settle(&mut self, host: &HostKey) -> Result<(), StageError> {
        if !self.context.config.dedup.enabled {
            return Ok(());
        }
        let stream = &mut self.host(host)?.stream;
        let settled = stream.fingerprint().state().is_settled();
        let due = stream.end();
        self.release(host, settled, &due).await
    }

    /// Lets go what has waited long enough.
    async fn release_due(&mut self, host: &HostKey) -> Result<(), StageError> {
        // a page that failed may have dropped the state
        self.host(host)?;
        let settled = self.is_settled(host)?;
        let chosen = self.choose_early(host)?;
        self.release(host, settled, &chosen).await?;
        let settled = self.is_settled(host)?;
        let due = self.loaded(host)?.stream.due();
        self.release(host, settled, &due).await?;
        for order in self.loaded(host)?.stream.to_examine() {
            self.examine(host, order).await?;
        }
        Ok(())
    }

    /// Lets a held page go if the next pages of its host are unlikely to change its judgement.
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
        // a page that panics here fails where it is judged
        if page_work::guarded(Stage::Dedup, &held.page.request, work).unwrap_or(true) {
            let settled = self.is_settled(host)?;
            self.loaded(host)?.stream.release(&order);
            self.release(host, settled, &[]).await?;
            self.send_cleaned(host, held).await?;
        }
        Ok(())
    }

    /// Returns true if pages of a host that is in memory are judged.
    fn is_settled(&mut self, host: &HostKey) -> Result<bool, StageError> {
        Ok(self.loaded(host)?.stream.fingerprint().state().is_settled())
    }

    /// Lets held pages go, by their orders. A host that was not settled until now is saved first.
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

    /// Cleans a held page of a settled host and sends it on.
    async fn send_cleaned(&mut self, host: &HostKey, held: Held) -> Result<(), StageError> {
        let mut page = held.page;
        self.context.stats.released.add(1);
        self.mend(host, &mut page)?;
        let work = || {
            let stream = self.hosts.get(host).map(|state| &state.stream);
            let cleaned = match stream.filter(|_| self.context.config.dedup.enabled) {
                Some(stream) => stream.clean(&text_of(&page), &stream.fingerprint().read(&text_of(&page))),
                // held by a run that had it on
                None => Cleaned::untouched(page.extraction.content.clone(), BoilerplateStatus::Off),
            };
            // made on arrival; a second claim returns the same
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

    /// Ends the shard after its input. Held pages are released, but kept when the run was interrupted: the
    /// next one goes on.
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
            save_news(&self.context, host, state)?;
        }
        tracing::debug!(shard = self.index, pages = self.read_back, "held pages were read back");
        Ok(())
    }
}

/// Returns the text for a fingerprint.
fn text_of(page: &ExtractedPage) -> PageText<'_> {
    let title = page.extraction.metadata.title.as_deref();
    // plain text comes without a frame
    let extracted = page.extraction.extractor != Extractor::BodyFallback;
    PageText { content: &page.extraction.content, url: page.final_url.as_str(), title, extracted }
}

/// Returns the lease that settles a page.
#[must_use]
pub fn lease_of(page: &CleanPage) -> LeaseRef {
    (&page.page.request).into()
}
