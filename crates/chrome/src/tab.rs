//! A tab, and the four phases of a page in it.

use crate::{
    browser::{Chrome, OWN, OpenTab},
    cdp::{CallError, Session},
    error::{RenderError, RenderPhase},
    page::{Rendered, Timings},
    proxy::{Lane, Proxy, Refusal},
    rules::RULES,
    script::{Taken, take_call},
    seen::{Asked, Seen, asks_for, listener, lock},
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

/// Time that the page's own clock is given over its budgets before its script is ended.
const MARGIN: Duration = Duration::from_secs(2);
/// How long a tab may take to close.
const CLOSE: Duration = Duration::from_secs(5);
/// Documents that a page may lead to by script, one after the other.
const MAX_HOPS: u32 = 10;
/// How long a page may take to stop its scripts.
const QUIET: Duration = Duration::from_secs(1);

/// Bytes that the origin of a page may store.
const QUOTA: f64 = 64.0 * 1024.0 * 1024.0;
/// Bytes of a document that is wanted as it was sent; a longer one is not kept.
const SENT: u32 = 4 << 20;

/// A tab that renders pages, one after the other.
pub(crate) struct PageTab {
    tab: Session,
    target_id: String,
    context_id: String,
    lane: Lane,
    seen: Arc<Mutex<Seen>>,
    /// Rings after each event; silent for good once the session has ended.
    bell: Receiver<()>,
}

/// Why a navigation brought no document.
enum NotShown {
    Download,
    /// In the browser's words.
    Error(String),
}

/// What a page is rendered with.
pub(crate) struct Tools<'a> {
    pub(crate) chrome: &'a Chrome,
    pub(crate) settings: &'a ChromeSettings,
    pub(crate) proxy: &'a Proxy,
    pub(crate) watch: &'a Watch,
}

impl PageTab {
    /// Opens a tab of a browser and tells it what holds for every page.
    pub(crate) fn open(
        chrome: &Chrome,
        lane: Lane,
        settings: &ChromeSettings,
        script: &str,
    ) -> Result<Self, CallError> {
        let OpenTab { context_id, target_id, session_id: id } = chrome.open_tab(&lane)?;
        let seen = Arc::new(Mutex::new(Seen::default()));
        // the id of a tab is that of its frame, too
        let (ring, bell) = sync_channel(1);
        let named = chrome.session.named(&id);
        let on_event = listener(&seen, named, target_id.clone(), settings.max_page_bytes, ring);
        let tab = chrome.session.attached(&id, on_event);
        let behavior = Page::SetDownloadBehaviorBehaviorOption::Deny;
        let script = Page::AddScriptToEvaluateOnNewDocument {
            source: script.to_owned(),
            world_name: None,
            include_command_line_api: None,
            run_immediately: None,
        };
        let urls = blocked_urls(settings);
        // all are on their way before the first is waited for
        let mut waits = vec![
            tab.begin_within(Page::Enable { enable_file_chooser_opened_event: None }, OWN)?,
            tab.begin_within(network(false), OWN)?,
            tab.begin_within(asks_for(None), OWN)?,
            tab.begin_within(Network::SetBypassServiceWorker { bypass: true }, OWN)?,
            tab.begin_within(Page::SetDownloadBehavior { behavior, download_path: None }, OWN)?,
            tab.begin_within(Emulation::SetFocusEmulationEnabled { enabled: true }, OWN)?,
            tab.begin_within(metrics(settings.viewport), OWN)?,
            tab.begin_within(script, OWN)?,
        ];
        if !urls.is_empty() {
            waits.push(tab.begin_within(Network::SetBlockedURLs { urls }, OWN)?);
        }
        waits.into_iter().try_for_each(|wait| wait())?;
        Ok(Self { tab, target_id, context_id, lane, seen, bell })
    }

