//! Documents out of web archives and data files, one at a time and in their order.
//!
//! A file is read as a stream: what is in memory is one record, never longer than [`ReadOptions::max_record`]. A record
//! that cannot be read is an [`Item`] like others, and reading goes on behind it. WARC files and Parquet tables are written here
//! as well.

mod cell;
mod columns;
mod date;
mod document;
mod error;
mod inputs;
mod jsonl;
mod lines;
mod parquet_bounds;
mod parquet_pages;
mod parquet_read;
mod parquet_structs;
mod parquet_write;
mod table;
mod warc;

pub use cell::guard_cell;
pub use document::{Body, Document, Item};
pub use error::{ArchiveError, RecordError};
pub use inputs::{Format, expand};
pub use lines::{Line, next_line};
pub use parquet_write::{Column, ColumnKind, ParquetFile, ParquetTable, Value};
pub use warc::{
    Leftover, NewRecord, WarcFiles, WarcReader, WarcRecord, digest, parse_record_id, record_id, request_head,
    response_head,
};

use flate2::bufread::MultiGzDecoder;
use std::{
    fs::File,
    io::{self, BufRead, BufReader},
    ops::ControlFlow,
    path::Path,
};

/// How files are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// Most bytes of a record, uncompressed.
    pub max_record: usize,
    /// Keep the line that a document of a JSONL stood in, for those who write it again.
    pub keep_lines: bool,
}

/// Reads a file and hands each record to `each`, until that asks to stop. The format is that of the file's name
/// ([`Format::of`]); whether it is compressed is seen from its first bytes.
///
/// # Errors
/// When the file cannot be opened. What goes wrong later is an [`Item::Unreadable`].
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
    // `each` says when to stop, and nobody here has more to do then
    let _ = match Format::of(path) {
        Format::Warc => warc::read(file, options, &mut named).map_err(fail)?,
        Format::Parquet => parquet_read::read(file, options.max_record, &mut named),
        Format::Jsonl => jsonl::read(&mut *unpacked(file).map_err(fail)?, options, &mut named),
        Format::Csv => table::read(&mut *unpacked(file).map_err(fail)?, options, &mut named),
    };
    Ok(())
}

/// How a zstd frame begins (RFC 8878 §3.1.1).
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The file's bytes, or what they are compressed from.
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

/// What an error of reading says about the file.
fn read_error(error: &io::Error) -> RecordError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => RecordError::Truncated,
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => RecordError::Gzip(error.to_string()),
        _ => RecordError::Io(error.to_string()),
    }
}
