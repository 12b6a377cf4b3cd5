//! Records as they are written: WARC 1.1 (ISO 28500:2017), each a gzip member of its own (Annex D.2).

use flate2::{Compression, Crc, write::GzEncoder};
use sha2::{Digest, Sha256};
use std::io::{self, Write};
use uuid::Uuid;

/// Of gzip. Manuals shrink to a quarter with it; level 3 takes twice the time for a fifth less.
const LEVEL: u32 = 1;
/// A shorter block is not compressed: making the compressor ready takes longer than all else about it.
const STORED: usize = 2 << 10;

/// A record to be written.
///
/// Its block is `head` followed by `payload`: of an HTTP message the first line with the fields and the empty line behind
/// them, and the body; of other records the head is empty.
#[derive(Clone, Debug, Default)]
pub struct NewRecord<'a> {
    /// `WARC-Type`: `response`, `request`, …
    pub kind: &'a str,
    /// `WARC-Record-ID`.
    pub id: Uuid,
    /// `WARC-Date`, as `2026-05-01T12:00:00.000Z`.
    pub date: &'a str,
    /// `WARC-Target-URI`; empty for none.
    pub target_uri: &'a str,
    /// `Content-Type` of the block; empty for none.
    pub content_type: &'a str,
    /// `WARC-Payload-Digest`; empty for none.
    pub payload_digest: &'a str,
    /// Further fields.
    pub fields: &'a [(&'a str, &'a str)],
    /// See above.
    pub head: &'a [u8],
    /// See above.
    pub payload: &'a [u8],
}

impl NewRecord<'_> {
    /// The record as a gzip member.
    ///
    /// # Errors
    /// None that are known: memory takes everything.
    pub fn member(&self) -> io::Result<Vec<u8>> {
        let fields = self.fields_text();
        if self.head.len() + self.payload.len() < STORED {
            return Ok(stored(&[fields.as_bytes(), self.head, self.payload, b"\r\n\r\n"]));
        }
        let out = Vec::with_capacity(self.payload.len() / 3 + 1024);
        let mut out = GzEncoder::new(out, Compression::new(LEVEL));
        out.write_all(fields.as_bytes())?;
        out.write_all(self.head)?;
        out.write_all(self.payload)?;
        out.write_all(b"\r\n\r\n")?;
        out.finish()
    }

    fn fields_text(&self) -> String {
        let mut text = String::with_capacity(1024);
        text.push_str("WARC/1.1\r\n");
        let mut field = |name: &str, value: &str| {
            if !value.is_empty() {
                text.push_str(name);
                text.push_str(": ");
                text.push_str(&clean(value));
                text.push_str("\r\n");
            }
        };
        field("WARC-Type", self.kind);
        field("WARC-Record-ID", &record_id(self.id));
        field("WARC-Date", self.date);
        field("WARC-Target-URI", self.target_uri);
        for (name, value) in self.fields {
            field(name, value);
        }
        field("WARC-Payload-Digest", self.payload_digest);
        field("WARC-Block-Digest", &digest(&[self.head, self.payload]));
        field("Content-Type", self.content_type);
        field("Content-Length", &(self.head.len() + self.payload.len()).to_string());
        text.push_str("\r\n");
        text
    }
}

/// A gzip member (RFC 1952 §2.3) of blocks that are not compressed (RFC 1951 §3.2.4).
fn stored(parts: &[&[u8]]) -> Vec<u8> {
    const MOST: usize = 0xffff;
    let bytes = parts.concat();
    // magic, deflate, no flags, no time, no level, unknown system
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let mut blocks = bytes.chunks(MOST).peekable();
    while let Some(block) = blocks.next() {
        out.push(u8::from(blocks.peek().is_none()));
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend_from_slice(block);
    }
    let mut sum = Crc::new();
    sum.update(&bytes);
    out.extend(sum.sum().to_le_bytes());
    out.extend(sum.amount().to_le_bytes());
    out
}

/// A value on one line: control characters would end it, or begin another.
fn clean(value: &str) -> String {
    value.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>().trim().to_owned()
}

/// An id as records write it.
#[must_use]
pub fn record_id(id: Uuid) -> String {
    format!("<urn:uuid:{id}>")
}

/// The id that a record's field names.
#[must_use]
pub fn parse_record_id(field: &str) -> Option<Uuid> {
    let urn = field.trim().trim_start_matches('<').trim_end_matches('>');
    Uuid::try_parse(urn.strip_prefix("urn:uuid:")?).ok()
}