    /// Renders a page.
    pub(crate) fn render(&self, asked: Asked, tools: &Tools<'_>) -> Result<Rendered, RenderError> {
        let start = Instant::now();
        let url = &asked.url.clone();
        let before = std::mem::replace(&mut *lock(&self.seen), Seen::new(asked));
        self.lane.begin();
        let rendered = self.render_from(&before, url, start, tools);
        rendered.map_err(|error| match error {
            RenderError::Crashed if tools.chrome.keeper().claim_page(start) => {
                RenderError::Memory { limit: tools.settings.max_page_memory }
            }
            RenderError::BrowserLost(reason) => {
                let why = tools.chrome.keeper().ended_browser();
                RenderError::BrowserLost(why.map_or(reason, str::to_owned))
            }
            error => error,
        })
    }

    fn render_from(
        &self,
        before: &Seen,
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
            Ok(Some(_)) if let Some(away) = self.led_away() => return Err(away),
            Ok(None) => {}
            Ok(Some(_)) | Err(_) if step == Step::Stop => {
                return Err(RenderError::Timeout { phase: RenderPhase::Navigate, limit });
            }
            Ok(Some(NotShown::Download)) => return Err(RenderError::Download),
            Ok(Some(NotShown::Error(reason))) => {
                return Err(match lock(&self.seen).status() {
                    status @ (204 | 205) => RenderError::NoContent(status),
                    _ => refused(url, reason, tools.proxy),
                });
            }
            Err(error) => return Err(self.why(&error, step, tools.chrome)),
        }
        let navigate = start.elapsed();
        let taken = self.take(tools);
        // one that leads away again and again keeps its tab busy, too
        if let Some(away) = self.led_away().filter(|_| !matches!(taken, Err(RenderError::BrowserLost(_)))) {
            return Err(away);
        }
        let (taken, stopped) = taken?;
        let as_sent = self.as_sent();
        let [settle, consent, scroll] = taken.phases();
        let timings = Timings { navigate, settle, consent, scroll, total: start.elapsed() };
        let mut seen = lock(&self.seen);
        seen.restless = taken.goes_on || stopped;
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

    /// Has the tab do what the page wants, as far as it differs from what the page before wanted.
    fn prepare(&self, before: &Seen, url: &Url) -> Result<(), CallError> {
        let (own, keeps_sent) = {
            let seen = lock(&self.seen);
            (seen.own(), seen.keeps_sent())
        };
        let origin = url.origin().ascii_serialization();
        // what it stores is in the memory of the browser; where that is not known the browser's own bound holds
        self.tab.send(Storage::OverrideQuotaForOrigin { origin, quota_size: Some(QUOTA) });
        if before.cookies {
            self.forget()?;
        }
        if own != before.own() {
            self.tab.call(asks_for(own), OWN)?;
        }
        if keeps_sent != before.keeps_sent() {
            self.tab.call(network(keeps_sent), OWN)?;
        }
        Ok(())
    }

    /// The document as it was sent, where it was wanted. It has been on its way since it came.
    fn as_sent(&self) -> Option<String> {
        let pending = lock(&self.seen).take_sent()?;
        let (sent, _) = pending.wait(OWN).ok()?;
        (!sent.base_64_encoded).then_some(sent.body)
    }

    /// Sends the tab to a URL and waits for the document's first byte. Says why where none came.
    fn navigate(&self, url: &Url, limit: Duration) -> Result<Option<NotShown>, CallError> {
        let answer = self.tab.call(navigation(url.as_str()), limit + OWN)?;
        if answer.is_download.unwrap_or(false) {
            return Ok(Some(NotShown::Download));
        }
        Ok(answer.error_text.filter(|text| !text.is_empty()).map(NotShown::Error))
    }

    fn led_away(&self) -> Option<RenderError> {
        lock(&self.seen).led_away()
    }

