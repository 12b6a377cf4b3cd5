//! What is wrong with a file, or with one record of it.

use std::{io, path::PathBuf};

/// A file that cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// It cannot be opened or read.
    #[error("{path}: {error}", path = .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// No file is of this name, or matches this pattern.
    #[error("{0}: no such file")]
    NoFile(String),
    /// It is no pattern of names.
    #[error("{pattern}: {problem}")]
    Pattern {
        /// As given.
        pattern: String,
        /// What is wrong with it.
        problem: String,
    },
    /// What is to be written cannot be.
    #[error("the output: {0}")]
    Output(String),
}

/// A record that cannot be read, while others of its file can.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The line is no JSON object.
    #[error("not JSON: {0}")]
    Json(String),
    /// A row of a table does not fit its header.
    #[error("not a row: {0}")]
    Row(String),
    /// There is no field with a text.
    #[error("no text: {0}")]
    NoText(&'static str),
    /// It is longer than records may be.
    #[error("more than {0} bytes")]
    TooLarge(u64),
    /// Bytes that should be a record's header are none.
    #[error("no WARC record begins here: {0:?}")]
    NoHeader(String),
    /// A header lacks what a record must have, or says what cannot be.
    #[error("the header is unusable: {0}")]
    Header(String),
    /// The file ends within the record.
    #[error("the file ends within the record")]
    Truncated,
    /// Its compressed bytes are damaged.
    #[error("damaged gzip: {0}")]
    Gzip(String),
    /// The answer of the server is none.
    #[error("not an HTTP message: {0}")]
    Http(&'static str),
    /// The body is encoded in a way that is unknown or broken.
    #[error("the content encoding cannot be undone: {0}")]
    Encoding(String),
    /// A Parquet file is damaged, or no table of documents.
    #[error("not a usable Parquet file: {0}")]
    Parquet(String),
    /// The file cannot be read any further.
    #[error("reading ends here: {0}")]
    Io(String),
}

impl RecordError {
    /// A short name for counting.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Json(_) => "not_json",
            Self::Row(_) => "bad_row",
            Self::NoText(_) => "no_text",
            Self::TooLarge(_) => "too_large",
            Self::NoHeader(_) => "no_header",
            Self::Header(_) => "bad_header",
            Self::Truncated => "truncated",
            Self::Gzip(_) => "bad_gzip",
            Self::Http(_) => "bad_http",
            Self::Encoding(_) => "bad_encoding",
            Self::Parquet(_) => "bad_parquet",
            Self::Io(_) => "io",
        }
    }
}
