//! WARC 1.0 and 1.1 (ISO 28500), and WET, which is WARC with records of the type `conversion`.

mod document;
mod files;
mod http;
mod salvage;
mod stream;
mod write;

pub use files::{Leftover, Unsynced, WarcFiles};
pub use write::{NewRecord, digest, parse_record_id, record_id, request_head, response_head};

use crate::{
    Item, ReadOptions, RecordError,
    lines::{Line, next_line},
    read_error,
};
pub(crate) use document::{is_no_page, of as document};
use std::{
    io::{BufRead, Read, Seek},
    ops::ControlFlow,
};
pub(crate) use stream::DICTIONARY;
use stream::Stream;

/// Maximum bytes of a header line, and of a whole header.
const HEADER_LINE: usize = 1 << 16;
const HEADER: usize = 1 << 18;

/// Characters shown of a line that is no header.
const EXCERPT: usize = 60;

/// A record of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WarcRecord {
    /// Header fields in order; names as written.
    pub headers: Vec<(String, String)>,
    /// Block: for a response the whole HTTP message.
    pub block: Vec<u8>,
}

impl WarcRecord {
    /// Value of a header field, ignoring case; empty if there is none.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value.as_str())
    }

    /// `WARC-Type`: `response`, `conversion`, `request`, …
    #[must_use]
    pub fn record_type(&self) -> &str {
        self.header("WARC-Type")
    }

    /// `WARC-Target-URI`, without the angle brackets of old wget versions, with spaces as `%20`.
    #[must_use]
    pub fn target_uri(&self) -> String {
        self.header("WARC-Target-URI").trim_start_matches('<').trim_end_matches('>').replace(' ', "%20")
    }

    /// Payload: the decoded body of an HTTP message, or the block of other records.
    ///
    /// # Errors
    /// When the block is no HTTP message despite its type, or its encoding is invalid, or the result is
    /// longer than `most` bytes.
    pub fn payload(&self, most: usize) -> Result<Vec<u8>, RecordError> {
        if !self.is_http() {
            return Ok(self.block.clone());
        }
        http::Message::parse(&self.block)?.payload(most)
    }

    /// First value of a field of the HTTP message; empty if there is none.
    #[must_use]
    pub fn http_field(&self, name: &str) -> String {
        self.http_fields(name).into_iter().next().unwrap_or_default()
    }

    /// All values of a field of the HTTP message.
    #[must_use]
    pub fn http_fields(&self, name: &str) -> Vec<String> {
        let message = Some(&self.block).filter(|_| self.is_http()).and_then(|b| http::Message::parse(b).ok());
        message.map(|message| message.fields(name)).unwrap_or_default()
    }

    /// Encoded body of the HTTP message.
    #[must_use]
    pub fn http_body(&self) -> &[u8] {
        let message = Some(&self.block).filter(|_| self.is_http()).and_then(|b| http::Message::parse(b).ok());
        message.map(|message| message.body()).unwrap_or_default()
    }

    /// Returns false if the record has a SHA-256 digest of its block that does not match.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        let named = self.header("WARC-Block-Digest");
        !named.starts_with("sha256:") || named == digest(&[&self.block])
    }

    /// Returns true for a rendered page, a successful response with a page, and one that refers to an earlier payload.
    #[must_use]
    pub fn is_page(&self) -> bool {
        match self.record_type() {
            "resource" => true,
            "response" | "revisit" => !self.http_field("content-type").is_empty() && !is_no_page(self),
            _ => false,
        }
    }

    fn is_http(&self) -> bool {
        let declared = self.header("Content-Type").to_ascii_lowercase();
        declared.starts_with("application/http")
            && matches!(self.record_type(), "response" | "request" | "revisit")
    }
}

/// Reads the records of a WARC file in order.
///
/// Reading continues after damage: after a record that is damaged, truncated or invalid, the reader searches
/// for the next header. In a compressed file it searches for the next gzip member.
pub struct WarcReader<R: Read + Seek> {
    stream: Stream<R>,
    max_record: usize,
    line: Vec<u8>,
    /// True while the rest of an unreadable record is skipped.
    lost: bool,
    ended: bool,
    /// Offset of the current record's member in the file.
    offset: u64,
}

