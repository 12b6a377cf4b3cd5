//! A tab, and the four phases of a page in it.

use crate::{
    browser::{BROWSER_LIMIT, Chrome, OpenTab},
    cdp::{CallError, Session},
    error::{RenderError, RenderPhase},
    page::{Rendered, Timings},
    proxy::{Lane, Proxy, Refusal},
    rules::RULES,
    script::{Taken, take_call},
    seen::{PageRequest, PageState, asks_for, listener, lock},
    settings::{Blocked, ChromeSettings, DRAWN_AT},
    watch::{Step, Watch},
};
use headless_chrome::protocol::cdp::{Emulation, Network, Page, Runtime, Storage};
use std::{
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, sync_channel},
    },
    time::{Duration, Instant},
};
use url::Url;

/// Time beyond the budgets before the page's script is ended.
const MARGIN: Duration = Duration::from_secs(2);
/// Limit of closing a tab.
const CLOSE: Duration = Duration::from_secs(5);
/// Maximum documents that a page leads to by script, in sequence.
const MAX_HOPS: u32 = 10;
/// Pause between two checks of an inert page that is still loading. An event ends it early.
const LOAD_PAUSE: Duration = Duration::from_millis(20);
/// Limit of stopping a page's scripts.
const QUIET: Duration = Duration::from_secs(1);

/// Bytes that the origin of a page may store.
const QUOTA: f64 = 64.0 * 1024.0 * 1024.0;
/// Maximum bytes of an original document; a longer one is not kept.
const SENT: u32 = 4 << 20;

/// A tab that renders pages in sequence.
pub(crate) struct PageTab {
    tab: Session,
    target_id: String,
    context_id: String,
    lane: Lane,
    seen: Arc<Mutex<PageState>>,
    /// Signal after each event; closed once the session has ended.
    event_signal: Receiver<()>,
}

/// Reason why a navigation has no document.
enum NavigationFailure {
    Download,
    /// Error text of the browser.
    Error(String),
}

/// Shared parts for rendering a page.
pub(crate) struct Tools<'a> {
    pub(crate) chrome: &'a Chrome,
    pub(crate) settings: &'a ChromeSettings,
    pub(crate) proxy: &'a Proxy,
    pub(crate) watch: &'a Watch,
}

impl PageTab {
    /// Opens a tab of a browser and configures it for every page.
    pub(crate) fn open(
        chrome: &Chrome,
        lane: Lane,
        settings: &ChromeSettings,
        script: &str,
    ) -> Result<Self, CallError> {
        let OpenTab { context_id, target_id, session_id: id } = chrome.open_tab(&lane)?;
        let seen = Arc::new(Mutex::new(PageState::default()));
        // the id of a tab is also the id of its frame
        let (signal, event_signal) = sync_channel(1);
        let named = chrome.session.named(&id);
        let on_event = listener(&seen, named, target_id.clone(), settings.max_page_bytes, signal);
        let tab = chrome.session.attached(&id, on_event);
        let behavior = Page::SetDownloadBehaviorBehaviorOption::Deny;
        let script = Page::AddScriptToEvaluateOnNewDocument {
            source: script.to_owned(),
            world_name: None,
            include_command_line_api: None,
            run_immediately: None,
        };
        let urls = blocked_urls(settings);
        // all calls are sent before the first is waited for
        let mut waits = vec![
            tab.begin_within(Page::Enable { enable_file_chooser_opened_event: None }, BROWSER_LIMIT)?,
            tab.begin_within(network(false), BROWSER_LIMIT)?,
            tab.begin_within(asks_for(None), BROWSER_LIMIT)?,
            tab.begin_within(Network::SetBypassServiceWorker { bypass: true }, BROWSER_LIMIT)?,
            tab.begin_within(Page::SetDownloadBehavior { behavior, download_path: None }, BROWSER_LIMIT)?,
            tab.begin_within(Emulation::SetFocusEmulationEnabled { enabled: true }, BROWSER_LIMIT)?,
            tab.begin_within(metrics(settings.viewport), BROWSER_LIMIT)?,
            tab.begin_within(script, BROWSER_LIMIT)?,
        ];
        if !urls.is_empty() {
            waits.push(tab.begin_within(Network::SetBlockedURLs { urls }, BROWSER_LIMIT)?);
        }
        waits.into_iter().try_for_each(|wait| wait())?;
        Ok(Self { tab, target_id, context_id, lane, seen, event_signal })
    }