    /// Waits for rest, dismisses consent, scrolls and takes the HTML: in one call, unless the page leads elsewhere or loads
    /// what cannot be seen from inside. Says as well whether its script had to be ended.
    fn take(&self, tools: &Tools<'_>) -> Result<(Taken, bool), RenderError> {
        let budgets = tools.settings.budgets;
        let limit = budgets.inside() + MARGIN;
        let guard = tools.watch.arm(Some(&self.tab), tools.chrome.group(), Step::Terminate, limit);
        let until = Instant::now() + budgets.settle;
        let (mut hops, mut scrolls) = (0, 0);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let steps = tools.settings.scrolls.saturating_sub(scrolls);
            let call = take_call(tools.settings, left, steps, lock(&self.seen).refreshes());
            let error = match self.call(call, limit + OWN) {
                // the document in the place of one that crashed is not the page
                Ok(_) if lock(&self.seen).crashed => return Err(RenderError::Crashed),
                Ok((mut taken, at)) => {
                    scrolls += taken.scrolls;
                    taken.scrolls = scrolls;
                    if taken.settled && !left.is_zero() && self.was_loading(at, until) {
                        continue;
                    }
                    return Ok((taken, guard.taken() != Step::None));
                }
                Err(error) => error,
            };
            hops += 1;
            let ended = guard.taken() > Step::Terminate || lock(&self.seen).crashed;
            if !ended && hops > MAX_HOPS && leads_elsewhere(&error) {
                lock(&self.seen).restless = true;
                return Err(RenderError::Navigation("its script leads on without end".into()));
            }
            if ended || !(leads_elsewhere(&error) || was_terminated(&error, guard.taken())) {
                return Err(self.why(&error, guard.taken(), tools.chrome));
            }
        }
    }

    /// Whether the page was loading something when its answer was read, at `at`: what only the browser sees, so the page did not
    /// wait for it. Waits until that has come.
    fn was_loading(&self, at: Instant, until: Instant) -> bool {
        if !lock(&self.seen).was_loading(at) {
            return false;
        }
        while lock(&self.seen).is_loading() {
            let left = until.saturating_duration_since(Instant::now());
            // late, or the tab is gone: either way the next call says so
            if self.bell.recv_timeout(left).is_err() {
                break;
            }
        }
        true
    }

    /// What a failed call means, given what was done to end it.
    fn why(&self, error: &CallError, taken: Step, chrome: &Chrome) -> RenderError {
        if taken == Step::Kill {
            chrome.lose();
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

    /// Forgets the cookies of the tab: no page is told that another was read.
    fn forget(&self) -> Result<(), CallError> {
        self.tab.call(Network::ClearBrowserCookies(None), OWN).map(drop)
    }

    /// Counts what a page that failed has received as nobody's.
    pub(crate) fn charge_none(&self) {
        self.lane.charge_none();
    }

    /// Whether the tab's process died while nothing was rendered.
    pub(crate) fn is_crashed(&self) -> bool {
        lock(&self.seen).crashed
    }

    /// Whether the tab shows a page that goes on after it was taken.
    pub(crate) fn is_restless(&self) -> bool {
        lock(&self.seen).restless
    }

    /// Leaves the page, so that its scripts end.
    pub(crate) fn leave(&self, chrome: &Chrome, watch: &Watch) -> Result<(), CallError> {
        lock(&self.seen).restless = false;
        let _guard = watch.arm(Some(&self.tab), chrome.group(), Step::Crash, MARGIN);
        self.tab.call(navigation("about:blank"), OWN).map(drop)
    }

    /// Closes the tab.
    pub(crate) fn close(&self, chrome: &Chrome) {
        if self.is_restless() {
            // requests are no longer asked about once the tab is let go, and a script that leads away goes on until the tab is gone
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

/// Has the tab tell of the network. Bodies are kept if documents are wanted as they were sent: one of them, or what comes after it.
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

/// Why the document did not come: the proxy knows more than the browser.
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

/// Whether an error of the browser says that a host was not reached, or the connection to it lost. By the names of Chromium's
/// net/base/net_error_list.h; an empty response is what a connection that the proxy could not make looks like.
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

/// Whether the document that was asked is gone because the page leads to another one.
fn leads_elsewhere(error: &CallError) -> bool {
    says(error, &["navigated", "context was destroyed", "Cannot find"])
}

/// Whether the call itself was ended with the script that kept the page, which it may have been made within.
fn was_terminated(error: &CallError, taken: Step) -> bool {
    taken == Step::Terminate && says(error, &["terminated", "Terminated", "Internal error"])
}

fn says(error: &CallError, words: &[&str]) -> bool {
    matches!(error, CallError::Refused(message) if words.iter().any(|words| message.contains(words)))
}
