//! What the events of a tab tell of its page.

use crate::{
    cdp::{Pending, Session},
    error::RenderError,
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

/// Response headers that say something of the page: what it is, and what may be done with it.
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
/// Status of a redirect, where the browser does not say which it was.
const REDIRECTED: u16 = 302;
/// Scripts of a page that are kept in mind while they load; what is beyond is not waited for.
const MAX_SCRIPTS: usize = 1000;

/// Which documents the page may be made of.
pub(crate) type IsPage = Arc<dyn Fn(&Url) -> bool + Send + Sync>;

/// A page that is asked for.
pub(crate) struct Asked {
    pub(crate) url: Url,
    /// Which documents it may be made of; `None`: any.
    pub(crate) is_page: Option<IsPage>,
    /// Sent to the origin of the URL, and to no other.
    pub(crate) headers: Vec<(String, String)>,
    /// The document is wanted as it was sent, too.
    pub(crate) as_sent: bool,
}

impl Asked {
    /// The origin that there is something to send to, if any.
    pub(crate) fn own(&self) -> Option<String> {
        (!self.headers.is_empty()).then(|| self.url.origin().ascii_serialization())
    }
}

/// What events have told of the page so far.
#[derive(Default)]
pub(crate) struct Seen {
    document: Option<Network::Response>,
    asked: Option<Asked>,
    /// The first document that was not loaded since the page is not made of it, and the status of what led there.
    led_away: Option<(Url, u16)>,
    /// The document as it was sent, on its way.
    sent: Option<Pending<Network::GetResponseBody>>,
    decoded: u64,
    /// The request of a document for the page's frame that is under way.
    loading: Option<String>,
    /// Scripts that scripts have asked for and that are loading.
    scripts: HashSet<String>,
    /// When one of these last came, or failed to.
    came: Option<Instant>,
    /// It loaded more than it may.
    pub(crate) over: bool,
    pub(crate) crashed: bool,
    /// It has, or may have, cookies.
    pub(crate) cookies: bool,
    /// It goes on after it was taken.
    pub(crate) restless: bool,
}

impl Seen {
    /// Nothing yet, of a page that is asked for.
    pub(crate) fn new(asked: Asked) -> Self {
        Self { asked: Some(asked), ..Self::default() }
    }

    /// The origin whose requests headers are put on.
    pub(crate) fn own(&self) -> Option<String> {
        self.asked.as_ref().and_then(Asked::own)
    }

    /// Whether documents are wanted as they were sent.
    pub(crate) fn keeps_sent(&self) -> bool {
        self.asked.as_ref().is_some_and(|asked| asked.as_sent)
    }

    /// The document as it was sent, if it was wanted and there is one.
    pub(crate) const fn take_sent(&mut self) -> Option<Pending<Network::GetResponseBody>> {
        self.sent.take()
    }

    /// Whether an event says that the document which is wanted has come as a whole.
    fn completes(&self, event: &Event) -> Option<String> {
        let Event::NetworkLoadingFinished(event) = event else { return None };
        let id = &event.params.request_id;
        (self.keeps_sent() && !self.over && self.loading.as_ref() == Some(id)).then(|| id.clone())
    }

    /// Where the document's response came from.
    pub(crate) fn address(&self) -> Option<Url> {
        self.document.as_ref().and_then(|document| Url::parse(&document.url).ok())
    }

    /// Status of the document's response; 0 where there was none.
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
        // what the browser has taken it for
        let taken_for = self.document.as_ref().map(|document| document.mime_type.as_str());
        if let Some(kind) = taken_for.filter(|kind| !kind.is_empty())
            && !found.iter().any(|(name, _)| name == "content-type")
        {
            found.push(("content-type".into(), kind.into()));
        }
        found.sort();
        found
    }

    /// Where the page has led away to, as the error that it is.
    pub(crate) fn led_away(&self) -> Option<RenderError> {
        self.led_away.clone().map(|(to, status)| RenderError::LedAway { to, status })
    }

    /// Whether a document may be asked for by the tab; of the first that may not be it is noted where it is.
    fn admits(&mut self, request: &RequestPausedEventParams) -> bool {
        let Some(is_page) = self.asked.as_ref().and_then(|asked| asked.is_page.as_ref()) else { return true };
        // what is no URL is the browser's own to refuse
        let Ok(url) = Url::parse(&request.request.url) else { return true };
        if !matches!(url.scheme(), "http" | "https") || is_page(&url) {
            return true;
        }
        // of a redirect's own status no event has come by yet in every case
        let redirected = request.redirected_request_id.is_some() || self.document.is_none();
        let status = if redirected { REDIRECTED } else { self.status() };
        // an old document that leads on and on would lead away from the next page, too
        self.restless |= !redirected;
        self.loading = None;
        self.led_away.get_or_insert((url, status));
        false
    }

    /// Whether the page leads elsewhere or loads scripts of scripts, which nobody sees inside it.
    pub(crate) fn is_loading(&self) -> bool {
        !self.crashed && (self.loading.is_some() || !self.scripts.is_empty())
    }

    /// Whether it did so when an answer of it was read, at `at`.
    pub(crate) fn was_loading(&self, at: Instant) -> bool {
        self.is_loading() || self.came.is_some_and(|came| came > at)
    }

    /// Whether the document's response has the browser load another one.
    pub(crate) fn refreshes(&self) -> bool {
        let all = self.document.as_ref().and_then(|document| document.headers.0.as_ref());
        names_and_values(all).any(|(name, _)| name.eq_ignore_ascii_case("refresh"))
    }

    fn came(&mut self, id: &str) {
        let led = self.loading.take_if(|loading| loading == id).is_some();
        if self.scripts.remove(id) || led {
            self.came = Some(Instant::now());
        }
    }

    fn note(&mut self, event: Event, frame: &str) {
        match event {
            Event::NetworkRequestWillBeSent(event) if event.params.frame_id.as_deref() == Some(frame) => {
                let params = event.params;
                let of_script = params.initiator.Type == Network::InitiatorType::Script;
                match params.Type {
                    Some(Network::ResourceType::Document) => self.loading = Some(params.request_id),
                    Some(Network::ResourceType::Script) if of_script && self.scripts.len() < MAX_SCRIPTS => {
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
                    // what belongs to the document before went with it
                    self.scripts.clear();
                    self.sent = None;
                }
            }
            Event::NetworkResponseReceivedExtraInfo(event) => {
                let mut headers = names_and_values(event.params.headers.0.as_ref());
                self.cookies |= headers.any(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
            }
            Event::NetworkLoadingFinished(event) => self.came(&event.params.request_id),
            Event::NetworkLoadingFailed(event) => self.came(&event.params.request_id),
            _ => {}
        }
    }
}

fn names_and_values(headers: Option<&serde_json::Value>) -> impl Iterator<Item = (&str, &str)> {
    let all = headers.and_then(serde_json::Value::as_object);
    all.into_iter().flatten().filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
}

pub(crate) fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has the tab ask before it requests a document, or anything of an origin that headers are sent to. Nothing else waits for an answer.
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

/// Lets a request go on, with the headers of the page that are for where it goes.
fn proceed(asked: Option<&Asked>, request: RequestPausedEventParams) -> Fetch::ContinueRequest {
    let goes_to =
        |asked: &&Asked| Url::parse(&request.request.url).is_ok_and(|url| url.origin() == asked.url.origin());
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

/// Keeps what the events of a tab tell, answers dialogs, and stops pages that load too much. `tab` is its session, `frame` the
/// id of its frame; `bell` rings after each event.
pub(crate) fn listener(
    seen: &Arc<Mutex<Seen>>,
    tab: Session,
    frame: String,
    max_bytes: u64,
    bell: SyncSender<()>,
) -> impl Fn(Event) + Send + Sync + 'static {
    let seen = Arc::clone(seen);
    move |event| {
        note(&seen, &tab, &frame, max_bytes, event);
        // one that was not heard yet is enough
        let _ = bell.try_send(());
    }
}

fn note(seen: &Mutex<Seen>, tab: &Session, frame: &str, max_bytes: u64, event: Event) {
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
            // frames within the page are as much of it as its images
            let leads = params.frame_id == frame && params.resource_Type == Network::ResourceType::Document;
            if !leads || seen.admits(&params) {
                tab.send(proceed(seen.asked.as_ref(), params));
            } else {
                // the document that is shown stays
                let error_reason = Network::ErrorReason::Aborted;
                tab.send(Fetch::FailRequest { request_id: params.request_id, error_reason });
            }
        }
        Event::InspectorTargetCrashed(_) => lock(seen).crashed = true,
        Event::PageJavascriptDialogOpening(event) => {
            // a page may be left; everything else is answered with no
            let accept = event.params.Type == Page::DialogType::Beforeunload;
            tab.send(Page::HandleJavaScriptDialog { accept, prompt_text: None });
        }
        event => {
            let mut seen = lock(seen);
            let document = seen.completes(&event);
            seen.note(event, frame);
            // asked for at once, while the browser still has it
            if let Some(request_id) = document {
                seen.sent = tab.begin(Network::GetResponseBody { request_id }).ok();
            }
        }
    }
}
