//! Replay of an archive: the same pages in the same order, extracted and cleaned by the present rules and
//! settings.
//!
//! The decisions of the network stay: the pages, their strategies, the reservations of their sites.
//! The stages of a crawl repeat all work after the bytes. The last of several captures of a URL counts, unless the
//! page was gone after it.
//!
//! A damaged archive is replayed as far as it can be read. Parts that cannot be read, and pages whose bytes are lost, are counted
//! and named, and the replay ends with [`Exit::Damaged`].

mod index;
mod unpacked;

pub use index::{Index, open};

use crate::{
    archive::{Decided, Decision},
    config::Config,
    context::Context,
    ending::Ending,
    exit::{Exit, Failure},
    extract_stage,
    messages::{ShardMessage, shard_of},
    scratch::Scratch,
    session, shard,
    sink::Sink,
    stage_error::StageError,
    threads::{self, Stages, marked},
};
use crawl_fetch::decode_body;
use crawl_model::{CrawlRequest, ExtractedPage, HostKey, Lane, NewUrl, StoreError, UrlKey, now_ms};
use crawl_output::{Before, LineRecords, OutputError, RecordOutput, StdoutOutput};
use index::{decision, key_of, records};
use std::{
    collections::VecDeque,
    io,
    path::Path,
    sync::{Arc, atomic::Ordering},
};
use tokio::{
    sync::mpsc::{Sender, channel},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;
use url::Url;

/// The outcome of a replay.
#[derive(Debug)]
#[non_exhaustive]
pub struct Replayed {
    /// Records that were written.
    pub records: u64,
    /// Pages that were replayed.
    pub pages: usize,
    /// Missing parts of the archive, in words; none if it is intact.
    pub damage: Option<String>,
    /// Revisits of archives of other makers that were left out, since their pages are not there.
    pub bodiless: usize,
    /// Pages without a known URL, which were left out.
    pub unaddressed: u64,
    /// Files of other makers in a folder of this program, which were left out.
    pub foreign: usize,
    /// The replay was stopped before its end: the output is not complete.
    pub stopped: bool,
}

impl Index {
    /// Replays the archive into the output that the settings name, until its end or until `stop` is cancelled. The state lies in a
    /// temporary folder that is removed at the end.
    ///
    /// # Errors
    /// When a setting cannot be used, or the archive, the output or the temporary state cannot be read or written.
    pub async fn replay(self, config: Config, stop: CancellationToken) -> Result<Replayed, Failure> {
        let base = std::env::temp_dir();
        let scratch = Scratch::new(&base, "crawl-replay-").map_err(|e| {
            let words = format!("{}: no folder for the state of the replay: {e}", base.display());
            Failure::new(Exit::Storage, words)
        })?;
        let in_scratch =
            |error: Failure| Failure { error: error.error.context(failure_context(scratch.path())), ..error };
        // the error of an output or an archive already names its file
        let in_store =
            |error: Failure| if error.error.is::<StoreError>() { in_scratch(error) } else { error };
        let store = crawl_store::open(scratch.path()).map_err(|e| in_scratch(e.into()))?;
        store.begin_round().map_err(|e| in_scratch(e.into()))?;
        let records = output_of(&config, &stop)?;
        let (pages, bodiless, foreign) = (self.pages.len(), self.bodiless, self.foreign);
        let unaddressed = self.unaddressed;
        let (mut damage, missing) = (self.damage(), Arc::clone(&self.missing));
        let mut context = session::context(config, store).map_err(in_store)?;
        context.control.cancel = stop;
        let context = Arc::new(context);
        crate::duplicates::open(&context).map_err(|e| in_store(e.into()))?;
        // after the last page every remaining host is complete
        let _ = context.control.ending.set(Ending::Drained);
        match pipeline(Arc::clone(&context), self, records).await {
            // the reader of standard output has stopped reading
            Ok(()) | Err(StageError::Output(OutputError::Abandoned)) => {}
            Err(error) => return Err(in_store(error.into())),
        }
        damage.lost = damage.lost.max(missing.load(Ordering::Relaxed));
        let damage = damage.any().then(|| damage.to_string());
        let (records, stopped) = (context.stats.records.get(), context.control.cancel.is_cancelled());
        Ok(Replayed { records, pages, damage, bodiless, unaddressed, foreign, stopped })
    }
}

/// Context of a failure: the database of the replay and the remedy.
fn failure_context(folder: &Path) -> String {
    format!(
        "{}: the state of the replay cannot be read or written; free disk space, or name another folder with TMPDIR, then run the \
         same command again",
        folder.join("crawl.sqlite").display()
    )
}

fn output_of(config: &Config, stop: &CancellationToken) -> Result<Box<dyn RecordOutput>, Failure> {
    let mut output = config.output.clone();
    output.check_endings()?;
    output.expand_dates(now_ms())?;
    let fields = output.chosen_fields()?;
    let (path, before) = match (output.append.as_str(), output.replace.as_str()) {
        ("", "") => {
            return Ok(Box::new(LineRecords::new(Box::new(StdoutOutput::new(stop.clone())), fields)));
        }
        (append, "") => (append, Before::Unknown),
        (_, replace) => (replace, Before::Replace),
    };
    Ok(crawl_output::Place::of(Path::new(path)).open(before, fields)?.output)
}

/// The stages of a crawl from extraction on, with the archive in front of them.
async fn pipeline(
    context: Arc<Context>,
    archive: Index,
    records: Box<dyn RecordOutput>,
) -> Result<(), StageError> {
    let (channels, shards) = (context.compute.channels, context.config.dedup.shards);
    let (senders, queues): (Vec<_>, Vec<_>) = (0..shards).map(|_| channel(channels.extracted)).unzip();
    let (finished, finished_queue) = channel(channels.cleaned);
    let mut stages = Stages::new(context.control.cancel.clone(), context.compute.threading);
    let source = Arc::clone(&context);
    stages.thread("replay", Replay { context: source, archive, shards: senders }.run())?;
    for (index, queue) in queues.into_iter().enumerate() {
        let (context, finished) = (Arc::clone(&context), finished.clone());
        stages.thread("dedup", shard::run(context, index, queue, finished))?;
    }
    drop(finished);
    // failures of the crawl are not reported again
    let sink = Sink::new(context, records, Box::new(crawl_output::DiscardingOutput));
    stages.thread("sink", sink.run(finished_queue))?;
    threads::join(stages).await
}

/// A step of the crawl, on its way to its shard.
enum Step {
    Page(Box<CrawlRequest>, JoinHandle<Result<ExtractedPage, StageError>>),
    Drained(HostKey),
}

struct Replay {
    context: Arc<Context>,
    archive: Index,
    shards: Vec<Sender<ShardMessage>>,
}

impl Replay {
    /// Takes the steps in their order; pages are extracted side by side, as far ahead as there are threads.
    async fn run(self) -> Result<(), StageError> {
        let ahead = self.context.compute.cpu.threads() * 2;
        let mut steps: VecDeque<Step> = VecDeque::new();
        let mut runs = 0;
        for file in &self.archive.files {
            let fail = |source| OutputError::Write { name: file.display().to_string(), source };
            for (_, record) in records(file, self.archive.most, |_, _| ()).map_err(fail)? {
                match decision(&record) {
                    Some(Decision::Page(page)) => {
                        if let Some(step) = self.extract(*page).map_err(fail)? {
                            steps.push_back(step);
                        }
                    }
                    // pages of earlier rounds belong to hosts that the last round completes
                    Some(Decision::HostDrained { host }) if runs > self.archive.earlier_runs => {
                        steps.push_back(Step::Drained(HostKey::from_stored(&host)));
                    }
                    Some(Decision::Run { .. }) => runs += 1,
                    Some(Decision::HostDrained { .. } | Decision::Gone { .. }) | None => {}
                }
                if self.context.control.cancel.is_cancelled() {
                    return Ok(());
                }
                while steps.len() > ahead {
                    self.take(steps.pop_front()).await?;
                }
            }
        }
        while !steps.is_empty() {
            self.take(steps.pop_front()).await?;
        }
        Ok(())
    }

    /// Begins a page's extraction; `None` for a page that has a later capture or is missing in the archive.
    fn extract(&self, mut page: Decided) -> io::Result<Option<Step>> {
        if self.archive.pages.get(&key_of(&self.archive.canonicalizer, &page.request.url))
            != Some(&page.capture)
        {
            return Ok(None);
        }
        let Some(capture) = self.archive.page(page.capture)? else {
            self.archive.missing.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(url = %page.final_url, "the archive lacks the bytes of this page: the page is skipped");
            return Ok(None);
        };
        // earlier rounds are not replayed, so the page is written without comparison
        page.request.before = None;
        let (context, request) = (Arc::clone(&self.context), page.request.clone());
        let cap = self.context.config.fetch.max_body.as_u64();
        let extracted = tokio::spawn(marked(async move {
            let shared = Arc::clone(&context);
            let work = move || {
                let (body, _) = decode_body(&capture.encoding, &capture.body, cap).unwrap_or_default();
                let url = Url::parse(&capture.url).unwrap_or_else(|_| page.final_url.clone());
                extract_stage::again(&shared, page, &body, &url, &capture.content_type)
            };
            let done = context.compute.cpu.run(work).await;
            let done = done.map_err(|panic| StageError::Panicked { stage: "replay", words: panic.0 })?;
            Ok(done?)
        }));
        Ok(Some(Step::Page(Box::new(request), extracted)))
    }

    async fn take(&self, step: Option<Step>) -> Result<(), StageError> {
        match step {
            None => Ok(()),
            Some(Step::Drained(host)) => self.send(&host.clone(), ShardMessage::Drained(host)).await,
            Some(Step::Page(request, extracted)) => {
                let panicked = |e: tokio::task::JoinError| StageError::Panicked {
                    stage: "replay",
                    words: e.to_string(),
                };
                let mut page = extracted.await.map_err(panicked)??;
                let Some(host) = HostKey::of(&page.final_url) else { return Ok(()) };
                let leased = self.context.in_storage(move |context| lease(context, &request)).await?;
                let Some(lease) = leased else { return Ok(()) };
                (page.request.id, page.request.token) = (lease.id, lease.token);
                self.send(&host, ShardMessage::Page(Box::new(page), None)).await
            }
        }
    }

    async fn send(&self, host: &HostKey, message: ShardMessage) -> Result<(), StageError> {
        let shard = self.shards.get(shard_of(host, self.shards.len())).ok_or(StageError::Downstream)?;
        shard.send(message).await.map_err(|_| StageError::Downstream)
    }
}

/// A lease of a page's URL, which the stages behind hold and settle it by.
fn lease(context: &Context, request: &CrawlRequest) -> Result<Option<CrawlRequest>, StoreError> {
    let Some(host) = HostKey::of(&request.url) else { return Ok(None) };
    let (store, now) = (&context.store, now_ms());
    store.enqueue(&[NewUrl {
        key: UrlKey::of(request.url.as_str()),
        url: request.url.to_string(),
        host: host.clone(),
        depth: 0,
        discovery: request.discovery,
        redirects: Vec::new(),
        sitemap_lastmod: request.sitemap_lastmod.clone(),
    }])?;
    loop {
        let leased = store.lease(&host, Lane::Plain, 16, &context.control.worker, now, i64::MAX)?;
        if leased.is_empty() {
            return Ok(None);
        }
        // a replay makes no other requests
        if let Some(found) = leased.into_iter().find(|leased| leased.url == request.url) {
            return Ok(Some(found));
        }
    }
}
