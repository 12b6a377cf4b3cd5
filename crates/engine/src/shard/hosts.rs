//! Hosts of a shard: their state in memory, in the store, or rebuilt from their held pages.

use super::Shard;
use crate::{
    context::Context,
    host_state::{self, Unsettled},
    soft404::{ErrorPageProfile, PROBED_SECTIONS},
    stage_error::StageError,
};
use crawl_dedup::{Fingerprint, HostStream, Release};
use crawl_model::{ExtractedPage, HostKey, StoreError};

/// Hosts whose state is kept in memory; those that were idle longest go to the store.
const MAX_HOSTS: usize = 4_096;
/// Bytes of fingerprints that are kept in memory by all shards together; a shard keeps one host at least.
const MAX_BYTES: usize = 256 << 20;
/// Share of new pages since the last time after which a settled host's running counts are saved. The cost of
/// saving stays a constant share of the work. A host that settled early is saved at first whenever its pages
/// have doubled.
const SAVE_EVERY_SHARE: u64 = 4;
const SAVE_EVERY_AT_LEAST: u64 = 512;

pub(super) struct Host {
    /// Names of held pages are their orders in the store.
    pub(super) stream: HostStream<i64>,
    /// Fingerprint of earlier rounds, until the pages of this one have settled.
    pub(super) kept: Option<Fingerprint>,
    /// Pages of earlier rounds that wait in the stream, since they have changed.
    pub(super) changed: u64,
    /// The pages of this round have replaced what was kept.
    pub(super) rebuilt: bool,
    pub(super) error_profile: ErrorPageProfile,
    pub(super) saved_at_pages: u64,
    /// The order of the last held page that was counted.
    pub(super) through: i64,
    pub(super) used: u64,
    /// Bytes of the fingerprint as last noted.
    pub(super) bytes: usize,
}

impl Host {
    /// A host whose pages the stream has counted.
    pub(super) fn new(stream: HostStream<i64>, error_profile: ErrorPageProfile) -> Self {
        Self {
            saved_at_pages: stream.fingerprint().state().pages(),
            stream,
            error_profile,
            kept: None,
            changed: 0,
            rebuilt: false,
            through: 0,
            used: 0,
            bytes: 0,
        }
    }
}

impl Host {
    /// Returns true if a page of a host that releases early has to wait for the host's answer to a probe.
    pub(super) fn waits_for_probe(&self, context: &Context, page: &ExtractedPage) -> bool {
        let (dedup, crawl) = (&context.config.dedup, &context.config.crawl);
        let early = dedup.release == Release::Early && !self.stream.is_complete();
        early && crawl.soft404 && self.error_profile.is_open(page, PROBED_SECTIONS)
    }
}

impl Shard {
    /// The state of a host: from memory, else from the store, else from the pages that are held of it.
    pub(super) fn host(&mut self, host: &HostKey) -> Result<&mut Host, StageError> {
        self.clock += 1;
        if !self.hosts.contains_key(host) {
            let state = self.load(host)?;
            self.hosts.insert(host.clone(), state);
            self.note_bytes(host);
        }
        let clock = self.clock;
        let state = self.loaded(host)?;
        state.used = clock;
        Ok(state)
    }

    /// The state of a host that is in memory.
    pub(super) fn loaded(&mut self, host: &HostKey) -> Result<&mut Host, StageError> {
        let missing = || StoreError::Other(format!("no state of {host} is in memory"));
        Ok(self.hosts.get_mut(host).ok_or_else(missing)?)
    }

    pub(super) fn save_if_due(&mut self, host: &HostKey) -> Result<(), StageError> {
        let Some(state) = self.hosts.get_mut(host) else { return Ok(()) };
        let pages = state.stream.fingerprint().state().pages();
        let saved = state.saved_at_pages;
        let due = (saved / SAVE_EVERY_SHARE).max(SAVE_EVERY_AT_LEAST.min(saved));
        if pages - saved >= due { save(&self.context, host, state) } else { Ok(()) }
    }

    /// Makes room for the hosts of the next page.
    pub(super) async fn make_room(&mut self) -> Result<(), StageError> {
        let most = MAX_BYTES / self.context.config.dedup.shards.max(1);
        let full = self.hosts.len() >= MAX_HOSTS || (self.host_bytes > most && self.hosts.len() > 1);
        if full { self.evict().await } else { Ok(()) }
    }

    /// Notes how large a host's fingerprint has become.
    pub(super) fn note_bytes(&mut self, host: &HostKey) {
        let Some(state) = self.hosts.get_mut(host) else { return };
        let now = state.stream.fingerprint().bytes() + state.kept.as_ref().map_or(0, Fingerprint::bytes);
        self.host_bytes = (self.host_bytes + now).saturating_sub(state.bytes);
        state.bytes = now;
    }

