//! Held pages in the store. The URL of an unreadable page is fetched again.

use super::{RELEASE_BATCH, Shard};
use crate::{context::Context, finished::Finished, hints, stage_error::StageError};
use crawl_model::{ExtractedPage, FailedPage, HeldPage, HostKey, Stage, StoreError, now_ms, rfc3339};
use serde::de::IgnoredAny;

/// Kind of failure of a held page that is unreadable again after a second fetch.
const KIND: &str = "held_unreadable";

/// A held page, read from the store.
pub(super) struct Held {
    pub(super) page: ExtractedPage,
    pub(super) order: i64,
}

impl Held {
    fn of(entry: &HeldPage) -> Result<Self, String> {
        if !entry.intact {
            return Err("its checksum is wrong".into());
        }
        let mut page: ExtractedPage = serde_json::from_slice(&entry.page).map_err(|e| e.to_string())?;
        // the lease may have a newer token than the stored page
        (page.request.id, page.request.token) = (entry.lease.id, entry.lease.token);
        Ok(Self { page, order: entry.order })
    }
}

impl Shard {
    /// The next held pages of a host after an order, with the order of the last; `None` if there are none. Failed
    /// pages are left out.
    pub(super) fn held_after(
        &mut self,
        host: &HostKey,
        after: i64,
    ) -> Result<Option<(i64, Vec<Held>)>, StageError> {
        let entries = self.context.store.held(host, after, RELEASE_BATCH)?;
        let Some(last) = entries.last().map(|entry| entry.order) else { return Ok(None) };
        let mut pages = Vec::with_capacity(entries.len());
        for entry in &entries {
            pages.extend(self.read(entry)?);
        }
        Ok(Some((last, pages)))
    }

    /// The held page of an order, if it can be read.
    pub(super) fn held_at(&mut self, host: &HostKey, order: i64) -> Result<Option<Held>, StageError> {
        let entries = self.context.store.held(host, order - 1, 1)?;
        match entries.first().filter(|entry| entry.order == order) {
            Some(entry) => self.read(entry),
            None => Ok(None),
        }
    }

    /// Visits the held pages of a host after an order.
    pub(super) fn each_held(
        &mut self,
        host: &HostKey,
        mut after: i64,
        mut visit: impl FnMut(&mut Self, Held) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        while let Some((last, pages)) = self.held_after(host, after)? {
            after = last;
            for page in pages {
                visit(self, page)?;
            }
        }
        Ok(())
    }

    /// Parses a held page. The URL of an unreadable page returns to the frontier; a second unreadable page of a URL
    /// is a failure.
    fn read(&mut self, entry: &HeldPage) -> Result<Option<Held>, StageError> {
        if self.failed.contains(&entry.lease.id.0) {
            return Ok(None);
        }
        self.read_back += 1;
        let why = match Held::of(entry) {
            Ok(held) => return Ok(Some(held)),
            Err(why) => why,
        };
        let stats = &self.context.stats;
        stats.released.add(1);
        if self.context.store.refetch(entry.lease)? {
            tracing::warn!(url = entry.url, why, "a held page cannot be read: its URL is fetched again");
            stats.requeued.add(1);
            stats.changed.notify_one();
            return Ok(None);
        }
        self.failed.insert(entry.lease.id.0);
        self.ends.push(unreadable(entry, &why));
        Ok(None)
    }
}

/// The end of a URL whose held page is unreadable for the second time.
fn unreadable(entry: &HeldPage, why: &str) -> Finished {
    let failed = FailedPage {
        url: entry.url.clone(),
        stage: Stage::Dedup,
        kind: KIND,
        status: None,
        attempts: 1,
        message: format!("the held page is unreadable for the second time: {why}"),
        hint: hints::of(KIND).to_owned(),
        at: rfc3339(now_ms()),
        found_on: None,
        lease: Some((entry.lease.id, entry.lease.token)),
        seed: None,
    };
    Finished::Failed(Box::new(failed), Box::default())
}

/// Makes the URLs of unreadable held pages pending again. Called before the first lease. Returns their number.
///
/// # Errors
/// When storage fails.
pub fn refetch_unreadable(context: &Context) -> Result<u64, StoreError> {
    let mut put_back = 0;
    for load in context.store.hosts_with_held()? {
        let mut after = 0;
        loop {
            let entries = context.store.held(&load.host, after, RELEASE_BATCH)?;
            let Some(last) = entries.last() else { break };
            after = last.order;
            for entry in &entries {
                let readable = entry.intact && serde_json::from_slice::<IgnoredAny>(&entry.page).is_ok();
                if !readable && context.store.refetch(entry.lease)? {
                    tracing::warn!(url = entry.url, "a held page is damaged: its URL is fetched again");
                    put_back += 1;
                }
            }
        }
    }
    Ok(put_back)
}
