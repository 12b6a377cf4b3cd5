//! Answers for pages of an earlier round: unchanged (304), gone (404, 410) or withdrawn (304, and its site has opted
//! out).

use super::{Answer, Visit};
use crate::{finished::Finished, revisit, stage_error::StageError};
use crawl_fetch::OptOut;
use crawl_model::{Outcome, PageHistory, Strategy, now_ms};

impl Visit<'_> {
    /// Leaves the request conditional only if its validators fit the present rules. The page must have been
    /// read from a plain answer, by the present rules, with its links followed as now. Otherwise the page has
    /// to be fetched whole.
    pub(super) fn keep_conditions(&mut self) {
        let request = &mut self.request;
        let holds = request.before.as_deref().is_some_and(|before| {
            before.strategy == Some(Strategy::Static) && self.context.recrawl.can_skip_if_unchanged(request)
        });
        if !holds || request.strategy.is_some() || self.was_tried {
            (request.etag, request.last_modified) = (None, None);
        }
    }

    /// Returns true if an answer without a body can be about known content.
    pub(super) fn is_conditional(&self) -> bool {
        self.request.etag.is_some() || self.request.last_modified.is_some()
    }

    /// Ends a page that its server has not modified. The reservations of its site may be new: then the page is withdrawn.
    pub(super) async fn not_modified(&self, status: u16) -> Result<Answer, StageError> {
        let reserved = self.opt_outs.as_ref().and_then(|files| files.reserves(&self.request.url, None));
        let obeyed = self.context.config.crawl.respect_ai_optout;
        if obeyed && reserved.is_some_and(|reserved| reserved != OptOut::Unknown) {
            tracing::info!(url = %self.request.url, kind = "ai_optout", "the page is withdrawn");
            return self.gone(status).await;
        }
        let history = PageHistory {
            sitemap_lastmod: self.request.sitemap_lastmod.clone(),
            ..*self.history(Some(status))
        };
        Ok(Answer::Finished(revisit::unchanged(self.context, self.request.clone(), history)))
    }

    /// Handles a page of an earlier round that answers 404 or 410. This run or the next requests it again after a
    /// pause. It counts as gone if the answer is the same. `None` for other URLs and answers.
    pub(super) async fn missing(&self, status: Option<u16>) -> Result<Option<Answer>, StageError> {
        let (Some(status @ (404 | 410)), Some(before)) = (status, self.request.before.as_deref()) else {
            return Ok(None);
        };
        if self.was_tried {
            return Ok(None);
        }
        if !matches!(before.status, Some(404 | 410)) {
            let pause = self.context.config.recrawl.confirm_gone.as_millis();
            let due = now_ms().saturating_add(i64::try_from(pause).unwrap_or(i64::MAX));
            tracing::info!(url = %self.request.url, status, "the page seems to be gone, will be visited once more");
            let request = self.request.clone();
            let given_back = self
                .in_storage(move |context| context.store.mark_possibly_gone(&request, due, status))
                .await?;
            self.context.stats.requeued.add(u64::from(given_back));
            return Ok(Some(Answer::Requeued));
        }
        self.gone(status).await.map(Some)
    }

    /// Ends a page of an earlier round whose record is to go.
    async fn gone(&self, status: u16) -> Result<Answer, StageError> {
        if let Some(archive) = &self.context.records.archive {
            let _call = self.calls.begin();
            archive.gone(&self.request.url).await?;
        }
        let history = *self.history(Some(status));
        Ok(Answer::Finished(Finished::known(self.request.clone(), Outcome::Gone, history)))
    }
}
