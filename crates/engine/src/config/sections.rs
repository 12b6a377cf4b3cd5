//! The sections of `config/crawl.toml` as types.

use super::auth::{AuthEntry, auth};
use super::http::{header_text, headers, info_url, product, proxy, secret};
pub use super::quality::QualitySection;
pub use super::traps::{CalendarYears, TrapsSection};
use super::values::{
    Limit, address_or_none, at_least_one, at_most, duration, from_text, list_from_text, min_block_chars,
    min_pages, networks, pause, share, threshold_pct, unlimited_duration, unlimited_size, up_to,
    url_patterns,
};
use crawl_corpus::ClusterAlgorithm;
use crawl_extract::{Favor, LinkStyle};
use crawl_fetch::{PolitenessSettings, ProxyChoice, RequestHeader, RetryPolicy, Scope};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

/// All settings, in the sections of `config/crawl.toml`, where each is explained.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each key is explained where its default stands, in config/crawl.toml")]
pub struct Config {
    pub crawl: CrawlSection,
    pub recrawl: RecrawlSection,
    pub fetch: FetchSection,
    pub chrome: ChromeSection,
    pub politeness: PolitenessSection,
    pub traps: TrapsSection,
    pub extract: ExtractSection,
    pub dedup: DedupSection,
    pub near_duplicates: NearDuplicatesSection,
    pub duplicates: DuplicatesSection,
    pub quality: QualitySection,
    pub projects: ProjectsSection,
    pub serve: ServeSection,
    pub output: OutputSection,
    pub archive: ArchiveSection,
    pub state: StateSection,
    pub metrics: MetricsSection,
    pub notify: super::NotifySection,
    pub log: LogSection,
    /// Settings that all workers of a crawl share, by key. No secret is among them.
    #[serde(skip)]
    pub shared: BTreeMap<String, String>,
    /// Settings by site; the tables `[[site]]` have no default.
    #[serde(default, deserialize_with = "super::site::sites")]
    pub site: Vec<super::SiteSection>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
#[expect(missing_docs, reason = "see config/crawl.toml")]
pub struct CrawlSection {
    #[serde(deserialize_with = "from_text")]
    pub scope: Scope,
    pub depth: Limit,
    #[serde(deserialize_with = "at_least_one")]
    pub limit: Limit,
    #[serde(deserialize_with = "unlimited_duration")]
    pub max_time: Option<Duration>,
    #[serde(deserialize_with = "unlimited_size")]
    pub max_bytes: Option<bytesize::ByteSize>,
    #[serde(deserialize_with = "url_patterns")]
    pub include: Vec<regex::Regex>,
    #[serde(deserialize_with = "url_patterns")]
    pub exclude: Vec<regex::Regex>,
    pub url_filters: bool,
    pub sitemaps: bool,
    pub sitemap_files: Limit,
    pub sitemap_hosts: Limit,
    pub feeds: Limit,
    pub soft404: bool,
    pub obey_robots: bool,
    pub respect_ai_optout: bool,
    pub ai_optout_files: bool,
    pub ai_optout_unknown: OptOutUnknown,
    pub project: String,
    pub source_group: String,
}

/// Known URLs of earlier rounds that a round fetches again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RecrawlMode {
    /// Due URLs. The rate of changes sets the interval.
    Auto,
    /// All.
    All,
    /// URLs whose changes can be detected cheaply.
    Changed,
    /// No known URL.
    None,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
#[expect(missing_docs, reason = "see config/crawl.toml")]
pub struct RecrawlSection {
    pub mode: RecrawlMode,
    #[serde(deserialize_with = "duration")]
    pub min_age: Duration,
    #[serde(deserialize_with = "duration")]
    pub max_age: Duration,
    #[serde(deserialize_with = "pause")]
    pub confirm_gone: Duration,
}

/// Pages of a round over known URLs that become records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Emit {
    /// Those of [`Emit::Changes`], for an output that the state knows. An output that is replaced keeps the records of other pages.
    Auto,
    /// Those that are new, changed or gone.
    Changes,
    /// Those that are unchanged, too.
    All,
}

/// Treatment of pages whose opt-out files are unreachable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum OptOutUnknown {
    /// Skips the pages, as under an unreachable robots.txt.
    Skip,
    /// Writes the pages with a warning.
    Keep,
}

/// The strategies that a user may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum StrategyChoice {
    /// Let the page decide.
    Auto,
    /// One plain request for any page.
    Static,
    /// One request with the headers of a mobile client.
    Mobile,
    /// The AMP page, if there is one.
    Amp,
    /// A browser for every page.
    Chrome,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
