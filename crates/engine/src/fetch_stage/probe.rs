//! Probes: requests for pages that cannot exist.

use super::{Answer, Visit};
use crate::{soft404, stage_error::StageError};
use crawl_fetch::Fetched;

impl Visit<'_> {
    /// Asks for a page that cannot exist, once; only an answer with status 200 is looked at. None is an error, nor is it
    /// one that robots.txt forbids asking.
    pub(super) async fn probe(mut self) -> Result<Answer, StageError> {
        if self.slot.is_none() {
            return Ok(Answer::Finished(soft404::end(&self.request, None)));
        }
        match self.locate().await? {
            None => {}
            Some(Answer::Requeued) => return Ok(Answer::Requeued),
            Some(_) => return Ok(Answer::Finished(soft404::end(&self.request, None))),
        }
        if self.context.config.crawl.obey_robots {
            match self.ask_robots().await? {
                None => {}
                Some(Answer::Requeued) => return Ok(Answer::Requeued),
                Some(_) => return Ok(Answer::Finished(soft404::end(&self.request, None))),
            }
        }
        let status = match self.fetch().await {
            Fetched::Page(page) if page.status == 200 => return Ok(Answer::Page(page)),
            Fetched::Page(page) => Some(page.status),
            Fetched::Skipped { status, .. } | Fetched::Redirect { status, .. } => Some(status),
            Fetched::Failed { error, .. } if error.is_local() => {
                return self.requeue_after_local_failure(&error).await;
            }
            Fetched::Failed { status, .. } => status,
        };
        Ok(Answer::Finished(soft404::end(&self.request, status)))
    }
}
