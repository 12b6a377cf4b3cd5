//! Progress line: counts, rate of the last seconds, remaining time.

use crate::words::counted;
use bytesize::ByteSize;
use crawl_engine::{
    config::{Config, CrawlSection},
    context::Context,
    stats::Stats,
};
use crawl_model::{FrontierCounts, HostKey, now_ms, rfc3339};
use std::{collections::VecDeque, time::Duration};
use tokio::time::Instant;

/// Hosts with a pause that the summary names.
const NAMED_PAUSES: usize = 3;
/// Time over which the rate is measured.
const WINDOW: Duration = Duration::from_secs(10);

/// Text between two parts.
const SEPARATOR: &str = ", ";

/// Kind of a part of the line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Always shown.
    Counts,
    Written,
    Queue,
    NoFailure,
    Hosts,
    Rate,
    Bytes,
    /// Time until the end or the next request; always shown.
    Time,
    /// The event that held pages wait for.
    Release,
}

/// Step that makes the line shorter.
enum Shorten {
    Drop(Part),
    Release,
}

/// Steps for a narrow terminal, in their order.
const SHORTENING: [Shorten; 8] = [
    Shorten::Drop(Part::Bytes),
    Shorten::Drop(Part::NoFailure),
    Shorten::Drop(Part::Hosts),
    Shorten::Release,
    Shorten::Drop(Part::Rate),
    Shorten::Drop(Part::Written),
    Shorten::Drop(Part::Queue),
    Shorten::Drop(Part::Release),
];

/// Counts of a run at one time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    fetched: u64,
    written: u64,
    claimed: u64,
    held: u64,
    queued: u64,
    errors: u64,
    hosts: usize,
    bytes: u64,
    age_of_run: Duration,
    /// Until the earliest retry; none if a URL is ready.
    next_retry: Option<Duration>,
    /// Hosts that asked for a pause, and the time until the first one ends.
    pauses: Option<(usize, Duration)>,
}

impl Counts {
    /// The present counts. `next_due_ms` is the time of the earliest URL that waits.
    pub(crate) fn of(context: &Context, frontier: &FrontierCounts, next_due_ms: Option<i64>) -> Self {
        let counts = Self::of_stats(&context.stats, frontier, next_due_ms);
        let pauses = if counts.next_retry.is_some() { pauses(context) } else { Vec::new() };
        Self { pauses: pauses.first().map(|(_, left)| (pauses.len(), *left)), ..counts }
    }

    /// Counts since the start of the process, which are those that limits of the run are compared with.
    fn of_stats(stats: &Stats, frontier: &FrontierCounts, next_due_ms: Option<i64>) -> Self {
        let is_waiting = stats.in_flight() == 0;
        let wait = next_due_ms.filter(|_| is_waiting).map(|due| due - now_ms());
        Self {
            fetched: stats.pages.get(),
            written: stats.records.get(),
            claimed: stats.claimed_by_process(),
            held: frontier.held,
            queued: frontier.pending,
            errors: stats.failed_urls(),
            hosts: stats.host_count(),
            bytes: stats.wire_bytes.get(),
            age_of_run: stats.age_of_run(),
            next_retry: wait.and_then(|ms| u64::try_from(ms).ok()).map(Duration::from_millis),
            pauses: None,
        }
    }
}

/// Hosts that asked for a pause (`Retry-After`) which has not ended, with the time until its end. The first to end comes first.
fn pauses(context: &Context) -> Vec<(HostKey, Duration)> {
    let now = Instant::now();
    let deadlines = context.network.gate.retry_after_deadlines().into_iter();
    let mut pauses: Vec<_> =
        deadlines.map(|(host, until)| (host, until.saturating_duration_since(now))).collect();
    pauses.sort_by(|(a, left), (b, right)| (left, a).cmp(&(right, b)));
    pauses
}

/// Hosts that asked for a pause (`Retry-After`) which has not ended, each with its end, for the summary.
pub(crate) fn waiting(context: &Context) -> Vec<String> {
    let pauses = pauses(context);
    let more = pauses.len().saturating_sub(NAMED_PAUSES);
    let named = pauses.into_iter().take(NAMED_PAUSES);
    let mut out: Vec<String> = named
        .map(|(host, left)| {
            let until = now_ms().saturating_add(i64::try_from(left.as_millis()).unwrap_or(i64::MAX));
            format!("{host} asked for a pause until {}", rfc3339(until))
        })
        .collect();
    if more > 0 {
        out.push(format!("{more} more"));
    }
    out
}