/// SHA-256 of bytes that follow each other, as `sha256:` and base 32 (RFC 4648 §6). Not SHA-1, for which two pages with one
/// digest can be made: a site could then have one of them archived as a revisit of the other.
#[must_use]
pub fn digest(parts: &[&[u8]]) -> String {
    const DIGITS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let mut hasher = Sha256::new();
    parts.iter().for_each(|part| hasher.update(part));
    let mut out = String::from("sha256:");
    for group in hasher.finalize().chunks(5) {
        let mut bits = [0_u8; 8];
        for (to, from) in bits.iter_mut().skip(3).zip(group) {
            *to = *from;
        }
        let bits = u64::from_be_bytes(bits);
        // of the last group one byte is missing, and so is its last digit and a half
        let digits = (group.len() * 8).div_ceil(5);
        for digit in 0..8 {
            let at = usize::try_from(bits >> (35 - 5 * digit) & 31).unwrap_or(0);
            out.push(if digit < digits { char::from(DIGITS.get(at).copied().unwrap_or(b'A')) } else { '=' });
        }
    }
    out
}

/// First line and fields of a request.
#[must_use]
pub fn request_head(target: &str, host: &str, fields: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut head = format!("GET {} HTTP/1.1\r\nhost: {}\r\n", clean(target), clean(host)).into_bytes();
    push_fields(&mut head, fields);
    head
}

/// First line and fields of a response whose transfer coding is undone: the field that named it gets another name, as
/// Common Crawl's archives have it, so that no reader undoes it again.
#[must_use]
pub fn response_head(status: u16, reason: &str, fields: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} {}\r\n", clean(reason)).into_bytes();
    push_fields(&mut head, fields);
    head
}

fn push_fields(head: &mut Vec<u8>, fields: &[(String, Vec<u8>)]) {
    for (name, value) in fields {
        if name.eq_ignore_ascii_case("transfer-encoding") {
            head.extend_from_slice(b"x-crawler-");
        }
        head.extend_from_slice(name.as_bytes());
        head.extend_from_slice(b": ");
        head.extend(value.iter().filter(|byte| !matches!(byte, b'\r' | b'\n')));
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WarcReader;
    use proptest::prelude::*;
    use std::io::{Cursor, Read};

    #[test]
    fn digests_are_base_32() {
        // RFC 4648 §10 has only short examples; this one is of `printf '' | sha256sum` through `base32`
        assert_eq!(digest(&[]), "sha256:4OYMIQUY7QOBJGX36TEJS35ZEQT24QPEMSNZGTFESWMRW6CSXBKQ====");
        assert_eq!(digest(&[b"a", b"b"]), digest(&[b"ab"]));
    }

    #[test]
    fn what_is_short_is_stored_in_as_many_blocks_as_it_takes() {
        for length in [1, 0xffff, 0x10000, 200_000] {
            let bytes = vec![b'x'; length];
            let mut unpacked = Vec::new();
            flate2::read::GzDecoder::new(&*stored(&[&bytes])).read_to_end(&mut unpacked).unwrap();
            assert_eq!(unpacked, bytes);
        }
    }

    #[test]
    fn ids_are_read_as_written() {
        let id = Uuid::new_v4();
        assert_eq!(parse_record_id(&record_id(id)), Some(id));
        assert_eq!(parse_record_id("<urn:uuid:nonsense>"), None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            records in prop::collection::vec((any::<Vec<u8>>(), prop::collection::vec(any::<u8>(), 0..5000), "\\PC{0,20}|[\\x00-\\x7f]{0,20}"), 1..5),
        ) {
            let mut file = Vec::new();
            for (head, payload, value) in &records {
                let record = NewRecord {
                    kind: "resource",
                    id: Uuid::new_v4(),
                    date: "2026-05-01T12:00:00Z",
                    target_uri: value,
                    content_type: "application/octet-stream",
                    fields: &[("WARC-Other", value)],
                    head,
                    payload,
                    ..NewRecord::default()
                };
                file.extend(record.member().unwrap());
            }
            let read: Vec<_> = WarcReader::new(Cursor::new(file), 1 << 20).unwrap().map(Result::unwrap).collect();
            prop_assert_eq!(read.len(), records.len());
            for (read, (head, payload, value)) in read.iter().zip(&records) {
                prop_assert_eq!(&read.block, &[head.as_slice(), payload].concat());
                prop_assert_eq!(read.header("WARC-Other"), clean(value));
                prop_assert_eq!(read.header("WARC-Block-Digest"), digest(&[head, payload]));
            }
        }
    }
}
