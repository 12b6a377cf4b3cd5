//! Fingerprints kept from earlier rounds.
//!
//! The fingerprint of the previous round is kept. A known page is already counted in it, so it is cleaned without
//! being counted again. Otherwise the lines of a page that changes every night would become boilerplate. New pages
//! are counted. The first pages of a host are held as in a first round: if the site was rebuilt, the kept fingerprint
//! does not fit them.

use super::{Shard, hosts::Host, ready::Claim, text_of};
use crate::{
    context::Context, finished::Finished, host_state, page_work, recrawl, revisit, soft404::ErrorPageProfile,
    stage_error::StageError,
};
use crawl_dedup::{Fingerprint, HostStream, Novelty, Release};
use crawl_model::{ExtractedPage, HostKey, RulesVersion, Stage, TextHash};
use std::sync::Arc;

/// The saved state of a host.
#[derive(Default)]
struct Saved {
    error_profile: ErrorPageProfile,
    rebuilt: bool,
    fingerprint: Option<Fingerprint>,
}

/// Returns true if a page was counted in the fingerprint of earlier rounds.
pub(super) fn is_counted(context: &Context, page: &ExtractedPage) -> bool {
    let before = page.request.before.as_deref();
    before.is_some_and(|before| context.recrawl.reads_as(before))
}

impl Host {
    /// Returns true if a page is cleaned without being counted.
    pub(super) fn cleans_without_counting(&self, context: &Context, page: &ExtractedPage) -> bool {
        !self.rebuilt && self.stream.fingerprint().state().is_settled() && is_counted(context, page)
    }

    /// Returns true if enough pages of the host have changed for a new fingerprint. The threshold is
    /// `dedup.threshold_pct`, the share of pages that must contain a boilerplate block.
    fn is_rebuilt(&self, context: &Context, host: &HostKey, kept: &Fingerprint) -> bool {
        let dedup = &context.config.dedup;
        let (changed, unchanged) = (self.changed, context.recrawl.unchanged_pages(host));
        let share = |all: u64| changed as f64 >= dedup.threshold_pct * all as f64;
        let enough = changed >= dedup.min_pages as u64;
        // the number of all pages is only known at the end of a whole round
        let seen = changed + unchanged;
        enough && (share(seen.max(kept.state().pages())) || (context.recrawl.whole && share(seen)))
    }
}

impl Shard {
    /// Returns true if a page has the same content as before, read by the same rules. Such a page is not written.
    pub(super) fn is_unchanged(&self, page: &ExtractedPage, claim: Claim) -> bool {
        let before = page.request.before.as_deref();
        !self.context.recrawl.writes_unchanged(&page.request)
            && before.is_some_and(|before| before.content_hash == claim.hash)
            && is_counted(&self.context, page)
    }

    /// Ends an unchanged page.
    pub(super) async fn unchanged(
        &self,
        page: &ExtractedPage,
        claim: Claim,
        text: Option<TextHash>,
    ) -> Result<(), StageError> {
        let end = self.unchanged_end(page, claim, text);
        self.finished.send(end).await.map_err(|_| StageError::Downstream)
    }

    /// Returns the end of an unchanged page; `text` is the hash of its text if it was cleaned.
    pub(super) fn unchanged_end(
        &self,
        page: &ExtractedPage,
        claim: Claim,
        text: Option<TextHash>,
    ) -> Finished {
        let text = text.or(page.request.before.as_deref().and_then(|before| before.text_hash));
        let mut history = revisit::history(&self.context, page, claim.hash, text);
        if page.request.before.as_deref().is_some_and(recrawl::is_unwritten) {
            history.rules = Some(RulesVersion::UNWRITTEN);
        }
        revisit::unchanged(&self.context, page.request.clone(), history)
    }

