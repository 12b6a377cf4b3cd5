//! Results of earlier visits to a URL, kept in the state directory for the next round.

use crate::{BodyHash, ContentHash, NewUrl, RequestId, RulesVersion, Strategy, TextHash};
use serde::{Deserialize, Serialize};

/// Outcome of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A record was written.
    Record,
    /// A line of the error log was written.
    Failed,
    /// The URL is no page to record (content type, noindex, out of scope, robots, alias); counted by kind.
    Skipped,
    /// The URL redirected to another one, which is in the frontier.
    Redirected,
    /// A page of an earlier round whose content has not changed.
    Unchanged,
    /// A page of an earlier round that no longer exists. Its history is dropped, except for its visits.
    Gone,
}

/// Results of a visit that later rounds use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageHistory {
    /// HTTP status.
    pub status: Option<u16>,
    /// `ETag` as sent.
    pub etag: Option<String>,
    /// `Last-Modified` as sent.
    pub last_modified: Option<String>,
    /// `lastmod` of a sitemap at the time of the fetch, as given.
    pub sitemap_lastmod: Option<String>,
    /// Hash of `content`.
    pub content_hash: Option<ContentHash>,
    /// Hash of `text`, the cleaned `content`.
    pub text_hash: Option<TextHash>,
    /// Hash of the body from which the content was taken; none unless it was the body of one plain request.
    pub body_hash: Option<BodyHash>,
    /// Version of the rules that read the body.
    pub rules: Option<RulesVersion>,
    /// Strategy that fetched the page.
    pub strategy: Option<Strategy>,
    /// Time of the fetch.
    pub fetched_at_ms: Option<i64>,
}

/// State of a page after the last visit of an earlier round. It travels with the request, so that each stage
/// can detect changes. A page reported as gone has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    /// Hash of `content`.
    pub content_hash: ContentHash,
    /// Hash of `text`.
    pub text_hash: Option<TextHash>,
    /// Hash of the body from which the content was taken.
    pub body_hash: Option<BodyHash>,
    /// Version of the rules that read the body.
    pub rules: Option<RulesVersion>,
    /// Strategy that fetched the page.
    pub strategy: Option<Strategy>,
    /// HTTP status of the last answer: 404 or 410 if a second request must confirm that the page is gone.
    pub status: Option<u16>,
    /// Time at which the hashed body was fetched, in milliseconds since the Unix epoch. A `revisit` record of
    /// an archive refers to it.
    pub read_at_ms: Option<i64>,
    /// Time of the last visit that found the page, read or not modified.
    pub seen_at_ms: Option<i64>,
}

/// Number of visits and changes of a URL over all rounds, from which its rate of change is estimated. Times
/// are milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Visits {
    /// The end of the first visit.
    pub first_ms: Option<i64>,
    /// Time of the last visit that found it new or changed.
    pub changed_ms: Option<i64>,
    /// Visits after the first.
    pub visits: u32,
    /// Number of visits that found it changed.
    pub changes: u32,
}

/// A URL of an earlier round that this round has not visited so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownUrl {
    /// The frontier's number of it.
    pub id: RequestId,
    /// The URL as last enqueued; `sitemap_lastmod` is the last value from a sitemap.
    pub url: NewUrl,
    /// Outcome of its last visit.
    pub outcome: Option<Outcome>,
    /// Results of its last visit.
    pub history: PageHistory,
    /// Number of visits and changes.
    pub visits: Visits,
}
