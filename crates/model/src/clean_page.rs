//! A page after the removal of boilerplate and the search for duplicates.

use crate::{BoilerplateInfo, ContentHash, ExtractedPage, Quality, Sketch, TextHash, UrlKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A page after deduplication.
#[derive(Debug)]
pub struct CleanPage {
    /// The page; its `extraction.content` is not cleaned.
    pub page: ExtractedPage,
    /// `content` without the site's boilerplate.
    pub text: String,
    /// Removal of the site's boilerplate.
    pub boilerplate: BoilerplateInfo,
    /// The page that this one repeats. Until the record is written, it is the page that `rel=canonical`
    /// names, if known.
    pub duplicate: Option<Duplicate>,
    /// Sketch for the comparison with other pages; none before it is computed.
    pub sketch: Option<Sketch>,
    /// Hash that identifies the same content on other pages; none for a page that is too short.
    pub exact: Option<ContentHash>,
    /// SHA-256 of `content`.
    pub content_hash: ContentHash,
    /// Result of the quality rules for `text`, if they are enabled.
    pub quality: Option<Quality>,
    /// Hash of `text`.
    pub text_hash: TextHash,
    /// Change since earlier rounds.
    pub change: Change,
}

/// Change of a page since earlier rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// No earlier round stored it as a page.
    New,
    /// Its text is another one.
    Changed,
    /// Its text is the same.
    Unchanged,
    /// Two answers of its host say that it no longer exists.
    Gone,
}

/// The page that another page repeats, and their similarity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Duplicate {
    /// The page that came first.
    pub of: UrlKey,
    /// Similarity: 1 for equal contents, else the exact Jaccard similarity of the texts. None if only the
    /// `rel=canonical` of the page says so.
    pub similarity: Option<f64>,
    /// MinHash estimate of the similarity.
    pub estimate: Option<f64>,
}
