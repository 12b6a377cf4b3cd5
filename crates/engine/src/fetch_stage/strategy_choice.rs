//! Choice of a page's strategy, and the fetch by a browser.

use super::{Answer, MAX_REDIRECTS, Visit, ends::spread};
use crate::{
    config::StrategyChoice,
    context::Context,
    failed_page::failed_page,
    finished::Finished,
    lessons::{FirstStep, TrialGuard},
    links::new_url,
    page_rules::HTML,
    stage_error::StageError,
};
use crawl_chrome::{RenderError, Rendered};
use crawl_extract::Input;
use crawl_fetch::{
    FetchError, HostSlot, RetryCause, SkipKind, SlotOutcome, answered_at, classify, parse_retry_after,
};
use crawl_model::{
    Body, CrawlRequest, Discovery, FailedPage, FetchedPage, Headers, HostKey, Lane, Outcome, Stage, Strategy,
    Timings, now_ms,
};
use std::{sync::Arc, time::Duration};
use tokio::time::timeout;
use url::Url;

/// Maximum time that a page keeps its permit and waits until another page of its URL pattern shows which strategy
/// works.
const MAX_LESSON_WAIT: Duration = Duration::from_secs(2);
/// Delay of its requeue after that.
const LESSON_RETRY_DELAY: Duration = Duration::from_secs(1);
/// Maximum number of times that a page is rendered again after its browser was lost.
const MAX_RENDER_RETRIES: u32 = 2;