    /// Renders a page.
    pub(crate) fn render(&self, asked: PageRequest, tools: &Tools<'_>) -> Result<Rendered, RenderError> {
        let start = Instant::now();
        let url = &asked.url.clone();
        let before = std::mem::replace(&mut *lock(&self.seen), PageState::new(asked));
        self.lane.begin();
        let rendered = self.render_from(&before, url, start, tools);
        rendered.map_err(|error| match error {
            RenderError::Crashed if tools.chrome.watchdog().claim_page(start) => {
                RenderError::Memory { limit: tools.settings.max_page_memory }
            }
            RenderError::BrowserLost(reason) => {
                let why = tools.chrome.watchdog().ended_browser();
                RenderError::BrowserLost(why.map_or(reason, str::to_owned))
            }
            error => error,
        })
    }

    fn render_from(
        &self,
        before: &PageState,
        url: &Url,
        start: Instant,
        tools: &Tools<'_>,
    ) -> Result<Rendered, RenderError> {
        let limit = tools.settings.budgets.navigate;
        let guard = tools.watch.arm(Some(&self.tab), tools.chrome.group(), Step::Stop, limit);
        let navigated = self.prepare(before, url).and_then(|()| self.navigate(url, limit));
        let step = guard.taken();
        drop(guard);
        match navigated {
            Ok(Some(_)) if let Some(away) = self.navigated_away() => return Err(away),
            Ok(None) => {}
            Ok(Some(_)) | Err(_) if step == Step::Stop => {
                return Err(RenderError::Timeout { phase: RenderPhase::Navigate, limit });
            }
            Ok(Some(NavigationFailure::Download)) => return Err(RenderError::Download),
            Ok(Some(NavigationFailure::Error(reason))) => {
                return Err(match lock(&self.seen).status() {
                    status @ (204 | 205) => RenderError::NoContent(status),
                    _ => refused(url, reason, tools.proxy),
                });
            }
            Err(error) => return Err(self.error_of(&error, step, tools.chrome)),
        }
        let navigate = start.elapsed();
        let taken = self.take(tools);
        // a page that keeps navigating away makes the call fail too
        if let Some(away) =
            self.navigated_away().filter(|_| !matches!(taken, Err(RenderError::BrowserLost(_))))
        {
            return Err(away);
        }
        let (taken, stopped) = taken?;
        let as_sent = self.as_sent();
        let [settle, consent, scroll] = taken.phases();
        let timings = Timings { navigate, settle, consent, scroll, total: start.elapsed() };
        let mut seen = lock(&self.seen);
        seen.still_running = taken.goes_on || stopped;
        seen.cookies |= taken.cookies;
        let url = taken.address()?;
        Ok(Rendered {
            document: seen.address().unwrap_or_else(|| url.clone()),
            url,
            status: seen.status(),
            headers: seen.headers(),
            bytes: self.lane.take_received(),
            truncated: taken.truncated || seen.over || self.lane.is_over(),
            html: taken.html,
            as_sent,
            timings,
            settled: taken.settled && !stopped,
            stopped,
            banners: taken.dismissed,
            scrolls: taken.scrolls,
        })
    }

