//! The archive of a run: WARC files with every request and answer as the connection had them, the browser's
//! documents, and the crawl's decisions. Extraction and cleaning can be repeated from it without the network.
//!
//! An exchange is written when it is complete, before its page continues. The sink has the files synced before it
//! settles leases, so a page of the output is in the archive after any kill. A page that is
//! fetched again after that is there twice.

mod decision;
mod reach;
mod warnings;

pub use decision::{Decided, Decision};
pub use reach::{MARK, SyncedFile, forget, loss};

use crate::{config::Config, cpu::CpuPool, page_rules::HTML, stage_error::StageError};
use crawl_archive::{NewRecord, Unsynced, WarcFiles, digest, record_id, request_head, response_head};
use crawl_fetch::{Exchange, Recorded, Recorder};
use crawl_model::{ExtractedPage, FetchedPage, HostKey, assert_may_block, now_ms, rfc3339};
use crawl_output::OutputError;
use rustc_hash::FxHashMap;
use std::{
    io,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use url::Url;
use uuid::Uuid;
use warnings::{warn_of_leftover, warn_of_readers};

/// Profiles of revisit records (WARC 1.1 §6.7).
const SAME_PAYLOAD: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
const NOT_MODIFIED: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";
/// Payloads of this run that another may be a revisit of; about 300 bytes each.
const KNOWN: usize = 50_000;
/// Shorter payloads are not worth a revisit, which is longer.
const MIN_REVISIT_BYTES: usize = 512;

/// Archive of a run.
#[derive(Clone)]
pub struct Archive {
    shared: Arc<Shared>,
    cpu: CpuPool,
}

struct Shared {
    folder: PathBuf,
    /// The fields of a `warcinfo`, but for the file's name.
    info: String,
    state: Mutex<State>,
}

struct State {
    files: WarcFiles,
    /// First capture in this run, by the digest of the payload.
    known: FxHashMap<String, First>,
    /// Error after which nothing more is written.
    failure: Option<io::Error>,
    /// Bytes of earlier runs' files that could not be read when the archive was opened.
    damaged: u64,
}

/// Capture to which later captures with the same payload refer.
#[derive(Clone)]
struct First {
    id: Uuid,
    url: String,
    date: String,
}

impl Archive {
    /// Opens the archive that the settings name, if they name one; compression is done on `cpu`.
    ///
    /// # Errors
    /// When its folder cannot be written.
    pub fn open(config: &Config, cpu: CpuPool) -> Result<Option<Self>, StageError> {
        if config.archive.dir.is_empty() {
            return Ok(None);
        }
        let folder = PathBuf::from(&config.archive.dir);
        let stamp: String = rfc3339(now_ms()).chars().filter(char::is_ascii_digit).collect();
        let prefix = format!("crawl-{stamp}-{}", std::process::id());
        let most = config.archive.max_file.as_u64();
        let files = WarcFiles::open(&folder, &prefix, most)
            .map_err(|source| OutputError::Write { name: folder.display().to_string(), source })?;
        warn_of_readers(&folder);
        let info = info(config);
        files.leftovers().iter().for_each(warn_of_leftover);
        let damaged = files.leftovers().iter().map(|leftover| leftover.damaged).sum();
        let state = Mutex::new(State { files, known: FxHashMap::default(), failure: None, damaged });
        Ok(Some(Self { shared: Arc::new(Shared { folder, info, state }), cpu }))
    }

    /// Fails if something could not be kept. A page that was fetched since then may not be in the archive.
    ///
    /// # Errors
    /// When the archive could not be written.
    pub fn check(&self) -> Result<(), StageError> {
        self.shared.check()
    }

    /// Bytes that an earlier run had archived and that could not be read any more when the archive was opened.
    #[must_use]
    pub fn damaged_bytes(&self) -> u64 {
        self.shared.state().damaged
    }

    /// Keeps that a run begins.
    ///
    /// # Errors
    /// When the archive cannot be written.
    pub fn run(&self, new_round: bool) -> Result<(), StageError> {
        self.decision(&Decision::Run { new_round }, None)
    }

    /// Keeps what a browser showed of a page, and names it.
    pub async fn rendered(&self, page: &FetchedPage) -> Option<Uuid> {
        let (shared, url, html) = (Arc::clone(&self.shared), page.final_url.clone(), page.body.bytes.clone());
        let date = rfc3339(page.timings.started_at_ms);
        let truncated = if page.body.truncated { "length" } else { "" };
        let write = move || {
            let id = Uuid::new_v4();
            let record = NewRecord {
                kind: "resource",
                id,
                date: &date,
                target_uri: url.as_str(),
                content_type: HTML,
                payload_digest: &digest(&[&html]),
                fields: &[("WARC-Truncated", truncated)],
                payload: &html,
                ..NewRecord::default()
            };
            shared.write(record.member()).then_some(id)
        };
        self.cpu.run(write).await.ok().flatten()
    }

    /// Records the decision about a page, in the order in which its shard gets pages.
    ///
    /// # Errors
    /// When the archive cannot be written.
    pub fn page(&self, page: &ExtractedPage) -> Result<(), StageError> {
        let Some(capture) = page.captured else { return Ok(()) };
        self.decision(&Decision::Page(Box::new(Decided::of(page, capture))), Some(capture))
    }

    /// Keeps that a page of an earlier round is gone.
    ///
    /// # Errors
    /// When the archive cannot be written.
    pub async fn gone(&self, url: &Url) -> Result<(), StageError> {
        let (archive, gone) = (self.clone(), Decision::Gone { url: url.clone() });
        let written = self.cpu.run(move || archive.decision(&gone, None)).await;
        written.unwrap_or_else(|panic| Err(StageError::Panicked { stage: "archive", words: panic.0 }))
    }

    /// Notes that a host is drained for now, which settles its fingerprint.
    ///
    /// # Errors
    /// When the archive cannot be written.
    pub fn drained(&self, host: &HostKey) -> Result<(), StageError> {
        self.decision(&Decision::HostDrained { host: host.to_string() }, None)
    }

    /// Writes a decision. It identifies its page by the capture: of a record with `WARC-Target-URI` pywb would show
    /// the JSON as the newest capture of the page.
    fn decision(&self, decision: &Decision, about: Option<Uuid>) -> Result<(), StageError> {
        let payload = serde_json::to_vec(decision).map_err(|e| self.shared.fail(e.into()))?;
        let refers = about.map(record_id).unwrap_or_default();
        let record = NewRecord {
            kind: "metadata",
            id: Uuid::new_v4(),
            date: &rfc3339(now_ms()),
            content_type: "application/json",
            fields: &[("WARC-Refers-To", &refers)],
            payload: &payload,
            ..NewRecord::default()
        };
        self.shared.write(record.member());
        self.shared.check()
    }

    /// Syncs everything written so far. Returns the length of the present file, if there is one.
    ///
    /// # Errors
    /// When that cannot be done, or something could not be kept.
    pub fn sync(&self) -> Result<Option<SyncedFile>, StageError> {
        assert_may_block("a sync of the archive");
        self.shared.check()?;
        // pages are appended meanwhile
        let unsynced = self.shared.state().files.unsynced();
        let reach = unsynced.and_then(Unsynced::sync).map_err(|e| self.shared.record_loss(e))?;
        Ok(reach.map(|(file, length)| SyncedFile { file, length }))
    }

    /// Ends the last file.
    ///
    /// # Errors
    /// When that cannot be done.
    pub fn finish(&self) -> Result<(), StageError> {
        assert_may_block("the end of the archive");
        let files = self.shared.state().files.end();
        files.sync().map(drop).map_err(|e| self.shared.record_loss(e))
    }
}

impl Recorder for Archive {
    fn record(&self, exchange: Exchange) -> Recorded<'_> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move { self.cpu.run(move || shared.exchange(&exchange)).await.ok().flatten() })
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, source: io::Error) -> StageError {
        OutputError::Write { name: self.folder.display().to_string(), source }.into()
    }

    /// Notes an error after which nothing more is written.
    fn record_loss(&self, source: io::Error) -> StageError {
        let failure = io::Error::new(source.kind(), source.to_string());
        self.state().failure.get_or_insert(failure);
        self.fail(source)
    }

    /// Fails if something could not be written.
    fn check(&self) -> Result<(), StageError> {
        match &self.state().failure {
            None => Ok(()),
            Some(error) => Err(self.fail(io::Error::new(error.kind(), error.to_string()))),
        }
    }

    /// Appends whole members; whether that could be done. From the first failure on nothing is.
    fn write(&self, members: io::Result<Vec<u8>>) -> bool {
        let mut state = self.state();
        if state.failure.is_some() {
            return false;
        }
        let written = members.and_then(|members| {
            if state.files.begins(members.len()) {
                let name = state.files.begin()?;
                state.files.append(&self.warcinfo(&name)?)?;
            }
            state.files.append(&members)
        });
        state.failure = written.err();
        state.failure.is_none()
    }

    fn warcinfo(&self, file: &str) -> io::Result<Vec<u8>> {
        let record = NewRecord {
            kind: "warcinfo",
            id: Uuid::new_v4(),
            date: &rfc3339(now_ms()),
            content_type: "application/warc-fields",
            fields: &[("WARC-Filename", file)],
            payload: self.info.as_bytes(),
            ..NewRecord::default()
        };
        record.member()
    }

    /// A request and its answer, each naming the other.
    fn exchange(&self, exchange: &Exchange) -> Option<Uuid> {
        let (request, response) = (Uuid::new_v4(), Uuid::new_v4());
        let (date, url) = (rfc3339(exchange.started_at_ms), exchange.url.as_str());
        let payload_digest = digest(&[&exchange.body]);
        let first = self.first(exchange, &payload_digest, response, &date);
        let ids = [record_id(request), record_id(response)];
        let address = exchange.address.map(|address| address.to_string()).unwrap_or_default();
        let head = response_head(exchange.status, &exchange.reason, &exchange.headers);
        let truncated = exchange.truncated.map(crawl_fetch::Truncated::name).unwrap_or_default();
        let of = first.as_ref().map(|first| record_id(first.id)).unwrap_or_default();
        let (of_url, of_date) = first.as_ref().map_or(("", ""), |first| (&first.url, &first.date));
        let common = [
            ("WARC-IP-Address", address.as_str()),
            ("WARC-Protocol", exchange.protocol),
            ("WARC-Concurrent-To", &ids[0]),
            ("WARC-Truncated", truncated),
            ("WARC-Refers-To", &of),
            ("WARC-Refers-To-Target-URI", of_url),
            ("WARC-Refers-To-Date", of_date),
            ("WARC-Profile", SAME_PAYLOAD),
        ];
        let not_modified = [
            common[0],
            common[1],
            common[2],
            ("WARC-Refers-To-Target-URI", url),
            ("WARC-Profile", NOT_MODIFIED),
        ];
        let (kind, fields, payload): (_, &[_], &[u8]) = match () {
            () if exchange.status == 304 => ("revisit", &not_modified, b""),
            () if first.is_some() => ("revisit", &common, b""),
            () => ("response", &common[..4], &exchange.body),
        };
        let payload_digest = if exchange.status == 304 { "" } else { payload_digest.as_str() };
        let answer = NewRecord {
            kind,
            id: response,
            date: &date,
            target_uri: url,
            content_type: "application/http;msgtype=response",
            payload_digest,
            fields,
            head: &head,
            payload,
        };
        let sent = self.request(exchange, request, &date, &ids[1]);
        let members = answer.member().and_then(|mut members| {
            members.extend(sent?);
            Ok(members)
        });
        self.write(members).then_some(response)
    }

    fn request(&self, exchange: &Exchange, id: Uuid, date: &str, response: &str) -> io::Result<Vec<u8>> {
        let url = &exchange.url;
        let query = url.query().map_or_else(String::new, |query| format!("?{query}"));
        let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
        let host = format!("{}{port}", url.host_str().unwrap_or_default());
        let record = NewRecord {
            kind: "request",
            id,
            date,
            target_uri: url.as_str(),
            content_type: "application/http;msgtype=request",
            fields: &[("WARC-Concurrent-To", response)],
            head: &request_head(&format!("{}{query}", url.path()), &host, &exchange.sent),
            ..NewRecord::default()
        };
        record.member()
    }

    /// The capture of this run that had the same payload; the present one, from now on, if there was none.
    fn first(&self, exchange: &Exchange, digest: &str, id: Uuid, date: &str) -> Option<First> {
        if exchange.body.len() < MIN_REVISIT_BYTES || exchange.truncated.is_some() {
            return None;
        }
        let mut state = self.state();
        if let Some(first) = state.known.get(digest) {
            return Some(first.clone());
        }
        if state.known.len() < KNOWN {
            let first = First { id, url: exchange.url.as_str().to_owned(), date: date.to_owned() };
            state.known.insert(digest.to_owned(), first);
        }
        None
    }
}

/// Describes the software and settings of the archive (WARC 1.1 §6.2).
fn info(config: &Config) -> String {
    let robots = if config.crawl.obey_robots { "obey" } else { "ignore" };
    let agent = config.http_settings().map(|http| http.user_agent).unwrap_or_default();
    format!(
        "software: crawl/{}\r\nformat: WARC File Format 1.1\r\nconformsTo: http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\nrobots: {robots}\r\nhttp-header-user-agent: {agent}\r\n",
        env!("CARGO_PKG_VERSION")
    )
}
