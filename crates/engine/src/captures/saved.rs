//! Files in a folder of saved pages: pages, packed pages, and the files that belong to a page.

use flate2::read::MultiGzDecoder;
use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    io::{self, Read},
    path::Path,
};

/// Bytes of a file that show whether it is a page.
const HEAD: usize = 1024;
/// Bytes with the fields of a message.
const MESSAGE_HEAD: usize = 4096;
/// Endings of the names of HTML files.
const PAGE_ENDINGS: [&str; 4] = ["html", "htm", "xhtml", "shtml"];
/// Ends of the names of folders in which browsers save the files of a page, by the language of the system.
const RESOURCE_ENDS: [&str; 4] = ["_files", "-Dateien", "_fichiers", "_archivos"];

/// Remedy for a page in a file of MHTML.
pub const MHTML: &str = "this is MHTML, a whole page in one file; save the page as HTML only";

/// Returns true for a page that a browser has saved with its pictures. Its first lines are fields of a message.
#[must_use]
pub fn is_mhtml(bytes: &[u8]) -> bool {
    let head = bytes.get(..MESSAGE_HEAD).unwrap_or(bytes).to_ascii_lowercase();
    let is_field = head.starts_with(b"from: ") || head.starts_with(b"mime-version: ");
    is_field && memchr::memmem::find(&head, b"content-type: multipart/related").is_some()
}

/// Returns true for a file with the name or the first bytes of HTML.
pub(super) fn is_page(path: &Path, bytes: &[u8]) -> bool {
    let head = bytes.get(..HEAD).unwrap_or(bytes);
    if crawl_fetch::foreign_format(head).is_some() {
        return false;
    }
    if has_page_ending(path) {
        return true;
    }
    let head = head.to_ascii_lowercase();
    ["<html", "<!doctype html"].iter().any(|mark| memchr::memmem::find(&head, mark.as_bytes()).is_some())
}

fn has_page_ending(path: &Path) -> bool {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    ending.is_some_and(|ending| PAGE_ENDINGS.contains(&ending.as_str()))
}

/// The page in a file whose name is that of a packed page, such as `page.html.gz`; none for any other file. At most `most` bytes
/// and one more are unpacked.
///
/// # Errors
/// When the packed bytes are damaged.
pub(super) fn unpacked(path: &Path, bytes: &[u8], most: usize) -> io::Result<Option<Vec<u8>>> {
    let is_packed_page = has_page_ending(&path.with_extension(""));
    let decoder: Box<dyn Read> = match bytes {
        [0x1f, 0x8b, ..] if is_packed_page => Box::new(MultiGzDecoder::new(bytes)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] if is_packed_page => Box::new(zstd::stream::read::Decoder::new(bytes)?),
        _ => return Ok(None),
    };
    let mut out = Vec::new();
    decoder.take(most as u64 + 1).read_to_end(&mut out)?;
    Ok(Some(out))
}

/// Names of the folders in which a browser has saved the files of pages: `harbour_files` beside `harbour.html`.
pub(super) fn resource_folders<'n>(names: impl Iterator<Item = &'n OsStr>) -> BTreeSet<OsString> {
    let pages = names.map(Path::new).filter(|name| has_page_ending(name));
    let folder = |stem: &OsStr, end: &str| {
        let mut name = stem.to_owned();
        name.push(end);
        name
    };
    pages
        .filter_map(Path::file_stem)
        .flat_map(|stem| RESOURCE_ENDS.iter().map(move |end| folder(stem, end)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_a_saved_page_hold_its_files() {
        let names = ["harbour.html", "tides.htm", "notes.txt"].map(OsStr::new);
        let folders = resource_folders(names.into_iter());
        for name in ["harbour_files", "tides-Dateien"] {
            assert!(folders.contains(OsStr::new(name)), "{name}");
        }
        for name in ["notes_files", "other_files", "harbour"] {
            assert!(!folders.contains(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn packed_pages_are_unpacked_by_their_name() {
        use std::io::Write;
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(b"<p>Harbour").unwrap();
        let packed = gz.finish().unwrap();
        let of = |name: &str, bytes: &[u8], most| unpacked(Path::new(name), bytes, most);
        assert_eq!(of("a.html.gz", &packed, 100).unwrap().unwrap(), b"<p>Harbour");
        assert_eq!(of("a.html.gz", &packed, 3).unwrap().unwrap(), b"<p>H", "one byte more shows the excess");
        assert_eq!(of("a.tar.gz", &packed, 100).unwrap(), None, "another name");
        assert!(of("a.html.gz", &packed[..12], 100).is_err(), "damaged");
    }
}
