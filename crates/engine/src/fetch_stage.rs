//! The fetch stage: leased requests in, pages out. One lease is one request to the host. The scheduler takes the
//! host's slot before the lease, so politeness also holds for redirects and robots.txt.

mod alternative;
mod ends;
mod fetch_charge;
mod known;
mod permission;
mod probe;
mod redirects;
mod sitemap;
mod strategy_choice;

use crate::{
    async_store::OpenCalls,
    context::Context,
    finished::Finished,
    lessons::TrialGuard,
    messages::{ExtractJob, Job},
    robots_cache::Robots,
    slow_lane::{FIRST_TRIAL, SLOW_AFTER, SlowPermit},
    soft404,
    stage_error::StageError,
    strategies::{self, Next, PartialResult},
};
use crawl_fetch::{
    FetchError, Fetched, HostSlot, OptOut, OriginOptOuts, Phase, SkipKind, SlotOutcome, SlowWatch, tdm_header,
};
use crawl_model::{
    CrawlRequest, Discovery, ExtractedPage, FetchedPage, HostKey, Lane, LeasePermit, LeaseRef, Outcome,
    Stage, StoreError, Strategy, now_ms,
};
use fetch_charge::FetchCharge;
use std::{
    future::{pending, poll_fn},
    sync::Arc,
    task::Poll,
    time::Duration,
};
use tokio::sync::{Mutex, mpsc};

/// Maximum wait for a slot of the second and later requests of a page.
const MAX_TURN_WAIT: Duration = Duration::from_secs(10);

/// Maximum redirects from one URL. Browsers follow 20; sites need at most three or four.
const MAX_REDIRECTS: usize = 10;

/// Result of one job.
enum Answer {
    Page(Box<FetchedPage>),
    /// Result of an earlier strategy, because this one brought nothing.
    Earlier(Box<ExtractedPage>),
    Finished(Finished),
    /// The lease has been given back.
    Requeued,
}

/// One worker of a lane: runs until the scheduler drops its sender.
pub async fn worker(
    context: Arc<Context>,
    lane: Lane,
    jobs: Arc<Mutex<mpsc::Receiver<Job>>>,
    pages: mpsc::Sender<ExtractJob>,
    finished: mpsc::Sender<Finished>,
) -> Result<(), StageError> {
    let lease_permit = context.store.lease_permit();
    loop {
        let job = jobs.lock().await.recv().await;
        let Some(Job { request, slot, permit, mut slow }) = job else { return Ok(()) };
        let (lease, host) = (LeaseRef::from(&request), HostKey::of(&request.url));
        let (attempt, strategy) = (request.attempt, request.strategy);
        let (charge, calls) = (FetchCharge::new(&context.admission.traps), OpenCalls::default());
        let visit = Visit {
            context: &context,
            finished: &finished,
            lane,
            request,
            slot,
            robots: None,
            opt_outs: None,
            alternative_opt_outs: None,
            was_tried: false,
            charge: &charge,
            calls: &calls,
            on_trial: None,
        };
        let watch = SlowWatch::new(FIRST_TRIAL, SLOW_AFTER);
        let answer = tokio::select! {
            biased;
            () = lease_expired(&lease_permit) => return Err(lease_over_error().into()),
            () = calls.after(context.control.requests.cancelled()) => None,
            answer = watch.over(visit.run()) => Some(answer?),
            () = calls.after(until_displaced(&context, &watch, host.as_ref(), &mut slow)), if lane == Lane::Plain => None,
        };
        drop(charge);
        let answer = match answer {
            Some(answer) => answer,
            None => {
                // the URL becomes pending again; the attempt does not count
                requeue(&context, lease, now_ms(), attempt, strategy).await?;
                Answer::Requeued
            }
        };
        drop(slow);
        if let Some(host) = host.filter(|_| watch.was_quick()) {
            context.network.slow.was_quick(&host);
        }
        // a page that the archive lacks must not reach the next stage: the next run fetches it again
        if let Some(archive) = &context.records.archive {
            archive.check()?;
        }
        send(&context, answer, &pages, &finished).await?;
        drop(permit);
    }
}