impl<R: Read + Seek> WarcReader<R> {
    /// Creates a reader of a file, plain or gzip, with at most `max_record` bytes of a record in memory.
    ///
    /// # Errors
    /// When the first bytes cannot be read.
    pub fn new(file: R, max_record: usize) -> std::io::Result<Self> {
        Ok(Self {
            stream: Stream::new(file)?,
            max_record,
            line: Vec::new(),
            lost: false,
            ended: false,
            offset: 0,
        })
    }

    /// Offset of the last record, in a plain file or one with a gzip member per record: reading can start
    /// there.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Place of the last record or damage, for messages.
    #[must_use]
    pub fn place(&self) -> String {
        match (self.stream.is_plain(), self.offset) {
            (true, offset) => format!("at byte {offset}"),
            (false, 0) => "in the compressed data that begins at byte 0".to_owned(),
            (false, offset) => format!("in the compressed member at byte {offset}"),
        }
    }

    /// Continues after unreadable bytes, or ends if nothing follows.
    fn give_up(&mut self, error: RecordError) -> RecordError {
        self.lost = false;
        self.ended = !self.stream.recover().unwrap_or(false);
        error
    }

    fn next_member(&mut self) -> Result<bool, RecordError> {
        match self.stream.next_member() {
            Ok(found) => {
                self.lost &= !found;
                self.ended |= !found;
                self.offset = self.stream.member();
                match self.stream.take_skipped() {
                    0 => Ok(found),
                    bytes => Err(RecordError::Gzip(format!("{bytes} bytes between members"))),
                }
            }
            Err(e) => Err(self.give_up(read_error(&e))),
        }
    }

    /// Reads up to the first line of a record; returns `false` at the end of the file. Other bytes before it
    /// are one error.
    fn find_record(&mut self) -> Result<bool, RecordError> {
        loop {
            match next_line(&mut self.stream, &mut self.line, HEADER_LINE) {
                Err(e) => return Err(self.give_up(read_error(&e))),
                Ok(Line::End) if self.next_member()? => {}
                Ok(Line::End) => return Ok(false),
                Ok(Line::Whole) if self.line.starts_with(b"WARC/") => {
                    self.lost = false;
                    let behind = self.line.len() as u64 + 1;
                    let start = self.stream.position().map(|position| position.saturating_sub(behind));
                    self.offset = start.unwrap_or_else(|| self.stream.member());
                    return Ok(true);
                }
                Ok(Line::Whole) if self.lost || self.line.trim_ascii().is_empty() => {}
                Ok(Line::TooLong) if self.lost => {}
                Ok(Line::Whole | Line::TooLong) => {
                    self.lost = true;
                    let line = String::from_utf8_lossy(&self.line);
                    return Err(RecordError::NoHeader(line.trim().chars().take(EXCERPT).collect()));
                }
            }
        }
    }

    fn headers(&mut self) -> Result<Vec<(String, String)>, RecordError> {
        let mut headers: Vec<(String, String)> = Vec::new();
        let mut bytes = 0;
        loop {
            match next_line(&mut self.stream, &mut self.line, HEADER_LINE) {
                Err(e) => return Err(self.give_up(read_error(&e))),
                Ok(Line::End) => return Err(RecordError::Truncated),
                Ok(Line::TooLong) => return Err(self.skip_record("a line is too long")),
                Ok(Line::Whole) => {}
            }
            bytes += self.line.len();
            if bytes > HEADER {
                return Err(self.skip_record("it is too long"));
            }
            let line = String::from_utf8_lossy(&self.line);
            let text = line.trim_end();
            if text.is_empty() {
                return Ok(headers);
            }
            match (text.split_once(':'), headers.last_mut()) {
                (_, Some((_, value))) if text.starts_with([' ', '\t']) => {
                    value.push(' ');
                    value.push_str(text.trim());
                }
                (Some((name, value)), _) => headers.push((name.trim().to_owned(), value.trim().to_owned())),
                (None, _) => {
                    let problem = format!("no field: {:?}", text.chars().take(EXCERPT).collect::<String>());
                    return Err(self.skip_record(&problem));
                }
            }
        }
    }

