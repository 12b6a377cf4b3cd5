//! A page as the network gave it.

use crate::{CrawlRequest, Strategy};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::{any::Any, fmt};
use url::Url;
use uuid::Uuid;

/// Whatever frees a body's share of memory when it is dropped. A trait object, so that this crate needs to know
/// neither semaphores nor tokio.
pub type BodyGuard = Box<dyn Any + Send + Sync>;

/// The decoded bytes of a response. The guard rides with them: the memory counts as used until both are dropped.
#[derive(Default)]
pub struct Body {
    /// The bytes, content-encoding undone, charset not.
    pub bytes: Bytes,
    /// Frees the share of the byte budget; `None` where nothing is accounted (tests, files).
    pub guard: Option<BodyGuard>,
    /// The body was longer than the cap and was cut there.
    pub truncated: bool,
}

impl Body {
    /// A body that is not accounted for anywhere.
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

/// Response headers in the order in which they came; names are lower case, values as sent (bytes outside of
/// visible ASCII replaced).
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

/// When a request was made and how long it took.
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
    /// What was asked for.
    pub request: CrawlRequest,
    /// Where the answer came from.
    pub final_url: Url,
    /// HTTP status.
    pub status: u16,
    /// Response headers.
    pub headers: Headers,
    /// The decoded body.
    pub body: Body,
    /// How it was fetched.
    pub strategy: Strategy,
    /// When, and how long it took.
    pub timings: Timings,
    /// Bytes of the body as they came over the wire, before content-encoding was undone.
    pub wire_bytes: u64,
    /// A browser took it before it had come to rest: something of it may be missing.
    pub unsettled: bool,
    /// Names its capture in the archive of the run, if there is one.
    pub captured: Option<Uuid>,
    /// What the files of its origin reserve of it, by a stable name. Decided when the page was asked for and kept with it,
    /// so that nothing that is forgotten in between changes it.
    pub reserved_by_file: Option<&'static str>,
}