    /// Configures the tab for the page, if its needs differ from those of the last page.
    fn prepare(&self, before: &PageState, url: &Url) -> Result<(), CallError> {
        let (own, keeps_sent) = {
            let seen = lock(&self.seen);
            (seen.own(), seen.keeps_sent())
        };
        let origin = url.origin().ascii_serialization();
        // the stored data is in the memory of the browser; without an origin the browser's own bound applies
        self.tab.send(Storage::OverrideQuotaForOrigin { origin, quota_size: Some(QUOTA) });
        if before.cookies {
            self.clear_cookies()?;
        }
        if own != before.own() {
            self.tab.call(asks_for(own), BROWSER_LIMIT)?;
        }
        if keeps_sent != before.keeps_sent() {
            self.tab.call(network(keeps_sent), BROWSER_LIMIT)?;
        }
        Ok(())
    }

    /// The original document, if requested. The transfer began when it arrived.
    fn as_sent(&self) -> Option<String> {
        let pending = lock(&self.seen).take_sent()?;
        let (sent, _) = pending.wait(BROWSER_LIMIT).ok()?;
        (!sent.base_64_encoded).then_some(sent.body)
    }

    /// Navigates the tab to a URL and waits for the document's first byte. Returns the reason if none
    /// arrives.
    fn navigate(&self, url: &Url, limit: Duration) -> Result<Option<NavigationFailure>, CallError> {
        let answer = self.tab.call(navigation(url.as_str()), limit + BROWSER_LIMIT)?;
        if answer.is_download.unwrap_or(false) {
            return Ok(Some(NavigationFailure::Download));
        }
        Ok(answer.error_text.filter(|text| !text.is_empty()).map(NavigationFailure::Error))
    }

    fn navigated_away(&self) -> Option<RenderError> {
        lock(&self.seen).navigated_away()
    }

