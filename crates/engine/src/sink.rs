//! The sink writes a batch, syncs it, and saves its pages in the project of the run. Then it settles the leases and
//! stores the lengths of the outputs in one transaction. If the process is killed in between, lines remain after the
//! stored length. The next run truncates them and writes them again, so each record is written once.

#[cfg(test)]
mod tests;

use crate::{
    config::Emit,
    context::Context,
    duplicates::{self, Duplicates},
    finished::{Finished, KnownPageEnd},
    memory::{self, LargePagePermit},
    page_work,
    record::{known_record, record},
    revisit,
    shard::lease_of,
    soft404,
    stage_error::StageError,
    stats::settled::{BatchCounts, PageFigures},
    threads::Gathering,
};
use crawl_model::{
    CleanPage, FailedPage, HostKey, LeaseRef, NewSource, Outcome, OutputMark, PageHistory, Record,
    RulesVersion, Settlement, Stage, UrlKey,
};
use crawl_output::{Output, RecordOutput, error_line};
use crawl_projects::source_of;
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::mpsc::Receiver,
    time::{Instant, timeout_at},
};

/// Sink of a run.
pub struct Sink {
    context: Arc<Context>,
    records: Box<dyn RecordOutput>,
    errors: Box<dyn Output>,
    error_lines: Vec<u8>,
    settlements: Vec<Settlement>,
    /// Pages of this batch for the project of the run.
    sources: Vec<NewSource>,
    /// Memory permits of the large pages in this batch.
    shares: Vec<LargePagePermit>,
    duplicates: Duplicates,
    counts: BatchCounts,
    /// Archive file of the last stored mark.
    archived: String,
}

/// A page before it enters the batch.
enum Prepared {
    /// The page repeats a record and is not written.
    LeftOut(Box<CleanPage>),
    /// The page's history, record and figures.
    Record(Box<PageHistory>, Box<Record>, Box<PageFigures>),
}

/// Maximum wait of a batch for its next page. Syncing has a fixed cost per batch.
const MAX_PAGE_DELAY: Duration = Duration::from_millis(25);
/// Maximum time of a batch after its first page.
const MAX_BATCH_DELAY: Duration = Duration::from_millis(100);
/// Maximum capacity that the line buffer keeps between batches.
const KEEP_BUFFER: usize = 2 << 20;
/// Size at which a batch ends early, so that large pages do not fill memory.
const MAX_BATCH_BYTES: usize = 2 << 20;

impl Sink {
    /// A sink that writes records and error lines.
    #[must_use]
    pub fn new(context: Arc<Context>, records: Box<dyn RecordOutput>, errors: Box<dyn Output>) -> Self {
        Self {
            duplicates: Duplicates::new(Arc::clone(&context)),
            context,
            records,
            errors,
            error_lines: Vec::new(),
            settlements: Vec::new(),
            sources: Vec::new(),
            shares: Vec::new(),
            counts: BatchCounts::default(),
            archived: String::new(),
        }
    }

    /// Runs until every stage before it has dropped its sender.
    ///
    /// # Errors
    /// When output or storage fails. Unsettled URLs stay leased or held.
    pub async fn run(mut self, mut finished: Receiver<Finished>) -> Result<(), StageError> {
        let context = Arc::clone(&self.context);
        let mut gathering = Gathering::new(context.compute.threading);
        while let Some(first) = finished.recv().await {
            // pages of the batch stay leased until they are settled
            let _fence = context.records.leases.hold().await;
            self.take(first)?;
            let until = Instant::now() + MAX_BATCH_DELAY;
            while self.settlements.len() < self.context.config.output.batch
                && self.records.batch_bytes().max(self.error_lines.len()) < MAX_BATCH_BYTES
            {
                gathering.handled(finished.is_empty());
                let next_until = until.min(Instant::now() + MAX_PAGE_DELAY);
                match timeout_at(next_until, finished.recv()).await {
                    Ok(Some(next)) => self.take(next)?,
                    Ok(None) | Err(_) => break,
                }
            }
            self.commit()?;
        }
        // a finished output cannot be truncated, so the settlement must be durable first
        self.context.store.sync()?;
        let offset = self.records.finish()?;
        self.context.store.settle(&[], &Vec::from_iter(mark(self.records.name(), offset)))?;
        Ok(())
    }

