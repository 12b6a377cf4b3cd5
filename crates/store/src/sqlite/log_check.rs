//! Search for damage in a write-ahead log, since SQLite silently stops reading it at the first bad frame.
//!
//! Format: <https://www.sqlite.org/fileformat2.html#the_write_ahead_log>.

use super::{FILE, SqliteStore};
use std::{
    fs::File,
    io::{self, BufReader, ErrorKind, Read},
    path::{Path, PathBuf},
};

/// Bytes of the log header.
const HEADER: usize = 32;

/// Bytes of a frame header.
const FRAME_HEADER: usize = 24;

/// First word of a log whose checksums read words in little-endian order; plus one for big-endian order.
const MAGIC: u32 = 0x377f_0682;

impl SqliteStore {
    /// Path of the write-ahead log of a state directory.
    #[must_use]
    pub fn log(dir: &Path) -> PathBuf {
        dir.join(format!("{FILE}-wal"))
    }

    /// Offset of the first frame that SQLite does not read although newer frames follow; `None` if the log is
    /// sound.
    ///
    /// Call it with the lock of the state directory, before the store is opened. An unfinished frame at the
    /// end is no damage: a killed process leaves one. A loss of power may leave a gap before newer frames,
    /// which counts as damage.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn damage_of_log(dir: &Path) -> io::Result<Option<u64>> {
        damage_of(&Self::log(dir))
    }
}

fn damage_of(path: &Path) -> io::Result<Option<u64>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut log = BufReader::new(file);
    let mut header = [0; HEADER];
    if !read_whole(&mut log, &mut header)? {
        return Ok(None);
    }
    let Some(mut sum) = Sum::of_header(&header) else { return Ok(Some(0)) };
    let size = match word(&header, 8) {
        1 => 65_536,
        size => size as usize,
    };
    let mut frame = vec![0; FRAME_HEADER + size];
    let (mut offset, mut damaged) = (HEADER as u64, None);
    while read_whole(&mut log, &mut frame)? {
        let current = frame[8..16] == header[16..24];
        if damaged.is_some() {
            if current {
                return Ok(damaged);
            }
        } else {
            sum.add(&frame[..8]);
            sum.add(&frame[FRAME_HEADER..]);
            if !current || !sum.is(&frame[16..FRAME_HEADER]) {
                damaged = Some(offset);
            }
        }
        offset += frame.len() as u64;
    }
    Ok(None)
}

/// The running checksum of a log.
struct Sum {
    little: bool,
    halves: (u32, u32),
}

impl Sum {
    /// The checksum after a header; `None` if the header does not match it.
    fn of_header(header: &[u8; HEADER]) -> Option<Self> {
        let little = match word(header, 0) {
            MAGIC => true,
            magic if magic == MAGIC + 1 => false,
            _ => return None,
        };
        let mut sum = Self { little, halves: (0, 0) };
        sum.add(&header[..24]);
        sum.is(&header[24..]).then_some(sum)
    }

    fn add(&mut self, bytes: &[u8]) {
        let read = |at: usize| {
            let word = word(bytes, at);
            if self.little { word.swap_bytes() } else { word }
        };
        let (mut first, mut second) = self.halves;
        for at in (0..bytes.len()).step_by(8) {
            first = first.wrapping_add(read(at)).wrapping_add(second);
            second = second.wrapping_add(read(at + 4)).wrapping_add(first);
        }
        self.halves = (first, second);
    }

    fn is(&self, stored: &[u8]) -> bool {
        (word(stored, 0), word(stored, 4)) == self.halves
    }
}

/// The big-endian word at an offset, which must be within `bytes`.
fn word(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

/// Fills a buffer; returns false at the end of the file or at an unfinished frame.
fn read_whole(log: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match log.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SqliteStore;
    use crawl_model::RunStore;
    use std::fs;

    /// Log of a state with frames of several commits, as a killed process leaves it.
    fn log(dir: &Path) -> PathBuf {
        let store = SqliteStore::open(dir).unwrap();
        store.sync().unwrap();
        for number in 0..5 {
            store.put("a", &number.to_string()).unwrap();
            assert_eq!(store.entries("a").unwrap().len(), 1);
        }
        let copy = dir.join("copy-wal");
        fs::copy(dir.join("crawl.sqlite-wal"), &copy).unwrap();
        copy
    }

    #[test]
    fn flipped_bit_before_newer_frames_is_detected() {
        let dir = tempfile::tempdir().unwrap();
        let path = log(dir.path());
        let whole = fs::read(&path).unwrap();
        let frame = FRAME_HEADER + word(&whole, 8) as usize;
        let frames = (whole.len() - HEADER) / frame;
        assert!(frames >= 3, "{frames} frames");
        assert_eq!(damage_of(&path).unwrap(), None);
        for (at, offset) in [(3, 0), (20, 0), (HEADER + 10, HEADER), (HEADER + frame + 99, HEADER + frame)] {
            let mut bytes = whole.clone();
            bytes[at] ^= 4;
            fs::write(&path, bytes).unwrap();
            assert_eq!(damage_of(&path).unwrap(), Some(offset as u64), "byte {at}");
        }
    }

    #[test]
    fn unfinished_frame_at_the_end_is_not_damage() {
        let dir = tempfile::tempdir().unwrap();
        let path = log(dir.path());
        let whole = fs::read(&path).unwrap();
        for cut in [1, 3_000, whole.len() - HEADER, whole.len() - 5, whole.len()] {
            fs::write(&path, &whole[..whole.len() - cut]).unwrap();
            assert_eq!(damage_of(&path).unwrap(), None, "{cut} bytes cut off");
        }
        fs::remove_file(&path).unwrap();
        assert_eq!(damage_of(&path).unwrap(), None);
    }

    #[test]
    fn frames_of_an_earlier_log_are_not_damage() {
        let dir = tempfile::tempdir().unwrap();
        let path = log(dir.path());
        let mut bytes = fs::read(&path).unwrap();
        let frame = FRAME_HEADER + word(&bytes, 8) as usize;
        let last = bytes.len() - frame;
        bytes[last + 8] ^= 1;
        fs::write(&path, bytes).unwrap();
        assert_eq!(damage_of(&path).unwrap(), None);
    }
}
