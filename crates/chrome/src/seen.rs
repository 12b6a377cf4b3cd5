//! State of a page, from the events of its tab.

use crate::{
    cdp::{Pending, Session},
    error::RenderError,
    rules::RULES,
    script::Traits,
};
use headless_chrome::protocol::cdp::{
    Fetch::{self, events::RequestPausedEventParams},
    Network, Page,
    types::Event,
};
use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc::SyncSender},
    time::Instant,
};
use url::Url;

/// Response headers about the page: its type and the permitted uses.
const HEADERS: [&str; 9] = [
    "content-disposition",
    "content-type",
    "content-language",
    "last-modified",
    "link",
    "retry-after",
    "tdm-policy",
    "tdm-reservation",
    "x-robots-tag",
];
/// Assumed status of a redirect, if the browser does not report it.
const REDIRECTED: u16 = 302;
/// Maximum number of tracked loading scripts; further ones are not waited for.
const MAX_SCRIPTS: usize = 1000;

/// Predicate for the documents that the page may load.
pub(crate) type DocumentPredicate = Arc<dyn Fn(&Url) -> bool + Send + Sync>;

/// A page to render.
pub(crate) struct PageRequest {
    pub(crate) url: Url,
    /// Allowed documents; `None` allows all.
    pub(crate) is_page: Option<DocumentPredicate>,
    /// Headers that only the origin of the URL gets.
    pub(crate) headers: Vec<(String, String)>,
    /// True if the original document is requested.
    pub(crate) as_sent: bool,
}

impl PageRequest {
    /// Origin that gets headers, if any.
    pub(crate) fn own(&self) -> Option<String> {
        (!self.headers.is_empty()).then(|| self.url.origin().ascii_serialization())
    }
}

/// State of a page, from the events so far.
#[derive(Default)]
pub(crate) struct PageState {
    document: Option<Network::Response>,
    asked: Option<PageRequest>,
    /// First document that was refused, and the status of the redirect to it.
    navigated_away: Option<(Url, u16)>,
    /// First file that a script led to.
    file: Option<Url>,
    /// Pending original document.
    sent: Option<Pending<Network::GetResponseBody>>,
    decoded: u64,
    /// Pending document request of the page's frame.
    loading: Option<String>,
    /// Documents that have arrived.
    documents: u32,
    /// Loading scripts. Dynamic imports and preloaded modules do not delay the document's load event.
    scripts: HashSet<String>,
    /// Time at which one of the scripts last loaded or failed.
    last_loaded: Option<Instant>,
    /// True if the page loaded more than its limit.
    pub(crate) over: bool,
    pub(crate) crashed: bool,
    /// True if the page has, or may have, cookies.
    pub(crate) cookies: bool,
    /// True if the page continues after it was taken.
    pub(crate) still_running: bool,
}

impl PageState {
    /// Creates the state of a requested page.
    pub(crate) fn new(asked: PageRequest) -> Self {
        Self { asked: Some(asked), ..Self::default() }
    }

    /// Origin whose requests get headers.
    pub(crate) fn own(&self) -> Option<String> {
        self.asked.as_ref().and_then(PageRequest::own)
    }

    /// Returns true if original documents are kept.
    pub(crate) fn keeps_sent(&self) -> bool {
        self.asked.as_ref().is_some_and(|asked| asked.as_sent)
    }

    /// Takes the original document, if it was requested and exists.
    pub(crate) const fn take_sent(&mut self) -> Option<Pending<Network::GetResponseBody>> {
        self.sent.take()
    }

    /// Returns the request of the wanted document if an event reports its complete arrival.
    fn completes(&self, event: &Event) -> Option<String> {
        let Event::NetworkLoadingFinished(event) = event else { return None };
        let id = &event.params.request_id;
        (self.keeps_sent() && !self.over && self.loading.as_ref() == Some(id)).then(|| id.clone())
    }

    /// URL of the document's response.
    pub(crate) fn address(&self) -> Option<Url> {
        self.document.as_ref().and_then(|document| Url::parse(&document.url).ok())
    }

    /// Status of the document's response; 0 if there was none.
    pub(crate) fn status(&self) -> u16 {
        self.document.as_ref().map_or(0, |document| u16::try_from(document.status).unwrap_or(0))
    }

    /// Headers of the document's response, by name.
    pub(crate) fn headers(&self) -> Vec<(String, String)> {
        let all = self.document.as_ref().and_then(|document| document.headers.0.as_ref());
        let mut found: Vec<_> = names_and_values(all)
            .map(|(name, value)| (name.to_ascii_lowercase(), value))
            .filter(|(name, _)| HEADERS.contains(&name.as_str()))
            .map(|(name, value)| (name, value.to_owned()))
            .collect();
        // the type that the browser has assumed
        let taken_for = self.document.as_ref().map(|document| document.mime_type.as_str());
        if let Some(kind) = taken_for.filter(|kind| !kind.is_empty())
            && !found.iter().any(|(name, _)| name == "content-type")
        {
            found.push(("content-type".into(), kind.into()));
        }
        // no server sent this header: the file is a link of the page, as the target of a refresh
        found.extend(self.file.as_ref().map(|file| ("refresh".to_owned(), format!("0; url={file}"))));
        found.sort();
        found
    }

