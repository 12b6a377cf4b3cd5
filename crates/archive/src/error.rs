//! Errors of a file or of one of its records.

use std::{io, path::PathBuf};

/// Error of a whole file.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The input cannot be opened or read.
    #[error("{path}: {error}", path = .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Reason.
        error: io::Error,
    },
    /// No file has this name or matches this pattern.
    #[error("{0}: no such file")]
    NoFile(String),
    /// The name is a folder.
    #[error(
        "{0}: a folder; name its files, such as '{0}/*.jsonl', or extract a folder of HTML first: crawl extract {0} > pages.jsonl"
    )]
    Folder(String),
    /// Invalid pattern of file names.
    #[error("{pattern}: {problem}")]
    Pattern {
        /// Given pattern.
        pattern: String,
        /// Fault of the pattern.
        problem: String,
    },
    /// The output failed.
    #[error("the output: {0}")]
    Output(String),
}

/// Error of one record; others of its file are readable.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The line is no JSON object.
    #[error("not JSON: {0}")]
    Json(String),
    /// A row of a table does not fit its header.
    #[error("not a row: {0}")]
    Row(String),
    /// There is no text field.
    #[error("no text: {0}")]
    NoText(&'static str),
    /// The record exceeds the maximum length.
    #[error("more than {0} bytes")]
    TooLarge(u64),
    /// Bytes are not a record's header.
    #[error("no WARC record begins here: {0:?}")]
    NoHeader(String),
    /// A header lacks a required field, or has an invalid one.
    #[error("the header is unusable: {0}")]
    Header(String),
    /// The file ends within the record.
    #[error("the file ends within the record")]
    Truncated,
    /// Its compressed bytes are damaged.
    #[error("damaged gzip: {0}")]
    Gzip(String),
    /// The server's answer is invalid.
    #[error("not an HTTP message: {0}")]
    Http(&'static str),
    /// The body's encoding is unknown or broken.
    #[error("the content encoding cannot be undone: {0}")]
    Encoding(String),
    /// A Parquet file is damaged, or is no table of documents.
    #[error("not a usable Parquet file: {0}")]
    Parquet(String),
    /// The rest of the file is unreadable.
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
