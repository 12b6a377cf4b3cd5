//! What sites say about mining and machine learning, joined for a page: its own directives, the response's headers, and
//! the origin's two files, which are fetched once for each origin and kept for the run.

use crate::{context::Context, origin_cache::OriginCache};
use crawl_fetch::{
    AI_TXT_PATH, HostSlot, OPT_OUT_MAX_BYTES, OptOut, OriginOptOuts, RobotsPolicy, SlotOutcome, TDMREP_PATH,
    tdm_header,
};
use crawl_model::{FetchedPage, HostKey, Origin};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::AcqRel},
};
use tokio::sync::OnceCell;
use url::Url;

/// Bytes of parsed files that are kept in memory; what is dropped is fetched again.
const MAX_IN_MEMORY: usize = 32 << 20;

#[derive(Default)]
struct Entry {
    /// Somebody is about to fill it.
    asked: AtomicBool,
    files: OnceCell<OriginOptOuts>,
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
    fn entry(&self, origin: &Origin) -> Arc<Entry> {
        self.entries.get(origin, |_| false)
    }

    /// Sees to it that an origin's files are known. However many ask at once, they are fetched once; the others wait
    /// without their slots. `slot` is the turn of the first request, the second one waits for its own. A file that
    /// cannot be had, or that robots.txt forbids to ask for, reserves nothing.
    pub async fn learn(
        &self,
        context: &Context,
        origin: &Origin,
        robots: Option<&RobotsPolicy>,
        slot: &mut Option<HostSlot>,
    ) {
        let entry = self.entry(origin);
        if entry.files.get().is_none()
            && entry.asked.swap(true, AcqRel)
            && let Some(slot) = slot.take()
        {
            slot.give_back();
        }
        let fetched = async || {
            let tdm = file(context, origin, TDMREP_PATH, robots, slot).await;
            let ai = file(context, origin, AI_TXT_PATH, robots, slot).await;
            OriginOptOuts::parse(tdm.as_deref(), ai.as_deref(), &context.product_token)
        };
        let known = entry.files.get().is_some();
        let files = entry.files.get_or_init(fetched).await;
        if !known {
            // whoever waited does it once more, which changes nothing
            self.entries.weigh(origin, &entry, files.heap_bytes());
        }
    }

    /// What an origin's files reserve of a page.
    fn reserves(&self, url: &Url) -> Option<OptOut> {
        Origin::of(url).and_then(|origin| self.entry(&origin).files.get()?.reserves(url))
    }
}

async fn file(
    context: &Context,
    origin: &Origin,
    path: &str,
    robots: Option<&RobotsPolicy>,
    slot: &mut Option<HostSlot>,
) -> Option<Vec<u8>> {
    let url = Url::parse(&format!("{origin}{path}")).ok()?;
    if robots.is_some_and(|policy| !policy.verdict(&url).allowed) {
        return None;
    }
    let turn = match slot.take() {
        Some(slot) => slot,
        None => context.gate.acquire(&HostKey::of(&url)?).await,
    };
    let answer = context.client.fetch_resource(&url, OPT_OUT_MAX_BYTES).await;
    turn.finish(SlotOutcome::of_resource(&answer));
    answer.ok().filter(|answer| answer.status == 200).map(|answer| answer.body)
}

/// All that is reserved of a page, by stable names. A response header speaks for one page and so overrules
/// `tdmrep.json`, which speaks for many (TDM Reservation Protocol).
#[must_use]
pub fn of_page(context: &Context, page: &FetchedPage, noai: bool) -> Vec<String> {
    let header = tdm_header(&page.headers);
    let file = context.opt_outs.reserves(&page.final_url);
    let file = file.filter(|found| !(*found == OptOut::TdmFile && header == Some(false)));
    let found = [noai.then_some(OptOut::NoAi), (header == Some(true)).then_some(OptOut::TdmHeader), file];
    found.into_iter().flatten().map(|found| found.name().to_owned()).collect()
}
