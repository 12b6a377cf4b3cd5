//! A page from a file, unpacked from gzip or zstd. The error for other formats names the format.

use super::{jsonl, read_document};
use crawl_engine::{captures, exit::Failure};
use flate2::read::MultiGzDecoder;
use std::{
    io::{self, Read},
    path::Path,
};

/// Maximum bytes of a page, decompressed. A larger file is a bomb, or no page.
const MAX_BYTES: u64 = 256 << 20;

/// The bytes of a page: of a file, or of standard input for `-` and for none.
///
/// # Errors
/// When it cannot be read, is empty or damaged, is another format than a page's, or has lines of JSON.
pub fn read_page(path: Option<&Path>) -> Result<Vec<u8>, Failure> {
    let name = jsonl::input_name(path);
    let ending = path.and_then(Path::extension).unwrap_or_default();
    if ["jsonl", "ndjson"].iter().any(|lines| ending.eq_ignore_ascii_case(lines)) {
        return Err(Failure::usage(format!(
            "{name}: contains JSON lines; add --jsonl to extract the pages in them"
        )));
    }
    let page =
        page_of(read_document(path)?).map_err(|problem| Failure::usage(format!("{name}: {problem}")))?;
    if page.iter().all(u8::is_ascii_whitespace) {
        return Err(Failure::usage(format!("{name}: is empty; expected HTML or plain text")));
    }
    Ok(page)
}

/// The page in a file's bytes, decompressed; else the reason why it is no page.
pub fn page_of(bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    let bytes = match bytes.as_slice() {
        [0x1f, 0x8b, ..] => unpacked("gzip", MultiGzDecoder::new(bytes.as_slice()))?,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            let decoder = zstd::stream::read::Decoder::new(bytes.as_slice());
            unpacked("zstd", decoder.map_err(|e| format!("the zstd is damaged: {e}"))?)?
        }
        _ => bytes,
    };
    if captures::is_mhtml(&bytes) {
        return Err(captures::MHTML.to_owned());
    }
    match crawl_fetch::foreign_format(&bytes) {
        Some(format) => Err(format!("this is {format}; expected HTML or plain text")),
        None => Ok(bytes),
    }
}

fn unpacked(format: &str, packed: impl Read) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    let read: io::Result<usize> = packed.take(MAX_BYTES + 1).read_to_end(&mut out);
    match read {
        Err(error) => Err(format!("the {format} is damaged: {error}")),
        Ok(length) if length as u64 > MAX_BYTES => {
            Err(format!("larger than {} MiB when unpacked, too large for a page", MAX_BYTES >> 20))
        }
        Ok(_) => Ok(out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const PAGE: &[u8] = b"<!doctype html><p>Words of a page.";

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(bytes).unwrap();
        gz.finish().unwrap()
    }

    #[test]
    fn compressed_pages_are_decompressed_and_other_files_refused() {
        assert_eq!(page_of(PAGE.to_vec()).unwrap(), PAGE);
        assert_eq!(page_of(gzip(PAGE)).unwrap(), PAGE);
        assert_eq!(page_of(zstd::encode_all(PAGE, 1).unwrap()).unwrap(), PAGE);
        assert!(page_of(gzip(PAGE)[..20].to_vec()).unwrap_err().contains("the gzip is damaged"));
        assert!(page_of(gzip(b"%PDF-1.4")).unwrap_err().contains("this is PDF"));
        let mhtml = b"From: <Saved by Blink>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related;\r\n\ttype=\"text/html\"\r\n\r\n";
        assert!(page_of(mhtml.to_vec()).unwrap_err().contains("MHTML"));
        assert!(page_of(b"From: the harbour\n\nA letter.".to_vec()).is_ok());
        assert!(page_of(gzip(&gzip(PAGE))).unwrap_err().contains("this is gzip"), "once is enough");
        assert_eq!(page_of(Vec::new()).unwrap(), b"", "an empty page is one");
    }
}