    /// Waits until the page settles, dismisses consent, scrolls and takes the HTML. It needs one call, unless the
    /// page navigates elsewhere or has loads that its script cannot see. The second value is true if its script had
    /// to be ended.
    fn take(&self, tools: &Tools<'_>) -> Result<(Taken, bool), RenderError> {
        let budgets = tools.settings.budgets;
        let limit = budgets.inside() + MARGIN;
        let guard = tools.watch.arm(Some(&self.tab), tools.chrome.group(), Step::Terminate, limit);
        let until = Instant::now() + budgets.settle;
        let (mut hops, mut scrolls) = (0, 0);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let steps = tools.settings.scrolls.saturating_sub(scrolls);
            let traits = lock(&self.seen).traits();
            let call = take_call(tools.settings, left, steps, traits);
            let error = match self.call(call, limit + BROWSER_LIMIT) {
                // the document that replaces a crashed one is not the page
                Ok(_) if lock(&self.seen).crashed => return Err(RenderError::Crashed),
                Ok((mut taken, at)) => {
                    scrolls += taken.scrolls;
                    taken.scrolls = scrolls;
                    if taken.settled && !left.is_zero() && self.was_loading(at, until) {
                        match self.keeps_navigating(hops) {
                            Some(error) => return Err(error),
                            None => continue,
                        }
                    }
                    if traits.inert && !taken.settled && !left.is_zero() {
                        let _ = self.event_signal.recv_timeout(LOAD_PAUSE);
                        continue;
                    }
                    return Ok((taken, guard.taken() != Step::None));
                }
                Err(error) => error,
            };
            hops += 1;
            let ended = guard.taken() > Step::Terminate || lock(&self.seen).crashed;
            if !ended
                && leads_elsewhere(&error)
                && let Some(error) = self.keeps_navigating(hops)
            {
                return Err(error);
            }
            if ended || !(leads_elsewhere(&error) || was_terminated(&error, guard.taken())) {
                return Err(self.error_of(&error, guard.taken(), tools.chrome));
            }
        }
    }

    /// Returns true if the page was loading when its answer was read, at `at`. Only the browser sees such
    /// loads, so the page did not wait for them. Waits for their end.
    fn was_loading(&self, at: Instant, until: Instant) -> bool {
        if !lock(&self.seen).was_loading(at) {
            return false;
        }
        while lock(&self.seen).is_loading() && lock(&self.seen).hops() <= MAX_HOPS {
            let left = until.saturating_duration_since(Instant::now());
            // late, or the tab has closed: either way the next call reports it
            if self.event_signal.recv_timeout(left).is_err() {
                break;
            }
        }
        true
    }

    /// Error of a page that has replaced its document too often. `failed` is the number of calls that a new
    /// document has ended; a document without a response is in no other count.
    fn keeps_navigating(&self, failed: u32) -> Option<RenderError> {
        let mut seen = lock(&self.seen);
        if failed.max(seen.hops()) <= MAX_HOPS {
            return None;
        }
        seen.still_running = true;
        Some(RenderError::Navigation("its script keeps navigating".into()))
    }

    /// Error of a failed call, given the steps taken to end it.
    fn error_of(&self, error: &CallError, taken: Step, chrome: &Chrome) -> RenderError {
        if taken == Step::Kill {
            chrome.mark_lost();
        }
        if taken >= Step::Crash {
            return RenderError::Hung;
        }
        if lock(&self.seen).crashed {
            return RenderError::Crashed;
        }
        match error {
            CallError::Crashed => RenderError::Crashed,
            CallError::Refused(_) | CallError::Unreadable(_) => RenderError::Protocol(error.to_string()),
            CallError::Closed | CallError::Late(_) => RenderError::BrowserLost(error.to_string()),
        }
    }

    fn call(&self, expression: String, limit: Duration) -> Result<(Taken, Instant), CallError> {
        let evaluate = Runtime::Evaluate {
            expression,
            return_by_value: Some(true),
            await_promise: Some(true),
            silent: Some(true),
            object_group: None,
            include_command_line_api: None,
            context_id: None,
            generate_preview: None,
            user_gesture: None,
            throw_on_side_effect: None,
            timeout: None,
            disable_breaks: None,
            repl_mode: None,
            allow_unsafe_eval_blocked_by_csp: None,
            unique_context_id: None,
            serialization_options: None,
        };
        let (answer, at) = self.tab.call_timed(evaluate, limit)?;
        if let Some(exception) = answer.exception_details {
            return Err(CallError::Refused(answer.result.description.unwrap_or(exception.text)));
        }
        let taken: Result<Taken, _> = serde_json::from_value(answer.result.value.unwrap_or_default());
        taken.map(|taken| (taken, at)).map_err(|error| CallError::Unreadable(error.to_string()))
    }

    /// Drops the cookies of the tab, so that no page learns of earlier ones.
    fn clear_cookies(&self) -> Result<(), CallError> {
        self.tab.call(Network::ClearBrowserCookies(None), BROWSER_LIMIT).map(drop)
    }

    /// Charges the bytes of a failed page to no page.
    pub(crate) fn charge_none(&self) {
        self.lane.charge_none();
    }

    /// Returns true if the tab's process died while no page was rendered.
    pub(crate) fn is_crashed(&self) -> bool {
        lock(&self.seen).crashed
    }

    /// Returns true if the tab's page continues after it was taken.
    pub(crate) fn is_still_running(&self) -> bool {
        lock(&self.seen).still_running
    }

    /// Leaves the page, so that its scripts end.
    pub(crate) fn leave(&self, chrome: &Chrome, watch: &Watch) -> Result<(), CallError> {
        lock(&self.seen).still_running = false;
        let _guard = watch.arm(Some(&self.tab), chrome.group(), Step::Crash, MARGIN);
        self.tab.call(navigation("about:blank"), BROWSER_LIMIT).map(drop)
    }

    /// Closes the tab.
    pub(crate) fn close(&self, chrome: &Chrome) {
        if self.is_still_running() {
            // a released tab no longer intercepts requests, so a script that navigates away would continue until the
            // tab closes
            let _ = self.tab.call(Emulation::SetScriptExecutionDisabled { value: true }, QUIET);
            self.tab.send(Page::StopLoading(None));
        }
        chrome.close_tab(&self.tab, self.target_id.clone(), self.context_id.clone(), CLOSE);
    }
}

