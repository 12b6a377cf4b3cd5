//! Settings of a gate, and outcomes of requests.

use crate::{error::FetchError, http::Resource};
use rustc_hash::FxBuildHasher;
use std::{hash::BuildHasher, time::Duration};

/// Share of a throttled pause that each success removes. Ten successes leave a tenth of the growth.
const FORGIVENESS: f64 = 0.2;

/// Consecutive requests without any answer before a break. Fewer occur on any network, and more would occupy a permit
/// for minutes.
const BREAK_AFTER: u32 = 5;

/// Settings of a [`Gate`](super::Gate).
#[derive(Clone, Debug, PartialEq)]
pub struct PolitenessSettings {
    /// Minimum pause between two requests to a host.
    pub delay: Duration,
    /// Random addition to each pause, as a share of it (0 for none).
    pub jitter: f64,
    /// Maximum concurrent requests to one host. With more than one the pause counts between their starts.
    pub host_concurrency: usize,
    /// Minimum pause between two requests to one address for all hosts, as a share of `delay` (0 for none).
    /// Requires an [`AddressBook`](crate::AddressBook).
    pub address_share: f64,
    /// Maximum `Crawl-delay` that is obeyed.
    pub max_crawl_delay: Duration,
    /// Longest `Retry-After` that a run waits. A longer one blocks the host for the run.
    pub max_retry_after: Duration,
    /// Maximum pause of a throttled host. The pause doubles after 429, or 503 twice in a row. It grows by
    /// half after `Retry-After` or a single 503. A retried URL does not count.
    pub max_slow_delay: Duration,
    /// Share of a throttled pause that each success removes.
    pub forgiveness: f64,
    /// Consecutive requests without any answer (no connection, or nothing over it) before a break.
    pub break_after: u32,
    /// Duration of a break; doubled each time the next try fails.
    pub break_for: Duration,
    /// Failed tries after a break before the host counts as dead.
    pub break_tries: u32,
}

impl PolitenessSettings {
    /// Minimum pause between two requests to one address.
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
            forgiveness: FORGIVENESS,
            break_after: BREAK_AFTER,
            break_for: Duration::from_secs(30),
            break_tries: 3,
        }
    }
}

/// Outcome of a request with regard to politeness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotOutcome {
    /// HTTP status, if there was a response.
    pub status: Option<u16>,
    /// `Retry-After`, if it was given.
    pub retry_after: Option<Duration>,
    /// True if no connection was made or nothing came over it.
    pub unanswered: bool,
    /// Hash of the URL, which detects repeated refusals; `None` if irrelevant.
    pub url: Option<u64>,
}

impl SlotOutcome {
    /// The outcome of a request for a page.
    #[must_use]
    pub fn of(fetched: &crate::Fetched) -> Self {
        use crate::Fetched as F;
        match fetched {
            F::Page(page) => Self { status: Some(page.status), ..Self::default() },
            F::Redirect { status, retry_after, .. } => {
                Self { status: Some(*status), retry_after: *retry_after, ..Self::default() }
            }
            F::Skipped { status, .. } => Self { status: Some(*status), ..Self::default() },
            F::Failed { error, status, retry_after, .. } => {
                let unanswered = status.is_none() && error.is_unanswered();
                Self { status: *status, retry_after: *retry_after, unanswered, url: None }
            }
        }
    }

    /// The outcome of a request for another resource.
    #[must_use]
    pub fn of_resource(answer: &Result<Resource, FetchError>) -> Self {
        match answer {
            Ok(answer) => {
                Self { status: Some(answer.status), retry_after: answer.retry_after, ..Self::default() }
            }
            Err(error) => Self { unanswered: error.is_unanswered(), ..Self::default() },
        }
    }

    /// Adds the URL of the request.
    #[must_use]
    pub fn of_url(self, url: &url::Url) -> Self {
        Self { url: Some(FxBuildHasher.hash_one(url.as_str())), ..self }
    }

    pub(super) const fn is_throttled(&self) -> bool {
        matches!(self.status, Some(429 | 503))
    }
}
