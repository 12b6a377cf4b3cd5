//! Leases, held pages, and the results that settle them.

use crate::{CrawlRequest, LeaseToken, Outcome, PageHistory, RequestId};

/// Identity of a lease to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseRef {
    /// The URL.
    pub id: RequestId,
    /// The token of the lease.
    pub token: LeaseToken,
}

impl From<&CrawlRequest> for LeaseRef {
    fn from(request: &CrawlRequest) -> Self {
        Self { id: request.id, token: request.token }
    }
}

/// A page that waits for its host's fingerprint.
#[derive(Clone, Debug)]
pub struct HeldPage {
    /// Identity for [`Frontier::settle`](super::Frontier::settle).
    pub lease: LeaseRef,
    /// Order of holding; grows.
    pub order: i64,
    /// The URL of the lease.
    pub url: String,
    /// The bytes passed to [`Frontier::hold`](super::Frontier::hold); empty if they are corrupt.
    pub page: Vec<u8>,
    /// False if the stored bytes are corrupt.
    pub intact: bool,
}

/// The end of a lease or of a held page.
#[derive(Clone, Debug)]
pub struct Settlement {
    /// Lease of the URL.
    pub lease: LeaseRef,
    /// Outcome of the visit.
    pub outcome: Outcome,
    /// Results of the visit. With a `content_hash`, they replace the earlier history. Without one (a 304, a
    /// failure), only set fields are overwritten.
    pub history: PageHistory,
}

/// Length of an output file that is written and synced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputMark {
    /// Absolute path, or another name of the output.
    pub name: String,
    /// Bytes that belong to settled URLs.
    pub offset: u64,
}