impl Visit<'_> {
    /// Chooses the strategy of a URL for which nothing was tried yet. Returns an answer if the URL is not to
    /// be fetched now or in this lane.
    pub(super) async fn choose(&mut self) -> Result<Option<Answer>, StageError> {
        let choice = self.context.strategy_of(&self.request.url);
        let chosen = match (self.request.strategy, choice) {
            (None, StrategyChoice::Auto) => match self.begin().await? {
                Some(FirstStep::Learned(strategy)) => Some(strategy),
                Some(FirstStep::Static(guard)) => {
                    self.on_trial = guard;
                    None
                }
                Some(FirstStep::Wait) | None => {
                    self.give_back_slot();
                    return self.requeue(LESSON_RETRY_DELAY, self.request.attempt).await.map(Some);
                }
            },
            (None, StrategyChoice::Chrome) => Some(Strategy::Chrome),
            (None, StrategyChoice::Mobile) => Some(Strategy::Mobile),
            (None, StrategyChoice::Static | StrategyChoice::Amp) => None,
            (given, _) => given,
        };
        // the strategy learned for the pattern may have changed while the URL waited
        let chosen = match chosen {
            Some(Strategy::Chrome) if !self.was_tried && !self.still_needs_browser().await? => None,
            chosen => chosen,
        };
        self.request.strategy = chosen;
        if Lane::of(chosen) == self.lane {
            return Ok(None);
        }
        self.give_back_slot();
        self.requeue(Duration::ZERO, self.request.attempt).await.map(Some)
    }

    async fn begin(&self) -> Result<Option<FirstStep>, StageError> {
        let (lessons, storage) = (&self.context.strategies.lessons, &self.context.compute.storage);
        let decided = async {
            loop {
                let changed = lessons.changed();
                match lessons.begin(storage, &self.request.url).await {
                    Ok(FirstStep::Wait) => changed.await,
                    begun => return begun,
                }
            }
        };
        match timeout(MAX_LESSON_WAIT, decided).await {
            Ok(begun) => Ok(Some(begun?)),
            Err(_) => Ok(None),
        }
    }

    async fn still_needs_browser(&self) -> Result<bool, StageError> {
        if self.context.strategies.browser.unavailable().is_some() {
            return Ok(false);
        }
        match self.context.strategy_of(&self.request.url) {
            StrategyChoice::Auto => {
                let (lessons, url) = (self.context.strategies.lessons.clone(), self.request.url.clone());
                let is_first =
                    move |context: &Arc<Context>| lessons.is_first(&*context.store, &url, Strategy::Chrome);
                Ok(self.in_storage(is_first).await?)
            }
            choice => Ok(choice == StrategyChoice::Chrome),
        }
    }

    /// Returns the slot unused, so that the next URL of the host need not wait.
    pub(super) fn give_back_slot(&mut self) {
        if let Some(slot) = self.slot.take() {
            slot.give_back();
        }
    }

    /// A slot for a navigation, after the turn at the address.
    async fn acquire_browser_slot(&mut self) -> Result<HostSlot, FetchError> {
        let slot = self.take_slot().await?;
        match self.context.network.client.turn(&self.request.url).await {
            Ok(()) => Ok(slot),
            Err(error) => {
                slot.give_back();
                Err(error)
            }
        }
    }

    /// Renders the page in a browser. The slot is used by the navigation; resources of the page need no slot.
    pub(super) async fn render(mut self) -> Result<Answer, StageError> {
        if self.context.control.skip_render.is_cancelled() {
            self.give_back_slot();
            return self.not_rendered(&RenderError::Closed).await;
        }
        let mut admission = self.context.network.budget.admit().await;
        let slot = match self.acquire_browser_slot().await {
            Ok(slot) => slot,
            Err(error) => return self.failed(&error, None, None).await,
        };
        let started_at_ms = now_ms();
        let requested = self.context.admission.links.canonical(&self.request.url);
        // the page may be loaded again; any other page is the decision of the frontier. The tab keeps this closure, so it
        // must not hold the context, which owns the browser.
        let (canonicalizer, page) = (self.context.admission.links.canonicalizer().clone(), requested.clone());
        let is_page = move |to: &Url| canonicalizer.canonical(to) == page;
        let headers = self.context.network.client.own_headers(&self.request.url);
        let by_pattern = self.is_sent_by_pattern();
        let rendered = tokio::select! {
            biased;
            () = self.context.control.skip_render.cancelled() => Err(RenderError::Closed),
            rendered = self.context.strategies.browser.render(&self.request.url, headers, by_pattern, is_page) => rendered,
        };
        slot.finish(outcome(&rendered).of_url(&self.request.url));
        let wire_bytes = &self.context.stats.wire_bytes;
        wire_bytes.add(self.context.strategies.browser.take_uncharged());
        let mut rendered = match rendered {
            Ok(rendered) => rendered,
            Err(RenderError::NavigatedAway { to, status }) => return self.navigated_away(&to, status).await,
            Err(error @ RenderError::Network(_)) => return self.on_unreachable(&error).await,
            Err(error) => return self.not_rendered(&error).await,
        };
        let retry_after = retry_after(&rendered);
        let status = Some(rendered.status).filter(|status| *status > 0);
        if let (Some(host), Some(status)) = (HostKey::of(&self.request.url), status) {
            let millis = u32::try_from(rendered.timings.total.as_millis()).unwrap_or(u32::MAX);
            self.context.stats.answered(&host, status, millis);
        }
        if let Some(status) = status.filter(|status| !(200..300).contains(status)) {
            wire_bytes.add(rendered.bytes);
            return self.failed(&FetchError::Status(status), Some(status), retry_after).await;
        }
        if self.context.admission.links.canonical(&rendered.document) != requested {
            wire_bytes.add(rendered.bytes);
            return self.navigated_away(&rendered.document, status.unwrap_or(200)).await;
        }
        if let Err(skipped) = self.context.network.client.check_shown(&rendered.headers, &rendered.html) {
            wire_bytes.add(rendered.bytes);
            return Ok(self.end(Outcome::Skipped, skipped.name(), status));
        }
        let strategy =
            if self.use_document_as_sent(&mut rendered).await { Strategy::Static } else { Strategy::Chrome };
        admission.holds(rendered.html.len() as u64);
        let guard = Some(admission.complete(rendered.html.len() as u64));
        let mut page =
            Box::new(page_of(self.request.clone(), rendered, status.unwrap_or(200), started_at_ms, strategy));
        page.body.guard = guard;
        if let Some(archive) = &self.context.records.archive {
            page.captured = archive.rendered(&page).await;
        }
        Ok(Answer::Page(self.reserved(page)))
    }

    /// Returns true if the page comes to the browser by what other pages of its URL pattern have shown.
    fn is_sent_by_pattern(&self) -> bool {
        !self.was_tried && self.context.strategy_of(&self.request.url) == StrategyChoice::Auto
    }

    /// Returns true if a page that its URL pattern has sent to the browser has its text in the document as it
    /// was sent. That document then is the page, as a plain request would bring it, and the browser's result
    /// is dropped.
    async fn use_document_as_sent(&self, rendered: &mut Rendered) -> bool {
        let Some(sent) = rendered.as_sent.take().filter(|_| is_html(rendered)) else { return false };
        let (context, url) = (Arc::clone(self.context), rendered.document.clone());
        let known_as = context.admission.links.canonical(&url);
        // takes no permit: the extraction stage may hold the only one until this page arrives; the tabs bound such
        // pages
        let looked_at = self.context.compute.cpu.run(move || {
            let input = Input::new(sent.as_bytes()).with_url(&url).with_content_type(HTML);
            let extractor = context.reading.extractors.of(HostKey::of(&known_as).as_ref());
            let extraction = extractor.extract(&input);
            let found = classify(&extraction.signals, &known_as, extraction.word_count, extraction.extractor);
            (found.strategy == Strategy::Static).then_some(sent)
        });
        // a document that cannot be extracted as sent stays the browser's
        let Ok(Some(sent)) = looked_at.await else { return false };
        rendered.url = rendered.document.clone();
        (rendered.html, rendered.truncated) = (sent, false);
        (rendered.settled, rendered.stopped) = (true, false);
        true
    }

    /// A page that the browser could not reach. The browser does not say whether this machine or the host is to blame.
    async fn on_unreachable(&self, error: &RenderError) -> Result<Answer, StageError> {
        match self.context.network.client.locate(&self.request.url).await {
            Err(local) if local.is_local() => self.requeue_after_local_failure(&local).await,
            _ => self.not_rendered(error).await,
        }
    }

    async fn not_rendered(&self, error: &RenderError) -> Result<Answer, StageError> {
        let skipped = match error {
            RenderError::Download => Some((SkipKind::Attachment, None)),
            RenderError::NoContent(status) => Some((SkipKind::NoContent, Some(*status))),
            _ => None,
        };
        if let Some((kind, status)) = skipped {
            return Ok(self.end(Outcome::Skipped, kind.name(), status));
        }
        let attempts = self.request.attempt + 1;
        if error.is_unanswered() {
            if let Some(answer) = self.fall_back_to_http(matches!(error, RenderError::Network(_))).await? {
                return Ok(answer);
            }
            if self.remaining_pause().is_some() {
                return Ok(self.end_for_given_up_host());
            }
            let cause = match error {
                RenderError::Timeout { .. } => RetryCause::RenderTimeout,
                _ => RetryCause::NoOutcome,
            };
            if let Some(pause) = self.context.network.retry.decide(attempts, cause) {
                tracing::info!(url = %self.request.url, %error, attempts, ?pause, "will be retried");
                return self.requeue(spread(pause), attempts).await;
            }
        }
        // other errors are the fault of the page
        let lost = matches!(error, RenderError::BrowserLost(_) | RenderError::Launch { .. });
        if lost && attempts <= MAX_RENDER_RETRIES && self.context.strategies.browser.unavailable().is_none() {
            tracing::info!(url = %self.request.url, %error, "will be rendered again");
            return self.requeue(Duration::ZERO, attempts).await;
        }
        let failed = failed_page(&self.request, Stage::Fetch, error.kind(), None, error.to_string());
        let failed = FailedPage { hint: error.hint(), ..failed };
        Ok(Answer::Finished(Finished::Failed(Box::new(failed), self.history(None))))
    }

    /// Handles a navigation to another page, by a script or by the answer to the browser. The target is a separate
    /// URL, like that of a refresh.
    async fn navigated_away(&mut self, to: &Url, status: u16) -> Result<Answer, StageError> {
        if !self.was_tried {
            let requested = self.request.url.clone();
            if let Some(answer) = self.redirected(to.clone(), status).await? {
                return Ok(answer);
            }
            self.request.url = requested;
        }
        let context = self.context;
        let (links, canonical) = (&context.admission.links, context.admission.links.canonical(to));
        let seed = self.request.discovery.is_seed();
        if let Some(host) = HostKey::of(&canonical)
            && !links.canonicalizer().is_too_long(&canonical)
            && self.request.redirects.len() < MAX_REDIRECTS
            && (seed || (links.admits(&canonical) && links.trap(&canonical).is_none()))
        {
            // the target of a seed's redirect counts as a seed
            let discovery = if seed { Discovery::Seed } else { Discovery::Redirect };
            if seed {
                self.extend_scope(&canonical).await?;
            }
            let mut target = new_url(canonical, host, self.request.depth, discovery);
            target.redirects.clone_from(&self.request.redirects);
            target.redirects.push(self.request.url.as_str().to_owned());
            self.enqueue(target, false).await?;
            context.stats.changed.notify_one();
        }
        Ok(self.fail(Stage::Fetch, "navigation", Some(status), format!("the page's script leads to {to}")))
    }

    /// Attaches the guard of a trial page to its body. The trial ends when the body is dropped.
    pub(super) fn on_trial(guard: Option<TrialGuard>, mut page: Box<FetchedPage>) -> Box<FetchedPage> {
        if let Some(guard) = guard {
            let body = page.body.guard.take();
            page.body.guard = Some(Box::new((body, guard)));
        }
        page
    }
}

