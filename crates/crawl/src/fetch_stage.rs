//! The fetch stage: leased requests in, pages out. One lease is one request to the host, so that politeness, which is
//! settled before the lease, holds for redirects and robots.txt too.

use crate::{
    context::{Context, Finished, StageError, now_ms, rfc3339},
    links::new_url,
};
use crawl_fetch::{FetchError, Fetched, HostSlot, RobotsPolicy, SlotOutcome};
use crawl_model::{
    CrawlRequest, Discovery, FailedPage, FetchedPage, HostKey, LeaseRef, Origin, Outcome, PageHistory, Stage,
};
use std::{sync::Arc, time::Duration};
use tokio::sync::{Mutex, OwnedSemaphorePermit, mpsc};
use url::Url;

/// A lease with the host's leave to make one request.
pub struct Job {
    /// What to fetch.
    pub request: CrawlRequest,
    /// The host's slot; given back when the answer has come.
    pub slot: HostSlot,
    /// One of the fetch stage's places; given back when the page has been handed on.
    pub place: OwnedSemaphorePermit,
}

/// What one job came to.
enum Answer {
    Page(Box<FetchedPage>),
    Finished(Finished),
    /// The lease has been given back.
    Requeued,
}

/// One worker of the stage: runs until the scheduler drops its sender.
pub async fn worker(
    context: Arc<Context>,
    jobs: Arc<Mutex<mpsc::Receiver<Job>>>,
    pages: mpsc::Sender<FetchedPage>,
    finished: mpsc::Sender<Finished>,
) -> Result<(), StageError> {
    loop {
        let job = jobs.lock().await.recv().await;
        let Some(Job { request, slot, place }) = job else { return Ok(()) };
        let lease = LeaseRef::from(&request);
        let attempt = request.attempt;
        let answer = tokio::select! {
            biased;
            () = context.cancel.cancelled() => {
                // state is saved: the URL is pending again, the attempt does not count
                context.store.requeue(lease, now_ms(), attempt, None)?;
                context.stats.requeued.add(1);
                Answer::Requeued
            }
            answer = Visit { context: &context, request, slot }.run() => answer?,
        };
        match answer {
            Answer::Page(page) => pages.send(*page).await.map_err(|_| StageError::Downstream)?,
            Answer::Finished(end) => finished.send(end).await.map_err(|_| StageError::Downstream)?,
            Answer::Requeued => context.stats.changed.notify_one(),
        }
        drop(place);
    }
}

struct Visit<'a> {
    context: &'a Context,
    request: CrawlRequest,
    slot: HostSlot,
}