    /// Error of a page that navigated away.
    pub(crate) fn navigated_away(&self) -> Option<RenderError> {
        self.navigated_away.clone().map(|(to, status)| RenderError::NavigatedAway { to, status })
    }

    /// Returns true if the tab may request a document; records the first refused one.
    fn may_request(&mut self, request: &RequestPausedEventParams) -> bool {
        let Some(is_page) = self.asked.as_ref().and_then(|asked| asked.is_page.as_ref()) else { return true };
        // the browser itself refuses an invalid URL
        let Ok(url) = Url::parse(&request.request.url) else { return true };
        if !matches!(url.scheme(), "http" | "https") {
            return true;
        }
        // a link with `download` starts no document, so its request has no event of the network; the page stays
        if request.network_id.is_none() {
            return false;
        }
        if is_page(&url) {
            return true;
        }
        // a script that navigates to a file starts a download: the page stays, and the URL becomes a link of it
        if request.redirected_request_id.is_none() && RULES.is_file(url.path()) {
            if self.document.is_some() {
                self.file.get_or_insert(url);
            }
            return false;
        }
        // the event with a redirect's own status may come later
        let redirected = request.redirected_request_id.is_some() || self.document.is_none();
        let status = if redirected { REDIRECTED } else { self.status() };
        // a document that keeps navigating would navigate away from the next page too
        self.still_running |= !redirected;
        self.loading = None;
        self.navigated_away.get_or_insert((url, status));
        false
    }

    /// Returns true if the page loads another document, or scripts, which our script cannot see.
    pub(crate) fn is_loading(&self) -> bool {
        !self.crashed && (self.loading.is_some() || !self.scripts.is_empty())
    }

    /// Returns true if the page was loading when its answer was read, at `at`.
    pub(crate) fn was_loading(&self, at: Instant) -> bool {
        self.is_loading() || self.last_loaded.is_some_and(|loaded| loaded > at)
    }

    /// Number of times that the page has replaced its document.
    pub(crate) const fn hops(&self) -> u32 {
        self.documents.saturating_sub(1)
    }

    /// Returns true if the document's response makes the browser load another one.
    fn refreshes(&self) -> bool {
        let all = self.document.as_ref().and_then(|document| document.headers.0.as_ref());
        names_and_values(all).any(|(name, _)| name.eq_ignore_ascii_case("refresh"))
    }

    /// Traits of the document's response.
    pub(crate) fn traits(&self) -> Traits {
        Traits { refreshes: self.refreshes(), inert: self.is_inert() }
    }

    /// Returns true if the document's response forbids all scripts by `sandbox` of its Content-Security-Policy.
    fn is_inert(&self) -> bool {
        let all = self.document.as_ref().and_then(|document| document.headers.0.as_ref());
        names_and_values(all)
            .filter(|(name, _)| name.eq_ignore_ascii_case("content-security-policy"))
            .flat_map(|(_, value)| value.split([';', ',', '\n']))
            .any(|directive| {
                let mut words = directive.split_ascii_whitespace();
                words.next().is_some_and(|name| name.eq_ignore_ascii_case("sandbox"))
                    && !words.any(|word| word.eq_ignore_ascii_case("allow-scripts"))
            })
    }

    fn on_loaded(&mut self, id: &str) {
        let led = self.loading.take_if(|loading| loading == id).is_some();
        if self.scripts.remove(id) || led {
            self.last_loaded = Some(Instant::now());
        }
    }

