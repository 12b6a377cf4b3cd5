//! Crawler traps: calendars, endless pagination, session mazes, loops of relative links, parameters in every
//! combination.
//!
//! There are two defences. The URL of a link reveals some traps ([`Traps::classify`]). For the rest, each host has a
//! credit per URL pattern: the path with its numbers and identifiers replaced, and parameter names.
//!
//! Each fetch costs credit. A page with new content adds credit; a page without it removes some
//! ([`Traps::charge_fetch`] and [`Traps::learn`]). So a catalogue of a million articles is crawled to its end, while
//! a generator of empty pages is left after a few dozen.

mod equal;
mod pattern;
mod shape;

pub use equal::same_page;
pub use pattern::of_any as url_pattern;

use crate::scope::domain;
use crawl_model::HostKey;
use rustc_hash::{FxHashMap, FxHashSet};
use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    sync::{Mutex, MutexGuard, PoisonError},
};
use url::Url;

/// Maximum segments of a path. Paths of real sites have fewer; relative links that grow at each step soon have
/// more.
const PATH_SEGMENTS: usize = 24;

/// Maximum repetitions of a segment in a path. A tree of files repeats a name once or twice.
const SEGMENT_REPEATS: usize = 3;

/// Maximum parameters of a query. Filters that links combine without end have more.
const PARAMETERS: usize = 12;

/// Fetches that each page with new content adds to the credit of its URL pattern. One such page in twenty keeps a
/// pattern alive.
const NEW_PAGE_CREDIT: u32 = 20;

/// Fetches that each page with a known text removes. It costs more than a page with little text, which may be
/// an index.
const DUPLICATE_COST: u32 = 10;

/// Limits of the detection; `None` disables each.
#[derive(Clone, Debug)]
pub struct TrapSettings {
    /// Segments of a path.
    pub path_segments: Option<usize>,
    /// Maximum repetitions of a segment in a path.
    pub segment_repeats: Option<usize>,
    /// Parameters of a query.
    pub parameters: Option<usize>,
    /// Years before and after the present that a calendar may show.
    pub calendar_years: Option<(u16, u16)>,
    /// Initial credit of a host's URL pattern, in fetches.
    pub template_credit: Option<u32>,
    /// Fetches that each page with new content adds.
    pub new_page_credit: u32,
    /// Fetches that each page without new content removes.
    pub duplicate_cost: u32,
    /// Hosts of one registrable domain.
    pub hosts_per_domain: Option<usize>,
    /// Different links of one page.
    pub links_per_page: Option<usize>,
}

impl Default for TrapSettings {
    fn default() -> Self {
        Self {
            path_segments: Some(PATH_SEGMENTS),
            segment_repeats: Some(SEGMENT_REPEATS),
            parameters: Some(PARAMETERS),
            calendar_years: Some((5, 2)),
            template_credit: Some(200),
            new_page_credit: NEW_PAGE_CREDIT,
            duplicate_cost: DUPLICATE_COST,
            hosts_per_domain: Some(1_000),
            links_per_page: Some(10_000),
        }
    }
}

/// Reason why a URL is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trap {
    /// The path is too deep.
    PathDepth(usize),
    /// A segment is repeated too often in the path.
    RepeatedSegment(String),
    /// The query has too many parameters.
    Parameters(usize),
    /// A page of a calendar far from the present year.
    Calendar(i32),
    /// Pages of this pattern have had no new content for long.
    Pattern(String),
    /// The registrable domain has too many hosts.
    Hosts(String),
    /// The page has too many links; this one is beyond the limit.
    Links(usize),
}

impl Trap {
    /// Stable name for counts and the error log.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::PathDepth(_) => "trap_path_depth",
            Self::RepeatedSegment(_) => "trap_repeated_segment",
            Self::Parameters(_) => "trap_parameters",
            Self::Calendar(_) => "trap_calendar",
            Self::Pattern(_) => "trap_template",
            Self::Hosts(_) => "trap_hosts",
            Self::Links(_) => "trap_links",
        }
    }
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PathDepth(n) => {
                write!(f, "the path has {n} segments, more than {PATH_SEGMENTS}")
            }
            Self::RepeatedSegment(segment) => {
                write!(f, "\"{segment}\" is repeated too often in the path")
            }
            Self::Parameters(n) => {
                write!(f, "the query has {n} parameters, more than {PARAMETERS}")
            }
            Self::Calendar(year) => write!(f, "a calendar page of the year {year} (traps.calendar_years)"),
            Self::Pattern(pattern) => {
                write!(f, "pages of the URL pattern {pattern} brought no new text (traps.template_credit)")
            }
            Self::Hosts(domain) => write!(f, "{domain} has too many hosts already (traps.hosts_per_domain)"),
            Self::Links(limit) => {
                write!(f, "the page has more than {limit} different links (traps.links_per_page)")
            }
        }
    }
}