/// Sends the result of a job to the next stage.
async fn send(
    context: &Context,
    answer: Answer,
    pages: &mpsc::Sender<ExtractJob>,
    finished: &mpsc::Sender<Finished>,
) -> Result<(), StageError> {
    match answer {
        Answer::Page(page) => pages.send(ExtractJob::Page(page)).await.map_err(|_| StageError::Downstream),
        Answer::Earlier(page) => {
            pages.send(ExtractJob::Earlier(page)).await.map_err(|_| StageError::Downstream)
        }
        Answer::Finished(end) => finished.send(end).await.map_err(|_| StageError::Downstream),
        Answer::Requeued => {
            context.stats.changed.notify_one();
            Ok(())
        }
    }
}

/// Completes once the lease of the hosts is over. It is polled before each step of a visit, so that a suspended
/// process makes no request after its lease.
fn lease_expired(permit: &LeasePermit) -> impl Future<Output = ()> {
    poll_fn(|_| if permit.is_valid() { Poll::Pending } else { Poll::Ready(()) })
}

/// Error that ends the session: other workers may have sent requests to its hosts.
fn lease_over_error() -> StoreError {
    StoreError::Busy("the lease of the hosts was over before a request".into())
}

/// Returns a lease to the frontier. An expired lease was counted when it expired.
async fn requeue(
    context: &Arc<Context>,
    lease: LeaseRef,
    due: i64,
    attempt: u32,
    strategy: Option<Strategy>,
) -> Result<(), StoreError> {
    let requeue = move |context: &Arc<Context>| context.store.requeue(lease, due, attempt, strategy);
    let given_back = context.in_storage(requeue).await?;
    context.stats.requeued.add(u64::from(given_back));
    Ok(())
}

/// Waits until the first trial of the host ends, or a request is slow and has no slot of the slow lane. A slow request
/// with a slot continues.
async fn until_displaced(
    context: &Context,
    watch: &SlowWatch,
    host: Option<&HostKey>,
    slow: &mut Option<SlowPermit>,
) {
    let Some(host) = host else { return pending().await };
    watch.first().await;
    let is_unproven = slow.as_ref().is_some_and(|slow| !slow.is_of_lane());
    let gate = &context.network.gate;
    if is_unproven && context.network.slow.end_trial(host, (gate.answers(host).0, gate.answered(host))) {
        tracing::debug!(%host, "the host has not answered yet, and others wait; its URL is fetched later");
        return;
    }
    watch.slow().await;
    if slow.as_ref().is_some_and(SlowPermit::is_of_lane) {
        context.network.slow.was_slow(host);
    } else {
        match context.network.slow.admit_slow(host, context.network.gate.answers(host).0) {
            Ok(permit) => *slow = Some(permit),
            Err(_) => {
                tracing::info!(%host, "the host is slow, and all slots for slow hosts are in use; its URL is fetched later");
                return;
            }
        }
    }
    pending::<()>().await;
}

struct Visit<'a> {
    context: &'a Arc<Context>,
    /// Channel for further lines of the error log, besides the line of the request.
    finished: &'a mpsc::Sender<Finished>,
    /// Lane of the worker.
    lane: Lane,
    request: CrawlRequest,
    /// Permission for one request; `None` after it.
    slot: Option<HostSlot>,
    /// Rules of the origin, once they were asked for.
    robots: Option<Arc<Robots>>,
    /// Reservations of the origin's opt-out files, once they were requested.
    opt_outs: Option<Arc<OriginOptOuts>>,
    /// The same of the origin of the AMP or mobile page.
    alternative_opt_outs: Option<Arc<OriginOptOuts>>,
    /// True if another strategy was tried before.
    was_tried: bool,
    /// Charge of the URL's pattern for this visit.
    charge: &'a FetchCharge<'a>,
    /// Open storage calls. The visit is not cancelled during one.
    calls: &'a OpenCalls,
    /// Set while other pages of the URL pattern wait for the result of this one.
    on_trial: Option<TrialGuard>,
}

