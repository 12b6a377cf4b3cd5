//! Opt-outs of sites from mining and machine learning. A page combines its own directives, the headers of its
//! response, and the two files of its origin. The files are fetched once per origin and kept for the run. An
//! unreachable file is retried, as robots.txt is (RFC 9309 §2.3.1.4), and then counts as unknown, not as missing.

use crate::{network::Network, origin_cache::OriginCache};
use crawl_fetch::{
    AI_TXT_PATH, FetchError, GateRefusal, HostSlot, OPT_OUT_MAX_BYTES, OptOut, OptOutFile, OriginOptOuts,
    Resource, RetryCause, RobotsPolicy, SlotOutcome, TDMREP_PATH, tdm_header,
};
use crawl_model::{Directives, FetchedPage, HostKey, Origin};
use std::{sync::Arc, time::Duration};
use tokio::{sync::Mutex, time::Instant};
use url::Url;

/// Maximum bytes of parsed files in memory. Evicted files are fetched again for the next page of their origin.
const MAX_IN_MEMORY: usize = 32 << 20;
/// Maximum redirects of a file, all on its host.
const MAX_HOPS: usize = 5;
/// Maximum wait for a slot while the page holds a permit that other hosts could use.
const MAX_TURN_WAIT: Duration = Duration::from_secs(10);

#[derive(Default)]
struct Entry {
    /// State, locked during a request for a file.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    files: Option<Arc<OriginOptOuts>>,
    tdm: Progress,
    ai: Progress,
    /// Failed tries.
    failed: u32,
    /// Earliest time of the next request.
    again: Option<Instant>,
}

/// State of one file: its answer, or the target of the next request.
#[derive(Default)]
struct Progress {
    answer: Answer,
    /// Target of the last redirect.
    redirected: Option<Url>,
    hops: usize,
}

/// Answer for one file.
#[derive(Default)]
enum Answer {
    #[default]
    None,
    Missing,
    Found(Vec<u8>),
}

impl Answer {
    fn as_file(&self) -> OptOutFile<'_> {
        match self {
            Self::None => OptOutFile::Unknown,
            Self::Missing => OptOutFile::Missing,
            Self::Found(bytes) => OptOutFile::Found(bytes),
        }
    }

    const fn bytes(&self) -> usize {
        match self {
            Self::Found(bytes) => bytes.capacity(),
            Self::None | Self::Missing => 0,
        }
    }
}

/// Reason why a file is not known.
enum FileFailure {
    /// No answer, or one that does not show if the file exists.
    Failed { error: FetchError, retry_after: Option<Duration> },
    /// The host allows no request now.
    NoSlot(Option<Instant>),
}

/// Reasons for which the files of an origin are not known yet.
pub enum OptOutsUnknown {
    /// The page is requeued for this time: zero for the host's next slot.
    Wait(Duration),
    /// A failure of this machine prevented the request.
    Local(FetchError),
}

/// Parameters of the requests for the files of one origin.
struct OptOutRequests<'a> {
    network: &'a Network,
    origin: &'a Origin,
    robots: Option<&'a RobotsPolicy>,
    /// Slot for the first request.
    slot: &'a mut Option<HostSlot>,
    /// True if the URL is requeued instead of waiting for a slot here.
    requeues: bool,
}

/// The files of the origins of a run.
pub struct OptOutCache {
    entries: OriginCache<Entry>,
}

impl Default for OptOutCache {
    fn default() -> Self {
        Self { entries: OriginCache::new(MAX_IN_MEMORY) }
    }
}

impl OptOutCache {
    /// Returns an origin's files, fetching them once for all its pages. `slot` allows one request. For the next one
    /// the page is requeued, unless the host has no pause. A page without a slot waits for slots here. A missing
    /// file, or one that robots.txt forbids, reserves nothing. An unreachable one is retried like a page and then
    /// counts as unknown.
    ///
    /// # Errors
    /// [`OptOutsUnknown`] when the page has to ask again later.
    pub async fn files(
        &self,
        network: &Network,
        origin: &Origin,
        robots: Option<&RobotsPolicy>,
        slot: &mut Option<HostSlot>,
    ) -> Result<Arc<OriginOptOuts>, OptOutsUnknown> {
        let entry = self.entries.get(origin, |_| false);
        let host = slot.as_ref().and_then(HostSlot::host);
        let requeues = host.is_some_and(|host| !network.gate.delay(host).is_zero());
        let mut state = match entry.state.try_lock() {
            Ok(state) => state,
            Err(_) => {
                // the page that fetches the files needs the host's slots
                if let Some(slot) = slot.take() {
                    slot.give_back();
                }
                entry.state.lock().await
            }
        };
        if let Some(files) = &state.files {
            return Ok(Arc::clone(files));
        }
        let left = state.again.map(|at| at.saturating_duration_since(Instant::now())).unwrap_or_default();
        let mut requests = OptOutRequests { network, origin, robots, slot, requeues };
        if !left.is_zero() || requests.must_requeue() {
            return Err(OptOutsUnknown::Wait(left));
        }
        let waits = match requests.request_missing(&mut state).await {
            Ok(true) => None,
            Ok(false) => Some(Duration::ZERO),
            // all requests of the run pause for it
            Err(FileFailure::Failed { error, .. }) if error.is_local() => {
                return Err(OptOutsUnknown::Local(error));
            }
            Err(failure) => state.wait(network, origin, failure),
        };
        if let Some(wait) = waits {
            state.again = Instant::now().checked_add(wait);
            self.entries.record_size(origin, &entry, state.tdm.answer.bytes() + state.ai.answer.bytes());
            return Err(OptOutsUnknown::Wait(wait));
        }
        let (tdm, ai) = (state.tdm.answer.as_file(), state.ai.answer.as_file());
        let files = Arc::new(OriginOptOuts::parse(tdm, ai, &network.product_token));
        *state = State { files: Some(Arc::clone(&files)), ..State::default() };
        self.entries.record_size(origin, &entry, files.heap_bytes());
        Ok(files)
    }
}