/// Worth of a fetched page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageWorth {
    /// It has its own text.
    New,
    /// It has little text of its own, but links to unknown pages of another pattern: a listing.
    LinksNewPattern,
    /// It has hardly any text and no new links, but its words are new among the pages of its pattern: an entry of a list.
    Named,
    /// It has hardly any text.
    Poor,
    /// Its text was known, but it links to unknown pages of another pattern: a listing with the same introduction on
    /// each page.
    KnownListing,
    /// Its text was known.
    Duplicate,
    /// It reports that nothing was found, with any status.
    NotFound,
}

/// Minimum words of main content, outside of links, for a text of its own.
pub const POOR_WORDS: u32 = 30;

/// Refused URLs of a pattern after which one is fetched as a sample; further samples follow each time the number doubles.
const FIRST_SAMPLE: u32 = 16;

/// Maximum patterns of one host with their own credit; all others share one credit.
const MAX_PATTERNS_PER_HOST: usize = 20_000;
/// Maximum remembered texts; beyond it all are dropped, and each may occur once more.
const MAX_TEXTS: usize = 500_000;
/// Maximum hosts with credits; beyond it all credits are dropped.
const MAX_HOSTS: usize = 50_000;

/// Maximum patterns of all hosts; beyond it all credits are dropped. Tests use a smaller limit.
const MAX_PATTERNS: usize = if cfg!(test) { 20_000 } else { 1_000_000 };
/// Maximum hosts counted per domain; beyond it the counts restart.
const MAX_COUNTED_HOSTS: usize = if cfg!(test) { 5_000 } else { 500_000 };

/// Credit left, by pattern. A pattern with the names of parameters has the credit that its pages have earned.
type Credits = FxHashMap<u64, i64>;

/// The most credit of a pattern, so that a long good history cannot pay for an endless trap.
fn most(initial: u32) -> i64 {
    i64::from(initial).saturating_mul(10)
}

#[derive(Default)]
struct Ledger {
    credits: FxHashMap<HostKey, Credits>,
    /// Number of patterns of all hosts.
    patterns: usize,
    /// Hosts by registrable domain, as hashes.
    domains: FxHashMap<u64, FxHashSet<u64>>,
    /// Hosts of all domains.
    hosts: usize,
    /// Hashes of texts with their pattern.
    texts: FxHashSet<u64>,
    /// Listings per host since its last page with a new text.
    listings: FxHashMap<HostKey, u32>,
    /// Refused URLs of each pattern without credit, by a hash of host and pattern.
    refused: FxHashMap<u64, u32>,
}

impl Ledger {
    /// The credit of a pattern, if it has one.
    fn credit(&self, host: &HostKey, pattern: &str) -> Option<i64> {
        self.credits.get(host)?.get(&pattern::hash(pattern)).copied()
    }

    /// The credit of a pattern; a new one starts with `initial`.
    fn credit_mut(&mut self, host: &HostKey, pattern: &str, initial: u32) -> &mut i64 {
        let mut key = pattern::hash(pattern);
        let known = self.credits.get(host);
        // patterns beyond the limit of a host share one credit
        let has_credit = known.is_some_and(|all| all.contains_key(&key) || all.len() > MAX_PATTERNS_PER_HOST);
        let is_full = self.patterns >= MAX_PATTERNS || (known.is_none() && self.credits.len() >= MAX_HOSTS);
        if is_full && !has_credit {
            self.credits.clear();
            self.patterns = 0;
        }
        let of_host = self.credits.entry(host.clone()).or_default();
        if of_host.len() >= MAX_PATTERNS_PER_HOST && !of_host.contains_key(&key) {
            key = 0;
        }
        of_host.entry(key).or_insert_with(|| {
            self.patterns += 1;
            i64::from(initial)
        })
    }

    /// The credit that pages with the same parameter names as `url` have earned.
    fn earned(&self, host: &HostKey, url: &Url) -> i64 {
        let names = pattern::with_parameters(url);
        names.and_then(|names| self.credit(host, &names)).unwrap_or_default()
    }

    /// Adds to the credit that pages with the same parameter names have earned, from 0 to `most`. Only a page that `opens`
    /// an account has a new one.
    fn add_earned(&mut self, host: &HostKey, url: &Url, change: i64, opens: bool, most: i64) {
        let Some(names) = pattern::with_parameters(url) else { return };
        let Some(of_host) = self.credits.get_mut(host) else { return };
        let (key, has_room) = (pattern::hash(&names), of_host.len() < MAX_PATTERNS_PER_HOST);
        if opens && has_room && self.patterns < MAX_PATTERNS && !of_host.contains_key(&key) {
            of_host.insert(key, 0);
            self.patterns += 1;
        }
        if let Some(earned) = of_host.get_mut(&key) {
            *earned = (*earned + change).clamp(0, most);
        }
    }