impl Visit<'_> {
    async fn run(mut self) -> Result<Answer, StageError> {
        if self.context.config.crawl.obey_robots
            && let Some(answer) = self.ask_robots().await?
        {
            return Ok(answer);
        }
        loop {
            let (request, host) = (self.request.clone(), HostKey::of(&self.request.url));
            let fetched = self.context.client.fetch(request).await;
            self.note_answer(host.as_ref(), &fetched);
            match fetched {
                Fetched::Page(page) => return Ok(Answer::Page(Box::new(page))),
                Fetched::Skipped { kind, status, wire_bytes, .. } => {
                    self.context.stats.wire_bytes.add(wire_bytes);
                    return Ok(self.end(Outcome::Skipped, kind.name(), Some(status)));
                }
                Fetched::Redirect { to, status, .. } => match self.redirected(to, status)? {
                    Some(answer) => return Ok(answer),
                    None => self.next_hop().await,
                },
                Fetched::Failed { error, status, retry_after, .. } => return self.failed(&error, status, retry_after),
            }
        }
    }

    /// Tells politeness and the counts how the request went.
    fn note_answer(&mut self, host: Option<&HostKey>, fetched: &Fetched) {
        let (status, millis, retry_after, failed) = match fetched {
            Fetched::Page(page) => (Some(page.status), page.timings.total_ms, None, false),
            Fetched::Skipped { status, .. } | Fetched::Redirect { status, .. } => (Some(*status), 0, None, false),
            Fetched::Failed { error, status, retry_after, .. } => (*status, 0, *retry_after, error.is_unreachable()),
        };
        if let (Some(host), Some(status)) = (host, status) {
            self.context.stats.answered(host, status, millis);
        }
        self.slot.note(SlotOutcome { status, retry_after, failed_connect: failed });
    }

    /// robots.txt first; `None` lets the request go on. Where asking used up the host's time, the URL waits its turn
    /// again.
    async fn ask_robots(&mut self) -> Result<Option<Answer>, StageError> {
        let Some(origin) = Origin::of(&self.request.url) else { return Ok(None) };
        let Context { store, client, gate, robots, product_token, .. } = self.context;
        let looked = robots.lookup(&origin, &**store, client, gate, now_ms()).await?;
        let policy = &looked.robots.policy;
        if let Some(host) = HostKey::of(&self.request.url)
            && let Some(delay) = policy.crawl_delay(product_token)
        {
            gate.set_crawl_delay(&host, delay);
        }
        if policy.is_unreachable() {
            return self.robots_unreachable(policy).map(Some);
        }
        let verdict = policy.verdict(product_token, &self.request.url);
        if !verdict.allowed {
            let rule = verdict.rule.unwrap_or_default();
            let line = verdict.line.map_or_else(String::new, |line| format!(" (line {line})"));
            let message = format!("robots.txt of {origin} disallows it by \"{rule}\"{line}; --ignore-robots overrides");
            return Ok(Some(self.fail(Stage::Robots, "robots_disallowed", None, message)));
        }
        if looked.requested && !gate.delay_of(&self.request.url).is_zero() {
            return self.requeue(Duration::ZERO, self.request.attempt).map(Some);
        }
        Ok(None)
    }

    fn robots_unreachable(&self, policy: &RobotsPolicy) -> Result<Answer, StageError> {
        // an https host that cannot be reached at all may be a bare seed that speaks http alone
        if let Some(answer) = self.fall_back_to_http(policy.unreachable_status().is_none())? {
            return Ok(answer);
        }
        if self.request.attempt < self.context.config.fetch.retries {
            return self.requeue(self.backoff(None), self.request.attempt + 1);
        }
        let message = format!(
            "robots.txt cannot be had ({}), which means that nothing is allowed (RFC 9309); try again later, or use --ignore-robots",
            policy.unreachable_status().map_or_else(|| "host unreachable".into(), |s| format!("status {s}"))
        );
        Ok(self.fail(Stage::Robots, "robots_unreachable", policy.unreachable_status(), message))
    }

    /// What a redirect means for the URL; `None` when the target is the same page in other words, to be fetched now.
    fn redirected(&mut self, to: Url, status: u16) -> Result<Option<Answer>, StageError> {
        let context = self.context;
        let canonical = context.links.canonical(&to);
        let from = self.request.url.as_str().to_owned();
        if self.request.redirects.len() >= context.config.fetch.max_redirects {
            let message = format!("more than {} redirects; the last one led to {to}", context.config.fetch.max_redirects);
            return Ok(Some(self.fail(Stage::Fetch, "too_many_redirects", Some(status), message)));
        }
        let asked = context.links.canonical(&self.request.url);
        if canonical == asked && to.as_str() != from && !self.request.redirects.iter().any(|u| u == to.as_str()) {
            self.request.redirects.push(from);
            self.request.url = to;
            return Ok(None);
        }
        if canonical == asked || self.request.redirects.iter().any(|u| u == canonical.as_str()) {
            let message = format!("a redirect leads back to {to}; the page may need cookies");
            return Ok(Some(self.fail(Stage::Fetch, "redirect_loop", Some(status), message)));
        }
        let Some(host) = HostKey::of(&canonical) else {
            return Ok(Some(self.end(Outcome::Skipped, "redirect_to_other_scheme", Some(status))));
        };
        if self.request.discovery.is_seed() {
            context.extend_scope(&canonical)?;
        }
        if !context.links.admits(&canonical) {
            return Ok(Some(self.end(Outcome::Skipped, "redirect_out_of_scope", Some(status))));
        }
        let discovery = if self.request.discovery.is_seed() { Discovery::Seed } else { Discovery::Redirect };
        let mut target = new_url(canonical, host, self.request.depth, discovery);
        target.redirects.clone_from(&self.request.redirects);
        target.redirects.push(from);
        context.store.enqueue(&[target])?;
        Ok(Some(self.end(Outcome::Redirected, "redirected", Some(status))))
    }

    /// Waits until the host may be asked again; for the rare redirect that stays on the page.
    async fn next_hop(&mut self) {
        if let Some(host) = HostKey::of(&self.request.url) {
            self.slot.again(&host, &self.context.gate).await;
        }
    }

    fn failed(&self, error: &FetchError, status: Option<u16>, retry_after: Option<Duration>) -> Result<Answer, StageError> {
        if let Some(answer) = self.fall_back_to_http(error.is_unreachable())? {
            return Ok(answer);
        }
        if error.is_transient() && self.request.attempt < self.context.config.fetch.retries {
            tracing::info!(url = %self.request.url, kind = error.kind(), attempt = self.request.attempt, "will try again");
            return self.requeue(self.backoff(retry_after), self.request.attempt + 1);
        }
        Ok(self.fail(Stage::Fetch, error.kind(), status, error.to_string()))
    }

    /// A bare host that cannot be reached by https is tried by http.
    fn fall_back_to_http(&self, unreachable: bool) -> Result<Option<Answer>, StageError> {
        let request = &self.request;
        if !(unreachable && request.discovery == Discovery::BareSeed && request.url.scheme() == "https") {
            return Ok(None);
        }
        let mut url = request.url.clone();
        let (Ok(()), Some(host)) = (url.set_scheme("http"), HostKey::of(&url)) else { return Ok(None) };
        tracing::info!(url = %request.url, "not reachable by https, trying http");
        self.context.extend_scope(&url)?;
        self.context.store.enqueue(&[new_url(url, host, request.depth, Discovery::Seed)])?;
        Ok(Some(self.end(Outcome::Redirected, "https_unreachable", None)))
    }

    /// The pause before the next attempt: doubled each time, spread by a half, never shorter than the server asked.
    fn backoff(&self, retry_after: Option<Duration>) -> Duration {
        let fetch = &self.context.config.fetch;
        let doubled = fetch.backoff.saturating_mul(1 << self.request.attempt.min(16)).min(fetch.max_backoff);
        let spread = doubled.mul_f64(0.75 + 0.5 * crawl_fetch::unit_random());
        spread.max(retry_after.unwrap_or_default())
    }

    fn requeue(&self, wait: Duration, attempt: u32) -> Result<Answer, StageError> {
        let due = now_ms().saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX));
        self.context.store.requeue((&self.request).into(), due, attempt, self.request.strategy)?;
        self.context.stats.requeued.add(1);
        Ok(Answer::Requeued)
    }

    fn history(&self, status: Option<u16>) -> PageHistory {
        PageHistory { status, fetched_at_ms: Some(now_ms()), ..PageHistory::default() }
    }

    fn end(&self, outcome: Outcome, kind: &'static str, status: Option<u16>) -> Answer {
        Answer::Finished(Finished::Other { lease: (&self.request).into(), outcome, kind, history: self.history(status) })
    }

    fn fail(&self, stage: Stage, kind: &'static str, status: Option<u16>, message: String) -> Answer {
        let failed = failed_page(&self.request, stage, kind, status, message);
        Answer::Finished(Finished::Failed(Box::new(failed), self.history(status)))
    }
}

/// A line of the error log for a leased URL.
#[must_use]
pub fn failed_page(request: &CrawlRequest, stage: Stage, kind: &'static str, status: Option<u16>, message: String) -> FailedPage {
    FailedPage {
        url: request.url.as_str().to_owned(),
        stage,
        kind,
        status,
        attempts: request.attempt + 1,
        message,
        at: rfc3339(now_ms()),
        lease: Some((request.id, request.token)),
    }
}