    fn take(&mut self, finished: Finished) -> Result<(), StageError> {
        if self.is_late(&finished)? {
            return Ok(());
        }
        match finished {
            Finished::Page(page, share) => {
                self.shares.extend(share);
                self.page(*page)
            }
            Finished::Failed(failed, history) => self.failed(*failed, *history),
            Finished::Known(end) => self.known(*end),
            Finished::Other { lease, outcome, kind, history, seed, left_out } => {
                self.counts.add_kind(kind);
                self.counts.left_out.extend(left_out.map(|url| (kind, url)));
                self.counts.seeds.extend(seed.map(|url| (url.into_string(), kind)));
                self.counts.probes += u64::from(kind == soft404::KIND);
                self.end(lease, outcome, *history);
                Ok(())
            }
        }
    }

    /// Returns true if the lease has expired and the URL returned to the frontier.
    fn is_late(&self, finished: &Finished) -> Result<bool, StageError> {
        let lease = match finished {
            _ if !self.context.records.leases.has_expired() => None,
            Finished::Page(page, _) => Some(lease_of(page)),
            Finished::Failed(failed, _) => failed.lease.map(|(id, token)| LeaseRef { id, token }),
            Finished::Known(end) => Some(LeaseRef::from(&end.request)),
            Finished::Other { lease, .. } => Some(*lease),
        };
        let Some(lease) = lease else { return Ok(false) };
        let late = !self.context.store.is_current(lease)?;
        if late {
            tracing::info!(
                id = lease.id.0,
                "a page arrived after its lease had expired; its URL is fetched again"
            );
        }
        Ok(late)
    }

    fn page(&mut self, page: CleanPage) -> Result<(), StageError> {
        let (request, status, texts) = (page.page.request.clone(), page.page.status, self.duplicates.count());
        let (history, record, figures) =
            match page_work::guarded(Stage::Sink, &request, || self.prepare(page)) {
                Ok(prepared) => match prepared? {
                    Prepared::LeftOut(page) => return self.left_out(&page),
                    Prepared::Record(history, record, figures) => (history, record, figures),
                },
                Err(panicked) => {
                    // other pages are compared only with texts of records
                    self.duplicates.truncate(texts);
                    return self.take(page_work::ended(Stage::Sink, &request, Some(status), &panicked));
                }
            };
        let lease = LeaseRef::from(&request);
        self.settlements.push(Settlement { lease, outcome: Outcome::Record, history: *history });
        self.counts.records += 1;
        self.counts.pages.push(*figures);
        self.records.push(&record)?;
        if self.context.records.project.is_some() {
            self.sources.push(source_of(*record)?);
        }
        Ok(())
    }

    /// Compares a page with earlier ones and makes its record. The batch is not changed.
    fn prepare(&mut self, mut page: CleanPage) -> Result<Prepared, StageError> {
        if self.duplicates.compare(&mut page)? {
            return Ok(Prepared::LeftOut(Box::new(page)));
        }
        let text_hash = Some(page.text_hash);
        let history = revisit::history(&self.context, &page.page, page.content_hash, text_hash);
        let figures = PageFigures::of(&page);
        let host = HostKey::of(&page.page.final_url);
        let tags = host.and_then(|host| self.context.admission.sites.tags(&host));
        let mut record = record(page);
        record.metadata.tags = tags;
        Ok(Prepared::Record(Box::new(history), Box::new(record), Box::new(figures)))
    }

    /// Ends the URL of a page that repeats a record, with a line of the error log.
    fn left_out(&mut self, page: &CleanPage) -> Result<(), StageError> {
        let line = duplicates::line(page);
        error_line::push(&mut self.error_lines, &line)?;
        tracing::info!(url = line.url, kind = line.kind, "{}", line.message);
        self.counts.add_kind(line.kind);
        self.counts.add_seed(&line);
        // the history has no content hash, so that the next visit compares the page again
        let history = PageHistory {
            status: Some(page.page.status),
            fetched_at_ms: Some(page.page.timings.started_at_ms),
            ..PageHistory::default()
        };
        self.end(lease_of(page), Outcome::Skipped, history);
        Ok(())
    }

