//! Alternatives to the requested page: the AMP page, or the page for a mobile client.

use super::{Answer, Visit, ends::spread};
use crate::{
    context::{Context, OriginFiles},
    network::Network,
    opt_outs::OptOutsUnknown,
    stage_error::StageError,
    strategies::PartialResult,
};
use crawl_fetch::{Fetched, RetryCause, domain};
use crawl_model::{HostKey, Origin, Outcome, Stage, Strategy, now_ms};
use std::time::Duration;
use url::Url;

/// Maximum wait for the turn at another host, with the place held.
const TURN: Duration = Duration::from_secs(5);
/// Hops of an AMP or a mobile page.
const MAX_HOPS: usize = 5;

impl Visit<'_> {
    /// Fetches the alternative, which replaces the page of the requested URL, so its redirects are followed here,
    /// within the site. Each needs its own turn and the permission of its origin.
    pub(super) async fn alternative(mut self, partial: Option<&PartialResult>) -> Result<Answer, StageError> {
        let requested = self.request.url.clone();
        let amp = self.request.strategy == Some(Strategy::Amp);
        if let Some(url) = partial.and_then(PartialResult::amp_url).filter(|_| amp) {
            self.request.url = url.clone();
        }
        for _ in 0..=MAX_HOPS {
            if let Some(answer) = self.check_permission(&requested).await? {
                return Ok(answer);
            }
            if let Some(answer) = self.acquire_slot(&requested).await? {
                return Ok(answer);
            }
            match self.fetch().await {
                Fetched::Page(mut page) => {
                    page.request.url = requested;
                    page.strategy = if amp { Strategy::Amp } else { page.strategy };
                    return Ok(Answer::Page(self.reserved(page)));
                }
                Fetched::Redirect { to, .. } => self.request.url = to,
                Fetched::Skipped { kind, status, wire_bytes, .. } => {
                    self.context.stats.wire_bytes.add(wire_bytes);
                    return Ok(self.end(Outcome::Skipped, kind.name(), Some(status)));
                }
                Fetched::Failed { error, status, retry_after, .. } => {
                    return self.failed(&error, status, retry_after).await;
                }
            }
        }
        let message = format!("more than {MAX_HOPS} redirects, the last one to {}", self.request.url);
        Ok(self.fail(Stage::Fetch, "too_many_redirects", None, message))
    }

    /// Checks that the address of an alternative may be fetched: it has to be of the site, and allowed by its
    /// origin. The requested URL itself has been allowed already.
    async fn check_permission(&mut self, requested: &Url) -> Result<Option<Answer>, StageError> {
        self.alternative_opt_outs = None;
        let url = self.request.url.clone();
        let (Some(origin), Some(host)) = (Origin::of(&url), HostKey::of(&url)) else { return Ok(None) };
        if url == *requested {
            return Ok(None);
        }
        if self.is_excluded() {
            return Ok(Some(self.end(Outcome::Skipped, "excluded", None)));
        }
        let same_site = domain(&url).is_some() && domain(&url) == domain(requested);
        if !same_site && !self.context.admission.links.in_scope(&url) {
            let message = format!("the redirect leads to another site, {url}");
            return Ok(Some(self.fail(Stage::Robots, "robots_disallowed", None, message)));
        }
        if Origin::of(requested).as_ref() != Some(&origin) {
            // the files of another origin are requested in turns of their own
            self.give_back_slot();
        }
        let Context { config, network, compute, origins: OriginFiles { robots, opt_outs }, .. } =
            &**self.context;
        let Network { client, gate, .. } = network;
        let looked = match config.crawl.obey_robots {
            true => Some(robots.lookup(&origin, &compute.storage, client, gate, &mut None, now_ms()).await?),
            false => None,
        };
        let policy = looked.as_ref().map(|looked| &looked.robots.policy);
        if let (Some(looked), Some(policy)) = (&looked, policy) {
            if policy.is_unreachable() {
                return self.robots_unreachable(&looked.robots).await.map(Some);
            }
            if let Some(delay) = policy.crawl_delay() {
                gate.set_crawl_delay(&host, delay);
            }
            if let Some(answer) = self.forbidden(policy, &origin) {
                return Ok(Some(answer));
            }
        }
        if config.crawl.ai_optout_files {
            match opt_outs.files(network, &origin, policy, &mut None).await {
                Ok(files) => self.alternative_opt_outs = Some(files),
                Err(OptOutsUnknown::Wait(wait)) => {
                    return self.requeue(spread(wait), self.request.attempt).await.map(Some);
                }
                Err(OptOutsUnknown::Local(error)) => {
                    return self.requeue_after_local_failure(&error).await.map(Some);
                }
            }
        }
        Ok(None)
    }

    /// Acquires the slot of the host of the current URL: that of the lease for the page's own host, else a new one.
    async fn acquire_slot(&mut self, requested: &Url) -> Result<Option<Answer>, StageError> {
        let (here, there) = (HostKey::of(requested), HostKey::of(&self.request.url));
        let Some(there) = there.filter(|_| self.slot.is_none() || here != HostKey::of(&self.request.url))
        else {
            return Ok(None);
        };
        self.give_back_slot();
        match self.context.network.gate.acquire_within(&there, TURN).await {
            Ok(slot) => {
                self.slot = Some(slot);
                Ok(None)
            }
            Err(_) => {
                let attempts = self.request.attempt + 1;
                match self.context.network.retry.decide(attempts, RetryCause::NoOutcome) {
                    Some(pause) => self.requeue(spread(pause), attempts).await.map(Some),
                    None => Ok(Some(self.fail(
                        Stage::Fetch,
                        "timeout",
                        None,
                        format!("no free turn at {there} in time"),
                    ))),
                }
            }
        }
    }
}
