//! Bytes of a WARC file, plain or compressed record by record, with recovery after damage.

use flate2::bufread::GzDecoder;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

const BUFFER: usize = 1 << 16;

/// First bytes of a zstd frame that holds the dictionary of the frames after it.
pub(crate) const DICTIONARY: [u8; 4] = [0x5d, 0x2a, 0x4d, 0x18];

/// Most bytes of a dictionary.
const MAX_DICTIONARY: u64 = 16 << 20;

/// First bytes of a gzip member: magic number and the only compression method.
const MEMBER: [u8; 3] = [0x1f, 0x8b, 8];

/// A file as a sequence of members; a plain file is a single member. Reading ends at the end of each member.
pub(super) struct Stream<R: Read + Seek> {
    source: Source<R>,
    buffer: Vec<u8>,
    at: usize,
    /// Start of the current member in the file.
    member: u64,
    /// Bytes read from a plain file, less those in the buffer.
    plain_at: u64,
    /// Bytes other than padding that the search for a member has skipped.
    skipped: u64,
}

enum Source<R: Read + Seek> {
    Plain(BufReader<R>),
    Member(Box<GzDecoder<BufReader<R>>>),
    /// All frames of a zstd file, read as one; reading cannot continue after damage.
    Zstd(Box<zstd::stream::read::Decoder<'static, BufReader<R>>>),
    /// State between two members.
    None,
}

impl<R: Read + Seek> Stream<R> {
    /// Reads a file from its current position, which must be the start of a member or of a plain record.
    pub(super) fn new(mut file: R) -> io::Result<Self> {
        let start = file.stream_position()?;
        let mut raw = BufReader::with_capacity(BUFFER, file);
        let head = raw.fill_buf()?;
        let source = if head.starts_with(&MEMBER[..2]) {
            Source::Member(Box::new(GzDecoder::new(raw)))
        } else if head.starts_with(&crate::ZSTD) {
            Source::Zstd(Box::new(zstd::stream::read::Decoder::with_buffer(raw)?))
        } else if head.starts_with(&DICTIONARY) {
            let dictionary = dictionary(&mut raw)?;
            Source::Zstd(Box::new(zstd::stream::read::Decoder::with_dictionary(raw, &dictionary)?))
        } else {
            Source::Plain(raw)
        };
        Ok(Self { source, buffer: Vec::new(), at: 0, member: start, plain_at: start, skipped: 0 })
    }

    /// Returns true if the file is not compressed.
    pub(super) const fn is_plain(&self) -> bool {
        matches!(self.source, Source::Plain(_))
    }

    /// Returns true if the file is compressed by zstd.
    pub(super) const fn is_zstd(&self) -> bool {
        matches!(self.source, Source::Zstd(_))
    }

    /// Start of the current member in the file.
    pub(super) const fn member(&self) -> u64 {
        self.member
    }

    /// Position of the next byte, if reading can resume there.
    pub(super) fn position(&self) -> Option<u64> {
        matches!(self.source, Source::Plain(_)).then_some(self.plain_at + self.at as u64)
    }

    /// Goes back to a [`position`](Self::position).
    pub(super) fn go_back(&mut self, position: u64) -> io::Result<()> {
        if let Source::Plain(raw) = &mut self.source {
            raw.seek(SeekFrom::Start(position))?;
            self.buffer.clear();
            (self.at, self.plain_at) = (0, position);
        }
        Ok(())
    }

    /// Returns the number of bytes that the last search has skipped, without padding.
    pub(super) const fn take_skipped(&mut self) -> u64 {
        std::mem::replace(&mut self.skipped, 0)
    }

    /// Moves to the next member; returns true if there is one. Skips bytes between members.
    pub(super) fn next_member(&mut self) -> io::Result<bool> {
        match std::mem::replace(&mut self.source, Source::None) {
            Source::Member(decoder) => self.find_member(decoder.into_inner()),
            other => {
                self.source = other;
                Ok(false)
            }
        }
    }

    /// Searches after damage for a member that begins after the start of the damaged one.
    pub(super) fn recover(&mut self) -> io::Result<bool> {
        match std::mem::replace(&mut self.source, Source::None) {
            Source::Member(decoder) => {
                let mut raw = decoder.into_inner();
                raw.seek(SeekFrom::Start(self.member + 1))?;
                let found = self.find_member(raw);
                // they belong to the known damage
                self.skipped = 0;
                found
            }
            // a plain file that cannot be read is not damaged, but lost
            _ => Ok(false),
        }
    }

    fn find_member(&mut self, mut raw: BufReader<R>) -> io::Result<bool> {
        self.buffer.clear();
        self.at = 0;
        let mut matched = 0;
        loop {
            let available = raw.fill_buf()?;
            if available.is_empty() {
                return Ok(false);
            }
            let mut used = 0;
            for byte in available {
                used += 1;
                self.skipped += u64::from(!matches!(byte, 0 | b'\r' | b'\n'));
                matched = if MEMBER.get(matched) == Some(byte) {
                    matched + 1
                } else {
                    usize::from(*byte == MEMBER[0])
                };
                if matched == MEMBER.len() {
                    break;
                }
            }
            raw.consume(used);
            if matched == MEMBER.len() {
                let start = raw.stream_position()? - MEMBER.len() as u64;
                // nearly always within the buffer, so that nothing is read twice
                raw.seek_relative(-3)?;
                self.member = start;
                self.skipped = self.skipped.saturating_sub(MEMBER.len() as u64);
                self.source = Source::Member(Box::new(GzDecoder::new(raw)));
                return Ok(true);
            }
        }
    }
}

/// The dictionary in the first frame of a zstd file, which may be compressed itself.
fn dictionary(raw: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut head = [0; 8];
    raw.read_exact(&mut head)?;
    let [.., a, b, c, d] = head;
    let length = u64::from(u32::from_le_bytes([a, b, c, d]));
    if length > MAX_DICTIONARY {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the dictionary is too large"));
    }
    let mut dictionary = Vec::new();
    raw.take(length).read_to_end(&mut dictionary)?;
    if dictionary.starts_with(&crate::ZSTD) {
        let mut unpacked = Vec::new();
        let decoder = zstd::stream::read::Decoder::new(&*dictionary)?;
        decoder.take(MAX_DICTIONARY).read_to_end(&mut unpacked)?;
        return Ok(unpacked);
    }
    Ok(dictionary)
}

impl<R: Read + Seek> Read for Stream<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let n = available.len().min(out.len());
        if let (Some(to), Some(from)) = (out.get_mut(..n), available.get(..n)) {
            to.copy_from_slice(from);
        }
        self.consume(n);
        Ok(n)
    }
}

impl<R: Read + Seek> BufRead for Stream<R> {
    /// Empty at the end of a member.
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at >= self.buffer.len() {
            self.plain_at += self.buffer.len() as u64;
            self.at = 0;
            self.buffer.resize(BUFFER, 0);
            let read = match &mut self.source {
                Source::Plain(raw) => raw.read(&mut self.buffer),
                Source::Member(decoder) => decoder.read(&mut self.buffer),
                Source::Zstd(decoder) => decoder.read(&mut self.buffer),
                Source::None => Ok(0),
            };
            self.buffer.truncate(*read.as_ref().unwrap_or(&0));
            read?;
        }
        Ok(self.buffer.get(self.at..).unwrap_or_default())
    }

    fn consume(&mut self, n: usize) {
        self.at = (self.at + n).min(self.buffer.len());
    }
}
