//! Documents out of web archives and data files, one at a time and in their order.
//!
//! A file is read as a stream: what is in memory is one record, never longer than [`ReadOptions::max_record`]. A record
//! that cannot be read is an [`Item`] like others, and reading goes on behind it.

mod document;
mod error;
mod inputs;
mod jsonl;
mod lines;

pub use document::{Body, Document, Item};
pub use error::{ArchiveError, RecordError};
pub use inputs::{Format, expand};

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
            Item::Document(mut document) if document.id.is_empty() => {
                document.id = format!("{name}#{number}");
                Item::Document(document)
            }
            item => item,
        })
    };
    let mut raw = BufReader::with_capacity(1 << 18, file);
    let compressed = raw.fill_buf().map_err(fail)?.starts_with(&[0x1f, 0x8b]);
    let mut plain: Box<dyn BufRead> = if compressed {
        Box::new(BufReader::with_capacity(1 << 18, MultiGzDecoder::new(raw)))
    } else {
        Box::new(raw)
    };
    let _ = match Format::of(path) {
        Format::Jsonl => jsonl::read(&mut *plain, options, &mut named),
    };
    Ok(())
}

/// What an error of reading says about the file.
fn read_error(error: &io::Error) -> RecordError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => RecordError::Truncated,
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => RecordError::Gzip(error.to_string()),
        _ => RecordError::Io(error.to_string()),
    }
}