/// Measures rates and makes lines of them.
pub(crate) struct ProgressLine {
    started: Instant,
    /// Earlier counts, oldest first.
    samples: VecDeque<(Instant, u64, u64)>,
}

impl ProgressLine {
    pub(crate) fn new(started: Instant) -> Self {
        Self { started, samples: VecDeque::from([(started, 0, 0)]) }
    }

    /// The line for these counts, with at most `width` characters if it can be shortened that far.
    pub(crate) fn line(&mut self, config: &Config, counts: &Counts, now: Instant, width: usize) -> String {
        let mut parts = self.parts(config, counts, now);
        for step in SHORTENING {
            let length: usize = parts.iter().map(|(_, text)| text.len() + SEPARATOR.len()).sum();
            if length <= width.saturating_add(SEPARATOR.len()) {
                break;
            }
            match step {
                Shorten::Drop(part) => parts.retain(|(found, _)| *found != part),
                Shorten::Release => {
                    let released = parts.iter_mut().find(|(part, _)| *part == Part::Release);
                    released.into_iter().for_each(|(_, text)| *text = short_release_of_held(config));
                }
            }
        }
        parts.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(SEPARATOR)
    }

    /// The parts of the line in their order.
    fn parts(&mut self, config: &Config, counts: &Counts, now: Instant) -> Vec<(Part, String)> {
        let (pages, bytes) = self.rates(counts, now);
        let mut parts = vec![
            (Part::Counts, format!("fetched {}", grouped(counts.fetched))),
            (Part::Written, format!("written {}", grouped(counts.written))),
        ];
        if counts.held > 0 {
            parts.push((Part::Counts, format!("held {}", grouped(counts.held))));
        }
        parts.push((Part::Queue, format!("queue {}", grouped(counts.queued))));
        if let Some(wait) = counts.next_retry {
            let pauses = counts.pauses.map(|(hosts, left)| {
                format!(
                    "{} asked for a pause, the first ends in {}",
                    counted(hosts as u64, "host"),
                    clock(left)
                )
            });
            parts.push((Part::Time, pauses.unwrap_or_else(|| format!("next retry in {}", clock(wait)))));
        }
        let failed = if counts.errors > 0 { Part::Counts } else { Part::NoFailure };
        parts.push((failed, format!("failed {}", grouped(counts.errors))));
        parts.push((Part::Hosts, format!("hosts {}", counts.hosts)));
        parts.push((Part::Rate, format!("{pages:.1} pages/s")));
        parts.push((Part::Bytes, ByteSize(counts.bytes).to_string()));
        if let Some(left) = time_left(&config.crawl, counts, (pages, bytes)) {
            parts.push((Part::Time, format!("about {} left", clock(left))));
        }
        if counts.held > 0 {
            parts.push((Part::Release, release_of_held(config)));
        }
        parts
    }

    /// Pages and bytes a second over the last seconds.
    fn rates(&mut self, counts: &Counts, now: Instant) -> (f64, f64) {
        while self.samples.len() > 1 && self.samples.get(1).is_some_and(|(at, ..)| now - *at >= WINDOW) {
            self.samples.pop_front();
        }
        let (since, pages, bytes) = *self.samples.front().unwrap_or(&(self.started, 0, 0));
        self.samples.push_back((now, counts.fetched, counts.bytes));
        let seconds = (now - since).as_secs_f64().max(0.001);
        (ratio(counts.fetched - pages, seconds), ratio(counts.bytes - bytes, seconds))
    }
}

/// The event that held pages wait for.
fn release_of_held(config: &Config) -> String {
    let (least, most) = (config.dedup.min_pages, config.dedup.settle_pages);
    format!("held until their host has {least} to {most} pages or ends")
}

/// The same in fewer words.
fn short_release_of_held(config: &Config) -> String {
    let (least, most) = (config.dedup.min_pages, config.dedup.settle_pages);
    format!("held for {least} to {most} pages a host")
}

/// Time until the first limit of the settings, at the present rates.
fn time_left(settings: &CrawlSection, counts: &Counts, (pages, bytes): (f64, f64)) -> Option<Duration> {
    let at_rate = |left: u64, rate: f64| {
        (rate > 0.0).then(|| Duration::try_from_secs_f64(ratio(left, rate)).ok()).flatten()
    };
    let by_records = settings.limit.0.and_then(|most| at_rate(most.saturating_sub(counts.claimed), pages));
    let by_bytes =
        settings.max_bytes.and_then(|most| at_rate(most.as_u64().saturating_sub(counts.bytes), bytes));
    let by_time = settings.max_time.map(|most| most.saturating_sub(counts.age_of_run));
    [by_records, by_bytes, by_time].into_iter().flatten().min()
}

