//! What comes out of an archive.

use crate::RecordError;

/// A document of an archive; what it does not say is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// As given; else the record's own name; else file and number.
    pub id: String,
    /// Its address.
    pub url: String,
    /// When it was archived: RFC 3339 in UTC, to the second; as written there where that is no time.
    pub date: String,
    /// Its media type, with parameters.
    pub content_type: String,
    /// Its title.
    pub title: String,
    /// The language that it declares, as written there.
    pub language: String,
    /// What it holds.
    pub body: Body,
    /// The charset that its text was taken to be in, where a table holds bytes that are not UTF-8.
    pub decoded_from: Option<&'static str>,
    /// The line of JSONL that it stood in, if it was to be kept; else empty.
    pub line: Vec<u8>,
}

/// The content of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Text as it is to be read.
    Text(String),
    /// Bytes of a page whose text has to be extracted.
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

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What reading comes to, record by record.
#[derive(Debug)]
pub enum Item {
    /// A document.
    Document(Document),
    /// A record that holds no page: a request, a revisit, an image.
    Skipped,
    /// A record that could not be read; the next item is what comes after it.
    Unreadable {
        /// Which one, counted from 1.
        number: u64,
        /// Why.
        error: RecordError,
    },
}
