//! The ways to a page besides the plain request: a browser, the AMP page, a mobile client.

use super::{Answer, Visit, ends::spread, failed_page};
use crate::{
    config::StrategyChoice,
    context::{Context, Finished, StageError, now_ms},
    links::new_url,
    strategies::{Begin, OnTrial, SoFar},
};
use crawl_chrome::{RenderError, Rendered};
use crawl_fetch::{FetchError, Fetched, SlotOutcome, domain};
use crawl_model::{
    Body, CrawlRequest, Discovery, FailedPage, FetchedPage, Headers, HostKey, Lane, Origin, Outcome, Stage,
    Strategy, Timings,
};
use std::time::Duration;
use tokio::time::timeout;
use url::Url;

/// How long a page waits, with its place, for others of its form that will teach how it is best fetched.
const PATIENCE: Duration = Duration::from_secs(2);
/// And how long it waits then without a place.
const LATER: Duration = Duration::from_secs(1);
/// How long the turn at another host, that of an AMP or a mobile page, is waited for with the place held.
const TURN: Duration = Duration::from_secs(5);
/// Hops of an AMP or a mobile page.
const MAX_HOPS: usize = 5;
/// Times that a page is rendered again whose browser was lost.
const RENDERED_AGAIN: u32 = 2;

impl Visit<'_> {
    /// Which way the URL is fetched, where nothing was tried yet; an answer is given where that is not to be now or not here.
    pub(super) async fn choose(&mut self) -> Result<Option<Answer>, StageError> {
        let choice = self.context.config.fetch.strategy;
        let chosen = match (self.request.strategy, choice) {
            (None, StrategyChoice::Auto) => match self.begin().await? {
                Some(Begin::First(strategy)) => Some(strategy),
                Some(Begin::Static(guard)) => {
                    self.on_trial = guard;
                    None
                }
                Some(Begin::Wait) | None => {
                    self.give_back_slot();
                    return self.requeue(LATER, self.request.attempt).map(Some);
                }
            },
            (None, StrategyChoice::Chrome) => Some(Strategy::Chrome),
            (None, StrategyChoice::Mobile) => Some(Strategy::Mobile),
            (None, StrategyChoice::Static | StrategyChoice::Amp) => None,
            (given, _) => given,
        };
        // what a form has taught may have been unlearnt while the URL waited
        let chosen = match chosen {
            Some(Strategy::Chrome) if !self.was_tried && !self.still_wants_browser()? => None,
            chosen => chosen,
        };
        self.request.strategy = chosen;
        if Lane::of(chosen) == self.lane {
            return Ok(None);
        }
        self.give_back_slot();
        self.requeue(Duration::ZERO, self.request.attempt).map(Some)
    }

    async fn begin(&self) -> Result<Option<Begin>, StageError> {
        let (lessons, store) = (&self.context.lessons, &*self.context.store);
        let decided = async {
            loop {
                let changed = lessons.changed();
                match lessons.begin(store, &self.request.url) {
                    Ok(Begin::Wait) => changed.await,
                    begun => return begun,
                }
            }
        };
        match timeout(PATIENCE, decided).await {
            Ok(begun) => Ok(Some(begun?)),
            Err(_) => Ok(None),
        }
    }

    fn still_wants_browser(&self) -> Result<bool, StageError> {
        if self.context.browser.unavailable().is_some() {
            return Ok(false);
        }
        match self.context.config.fetch.strategy {
            StrategyChoice::Auto => Ok(self.context.lessons.is_first(
                &*self.context.store,
                &self.request.url,
                Strategy::Chrome,
            )?),
            choice => Ok(choice == StrategyChoice::Chrome),
        }
    }

    /// No request is made: the next URL of the host need not wait for it.
    pub(super) fn give_back_slot(&mut self) {
        if let Some(slot) = self.slot.take() {
            slot.give_back();
        }
    }

    /// Shows the page to a browser. The navigation is the request that the slot stands for; what the page loads comes of it.
    pub(super) async fn render(mut self) -> Result<Answer, StageError> {
        let mut admission = self.context.budget.admit().await;
        let slot = match self.take_slot().await {
            Ok(slot) => slot,
            Err(error) => return self.failed(&error, None, None),
        };
        let started_at_ms = now_ms();
        let rendered = self.context.browser.render(&self.request.url).await;
        let status = rendered.as_ref().ok().map(|rendered| rendered.status).filter(|status| *status > 0);
        let retry_after = rendered.as_ref().ok().and_then(retry_after);
        slot.finish(SlotOutcome { status, retry_after, ..SlotOutcome::default() }.of_url(&self.request.url));
        let rendered = match rendered {
            Ok(rendered) => rendered,
            Err(error) => return self.not_rendered(&error),
        };
        if let (Some(host), Some(status)) = (HostKey::of(&self.request.url), status) {
            let millis = u32::try_from(rendered.timings.total.as_millis()).unwrap_or(u32::MAX);
            self.context.stats.answered(&host, status, millis);
        }
        if let Some(status) = status.filter(|status| !(200..300).contains(status)) {
            return self.failed(&FetchError::Status(status), Some(status), retry_after);
        }
        let asked = self.context.links.canonical(&self.request.url);
        if self.context.links.canonical(&rendered.document) != asked {
            return self.led_away(&rendered.document, status.unwrap_or(200));
        }
        admission.holds(rendered.html.len() as u64);
        let guard = Some(admission.complete(rendered.html.len() as u64));
        let mut page =
            Box::new(page_of(self.request.clone(), rendered, status.unwrap_or(200), started_at_ms));
        page.body.guard = guard;
        Ok(Answer::Page(self.reserved(page)))
    }

    fn not_rendered(&self, error: &RenderError) -> Result<Answer, StageError> {
        let attempts = self.request.attempt + 1;
        // the others of a page are its own doing
        let lost = matches!(error, RenderError::BrowserLost(_) | RenderError::Launch { .. });
        if lost && attempts <= RENDERED_AGAIN && self.context.browser.unavailable().is_none() {
            tracing::info!(url = %self.request.url, %error, "will be rendered again");
            return self.requeue(Duration::ZERO, attempts);
        }
        let failed = failed_page(&self.request, Stage::Fetch, error.kind(), None, error.to_string());
        let failed = FailedPage { hint: error.hint(), ..failed };
        Ok(Answer::Finished(Finished::Failed(Box::new(failed), self.history(None))))
    }

    /// The page's script, or its server when a browser asks, leads to another page. That is a URL of its own, as what a
    /// refresh in the page names.
    fn led_away(&mut self, to: &Url, status: u16) -> Result<Answer, StageError> {
        if !self.was_tried {
            let asked = self.request.url.clone();
            if let Some(answer) = self.redirected(to.clone(), status)? {
                return Ok(answer);
            }
            self.request.url = asked;
        }
        let canonical = self.context.links.canonical(to);
        let links = &self.context.links;
        if let Some(host) = HostKey::of(&canonical)
            && links.admits(&canonical)
            && links.trap(&canonical).is_none()
        {
            let target = new_url(canonical, host, self.request.depth, Discovery::Redirect);
            self.context.store.enqueue(&[target])?;
            self.context.stats.changed.notify_one();
        }
        Ok(self.fail(Stage::Fetch, "navigation", Some(status), format!("the page's script leads to {to}")))
    }

    /// The AMP page, or what a mobile client is given. It stands for the URL that was asked for, so its redirects are followed
    /// here, within the site, each with a turn of its own and the leave of its robots.txt.
    pub(super) async fn alternative(mut self, so_far: Option<&SoFar>) -> Result<Answer, StageError> {
        let asked = self.request.url.clone();
        let amp = self.request.strategy == Some(Strategy::Amp);
        if let Some(url) = so_far.and_then(SoFar::amp_url).filter(|_| amp) {
            self.request.url = url.clone();
        }
        for _ in 0..=MAX_HOPS {
            if let Some(why) = self.is_kept_from(&asked).await? {
                return Ok(self.fail(Stage::Robots, "robots_disallowed", None, why));
            }
            if let Some(answer) = self.turn_there(&asked).await? {
                return Ok(answer);
            }
            match self.fetch().await {
                Fetched::Page(mut page) => {
                    page.request.url = asked;
                    page.strategy = if amp { Strategy::Amp } else { page.strategy };
                    return Ok(Answer::Page(self.reserved(page)));
                }
                Fetched::Redirect { to, .. } => self.request.url = to,
                Fetched::Skipped { kind, status, wire_bytes, .. } => {
                    self.context.stats.wire_bytes.add(wire_bytes);
                    return Ok(self.end(Outcome::Skipped, kind.name(), Some(status)));
                }
                Fetched::Failed { error, status, retry_after, .. } => {
                    return self.failed(&error, status, retry_after);
                }
            }
        }
        let message = format!("more than {MAX_HOPS} redirects, the last one to {}", self.request.url);
        Ok(self.fail(Stage::Fetch, "too_many_redirects", None, message))
    }

    /// Why the address that another form of the page has come to may not be asked: it is of another site, or its robots.txt says
    /// so. What was asked for itself has been allowed already.
    async fn is_kept_from(&self, asked: &Url) -> Result<Option<String>, StageError> {
        let url = &self.request.url;
        if url == asked {
            return Ok(None);
        }
        let same_site = domain(url).is_some() && domain(url) == domain(asked);
        if !same_site && !self.context.links.in_scope(url) {
            return Ok(Some(format!("it leads to another site, {url}")));
        }
        let Some(origin) = Origin::of(url).filter(|_| self.context.config.crawl.obey_robots) else {
            return Ok(None);
        };
        let Context { store, client, gate, robots, .. } = &**self.context;
        let looked = robots.lookup(&origin, &**store, client, gate, &mut None, now_ms()).await?;
        let policy = &looked.robots.policy;
        let allowed = !policy.is_unreachable() && policy.verdict(url).allowed;
        Ok((!allowed).then(|| format!("robots.txt of {origin} does not allow {url}")))
    }

    /// The turn at the host that is asked now: the lease's for the page's own host, and one of its own for another.
    async fn turn_there(&mut self, asked: &Url) -> Result<Option<Answer>, StageError> {
        let (here, there) = (HostKey::of(asked), HostKey::of(&self.request.url));
        let Some(there) = there.filter(|_| self.slot.is_none() || here != HostKey::of(&self.request.url))
        else {
            return Ok(None);
        };
        self.give_back_slot();
        match self.context.gate.acquire_within(&there, TURN).await {
            Ok(slot) => {
                self.slot = Some(slot);
                Ok(None)
            }
            Err(_) => {
                let attempts = self.request.attempt + 1;
                match self.context.retry.pause(attempts, None, false) {
                    Some(pause) => self.requeue(spread(pause), attempts).map(Some),
                    None => Ok(Some(self.fail(
                        Stage::Fetch,
                        "timeout",
                        None,
                        format!("no turn at {there} in time"),
                    ))),
                }
            }
        }
    }

    /// The guard of a page on trial rides with its body, so that it ends when the page has taught, whatever becomes of it.
    pub(super) fn on_trial(guard: Option<OnTrial>, mut page: Box<FetchedPage>) -> Box<FetchedPage> {
        if let Some(guard) = guard {
            let body = page.body.guard.take();
            page.body.guard = Some(Box::new((body, guard)));
        }
        page
    }
}

