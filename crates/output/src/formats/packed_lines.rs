//! Lines compressed while they are written. Each batch is a gzip member (RFC 1952 §2.2) or a zstd frame (RFC
//! 8878 §3) of its own. Readers take several of them in a row as one stream, so the file is whole at every
//! settled length.

use super::{latest_lines::keep_latest, packer::Packer};
use crate::{
    damaged::copy_damaged,
    error::OutputError,
    fields::Fields,
    file::{Before, FileOutput},
    format::{Format, Note, Opened, state_of},
    frames::{Frames, Packing, Part},
    lines::LineRecords,
    output::Output,
};
use std::{fs, io, path::Path};

/// Files of lines in members of gzip.
pub(super) struct GzipLines;

/// Files of lines in frames of zstd.
pub(super) struct ZstdLines;

impl Format for GzipLines {
    fn ending(&self) -> &'static str {
        ".gz"
    }

    fn open(&self, path: &Path, before: Before, fields: Option<Fields>) -> Result<Opened, OutputError> {
        open(path, before, fields, Packing::Gzip)
    }

    fn is_empty(&self, path: &Path) -> io::Result<bool> {
        has_no_line(path, Packing::Gzip)
    }

    fn keep_latest(&self, path: &Path, note: Note<'_>) -> Result<(), OutputError> {
        keep_latest(path, Some(Packing::Gzip), note)
    }
}

impl Format for ZstdLines {
    fn ending(&self) -> &'static str {
        ".zst"
    }

    fn open(&self, path: &Path, before: Before, fields: Option<Fields>) -> Result<Opened, OutputError> {
        open(path, before, fields, Packing::Zstd)
    }

    fn is_empty(&self, path: &Path) -> io::Result<bool> {
        has_no_line(path, Packing::Zstd)
    }

    fn keep_latest(&self, path: &Path, note: Note<'_>) -> Result<(), OutputError> {
        keep_latest(path, Some(Packing::Zstd), note)
    }
}

fn open(
    path: &Path,
    before: Before,
    fields: Option<Fields>,
    packing: Packing,
) -> Result<Opened, OutputError> {
    let packed = PackedOutput::open(path, before, packing)?;
    let state = state_of(&packed.file);
    Ok(Opened::new(LineRecords::new(Box::new(packed), fields), state))
}

/// Longest file that may hold no line: an empty member or frame.
const LONGEST_EMPTY: u64 = 64;

