//! Next visits of the pages that a state knows.

use crate::words::counted;
use crawl_engine::{
    config::{Config, RecrawlMode, SiteSection},
    exit::Failure,
    recrawl::{Due, Policy},
    rules_version::{self, Readings},
    seeds,
    site_settings::SiteSettings,
    state::rules_of,
};
use crawl_model::{Discovery, KnownUrl, RequestId, now_ms, rfc3339};
use crawl_store::StateStore;
use jiff::SignedDuration;
use serde::Serialize;
use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

/// URLs that are read at a time.
const BATCH: usize = 1000;
const DAY_MS: i64 = 86_400_000;

/// Numbers of known pages by the time when they are due, by the present mode and ages. Seeds are asked by every
/// round, and a sitemap may wake a resting page. The rules are assumed to be those of the last run, whose flags are
/// unknown here.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NextVisits {
    mode: RecrawlMode,
    #[serde(flatten)]
    all: DueTimes,
    /// The sites that have a schedule of their own.
    sites: Vec<SiteVisits>,
}

/// Numbers of pages by the time when they are due.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct DueTimes {
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
    #[serde(skip)]
    next_ms: Option<i64>,
}

/// Next visits of a site with a schedule of its own.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SiteVisits {
    #[serde(rename = "match")]
    patterns: Vec<String>,
    min_age_seconds: Option<u64>,
    max_age_seconds: Option<u64>,
    #[serde(flatten)]
    due: DueTimes,
}

impl DueTimes {
    fn count(&mut self, due: Due, now: i64) {
        let count = match due {
            Due::Never => &mut self.resting,
            Due::Always => &mut self.now,
            Due::From(at) if at <= now => &mut self.now,
            Due::From(at) => {
                self.next_ms = Some(self.next_ms.map_or(at, |first| first.min(at)));
                match at - now {
                    ..=DAY_MS => &mut self.day,
                    left if left <= 7 * DAY_MS => &mut self.week,
                    _ => &mut self.later,
                }
            }
        };
        *count += 1;
    }

    fn is_empty(&self) -> bool {
        self.now + self.day + self.week + self.later + self.resting == 0
    }

    fn in_words(&self, until: impl Fn(&str) -> String) -> String {
        let Self { now, day, week, later, resting, .. } = self;
        let mut out =
            format!("{} due now, {day} within a day, {week} within a week, {later} later", are_due(*now));
        if *resting > 0 {
            let _ = write!(out, ", {resting} rest");
        }
        if let Some(at) = &self.next {
            let _ = write!(out, "; the first that is not yet due at {}", until(at));
        }
        out
    }
}

/// The number of URLs that are due, with its verb.
fn are_due(number: u64) -> String {
    format!("{} {}", counted(number, "URL"), if number == 1 { "is" } else { "are" })
}

impl SiteVisits {
    fn of(section: &SiteSection) -> Self {
        let seconds = |age: Option<Duration>| age.map(|age| age.as_secs());
        Self {
            patterns: section.patterns.clone(),
            min_age_seconds: seconds(section.min_age),
            max_age_seconds: seconds(section.max_age),
            due: DueTimes::default(),
        }
    }

    fn in_words(&self, until: impl Fn(&str) -> String) -> String {
        let age = |name: &str, seconds: Option<u64>| {
            let age = SignedDuration::from_secs(seconds?.try_into().ok()?);
            Some(format!("{name} {age:#}"))
        };
        let ages = [age("min_age", self.min_age_seconds), age("max_age", self.max_age_seconds)];
        let ages: Vec<String> = ages.into_iter().flatten().collect();
        format!("{} ({}): {}", self.patterns.join(", "), ages.join(", "), self.due.in_words(until))
    }
}

impl NextVisits {
    /// Reads all that the store knows. Seed files may have schedules of sites.
    pub(super) fn of(
        store: &dyn StateStore,
        config: &Config,
        seed_files: &[PathBuf],
    ) -> Result<Self, Failure> {
        let mut config = config.clone();
        config.site.splice(0..0, sites_of(seed_files));
        let settings = SiteSettings::of_config(&config)?;
        let rules = rules_of(store)?.unwrap_or_else(|| rules_version::of(&config));
        // no page has links that a new depth would follow
        let policy = Policy::new(&config.recrawl, Readings::of(rules, &config), 0);
        let mut sites: Vec<SiteVisits> = config.site.iter().map(SiteVisits::of).collect();
        let (now, mut after, mut all) = (now_ms(), RequestId(0), DueTimes::default());
        loop {
            let known = store.known_next(after, BATCH)?;
            let Some(last) = known.last() else { break };
            after = last.id;
            for known in known.iter().filter(|known| is_page(known)) {
                let host = &known.url.host;
                let (min_age, max_age) = settings.ages(host);
                let due = policy.with_ages(min_age, max_age).due(known, now);
                all.count(due, now);
                if let Some(site) = settings.number(host).and_then(|number| sites.get_mut(number)) {
                    site.due.count(due, now);
                }
            }
        }
        sites.retain(|site| site.min_age_seconds.is_some() || site.max_age_seconds.is_some());
        for due in sites.iter_mut().map(|site| &mut site.due).chain([&mut all]) {
            due.next = due.next_ms.map(rfc3339);
        }
        Ok(Self { mode: config.recrawl.mode, all, sites })
    }

    /// Lines for a person, with `shown` sites at most; none where nothing is known.
    pub(super) fn in_words(&self, shown: usize, until: impl Fn(&str) -> String) -> Vec<String> {
        if self.all.is_empty() {
            return Vec::new();
        }
        let mode = format!("{:?}", self.mode).to_lowercase();
        let mut lines = vec![format!("next visits (--recrawl {mode}): {}", self.all.in_words(&until))];
        lines.extend(self.sites.iter().take(shown).map(|site| format!("  {}", site.in_words(&until))));
        let more = self.sites.len().saturating_sub(shown);
        if more > 0 {
            lines.push(format!("  and {more} more with a schedule (--hosts {})", self.sites.len()));
        }
        lines
    }
}

fn is_page(known: &KnownUrl) -> bool {
    !matches!(known.url.discovery, Discovery::Probe | Discovery::SitemapFile)
}

/// Settings of sites in seed files. A file that was removed has none, and the others still apply. A file that cannot be
/// read is named in a warning.
fn sites_of(seed_files: &[PathBuf]) -> Vec<SiteSection> {
    let is_file = |name: &&PathBuf| seeds::as_url(name).is_none() && name.as_path() != Path::new("-");
    let read = |name: &PathBuf| {
        let unreadable = |error: &std::io::Error| {
            tracing::warn!("schedules of the sites in {} are missing: {error}", name.display());
        };
        seeds::read(name).inspect_err(unreadable).ok()
    };
    let files = seed_files.iter().filter(is_file).filter(|name| name.exists());
    files.filter_map(read).flat_map(|seeds| seeds.sites).collect()
}