    /// Drops a host's state from memory.
    fn remove(&mut self, host: &HostKey) -> Option<Host> {
        let state = self.hosts.remove(host)?;
        self.host_bytes = self.host_bytes.saturating_sub(state.bytes);
        Some(state)
    }

    /// Drops the state of a host that another process has.
    pub(super) fn forget(&mut self, host: &HostKey) {
        self.remove(host);
    }

    /// Drops the state of a host that a page may have left half changed: it is made again from the held pages. That of a
    /// settled host stays, since the pages that wait for it are known to it alone.
    pub(super) fn forget_unsettled(&mut self, host: &HostKey) -> Result<(), StageError> {
        if self.hosts.get(host).is_some_and(|state| !state.stream.fingerprint().state().is_settled()) {
            self.remove(host);
            self.context.store.save_unsettled(host, None)?;
        }
        Ok(())
    }

    /// Evicts the quarter of the hosts that were idle longest. The fingerprint of an unsettled one is saved
    /// beside its held pages. The waiting pages of a settled one are released.
    pub(super) async fn evict(&mut self) -> Result<(), StageError> {
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
                self.release(&host, true, &due).await?;
            }
            if let Some(mut state) = self.remove(&host) {
                if state.stream.fingerprint().state().is_settled() {
                    save_news(&self.context, &host, &mut state)?;
                } else {
                    save_unsettled(&self.context, &host, &mut state)?;
                }
            }
        }
        Ok(())
    }
}

/// Saves the state of a host that is not settled, with the pages that wait for it, if the store does not know it.
fn save_unsettled(context: &Context, host: &HostKey, state: &mut Host) -> Result<(), StageError> {
    let news = state.error_profile.take_changed();
    if news || state.stream.fingerprint().state().pages() != state.saved_at_pages {
        let notes = Unsettled {
            error_profile: &state.error_profile,
            changed: state.changed,
            through: state.through,
            waiting: state.stream.waiting_pages(),
        };
        context.store.save_unsettled(host, Some(&host_state::encode_unsettled(&notes, &state.stream)?))?;
    }
    Ok(())
}

/// Saves the state of a host, if the store does not have it.
pub(super) fn save_news(context: &Context, host: &HostKey, state: &mut Host) -> Result<(), StageError> {
    let counted = state.stream.fingerprint().state();
    let grown = counted.is_settled() && counted.pages() != state.saved_at_pages;
    if state.error_profile.take_changed() || grown { save(context, host, state) } else { Ok(()) }
}

pub(super) fn save(context: &Context, host: &HostKey, state: &mut Host) -> Result<(), StageError> {
    if state.kept.is_some() {
        // the state of earlier rounds stays until its replacement is settled
        return Ok(());
    }
    let fingerprint = state.stream.fingerprint();
    let counted = fingerprint.state();
    let settled = counted.is_settled();
    state.saved_at_pages = counted.pages();
    state.error_profile.take_changed();
    let fingerprint = settled.then_some(state.stream.fingerprint());
    let rebuilt = state.rebuilt;
    Ok(context.store.save_host(host, &host_state::encode(&state.error_profile, rebuilt, fingerprint)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config, session};
    use crawl_dedup::FingerprintSettings;
    use crawl_model::Frontier;
    use crawl_store::MemoryStore;
    use std::sync::Arc;
    use url::Url;

    /// A host that is idle among thousands of others is evicted to the store with its whole state.
    #[tokio::test]
    async fn evicted_host_keeps_its_error_page_profile() {
        let config = config::load(None, std::iter::empty(), Vec::new()).unwrap();
        let settings = FingerprintSettings::new(0.7, 5, 50).unwrap();
        let mode = config.dedup.mode;
        let store = Arc::new(MemoryStore::new());
        store.begin_round().unwrap();
        let context = Arc::new(session::context(config, store).unwrap());
        let (finished, _kept) = tokio::sync::mpsc::channel(1);
        let mut shard = Shard::new(context, 0, (mode, settings), finished);
        let key = HostKey::from_stored("h.test");
        let url = |path: &str| Url::parse(&format!("http://h.test{path}")).unwrap();
        let text =
            "The gulls have taken it, which happens to the best of shops: have a look at the offers instead.";
        shard.host(&key).unwrap().error_profile.observe_text(text, &url("/nowhere"));
        shard.evict().await.unwrap();
        assert!(shard.hosts.is_empty());
        let error_profile = &shard.host(&key).unwrap().error_profile;
        assert!(
            error_profile.matches(text, &url("/gone"))
                && !error_profile.matches("Words of a page.", &url("/page"))
        );
    }
}
