//! The hosts of a shard: their state in memory, in the store, or made anew from the pages that are held of them.

use super::{Shard, text_of};
use crate::{
    context::{Context, StageError},
    host_state,
    soft404::Witness,
};
use crawl_dedup::{Fingerprint, HostStream};
use crawl_model::{HostKey, StoreError};

/// Hosts whose state is kept in memory; the one that was idle longest goes to the store.
const MAX_HOSTS: usize = 4_096;
/// A settled host's running counts are saved when this share of pages has come since the last time, so that the cost of
/// saving stays a constant share of the work.
const SAVE_EVERY_SHARE: u64 = 8;
const SAVE_EVERY_AT_LEAST: u64 = 256;

pub(super) struct Host {
    /// Names of held pages are their orders in the store.
    pub(super) stream: HostStream<i64>,
    pub(super) witness: Witness,
    saved_at_pages: u64,
    used: u64,
}

impl Shard {
    /// The state of a host: from memory, else from the store, else from the pages that are held of it.
    pub(super) fn host(&mut self, host: &HostKey) -> Result<&mut Host, StageError> {
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

    pub(super) fn save_now_and_then(&mut self, host: &HostKey) -> Result<(), StageError> {
        let Some(state) = self.hosts.get_mut(host) else { return Ok(()) };
        let pages = state.stream.fingerprint().state().pages();
        let due = (state.saved_at_pages / SAVE_EVERY_SHARE).max(SAVE_EVERY_AT_LEAST);
        if pages - state.saved_at_pages >= due { save(&self.context, host, state) } else { Ok(()) }
    }

    /// Drops the quarter of the hosts that were idle longest. The fingerprints of unsettled ones need no saving: their
    /// pages are held. What waits of a settled one is let go.
    pub(super) fn evict(&mut self) -> Result<(), StageError> {
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
}

/// Saves what is known of a host, if the store does not know it.
pub(super) fn save_news(context: &Context, host: &HostKey, state: &mut Host) -> Result<(), StageError> {
    let counted = state.stream.fingerprint().state();
    let grown = counted.is_settled() && counted.pages() != state.saved_at_pages;
    if state.witness.take_news() || grown { save(context, host, state) } else { Ok(()) }
}

pub(super) fn save(context: &Context, host: &HostKey, state: &mut Host) -> Result<(), StageError> {
    let fingerprint = state.stream.fingerprint();
    let counted = fingerprint.state();
    let bytes = if counted.is_settled() { fingerprint.to_bytes() } else { Vec::new() };
    state.saved_at_pages = counted.pages();
    state.witness.take_news();
    Ok(context.store.save_host(host, &host_state::encode(&state.witness, &bytes)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config, run};
    use crawl_dedup::FingerprintSettings;
    use crawl_model::Frontier;
    use crawl_store::MemoryStore;
    use rustc_hash::FxHashMap;
    use std::sync::Arc;
    use url::Url;

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
