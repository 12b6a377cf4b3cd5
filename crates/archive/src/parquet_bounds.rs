//! Bounded view of a file for the Parquet library.
//!
//! The library skips unknown fields of Thrift structs (footer, page headers) and trusts the stated size of a
//! list. It counts up to 2³¹ elements that take no bytes, or that lie beyond the end of the file. So each
//! struct is walked here first. Every known field must have the format's type: otherwise the library would
//! read other lists than the walk.

use crate::parquet_structs::{FILE_METADATA, Fields, PAGE_HEADER, Type};
use bytes::Bytes;
use parquet::{
    errors::{ParquetError, Result},
    file::reader::{ChunkReader, Length},
};
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
};

/// Nesting that the library follows.
const MAX_DEPTH: u8 = 64;

/// Bytes after the footer: its length (4 bytes, little endian) and the magic number.
const TAIL: u64 = 8;

/// A file whose Thrift structs are checked before the library reads them.
pub(crate) struct BoundedFile(File);

impl BoundedFile {
    /// Checks the footer, if the file has one. The library reports other faults of the file.
    pub(crate) fn new(file: File) -> Result<Self> {
        let bytes = file.len();
        if bytes > TAIL {
            let tail = file.get_bytes(bytes - TAIL, TAIL as usize)?;
            let length = tail.iter().take(4).rev().fold(0, |sum, byte| (sum << 8) | u64::from(*byte));
            if let Some(start) = (bytes - TAIL).checked_sub(length) {
                check(&mut file.get_read(start)?, FILE_METADATA)?;
            }
        }
        Ok(Self(file))
    }
}

impl Length for BoundedFile {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl ChunkReader for BoundedFile {
    type T = HeaderReader;

    fn get_read(&self, start: u64) -> Result<HeaderReader> {
        let is_struct = start.saturating_add(TAIL) != self.len();
        Ok(HeaderReader { file: self.0.get_read(start)?, unchecked_at: is_struct.then_some(start) })
    }

    /// Refuses a range beyond the file's end before memory is reserved for it.
    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.len()) {
            return Err(ParquetError::EOF(format!("{length} bytes at {start} reach beyond the file")));
        }
        self.0.get_bytes(start, length)
    }
}

/// Reader of a page header, which it checks when the first byte is read.
///
/// The library also opens readers at positions without a header, and does not read from them.
pub(crate) struct HeaderReader {
    file: BufReader<File>,
    unchecked_at: Option<u64>,
}

impl Read for HeaderReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(start) = self.unchecked_at.take() {
            check(&mut self.file, PAGE_HEADER)?;
            self.file.seek(SeekFrom::Start(start))?;
        }
        let read = self.file.read(buffer)?;
        if read == 0 && !buffer.is_empty() {
            // the library treats bytes that it skips beyond the end as read
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(read)
    }
}

/// Walks a Thrift struct in the compact protocol.
///
/// Fails if lists or maps state more elements than the struct has bytes, since every element takes at least
/// one byte. Fails if a field of `fields` has another type.
fn check(input: &mut impl BufRead, fields: Fields) -> io::Result<()> {
    Walk { input, bytes: 0, elements: 0 }.fields(fields, MAX_DEPTH)
}

struct Walk<'a, R> {
    input: &'a mut R,
    /// Bytes read.
    bytes: u64,
    /// Elements of lists and maps walked.
    elements: u64,
}

impl<R: BufRead> Walk<'_, R> {
    fn fields(&mut self, known: Fields, depth: u8) -> io::Result<()> {
        let mut id = 0_i16;
        loop {
            let head = self.byte()?;
            if head & 0x0f == 0 {
                return Ok(());
            }
            id = match head >> 4 {
                0 => i16::try_from(zigzag(self.number()?)).ok(),
                difference => id.checked_add(i16::from(difference)),
            }
            .ok_or_else(|| damaged("a field's number of more than 16 bits"))?;
            let expected = known.iter().find(|(number, _)| *number == id).map(|(_, expected)| *expected);
            self.value(head & 0x0f, expected, depth)?;
        }
    }

    /// Walks a value of a type as numbered by the compact protocol.
    fn value(&mut self, kind: u8, expected: Option<Type>, depth: u8) -> io::Result<()> {
        let depth = depth.checked_sub(1).ok_or_else(|| damaged("too deeply nested"))?;
        if expected.is_some_and(|expected| !has_kind(expected, kind)) {
            return Err(damaged("a field of another type than the format's"));
        }
        match kind {
            // a boolean is its type
            1 | 2 => Ok(()),
            3 => self.skip(1),
            4..=6 => self.number().map(drop),
            7 => self.skip(8),
            8 => self.number().and_then(|length| self.skip(length)),
            9 | 10 => {
                let head = self.byte()?;
                let size = if head >> 4 == 15 { self.number()? } else { u64::from(head >> 4) };
                let expected = match expected {
                    Some(Type::List(element)) => Some(*element),
                    _ => None,
                };
                (0..size).try_for_each(|_| self.element(&[head & 0x0f], expected, depth))
            }
            11 => {
                let size = self.number()?;
                let kinds = if size > 0 { self.byte()? } else { 0 };
                (0..size).try_for_each(|_| self.element(&[kinds >> 4, kinds & 0x0f], None, depth))
            }
            12 => match expected {
                Some(Type::Struct(fields)) => self.fields(fields, depth),
                _ => self.fields(&[], depth),
            },
            13 => self.skip(16),
            _ => Err(damaged("a type that does not exist")),
        }
    }

    /// Walks an element of a list, or a key and its value.
    fn element(&mut self, kinds: &[u8], expected: Option<Type>, depth: u8) -> io::Result<()> {
        self.elements += 1;
        if self.elements > self.bytes {
            return Err(damaged("more elements than bytes"));
        }
        kinds.iter().try_for_each(|kind| self.value(*kind, expected, depth))
    }

    fn byte(&mut self) -> io::Result<u8> {
        let byte = *self.input.fill_buf()?.first().ok_or(io::ErrorKind::UnexpectedEof)?;
        self.input.consume(1);
        self.bytes += 1;
        Ok(byte)
    }

    /// Reads a number in groups of seven bits.
    fn number(&mut self) -> io::Result<u64> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(damaged("a number of more than 64 bits"))
    }

    fn skip(&mut self, count: u64) -> io::Result<()> {
        if io::copy(&mut self.input.by_ref().take(count), &mut io::sink())? < count {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.bytes += count;
        Ok(())
    }
}

/// Decodes a signed number, whose sign the compact protocol keeps in the lowest bit.
const fn zigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

/// Returns true if a type as numbered by the compact protocol is the expected one.
const fn has_kind(expected: Type, kind: u8) -> bool {
    match expected {
        Type::Bool => matches!(kind, 1 | 2),
        Type::Byte => kind == 3,
        Type::Number => matches!(kind, 4..=6),
        Type::Double => kind == 7,
        Type::Binary => kind == 8,
        Type::List(_) => matches!(kind, 9 | 10),
        Type::Struct(_) => kind == 12,
    }
}

fn damaged(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("a damaged header: {problem}"))
}