/// Returns the outcome of a navigation for its host.
fn outcome(rendered: &Result<Rendered, RenderError>) -> SlotOutcome {
    let (status, retry_after) = match rendered {
        Ok(rendered) => (Some(rendered.status).filter(|status| *status > 0), retry_after(rendered)),
        Err(RenderError::NavigatedAway { status, .. } | RenderError::NoContent(status)) => {
            (Some(*status), None)
        }
        Err(_) => (None, None),
    };
    let unanswered = rendered.as_ref().is_err_and(RenderError::is_unanswered);
    SlotOutcome { status, retry_after, unanswered, ..SlotOutcome::default() }
}

/// Returns true if the document of a browser came as HTML. The browser shows plain text and XML as documents of its
/// own.
fn is_html(rendered: &Rendered) -> bool {
    let declared = rendered.headers.iter().find(|(name, _)| name == "content-type");
    declared.is_none_or(|(_, value)| {
        let kind = value.split(';').next().unwrap_or_default().trim();
        ["", "text/html", "application/xhtml+xml"].iter().any(|html| kind.eq_ignore_ascii_case(html))
    })
}

fn retry_after(rendered: &Rendered) -> Option<Duration> {
    let value = |name: &str| {
        rendered.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    };
    parse_retry_after(value("retry-after")?, answered_at(value("date"), value("age")))
}

