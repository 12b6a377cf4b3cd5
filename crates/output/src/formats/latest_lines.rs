//! Files of lines that hold the latest record of each page.

use super::packer::Packer;
use crate::{
    error::OutputError,
    file::{Before, FileOutput},
    frames::Packing,
    latest::LatestLines,
    whole::Replacement,
};
use flate2::bufread::MultiGzDecoder;
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Write},
    path::Path,
};

/// Bytes of lines that become one member or frame.
const PACKED_BYTES: usize = 1 << 20;

/// Leaves the latest record of each page in a file of lines. Readers see the old file or the new one. `note` is
/// called with the length of the new one before it takes its place.
///
/// # Errors
/// When the file cannot be read or written.
pub(super) fn keep_latest(
    path: &Path,
    packing: Option<Packing>,
    note: &mut dyn FnMut(u64) -> Result<(), OutputError>,
) -> Result<(), OutputError> {
    if !path.is_file() {
        return Ok(());
    }
    let locked = FileOutput::open_bytes(path, Before::Unknown)?;
    let made = rewritten(path, packing).map_err(|e| locked.fail(e))?;
    if let Some((new, length)) = made {
        note(length)?;
        new.finish().map_err(|e| locked.fail(e))?;
    }
    Ok(())
}

/// The new file and its length; `None` if the old one stays.
fn rewritten(path: &Path, packing: Option<Packing>) -> io::Result<Option<(Replacement, u64)>> {
    let Some(latest) = LatestLines::of(lines(path, packing)?)? else { return Ok(None) };
    let mut out = Packed { out: Replacement::create(path)?, length: 0, packer: None, lines: Vec::new() };
    out.packer = packing.map(Packer::of).transpose()?;
    latest.each(lines(path, packing)?, &mut |line| out.push(line))?;
    out.flush(true)?;
    Ok(Some((out.out, out.length)))
}

fn lines(path: &Path, packing: Option<Packing>) -> io::Result<Box<dyn BufRead>> {
    let file = BufReader::with_capacity(1 << 16, File::open(path)?);
    Ok(match packing {
        None => Box::new(file),
        Some(Packing::Gzip) => Box::new(BufReader::new(MultiGzDecoder::new(file))),
        Some(Packing::Zstd) => Box::new(BufReader::new(zstd::stream::read::Decoder::with_buffer(file)?)),
    })
}

/// Lines that are packed, and counted.
struct Packed {
    out: Replacement,
    length: u64,
    packer: Option<Packer>,
    lines: Vec<u8>,
}

impl Packed {
    fn push(&mut self, line: &[u8]) -> io::Result<()> {
        self.lines.extend_from_slice(line);
        self.lines.push(b'\n');
        if self.lines.len() >= PACKED_BYTES { self.flush(false) } else { Ok(()) }
    }

    /// Writes the lines so far. A packed file without lines has an empty member at its `end`.
    fn flush(&mut self, end: bool) -> io::Result<()> {
        if self.lines.is_empty() && !(end && self.length == 0) {
            return Ok(());
        }
        let bytes = match &mut self.packer {
            Some(packer) => packer.pack(&self.lines)?,
            None => std::mem::take(&mut self.lines),
        };
        self.lines.clear();
        self.length += bytes.len() as u64;
        self.out.write_all(&bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fields::Fields, lines::tests::record, place::Place};
    use crawl_model::Change;

    /// Records of a file: text of each, by the library that reads archives.
    fn texts(path: &Path) -> Vec<String> {
        let mut texts = Vec::new();
        let options = crawl_archive::ReadOptions { max_record: 1 << 20, keep_lines: false };
        crawl_archive::read_file(path, &options, &mut |item| {
            let crawl_archive::Item::Document(document) = item else { panic!("unreadable") };
            let crawl_archive::Body::Text(text) = document.body else { panic!("no text") };
            texts.push(text);
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
        texts
    }

    #[test]
    fn each_format_keeps_the_latest_record_of_a_page() {
        let dir = tempfile::tempdir().unwrap();
        for (name, fields) in [
            ("out.jsonl", &[][..]),
            ("out.jsonl", &["url", "text"]),
            ("out.jsonl.gz", &[]),
            ("out.jsonl.zst", &[]),
            ("out.parquet", &[]),
        ] {
            let place = Place::of(&dir.path().join(name));
            let fields: Vec<String> = fields.iter().map(|field| (*field).to_owned()).collect();
            let fields = Fields::of(&fields).unwrap().map(Fields::with_tombstones);
            let mut opened = place.open(Before::Replace, fields).unwrap();
            let mut push = |page: &str, text: &str, change: Change| {
                let mut record = record("");
                record.url = format!("https://a.test/{page}");
                record.id = crawl_model::UrlKey::of(&record.url).to_string();
                record.text = text.to_owned();
                record.metadata.change = Some(change);
                opened.output.push(&record).unwrap();
                opened.output.commit().unwrap();
            };
            push("a", "first a", Change::New);
            push("b", "first b", Change::New);
            push("c", "first c", Change::New);
            push("a", "second a", Change::Changed);
            push("b", "", Change::Gone);
            opened.output.finish().unwrap();
            drop(opened);
            // a run that ends before the rename leaves the old file
            let failed = place.keep_latest(&mut |_| Err(OutputError::ClosedPipe));
            assert_eq!(
                (failed.is_err(), texts(&place.path).len()),
                (name != "out.parquet", if name == "out.parquet" { 2 } else { 5 })
            );
            let mut noted = None;
            place
                .keep_latest(&mut |length| {
                    noted = Some(length);
                    Ok(())
                })
                .unwrap();
            assert_eq!(texts(&place.path), ["first c", "second a"], "{name}");
            if name != "out.parquet" {
                assert_eq!(noted, Some(std::fs::metadata(&place.path).unwrap().len()), "{name}");
            }
            // once more, there is nothing to do
            place.keep_latest(&mut |_| panic!("{name} is written again")).unwrap();
            std::fs::remove_file(&place.path).unwrap();
        }
    }
}
