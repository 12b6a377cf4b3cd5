//! Writer of records: WARC 1.1 (ISO 28500:2017), each a separate gzip member (Annex D.2).

use flate2::{Compress, Compression, Crc, FlushCompress, Status};
use sha2::{Digest, Sha256};
use std::{cell::RefCell, io};
use uuid::Uuid;

/// Level of gzip. It reduces manuals to a quarter; level 3 takes twice the time for a quarter less.
const LEVEL: u32 = 1;

/// A record to write.
///
/// Its block is `head` followed by `payload`. For an HTTP message these are the first line, fields and empty
/// line, and the body. For other records the head is empty.
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
    /// No known ones, since the output is memory.
    pub fn member(&self) -> io::Result<Vec<u8>> {
        let fields = self.fields_text();
        COMPRESSOR.with_borrow_mut(|compressor| {
            gzip_member(compressor, &[fields.as_bytes(), self.head, self.payload, b"\r\n\r\n"])
        })
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

/// Minimum output space of the compressor: without any it makes no progress.
const ROOM: usize = 1 << 10;

thread_local! {
    /// Compressor of this thread, about 300 KB: creating one takes longer than a short record.
    static COMPRESSOR: RefCell<Compress> = RefCell::new(Compress::new(Compression::new(LEVEL), false));
}

/// Compresses consecutive bytes to a gzip member (RFC 1952 §2.3).
fn gzip_member(compressor: &mut Compress, parts: &[&[u8]]) -> io::Result<Vec<u8>> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut out = Vec::with_capacity(length / 3 + ROOM);
    // magic, deflate, no flags, no time, fastest, unknown system
    out.extend([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255]);
    compressor.reset();
    let mut sum = Crc::new();
    for part in parts {
        sum.update(part);
        let mut left = *part;
        while !left.is_empty() {
            let before = compressor.total_in();
            out.reserve(ROOM);
            compressor.compress_vec(left, &mut out, FlushCompress::None)?;
            let taken = usize::try_from(compressor.total_in() - before).unwrap_or(usize::MAX);
            left = left.get(taken..).unwrap_or_default();
        }
    }
    loop {
        out.reserve(ROOM);
        if compressor.compress_vec(&[], &mut out, FlushCompress::Finish)? == Status::StreamEnd {
            break;
        }
    }
    out.extend(sum.sum().to_le_bytes());
    out.extend(sum.amount().to_le_bytes());
    Ok(out)
}

/// Cleans a value of control characters, which could end its line or begin another.
fn clean(value: &str) -> String {
    value.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>().trim().to_owned()
}

/// An id as records write it.
#[must_use]
pub fn record_id(id: Uuid) -> String {
    format!("<urn:uuid:{id}>")
}

/// Id in a record's field.
#[must_use]
pub fn parse_record_id(field: &str) -> Option<Uuid> {
    let urn = field.trim().trim_start_matches('<').trim_end_matches('>');
    Uuid::try_parse(urn.strip_prefix("urn:uuid:")?).ok()
}

/// SHA-256 of consecutive bytes, as `sha256:` and base 32 (RFC 4648 §6). SHA-1 allows two pages with one
/// digest: a site could have one archived as a revisit of the other.
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
        // the last group lacks one byte, and so its last digit and a half
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

/// First line and fields of a response without transfer coding. The field that named it is renamed, as in
/// Common Crawl's archives, so that no reader decodes again.
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
        // RFC 4648 §10 has only short examples; this is `printf '' | sha256sum` through `base32`
        assert_eq!(digest(&[]), "sha256:4OYMIQUY7QOBJGX36TEJS35ZEQT24QPEMSNZGTFESWMRW6CSXBKQ====");
        assert_eq!(digest(&[b"a", b"b"]), digest(&[b"ab"]));
    }

    #[test]
    fn members_do_not_depend_on_earlier_compressed_data() {
        // several buffers of incompressible bytes, then few bytes, with one compressor
        let noise: Vec<u8> = (0..300_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for payload in [noise.as_slice(), b"", b"x", &b"again and again ".repeat(20_000), b"x", &noise] {
            let record = NewRecord { kind: "resource", payload, ..NewRecord::default() };
            let (member, mut unpacked) = (record.member().unwrap(), Vec::new());
            flate2::read::GzDecoder::new(&*member).read_to_end(&mut unpacked).unwrap();
            assert_eq!(unpacked, [record.fields_text().as_bytes(), payload, b"\r\n\r\n"].concat());
            assert_eq!(member, record.member().unwrap());
        }
    }

    #[test]
    fn record_ids_round_trip() {
        let id = Uuid::new_v4();
        assert_eq!(parse_record_id(&record_id(id)), Some(id));
        assert_eq!(parse_record_id("<urn:uuid:nonsense>"), None);
    }

    proptest! {
        #[test]
        fn written_records_round_trip(
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
