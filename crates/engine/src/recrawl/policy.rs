//! Due dates of URLs, computed from their visits. Pure functions: the time is an argument.

use crate::{
    config::{RecrawlMode, RecrawlSection},
    rules_version::Readings,
    stored_time,
};
use crawl_model::{Discovery, KnownUrl, Outcome, RulesVersion, Visits};
use jiff::{Timestamp, civil, fmt::rfc2822, tz::TimeZone};
use std::time::Duration;

/// Factor of the mean time between two changes after which a page is visited. Its probability of having
/// changed then reaches 50 % (changes as a Poisson process).
const HALF_CHANCE_FACTOR: f64 = std::f64::consts::LN_2;
/// Factor of an interval's growth over the time for which the page is known to have been unchanged.
const GROWTH: f64 = 2.0;
/// Share of its interval after which a page is due. Nightly runs do not start at the same second.
const DUE_SHARE: f64 = 0.9;

/// Time of a known URL's next visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// Every round.
    Always,
    /// First round from then on, milliseconds since the Unix epoch.
    From(i64),
    /// No round, unless a sitemap or feed wakes the URL.
    Never,
}

/// Schedule of known URLs.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    mode: RecrawlMode,
    min_age_ms: f64,
    max_age_ms: f64,
    rules: Readings,
    depth: u64,
}

impl Policy {
    /// Takes the settings; `rules` are the present ones, with links that are followed from pages above
    /// `depth`.
    #[must_use]
    pub fn new(settings: &RecrawlSection, rules: Readings, depth: u64) -> Self {
        let millis = |age: Duration| age.as_secs_f64() * 1e3;
        let (min_age_ms, max_age_ms) = (millis(settings.min_age), millis(settings.max_age));
        Self { mode: settings.mode, min_age_ms, max_age_ms, rules, depth }
    }

    /// The schedule with other minimum and maximum revisit intervals, as far as they are given. An interval that is not given follows
    /// one that contradicts it.
    #[must_use]
    pub fn with_ages(self, min_age: Option<Duration>, max_age: Option<Duration>) -> Self {
        let millis = |age: Option<Duration>, known: f64| age.map_or(known, |age| age.as_secs_f64() * 1e3);
        let (mut min_age_ms, mut max_age_ms) =
            (millis(min_age, self.min_age_ms), millis(max_age, self.max_age_ms));
        match (min_age, max_age) {
            (None, Some(_)) => min_age_ms = min_age_ms.min(max_age_ms),
            (Some(_), None) => max_age_ms = max_age_ms.max(min_age_ms),
            _ => {}
        }
        Self { min_age_ms, max_age_ms, ..self }
    }

    /// The schedule with links that are followed from pages above `depth`.
    #[must_use]
    pub const fn with_depth(self, depth: u64) -> Self {
        Self { depth, ..self }
    }

    /// Returns true if a known URL other than a seed is visited in a round that begins at `now_ms`.
    #[must_use]
    pub fn is_due(&self, known: &KnownUrl, now_ms: i64) -> bool {
        match self.due(known, now_ms) {
            Due::Always => true,
            Due::From(at_ms) => now_ms >= at_ms,
            Due::Never => false,
        }
    }

    /// Returns the due date of a known URL other than a seed, as far as it is known beforehand: a sitemap may
    /// wake it. If the clock dated the last visit wrongly, its time counts as unknown: the page is due, and
    /// its visit corrects the date.
    #[must_use]
    pub fn due(&self, known: &KnownUrl, now_ms: i64) -> Due {
        match (self.mode, known.url.discovery) {
            (_, Discovery::Probe) => return Due::Never,
            // new pages are found only by their lists
            (_, Discovery::SitemapFile) | (RecrawlMode::All, _) => return Due::Always,
            (RecrawlMode::None, _) => return Due::Never,
            (RecrawlMode::Auto | RecrawlMode::Changed, _) => {}
        }
        let history = &known.history;
        let visit = history.fetched_at_ms.and_then(|at_ms| stored_time::past(at_ms, now_ms));
        let Some(fetched_at) = visit else { return Due::Always };
        let is_page = history.content_hash.is_some();
        let rules = self.rules.of_page(u64::from(known.url.depth) < self.depth);
        let is_read = history.rules.is_some_and(|read_by| rules.are_covered_by(read_by));
        if failed(known) || (is_page && !is_read && !redirects_now(known)) {
            return Due::Always;
        }
        let latest = self.max_age_ms * DUE_SHARE;
        if self.mode == RecrawlMode::Changed {
            let dated = history.sitemap_lastmod.is_some();
            let conditional = history.etag.is_some() || history.last_modified.is_some();
            return if is_page && conditional && !dated { Due::Always } else { after(fetched_at, latest) };
        }
        let interval = self.interval_ms(&known.visits, fetched_at) * DUE_SHARE;
        after(fetched_at, interval.max(self.min_age_ms).min(latest))
    }