    fn note(&mut self, event: Event, frame: &str) {
        match event {
            Event::NetworkRequestWillBeSent(event) if event.params.frame_id.as_deref() == Some(frame) => {
                let params = event.params;
                // the script of a worker has another initiator, and no event reports that it has loaded
                let of_page = matches!(
                    params.initiator.Type,
                    Network::InitiatorType::Parser | Network::InitiatorType::Script
                );
                match params.Type {
                    Some(Network::ResourceType::Document) => self.loading = Some(params.request_id),
                    Some(Network::ResourceType::Script) if of_page && self.scripts.len() < MAX_SCRIPTS => {
                        self.scripts.insert(params.request_id);
                    }
                    _ => {}
                }
            }
            Event::NetworkResponseReceived(event) => {
                let params = event.params;
                if params.Type == Network::ResourceType::Document && params.frame_id.as_deref() == Some(frame)
                {
                    self.document = Some(params.response);
                    self.documents += 1;
                    // the state of the previous document ends with it
                    self.scripts.clear();
                    self.sent = None;
                }
            }
            Event::NetworkResponseReceivedExtraInfo(event) => {
                let mut headers = names_and_values(event.params.headers.0.as_ref());
                self.cookies |= headers.any(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
            }
            Event::NetworkLoadingFinished(event) => self.on_loaded(&event.params.request_id),
            Event::NetworkLoadingFailed(event) => self.on_loaded(&event.params.request_id),
            _ => {}
        }
    }
}

fn names_and_values(headers: Option<&serde_json::Value>) -> impl Iterator<Item = (&str, &str)> {
    let all = headers.and_then(serde_json::Value::as_object);
    all.into_iter().flatten().filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
}

pub(crate) fn lock(seen: &Mutex<PageState>) -> MutexGuard<'_, PageState> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the tab ask before it requests a document, or a resource of an origin that gets headers. Other
/// requests need no answer.
pub(crate) fn asks_for(own: Option<String>) -> Fetch::Enable {
    let pattern = |url_pattern, resource_type| Fetch::RequestPattern {
        url_pattern,
        resource_Type: resource_type,
        request_stage: Some(Fetch::RequestStage::Request),
    };
    let documents = pattern(None, Some(Network::ResourceType::Document));
    let own = own.map(|origin| pattern(Some(format!("{origin}/*")), None));
    let patterns = std::iter::once(documents).chain(own).collect();
    Fetch::Enable { patterns: Some(patterns), handle_auth_requests: None }
}

/// Continues a request, with the page's headers if its origin gets them.
fn proceed(asked: Option<&PageRequest>, request: RequestPausedEventParams) -> Fetch::ContinueRequest {
    let goes_to = |asked: &&PageRequest| {
        Url::parse(&request.request.url).is_ok_and(|url| url.origin() == asked.url.origin())
    };
    let own = asked.filter(|asked| !asked.headers.is_empty()).filter(goes_to);
    let headers = own.map(|asked| {
        let kept = names_and_values(request.request.headers.0.as_ref())
            .filter(|(name, _)| !asked.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name)));
        let own = asked.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let entry =
            |(name, value): (&str, &str)| Fetch::HeaderEntry { name: name.into(), value: value.into() };
        kept.chain(own).map(entry).collect()
    });
    Fetch::ContinueRequest {
        request_id: request.request_id,
        url: None,
        method: None,
        post_data: None,
        headers,
        intercept_response: None,
    }
}

/// Records the events of a tab, answers dialogs, and stops pages that load too much. `tab` is its session and `frame`
/// the id of its frame. `signal` is sent after each event.
pub(crate) fn listener(
    seen: &Arc<Mutex<PageState>>,
    tab: Session,
    frame: String,
    max_bytes: u64,
    signal: SyncSender<()>,
) -> impl Fn(Event) + Send + Sync + 'static {
    let seen = Arc::clone(seen);
    move |event| {
        note(&seen, &tab, &frame, max_bytes, event);
        // a pending signal suffices
        let _ = signal.try_send(());
    }
}

fn note(seen: &Mutex<PageState>, tab: &Session, frame: &str, max_bytes: u64, event: Event) {
    match event {
        Event::NetworkDataReceived(event) => {
            let mut seen = lock(seen);
            seen.decoded += u64::from(event.params.data_length);
            if seen.decoded > max_bytes && !seen.over {
                seen.over = true;
                tab.send(Page::StopLoading(None));
            }
        }
        Event::FetchRequestPaused(event) => {
            let params = event.params;
            let mut seen = lock(seen);
            // frames within the page count as resources, like its images
            let leads = params.frame_id == frame && params.resource_Type == Network::ResourceType::Document;
            if !leads || seen.may_request(&params) {
                tab.send(proceed(seen.asked.as_ref(), params));
            } else {
                // the document that is shown stays
                let error_reason = Network::ErrorReason::Aborted;
                tab.send(Fetch::FailRequest { request_id: params.request_id, error_reason });
            }
        }
        Event::InspectorTargetCrashed(_) => lock(seen).crashed = true,
        Event::PageJavascriptDialogOpening(event) => {
            // leaving a page is accepted; all other dialogs are declined
            let accept = event.params.Type == Page::DialogType::Beforeunload;
            tab.send(Page::HandleJavaScriptDialog { accept, prompt_text: None });
        }
        event => {
            let mut seen = lock(seen);
            let document = seen.completes(&event);
            seen.note(event, frame);
            // requested at once, while the browser still has it
            if let Some(request_id) = document {
                seen.sent = tab.begin(Network::GetResponseBody { request_id }).ok();
            }
        }
    }
}
