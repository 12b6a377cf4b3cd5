//! Permission to fetch a URL: robots.txt and the opt-out files of its origin, which are fetched first.

use super::{Answer, Visit, ends::spread};
use crate::{
    context::{Context, OriginFiles},
    finished::Finished,
    network::Network,
    opt_outs::OptOutsUnknown,
    robots_cache::{Robots, RobotsFollowUp},
    sitemaps,
    stage_error::StageError,
};
use crawl_fetch::{HostSlot, RetryCause, RobotsPolicy, SlotOutcome};
use crawl_model::{HostKey, Origin, Stage, now_ms};
use std::{sync::Arc, time::Duration};

/// Crawl-delay from which a robots.txt counts as disallowing all. The parser cuts longer delays to this one.
const LONGEST_CRAWL_DELAY: Duration = Duration::from_secs(86_400);

impl Visit<'_> {
    /// Resolves the host's address before the first request to it, since hosts on one address share a limit. If the
    /// address has no turn now, the URL is requeued with the address known.
    pub(super) async fn locate(&mut self) -> Result<Option<Answer>, StageError> {
        let Some(host) = HostKey::of(&self.request.url) else { return Ok(None) };
        let Network { client, gate, .. } = &self.context.network;
        if !gate.needs_address(&host) {
            return Ok(None);
        }
        let located = client.locate(&self.request.url).await;
        if located.is_ok() && self.slot.as_mut().is_none_or(|slot| gate.begin_at_address(slot)) {
            return Ok(None);
        }
        match (located, self.slot.take()) {
            (Ok(()), slot) => {
                slot.into_iter().for_each(HostSlot::give_back);
                self.requeue(Duration::ZERO, self.request.attempt).await.map(Some)
            }
            (Err(error), slot) => {
                let outcome = SlotOutcome { unanswered: error.is_unanswered(), ..SlotOutcome::default() };
                slot.into_iter().for_each(|slot| slot.finish(outcome));
                self.failed(&error, None, None).await.map(Some)
            }
        }
    }

    /// Checks robots.txt. `None` permits the request. If fetching the file used up the host's slot, the URL is
    /// requeued.
    pub(super) async fn ask_robots(&mut self) -> Result<Option<Answer>, StageError> {
        let Some(origin) = Origin::of(&self.request.url) else { return Ok(None) };
        let Some(host) = HostKey::of(&self.request.url) else { return Ok(None) };
        let Context { compute, network: Network { client, gate, .. }, origins, .. } = &**self.context;
        let storage = &compute.storage;
        let looked = origins.robots.lookup(&origin, storage, client, gate, &mut self.slot, now_ms()).await?;
        self.robots = Some(Arc::clone(&looked.robots));
        let (policy, follow_up) = (&looked.robots.policy, looked.claim_follow_up());
        if let Some(delay) = policy.crawl_delay() {
            let cut = gate.set_crawl_delay(&host, delay);
            if follow_up.is_some() {
                // before a page is requested: another process may take the host over at any time
                let (host, pause) = (host.clone(), gate.requested_delay(&host));
                storage.call(move |store| store.note_pause(&host, pause)).await?;
            }
            self.slot.take_if(|slot| slot.is_outdated()).into_iter().for_each(HostSlot::give_back);
            if cut && follow_up.is_some() {
                let most = self.context.config.politeness.max_crawl_delay;
                tracing::warn!(%origin, asked = ?delay, ?most, "robots.txt requests a longer pause; the run waits only politeness.max_crawl_delay");
            }
        }
        if policy.is_unreachable() {
            return self.robots_unreachable(&looked.robots).await.map(Some);
        }
        if looked.drops_delay() && follow_up.is_some() {
            gate.set_crawl_delay(&host, Duration::ZERO);
            let (host, pause) = (host.clone(), gate.requested_delay(&host));
            storage.call(move |store| store.note_pause(&host, pause)).await?;
        }
        // done however this URL ends, since no other URL gets the origin's follow-up
        if follow_up.is_some()
            && self.context.config.crawl.sitemaps
            && self.context.admission.links.in_scope(&self.request.url)
        {
            let (looked, url) = (Arc::clone(&looked.robots), self.request.url.clone());
            let enqueue_of_robots = move |context: &Arc<Context>| {
                sitemaps::enqueue_of_robots(context, looked.policy.sitemaps(), &url)
            };
            self.log_failures(self.in_storage(enqueue_of_robots).await?).await?;
        }
        follow_up.into_iter().for_each(RobotsFollowUp::done);
        if let Some(answer) = self.forbidden(policy, &origin) {
            self.give_back_slot();
            return Ok(Some(answer));
        }
        self.another_turn(&host).await
    }

    /// Requeues the URL if the slot was used for one of the host's files, or was given back.
    async fn another_turn(&self, host: &HostKey) -> Result<Option<Answer>, StageError> {
        if self.slot.is_none() && !self.context.network.gate.delay(host).is_zero() {
            return self.requeue(Duration::ZERO, self.request.attempt).await.map(Some);
        }
        Ok(None)
    }

    /// Returns the refusal of robots.txt, if the URL may not be fetched.
    pub(super) fn forbidden(&self, policy: &RobotsPolicy, origin: &Origin) -> Option<Answer> {
        if let Some(delay) = policy.crawl_delay().filter(|delay| *delay >= LONGEST_CRAWL_DELAY) {
            let message = format!(
                "robots.txt of {origin} requests a pause of {} s between two requests, which counts as disallowing all URLs",
                delay.as_secs()
            );
            return Some(self.fail(Stage::Robots, "crawl_delay", None, message));
        }
        let verdict = policy.verdict(&self.request.url);
        if !verdict.allowed {
            let rule = verdict.rule.unwrap_or_default();
            let line = verdict.line.map_or_else(String::new, |line| format!(" (line {line})"));
            let message = format!("robots.txt of {origin} disallows it by \"{rule}\"{line}");
            return Some(self.fail(Stage::Robots, "robots_disallowed", None, message));
        }
        None
    }

    /// Checks robots.txt for the target of a redirect to the same page, whose URL other rules may match.
    pub(super) async fn forbidden_after_redirect(&self) -> Result<Option<Answer>, StageError> {
        let Some(origin) = Origin::of(&self.request.url).filter(|_| self.context.config.crawl.obey_robots)
        else {
            return Ok(None);
        };
        let Context { compute, network: Network { client, gate, .. }, origins, .. } = &**self.context;
        let looked =
            origins.robots.lookup(&origin, &compute.storage, client, gate, &mut None, now_ms()).await?;
        if looked.robots.policy.is_unreachable() {
            return self.robots_unreachable(&looked.robots).await.map(Some);
        }
        Ok(self.forbidden(&looked.robots.policy, &origin))
    }

    /// Checks the origin's opt-outs. `None` permits the request. If fetching the files used up the host's slot, the
    /// URL is requeued.
    pub(super) async fn ask_opt_outs(&mut self) -> Result<Option<Answer>, StageError> {
        let Some(origin) = Origin::of(&self.request.url) else { return Ok(None) };
        let Some(host) = HostKey::of(&self.request.url) else { return Ok(None) };
        let Context { network, origins: OriginFiles { opt_outs, .. }, .. } = &**self.context;
        // those of this visit: another look may find that they have expired
        let policy = self.robots.as_ref().map(|robots| &robots.policy);
        // a page that has to wait gives up its turn, so that a failing host does not get one request per page
        match opt_outs.files(network, &origin, policy, &mut self.slot).await {
            Ok(files) => self.opt_outs = Some(files),
            Err(OptOutsUnknown::Wait(wait)) => {
                return self.requeue(spread(wait), self.request.attempt).await.map(Some);
            }
            Err(OptOutsUnknown::Local(error)) => {
                return self.requeue_after_local_failure(&error).await.map(Some);
            }
        }
        self.another_turn(&host).await
    }

    /// Fails or retries a URL whose robots.txt is unreachable: nothing is allowed then (RFC 9309 §2.3.1.4). If the
    /// host itself is unreachable, the failure names the host, not robots.txt.
    pub(super) async fn robots_unreachable(&self, robots: &Robots) -> Result<Answer, StageError> {
        if let Some(error) = &robots.error {
            let answer = self.failed(error, None, None).await?;
            return Ok(if error.is_unreachable() { answer } else { as_robots_failure(answer) });
        }
        if self.remaining_pause().is_some() {
            return Ok(self.end_for_given_up_host());
        }
        let attempts = self.request.attempt + 1;
        if let Some(pause) = self.context.network.retry.decide(attempts, RetryCause::NoOutcome) {
            return self.requeue(spread(pause), attempts).await;
        }
        let status = robots.policy.unreachable_status();
        let message = format!(
            "robots.txt answers with status {}, which means that nothing is allowed (RFC 9309)",
            status.unwrap_or_default()
        );
        Ok(self.fail(Stage::Robots, "robots_unreachable", status, message))
    }
}

/// Changes the failure of a page into one of robots.txt.
fn as_robots_failure(mut answer: Answer) -> Answer {
    if let Answer::Finished(Finished::Failed(failed, _)) = &mut answer
        && failed.stage == Stage::Fetch
    {
        failed.stage = Stage::Robots;
        failed.message = format!("robots.txt: {}", failed.message);
    }
    answer
}