#[expect(missing_docs, reason = "see config/crawl.toml")]
pub struct ChromeSection {
    pub path: String,
    pub sandbox: bool,
    #[serde(deserialize_with = "up_to::<256, _>")]
    pub tabs: usize,
    #[serde(deserialize_with = "duration")]
    pub navigate: Duration,
    #[serde(deserialize_with = "duration")]
    pub settle: Duration,
    pub block_images: bool,
    pub block_trackers: bool,
    pub recycle_memory: bytesize::ByteSize,
    pub max_page_bytes: bytesize::ByteSize,
    pub max_page_memory: bytesize::ByteSize,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
#[expect(missing_docs, reason = "see config/crawl.toml")]
pub struct FetchSection {
    pub strategy: StrategyChoice,
    #[serde(deserialize_with = "up_to::<10_000, _>")]
    pub concurrency: usize,
    #[serde(deserialize_with = "duration")]
    pub connect_timeout: Duration,
    #[serde(deserialize_with = "duration")]
    pub read_timeout: Duration,
    #[serde(deserialize_with = "duration")]
    pub total_timeout: Duration,
    pub max_body: bytesize::ByteSize,
    pub body_budget: bytesize::ByteSize,
    pub retries: u32,
    #[serde(deserialize_with = "duration")]
    pub backoff: Duration,
    #[serde(deserialize_with = "duration")]
    pub max_backoff: Duration,
    #[serde(deserialize_with = "duration")]
    pub max_outage: Duration,
    #[serde(deserialize_with = "duration")]
    pub robots_max_age: Duration,
    #[serde(deserialize_with = "header_text")]
    pub user_agent: String,
    #[serde(deserialize_with = "product")]
    pub product: String,
    #[serde(deserialize_with = "info_url")]
    pub info_url: String,
    #[serde(deserialize_with = "header_text")]
    pub contact: String,
    #[serde(deserialize_with = "headers")]
    pub headers: Vec<RequestHeader>,
    pub cookies: bool,
    #[serde(deserialize_with = "auth")]
    pub auth: Vec<AuthEntry>,
    #[serde(deserialize_with = "proxy")]
    pub proxy: ProxyChoice,
    pub ca_file: String,
    pub allow_private_addresses: bool,
    #[serde(deserialize_with = "networks")]
    pub allow_addresses: Vec<ipnet::IpNet>,
    #[serde(deserialize_with = "list_from_text")]
    pub resolve: Vec<crawl_fetch::ResolveRule>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
#[expect(missing_docs, reason = "see config/crawl.toml")]
pub struct PolitenessSection {
    #[serde(deserialize_with = "pause")]
    pub delay: Duration,
    #[serde(deserialize_with = "pause")]
    pub max_crawl_delay: Duration,
    #[serde(deserialize_with = "up_to::<1_000, _>")]
    pub host_concurrency: usize,
    #[serde(deserialize_with = "share")]
    pub address_share: f64,
    #[serde(deserialize_with = "share")]
    pub jitter: f64,
    #[serde(deserialize_with = "pause")]
    pub max_retry_after: Duration,
    #[serde(deserialize_with = "pause")]
    pub max_slow_delay: Duration,
    #[serde(deserialize_with = "pause")]
    pub break_for: Duration,
    pub break_tries: u32,
}

impl FetchSection {
    /// Converts the section's settings of retries.
    #[must_use]
    pub const fn retry_policy(&self) -> RetryPolicy {
        RetryPolicy { retries: self.retries, backoff: self.backoff, max_backoff: self.max_backoff }
    }
}

impl PolitenessSection {
    /// Converts the section for the fetch crate.
    #[must_use]
    pub fn settings(&self) -> PolitenessSettings {
        PolitenessSettings {
            delay: self.delay,
            jitter: self.jitter,
            host_concurrency: self.host_concurrency,
            address_share: self.address_share,
            max_crawl_delay: self.max_crawl_delay,
            max_retry_after: self.max_retry_after,
            max_slow_delay: self.max_slow_delay,
            break_for: self.break_for,
            break_tries: self.break_tries,
            ..PolitenessSettings::default()
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
#[expect(missing_docs, reason = "see config/crawl.toml")]
pub struct ExtractSection {
    #[serde(deserialize_with = "at_most::<1_024, _>")]
    pub threads: usize,
    #[serde(deserialize_with = "from_text")]
    pub favor: Favor,
    #[serde(deserialize_with = "from_text")]
    pub links: LinkStyle,
    pub images: bool,
    pub tables: bool,
    pub comments: bool,
    pub raw_metadata: bool,
    pub rules: String,
    pub consent_lists: Vec<PathBuf>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
#[expect(missing_docs, reason = "see config/crawl.toml")]
pub struct DedupSection {
    pub enabled: bool,
    pub mode: crawl_dedup::Mode,
    #[serde(deserialize_with = "threshold_pct")]
    pub threshold_pct: f64,
    #[serde(deserialize_with = "min_pages")]
    pub min_pages: usize,
    #[serde(deserialize_with = "min_block_chars")]
    pub min_block_chars: usize,
    pub release: crawl_dedup::Release,
    pub settle_pages: u64,
    #[serde(deserialize_with = "up_to::<256, _>")]
    pub shards: usize,
}

impl DedupSection {
    /// Returns the pages of a host that are held, and how long.
    #[must_use]
    pub const fn hold_policy(&self) -> crawl_dedup::HoldPolicy {
        crawl_dedup::HoldPolicy { release: self.release, settle_pages: self.settle_pages }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
#[expect(missing_docs, reason = "see config/crawl.toml")]
pub struct ProjectsSection {
    pub database: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
#[expect(missing_docs, reason = "see config/crawl.toml")]
pub struct ServeSection {
    pub listen: std::net::SocketAddr,
    #[serde(deserialize_with = "secret")]
    pub token: SecretString,
    pub token_file: String,
    pub hosts: Vec<String>,
    #[serde(deserialize_with = "duration")]
    pub timeout: Duration,
    #[serde(deserialize_with = "up_to::<10_000, _>")]
    pub connections: usize,
    #[serde(deserialize_with = "up_to::<64, _>")]
    pub analyses: usize,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
#[expect(missing_docs, reason = "see config/crawl.toml")]
pub struct OutputSection {
    pub append: String,
    pub replace: String,
    pub fields: Vec<String>,
    pub lean: bool,
    #[serde(deserialize_with = "unlimited_size")]
    pub max_file: Option<bytesize::ByteSize>,
    pub links: bool,
    pub emit: Emit,
    #[serde(deserialize_with = "up_to::<100_000, _>")]
    pub batch: usize,
}

impl OutputSection {
    /// Returns true if the output holds the current state of the crawl: the latest record of each page.
    #[must_use]
    pub fn holds_state(&self) -> bool {
        !self.replace.is_empty() && self.emit != Emit::Changes
    }

    /// The file or folder that records go to; `None` for standard output.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        [&self.replace, &self.append].into_iter().find(|name| !name.is_empty()).map(Path::new)
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
#[expect(missing_docs, reason = "see config/crawl.toml")]
pub struct ArchiveSection {
    pub dir: String,
    pub max_file: bytesize::ByteSize,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
#[expect(missing_docs, reason = "see config/crawl.toml")]
pub struct StateSection {
    pub dir: String,
    pub store: String,
    pub crawl: String,
    pub report: bool,
    #[serde(deserialize_with = "unlimited_size")]
    pub compact: Option<bytesize::ByteSize>,
    #[serde(deserialize_with = "unlimited_duration")]
    pub keep: Option<Duration>,
}

impl StateSection {
    /// Returns true if several workers may share the crawl.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        crawl_store::StoreUrl::is_database(&self.store)
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
#[expect(missing_docs, reason = "see config/crawl.toml")]
pub struct MetricsSection {
    #[serde(deserialize_with = "address_or_none")]
    pub listen: Option<std::net::SocketAddr>,
    #[serde(deserialize_with = "pause")]
    pub linger: Duration,
    pub textfile: String,
    pub hosts: usize,
}

/// Format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text for people.
    Text,
    /// One JSON object a line.
    Json,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
#[expect(missing_docs, reason = "see config/crawl.toml")]
pub struct LogSection {
    pub level: String,
    pub format: LogFormat,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
#[expect(missing_docs, reason = "see config/crawl.toml")]
pub struct NearDuplicatesSection {
    pub enabled: bool,
    pub jaccard: f64,
    pub drop: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
#[expect(missing_docs, reason = "see config/crawl.toml")]
pub struct DuplicatesSection {
    pub language: String,
    pub shingle_words: usize,
    pub permutations: usize,
    pub jaccard: f64,
    pub cosine: f64,
    pub tfidf: bool,
    pub vocabulary: usize,
    pub min_df: u32,
    pub ngrams: (usize, usize),
    pub max_lemma_chars: usize,
    pub cluster_algorithm: ClusterAlgorithm,
    pub clusters: usize,
    pub seed: u64,
    pub run_records: usize,
    pub work_dir: String,
}
