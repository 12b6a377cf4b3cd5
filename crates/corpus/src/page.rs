//! What comes in.

use serde::{Deserialize, Serialize};

/// A document of the corpus.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// As given; may be empty.
    pub id: String,
    /// Its address; may be empty.
    pub url: String,
    /// When it was archived, as the archive writes it.
    pub date: String,
    /// Its media type.
    pub content_type: String,
    /// Its title.
    pub title: String,
    /// Its text, not cleaned.
    pub text: String,
    /// Where the text comes from: `text`, `html`, …
    pub text_source: String,
}
