//! Decisions of a crawl about a page, beyond the extraction of its bytes.

use crawl_model::{Attempt, CrawlRequest, ExtractedPage, PageType, Strategy, Timings, Warning};
use serde::{Deserialize, Serialize};
use url::Url;
use uuid::Uuid;

/// The block of a `metadata` record: one step of a crawl.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Decision {
    /// A run began.
    Run {
        /// True if it started a round; otherwise it continued one.
        new_round: bool,
    },
    /// A page came to its host's shard.
    Page(Box<Decided>),
    /// A page of an earlier round is gone.
    Gone {
        /// Requested URL.
        url: Url,
    },
    /// A host was drained.
    HostDrained {
        /// The host, with its port where that is not the default.
        host: String,
    },
}

/// Facts about a page that its bytes do not say.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Decided {
    /// The record that it is extracted from.
    pub capture: Uuid,
    /// Request for the page.
    pub request: CrawlRequest,
    /// The canonical URL that it is known by.
    pub final_url: Url,
    /// HTTP status.
    pub status: u16,
    /// Content type without parameters.
    pub content_type: Option<String>,
    /// The strategy whose result it is.
    pub strategy: Strategy,
    /// Everything that was tried.
    pub attempts: Vec<Attempt>,
    /// Kind of page, which the static form decides.
    pub page_type: PageType,
    /// Time of its fetch.
    pub timings: Timings,
    /// Bytes over the wire.
    pub wire_bytes: u64,
    /// Warnings that are not extraction's.
    pub warnings: Vec<Warning>,
    /// Opt-outs of its site from mining.
    pub ai_opt_out: Vec<String>,
}

impl Decided {
    /// Collects the facts of a page that comes to its shard.
    #[must_use]
    pub fn of(page: &ExtractedPage, capture: Uuid) -> Self {
        Self {
            capture,
            request: page.request.clone(),
            final_url: page.final_url.clone(),
            status: page.status,
            content_type: page.content_type.clone(),
            strategy: page.strategy,
            attempts: page.attempts.clone(),
            page_type: page.classification.page_type,
            timings: page.timings,
            wire_bytes: page.wire_bytes,
            warnings: page.extraction.warnings.iter().copied().filter(|w| is_of_the_crawl(*w)).collect(),
            ai_opt_out: page.ai_opt_out.clone(),
        }
    }
}

/// Returns true if a warning is about the fetch of a page, and not about its bytes.
const fn is_of_the_crawl(warning: Warning) -> bool {
    matches!(
        warning,
        Warning::BodyTruncated | Warning::PartialContent | Warning::NeedsBrowser | Warning::OptOutUnknown
    )
}