    /// Counts a refused URL of a pattern without credit. Returns true if it is a sample, which is fetched nevertheless: the
    /// dead pages of a list may come first.
    fn is_sample(&mut self, pattern: u64) -> bool {
        if self.refused.len() >= MAX_PATTERNS && !self.refused.contains_key(&pattern) {
            self.refused.clear();
        }
        let refused = self.refused.entry(pattern).or_default();
        *refused = refused.saturating_add(1);
        *refused >= FIRST_SAMPLE && refused.is_power_of_two()
    }

    /// Counts a listing of a host. Returns true for the first `often` since its last new text.
    fn count_listing(&mut self, host: &HostKey, often: u32) -> bool {
        if self.listings.len() >= MAX_HOSTS && !self.listings.contains_key(host) {
            self.listings.clear();
        }
        let times = self.listings.entry(host.clone()).or_default();
        *times += 1;
        *times <= often
    }
}

/// Detector of traps. All stages of a crawl share one.
pub struct Traps {
    settings: TrapSettings,
    this_year: i32,
    /// Random keys, so that nobody can choose colliding names or texts.
    keys: RandomState,
    ledger: Mutex<Ledger>,
}

impl Traps {
    /// Creates a detector; `this_year` is the year of the crawl, to which calendars are compared.
    #[must_use]
    pub fn new(settings: TrapSettings, this_year: i32) -> Self {
        Self { settings, this_year, keys: RandomState::new(), ledger: Mutex::default() }
    }

    /// Classifies a canonical URL by its shape. Pure and fast: called for every link.
    #[must_use]
    pub fn classify(&self, url: &Url) -> Option<Trap> {
        shape::classify(url, &self.settings, self.this_year)
    }

    /// Classifies a link by the number of different links before it on its page.
    #[must_use]
    pub fn classify_count(&self, links: usize) -> Option<Trap> {
        self.settings.links_per_page.filter(|&limit| links >= limit).map(Trap::Links)
    }

    /// Counts a link's host; returns a trap if its domain has too many. Seeds need no check.
    #[must_use]
    pub fn classify_host(&self, url: &Url) -> Option<Trap> {
        let limit = self.settings.hosts_per_domain?;
        let (domain, host) = (domain(url)?, url.host_str()?);
        if domain == host {
            return None;
        }
        let (domain_key, host_key) = (self.keys.hash_one(domain), self.keys.hash_one(host));
        let mut ledger = self.lock();
        if ledger.hosts >= MAX_COUNTED_HOSTS {
            ledger.domains.clear();
            ledger.hosts = 0;
        }
        let hosts = ledger.domains.entry(domain_key).or_default();
        if hosts.contains(&host_key) {
            return None;
        }
        if hosts.len() >= limit {
            return Some(Trap::Hosts(domain.to_owned()));
        }
        hosts.insert(host_key);
        ledger.hosts += 1;
        None
    }

    /// Returns true if two URLs of a host have different patterns, so that one can be a listing of the other.
    #[must_use]
    pub fn differ(&self, one: &Url, other: &Url) -> bool {
        pattern::of(one) != pattern::of(other)
    }

    /// Returns the trap of a URL whose pattern has no credit, without a charge.
    #[must_use]
    pub fn exhausted_pattern(&self, url: &Url) -> Option<Trap> {
        self.settings.template_credit?;
        let host = HostKey::of(url)?;
        let ledger = self.lock();
        let is_used_up = |pattern: &String| ledger.credit(&host, pattern).is_some_and(|credit| credit <= 0);
        let numbers = || pattern::of(url).filter(|_| ledger.earned(&host, url) <= 0);
        let names = pattern::of_names(url).filter(is_used_up);
        names.or_else(|| numbers().filter(is_used_up)).map(Trap::Pattern)
    }

