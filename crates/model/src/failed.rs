//! Lines of the error log.

use crate::{LeaseToken, RequestId};
use serde::{Deserialize, Serialize};

/// One line of `errors.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailedPage {
    /// The URL that failed.
    pub url: String,
    /// Stage of the failure.
    pub stage: Stage,
    /// Kind of failure, from a closed list of names.
    pub kind: &'static str,
    /// HTTP status, if there was an answer.
    pub status: Option<u16>,
    /// Attempts made.
    pub attempts: u32,
    /// Message: the event that failed.
    pub message: String,
    /// Advice to the user, in one sentence.
    pub hint: String,
    /// RFC 3339, UTC.
    pub at: String,
    /// A page or sitemap that names the URL; none for seeds.
    #[serde(rename = "foundOn")]
    pub found_on: Option<String>,
    /// The lease that this failure settles.
    #[serde(skip)]
    pub lease: Option<(RequestId, LeaseToken)>,
    /// The seed, if the page is a seed, or a seed redirects to it.
    #[serde(skip)]
    pub seed: Option<Box<str>>,
}

/// Stage in which a page failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Reading the seed file.
    Seed,
    /// Asking robots.txt.
    Robots,
    /// Fetching.
    Fetch,
    /// Parsing and extracting.
    Extract,
    /// Cleaning.
    Dedup,
    /// Writing.
    Sink,
}
