//! Pages of web archives of any program: WARC, plain or compressed, and WACZ.

mod revisits;
mod wacz;

pub use revisits::Revisits;

use crate::{
    Body, Document, RecordError, WarcReader, ZSTD, read_error,
    warc::{self, DICTIONARY},
};
use flate2::read::GzDecoder;
use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    ops::ControlFlow,
};

/// First bytes of a record.
const RECORD: &[u8] = b"WARC/";
/// First bytes of a zip file.
const ZIP: &[u8] = b"PK\x03\x04";

/// Formats of web archives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArchiveKind {
    /// WARC 1.0 or 1.1: plain, gzip by record or as a whole, zstd.
    Warc,
    /// WACZ: a zip file with WARC files in `archive/`.
    Wacz,
}

impl ArchiveKind {
    /// Finds the format by the content; none for other files. The file is at its start afterwards.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn of(file: &mut File) -> io::Result<Option<Self>> {
        let mut head = Vec::new();
        file.seek(SeekFrom::Start(0))?;
        file.by_ref().take(4096).read_to_end(&mut head)?;
        file.seek(SeekFrom::Start(0))?;
        let kind = match Self::of_head(&head) {
            Some(Self::Wacz) => wacz::is_one(file).then_some(Self::Wacz),
            // its first block may be longer than the head
            None if head.starts_with(&ZSTD) => {
                zstd::stream::read::Decoder::new(&*file).is_ok_and(begins_record).then_some(Self::Warc)
            }
            kind => kind,
        };
        file.seek(SeekFrom::Start(0))?;
        Ok(kind)
    }

    /// Finds the format by the first bytes. Any zip file may be a WACZ, and a zstd file may need more bytes.
    #[must_use]
    pub fn of_head(head: &[u8]) -> Option<Self> {
        let is_packed = || head.starts_with(&[0x1f, 0x8b]) && begins_record(GzDecoder::new(head));
        if head.starts_with(RECORD) || head.starts_with(&DICTIONARY) || is_packed() {
            return Some(Self::Warc);
        }
        head.starts_with(ZIP).then_some(Self::Wacz)
    }
}

fn begins_record(mut unpacked: impl Read) -> bool {
    let mut head = [0; RECORD.len()];
    unpacked.read_exact(&mut head).is_ok() && head == *RECORD
}

/// A thing that an archive holds.
#[derive(Debug)]
pub enum Archived {
    /// A page with its bytes.
    Page(Document),
    /// A capture without its body, which is not in this file.
    Bodiless {
        /// Address of the page.
        url: String,
    },
    /// A part that cannot be read.
    Unreadable {
        /// Number of the record, and its place in the file.
        place: String,
        /// Reason.
        error: RecordError,
    },
}

/// Passes each page of an archive to `each`, until that stops it. A revisit is the page that it refers to, with the time of
/// the revisit. One whose page is not in its WARC file is added to `revisits`, for [`resolve_revisits`].
///
/// # Errors
/// When the file cannot be read at all, or no temporary file can be written.
pub fn read_pages(
    kind: ArchiveKind,
    file: File,
    most: usize,
    revisits: &mut Revisits,
    each: &mut dyn FnMut(Archived) -> ControlFlow<()>,
) -> io::Result<()> {
    match kind {
        ArchiveKind::Warc => of_warc(file, most, "", revisits, each).map(drop),
        ArchiveKind::Wacz => wacz::read(file, most, revisits, each),
    }
}

/// Passes the pages of `revisits` that an archive has to `each`, until that stops it.
///
/// # Errors
/// When the file cannot be read at all, or no temporary file can be written.
pub fn resolve_revisits(
    kind: ArchiveKind,
    file: File,
    most: usize,
    revisits: &mut Revisits,
    each: &mut dyn FnMut(Archived) -> ControlFlow<()>,
) -> io::Result<()> {
    match kind {
        ArchiveKind::Warc => revisits.resolve(file, most, each).map(drop),
        ArchiveKind::Wacz => wacz::resolve(file, most, revisits, each),
    }
}

/// Returns true for a robots.txt, which crawlers keep beside the pages.
fn is_robots(url: &str) -> bool {
    url.split_once("://")
        .and_then(|(_, rest)| rest.split_once('/'))
        .is_some_and(|(_, path)| path == "robots.txt")
}

/// The pages of a WARC file. `inside` precedes positions in messages.
fn of_warc(
    mut file: File,
    most: usize,
    inside: &str,
    revisits: &mut Revisits,
    each: &mut dyn FnMut(Archived) -> ControlFlow<()>,
) -> io::Result<ControlFlow<()>> {
    let start = file.stream_position()?;
    let mut again = file.try_clone()?;
    let mut has_revisits = false;
    let mut reader = match WarcReader::new(file, most) {
        Ok(reader) => reader,
        Err(e) => {
            let place = format!("{inside}the first bytes");
            return Ok(each(Archived::Unreadable { place, error: read_error(&e) }));
        }
    };
    for number in 1_u64.. {
        let Some(record) = reader.next() else { break };
        let found = match record {
            Ok(record) if record.record_type() == "revisit" => {
                has_revisits = true;
                let noted = revisits.note(&record);
                if noted.is_err_and(|url| each(Archived::Bodiless { url }).is_break()) {
                    return Ok(ControlFlow::Break(()));
                }
                continue;
            }
            Ok(record) => warc::document(record, most),
            Err(error) => Err(error),
        };
        let item = match found {
            Ok(Some(document)) if !is_robots(&document.url) => Archived::Page(document),
            Ok(_) => continue,
            Err(error) => {
                let place = format!("{inside}record {number}, {}", reader.place());
                Archived::Unreadable { place, error }
            }
        };
        if each(item).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    if !has_revisits {
        return Ok(ControlFlow::Continue(()));
    }
    again.seek(SeekFrom::Start(start))?;
    revisits.resolve(again, most, each)
}

impl Body {
    /// Its bytes; those of a text are UTF-8.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.into_bytes(),
            Self::Html(bytes) => bytes,
        }
    }
}