    /// Time until the next visit. The rate of change is Cho and Garcia-Molina's estimate for visits at
    /// regular intervals, with less bias. With n visits that could find a change, X that did and the mean
    /// interval I it is `-ln((n - X + 0.5) / (n + 0.5)) / I`. (Estimating Frequency of Change, ACM TOIT 3(3),
    /// 2003, section 4.2.) The time lies between `min_age` and `max_age`, and is at most twice the time for
    /// which the page is known to have been unchanged.
    fn interval_ms(&self, visits: &Visits, fetched_at: i64) -> f64 {
        let (Some(first), Some(changed)) = (visits.first_ms, visits.changed_ms) else {
            return self.min_age_ms;
        };
        let stood = (fetched_at - changed) as f64;
        let (n, x) = (f64::from(visits.visits), f64::from(visits.changes));
        let interval = match (visits.visits, visits.changes) {
            // a page without history is visited soon
            (0, _) => self.min_age_ms,
            // at a rate of 0 only the bounds below apply
            (_, 0) => f64::INFINITY,
            _ => {
                let mean = (fetched_at - first) as f64 / n;
                HALF_CHANCE_FACTOR / (-((n - x + 0.5) / (n + 0.5)).ln() / mean)
            }
        };
        let most = self.max_age_ms.max(self.min_age_ms);
        interval.min(stood * GROWTH).max(self.min_age_ms).min(most)
    }

    /// Returns true if a sitemap makes a resting URL due at once. Its date must be later than the last visit,
    /// or later than the date that the sitemap had then.
    #[must_use]
    pub fn makes_due(&self, known: &KnownUrl, lastmod: &str) -> bool {
        if !matches!(self.mode, RecrawlMode::Auto | RecrawlMode::Changed) {
            return false;
        }
        let Some(modified) = millis(lastmod) else { return false };
        let last_lastmod = known.history.sitemap_lastmod.as_deref().and_then(millis);
        known.history.fetched_at_ms.is_none_or(|fetched| modified > fetched)
            || last_lastmod.is_some_and(|last| modified > last)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "ages are bounded by max_age, years at most")]
const fn after(fetched_at: i64, age_ms: f64) -> Due {
    Due::From(fetched_at.saturating_add(age_ms.ceil() as i64))
}

/// Returns true if the last visit brought no answer that would hold until something changes.
fn failed(known: &KnownUrl) -> bool {
    known.outcome == Some(Outcome::Failed) && !matches!(known.history.status, Some(404 | 410))
}

/// Returns true if the URL redirects and the output lacks the record of the page before. A visit brings nothing until the
/// page is back. A page that was skipped may be allowed again by the settings of the next run.
fn redirects_now(known: &KnownUrl) -> bool {
    known.history.rules == Some(RulesVersion::UNWRITTEN) && known.outcome == Some(Outcome::Redirected)
}

