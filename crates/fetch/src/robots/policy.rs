//! Conversion of a robots.txt response to a policy (RFC 9309 §2.3.1).

use super::{RobotsTxt, RobotsVerdict, RuleSet};
use crawl_model::CachedRobots;
use std::time::Duration;
use url::Url;

/// Maximum bytes read of a robots.txt; the minimum that RFC 9309 §2.5 requires.
pub const ROBOTS_MAX_BYTES: u64 = 500 * 1024;

/// Policy of an origin's robots.txt.
#[derive(Clone, Debug)]
pub enum RobotsPolicy {
    /// There is no robots.txt (a status of 4xx other than 429, or endless redirects): everything is allowed.
    AllowAll,
    /// It is unreachable (5xx, 429, no answer): nothing is allowed for now.
    Unreachable {
        /// HTTP status; 0 for no answer.
        status: u16,
    },
    /// The file was read.
    Rules {
        /// The rules for our product token.
        rules: RuleSet,
        /// Its `Sitemap` lines.
        sitemaps: Vec<String>,
    },
}

impl RobotsPolicy {
    /// Applies the RFC to a fetched file, for one product token.
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

    /// Verdict on a URL.
    #[must_use]
    pub fn verdict(&self, url: &Url) -> RobotsVerdict {
        match self {
            Self::AllowAll => RobotsVerdict::undecided(true),
            Self::Unreachable { .. } => RobotsVerdict::undecided(false),
            Self::Rules { rules, .. } => rules.verdict(url),
        }
    }

    /// The site's delay between two requests.
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

    /// Approximate heap bytes.
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

    /// Returns true if everything is disallowed because robots.txt is unreachable: URLs are retried later.
    #[must_use]
    pub const fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }

    /// Status of an unreachable robots.txt, 0 for no answer; `None` if it is reachable.
    #[must_use]
    pub const fn unreachable_status(&self) -> Option<u16> {
        match self {
            Self::Unreachable { status } => Some(*status),
            _ => None,
        }
    }
}
