//! Hosts of a shard. Their state is in memory, in the store, or rebuilt from held pages.

use super::Shard;
use crate::{
    context::Context,
    host_state::{self, Unsettled},
    soft404::{ErrorPageProfile, PROBED_SECTIONS},
    stage_error::StageError,
};
use crawl_dedup::{Fingerprint, HostStream, Release};
use crawl_model::{ExtractedPage, HostKey, StoreError};

/// Maximum number of hosts in memory. The longest idle ones are evicted to the store.
const MAX_HOSTS: usize = 4_096;
/// Maximum bytes of fingerprints in memory, for all shards together. Each shard keeps at least one host.
const MAX_BYTES: usize = 256 << 20;
/// Divisor of a settled host's pages: the host is saved again after that many new pages. So saving costs a constant
/// share of the work. A host with few pages is saved when their number has doubled.
const SAVE_EVERY_SHARE: u64 = 4;
const SAVE_EVERY_AT_LEAST: u64 = 512;

pub(super) struct Host {
    /// Pages of the host; held pages are identified by their orders in the store.
    pub(super) stream: HostStream<i64>,
    /// Fingerprint of earlier rounds, until this round's fingerprint settles.
    pub(super) kept: Option<Fingerprint>,
    /// Number of changed pages of earlier rounds that wait in the stream.
    pub(super) changed: u64,
    /// True if the pages of this round have replaced the kept fingerprint.
    pub(super) rebuilt: bool,
    pub(super) error_profile: ErrorPageProfile,
    pub(super) saved_at_pages: u64,
    /// Order of the last counted held page.
    pub(super) through: i64,
    pub(super) used: u64,
    /// Bytes of the fingerprint at the last measurement.
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
    /// Returns true if a page has to wait for the host's answer to a probe, in the mode of early release.
    pub(super) fn waits_for_probe(&self, context: &Context, page: &ExtractedPage) -> bool {
        let (dedup, crawl) = (&context.config.dedup, &context.config.crawl);
        let early = dedup.release == Release::Early && !self.stream.is_complete();
        early && crawl.soft404 && self.error_profile.is_open(page, PROBED_SECTIONS)
    }
}

impl Shard {
    /// The state of a host: from memory, else from the store, else from its held pages.
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

    /// Evicts hosts if a limit is reached, before the next page.
    pub(super) async fn make_room(&mut self) -> Result<(), StageError> {
        let most = MAX_BYTES / self.context.config.dedup.shards.max(1);
        let full = self.hosts.len() >= MAX_HOSTS || (self.host_bytes > most && self.hosts.len() > 1);
        if full { self.evict().await } else { Ok(()) }
    }

    /// Updates the size of a host's fingerprint.
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

    /// Drops the state of a host that another process has taken over.
    pub(super) fn forget(&mut self, host: &HostKey) {
        self.remove(host);
    }

    /// Drops the state of a host after a page failed while it was counted. The state is rebuilt from the held pages.
    /// The state of a settled host stays, since only it knows which pages wait.
    pub(super) fn forget_unsettled(&mut self, host: &HostKey) -> Result<(), StageError> {
        if self.hosts.get(host).is_some_and(|state| !state.stream.fingerprint().state().is_settled()) {
            self.remove(host);
            self.context.store.save_unsettled(host, None)?;
        }
        Ok(())
    }

    /// Evicts the longest idle quarter of the hosts. Saves the fingerprints of unsettled hosts and releases the
    /// waiting pages of settled ones.
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
                    save_if_changed(&self.context, &host, &mut state)?;
                } else {
                    save_unsettled(&self.context, &host, &mut state)?;
                }
            }
        }
        Ok(())
    }
}

/// Saves the state of an unsettled host with its waiting pages, if it has changed.
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

/// Saves the state of a host if it has changed.
pub(super) fn save_if_changed(context: &Context, host: &HostKey, state: &mut Host) -> Result<(), StageError> {
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
