//! HTTP messages in archives: the bytes of the connection.

use crate::RecordError;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use std::io::Read;

/// A message: first line, fields, encoded body.
pub(super) struct Message<'a> {
    first: String,
    fields: Vec<(String, String)>,
    body: &'a [u8],
}

impl<'a> Message<'a> {
    /// Reads first line and fields; a message without an empty line is all head.
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, RecordError> {
        let mut lines = Lines(bytes);
        let first = lines.next().unwrap_or_default();
        if !first.contains("HTTP/") {
            return Err(RecordError::Http("the first line names no version of HTTP"));
        }
        let mut fields: Vec<(String, String)> = Vec::new();
        while let Some(line) = lines.next().filter(|line| !line.is_empty()) {
            match (line.split_once(':'), fields.last_mut()) {
                (_, Some((_, value))) if line.starts_with([' ', '\t']) => {
                    value.push(' ');
                    value.push_str(line.trim());
                }
                (Some((name, value)), _) => fields.push((name.trim().to_owned(), value.trim().to_owned())),
                // an invalid field line is skipped
                (None, _) => {}
            }
        }
        Ok(Self { first, fields, body: lines.0 })
    }

    /// The status of an answer.
    pub(super) fn status(&self) -> Option<u16> {
        self.first.strip_prefix("HTTP/")?.split_whitespace().nth(1)?.parse().ok()
    }

    /// Value of a field; empty if there is none.
    pub(super) fn field(&self, name: &str) -> &str {
        self.fields.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map_or("", |(_, value)| value.as_str())
    }

    /// All values of a field.
    pub(super) fn fields(&self, name: &str) -> Vec<String> {
        let named = self.fields.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.clone()).collect()
    }

    /// Encoded body.
    pub(super) const fn body(&self) -> &'a [u8] {
        self.body
    }

    /// Decoded body, if it is at most `most` bytes long.
    pub(super) fn payload(&self, most: usize) -> Result<Vec<u8>, RecordError> {
        let chunked = self.field("Transfer-Encoding").to_ascii_lowercase().contains("chunked");
        let mut body = if chunked { unchunked(self.body) } else { self.body.to_vec() };
        let encodings = self.field("Content-Encoding").to_ascii_lowercase();
        for encoding in encodings.rsplit(',').map(str::trim) {
            body = decoded(encoding, body, most)?;
        }
        Ok(body)
    }
}

/// Lines without their ends; the remaining bytes follow the last line.
struct Lines<'a>(&'a [u8]);

impl Iterator for Lines<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        if self.0.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', self.0).unwrap_or(self.0.len());
        let line = self.0.get(..end).unwrap_or_default();
        self.0 = self.0.get(end + 1..).unwrap_or_default();
        Some(String::from_utf8_lossy(line).trim_end_matches('\r').to_owned())
    }
}

/// Removes the chunk sizes of a body. A body without any is unchanged, since archives declare chunks wrongly.
/// So are the bytes after an invalid size.
fn unchunked(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len());
    let mut rest = body;
    while let Some((size, after)) = chunk_size(rest) {
        if size == 0 {
            return out;
        }
        out.extend_from_slice(after.get(..size).unwrap_or(after));
        let next = after.get(size..).unwrap_or_default();
        rest = next.strip_prefix(b"\r\n").or_else(|| next.strip_prefix(b"\n")).unwrap_or(next);
    }
    out.extend_from_slice(rest);
    out
}

/// Size at the start of a chunk, and the bytes after its line.
fn chunk_size(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let end = memchr::memchr(b'\n', bytes.get(..bytes.len().min(128))?)?;
    let line = std::str::from_utf8(bytes.get(..end)?).ok()?;
    let size = usize::from_str_radix(line.split(';').next()?.trim(), 16).ok()?;
    Some((size, bytes.get(end + 1..)?))
}

/// Undoes an encoding. A body that does not have it and looks like markup is unchanged. Some crawlers decode a body
/// and keep the name of its encoding, and some servers send a name that is none (`utf-8`, `none`).
fn decoded(encoding: &str, body: Vec<u8>, most: usize) -> Result<Vec<u8>, RecordError> {
    match undone(encoding, &body, most) {
        Ok(Some(plain)) => Ok(plain),
        Ok(None) => Ok(body),
        Err(RecordError::Encoding(_)) if is_markup(&body) => Ok(body),
        Err(error) => Err(error),
    }
}

