//! Plan of a seed: a web, settings, and the faults of the crawl's processes.

use super::{faults::Fault, rng::Rng, site::Site};
use crawl_dedup::Release;
use crawl_engine::{
    config::{self, Config, Emit, Limit, RecrawlMode, StrategyChoice},
    platform::ChannelSizes,
};
use std::{fmt, path::Path, sync::OnceLock, time::Duration};

/// `settle_pages` beyond the pages of any host: fingerprints settle when a host is drained, so texts do not
/// depend on the order of pages.
pub const NEVER: u64 = 10_000;

const OUTPUTS: [&str; 5] = ["out.jsonl", "out.jsonl.gz", "out.jsonl.zst", "out.parquet", "pages/"];

#[derive(Clone, Debug)]
pub struct Plan {
    pub seed: u64,
    pub rounds: u32,
    pub output: &'static str,
    pub replace: bool,
    pub delay: Duration,
    pub concurrency: usize,
    pub host_concurrency: usize,
    pub address_share: f64,
    pub settle_pages: u64,
    /// True if all responses are archived as WARC.
    pub archive: bool,
    pub site: Site,
    pub disturbed: Site,
    rng: Rng,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rounds, output, replace, delay, concurrency, host_concurrency, settle_pages, .. } = self;
        write!(
            f,
            "{rounds} rounds, output {output} (replaced: {replace}), delay {delay:?}, concurrency {concurrency}, \
             {host_concurrency} a host, fingerprints settle at {settle_pages} pages, depth {:?}",
            self.config(Path::new(""), Fault::Nothing).crawl.depth.0
        )
    }
}

impl Plan {
    pub fn of(seed: u64) -> Self {
        let mut rng = Rng::new(seed, "plan");
        let rounds = if rng.chance(30) { 2 } else { 1 };
        let site = Site::of(seed, rounds);
        Self {
            seed,
            rounds,
            output: if rng.chance(40) { OUTPUTS[0] } else { *rng.pick(&OUTPUTS) },
            replace: rng.chance(40),
            delay: Duration::from_millis(*rng.pick(&[0, 50, 200, 1_000])),
            concurrency: usize::try_from(rng.between(1, 12)).unwrap(),
            host_concurrency: if rng.chance(60) { 1 } else { usize::try_from(rng.between(2, 4)).unwrap() },
            address_share: if rng.chance(50) { 0.25 } else { 0.0 },
            settle_pages: if rng.chance(70) { NEVER } else { rng.between(2, 8) },
            disturbed: if rng.chance(70) { site.disturbed(&mut rng) } else { site.clone() },
            archive: Rng::new(seed, "archive").chance(20),
            site,
            rng,
        }
    }

    /// Settings of a process in a directory.
    pub fn config(&self, dir: &Path, fault: Fault) -> Config {
        self.settings(dir, fault).0
    }

    /// Settings of a process in a directory, and the sizes of its channels.
    pub fn settings(&self, dir: &Path, fault: Fault) -> (Config, ChannelSizes) {
        static DEFAULTS: OnceLock<Config> = OnceLock::new();
        let defaults = || config::load(None, std::iter::empty(), Vec::new()).unwrap();
        let mut config = DEFAULTS.get_or_init(defaults).clone();
        let mut rng = Rng::new(self.seed, "settings");
        let (crawl, fetch) = (&mut config.crawl, &mut config.fetch);
        crawl.depth = if rng.chance(15) { Limit(Some(rng.between(1, 4))) } else { Limit(None) };
        crawl.limit = Limit(if let Fault::Limit(records) = fault { Some(records) } else { None });
        crawl.soft404 = rng.chance(40);
        crawl.ai_optout_files = rng.chance(30);
        config.recrawl.mode = RecrawlMode::All;
        fetch.concurrency = self.concurrency;
        fetch.strategy = StrategyChoice::Static;
        fetch.connect_timeout = Duration::from_secs(3);
        fetch.read_timeout = Duration::from_secs(5);
        fetch.retries = 12;
        fetch.backoff = Duration::from_millis(rng.between(100, 2_000));
        fetch.max_backoff = Duration::from_secs(20);
        let politeness = &mut config.politeness;
        politeness.host_concurrency = self.host_concurrency;
        (politeness.delay, politeness.address_share) = (self.delay, self.address_share);
        politeness.jitter = if rng.chance(50) { 0.1 } else { 0.0 };
        // a host that fails and recovers is not given up
        politeness.break_tries = 1_000;
        politeness.break_for = Duration::from_secs(5);
        config.dedup.enabled = rng.chance(85);
        config.dedup.min_pages = usize::try_from(rng.between(2, 6)).unwrap();
        config.dedup.settle_pages = self.settle_pages;
        // texts are compared if fingerprints settle when a host is drained
        let early = self.settle_pages != NEVER && Rng::new(self.seed, "release").chance(60);
        config.dedup.release = if early { Release::Early } else { Release::Settled };
        config.dedup.shards = usize::try_from(rng.between(1, 3)).unwrap();
        config.near_duplicates.enabled = rng.chance(50);
        let [fetched, extracted, cleaned] = [(); 3].map(|()| usize::try_from(rng.between(1, 8)).unwrap());
        let channels = ChannelSizes::new(fetched, extracted, cleaned);
        config.output.batch = usize::try_from(rng.between(1, 16)).unwrap();
        config.output.emit = Emit::Changes;
        let output = dir.join(self.output).to_string_lossy().into_owned()
            + if self.output.ends_with('/') { "/" } else { "" };
        let output = output.replace("//", "/");
        if self.replace {
            config.output.replace = output;
        } else {
            config.output.append = output;
        }
        if self.archive {
            config.archive.dir = dir.join("warc").to_string_lossy().into_owned();
        }
        config.state.report = rng.chance(5);
        config.state.dir = dir.join("state").to_string_lossy().into_owned();
        (config, channels)
    }

    /// Faults of a round's processes, one each, for a round with `calls` of the store and a duration of
    /// `time_ms` undisturbed.
    pub fn faults(&self, round: u32, calls: u64, time_ms: u64) -> Vec<Fault> {
        let mut rng = self.rng.clone();
        (0..round).for_each(|_| {
            rng.next();
        });
        let mut rng = Rng::new(rng.next(), "faults");
        let count = if rng.chance(15) { 0 } else { rng.between(1, 4) };
        (0..count)
            .map(|_| {
                // the first and the last calls are those around the start and the end of a run
                let call = match rng.below(100) {
                    0..12 => rng.below(12),
                    12..24 => calls.saturating_sub(rng.below(12)),
                    _ => rng.below(calls + 2),
                };
                let at_ms = rng.below(time_ms + 2);
                match rng.below(100) {
                    0..40 => Fault::KillAtCall { call, after: rng.chance(50) },
                    40..60 => Fault::KillAtTime(at_ms),
                    60..72 => Fault::StoreFails { call, full: rng.chance(50) },
                    72..84 => Fault::Interrupt(at_ms),
                    84..92 => {
                        let hour = 3_600_000;
                        let by_ms = *rng.pick(&[-60_000, -1_000, 1_000, 90_000, hour, 24 * hour, 600 * hour]);
                        Fault::ClockJumps { at_ms, by_ms }
                    }
                    _ => Fault::Limit(rng.between(1, 20)),
                }
            })
            .collect()
    }
}