    /// Gives up the current record: its following bytes are skipped.
    fn skip_record(&mut self, problem: &str) -> RecordError {
        self.lost = true;
        RecordError::Header(problem.to_owned())
    }

    fn record(&mut self) -> Result<WarcRecord, RecordError> {
        let headers = self.headers()?;
        let mut record = WarcRecord { headers, block: Vec::new() };
        let Ok(length) = record.header("Content-Length").parse::<u64>() else {
            return Err(self.skip_record("Content-Length is missing or no number"));
        };
        let start = self.stream.position();
        let keep = length <= self.max_record as u64;
        let mut missing = length;
        while missing > 0 {
            let available = match self.stream.fill_buf() {
                Ok(available) => available,
                Err(e) => return Err(self.give_up(read_error(&e))),
            };
            if available.is_empty() {
                if self.next_member()? && !self.starts_record()? {
                    continue;
                }
                self.search_within(start);
                return Err(RecordError::Truncated);
            }
            let n = available.len().min(usize::try_from(missing).unwrap_or(usize::MAX));
            if keep {
                record.block.extend_from_slice(available.get(..n).unwrap_or_default());
            }
            self.stream.consume(n);
            missing -= n as u64;
        }
        self.end_of_record()?;
        if keep { Ok(record) } else { Err(RecordError::TooLarge(self.max_record as u64)) }
    }

    /// Skips the empty lines after a record. If its member ends there too, the member's checksum is compared.
    fn end_of_record(&mut self) -> Result<(), RecordError> {
        for byte in *b"\r\n\r\n" {
            let next = self.stream.fill_buf().map(|available| available.first().copied());
            match next {
                Ok(Some(found)) if found == byte => self.stream.consume(1),
                Ok(_) => return Ok(()),
                Err(e) => return Err(self.give_up(read_error(&e))),
            }
        }
        if self.stream.is_zstd() {
            // the bytes after the record are of another frame, whose damage is not its own
            return Ok(());
        }
        let end = self.stream.fill_buf().map(|_| ());
        end.map_err(|e| self.give_up(read_error(&e)))
    }

    fn starts_record(&mut self) -> Result<bool, RecordError> {
        match self.stream.fill_buf() {
            Ok(available) => Ok(available.starts_with(b"WARC/")),
            Err(e) => Err(self.give_up(read_error(&e))),
        }
    }

    /// Searches within a record that extends beyond the file's end. Its length may be wrong, so other records
    /// may be inside.
    fn search_within(&mut self, start: Option<u64>) {
        if let Some(start) = start {
            self.ended = self.stream.go_back(start).is_err();
            self.lost = true;
        }
    }
}

impl<R: Read + Seek> Iterator for WarcReader<R> {
    type Item = Result<WarcRecord, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        if let Some(position) = self.stream.position() {
            self.offset = position;
        }
        match self.find_record() {
            Ok(true) => Some(self.record()),
            Ok(false) => {
                self.ended = true;
                None
            }
            Err(e) => Some(Err(e)),
        }
    }
}

/// Passes the documents of a file to `each`.
pub(crate) fn read<R: Read + Seek>(
    file: R,
    options: &ReadOptions,
    each: &mut dyn FnMut(Item) -> ControlFlow<()>,
) -> std::io::Result<ControlFlow<()>> {
    for (number, record) in (1..).zip(WarcReader::new(file, options.max_record)?) {
        let item = match record.and_then(|record| document::of(record, options.max_record)) {
            Ok(Some(document)) => Item::Document(document),
            Ok(None) => Item::Skipped,
            Err(error) => Item::Unreadable { number, error },
        };
        if each(item).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}
