//! Fingerprints kept from earlier rounds.
//!
//! The fingerprint of the round before is kept. A page that is read again has been counted in it and is
//! judged without being counted once more. Otherwise the lines of a page that changes every night would
//! become those of its site. New pages are counted. The host's first pages of the round are held until they
//! settle, as in a first round. If the site was rebuilt, its pages have to be judged by each other.

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
    /// Returns true if a page is judged without being counted.
    pub(super) fn judges_only(&self, context: &Context, page: &ExtractedPage) -> bool {
        !self.rebuilt && self.stream.fingerprint().state().is_settled() && is_counted(context, page)
    }

    /// Returns true if enough pages of the host have changed for a new fingerprint. The threshold
    /// is the share of all pages on which a block has to stand to be boilerplate.
    fn is_rebuilt(&self, context: &Context, host: &HostKey, kept: &Fingerprint) -> bool {
        let dedup = &context.config.dedup;
        let (changed, still) = (self.changed, context.recrawl.unchanged_pages(host));
        let share = |all: u64| changed as f64 >= dedup.threshold_pct * all as f64;
        let enough = changed >= dedup.min_pages as u64;
        // the counts of this process are used until all pages have arrived
        let seen = changed + still;
        enough && (share(seen.max(kept.state().pages())) || (context.recrawl.whole && share(seen)))
    }
}

impl Shard {
    /// Returns true if a page has the same content as before and was read by the same rules: nothing is done
    /// with it.
    pub(super) fn says_the_same(&self, page: &ExtractedPage, claim: Claim) -> bool {
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

    /// The state of a host from the store: of this round, or of an earlier one with the pages that are held in this one.
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

    /// Counts the held pages of a host that its state has not counted yet. One that makes counting panic has failed, and all
    /// are counted again without it.
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

    /// Chooses between the fingerprint of this round's pages, which have settled, and that of earlier rounds.
    /// Returns the orders of the pages that are released, `due` if nothing was kept.
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

    /// Decides with an early release if the site was rebuilt, by `min_pages` of this round: most of what they
    /// share was rare before. The kept fingerprint is dropped then. Returns the orders of the pages that are
    /// let go if it was not.
    pub(super) fn choose_early(&mut self, host: &HostKey) -> Result<Vec<i64>, StageError> {
        let early = self.context.config.dedup.release == Release::Early;
        let state = self.loaded(host)?;
        let enough = state.stream.fingerprint().state().may_judge();
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

    /// Compares the text that the held pages of a host share with the counts of earlier rounds.
    fn novelty(&mut self, host: &HostKey) -> Result<Novelty, StageError> {
        let mut all = Novelty::default();
        self.each_held(host, 0, |shard, held| {
            let Some(state) = shard.hosts.get(host) else { return Ok(()) };
            let Some(kept) = &state.kept else { return Ok(()) };
            let text = text_of(&held.page);
            let fingerprint = state.stream.fingerprint();
            // a page that panics here fails at its judgement
            let novelty = page_work::guarded(Stage::Dedup, &held.page.request, || {
                fingerprint.novelty(kept, &text, &fingerprint.read(&text))
            });
            all += novelty.unwrap_or_default();
            Ok(())
        })?;
        Ok(all)
    }

    /// Adopts the kept fingerprint of a host, and counts the new ones of its held pages in it. Returns the
    /// orders of the held pages.
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
