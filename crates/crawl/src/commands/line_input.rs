//! Lines of a file or of standard input. gzip and zstd are undone, and another format is refused with its name.

use super::{jsonl::input_name, open};
use crawl_archive::ArchiveKind;
use crawl_engine::exit::Failure;
use flate2::bufread::MultiGzDecoder;
use std::{
    io::{BufRead, BufReader},
    path::Path,
};

/// Bytes unpacked at a time.
const UNPACKED: usize = 1 << 18;

/// Opens a file, or standard input for `-` and for none.
///
/// # Errors
/// When it cannot be opened, or its first bytes are those of a format without lines.
pub fn open_lines(path: Option<&Path>) -> Result<Box<dyn BufRead>, Failure> {
    let mut input = open(path)?;
    let name = input_name(path);
    let head = input.fill_buf().map_err(|e| Failure::input(Path::new(&name), &e))?;
    match head {
        [0x1f, 0x8b, ..] if ArchiveKind::of_head(head).is_none() => {
            Ok(Box::new(BufReader::with_capacity(UNPACKED, MultiGzDecoder::new(input))))
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            let decoder = zstd::stream::read::Decoder::with_buffer(input)
                .map_err(|e| Failure::usage(format!("{name}: is not zstd as it seems to be: {e}")))?;
            Ok(Box::new(BufReader::with_capacity(UNPACKED, decoder)))
        }
        head => match format_of(head) {
            Some(format) => Err(Failure::usage(format!("{name}: is {format}; lines of JSON are read here"))),
            None => Ok(input),
        },
    }
}

/// The format of bytes that are no lines of JSON.
fn format_of(head: &[u8]) -> Option<&'static str> {
    match head {
        [b'P', b'A', b'R', b'1', ..] => Some("Parquet"),
        _ if ArchiveKind::of_head(head) == Some(ArchiveKind::Warc) => Some("WARC"),
        // a faulty line after a good one has a message of its own
        _ if head.trim_ascii_start().starts_with(b"{") => None,
        _ => crawl_fetch::foreign_format(head).filter(|_| !head.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_have_names_and_lines_none() {
        assert_eq!(format_of(b"PAR1\x15\x04"), Some("Parquet"));
        assert_eq!(format_of(b"WARC/1.1\r\nWARC-Type: warcinfo\r\n"), Some("WARC"));
        assert_eq!(format_of(b"%PDF-1.7\n"), Some("PDF"));
        for lines in [&b"{\"url\":\"\x01\"}\n"[..], b"", b"\n\n", b"not JSON\n", b"\xef\xbb\xbf{}\n"] {
            assert_eq!(format_of(lines), None, "{lines:?}");
        }
    }
}
