//! Whole members of gzip and whole frames of zstd in a file, one after the other.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
    ops::Range,
    path::Path,
};
use zstd::bulk::Compressor;

/// First bytes of a zstd frame (RFC 8878 §3.1.1) and of a gzip member (RFC 1952 §2.3.1, with its one method).
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b, 0x08];

/// Bytes of one step of the search for the next frame.
const SEARCH_BYTES: usize = 1 << 16;

/// zstd's own default.
const ZSTD_LEVEL: i32 = 3;

/// The compression of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    Gzip,
    Zstd,
}

/// A compressor of whole frames with a checksum.
pub(super) fn zstd_frames() -> io::Result<Compressor<'static>> {
    let mut compressor = Compressor::new(ZSTD_LEVEL)?;
    compressor.include_checksum(true)?;
    Ok(compressor)
}

/// A part of a compressed file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A whole frame, unpacked.
    Whole(Vec<u8>),
    /// Bytes up to the next frame, or to the end, that cannot be unpacked.
    Damaged(Range<u64>),
}

/// The parts of a compressed file.
pub(super) struct Frames {
    file: Counted<BufReader<File>>,
    packing: Packing,
    end: u64,
}

impl Frames {
    /// Opens a file to read its parts from `start` on.
    pub(super) fn open(path: &Path, packing: Packing, start: u64) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let end = file.metadata()?.len();
        file.seek(SeekFrom::Start(start))?;
        let file = Counted { inner: BufReader::with_capacity(1 << 16, file), at: start };
        Ok(Self { file, packing, end })
    }

    /// Offset of the next part.
    pub(super) const fn offset(&self) -> u64 {
        self.file.at
    }

    /// Returns true if the bytes at `position` are the beginning of a frame, or as much of one as the file has.
    pub(super) fn begins_at(&mut self, position: u64) -> io::Result<bool> {
        self.seek(position)?;
        let (magic, mut found) = (self.magic(), Vec::new());
        (&mut self.file).take(magic.len() as u64).read_to_end(&mut found)?;
        self.seek(position)?;
        Ok(!found.is_empty() && magic.starts_with(&found))
    }

    const fn magic(&self) -> &'static [u8] {
        match self.packing {
            Packing::Gzip => GZIP_MAGIC,
            Packing::Zstd => ZSTD_MAGIC,
        }
    }

    fn seek(&mut self, position: u64) -> io::Result<()> {
        self.file.inner.seek(SeekFrom::Start(position))?;
        self.file.at = position;
        Ok(())
    }

    fn unpack(&mut self) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        match self.packing {
            Packing::Gzip => flate2::bufread::GzDecoder::new(&mut self.file).read_to_end(&mut out),
            Packing::Zstd => {
                zstd::stream::read::Decoder::with_buffer(&mut self.file)?.single_frame().read_to_end(&mut out)
            }
        }?;
        Ok(out)
    }

    /// The first position from `start` on at which a frame may begin, or the end.
    fn next_magic(&mut self, start: u64) -> io::Result<u64> {
        let magic = self.magic();
        let (mut base, mut window) = (start, Vec::new());
        self.seek(start)?;
        loop {
            let read = (&mut self.file).take(SEARCH_BYTES as u64).read_to_end(&mut window)?;
            if let Some(at) = memchr::memmem::find(&window, magic) {
                return Ok(base + at as u64);
            }
            if read == 0 {
                return Ok(self.end);
            }
            let keep = window.len().saturating_sub(magic.len() - 1);
            window.drain(..keep);
            base += keep as u64;
        }
    }
}

impl Iterator for Frames {
    type Item = io::Result<Part>;

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.file.at;
        if start >= self.end {
            return None;
        }
        if let Ok(frame) = self.unpack() {
            return Some(Ok(Part::Whole(frame)));
        }
        let next = self.next_magic(start + 1).and_then(|next| self.seek(next).map(|()| next));
        Some(next.map(|next| Part::Damaged(start..next)))
    }
}

/// A reader that knows its place.
struct Counted<R> {
    inner: R,
    at: u64,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.at += bytes as u64;
        self.inner.consume(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn packed(packing: Packing, text: &str) -> Vec<u8> {
        match packing {
            Packing::Gzip => {
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
                encoder.write_all(text.as_bytes()).unwrap();
                encoder.finish().unwrap()
            }
            Packing::Zstd => zstd_frames().unwrap().compress(text.as_bytes()).unwrap(),
        }
    }

    /// Every byte of three frames is changed in turn: the two others are read all the same, and all bytes are accounted for.
    #[test]
    fn frames_around_damage_are_read() {
        for packing in [Packing::Gzip, Packing::Zstd] {
            let texts = ["one one one", "two", "three"];
            let frames = texts.map(|text| packed(packing, text));
            let whole = frames.concat();
            let file = tempfile::NamedTempFile::new().unwrap();
            let parts = |bytes: &[u8]| -> Vec<Part> {
                std::fs::write(file.path(), bytes).unwrap();
                Frames::open(file.path(), packing, 0).unwrap().map(Result::unwrap).collect()
            };
            let all = texts.map(|text| Part::Whole(text.into()));
            assert_eq!(parts(&whole), all);
            let second = frames[0].len()..frames[0].len() + frames[1].len();
            let mut seen = 0;
            for at in second.clone() {
                let mut bytes = whole.clone();
                bytes[at] ^= 0x55;
                let found = parts(&bytes);
                assert_eq!(found.first(), all.first(), "{packing:?} {at}");
                assert_eq!(found.last(), all.last(), "{packing:?} {at}");
                let damaged = found.iter().filter_map(|part| match part {
                    Part::Damaged(range) => Some(range.clone()),
                    Part::Whole(_) => None,
                });
                let damaged: Vec<_> = damaged.collect();
                // some bytes of a gzip header have no fixed value
                if damaged.is_empty() {
                    continue;
                }
                seen += 1;
                assert_eq!(damaged[0].start, second.start as u64);
                assert_eq!(damaged.last().unwrap().end, second.end as u64);
            }
            assert!(seen > second.len() / 2, "{packing:?}: {seen} of {}", second.len());
            for cut in second.start + 1..second.end {
                let found = parts(&whole[..cut]);
                assert_eq!(found[0], all[0]);
                assert_eq!(found.len(), 2, "{packing:?} {cut}: {found:?}");
                assert_eq!(found[1], Part::Damaged(second.start as u64..cut as u64));
            }
        }
    }
}
