//! Documents of an archive.

use crate::RecordError;

/// A document of an archive; missing fields are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// Given id; else the record's own; else file and number.
    pub id: String,
    /// Its address.
    pub url: String,
    /// Time of archiving: RFC 3339 in UTC, to the second; unchanged if it is no time.
    pub date: String,
    /// Its media type, with parameters.
    pub content_type: String,
    /// Its title.
    pub title: String,
    /// Declared language, unchanged.
    pub language: String,
    /// Content.
    pub body: Body,
    /// The capture has only a part of the page (`WARC-Truncated`).
    pub is_truncated: bool,
    /// The HTTP response that it was the body of.
    pub response: Option<Box<ArchivedResponse>>,
    /// Charset of a table's bytes that are not UTF-8.
    pub decoded_from: Option<&'static str>,
    /// Its line in a JSONL file, if lines are kept; else empty.
    pub line: Vec<u8>,
}

/// First line and fields of an archived HTTP response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArchivedResponse {
    /// Status.
    pub status: u16,
    /// Fields `x-robots-tag` and `tdm-reservation`, in order.
    pub robots: Vec<(String, String)>,
}

/// The content of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Plain text.
    Text(String),
    /// Bytes of a page to extract.
    Html(Vec<u8>),
}

impl Default for Body {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl Body {
    /// Bytes that it takes.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Html(bytes) => bytes.len(),
        }
    }

    /// Returns true if it has no content.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Result of reading one record.
#[derive(Debug)]
pub enum Item {
    /// A document.
    Document(Document),
    /// A record without a page: a request, a revisit, an image.
    Skipped,
    /// An unreadable record; reading continues after it.
    Unreadable {
        /// Number of the record, from 1.
        number: u64,
        /// Reason.
        error: RecordError,
    },
}
