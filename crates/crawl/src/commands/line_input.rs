//! Lines of a file or of standard input, unpacked from gzip or zstd. The error for other formats names the format.

use super::{jsonl::input_name, open};
use crawl_archive::skip_byte_order_mark;
use crawl_engine::exit::Failure;
use flate2::bufread::MultiGzDecoder;
use std::{
    io::{self, BufRead, BufReader, Cursor, Read},
    path::Path,
};

/// Bytes unpacked at a time.
const UNPACKED: usize = 1 << 18;
/// Bytes by which formats are known.
const HEAD: usize = 16;

/// Opens a file, or standard input for `-` and for none.
///
/// # Errors
/// When it cannot be opened, or its first bytes, unpacked, are those of a format without lines.
pub fn open_lines(path: Option<&Path>) -> Result<Box<dyn BufRead>, Failure> {
    let name = input_name(path);
    let (head, input) = begin(open(path)?).map_err(|e| Failure::input(Path::new(&name), &e))?;
    let (format, decoder): (_, Box<dyn Read>) = match head[..] {
        [0x1f, 0x8b, ..] => ("gzip", Box::new(MultiGzDecoder::new(input))),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            let decoder = zstd::stream::read::Decoder::with_buffer(input).map_err(|e| {
                Failure::usage(format!("{name}: looks like zstd, but cannot be unpacked: {e}"))
            })?;
            ("zstd", Box::new(decoder))
        }
        _ => return with_lines(&name, &head, input),
    };
    let unpacked = BufReader::with_capacity(UNPACKED, Packed { format, decoder });
    let (head, input) = begin(Box::new(unpacked)).map_err(|e| Failure::usage(format!("{name}: {e}")))?;
    with_lines(&name, &head, input)
}

/// Reads the first bytes, which are also those of the returned input. Stops behind a short first line of text, since a program
/// may wait for its result before it writes more.
fn begin(mut input: Box<dyn BufRead>) -> io::Result<(Vec<u8>, Box<dyn BufRead>)> {
    let mut head = Vec::with_capacity(HEAD);
    let is_line = |head: &[u8]| head.ends_with(b"\n") && !head.starts_with(b"\x89");
    while head.len() < HEAD && !is_line(&head) {
        match input.fill_buf() {
            Ok([]) => break,
            Ok([byte, ..]) => head.push(*byte),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        }
        input.consume(1);
    }
    Ok((head.clone(), Box::new(Cursor::new(head).chain(input))))
}

/// Returns the input without a byte order mark, unless its first bytes are those of a format without lines.
fn with_lines(name: &str, head: &[u8], mut input: Box<dyn BufRead>) -> Result<Box<dyn BufRead>, Failure> {
    match format_of(head) {
        Some(format) => {
            Err(Failure::usage(format!("{name}: this is {format}, but the input must be JSON lines")))
        }
        None => {
            // the head is in one piece
            skip_byte_order_mark(&mut input).map_err(|e| Failure::input(Path::new(name), &e))?;
            Ok(input)
        }
    }
}

/// The format of bytes that are no lines of JSON. A faulty line has a message of its own, the first line too.
fn format_of(head: &[u8]) -> Option<&'static str> {
    match head {
        [b'P', b'A', b'R', b'1', ..] => Some("Parquet"),
        // the second has a dictionary of zstd in front
        [b'W', b'A', b'R', b'C', b'/', ..] | [0x5d, 0x2a, 0x4d, 0x18, ..] => Some("WARC"),
        head => crawl_fetch::known_format(head),
    }
}

/// Decoder whose errors name the format.
struct Packed {
    format: &'static str,
    decoder: Box<dyn Read>,
}

impl Read for Packed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.decoder.read(buffer).map_err(|e| match e.kind() {
            io::ErrorKind::Interrupted => e,
            kind => io::Error::new(kind, format!("the {} is damaged: {e}", self.format)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, io::Write};

    #[test]
    fn known_formats_are_named_and_lines_are_not() {
        assert_eq!(format_of(b"PAR1\x15\x04"), Some("Parquet"));
        assert_eq!(format_of(b"WARC/1.1\r\nWARC-Ty"), Some("WARC"));
        assert_eq!(format_of(b"%PDF-1.7\n"), Some("PDF"));
        for lines in
            [&b"{\"url\":\"\x01\"}\n"[..], b"", b"\n\n", b"not JSON\n", b"\xef\xbb\xbf{}\n", b"x\x01\x02\ny"]
        {
            assert_eq!(format_of(lines), None, "{lines:?}");
        }
    }

    #[test]
    fn packed_input_is_unpacked_and_its_damage_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("in");
        let read = |bytes: &[u8]| {
            fs::write(&file, bytes).unwrap();
            let mut text = String::new();
            let mut lines = open_lines(Some(&file)).map_err(|e| e.error.to_string())?;
            lines.read_to_string(&mut text).map_err(|e| e.to_string())?;
            Ok::<_, String>(text)
        };
        let lines = "{\"text\":\"Ferries.\"}\n".repeat(3);
        let gzip = |bytes: &[u8]| {
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packed.write_all(bytes).unwrap();
            packed.finish().unwrap()
        };
        let zstd = |bytes: &[u8]| zstd::encode_all(bytes, 1).unwrap();
        let bytes = lines.as_bytes();
        for packed in [bytes.to_vec(), gzip(bytes), zstd(bytes)] {
            assert_eq!(read(&packed).as_deref(), Ok(&*lines));
        }
        for marked in [&b"\xef\xbb\xbf{}\n"[..], &gzip(b"\xef\xbb\xbf{}\n"), b"{}\n"] {
            assert_eq!(read(marked).as_deref(), Ok("{}\n"));
        }
        for (packed, problem) in [
            (zstd(b"WARC/1.1\r\n"), "this is WARC"),
            (gzip(&gzip(bytes)), "this is gzip"),
            (gzip(bytes)[..20].to_vec(), "the gzip is damaged"),
        ] {
            let error = read(&packed).unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
    }

    /// Reader that yields one byte at a time, as a slow pipe does.
    struct Slow(&'static [u8]);

    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let Some((byte, rest)) = self.0.split_first() else { return Ok(0) };
            buffer[0] = *byte;
            self.0 = rest;
            Ok(1)
        }
    }

    #[test]
    fn first_bytes_are_read_to_their_end_and_kept() {
        for bytes in
            [&b"%PDF-1.7 and the rest of it"[..], b"\x89PNG\r\n\x1a\n0123456789", b"{}\n{\"a\":1}\n", b""]
        {
            let (head, mut input) = begin(Box::new(BufReader::new(Slow(bytes)))).unwrap();
            assert_eq!(head.len(), if bytes.starts_with(b"{") { 3 } else { bytes.len().min(HEAD) });
            let mut all = Vec::new();
            input.read_to_end(&mut all).unwrap();
            assert_eq!(all, bytes);
        }
    }
}
