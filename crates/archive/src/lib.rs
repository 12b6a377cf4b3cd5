//! Documents of web archives and data files, one at a time and in order.
//!
//! A file is read as a stream: one record is in memory, at most [`ReadOptions::max_record`] long. An
//! unreadable record is an [`Item`], and reading continues after it. This crate also writes WARC files and
//! Parquet tables.

mod cell;
mod columns;
mod date;
mod document;
mod error;
mod inputs;
mod jsonl;
mod lines;
mod pages;
mod parquet_bounds;
mod parquet_pages;
mod parquet_read;
mod parquet_rows;
mod parquet_structs;
mod parquet_write;
mod table;
mod warc;

pub use cell::guard_cell;
pub use document::{ArchivedResponse, Body, Document, Item};
pub use error::{ArchiveError, RecordError};
pub use inputs::{Format, expand};
pub use lines::{Line, next_line, replace_lone_surrogates, skip_byte_order_mark};
pub use pages::{ArchiveKind, Archived, Revisits, read_pages, resolve_revisits};
pub use parquet_write::{Column, ColumnKind, ParquetFile, ParquetTable, Value};
pub use warc::{
    Leftover, NewRecord, Unsynced, WarcFiles, WarcReader, WarcRecord, digest, parse_record_id, record_id,
    request_head, response_head,
};

use flate2::bufread::MultiGzDecoder;
use std::{
    fs::File,
    io::{self, BufRead, BufReader},
    ops::ControlFlow,
    path::Path,
};

/// Maximum bytes of one record of a corpus, uncompressed. It is that of a body in a crawl, and each thread holds
/// some records at a time.
pub const MAX_RECORD_BYTES: usize = 8 << 20;

/// Options of reading files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// Most bytes of a record, uncompressed.
    pub max_record: usize,
    /// Keeps the JSONL line of each document, for rewriting it.
    pub keep_lines: bool,
}

/// Reads a file and passes each record to `each`, until that stops it. The name sets the format
/// ([`Format::of`]); the first bytes reveal compression.
///
/// # Errors
/// When the file cannot be opened. Later errors are [`Item::Unreadable`].
pub fn read_file(
    path: &Path,
    options: &ReadOptions,
    each: &mut dyn FnMut(Item) -> ControlFlow<()>,
) -> Result<(), ArchiveError> {
    let fail = |error| ArchiveError::Io { path: path.to_owned(), error };
    let file = File::open(path).map_err(fail)?;
    let name = path.display().to_string();
    let mut number = 0;
    let mut named = |item: Item| {
        number += 1;
        each(match item {
            Item::Document(mut document) => {
                if document.id.is_empty() {
                    document.id = format!("{name}#{number}");
                }
                document.date = date::normalized(&document.date);
                Item::Document(document)
            }
            item => item,
        })
    };
    // `each` decides when to stop, and nothing remains to do then
    let _ = match Format::of(path) {
        Format::Warc => warc::read(file, options, &mut named).map_err(fail)?,
        Format::Parquet => parquet_read::read(file, options.max_record, &mut named),
        Format::Jsonl => jsonl::read(&mut *unpacked(file).map_err(fail)?, options, &mut named),
        Format::Csv => table::read(&mut *unpacked(file).map_err(fail)?, options, &mut named),
    };
    Ok(())
}

/// First bytes of a zstd frame (RFC 8878 §3.1.1).
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The file's bytes, decompressed if necessary.
fn unpacked(file: File) -> io::Result<Box<dyn BufRead>> {
    let mut raw = BufReader::with_capacity(1 << 18, file);
    if raw.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        Ok(Box::new(BufReader::with_capacity(1 << 18, MultiGzDecoder::new(raw))))
    } else if raw.fill_buf()?.starts_with(&ZSTD) {
        Ok(Box::new(BufReader::with_capacity(1 << 18, zstd::stream::read::Decoder::with_buffer(raw)?)))
    } else {
        Ok(Box::new(raw))
    }
}

/// Converts an error of reading.
fn read_error(error: &io::Error) -> RecordError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => RecordError::Truncated,
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => RecordError::Gzip(error.to_string()),
        _ => RecordError::Io(error.to_string()),
    }
}