fn navigation(url: &str) -> Page::Navigate {
    Page::Navigate {
        url: url.to_owned(),
        referrer: None,
        transition_Type: None,
        frame_id: None,
        referrer_policy: None,
    }
}

/// Enables network events. Bodies are kept if original documents are requested: one document, or later
/// bodies.
fn network(keeps_sent: bool) -> Network::Enable {
    let kept = Some(if keeps_sent { SENT } else { 0 });
    Network::Enable {
        max_total_buffer_size: kept,
        max_resource_buffer_size: kept,
        max_post_data_size: Some(0),
        report_direct_socket_traffic: None,
        enable_durable_messages: None,
    }
}

/// The window as pages see it.
fn metrics((width, height): (u32, u32)) -> Emulation::SetDeviceMetricsOverride {
    Emulation::SetDeviceMetricsOverride {
        width,
        height,
        device_scale_factor: 1.0,
        mobile: false,
        scale: Some(DRAWN_AT),
        screen_width: Some(width),
        screen_height: Some(height),
        position_x: Some(0),
        position_y: Some(0),
        dont_set_visible_size: None,
        screen_orientation: None,
        viewport: None,
        display_feature: None,
        device_posture: None,
    }
}

fn blocked_urls(settings: &ChromeSettings) -> Vec<String> {
    let Blocked { images, media, fonts, .. } = settings.blocked;
    let lists = [(images, &RULES.images), (media, &RULES.media), (fonts, &RULES.fonts)];
    lists.into_iter().filter(|(blocked, _)| *blocked).flat_map(|(_, list)| list.patterns.clone()).collect()
}

/// Error of a document that did not load. The proxy knows the reason better than the browser.
fn refused(url: &Url, reason: String, proxy: &Proxy) -> RenderError {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    match proxy.refusal(host, url.port_or_known_default().unwrap_or_default()) {
        Some(Refusal::Address(address)) => RenderError::AddressBlocked { host: host.to_owned(), address },
        Some(Refusal::Failed(why)) if is_of_network(&reason) => {
            RenderError::Network(format!("{reason}: {why}"))
        }
        Some(refusal) => RenderError::Navigation(format!("{reason}: {refusal}")),
        None if is_of_network(&reason) => RenderError::Network(reason),
        None => RenderError::Navigation(reason),
    }
}

/// Returns true if a browser's error means that a host was unreachable, or its connection lost. The names are
/// those of Chromium's net/base/net_error_list.h. A failed connection of the proxy appears as an empty
/// response.
fn is_of_network(reason: &str) -> bool {
    const NAMES: [&str; 15] = [
        "ADDRESS_UNREACHABLE",
        "CONNECTION_",
        "CONTENT_LENGTH_MISMATCH",
        "DNS_",
        "EMPTY_RESPONSE",
        "HTTP2_",
        "INCOMPLETE_",
        "INTERNET_DISCONNECTED",
        "NAME_",
        "NETWORK_",
        "PROXY_CONNECTION_FAILED",
        "QUIC_",
        "SOCKET_",
        "TIMED_OUT",
        "TUNNEL_CONNECTION_FAILED",
    ];
    let name = reason.strip_prefix("net::ERR_");
    name.is_some_and(|name| NAMES.iter().any(|one| name.starts_with(one)))
}

/// Returns true if the call failed because the page navigated to another document.
fn leads_elsewhere(error: &CallError) -> bool {
    says(error, &["navigated", "context was destroyed", "Cannot find"])
}

/// Returns true if the call was ended together with the script that blocked the page, within which it may
/// have run.
fn was_terminated(error: &CallError, taken: Step) -> bool {
    taken == Step::Terminate && says(error, &["terminated", "Terminated", "Internal error"])
}

fn says(error: &CallError, words: &[&str]) -> bool {
    matches!(error, CallError::Refused(message) if words.iter().any(|words| message.contains(words)))
}
