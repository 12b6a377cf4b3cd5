//! A tab, and the four phases of a page in it.

use crate::{
    browser::Chrome,
    error::{RenderError, RenderPhase},
    proxy::{Proxy, Refusal},
    rules::RULES,
    settings::ChromeSettings,
    watch::{Step, Watch},
};
use anyhow::Result;
use headless_chrome::{
    Tab,
    protocol::cdp::{Emulation, Network, Page, Runtime, types::Event},
    types::RemoteError,
};
use serde::Deserialize;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use url::Url;

const SCRIPT: &str = include_str!("js/page.js");
/// The property of the window under which the script in the page is called.
const KEY: &str = "__crawlPage";
/// Time that the page's own clock is given over its budgets before its tab is ended.
const MARGIN: Duration = Duration::from_secs(2);
/// Documents that a page may lead to by script, one after the other.
const MAX_HOPS: u32 = 10;
/// Response headers that say something of the page: what it is, and what may be done with it.
const HEADERS: [&str; 8] = [
    "content-type",
    "content-language",
    "last-modified",
    "link",
    "retry-after",
    "tdm-policy",
    "tdm-reservation",
    "x-robots-tag",
];

/// A page as the browser shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// The document as HTML, as it stood at the end.
    pub html: String,
    /// Where it stands, after redirects of the server and of scripts.
    pub url: Url,
    /// Status of the response; 0 where the browser told none.
    pub status: u16,
    /// Names in lower case and values of the response headers that say something of the page (its type and language,
    /// `X-Robots-Tag`, the TDM headers, `Link`, `Last-Modified`, `Retry-After`).
    pub headers: Vec<(String, String)>,
    /// How long each phase took.
    pub timings: Timings,
    /// Bytes that were loaded for it, as they came over the network.
    pub bytes: u64,
    /// Whether network and DOM came to rest within their budget; else the HTML is what was there.
    pub settled: bool,
    /// Whether something was cut off: the HTML, or what the page would have loaded.
    pub truncated: bool,
    /// Consent banners that were dismissed.
    pub banners: u32,
    /// Steps that were scrolled.
    pub scrolls: u32,
}

/// How long the phases of a page took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timings {
    /// Until the document came.
    pub navigate: Duration,
    /// Until network and DOM were at rest.
    pub settle: Duration,
    /// Dismissing consent.
    pub consent: Duration,
    /// Scrolling.
    pub scroll: Duration,
    /// All of it, taking the HTML out of the browser included.
    pub total: Duration,
}

/// What events have told of the page so far.
#[derive(Default)]
struct Seen {
    document: Option<Network::Response>,
    encoded: f64,
    decoded: u64,
    over: bool,
    crashed: bool,
    /// A page was loaded that has not been left.
    used: bool,
    /// It goes on after it was taken.
    restless: bool,
}

/// A tab that renders pages, one after the other.
pub(crate) struct PageTab {
    tab: Arc<Tab>,
    seen: Arc<Mutex<Seen>>,
}

/// What the script in the page gives.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Taken {
    html: String,
    url: String,
    settled: bool,
    dismissed: u32,
    scrolls: u32,
    truncated: bool,
    goes_on: bool,
    times: [f64; 4],
}

