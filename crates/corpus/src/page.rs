//! Input of an analysis.

use serde::{Deserialize, Serialize};

/// A document of the corpus.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// Given id; may be empty.
    pub id: String,
    /// Its address; may be empty.
    pub url: String,
    /// Time of archiving, as the archive writes it.
    pub date: String,
    /// Its media type.
    pub content_type: String,
    /// Its title.
    pub title: String,
    /// Its text, not cleaned.
    pub text: String,
    /// Source of the text: `text`, `html`, …
    pub text_source: String,
}