/// `Retry-After` in seconds, as nearly all give it.
fn retry_after(rendered: &Rendered) -> Option<Duration> {
    let (_, value) = rendered.headers.iter().find(|(name, _)| name == "retry-after")?;
    value.trim().parse().ok().map(Duration::from_secs)
}

/// What a browser showed, as a page like any other.
fn page_of(request: CrawlRequest, rendered: Rendered, status: u16, started_at_ms: i64) -> FetchedPage {
    let millis = |duration: Duration| u32::try_from(duration.as_millis()).unwrap_or(u32::MAX);
    let mut headers: Vec<_> =
        rendered.headers.into_iter().filter(|(name, _)| name != "content-type").collect();
    // what comes out of the browser is text already, whatever it was declared as
    headers.push(("content-type".into(), "text/html; charset=utf-8".into()));
    FetchedPage {
        request,
        final_url: rendered.url,
        status,
        headers: Headers(headers),
        body: Body { bytes: rendered.html.into(), guard: None, truncated: rendered.truncated },
        strategy: Strategy::Chrome,
        timings: Timings {
            started_at_ms,
            first_byte_ms: millis(rendered.timings.navigate),
            total_ms: millis(rendered.timings.total),
        },
        wire_bytes: rendered.bytes,
        unsettled: rendered.stopped || !rendered.settled,
        reserved_by_file: None,
    }
}
