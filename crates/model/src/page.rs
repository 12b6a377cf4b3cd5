//! A page as the network delivered it.

use crate::{CrawlRequest, Strategy};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::{any::Any, fmt};
use url::Url;
use uuid::Uuid;

/// Guard that frees a body's share of memory when it is dropped. A trait object, so that this crate depends
/// neither on semaphores nor on tokio.
pub type BodyGuard = Box<dyn Any + Send + Sync>;

/// Decoded bytes of a response, with their guard: the memory counts as used until both are dropped.
#[derive(Default)]
pub struct Body {
    /// The bytes, content-encoding undone, charset not.
    pub bytes: Bytes,
    /// Guard that frees the share of the byte budget; `None` for bodies outside the budget (tests, files).
    pub guard: Option<BodyGuard>,
    /// True if the body was longer than the cap and was truncated there.
    pub truncated: bool,
}

impl Body {
    /// Creates a body outside any memory budget.
    #[must_use]
    pub fn unaccounted(bytes: impl Into<Bytes>) -> Self {
        Self { bytes: bytes.into(), guard: None, truncated: false }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Body({} bytes{})", self.bytes.len(), if self.truncated { ", truncated" } else { "" })
    }
}

/// Response headers in order of arrival. Names are lower case; values are as sent, with bytes outside visible
/// ASCII replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(pub Vec<(String, String)>);

impl Headers {
    /// The first value of a header; `name` in lower case.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// All values of a header, in order; `name` in lower case.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(n, _)| n == name).map(|(_, v)| v.as_str())
    }
}

/// Start and duration of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timings {
    /// Start of the request, milliseconds since the Unix epoch.
    pub started_at_ms: i64,
    /// Milliseconds until the response headers.
    pub first_byte_ms: u32,
    /// Milliseconds until the whole body.
    pub total_ms: u32,
}

/// A response with its body, ready to be parsed.
#[derive(Debug)]
pub struct FetchedPage {
    /// The request.
    pub request: CrawlRequest,
    /// URL of the answer, after redirects.
    pub final_url: Url,
    /// HTTP status.
    pub status: u16,
    /// Response headers.
    pub headers: Headers,
    /// The decoded body.
    pub body: Body,
    /// Strategy of the fetch.
    pub strategy: Strategy,
    /// When, and how long it took.
    pub timings: Timings,
    /// Bytes of the body on the wire, before content decoding.
    pub wire_bytes: u64,
    /// True if a browser took the page before it settled: parts may be missing.
    pub unsettled: bool,
    /// Identity of its capture in the run's archive, if there is one.
    pub captured: Option<Uuid>,
    /// Stable name of the reservation in the files of its origin. Decided when the page is requested and
    /// stored with it, so that the result does not depend on later cache evictions.
    pub reserved_by_file: Option<&'static str>,
}
