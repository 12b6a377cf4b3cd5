//! Lines compressed while they are written. Each batch is a gzip member (RFC 1952 §2.2) or a zstd frame (RFC 8878 §3) of its
//! own, and readers take several of them in a row as one stream: so the file is whole at every length that was settled.

use super::{FileOutput, Output};
use crate::context::StageError;
use flate2::{Compression, write::GzEncoder};
use std::io::{self, Write};
use zstd::bulk::Compressor;

/// zstd's own default.
const ZSTD_LEVEL: i32 = 3;

/// See the module.
pub(super) struct PackedOutput {
    file: FileOutput,
    packer: Packer,
}

enum Packer {
    Gzip,
    Zstd(Box<Compressor<'static>>),
}

impl Packer {
    fn pack(&mut self, lines: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Self::Gzip => {
                let mut encoder = GzEncoder::new(Vec::with_capacity(lines.len() / 3), Compression::default());
                encoder.write_all(lines)?;
                encoder.finish()
            }
            Self::Zstd(compressor) => compressor.compress(lines),
        }
    }
}

/// A compressor of whole frames with a checksum.
pub(super) fn zstd_frames() -> io::Result<Compressor<'static>> {
    let mut compressor = Compressor::new(ZSTD_LEVEL)?;
    compressor.include_checksum(true)?;
    Ok(compressor)
}

impl PackedOutput {
    /// Into a file, as zstd or gzip.
    pub(super) fn new(file: FileOutput, zstd: bool) -> Result<Self, StageError> {
        let packer = if zstd { zstd_frames().map(|c| Packer::Zstd(Box::new(c))) } else { Ok(Packer::Gzip) };
        let packer = packer.map_err(|source| StageError::Output { name: file.name().to_owned(), source })?;
        Ok(Self { file, packer })
    }
}

impl Output for PackedOutput {
    fn write(&mut self, lines: &[u8]) -> Result<(), StageError> {
        let packed = self.packer.pack(lines);
        let packed =
            packed.map_err(|source| StageError::Output { name: self.file.name().to_owned(), source })?;
        self.file.write(&packed)
    }

    fn sync(&mut self) -> Result<Option<u64>, StageError> {
        self.file.sync()
    }

    /// A file without a record is given an empty member, since no bytes at all are no gzip file.
    fn finish(&mut self) -> Result<Option<u64>, StageError> {
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
    use crate::output::Before;
    use std::{fs::File, io::Read, path::Path};

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
    fn whole_at_every_settled_length() {
        for zstd in [false, true] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("out");
            let open =
                |before| PackedOutput::new(FileOutput::open_bytes(&path, before).unwrap(), zstd).unwrap();
            let mut output = open(Before::Unknown);
            let mut settled = Vec::new();
            for batch in ["one\n", "two\nthree\n", "four\n"] {
                output.write(batch.as_bytes()).unwrap();
                settled.push((output.sync().unwrap().unwrap(), batch));
            }
            let whole = std::fs::read(&path).unwrap();
            let mut text = String::new();
            for (length, batch) in settled {
                text.push_str(batch);
                // killed somewhere in the batch behind it
                for cut in [length, (length + 7).min(whole.len() as u64)] {
                    std::fs::write(&path, &whole[..usize::try_from(cut).unwrap()]).unwrap();
                    let mut again = open(Before::CutOff(length));
                    assert_eq!(unpacked(&path, zstd).unwrap(), text);
                    again.write(b"next\n").unwrap();
                    assert_eq!(unpacked(&path, zstd).unwrap(), format!("{text}next\n"));
                }
            }
        }
    }

    #[test]
    fn no_record_is_an_empty_stream_and_not_a_broken_one() {
        for zstd in [false, true] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("out");
            let file = FileOutput::open_bytes(&path, Before::Unknown).unwrap();
            PackedOutput::new(file, zstd).unwrap().finish().unwrap();
            assert!(std::fs::metadata(&path).unwrap().len() > 0);
            assert_eq!(unpacked(&path, zstd).unwrap(), "");
        }
    }
}
