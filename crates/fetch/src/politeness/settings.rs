//! What a gate is told: its settings, and how requests ended.

use crate::{error::FetchError, http::Resource};
use rustc_hash::FxBuildHasher;
use std::{hash::BuildHasher, time::Duration};

/// Settings of a [`Gate`](super::Gate).
#[derive(Clone, Debug, PartialEq)]
pub struct PolitenessSettings {
    /// Least pause between two requests to a host.
    pub delay: Duration,
    /// Random addition to each pause, as a share of it (0 for none).
    pub jitter: f64,
    /// Requests to one host at the same time. With more than one the pause lies between their starts.
    pub host_concurrency: usize,
    /// Least pause between two requests to one address, whichever hosts they are for, as a share of `delay` (0 for
    /// none). Takes an [`AddressBook`](super::AddressBook).
    pub address_share: f64,
    /// The most that a robots.txt may ask for by `Crawl-delay`.
    pub max_crawl_delay: Duration,
    /// The longest `Retry-After` that is waited for. A host that asks for more is left.
    pub max_retry_after: Duration,
    /// A host that answers 429, or 503 twice in a row or with `Retry-After`, gets its pause doubled, or with `Retry-After` half
    /// as long again, up to this. A URL that is tried again does not count.
    pub max_slow_delay: Duration,
    /// The share of a slowed pause that every good answer takes back.
    pub forgiveness: f64,
    /// Requests in a row that brought no answer at all (no connection, or nothing over it) after which a host is left alone.
    pub break_after: u32,
    /// How long it is left alone; doubled each time that the next try fails too.
    pub break_for: Duration,
    /// Tries after a break that may fail before the host counts as dead.
    pub break_tries: u32,
}

impl PolitenessSettings {
    /// Least pause between two requests to one address.
    pub(super) fn address_pause(&self) -> Duration {
        self.delay.mul_f64(self.address_share.clamp(0.0, 1.0))
    }
}

impl Default for PolitenessSettings {
    fn default() -> Self {
        Self {
            delay: Duration::from_secs(1),
            jitter: 0.1,
            host_concurrency: 1,
            address_share: 0.25,
            max_crawl_delay: Duration::from_secs(30),
            max_retry_after: Duration::from_secs(3_600),
            max_slow_delay: Duration::from_secs(60),
            forgiveness: 0.2,
            break_after: 5,
            break_for: Duration::from_secs(30),
            break_tries: 3,
        }
    }
}

/// How a request ended, as far as politeness is concerned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotOutcome {
    /// HTTP status, if there was a response.
    pub status: Option<u16>,
    /// `Retry-After`, if it was given.
    pub retry_after: Option<Duration>,
    /// No connection was made, or nothing came over it.
    pub unanswered: bool,
    /// A hash of the URL, by which a host's second refusal of it is known; `None` where that does not matter.
    pub url: Option<u64>,
}

impl SlotOutcome {
    /// The outcome of a request for a page.
    #[must_use]
    pub fn of(fetched: &crate::Fetched) -> Self {
        use crate::Fetched as F;
        match fetched {
            F::Page(page) => Self { status: Some(page.status), ..Self::default() },
            F::Redirect { status, .. } | F::Skipped { status, .. } => {
                Self { status: Some(*status), ..Self::default() }
            }
            F::Failed { error, status, retry_after, .. } => {
                let unanswered = status.is_none() && error.is_unanswered();
                Self { status: *status, retry_after: *retry_after, unanswered, url: None }
            }
        }
    }

    /// The outcome of a request for something else.
    #[must_use]
    pub fn of_resource(answer: &Result<Resource, FetchError>) -> Self {
        match answer {
            Ok(answer) => {
                Self { status: Some(answer.status), retry_after: answer.retry_after, ..Self::default() }
            }
            Err(error) => Self { unanswered: error.is_unanswered(), ..Self::default() },
        }
    }

    /// The same, of this URL.
    #[must_use]
    pub fn of_url(self, url: &url::Url) -> Self {
        Self { url: Some(FxBuildHasher.hash_one(url.as_str())), ..self }
    }

    pub(super) const fn asks_for_less(&self) -> bool {
        matches!(self.status, Some(429 | 503))
    }
}