    /// Loads the state of a host: that of this round, or that of an earlier round with the held pages of this one.
    pub(super) fn load(&mut self, host: &HostKey) -> Result<Host, StageError> {
        let policy = self.context.config.dedup.hold_policy();
        let now = self.read_saved(host, self.context.store.load_host(host)?);
        let earlier = match &now {
            None => self.read_saved(host, self.context.store.load_earlier_host(host)?),
            Some(_) => None,
        };
        let Saved { error_profile, rebuilt, fingerprint } = now.unwrap_or_default();
        if let Some(fingerprint) = fingerprint {
            let stream = HostStream::new(fingerprint, policy);
            return Ok(Host { rebuilt, ..Host::new(stream, error_profile) });
        }
        let saved = self.read_unsettled(host)?;
        let was_saved = saved.is_some();
        let mut state = match saved {
            Some(state) => state,
            None => {
                Host::new(HostStream::new(Fingerprint::new(self.mode, self.settings), policy), error_profile)
            }
        };
        if let Some(Saved { error_profile, fingerprint, .. }) = earlier {
            if !was_saved {
                state.error_profile = error_profile;
            }
            state.kept = fingerprint;
        }
        self.count_held(host, state)
    }

    /// Counts the held pages that a host's state does not include. If a page makes counting panic, it fails, and the
    /// others are counted again.
    fn count_held(&mut self, host: &HostKey, mut state: Host) -> Result<Host, StageError> {
        let after = state.through;
        let mut failed = false;
        self.each_held(host, after, |shard, held| {
            let text = text_of(&held.page);
            let count = || {
                let read = state.stream.fingerprint().read(&text);
                state.stream.observe(&text, &read);
                state.stream.hold(&text, &read, held.order);
            };
            if let Err(panicked) = page_work::guarded(Stage::Dedup, &held.page.request, count) {
                failed = true;
                shard.context.stats.released.add(1);
                shard.failed.insert(held.page.request.id.0);
                let status = Some(held.page.status);
                shard.ends.push(page_work::ended(Stage::Dedup, &held.page.request, status, &panicked));
            }
            state.through = held.order;
            state.changed += u64::from(is_counted(&shard.context, &held.page));
            Ok(())
        })?;
        if !failed {
            return Ok(state);
        }
        self.context.store.save_unsettled(host, None)?;
        let fingerprint = Fingerprint::new(self.mode, self.settings);
        let stream = HostStream::new(fingerprint, self.context.config.dedup.hold_policy());
        let again = Host { kept: state.kept, ..Host::new(stream, state.error_profile) };
        self.count_held(host, again)
    }

    /// The state of a host as it was saved before it settled.
    fn read_unsettled(&self, host: &HostKey) -> Result<Option<Host>, StageError> {
        let Some(saved) = self.context.store.load_unsettled(host)? else { return Ok(None) };
        let read = host_state::decode_unsettled(&saved).and_then(|(notes, bytes)| {
            let fingerprint = Fingerprint::from_bytes(self.mode, bytes, self.settings).ok()?;
            let policy = self.context.config.dedup.hold_policy();
            let stream = HostStream::with_waiting(fingerprint, policy, notes.waiting);
            let (changed, through) = (notes.changed, notes.through);
            Some(Host { changed, through, ..Host::new(stream, notes.error_profile) })
        });
        if read.is_none() {
            tracing::debug!(%host, "its pages are counted again: they were counted otherwise");
        }
        Ok(read)
    }

    /// Decodes the saved state of a host: the fingerprint only if it was settled then.
    fn read_saved(&self, host: &HostKey, saved: Option<Vec<u8>>) -> Option<Saved> {
        let saved = saved?;
        let Some((error_profile, rebuilt, bytes)) = host_state::decode(&saved) else {
            tracing::warn!(%host, "the saved state is unusable: it is learned again");
            return None;
        };
        if bytes.is_empty() {
            return Some(Saved { error_profile, ..Saved::default() });
        }
        let fingerprint = Fingerprint::from_bytes(self.mode, bytes, self.settings).inspect_err(|error| {
            tracing::warn!(%host, %error, "the saved fingerprint is unusable: it is learned again");
        });
        Some(Saved { error_profile, rebuilt, fingerprint: fingerprint.ok() })
    }

