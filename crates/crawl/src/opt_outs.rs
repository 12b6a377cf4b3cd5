//! What sites say about mining and machine learning, joined for a page: its own directives, the response's headers, and
//! the origin's two files, which are fetched once for each origin and kept for the run. A file that cannot be had is not
//! one that says nothing: as with robots.txt (RFC 9309 §2.3.1.4) it is asked for again, and then counts as unknown.

use crate::{context::Context, origin_cache::OriginCache};
use crawl_fetch::{
    AI_TXT_PATH, FetchError, HostSlot, NotYet, OPT_OUT_MAX_BYTES, OptOut, OptOutFile, OriginOptOuts,
    Resource, RobotsPolicy, SlotOutcome, TDMREP_PATH, tdm_header,
};
use crawl_model::{FetchedPage, HostKey, Origin};
use std::{sync::Arc, time::Duration};
use tokio::{sync::Mutex, time::Instant};
use url::Url;

/// Bytes of parsed files that are kept in memory; what is dropped is fetched again when a page of the origin is.
const MAX_IN_MEMORY: usize = 32 << 20;
/// Redirects that are followed for a file, all on its host.
const MAX_HOPS: usize = 5;
/// How long a request waits for its turn: whoever makes it holds a place that other hosts could use.
const MAX_TURN: Duration = Duration::from_secs(10);

#[derive(Default)]
struct Entry {
    /// Held while the files are asked for.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    files: Option<Arc<OriginOptOuts>>,
    tdm: Answer,
    ai: Answer,
    /// Tries that came to nothing.
    failed: u32,
    /// Before this they are not asked for again.
    again: Option<Instant>,
}

/// What is known of one file.
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

/// Why a file is not known.
enum Trouble {
    /// No answer, or one that says nothing about the file.
    Failed { error: FetchError, retry_after: Option<Duration> },
    /// The host may not be asked now.
    NoTurn(Option<Instant>),
}

/// What it takes to ask for the files of one origin.
struct Asking<'a> {
    context: &'a Context,
    origin: &'a Origin,
    robots: Option<&'a RobotsPolicy>,
    /// The turn of the first request; the others wait for their own.
    slot: &'a mut Option<HostSlot>,
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
    /// An origin's files. However many ask at once, they are fetched once; the others wait without their slots. `slot` is
    /// the turn of the first request. A file that is not there, or that robots.txt forbids to ask for, reserves nothing.
    /// One that cannot be had is asked for as often as a page would be and then counts as unknown.
    ///
    /// # Errors
    /// How long the page has to wait until a file that cannot be had is asked for again.
    pub async fn learn(
        &self,
        context: &Context,
        origin: &Origin,
        robots: Option<&RobotsPolicy>,
        slot: &mut Option<HostSlot>,
    ) -> Result<Arc<OriginOptOuts>, Duration> {
        let entry = self.entries.get(origin, |_| false);
        let mut state = match entry.state.try_lock() {
            Ok(state) => state,
            Err(_) => {
                // whoever asks needs the host's turns
                if let Some(slot) = slot.take() {
                    slot.give_back();
                }
                entry.state.lock().await
            }
        };
        if let Some(files) = &state.files {
            return Ok(Arc::clone(files));
        }
        if let Some(left) = state.again.map(|at| at.saturating_duration_since(Instant::now()))
            && !left.is_zero()
        {
            return Err(left);
        }
        let mut asking = Asking { context, origin, robots, slot };
        let waits = match asking.both(&mut state).await {
            Ok(()) => None,
            Err(trouble) => state.wait(context, origin, trouble),
        };
        if let Some(wait) = waits {
            state.again = Instant::now().checked_add(wait);
            self.entries.weigh(origin, &entry, state.tdm.bytes() + state.ai.bytes());
            return Err(wait);
        }
        let files = OriginOptOuts::parse(state.tdm.as_file(), state.ai.as_file(), &context.product_token);
        let files = Arc::new(files);
        *state = State { files: Some(Arc::clone(&files)), ..State::default() };
        self.entries.weigh(origin, &entry, files.heap_bytes());
        Ok(files)
    }
}