    /// Charges one fetch to the credit of the URL's pattern, before the fetch. [`Traps::refund_fetch`] reverts it.
    ///
    /// # Errors
    /// When the credit is used up; the URL should not be fetched then.
    pub fn charge_fetch(&self, url: &Url) -> Result<(), Trap> {
        let Some(initial) = self.settings.template_credit else { return Ok(()) };
        let Some(host) = HostKey::of(url) else { return Ok(()) };
        let (names, numbers) = (pattern::of_names(url), pattern::of(url));
        let mut ledger = self.lock();
        if let Some(pattern) = names
            && ledger.credit(&host, &pattern).is_some_and(|credit| credit <= 0)
            && !ledger.is_sample(self.keys.hash_one((&host, &pattern)))
        {
            return Err(Trap::Pattern(pattern));
        }
        let Some(pattern) = numbers else { return Ok(()) };
        let earned = ledger.earned(&host, url);
        let is_used_up = *ledger.credit_mut(&host, &pattern, initial) <= 0 && earned <= 0;
        if is_used_up && !ledger.is_sample(self.keys.hash_one((&host, &pattern))) {
            return Err(Trap::Pattern(pattern));
        }
        *ledger.credit_mut(&host, &pattern, initial) -= 1;
        ledger.add_earned(&host, url, -1, false, earned);
        Ok(())
    }

    /// Returns true if another page of the URL's pattern had the same text; `text` is a hash of the text
    /// outside of links.
    #[must_use]
    pub fn repeats(&self, url: &Url, text: u64) -> bool {
        let Some(host) = HostKey::of(url) else { return false };
        let Some(pattern) = pattern::of(url).or_else(|| pattern::of_names(url)) else { return false };
        let key = self.keys.hash_one((host, pattern, text));
        let mut ledger = self.lock();
        if ledger.texts.len() >= MAX_TEXTS {
            ledger.texts.clear();
        }
        !ledger.texts.insert(key)
    }

    /// Charges the cost of a known text for a page whose worth is still unknown. A trap must not continue
    /// while its pages wait for another strategy. [`Traps::refund_duplicate`] reverts it when the worth is known.
    pub fn charge_duplicate(&self, url: &Url) {
        self.add_credit(url, -i64::from(self.settings.duplicate_cost));
    }

    /// Reverts [`Traps::charge_fetch`]: the URL will be charged again, or its page is charged under another URL.
    pub fn refund_fetch(&self, url: &Url) {
        self.add_credit(url, 1);
    }

    /// Reverts [`Traps::charge_duplicate`].
    pub fn refund_duplicate(&self, url: &Url) {
        self.add_credit(url, i64::from(self.settings.duplicate_cost));
    }

    fn add_credit(&self, url: &Url, change: i64) {
        let (Some(initial), Some(host)) = (self.settings.template_credit, HostKey::of(url)) else { return };
        if let Some(pattern) = pattern::of(url) {
            let mut ledger = self.lock();
            *ledger.credit_mut(&host, &pattern, initial) += change;
            ledger.add_earned(&host, url, change, false, most(initial));
        }
    }

    /// Credits or charges a page by its worth.
    pub fn learn(&self, url: &Url, worth: PageWorth) {
        let Some(initial) = self.settings.template_credit else { return };
        let Some(host) = HostKey::of(url) else { return };
        let (names, numbers) = (pattern::of_names(url), pattern::of(url));
        let mut ledger = self.lock();
        let is_listing = matches!(worth, PageWorth::LinksNewPattern | PageWorth::KnownListing)
            && ledger.count_listing(&host, initial);
        let change = match worth {
            PageWorth::New => i64::from(self.settings.new_page_credit),
            // the fetch of a listing is refunded
            _ if is_listing => 1,
            // as many as its listings name; in a URL with several variable parts, words may come from their combination
            PageWorth::Named if pattern::varies_once(url) => 1,
            PageWorth::LinksNewPattern | PageWorth::Named | PageWorth::Poor => 0,
            PageWorth::KnownListing | PageWorth::Duplicate | PageWorth::NotFound => {
                -i64::from(self.settings.duplicate_cost)
            }
        };
        if worth == PageWorth::New {
            ledger.listings.remove(&host);
        }
        let most = most(initial);
        // a cost leaves no debt, so that one new text among the samples gives credit again
        let book =
            |credit: &mut i64, change: i64| *credit = (*credit + change).max((*credit).min(0)).min(most);
        if let Some(pattern) = numbers {
            book(ledger.credit_mut(&host, &pattern, initial), change);
            ledger.add_earned(&host, url, change, worth == PageWorth::New, most);
        }
        // patterns of names have no credit before the first error page or copy. A known text costs one fetch, since a
        // folder of copies (print versions, other versions) is no trap.
        let Some(pattern) = names else { return };
        let change = match worth {
            PageWorth::NotFound => change,
            PageWorth::KnownListing if is_listing => return,
            PageWorth::KnownListing | PageWorth::Duplicate => -1,
            PageWorth::New if ledger.credit(&host, &pattern).is_some() => change,
            _ => return,
        };
        book(ledger.credit_mut(&host, &pattern, initial), change);
    }

    fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
