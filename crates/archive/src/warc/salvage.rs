//! Readable members and damaged bytes of a gzip file.

use flate2::bufread::GzDecoder;
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write},
    ops::Range,
};

const BUFFER: usize = 1 << 18;

/// First bytes of a gzip member: magic number and the only compression method.
const MEMBER: [u8; 3] = [0x1f, 0x8b, 8];

/// Beginning of a record.
const RECORD: [u8; 5] = *b"WARC/";

/// Parts of a file with a gzip member per record.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Survey {
    /// Whole members, in order; adjacent ones are one range.
    pub(super) whole: Vec<Range<u64>>,
    /// Bytes outside of whole members.
    pub(super) damaged: Vec<Range<u64>>,
    /// Bytes of a truncated last member, as a killed process leaves it.
    pub(super) torn: u64,
}

impl Survey {
    /// Reads a whole file.
    pub(super) fn of(file: &File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        let mut raw = BufReader::with_capacity(BUFFER, file);
        raw.seek(SeekFrom::Start(0))?;
        let (mut survey, mut at) = (Self::default(), 0);
        while at < length {
            let member = read_member(&mut raw)?;
            if member == Member::Whole {
                let end = raw.stream_position()?;
                survey.add_whole(at..end);
                at = end;
                continue;
            }
            if let Some(next) = next_whole(&mut raw, at + 1)? {
                survey.damaged.push(at..next.start);
                at = next.end;
                survey.add_whole(next);
            } else {
                if member == Member::Torn {
                    survey.torn = length - at;
                } else {
                    survey.damaged.push(at..length);
                }
                break;
            }
        }
        Ok(survey)
    }

    fn add_whole(&mut self, member: Range<u64>) {
        match self.whole.last_mut() {
            Some(last) if last.end == member.start => last.end = member.end,
            _ => self.whole.push(member),
        }
    }
}

/// State of the member at a position.
#[derive(PartialEq, Eq)]
enum Member {
    Whole,
    /// The file ends within it.
    Torn,
    Damaged,
}

/// Reads a member, which must hold a record. After a whole one the reader is at its end.
fn read_member(raw: &mut BufReader<&File>) -> io::Result<Member> {
    let mut member = GzDecoder::new(raw);
    let mut head = [0; RECORD.len()];
    let read = member.read_exact(&mut head).and_then(|()| {
        if head == RECORD {
            io::copy(&mut member, &mut io::sink())
        } else {
            Err(io::ErrorKind::InvalidData.into())
        }
    });
    match read {
        Ok(_) => Ok(Member::Whole),
        Err(e) => match e.kind() {
            io::ErrorKind::UnexpectedEof => Ok(Member::Torn),
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => Ok(Member::Damaged),
            _ => Err(e),
        },
    }
}

/// Finds the first whole member at `from` or after it.
fn next_whole(raw: &mut BufReader<&File>, mut from: u64) -> io::Result<Option<Range<u64>>> {
    while let Some(start) = find_magic(raw, from)? {
        raw.seek(SeekFrom::Start(start))?;
        if read_member(raw)? == Member::Whole {
            return Ok(Some(start..raw.stream_position()?));
        }
        from = start + 1;
    }
    Ok(None)
}

/// Finds the first possible start of a member at `from` or after it.
fn find_magic(raw: &mut BufReader<&File>, from: u64) -> io::Result<Option<u64>> {
    raw.seek(SeekFrom::Start(from))?;
    let (mut matched, mut at) = (0, from);
    loop {
        let available = raw.fill_buf()?;
        if available.is_empty() {
            return Ok(None);
        }
        for byte in available {
            at += 1;
            matched =
                if MEMBER.get(matched) == Some(byte) { matched + 1 } else { usize::from(*byte == MEMBER[0]) };
            if matched == MEMBER.len() {
                return Ok(Some(at - MEMBER.len() as u64));
            }
        }
        let used = available.len();
        raw.consume(used);
    }
}

/// Copies parts of a file; returns the number of bytes.
pub(super) fn copy_parts(file: &File, parts: &[Range<u64>], to: &mut File) -> io::Result<u64> {
    let mut from = BufReader::with_capacity(BUFFER, file);
    let mut copied = 0;
    for part in parts {
        from.seek(SeekFrom::Start(part.start))?;
        copied += io::copy(&mut from.by_ref().take(part.end - part.start), to)?;
    }
    to.flush()?;
    Ok(copied)
}
