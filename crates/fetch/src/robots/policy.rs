//! From the answer to a request for robots.txt to what may be fetched (RFC 9309 §2.3.1).

use super::{RobotsTxt, RobotsVerdict, RuleSet};
use crawl_model::CachedRobots;
use std::time::Duration;
use url::Url;

/// Bytes of a robots.txt that are read (RFC 9309 §2.5 asks for at least as many).
pub const ROBOTS_MAX_BYTES: u64 = 500 * 1024;

/// What an origin's robots.txt means for us.
#[derive(Clone, Debug)]
pub enum RobotsPolicy {
    /// There is none (a status of 4xx other than 429, or redirects without end): everything is allowed.
    AllowAll,
    /// It could not be had (5xx, 429, no answer): nothing is allowed until it can.
    Unreachable {
        /// HTTP status; 0 for no answer.
        status: u16,
    },
    /// It was read.
    Rules {
        /// The rules for our product token.
        rules: RuleSet,
        /// Its `Sitemap` lines.
        sitemaps: Vec<String>,
    },
}

impl RobotsPolicy {
    /// Applies the RFC to what was fetched, for one product token.
    #[must_use]
    pub fn from_cached(cached: &CachedRobots, product_token: &str) -> Self {
        match cached.status {
            200..=299 => {
                let robots = RobotsTxt::parse(&cached.body);
                Self::Rules { rules: robots.rules(product_token), sitemaps: robots.sitemaps }
            }
            429 | 0..=199 | 500.. => Self::Unreachable { status: cached.status },
            300..=499 => Self::AllowAll,
        }
    }

    /// Whether the URL may be fetched now.
    #[must_use]
    pub fn verdict(&self, url: &Url) -> RobotsVerdict {
        match self {
            Self::AllowAll => RobotsVerdict::undecided(true),
            Self::Unreachable { .. } => RobotsVerdict::undecided(false),
            Self::Rules { rules, .. } => rules.verdict(url),
        }
    }

    /// The delay that the site asks for between two requests.
    #[must_use]
    pub const fn crawl_delay(&self) -> Option<Duration> {
        match self {
            Self::Rules { rules, .. } => rules.crawl_delay(),
            _ => None,
        }
    }

    /// Values of the `Sitemap` lines.
    #[must_use]
    pub fn sitemaps(&self) -> &[String] {
        match self {
            Self::Rules { sitemaps, .. } => sitemaps,
            _ => &[],
        }
    }

    /// Bytes that this holds in memory, roughly.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        match self {
            Self::Rules { rules, sitemaps } => {
                let lines = sitemaps.iter().map(|line| size_of::<String>() + line.capacity());
                rules.heap_bytes() + lines.sum::<usize>()
            }
            _ => 0,
        }
    }

    /// Whether nothing is allowed only because robots.txt could not be had: URLs are to be tried again later.
    #[must_use]
    pub const fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }

    /// The status of a robots.txt that could not be had, 0 for no answer; `None` where it could.
    #[must_use]
    pub const fn unreachable_status(&self) -> Option<u16> {
        match self {
            Self::Unreachable { status } => Some(*status),
            _ => None,
        }
    }
}