impl State {
    /// Returns the time until the next try; `None` after the last one.
    fn wait(&mut self, network: &Network, origin: &Origin, failure: FileFailure) -> Option<Duration> {
        let (error, retry_after) = match failure {
            FileFailure::NoSlot(at) => {
                let until = at.map(|at| at.saturating_duration_since(Instant::now()));
                return Some(until.unwrap_or_default().max(network.retry.backoff));
            }
            FileFailure::Failed { error, retry_after } => (error, retry_after),
        };
        self.failed += 1;
        let wait = network.retry.decide(self.failed, RetryCause::Request { error: &error, retry_after });
        if wait.is_none() {
            tracing::warn!(%origin, %error, "an opt-out file is unreachable (tdmrep.json or ai.txt): crawl.ai_optout_unknown decides on the pages of this origin");
        }
        wait
    }
}

impl OptOutRequests<'_> {
    /// Requests the files that are not known yet. Returns true once both files are known, and false if the next
    /// request has to wait for a slot.
    async fn request_missing(&mut self, state: &mut State) -> Result<bool, FileFailure> {
        for (path, file) in [(TDMREP_PATH, &mut state.tdm), (AI_TXT_PATH, &mut state.ai)] {
            while matches!(file.answer, Answer::None) {
                let Some((url, host)) = self.next_request(path, file) else {
                    file.answer = Answer::Missing;
                    break;
                };
                if self.must_requeue() {
                    return Ok(false);
                }
                self.request(&url, &host, file).await?;
            }
        }
        Ok(true)
    }

    fn must_requeue(&self) -> bool {
        self.requeues && self.slot.is_none()
    }

    /// Target of the next request for a file; `None` if it is not allowed, or after too many redirects.
    fn next_request(&self, path: &str, file: &Progress) -> Option<(Url, HostKey)> {
        let first = || Url::parse(&format!("{}{path}", self.origin)).ok();
        let url = file.redirected.clone().or_else(first)?;
        let allowed = self.robots.is_none_or(|policy| policy.verdict(&url).allowed);
        let host = HostKey::of(&url).filter(|_| allowed && file.hops <= MAX_HOPS)?;
        Some((url, host))
    }

    async fn request(&mut self, url: &Url, host: &HostKey, file: &mut Progress) -> Result<(), FileFailure> {
        let Network { gate, client, .. } = self.network;
        let slot = match self.slot.take() {
            Some(slot) => slot,
            None => gate.acquire_within(host, MAX_TURN_WAIT).await.map_err(failure_without_slot)?,
        };
        let answer = client.fetch_resource(url, OPT_OUT_MAX_BYTES).await;
        slot.finish(SlotOutcome::of_resource(&answer));
        // the next attempt after a failure begins at the file's first URL
        file.redirected = None;
        let hops = std::mem::take(&mut file.hops);
        match answer {
            Err(error) => return Err(FileFailure::Failed { error, retry_after: None }),
            Ok(Resource { status: 200, body, .. }) => file.answer = Answer::Found(body),
            Ok(Resource { status, retry_after, .. }) if is_inconclusive(status) => {
                return Err(FileFailure::Failed { error: FetchError::Status(status), retry_after });
            }
            Ok(Resource { redirect: Some(to), .. }) if HostKey::of(&to).as_ref() == Some(host) => {
                (file.redirected, file.hops) = (Some(to), hops + 1);
            }
            Ok(_) => file.answer = Answer::Missing,
        }
        Ok(())
    }
}

/// The failure of a file whose host grants no slot. Pages of a given-up host fail at their next lease.
fn failure_without_slot(not_yet: GateRefusal) -> FileFailure {
    FileFailure::NoSlot(not_yet.at.filter(|_| !not_yet.dead))
}

/// Returns true for statuses that say nothing about the file: server errors, and requests to slow down.
const fn is_inconclusive(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500..=599)
}

/// Returns the reservations of a page, by stable names: by its own directives (`noai`), its response and its
/// origin's files.
#[must_use]
pub fn of_page(page: &FetchedPage, directives: Directives) -> Vec<String> {
    let header = (tdm_header(&page.headers) == Some(true)).then_some(OptOut::TdmHeader.name());
    let mut found = of_document(directives);
    found.extend([header, page.reserved_by_file].into_iter().flatten().map(str::to_owned));
    found
}

/// Returns the reservations that a document itself has, by stable names.
#[must_use]
pub fn of_document(directives: Directives) -> Vec<String> {
    let by_word = directives.noai.then_some(OptOut::NoAi.name());
    let by_tdm = directives.tdm_reserved.then_some(OptOut::TdmMeta.name());
    [by_word, by_tdm].into_iter().flatten().map(str::to_owned).collect()
}

/// Kind of failure of a page that is not written because its opt-out is unknown.
pub const UNKNOWN_KIND: &str = "ai_optout_unknown";

/// Returns true if [`of_page`] found a known reservation.
#[must_use]
pub fn is_reserved(found: &[String]) -> bool {
    found.iter().any(|name| name != OptOut::Unknown.name())
}