impl Visit<'_> {
    /// Runs the visit. If it brings no page, takes the earlier result or another strategy.
    async fn run(mut self) -> Result<Answer, StageError> {
        if self.is_excluded() {
            return Ok(self.leave_out());
        }
        let (context, request) = (self.context, self.request.clone());
        let partial = self.partial_result().await?;
        self.was_tried = partial.is_some();
        // an end before the strategy's own request says nothing about the strategy
        let mut chosen = request.strategy.filter(|_| self.was_tried);
        let (charge, calls) = (self.charge, self.calls);
        let answer = self.visit(partial.as_ref(), &mut chosen).await?;
        if !matches!(answer, Answer::Requeued) {
            charge.commit();
        }
        match answer {
            Answer::Finished(end) => {
                let request = CrawlRequest { strategy: chosen, ..request };
                let _call = calls.begin();
                Ok(match strategies::on_failure_in_storage(context, &request, partial, end).await? {
                    Ok(Next::Write(page)) => Answer::Earlier(page),
                    Ok(Next::Requeued) => Answer::Requeued,
                    Err(end) => Answer::Finished(end),
                })
            }
            answer => Ok(answer),
        }
    }

    /// Runs work that calls the store. The visit is not cancelled before the work has ended.
    async fn in_storage<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Arc<Context>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let _call = self.calls.begin();
        self.context.in_storage(work).await
    }

    async fn partial_result(&self) -> Result<Option<PartialResult>, StoreError> {
        let _call = self.calls.begin();
        strategies::partial_result_in_storage(self.context, &self.request).await
    }

    /// Tries one strategy. Sets `chosen` just before the request, so that an earlier failure does not count against
    /// the strategy.
    async fn visit(
        mut self,
        partial: Option<&PartialResult>,
        chosen: &mut Option<Strategy>,
    ) -> Result<Answer, StageError> {
        if soft404::is_probe(&self.request) {
            return self.probe().await;
        }
        if self.slot.is_none() {
            return Ok(self.end_for_given_up_host());
        }
        if let Some(answer) = self.locate().await? {
            return Ok(answer);
        }
        if self.context.config.crawl.obey_robots
            && let Some(answer) = self.ask_robots().await?
        {
            return Ok(answer);
        }
        if self.request.discovery == Discovery::SitemapFile {
            return self.read_sitemap(None).await;
        }
        if self.context.config.crawl.ai_optout_files
            && let Some(answer) = self.ask_opt_outs().await?
        {
            return Ok(answer);
        }
        let (context, host) = (self.context, HostKey::of(&self.request.url));
        // another strategy fetches the same page, which has its claim
        let host = host.filter(|_| !self.was_tried);
        let claim = match host.as_ref().map(|host| context.admission.sites.claim_page(host)).transpose() {
            Ok(claim) => claim,
            Err(refusal) => return self.end_at_site_limit(refusal).await,
        };
        if let Some(answer) = self.choose().await? {
            return Ok(answer);
        }
        // a URL is charged once, for all its strategies
        if !self.was_tried
            && let Some(answer) = self.charge_pattern()
        {
            return Ok(answer);
        }
        *chosen = self.request.strategy;
        self.keep_conditions();
        let answer = match self.request.strategy {
            Some(Strategy::Chrome) => self.render().await,
            Some(Strategy::Amp | Strategy::Mobile) if self.was_tried => self.alternative(partial).await,
            _ => self.plain().await,
        };
        if matches!(answer, Ok(Answer::Page(_) | Answer::Earlier(_)))
            && let Some(claim) = claim
        {
            claim.keep();
        }
        answer
    }

    /// Adds the reservation of the opt-out files: those of the page's origin and those of its AMP or mobile page.
    fn reserved(&self, mut page: Box<FetchedPage>) -> Box<FetchedPage> {
        let header = tdm_header(&page.headers);
        let there =
            self.alternative_opt_outs.as_ref().and_then(|files| files.reserves(&page.final_url, header));
        // the header counts for its own address, not for that of the requested page
        let here = header.filter(|reserved| *reserved || self.alternative_opt_outs.is_none());
        let of_page = self.opt_outs.as_ref().and_then(|files| files.reserves(&page.request.url, here));
        let found = match (of_page, there) {
            (Some(OptOut::Unknown), Some(known)) => Some(known),
            (of_page, there) => of_page.or(there),
        };
        page.reserved_by_file = found.map(OptOut::name);
        page
    }

    /// Makes one plain request and interprets its answer.
    async fn plain(mut self) -> Result<Answer, StageError> {
        loop {
            let (to, status) = match self.fetch().await {
                Fetched::Page(page) => {
                    let page = self.reserved(page);
                    return Ok(Answer::Page(Self::on_trial(self.on_trial, page)));
                }
                Fetched::Skipped { kind: SkipKind::NotModified, status, .. } if self.is_conditional() => {
                    return self.not_modified(status).await;
                }
                Fetched::Skipped { kind, status, wire_bytes, content_type, refresh, .. } => {
                    self.context.stats.wire_bytes.add(wire_bytes);
                    if self.names_pages(kind, content_type.as_deref()) {
                        return self.read_sitemap(Some(kind)).await;
                    }
                    match refresh.and_then(|refresh| self.refreshed(kind, &refresh)) {
                        Some(to) => (to, status),
                        None => return Ok(self.end(Outcome::Skipped, kind.name(), Some(status))),
                    }
                }
                Fetched::Redirect { to, status, .. } => (to, status),
                Fetched::Failed { error, status, retry_after, .. } => {
                    return self.failed(&error, status, retry_after).await;
                }
            };
            if let Some(answer) = self.redirected(to, status).await? {
                return Ok(answer);
            }
            if let Some(answer) = self.forbidden_after_redirect().await? {
                return Ok(answer);
            }
        }
    }

    /// Charges the fetch to the credit of the URL's pattern. Seeds and known pages are free: the user named the
    /// former, and a known page is no trap.
    fn charge_pattern(&mut self) -> Option<Answer> {
        if self.request.discovery.is_seed() || self.request.before.is_some() {
            return None;
        }
        let trap = self.charge.charge(&self.request.url).err()?;
        self.give_back_slot();
        Some(self.fail(Stage::Fetch, trap.kind(), None, trap.to_string()))
    }

    /// Makes one request for the URL. It uses up the host's slot.
    async fn fetch(&mut self) -> Fetched {
        let slot = match self.take_slot().await {
            Ok(slot) => slot,
            Err(error) => {
                return Fetched::Failed {
                    request: self.request.clone(),
                    error,
                    status: None,
                    retry_after: None,
                };
            }
        };
        let fetched = self.context.network.client.fetch(self.request.clone()).await;
        self.count(&fetched);
        slot.finish(SlotOutcome::of(&fetched).of_url(&self.request.url));
        fetched
    }

    /// The slot of the lease for the first request. A redirect to the same page needs a second slot. The wait for it
    /// is short: the host may have asked for a pause of hours, and the URL can be requeued.
    async fn take_slot(&mut self) -> Result<HostSlot, FetchError> {
        if let Some(slot) = self.slot.take() {
            return Ok(slot);
        }
        let host = HostKey::of(&self.request.url)
            .ok_or_else(|| FetchError::Url(format!("the scheme is {}", self.request.url.scheme())))?;
        let slot = self.context.network.gate.acquire_within(&host, MAX_TURN_WAIT).await;
        slot.map_err(|_| FetchError::Timeout { phase: Phase::Turn, limit: MAX_TURN_WAIT })
    }

    fn count(&self, fetched: &Fetched) {
        if !matches!(fetched, Fetched::Failed { status: None, .. }) {
            self.context.network.outage.answered();
        }
        let (status, millis) = match fetched {
            Fetched::Page(page) => (Some(page.status), page.timings.total_ms),
            Fetched::Skipped { status, .. } | Fetched::Redirect { status, .. } => (Some(*status), 0),
            Fetched::Failed { status, .. } => (*status, 0),
        };
        if let (Some(host), Some(status)) = (HostKey::of(&self.request.url), status) {
            self.context.stats.answered(&host, status, millis);
        }
    }
}