/// Converts a rendered document to a fetched page.
fn page_of(
    request: CrawlRequest,
    rendered: Rendered,
    status: u16,
    started_at_ms: i64,
    strategy: Strategy,
) -> FetchedPage {
    let millis = |duration: Duration| u32::try_from(duration.as_millis()).unwrap_or(u32::MAX);
    let mut headers: Vec<_> =
        rendered.headers.into_iter().filter(|(name, _)| name != "content-type").collect();
    // the browser returns text, for any declared charset
    headers.push(("content-type".into(), HTML.into()));
    FetchedPage {
        request,
        final_url: rendered.url,
        status,
        headers: Headers(headers),
        body: Body { bytes: rendered.html.into(), guard: None, truncated: rendered.truncated },
        strategy,
        timings: Timings {
            started_at_ms,
            first_byte_ms: millis(rendered.timings.navigate),
            total_ms: millis(rendered.timings.total),
        },
        wire_bytes: rendered.bytes,
        captured: None,
        unsettled: rendered.stopped || !rendered.settled,
        reserved_by_file: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crawl_chrome::RenderPhase;

    #[test]
    fn browser_errors_count_as_unanswered_or_answered() {
        let of = |error| outcome(&Err(error));
        let limit = Duration::from_secs(1);
        let late = RenderError::Timeout { phase: RenderPhase::Navigate, limit };
        assert!(of(RenderError::Network("reset".into())).unanswered && of(late).unanswered);
        // for these errors the host has answered, or got no request
        for error in [RenderError::Hung, RenderError::Crashed, RenderError::BrowserLost("gone".into())] {
            assert!(!of(error).unanswered);
        }
        let to = "http://h.test/".parse().unwrap();
        let away = of(RenderError::NavigatedAway { to, status: 302 });
        assert_eq!((away.status, away.unanswered), (Some(302), false));
    }
}