/// No brotli stream begins with `<` or with a byte order mark: each sets a bit that must be 0.
fn is_markup(body: &[u8]) -> bool {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    body.trim_ascii_start().starts_with(b"<")
}

/// Output of the decoder of an encoding; `None` if the body is unchanged.
fn undone(encoding: &str, body: &[u8], most: usize) -> Result<Option<Vec<u8>>, RecordError> {
    let plain = match encoding {
        "gzip" | "x-gzip" if body.starts_with(&[0x1f, 0x8b]) => all(MultiGzDecoder::new(body), most),
        // the standard requires zlib, some servers send raw deflate
        "deflate" if body.first().is_some_and(|b| b & 0x0f == 8) => all(ZlibDecoder::new(body), most),
        "deflate" if !body.is_empty() => all(DeflateDecoder::new(body), most),
        "br" => all(brotli_decompressor::Decompressor::new(body, 4096), most),
        "zstd" if body.starts_with(&crate::ZSTD) => {
            let decoder = zstd::stream::read::Decoder::new(body);
            all(decoder.map_err(|e| RecordError::Encoding(e.to_string()))?, most)
        }
        // crawlers that decode a body keep the encoding's name: a body that does not look encoded is taken
        // unchanged
        "" | "identity" | "gzip" | "x-gzip" | "deflate" | "zstd" => return Ok(None),
        other => Err(RecordError::Encoding(format!(
            "{:?} is not known",
            other.chars().take(40).collect::<String>()
        ))),
    };
    plain.map(Some)
}

/// Output of a decoder; partial output on failure, since a truncated page is still a page.
fn all(decoder: impl Read, most: usize) -> Result<Vec<u8>, RecordError> {
    let mut out = Vec::new();
    let result = decoder.take(most as u64 + 1).read_to_end(&mut out);
    if out.len() > most {
        return Err(RecordError::TooLarge(most as u64));
    }
    match result {
        Err(e) if out.is_empty() => Err(RecordError::Encoding(e.to_string())),
        _ => Ok(out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn body(message: &[u8]) -> Result<String, RecordError> {
        let payload = Message::parse(message)?.payload(100)?;
        Ok(String::from_utf8(payload).unwrap())
    }

    #[test]
    fn bodies_are_dechunked_and_decompressed() {
        for (message, want) in [
            (&b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody"[..], "body"),
            (
                b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n4\r\nwiki\r\n3;x=y\r\nped\r\n0\r\n\r\n",
                "wikiped",
            ),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n<p>not chunked", "<p>not chunked"),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\ncut off", "cut off"),
            (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nplain", "plain"),
            (b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n<p>decoded", "<p>decoded"),
            (
                b"HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n\xef\xbb\xbf\r\n<!doctype html><p>x",
                "\u{feff}\r\n<!doctype html><p>x",
            ),
            (b"HTTP/1.1 200 OK\r\nContent-Encoding: UTF-8\r\n\r\n <p>no coding", " <p>no coding"),
            (b"GET / HTTP/1.1\r\nHost: x", ""),
        ] {
            assert_eq!(body(message).unwrap(), want);
        }
        assert_eq!(body(b"nonsense").unwrap_err().name(), "bad_http");
        assert_eq!(
            body(b"HTTP/1.1 200 OK\r\nContent-Encoding: rot13\r\n\r\nx").unwrap_err().name(),
            "bad_encoding"
        );
    }

    #[test]
    fn body_beyond_the_decompression_limit_is_an_error() {
        let mut message = b"HTTP/1.0 200 OK\r\nContent-Encoding: gzip\r\n\r\n".to_vec();
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&[b'x'; 101]).unwrap();
        let packed = packed.finish().unwrap();
        message.extend_from_slice(&packed);
        assert_eq!(body(&message).unwrap_err().name(), "too_large");
        assert_eq!(Message::parse(&message).unwrap().payload(101).unwrap().len(), 101);
        message.truncate(message.len() - 9);
        assert!(Message::parse(&message).unwrap().payload(101).is_ok(), "what was had is kept");
    }
}