#[expect(clippy::cast_precision_loss, reason = "a rate for the eye")]
fn ratio(count: u64, by: f64) -> f64 {
    count as f64 / by
}

/// A duration in one or two units.
fn clock(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} min", seconds / 60),
        seconds => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// A number with its thousands apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crawl_engine::config::{self, Override};

    fn config(keys: &[(&'static str, toml::Value)]) -> Config {
        let flags = keys.iter().map(|(key, value)| Override::new("test", key, value.clone()));
        config::load(None, std::iter::empty(), flags.collect()).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn rate_covers_the_last_seconds() {
        let start = Instant::now();
        let (mut progress, config) = (ProgressLine::new(start), config(&[]));
        let mut at = |second: u64, fetched: u64| {
            let counts = Counts { fetched, ..Counts::default() };
            progress.line(&config, &counts, start + Duration::from_secs(second), usize::MAX)
        };
        assert!(at(5, 500).contains("100.0 pages/s"));
        // the first five seconds are outside of the window
        at(10, 500);
        at(16, 512);
        let line = at(20, 520);
        assert!(line.contains("2.0 pages/s"), "{line}");
    }

    #[tokio::test(start_paused = true)]
    async fn line_has_counts_reasons_and_remaining_time() {
        let start = Instant::now();
        let settings = config(&[("crawl.limit", 1_300.into()), ("crawl.max_time", "2h".into())]);
        let counts = Counts {
            fetched: 100,
            written: 60,
            claimed: 100,
            held: 40,
            queued: 12_345,
            errors: 3,
            hosts: 2,
            bytes: 3 << 20,
            age_of_run: Duration::from_secs(10),
            next_retry: Some(Duration::from_secs(12)),
            pauses: None,
        };
        let within =
            |width| ProgressLine::new(start).line(&settings, &counts, start + Duration::from_secs(10), width);
        assert_eq!(
            within(usize::MAX),
            "fetched 100, written 60, held 40, queue 12,345, next retry in 12 s, failed 3, hosts 2, 10.0 pages/s, 3.0 MiB, \
             about 2 min left, held until their host has 5 to 200 pages or ends"
        );
        for (width, line) in [
            (
                120,
                "fetched 100, held 40, queue 12,345, next retry in 12 s, failed 3, about 2 min left, \
                 held for 5 to 200 pages a host",
            ),
            (
                100,
                "fetched 100, held 40, next retry in 12 s, failed 3, about 2 min left, held for 5 to 200 pages a host",
            ),
            (69, "fetched 100, held 40, next retry in 12 s, failed 3, about 2 min left"),
        ] {
            assert_eq!(within(width), line);
        }
        let only_time = config(&[("crawl.max_time", "2h".into())]);
        let counts = Counts { age_of_run: Duration::from_secs(60), ..Counts::default() };
        let now = start + Duration::from_secs(60);
        let line = ProgressLine::new(start).line(&only_time, &counts, now, usize::MAX);
        assert!(line.ends_with("about 119 min left"), "{line}");
    }

    #[tokio::test(start_paused = true)]
    async fn remaining_time_counts_work_before_a_database_loss() {
        let first = Stats::default();
        for (count, n) in [(&first.pages, 900), (&first.records, 900), (&first.wire_bytes, 900 << 20)] {
            count.add(n);
        }
        let mut stats = first.for_next_session();
        stats.run_age = Duration::from_secs(90);
        for (count, n) in [(&stats.leased, 50), (&stats.pages, 50), (&stats.wire_bytes, 50 << 20)] {
            count.add(n);
        }
        tokio::time::advance(Duration::from_secs(5)).await;
        let counts = Counts::of_stats(&stats, &FrontierCounts::default(), None);
        // 950 pages in 95 s: 50 pages or 50 MiB are left of 1,000
        for (key, value) in [
            ("crawl.limit", 1_000.into()),
            ("crawl.max_bytes", "1000 MiB".into()),
            ("crawl.max_time", "100s".into()),
        ] {
            let now = Instant::now();
            let mut progress = ProgressLine::new(now - Duration::from_secs(95));
            let line = progress.line(&config(&[(key, value)]), &counts, now, usize::MAX);
            assert!(line.ends_with("about 5 s left"), "{key}: {line}");
        }
    }
}