impl State {
    /// How long to wait after this; `None` when there is no point in waiting longer.
    fn wait(&mut self, context: &Context, origin: &Origin, trouble: Trouble) -> Option<Duration> {
        let (error, retry_after) = match trouble {
            Trouble::NoTurn(at) => {
                let until = at.map(|at| at.saturating_duration_since(Instant::now()));
                return Some(until.unwrap_or_default().max(context.retry.backoff));
            }
            Trouble::Failed { error, retry_after } => (error, retry_after),
        };
        if error.is_local() {
            // the page's own request meets it too, and slows the run down
            return Some(context.retry.backoff);
        }
        self.failed += 1;
        let wait = context.retry.pause(self.failed, retry_after, error.is_timeout());
        let wait = wait.filter(|_| error.is_transient());
        if wait.is_none() {
            tracing::warn!(%origin, %error, "a file that may opt out of mining cannot be had: nobody knows whether the origin does");
        }
        wait
    }
}

impl Asking<'_> {
    async fn both(&mut self, state: &mut State) -> Result<(), Trouble> {
        if matches!(state.tdm, Answer::None) {
            state.tdm = self.file(TDMREP_PATH).await?;
        }
        if matches!(state.ai, Answer::None) {
            state.ai = self.file(AI_TXT_PATH).await?;
        }
        Ok(())
    }

    async fn file(&mut self, path: &str) -> Result<Answer, Trouble> {
        let Ok(mut url) = Url::parse(&format!("{}{path}", self.origin)) else { return Ok(Answer::Missing) };
        for _ in 0..=MAX_HOPS {
            let Some(host) = HostKey::of(&url) else { break };
            if self.robots.is_some_and(|policy| !policy.verdict(&url).allowed) {
                break;
            }
            let Context { gate, client, .. } = self.context;
            let turn = match self.slot.take() {
                Some(slot) => slot,
                None => gate.acquire_within(&host, MAX_TURN).await.map_err(no_turn)?,
            };
            let answer = client.fetch_resource(&url, OPT_OUT_MAX_BYTES).await;
            turn.finish(SlotOutcome::of_resource(&answer));
            match answer {
                Err(error) => return Err(Trouble::Failed { error, retry_after: None }),
                Ok(Resource { status: 200, body, .. }) => return Ok(Answer::Found(body)),
                Ok(Resource { status, retry_after, .. }) if says_nothing(status) => {
                    return Err(Trouble::Failed { error: FetchError::Status(status), retry_after });
                }
                Ok(Resource { redirect: Some(to), .. }) if HostKey::of(&to).as_ref() == Some(&host) => {
                    url = to;
                }
                Ok(_) => break,
            }
        }
        Ok(Answer::Missing)
    }
}

/// A host that is given up fails its pages when they are leased again, which need not wait.
fn no_turn(not_yet: NotYet) -> Trouble {
    Trouble::NoTurn(not_yet.at.filter(|_| !not_yet.dead))
}

/// Statuses that say nothing about the file, as of robots.txt: the server's own trouble, and that it wants fewer requests.
const fn says_nothing(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500..=599)
}

/// What is reserved of a page, by stable names: by its own directives (`noai`), its response and its origin's files.
#[must_use]
pub fn of_page(page: &FetchedPage, noai: bool) -> Vec<String> {
    let tdm = (tdm_header(&page.headers) == Some(true)).then_some(OptOut::TdmHeader.name());
    let found = [noai.then_some(OptOut::NoAi.name()), tdm, page.reserved_by_file];
    found.into_iter().flatten().map(str::to_owned).collect()
}

/// The kind of failure of a page of which nobody knows whether it is reserved, where such pages are left out.
pub const UNKNOWN_KIND: &str = "ai_optout_unknown";

/// What [`of_page`] found is a reservation, and not merely unknown.
#[must_use]
pub fn is_reserved(found: &[String]) -> bool {
    found.iter().any(|name| name != OptOut::Unknown.name())
}
