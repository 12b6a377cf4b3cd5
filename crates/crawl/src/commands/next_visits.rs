//! Next visits of the pages that a state knows.

use crawl_engine::{
    config::{Config, RecrawlMode},
    recrawl::{Due, Policy},
    rules_version::{self, Readings},
    state::rules_of,
};
use crawl_model::{Discovery, RequestId, StoreError, now_ms, rfc3339};
use crawl_store::StateStore;
use serde::Serialize;

/// URLs that are read at a time.
const BATCH: usize = 1000;
const DAY_MS: i64 = 86_400_000;

/// Numbers of known pages by the time when they are due, by the present mode and ages. Seeds are asked by
/// every round, and a sitemap may wake a resting page. The rules are taken to be those of the last run, whose
/// flags are not known here.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NextVisits {
    mode: RecrawlMode,
    /// Pages due in a run that began now.
    now: u64,
    /// Later than now, within 24 hours.
    day: u64,
    /// Later than that, within 7 days.
    week: u64,
    later: u64,
    /// Pages due in no run, unless a sitemap or feed wakes them.
    resting: u64,
    /// Time when the first page that is not due yet becomes due.
    next: Option<String>,
}

impl NextVisits {
    /// Reads all that the store knows.
    pub(super) fn of(store: &dyn StateStore, config: &Config) -> Result<Self, StoreError> {
        let rules = rules_of(store)?.unwrap_or_else(|| rules_version::of(config));
        // no page has links that a new depth would follow
        let policy = Policy::new(&config.recrawl, Readings::of(rules, config), 0);
        let (now, mut after, mut next) = (now_ms(), RequestId(0), None::<i64>);
        let mut visits =
            Self { mode: config.recrawl.mode, now: 0, day: 0, week: 0, later: 0, resting: 0, next: None };
        loop {
            let known = store.known_next(after, BATCH)?;
            let Some(last) = known.last() else { break };
            after = last.id;
            let pages = known
                .iter()
                .filter(|known| !matches!(known.url.discovery, Discovery::Probe | Discovery::SitemapFile));
            for known in pages {
                let count = match policy.due(known, now) {
                    Due::Never => &mut visits.resting,
                    Due::Always => &mut visits.now,
                    Due::From(at) if at <= now => &mut visits.now,
                    Due::From(at) => {
                        next = Some(next.map_or(at, |first| first.min(at)));
                        match at - now {
                            ..=DAY_MS => &mut visits.day,
                            left if left <= 7 * DAY_MS => &mut visits.week,
                            _ => &mut visits.later,
                        }
                    }
                };
                *count += 1;
            }
        }
        visits.next = next.map(rfc3339);
        Ok(visits)
    }

    /// A line for a person; nothing where nothing is known.
    pub(super) fn in_words(&self, until: impl Fn(&str) -> String) -> Option<String> {
        let Self { mode, now, day, week, later, resting, .. } = self;
        let mode = format!("{mode:?}").to_lowercase();
        if now + day + week + later + resting == 0 {
            return None;
        }
        let mut out = format!(
            "next visits (--recrawl {mode}): {now} URLs are due now, {day} within a day, {week} within a week, {later} later"
        );
        if *resting > 0 {
            out += &format!(", {resting} rest");
        }
        if let Some(at) = &self.next {
            out += &format!("; the first that is not yet due at {}", until(at));
        }
        Some(out)
    }
}