    /// Chooses between the settled fingerprint of this round and that of earlier rounds. Returns the orders of the
    /// pages to release: `due` if no earlier fingerprint was kept.
    pub(super) fn choose_fingerprint(
        &mut self,
        host: &HostKey,
        due: Vec<i64>,
    ) -> Result<Vec<i64>, StageError> {
        let context = Arc::clone(&self.context);
        let state = self.loaded(host)?;
        let Some(kept) = state.kept.take() else { return Ok(due) };
        if state.is_rebuilt(&context, host, &kept) {
            tracing::info!(%host, changed = state.changed, "most pages of the host have changed: its boilerplate is learned again");
            state.rebuilt = true;
            return Ok(due);
        }
        self.adopt(host, kept)
    }

    /// For early release: decides from `min_pages` pages of this round if the site was rebuilt. It was if most of
    /// their common text was rare before. Drops the kept fingerprint of a rebuilt site; else adopts it and returns
    /// the orders of the pages to release.
    pub(super) fn choose_at_early_release(&mut self, host: &HostKey) -> Result<Vec<i64>, StageError> {
        let early = self.context.config.dedup.release == Release::Early;
        let state = self.loaded(host)?;
        let enough = state.stream.fingerprint().state().has_enough_pages();
        if !early || !enough || state.stream.fingerprint().state().is_settled() || state.kept.is_none() {
            return Ok(Vec::new());
        }
        let novelty = self.novelty(host)?;
        let state = self.loaded(host)?;
        let Some(kept) = state.kept.take() else { return Ok(Vec::new()) };
        if novelty.is_redesign() {
            let Novelty { common, unknown } = novelty;
            tracing::info!(%host, common, unknown, "the pages of the host have another template: its boilerplate is learned again");
            state.rebuilt = true;
            return Ok(Vec::new());
        }
        self.adopt(host, kept)
    }

    /// Compares the common text of a host's held pages with the counts of earlier rounds.
    fn novelty(&mut self, host: &HostKey) -> Result<Novelty, StageError> {
        let mut all = Novelty::default();
        self.each_held(host, 0, |shard, held| {
            let Some(state) = shard.hosts.get(host) else { return Ok(()) };
            let Some(kept) = &state.kept else { return Ok(()) };
            let text = text_of(&held.page);
            let fingerprint = state.stream.fingerprint();
            // a page that panics here fails when it is cleaned
            let novelty = page_work::guarded(Stage::Dedup, &held.page.request, || {
                fingerprint.novelty(kept, &text, &fingerprint.read(&text))
            });
            all += novelty.unwrap_or_default();
            Ok(())
        })?;
        Ok(all)
    }

    /// Adopts the kept fingerprint of a host and counts its new held pages in it. Returns the orders of the held
    /// pages.
    fn adopt(&mut self, host: &HostKey, kept: Fingerprint) -> Result<Vec<i64>, StageError> {
        let context = Arc::clone(&self.context);
        let (mut fingerprint, mut orders) = (kept, Vec::new());
        self.each_held(host, 0, |shard, held| {
            let count = || {
                let text = text_of(&held.page);
                let read = fingerprint.read(&text);
                fingerprint.observe(&text, &read);
            };
            let counted = is_counted(&context, &held.page);
            let request = &held.page.request;
            if !counted && let Err(panicked) = page_work::guarded(Stage::Dedup, request, count) {
                context.stats.released.add(1);
                shard.failed.insert(request.id.0);
                shard.ends.push(page_work::ended(Stage::Dedup, request, Some(held.page.status), &panicked));
                return Ok(());
            }
            orders.push(held.order);
            Ok(())
        })?;
        self.loaded(host)?.stream = HostStream::new(fingerprint, context.config.dedup.hold_policy());
        Ok(orders)
    }
}
