//! Ends of a visit to a URL: a failure, or a lease returned for a retry.

use super::{Answer, Visit};
use crate::{
    failed_page::failed_page,
    finished::{Finished, seed_of},
    hints,
    links::new_url,
    site_settings::ClaimRefusal,
    soft404,
    stage_error::StageError,
};
use crawl_fetch::{FetchError, RetryCause};
use crawl_model::{Discovery, FailedPage, HostKey, Outcome, PageHistory, Stage, now_ms, random, rfc3339};
use std::time::Duration;
use tokio::time::Instant;

/// Kinds of ends of a seed whose page has another URL.
const SEED_MOVED_KINDS: [&str; 3] = ["redirected", "https_unreachable", "sitemap_seed"];
/// Delay of a URL whose site has as many pages in flight as its limit allows.
const SITE_PAUSE: Duration = Duration::from_secs(2);

impl Visit<'_> {
    /// Ends a URL whose site has reached its page limit. Requeues it while pages in flight may still fail.
    pub(super) async fn end_at_site_limit(mut self, refusal: ClaimRefusal) -> Result<Answer, StageError> {
        self.give_back_slot();
        match refusal {
            ClaimRefusal::Full => Ok(self.end(Outcome::Skipped, "site_limit", None)),
            ClaimRefusal::InFlight => self.requeue(SITE_PAUSE, self.request.attempt).await,
        }
    }

    /// Returns the rest of the requested pause of the host, if it is longer than a run waits.
    pub(super) fn remaining_pause(&self) -> Option<Duration> {
        let until = self.context.network.gate.blocked_until(&HostKey::of(&self.request.url)?)?;
        Some(until.saturating_duration_since(Instant::now()))
    }

    /// The end of a URL whose host gets no further request in this run.
    pub(super) fn end_for_given_up_host(&self) -> Answer {
        let Some(left) = self.remaining_pause() else {
            let message = "the host repeatedly did not answer; its other URLs are not tried in this run";
            return self.fail(Stage::Fetch, "host_dead", None, message.to_owned());
        };
        let until = now_ms().saturating_add(i64::try_from(left.as_millis()).unwrap_or(i64::MAX));
        let message = format!(
            "the host blocks requests until {} by Retry-After, which is longer than politeness.max_retry_after; its \
             URLs are not tried in this run",
            rfc3339(until)
        );
        self.fail(Stage::Fetch, "retry_after", None, message)
    }

    pub(super) async fn failed(
        &self,
        error: &FetchError,
        status: Option<u16>,
        retry_after: Option<Duration>,
    ) -> Result<Answer, StageError> {
        if error.is_local() {
            return self.requeue_after_local_failure(error).await;
        }
        if let Some(answer) = self.fall_back_to_http(error.is_unreachable()).await? {
            return Ok(answer);
        }
        if let Some(answer) = self.missing(status).await? {
            return Ok(answer);
        }
        if self.remaining_pause().is_some() {
            return Ok(self.end_for_given_up_host());
        }
        let attempts = self.request.attempt + 1;
        if self.may_repeat(retry_after)
            && let Some(pause) =
                self.context.network.retry.decide(attempts, RetryCause::Request { error, retry_after })
        {
            tracing::info!(url = %self.request.url, kind = error.kind(), attempts, ?pause, "will be retried");
            return self.requeue(spread(pause), attempts).await;
        }
        let failed = failed_page(&self.request, Stage::Fetch, error.kind(), status, error.to_string());
        let failed = FailedPage { hint: error.hint(), ..failed };
        Ok(Answer::Finished(Finished::Failed(Box::new(failed), self.history(status))))
    }

    /// Requeues the URL after a failure of this machine: the attempt does not count, and all requests pause.
    pub(super) async fn requeue_after_local_failure(&self, error: &FetchError) -> Result<Answer, StageError> {
        // requeued before the run can end, so that the URL is pending
        let met = self.context.network.outage.on_error(error);
        let pause = met.as_ref().copied().unwrap_or_default();
        self.context.network.gate.pause(pause);
        let answer = self.requeue(pause, self.request.attempt).await?;
        met.map(|_| answer)
    }

    /// Returns true if a failed request may be repeated. A sitemap outside of the scope is repeated once, if robots.txt names it
    /// and its host answers with `Retry-After`.
    fn may_repeat(&self, retry_after: Option<Duration>) -> bool {
        let request = &self.request;
        let is_elsewhere = request.discovery == Discovery::SitemapFile
            && !self.context.admission.links.in_scope(&request.url);
        !is_elsewhere
            || (request.attempt == 0
                && retry_after.is_some()
                && self.context.admission.sitemaps.origin(request).1)
    }

    /// Tries http for a bare host that is not reachable by https.
    pub(super) async fn fall_back_to_http(&self, unreachable: bool) -> Result<Option<Answer>, StageError> {
        let request = &self.request;
        // a failure of the AMP or mobile page says nothing about https
        if self.was_tried
            || !(unreachable && request.discovery == Discovery::BareSeed && request.url.scheme() == "https")
        {
            return Ok(None);
        }
        let mut url = request.url.clone();
        let (Ok(()), Some(host)) = (url.set_scheme("http"), HostKey::of(&url)) else { return Ok(None) };
        tracing::info!(url = %request.url, "not reachable with https, trying http");
        self.extend_scope(&url).await?;
        let url = new_url(url, host, request.depth, Discovery::Seed);
        self.enqueue(url, self.context.recrawl.revisits_seeds()).await?;
        Ok(Some(self.end(Outcome::Redirected, "https_unreachable", None)))
    }

    pub(super) async fn requeue(&self, wait: Duration, attempt: u32) -> Result<Answer, StageError> {
        let due = now_ms().saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX));
        let (lease, strategy) = ((&self.request).into(), self.request.strategy);
        let _call = self.calls.begin();
        super::requeue(self.context, lease, due, attempt, strategy).await?;
        Ok(Answer::Requeued)
    }

    pub(super) fn history(&self, status: Option<u16>) -> Box<PageHistory> {
        Box::new(PageHistory { status, fetched_at_ms: Some(now_ms()), ..PageHistory::default() })
    }

    pub(super) fn end(&self, outcome: Outcome, kind: &'static str, status: Option<u16>) -> Answer {
        Answer::Finished(Finished::Other {
            lease: (&self.request).into(),
            outcome,
            kind,
            history: self.history(status),
            seed: seed_of(&self.request).filter(|_| !SEED_MOVED_KINDS.contains(&kind)),
            left_out: hints::left_out(kind).map(|_| self.request.url.as_str().into()),
        })
    }

    /// Returns true if `exclude` names the URL. Sitemaps, feeds and probes are left out only with their whole host: a
    /// pattern for pages may match them by chance.
    pub(super) fn is_excluded(&self) -> bool {
        let (links, url) = (&self.context.admission.links, &self.request.url);
        let is_page = self.request.discovery != Discovery::SitemapFile && !soft404::is_probe(&self.request);
        let is_host_excluded = || url.join("/").is_ok_and(|root| links.is_excluded(&root));
        links.is_excluded(url) && (is_page || is_host_excluded())
    }

    /// Ends the visit without a request. The results of earlier visits stay.
    pub(super) fn leave_out(mut self) -> Answer {
        self.give_back_slot();
        if soft404::is_probe(&self.request) {
            return Answer::Finished(soft404::end(&self.request, None));
        }
        Answer::Finished(Finished::Other {
            lease: (&self.request).into(),
            outcome: Outcome::Skipped,
            kind: "excluded",
            history: Box::default(),
            seed: seed_of(&self.request),
            left_out: None,
        })
    }

    pub(super) fn fail(
        &self,
        stage: Stage,
        kind: &'static str,
        status: Option<u16>,
        message: String,
    ) -> Answer {
        let failed = failed_page(&self.request, stage, kind, status, message);
        Answer::Finished(Finished::Failed(Box::new(failed), self.history(status)))
    }
}

/// Lengthens a pause by a random part of up to a quarter, so that URLs that failed together do not retry together.
pub(super) fn spread(pause: Duration) -> Duration {
    let random = u32::try_from(random() >> 32).unwrap_or_default();
    pause.mul_f64(1.0 + f64::from(random) / f64::from(u32::MAX) / 4.0)
}