/// The script for every document, with the rules in it.
pub(crate) fn page_script(settings: &ChromeSettings) -> String {
    let rules = serde_json::json!({
        "key": KEY,
        "quiet": millis(settings.budgets.quiet),
        // timers of up to a second, set in the first two, three deep: a page that shows something "in a moment" does
        // it so; what is slower or goes on is a clock
        "timerDelay": 1000, "timerWindow": 2000, "timerDepth": 3,
        "stepBudget": 1500,
        "consent": settings.consent,
        "buttons": RULES.consent.buttons,
    });
    SCRIPT.replacen("= RULES;", &format!("= {rules};"), 1)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PageTab {
    /// Opens a tab of a browser and tells it what holds for every page.
    pub(crate) fn open(chrome: &Chrome, settings: &ChromeSettings, script: &str) -> Result<Self> {
        let tab = chrome.open_tab()?;
        tab.call_method(Network::Enable {
            // bodies are not asked for
            max_total_buffer_size: Some(0),
            max_resource_buffer_size: Some(0),
            max_post_data_size: Some(0),
            report_direct_socket_traffic: None,
            enable_durable_messages: None,
        })?;
        let urls = blocked_urls(settings);
        if !urls.is_empty() {
            tab.call_method(Network::SetBlockedURLs { urls })?;
        }
        tab.call_method(Network::SetBypassServiceWorker { bypass: true })?;
        let behavior = Page::SetDownloadBehaviorBehaviorOption::Deny;
        tab.call_method(Page::SetDownloadBehavior { behavior, download_path: None })?;
        tab.call_method(Emulation::SetFocusEmulationEnabled { enabled: true })?;
        tab.call_method(Page::AddScriptToEvaluateOnNewDocument {
            source: script.to_owned(),
            world_name: None,
            include_command_line_api: None,
            run_immediately: None,
        })?;
        let seen = Arc::new(Mutex::new(Seen::default()));
        listen(&tab, &seen, settings.max_page_bytes)?;
        Ok(Self { tab, seen })
    }

    /// Renders a page.
    pub(crate) fn render(
        &self,
        url: &Url,
        chrome: &Chrome,
        settings: &ChromeSettings,
        proxy: &Proxy,
        watch: &Watch,
    ) -> Result<Rendered, RenderError> {
        let start = Instant::now();
        let before = std::mem::replace(&mut *lock(&self.seen), Seen { used: true, ..Seen::default() });
        let limit = settings.budgets.navigate;
        let guard = watch.arm(Some(&self.tab), chrome.group(), Step::Stop, limit);
        let navigated = if before.used { self.forget() } else { Ok(()) }.and_then(|()| self.navigate(url));
        let stopped = guard.taken();
        drop(guard);
        match navigated {
            Ok(None) => {}
            Ok(Some(_)) | Err(_) if stopped == Step::Stop => {
                return Err(RenderError::Timeout { phase: RenderPhase::Navigate, limit });
            }
            Ok(Some(reason)) => return Err(refused(url, reason, proxy)),
            Err(error) => return Err(self.why(&error, stopped, chrome)),
        }
        let navigate = start.elapsed();
        let taken = self.take(chrome, settings, watch)?;
        self.rendered(taken, navigate, start.elapsed(), url)
    }

    /// Sends the tab to a URL and waits for the document's first byte. Gives the browser's reason where none came.
    fn navigate(&self, url: &Url) -> Result<Option<String>> {
        let answer = self.tab.call_method(navigation(url.as_str()))?;
        let download = answer.is_download.unwrap_or(false).then(|| "it is a download".to_owned());
        Ok(answer.error_text.filter(|text| !text.is_empty()).or(download))
    }

    /// Waits for rest, dismisses consent, scrolls and takes the HTML, in one call unless the page leads elsewhere.
    fn take(&self, chrome: &Chrome, settings: &ChromeSettings, watch: &Watch) -> Result<Taken, RenderError> {
        let budgets = settings.budgets;
        let guard = watch.arm(Some(&self.tab), chrome.group(), Step::Crash, budgets.inside() + MARGIN);
        let start = Instant::now();
        let mut hops = 0;
        loop {
            let settle = budgets.settle.saturating_sub(start.elapsed());
            let call = format!(
                "window.{KEY}({{settle:{},consent:{},scrolling:{},steps:{},maxHtml:{}}})",
                millis(settle),
                millis(budgets.consent),
                millis(budgets.scroll),
                settings.scrolls,
                settings.max_html,
            );
            let error = match self.call(call) {
                // the document in the place of one that crashed is not the page
                Ok(_) if lock(&self.seen).crashed => return Err(RenderError::Crashed),
                Ok(taken) => return Ok(taken),
                Err(error) => error,
            };
            hops += 1;
            let ended = guard.taken() != Step::None || lock(&self.seen).crashed;
            if !ended && hops > MAX_HOPS && leads_elsewhere(&error) {
                lock(&self.seen).restless = true;
                return Err(RenderError::Navigation("its script leads on without end".into()));
            }
            if ended || !leads_elsewhere(&error) {
                return Err(self.why(&error, guard.taken(), chrome));
            }
        }
    }

    /// What a failed call means, given what was done to end it.
    fn why(&self, error: &anyhow::Error, taken: Step, chrome: &Chrome) -> RenderError {
        if taken == Step::Kill {
            chrome.lose();
        }
        if taken >= Step::Crash {
            return RenderError::Hung;
        }
        if lock(&self.seen).crashed {
            return RenderError::Crashed;
        }
        match error.downcast_ref::<RemoteError>() {
            Some(remote) => RenderError::Protocol(remote.message.clone()),
            None if error.is::<serde_json::Error>() => RenderError::Protocol(error.to_string()),
            // every other error is one of the connection
            None => RenderError::BrowserLost(error.to_string()),
        }
    }

    fn call(&self, expression: String) -> Result<Taken> {
        let answer = self.tab.call_method(Runtime::Evaluate {
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
        })?;
        if let Some(exception) = answer.exception_details {
            let text = answer.result.description.unwrap_or(exception.text);
            return Err(RemoteError { code: 0, message: text }.into());
        }
        Ok(serde_json::from_value(answer.result.value.unwrap_or_default())?)
    }

    fn rendered(
        &self,
        taken: Taken,
        navigate: Duration,
        total: Duration,
        asked: &Url,
    ) -> Result<Rendered, RenderError> {
        let url = Url::parse(&taken.url).map_err(|error| RenderError::Protocol(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(RenderError::Navigation(format!("{asked} led to {}:", url.scheme())));
        }
        let between = |from: usize| {
            let gap =
                taken.times.get(from + 1).zip(taken.times.get(from)).map_or(0.0, |(to, from)| to - from);
            Duration::try_from_secs_f64(gap / 1000.0).unwrap_or_default()
        };
        let timings =
            Timings { navigate, settle: between(0), consent: between(1), scroll: between(2), total };
        let mut seen = lock(&self.seen);
        seen.restless = taken.goes_on;
        let document = seen.document.as_ref();
        Ok(Rendered {
            status: document.map_or(0, |document| u16::try_from(document.status).unwrap_or(0)),
            headers: document.map(headers).unwrap_or_default(),
            bytes: seen.encoded as u64,
            truncated: taken.truncated || seen.over,
            html: taken.html,
            url,
            timings,
            settled: taken.settled,
            banners: taken.dismissed,
            scrolls: taken.scrolls,
        })
    }

    /// Forgets the cookies of the browser: no page is told that another was read. The tabs share them, so a page may
    /// lose its own while it is rendered, as with a reader who keeps none.
    fn forget(&self) -> Result<()> {
        self.tab.call_method(Network::ClearBrowserCookies(None)).map(drop)
    }

    /// Whether the tab shows a page that goes on after it was taken.
    pub(crate) fn is_restless(&self) -> bool {
        lock(&self.seen).restless
    }

    /// Leaves the page, so that its scripts end.
    pub(crate) fn leave(&self, chrome: &Chrome, watch: &Watch) -> Result<()> {
        lock(&self.seen).restless = false;
        let _guard = watch.arm(Some(&self.tab), chrome.group(), Step::Crash, MARGIN);
        self.tab.call_method(navigation("about:blank")).map(drop)
    }

    /// Closes the tab. What it still waits for is let go by the browser.
    pub(crate) fn close(&self, chrome: &Chrome, watch: &Watch) {
        let _guard = watch.arm(None, chrome.group(), Step::Kill, MARGIN);
        let _ = self.tab.close_target();
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

fn blocked_urls(settings: &ChromeSettings) -> Vec<String> {
    let lists = [(settings.blocked.media, &RULES.media), (settings.blocked.fonts, &RULES.fonts)];
    lists.into_iter().filter(|(blocked, _)| *blocked).flat_map(|(_, list)| list.patterns.clone()).collect()
}

/// Keeps what the tab's events tell, closes dialogs, and stops pages that load too much.
fn listen(tab: &Arc<Tab>, seen: &Arc<Mutex<Seen>>, max_bytes: u64) -> Result<()> {
    let seen = Arc::clone(seen);
    let frame = tab.get_target_id().clone();
    // weak: the tab holds its listeners
    let weak = Arc::downgrade(tab);
    let on_event = move |event: &Event| match event {
        Event::NetworkResponseReceived(event) => {
            let params = &event.params;
            if params.Type == Network::ResourceType::Document && params.frame_id.as_ref() == Some(&frame) {
                lock(&seen).document = Some(params.response.clone());
            }
        }
        Event::NetworkDataReceived(event) => {
            let mut seen = lock(&seen);
            seen.decoded += u64::from(event.params.data_length);
            if seen.decoded > max_bytes && !seen.over {
                seen.over = true;
                drop(seen);
                if let Some(tab) = weak.upgrade() {
                    let _ = tab.call_method(Page::StopLoading(None));
                }
            }
        }
        Event::NetworkLoadingFinished(event) => lock(&seen).encoded += event.params.encoded_data_length,
        Event::InspectorTargetCrashed(_) => {
            lock(&seen).crashed = true;
            // calls that the dead process owes are answered (with an error) when the tab gets another one
            if let Some(tab) = weak.upgrade() {
                let _ = tab.call_method(navigation("about:blank"));
            }
        }
        Event::PageJavascriptDialogOpening(event) => {
            // a page may be left; everything else is answered with no
            let accept = event.params.Type == Page::DialogType::Beforeunload;
            if let Some(tab) = weak.upgrade() {
                let _ = tab.call_method(Page::HandleJavaScriptDialog { accept, prompt_text: None });
            }
        }
        _ => {}
    };
    tab.add_event_listener(Arc::new(on_event))?;
    Ok(())
}

fn headers(document: &Network::Response) -> Vec<(String, String)> {
    let Some(serde_json::Value::Object(all)) = &document.headers.0 else { return Vec::new() };
    let mut found: Vec<_> = all
        .iter()
        .filter_map(|(name, value)| Some((name.to_ascii_lowercase(), value.as_str()?.to_owned())))
        .filter(|(name, _)| HEADERS.contains(&name.as_str()))
        .collect();
    found.sort();
    found
}

/// Why the document did not come: the proxy knows more than the browser.
fn refused(url: &Url, reason: String, proxy: &Proxy) -> RenderError {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    match proxy.refusal(host, url.port_or_known_default().unwrap_or_default()) {
        Some(Refusal::Address(address)) => RenderError::AddressBlocked { host: host.to_owned(), address },
        Some(refusal) => RenderError::Navigation(format!("{reason}: {refusal}")),
        None => RenderError::Navigation(reason),
    }
}

/// Whether the document that was asked is gone because the page leads to another one.
fn leads_elsewhere(error: &anyhow::Error) -> bool {
    error.downcast_ref::<RemoteError>().is_some_and(|error| {
        ["navigated", "context was destroyed", "Cannot find"]
            .iter()
            .any(|words| error.message.contains(words))
    })
}