/// The time that a `lastmod` names, milliseconds since the Unix epoch. A year, a month or a day is its
/// beginning (W3C date and time formats), and feeds write as mail does (RFC 2822). A time without a zone counts as UTC.
fn millis(lastmod: &str) -> Option<i64> {
    let text = lastmod.trim();
    let at_start = |date: civil::Date| date.to_zoned(TimeZone::UTC).ok().map(|at| at.timestamp());
    let day = match text.len() {
        4 => format!("{text}-01-01"),
        7 => format!("{text}-01"),
        _ => text.to_owned(),
    };
    let stamp = text
        .parse::<Timestamp>()
        .ok()
        .or_else(|| if day.len() == 10 { day.parse().ok().and_then(at_start) } else { None })
        .or_else(|| {
            text.parse::<civil::DateTime>().ok()?.to_zoned(TimeZone::UTC).ok().map(|at| at.timestamp())
        })
        .or_else(|| rfc2822::parse(text).ok().map(|at| at.timestamp()));
    stamp.map(Timestamp::as_millisecond)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;
    use crawl_model::{ContentHash, HostKey, NewUrl, PageHistory, RequestId, UrlKey};

    const HOUR: i64 = 3_600_000;
    const DAY: i64 = 24 * HOUR;
    const RULES: RulesVersion = RulesVersion::new(1, 1);

    fn policy(mode: RecrawlMode) -> Policy {
        let config = config::load(None, std::iter::empty(), Vec::new()).unwrap();
        let rules = Readings::of(RULES, &config);
        Policy::new(&RecrawlSection { mode, ..config.recrawl }, rules, 9)
    }

    fn known(fetched_at: i64, visits: Visits) -> KnownUrl {
        let url = "https://a.test/1";
        let history = PageHistory {
            status: Some(200),
            content_hash: Some(ContentHash::of("text")),
            rules: Some(RULES),
            fetched_at_ms: Some(fetched_at),
            ..PageHistory::default()
        };
        let url = NewUrl {
            key: UrlKey::of(url),
            url: url.into(),
            host: HostKey::from_stored("a.test"),
            depth: 1,
            discovery: Discovery::Link,
            redirects: Vec::new(),
            sitemap_lastmod: None,
        };
        KnownUrl { id: RequestId(1), url, outcome: Some(Outcome::Record), history, visits }
    }

    fn once(at: i64) -> Visits {
        Visits { first_ms: Some(at), changed_ms: Some(at), visits: 0, changes: 0 }
    }

    #[test]
    fn page_missing_from_the_output_is_due_unless_redirected() {
        let (policy, mut page) = (policy(RecrawlMode::Auto), known(0, once(0)));
        page.history.rules = Some(RulesVersion::UNWRITTEN);
        for (outcome, always) in [
            (Outcome::Unchanged, true),
            (Outcome::Record, true),
            (Outcome::Failed, true),
            (Outcome::Redirected, false),
            (Outcome::Skipped, true),
        ] {
            page.outcome = Some(outcome);
            assert_eq!(policy.due(&page, HOUR) == Due::Always, always, "{outcome:?}");
            assert!(policy.is_due(&page, 60 * DAY), "{outcome:?}");
        }
        page.outcome = Some(Outcome::Redirected);
        page.history.rules = Some(RulesVersion::new(0, 1));
        assert_eq!(policy.due(&page, HOUR), Due::Always, "read by other rules");
    }

    /// The days on which a page is visited that changes every `every` days, by a run every night at about the same time.
    fn visited(every: i64, nights: i64) -> Vec<i64> {
        let policy = policy(RecrawlMode::Auto);
        let mut page = known(0, once(0));
        let (mut version, mut days) = (0, Vec::new());
        for night in 1..=nights {
            // not on the second, and sometimes earlier than the night before
            let now = night * DAY + (night * 7 % 5) * HOUR / 4;
            if !policy.is_due(&page, now) {
                continue;
            }
            let changed = night / every != version;
            version = night / every;
            page.visits.visits += 1;
            page.visits.changes += u32::from(changed);
            page.visits.changed_ms = if changed { Some(now) } else { page.visits.changed_ms };
            page.history.fetched_at_ms = Some(now);
            days.push(night);
        }
        days
    }

    #[test]
    fn revisit_interval_follows_the_change_rate() {
        assert_eq!(visited(1, 30).len(), 30, "every night");
        let never = visited(1_000, 90);
        assert!(never.len() < 10 && never[..2] == [1, 3], "at growing intervals: {never:?}");
        let longest = never.windows(2).map(|pair| pair[1] - pair[0]).max();
        assert!(longest <= Some(30), "never longer than max_age: {never:?}");
        let weekly = visited(7, 200).len();
        assert!((25..90).contains(&weekly), "every few nights: {weekly}");
    }

    #[test]
    fn revisit_interval_stays_between_min_age_and_max_age() {
        let policy = policy(RecrawlMode::Auto);
        let often = Visits { first_ms: Some(-9 * DAY), changed_ms: Some(0), visits: 9, changes: 9 };
        assert!(!policy.is_due(&known(0, often), 19 * HOUR) && policy.is_due(&known(0, often), 20 * HOUR));
        let never =
            Visits { first_ms: Some(-900 * DAY), changed_ms: Some(-900 * DAY), visits: 50, changes: 0 };
        assert!(!policy.is_due(&known(0, never), 25 * DAY) && policy.is_due(&known(0, never), 30 * DAY));
    }

    /// A visit dated in 2100 delays no page; a visit dated some minutes ahead makes no page due.
    #[test]
    fn last_visit_in_the_future_counts_as_unknown() {
        let policy = policy(RecrawlMode::Auto);
        let visited = |at| policy.is_due(&known(at, once(at)), 0);
        assert!(visited(74 * 365 * DAY) && visited(2 * DAY));
        assert!(!visited(10 * 60_000) && !visited(-19 * HOUR));
        let changed = Policy { mode: RecrawlMode::Changed, ..policy };
        assert!(changed.is_due(&known(74 * 365 * DAY, once(0)), 0));
    }

    #[test]
    fn each_recrawl_mode_selects_its_pages() {
        let due = |mode, known: &KnownUrl| policy(mode).is_due(known, 21 * HOUR);
        use RecrawlMode::{All, Auto, Changed, None};
        let modes = |known: &KnownUrl| [Auto, All, Changed, None].map(|mode| due(mode, known));
        let plain = known(0, once(0));
        assert_eq!(modes(&plain), [true, true, false, false]);
        let mut tagged = plain.clone();
        tagged.history.etag = Some("\"1\"".into());
        assert_eq!(modes(&tagged), [true, true, true, false], "a 304 costs little");
        tagged.history.sitemap_lastmod = Some("2026-01-01".into());
        assert_eq!(modes(&tagged), [true, true, false, false], "its sitemap would say so");
        let mut recent = plain.clone();
        recent.history.fetched_at_ms = Some(20 * HOUR);
        assert_eq!(modes(&recent), [false, true, false, false]);
        let mut other_rules = recent.clone();
        other_rules.history.rules = Some(RulesVersion::new(2, 1));
        assert_eq!(modes(&other_rules), [true, true, true, false]);
        let mut other_links = recent.clone();
        other_links.history.rules = Some(RulesVersion::new(1, 2));
        assert_eq!(modes(&other_links), [true, true, true, false]);
        // its links were not followed, because its depth was the limit of that run
        other_links.history.rules = Some(RULES.of_page(false));
        assert_eq!(modes(&other_links), [true, true, true, false]);
        other_links.url.depth = 9;
        assert_eq!(modes(&other_links), [false, true, false, false], "nor are they now");
        let mut failed = recent.clone();
        failed.outcome = Some(Outcome::Failed);
        assert_eq!(modes(&failed), [true, true, true, false]);
        failed.history.status = Some(404);
        assert_eq!(modes(&failed), [false, true, false, false], "an answer like any other");
        let mut sitemap = recent.clone();
        sitemap.url.discovery = Discovery::SitemapFile;
        assert_eq!(modes(&sitemap), [true; 4]);
        sitemap.url.discovery = Discovery::Probe;
        assert_eq!(modes(&sitemap), [false; 4]);
    }

    #[test]
    fn newer_lastmod_makes_a_page_due() {
        let fetched = millis("2026-03-05T12:00:00Z").unwrap();
        let wakes = |last: Option<&str>, lastmod: &str| {
            let mut known = known(fetched, once(0));
            known.history.sitemap_lastmod = last.map(Into::into);
            policy(RecrawlMode::Auto).makes_due(&known, lastmod)
        };
        assert!(wakes(None, "2026-03-06") && wakes(None, "2026-03-05T13:30:00+01:00"));
        assert!(!wakes(None, "2026-03-05T12:30:00+01:00") && !wakes(None, "2019"));
        assert!(
            !wakes(None, "2026-03-05") && wakes(Some("2026-03-04"), "2026-03-05"),
            "the day of the visit"
        );
        assert!(!wakes(Some("2026-03-05"), "2026-03-05") && !wakes(None, "soon"));
        assert!(wakes(None, "Fri, 06 Mar 2026 09:00:00 GMT") && wakes(None, "2026-04"));
        let (first, second) = ("2026-03-05T09:00:00", "2026-03-05 09:30:00");
        assert!(
            !wakes(None, first) && wakes(Some(first), second) && wakes(None, "2026-03-06T09:00"),
            "no zone"
        );
        let asleep = known(fetched, once(0));
        assert!(!policy(RecrawlMode::None).makes_due(&asleep, "2026-03-06"));
    }
}