fn has_no_line(path: &Path, packing: Packing) -> io::Result<bool> {
    if fs::metadata(path)?.len() > LONGEST_EMPTY {
        return Ok(false);
    }
    for part in Frames::open(path, packing, 0)? {
        match part? {
            Part::Whole(lines) if lines.is_empty() => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// File of compressed lines.
struct PackedOutput {
    file: FileOutput,
    packer: Packer,
}

impl PackedOutput {
    /// Opens a file, truncated according to `before`. Half a frame at its end is put aside: readers would stop in front of all
    /// that is written behind it.
    fn open(path: &Path, before: Before, packing: Packing) -> Result<Self, OutputError> {
        let mut file = FileOutput::open_bytes(path, before)?;
        let whole = match before {
            Before::CutOff(settled) if file.missing() == 0 => settled,
            Before::Closed(length) => length,
            _ => 0,
        };
        if !file.is_stale() && file.length() > whole {
            cut_half_a_frame(&mut file, packing, whole)?;
        }
        let packer = Packer::of(packing).map_err(|e| file.fail(e))?;
        Ok(Self { file, packer })
    }
}

/// Cuts off an incomplete frame at the end of a file. `whole` is a length at which a run left the file whole.
/// If that part is unchanged, only the rest is read.
fn cut_half_a_frame(file: &mut FileOutput, packing: Packing, whole: u64) -> Result<(), OutputError> {
    let found = find_torn_frame(file, packing, whole).map_err(|e| file.fail(e))?;
    let found = match found {
        End::Unreadable(_) if whole > 0 => find_torn_frame(file, packing, 0).map_err(|e| file.fail(e))?,
        found => found,
    };
    match found {
        End::Whole => Ok(()),
        End::Half(start) => {
            let aside = copy_damaged(file.path(), std::slice::from_ref(&(start..file.length())))
                .map_err(|e| file.fail(e))?;
            let (name, bytes, aside) = (file.name(), file.length() - start, aside.display());
            tracing::warn!(
                file = name,
                bytes,
                "half a frame at the end cannot be read: it was moved to {aside}"
            );
            file.keep(start)
        }
        End::Unreadable(at) => Err(OutputError::Damaged {
            name: file.name().to_owned(),
            what: format!(
                "it cannot be read from byte {at} on, so nothing is written behind that; name another file, or replace it with -O"
            ),
        }),
    }
}

/// The end of a file.
enum End {
    Whole,
    /// Start of a frame that was cut off.
    Half(u64),
    /// Start of foreign or damaged bytes.
    Unreadable(u64),
}

fn find_torn_frame(file: &FileOutput, packing: Packing, from: u64) -> io::Result<End> {
    let mut frames = Frames::open(file.path(), packing, from)?;
    while let Some(part) = frames.next() {
        let Part::Damaged(range) = part? else { continue };
        let half = range.end == file.length() && frames.begins_at(range.start)?;
        return Ok(if half { End::Half(range.start) } else { End::Unreadable(range.start) });
    }
    Ok(End::Whole)
}

impl Output for PackedOutput {
    fn write(&mut self, lines: &[u8]) -> Result<(), OutputError> {
        let packed = self.packer.pack(lines);
        let packed =
            packed.map_err(|source| OutputError::Write { name: self.file.name().to_owned(), source })?;
        self.file.write(&packed)
    }

    fn sync(&mut self) -> Result<Option<u64>, OutputError> {
        self.file.sync()
    }

    /// A file without a record is given an empty member, since no bytes at all are no gzip file.
    fn finish(&mut self) -> Result<Option<u64>, OutputError> {
        if self.file.length() == 0 && !self.file.is_stale() {
            self.write(b"")?;
        }
        self.sync()
    }

    fn name(&self) -> &str {
        self.file.name()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs::File, io::Read};

    fn packing(zstd: bool) -> Packing {
        if zstd { Packing::Zstd } else { Packing::Gzip }
    }

    fn unpacked(path: &Path, zstd: bool) -> io::Result<String> {
        let (file, mut text) = (File::open(path)?, String::new());
        if zstd {
            zstd::stream::read::Decoder::new(file)?.read_to_string(&mut text)?;
        } else {
            flate2::read::MultiGzDecoder::new(file).read_to_string(&mut text)?;
        }
        Ok(text)
    }

    #[test]
    fn compressed_output_is_whole_at_each_settled_length() {
        for zstd in [false, true] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("out");
            let open = |before| PackedOutput::open(&path, before, packing(zstd)).unwrap();
            let mut output = open(Before::Unknown);
            let mut settled = Vec::new();
            for batch in ["one\n", "two\nthree\n", "four\n"] {
                output.write(batch.as_bytes()).unwrap();
                settled.push((output.sync().unwrap().unwrap(), batch));
            }
            let whole = fs::read(&path).unwrap();
            assert!(!has_no_line(&path, packing(zstd)).unwrap());
            drop(output);
            let mut text = String::new();
            for (length, batch) in settled {
                text.push_str(batch);
                // a kill during the next batch
                for cut in [length, (length + 7).min(whole.len() as u64)] {
                    fs::write(&path, &whole[..usize::try_from(cut).unwrap()]).unwrap();
                    let mut again = open(Before::CutOff(length));
                    assert_eq!(unpacked(&path, zstd).unwrap(), text);
                    again.write(b"next\n").unwrap();
                    assert_eq!(unpacked(&path, zstd).unwrap(), format!("{text}next\n"));
                    drop(again);
                }
            }
        }
    }

    #[test]
    fn output_without_records_is_a_valid_empty_stream() {
        for zstd in [false, true] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("out");
            PackedOutput::open(&path, Before::Unknown, packing(zstd)).unwrap().finish().unwrap();
            assert!(fs::metadata(&path).unwrap().len() > 0);
            assert!(has_no_line(&path, packing(zstd)).unwrap());
            assert_eq!(unpacked(&path, zstd).unwrap(), "");
        }
    }

    #[test]
    fn torn_frame_is_cut_before_appending() {
        for zstd in [false, true] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("out");
            let open = |before| PackedOutput::open(&path, before, packing(zstd)).unwrap();
            let mut output = open(Before::Unknown);
            output.write(b"one\n").unwrap();
            let first = output.sync().unwrap().unwrap();
            output.write(b"two\n").unwrap();
            drop(output);
            let whole = fs::read(&path).unwrap();
            // the known length is absent, equal, or longer
            for before in [Before::Unknown, Before::Closed(first), Before::Closed(3), Before::CutOff(1000)] {
                fs::write(&path, &whole[..whole.len() - 3]).unwrap();
                let mut again = open(before);
                again.write(b"next\n").unwrap();
                drop(again);
                assert_eq!(unpacked(&path, zstd).unwrap(), "one\nnext\n", "{before:?}");
            }
            let aside = fs::read(directory.path().join("out.damaged-4")).unwrap();
            assert_eq!(aside, &whole[usize::try_from(first).unwrap()..whole.len() - 3], "it is kept");
            // a file that is damaged in the middle, or not compressed, is not truncated
            for bytes in [b"plain text\n".to_vec(), [&whole[..9], &[0x55; 4], &whole[13..]].concat()] {
                fs::write(&path, &bytes).unwrap();
                let refused = PackedOutput::open(&path, Before::Unknown, packing(zstd)).err().unwrap();
                assert!(matches!(refused, OutputError::Damaged { .. }), "{refused}");
                assert_eq!(fs::read(&path).unwrap(), bytes);
                PackedOutput::open(&path, Before::Replace, packing(zstd)).unwrap().write(b"new\n").unwrap();
                assert_eq!(unpacked(&path, zstd).unwrap(), "new\n", "-O gets out of it");
            }
        }
    }
}
