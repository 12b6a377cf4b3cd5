//! What a state directory knows of a URL from its earlier visits, so that the next round need not begin anew.

use crate::{BodyHash, ContentHash, NewUrl, Outcome, RequestId, RulesVersion, Strategy};
use serde::{Deserialize, Serialize};

/// What a visit learns of a page for the rounds to come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageHistory {
    /// HTTP status.
    pub status: Option<u16>,
    /// `ETag` as sent.
    pub etag: Option<String>,
    /// `Last-Modified` as sent.
    pub last_modified: Option<String>,
    /// `lastmod` that a sitemap gave when the page was fetched, as given.
    pub sitemap_lastmod: Option<String>,
    /// Hash of `content`.
    pub content_hash: Option<ContentHash>,
    /// Hash of `text`, what cleaning left of `content`.
    pub text_hash: Option<ContentHash>,
    /// Hash of the body that the content was taken from; none where it was not the body of one plain request.
    pub body_hash: Option<BodyHash>,
    /// What the body was read by.
    pub rules: Option<RulesVersion>,
    /// How the page was had.
    pub strategy: Option<Strategy>,
    /// When it was fetched.
    pub fetched_at_ms: Option<i64>,
}

/// A page as the last visit of an earlier round left it. It rides with the request, so that every stage can tell what is
/// new. A page that was reported as gone has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    /// Hash of `content`.
    pub content_hash: ContentHash,
    /// Hash of `text`.
    pub text_hash: Option<ContentHash>,
    /// Hash of the body that the content was taken from.
    pub body_hash: Option<BodyHash>,
    /// What the body was read by.
    pub rules: Option<RulesVersion>,
    /// How the page was had.
    pub strategy: Option<Strategy>,
    /// HTTP status of the last answer: 404 or 410 for a page that has to be asked for once more before it is gone.
    pub status: Option<u16>,
    /// When the body was fetched that the hashes are of, milliseconds since the Unix epoch: what an archive's `revisit`
    /// refers to.
    pub read_at_ms: Option<i64>,
    /// When it was last there, read or not modified.
    pub seen_at_ms: Option<i64>,
}

/// How often a URL was visited and found changed, over all rounds: what its rate of change is estimated from. Times are
/// milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Visits {
    /// The end of the first visit.
    pub first_ms: Option<i64>,
    /// The last time that it was new or had changed.
    pub changed_ms: Option<i64>,
    /// Visits after the first.
    pub visits: u32,
    /// Those of them that found it changed.
    pub changes: u32,
}

/// A URL of an earlier round that is not visited in this one so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownUrl {
    /// The frontier's number of it.
    pub id: RequestId,
    /// The URL as it was enqueued last; `sitemap_lastmod` is what a sitemap said last.
    pub url: NewUrl,
    /// How its last visit ended.
    pub outcome: Option<Outcome>,
    /// What was learnt of it.
    pub history: PageHistory,
    /// How often it was visited.
    pub visits: Visits,
}