    /// Ends a page of an earlier round. A gone page is written; an unchanged one only with `output.emit = "all"`, and
    /// if the output does not hold the state.
    fn known(&mut self, end: KnownPageEnd) -> Result<(), StageError> {
        let gone = end.outcome == Outcome::Gone;
        if gone {
            self.counts.gone.push(end.request.url.to_string());
        } else {
            self.counts.unchanged += 1;
        }
        // an output that holds the state already has the record with the text
        let output = &self.context.config.output;
        if gone || (output.emit == Emit::All && !output.holds_state()) {
            self.records.push(&known_record(&end))?;
            self.counts.records += 1;
        } else {
            self.counts.ended += 1;
        }
        let KnownPageEnd { request, outcome, history } = end;
        self.settlements.push(Settlement { lease: LeaseRef::from(&request), outcome, history });
        Ok(())
    }

    fn failed(&mut self, mut failed: FailedPage, history: PageHistory) -> Result<(), StageError> {
        if failed.found_on.is_none() {
            failed.found_on = self.context.store.found_on(UrlKey::of(&failed.url))?;
        }
        error_line::push(&mut self.error_lines, &failed)?;
        tracing::info!(url = failed.url, kind = failed.kind, status = failed.status, "{}", failed.message);
        self.counts.add_kind(failed.kind);
        self.counts.add_seed(&failed);
        let lease = failed.lease;
        self.counts.failures.push(failed);
        if let Some((id, token)) = lease {
            self.end(LeaseRef { id, token }, Outcome::Failed, history);
        }
        Ok(())
    }

    fn end(&mut self, lease: LeaseRef, outcome: Outcome, mut history: PageHistory) {
        self.counts.ended += 1;
        if self.context.recrawl.writes_all {
            // the output may lack the page, or has an old record of it
            history.rules = Some(RulesVersion::UNWRITTEN);
        }
        self.settlements.push(Settlement { lease, outcome, history });
    }

    fn commit(&mut self) -> Result<(), StageError> {
        // the archive is synced first, so that every record has its page there
        let mut marks = Vec::new();
        if let Some(archive) = &self.context.records.archive
            && let Some(reach) = archive.sync()?
        {
            marks.push(reach.mark(&*self.context.store, &mut self.archived)?);
        }
        let written = self.records.batch_bytes();
        if written > 0 {
            let offset = self.records.commit()?;
            marks.extend(mark(self.records.name(), offset));
        }
        if !self.error_lines.is_empty() {
            self.errors.write(&self.error_lines)?;
            let offset = self.errors.sync()?;
            marks.extend(mark(self.errors.name(), offset));
            self.error_lines.clear();
            self.error_lines.shrink_to(KEEP_BUFFER);
        }
        self.counts.written_bytes += written as u64 + self.records.take_file_bytes();
        let mut texts = self.duplicates.take();
        if let Some(project) = &self.context.records.project {
            // saved before the leases end: after a crash the source is saved again and replaces this one
            project
                .save(&self.sources, &texts)
                .map_err(|source| StageError::Project { name: project.name.clone(), source })?;
            self.sources.clear();
            // the project has its own index of texts
            texts.clear();
        }
        let stale = self.context.store.settle_with_texts(&self.settlements, &marks, &texts)?;
        if stale > 0 {
            tracing::warn!(stale, "leases expired before their pages were written: these pages appear twice");
        }
        self.settlements.clear();
        if !self.shares.is_empty() {
            self.shares.clear();
            memory::return_freed_memory();
        }
        self.context.stats.settled(std::mem::take(&mut self.counts));
        Ok(())
    }
}

fn mark(name: &str, offset: Option<u64>) -> Option<OutputMark> {
    offset.map(|offset| OutputMark { name: name.to_owned(), offset })
}
